//! What stands in for a function that has errors.
//!
//! In: what the attribute was given and what it stands on. Out: the same item without streams, every block a plain one,
//! so that its callers and the rest of its body are checked as ever, editors go on completing in it, and no second wave
//! of errors follows the ones we report.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::visit::{self, Visit};
use syn::{Expr, ExprAsync, ExprAwait, ExprClosure, ExprTry, Item, ItemFn, parse_quote};

use crate::args::Args;
use crate::check::may_be_result;
use crate::diag::Diagnostics;
use crate::normalise::{Call, Syntax, as_block, attribute_at, call_at, is_punct, normalise};

/// The stand-in for `item`.
pub(crate) fn fallback(args: TokenStream, item: TokenStream) -> TokenStream {
    let mut reported = Diagnostics::default();
    let Args { streams, krate, .. } = Args::parse(args, &mut reported);
    let item: Vec<TokenTree> = normalise(item, Syntax::Attribute, &mut reported).into_iter().collect();
    let flat: TokenStream = match item.split_last() {
        Some((TokenTree::Group(body), head))
            if head.iter().any(|token| matches!(token, TokenTree::Ident(word) if word == "fn")) =>
        {
            let body = regroup(body, flatten(body.stream(), true));
            flatten(head.iter().cloned().collect(), false).into_iter().chain([body.into()]).collect()
        }
        _ => flatten(item.into_iter().collect(), false),
    };
    let Ok(mut function) = syn::parse2::<ItemFn>(flat.clone()) else { return flat };
    function.sig.constness = None;
    function.attrs.push(parse_quote!(#[allow(unused)]));
    let mut uses = Uses::default();
    uses.visit_block(&function.block);
    if uses.awaits && function.sig.asyncness.is_none() || uses.tries && !may_be_result(&function.sig.output) {
        // rustc would refuse such a body whatever the blocks are.
        *function.block = parse_quote!({ ::core::unreachable!() });
    } else {
        let body = &function.block.stmts;
        *function.block = parse_quote!({ #(let #streams = #krate::Stream::current().unwrap();)* #(#body)* });
    }
    function.into_token_stream()
}

/// The tokens with each `stream!(.., { .. })` replaced by its block, and without `#[multicore]`. `captures` says
/// whether variables of the function can be named here, which they cannot in items.
fn flatten(tokens: TokenStream, captures: bool) -> TokenStream {
    let list: Vec<TokenTree> = tokens.into_iter().collect();
    let mut flat = TokenStream::new();
    let mut in_item = false;
    let mut at = 0;
    while let Some(token) = list.get(at) {
        if let Some(call) = call_at(&list, at) {
            at += 3;
            flat.extend(flat_call(&call, captures && !in_item, list.get(at)));
            continue;
        }
        if attribute_at(&list, at).is_some_and(|attribute| attribute.name == "multicore") {
            at += 2;
            continue;
        }
        flat.extend([match token {
            TokenTree::Group(group) => regroup(group, flatten(group.stream(), captures && !in_item)).into(),
            other => other.clone(),
        }]);
        in_item = match token {
            TokenTree::Ident(word) => in_item || ["fn", "const", "static"].iter().any(|keyword| word == keyword),
            TokenTree::Group(group) => in_item && group.delimiter() != Delimiter::Brace,
            other => in_item && !is_punct(Some(other), ';'),
        };
        at += 1;
    }
    flat
}

/// The block of a call, or what has every type if it has none.
fn flat_call(call: &Call, captures: bool, next: Option<&TokenTree>) -> TokenStream {
    let arguments: Vec<TokenTree> = call.arguments.stream().into_iter().collect();
    let Some(block) = arguments.iter().rev().find_map(|argument| as_block(Some(argument))) else {
        return quote!(::core::unreachable!());
    };
    let stream = stream_expression(&arguments).filter(|_| captures).map(|stream| quote!(let _ = &(#stream);));
    let inside = flatten(block.stream(), captures);
    let block = regroup(&block, quote!(#stream #inside));
    // At the start of a statement a bare block would end it.
    let goes_on = matches!(next, Some(TokenTree::Punct(next)) if !matches!(next.as_char(), ';' | ','));
    if goes_on { quote!((#block)) } else { block.into_token_stream() }
}

fn regroup(original: &Group, contents: TokenStream) -> Group {
    let mut group = Group::new(original.delimiter(), contents);
    group.set_span(original.span());
    group
}

/// What stands before the first comma, if it is an expression that names a stream of the author's.
fn stream_expression(arguments: &[TokenTree]) -> Option<TokenStream> {
    let stream: TokenStream = arguments.iter().take_while(|token| !is_punct(Some(token), ',')).cloned().collect();
    match syn::parse2::<Expr>(stream.clone()).ok()? {
        Expr::Path(path) if path.path.is_ident("main") => None,
        Expr::Path(_) | Expr::Field(_) | Expr::Reference(_) | Expr::MethodCall(_) => Some(stream),
        _ => None,
    }
}

/// Which expressions of the function itself need something of its signature.
#[derive(Default)]
struct Uses {
    awaits: bool,
    tries: bool,
}

impl<'ast> Visit<'ast> for Uses {
    fn visit_expr_await(&mut self, expression: &'ast ExprAwait) {
        self.awaits = true;
        visit::visit_expr_await(self, expression);
    }

    fn visit_expr_try(&mut self, expression: &'ast ExprTry) {
        self.tries = true;
        visit::visit_expr_try(self, expression);
    }

    fn visit_expr_async(&mut self, _: &'ast ExprAsync) {}

    fn visit_expr_closure(&mut self, _: &'ast ExprClosure) {}

    fn visit_item(&mut self, _: &'ast Item) {}
}

#[cfg(test)]
mod tests;
