//! Where an expectation goes in an expression whose earlier parts may launch something themselves: after those, before
//! the call, without changing what is moved, what is borrowed, and how long temporaries live.
//!
//! Tuples do that. `(E, value).1` and `(value, E).0` keep the temporaries of `value` to the end of the statement, which a
//! block would not; a value comes out of the tuple as it went in. Only values are wrapped, never a place: a place in a
//! tuple would be moved.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Expr, UnOp};

/// The operands of a call, method call or operator, in the order they are evaluated.
pub(crate) fn operands(expr: &mut Expr) -> Vec<&mut Expr> {
    match expr {
        Expr::Call(call) => {
            let callee = Some(&mut *call.func).filter(|callee| !matches!(callee, Expr::Path(_)));
            callee.into_iter().chain(&mut call.args).collect()
        }
        Expr::MethodCall(call) => std::iter::once(&mut *call.receiver).chain(&mut call.args).collect(),
        Expr::Binary(binary) => vec![&mut binary.left, &mut binary.right],
        Expr::Unary(unary) => vec![&mut unary.expr],
        _ => Vec::new(),
    }
}

/// Puts `expects` behind the operand that launches last and before the call itself.
pub(crate) fn before_call(call: &mut Expr, last_launch: Option<usize>, expects: Vec<TokenStream>) {
    if expects.is_empty() {
        return;
    }
    let expects = match &expects[..] {
        [expect] => quote!(#expect),
        _ => quote!({ #(#expects;)* }),
    };
    let mut operands = operands(call);
    let later = last_launch.map_or(0, |at| at + 1);
    if let Some(reference) = operands[later..].iter_mut().find(|operand| matches!(operand, Expr::Reference(_))) {
        **reference = Expr::Verbatim(quote!((#expects, #reference).1));
    } else if let Some(at) = last_launch {
        after(operands[at], expects);
    } else {
        *call = Expr::Verbatim(quote!((#expects, #call).1));
    }
}

/// Puts `expects` behind the value that is computed in `operand`.
fn after(operand: &mut Expr, expects: TokenStream) {
    match operand {
        Expr::Paren(paren) => after(&mut paren.expr, expects),
        Expr::Group(group) => after(&mut group.expr, expects),
        Expr::Reference(reference) => after(&mut reference.expr, expects),
        Expr::Field(field) => after(&mut field.base, expects),
        Expr::Unary(unary) if matches!(unary.op, UnOp::Deref(_)) => after(&mut unary.expr, expects),
        // An element is a place, and so is what it is an element of; the index is a value.
        Expr::Index(index) => after(&mut index.index, expects),
        _ => *operand = Expr::Verbatim(quote!((#operand, #expects).0)),
    }
}
