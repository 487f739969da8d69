//! `plan_of!(function)`: the plan that `#[multicore(explain)]` has put beside a function.
//!
//! In: where the runtime is, `;`, and the path of a function. Out: an expression. The plan of a function is found through
//! the type of the same name, that of a method through a constant (`emit::publish`); where there is none, a stand-in of
//! lower rank is found, whose type tells what is missing.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::parse::{ParseStream, Parser};
use syn::spanned::Spanned;
use syn::{Error, Expr, ExprPath, Path, PathArguments, PathSegment, Result, Token};

use crate::emit::publish::constant;

/// Expands one call.
pub(crate) fn expand(tokens: TokenStream) -> TokenStream {
    let parser = |input: ParseStream<'_>| {
        let krate: Path = input.call(Path::parse_mod_style)?;
        input.parse::<Token![;]>()?;
        plan_of(&krate, &input.parse()?)
    };
    parser.parse2(tokens).unwrap_or_else(Error::into_compile_error)
}

fn plan_of(krate: &Path, function: &Expr) -> Result<TokenStream> {
    let ExprPath { qself, path, .. } = match function {
        Expr::Path(path) => path,
        Expr::Call(_) | Expr::MethodCall(_) => {
            let text = "`plan_of!` takes the path of a function, and does not call it\n\
                help: write `plan_of!(module::function)`, or `Plan::of_call(|| ..)` with the call";
            return Err(Error::new_spanned(function, text));
        }
        _ => {
            let text = "`plan_of!` takes the path of a function: write `plan_of!(module::function)`";
            return Err(Error::new_spanned(function, text));
        }
    };
    let mut path = path.clone();
    let Some(last) = path.segments.last_mut() else {
        return Err(Error::new_spanned(function, "expected the path of a function"));
    };
    // There is one plan for all generic arguments.
    last.arguments = PathArguments::None;
    let name = last.ident.clone();
    if qself.as_ref().is_some_and(|qself| qself.position > 0) {
        let text = "a method of a trait has no plan to name\nhelp: write `Plan::of_call(|| ..)` with a call of it";
        return Err(Error::new_spanned(function, text));
    }
    let parent = path.segments.iter().nth_back(1);
    if qself.is_none() && !parent.is_some_and(is_type) {
        let found = quote_spanned!(function.span()=> <function as #krate::plan::Planned>::PLAN);
        return Ok(quote!({
            #[allow(unused_imports)]
            use #krate::plan::unexplained::*;
            #[allow(unused_imports)]
            use #path as function;
            #found
        }));
    }
    let constant = constant(&name);
    if let Some(last) = path.segments.last_mut() {
        last.ident = constant.clone();
    }
    let method = Expr::Path(ExprPath { attrs: Vec::new(), qself: qself.clone(), path });
    let found = quote_spanned!(function.span()=> #krate::plan::of_method(#method));
    Ok(quote!({
        trait Unexplained {
            #[allow(non_upper_case_globals, dead_code)]
            const #constant: #krate::plan::unexplained::Method = #krate::plan::unexplained::Method;
        }
        impl<T: ?::core::marker::Sized> Unexplained for T {}
        #found
    }))
}

/// Is this a type, not a module? By the usual way to write them.
fn is_type(segment: &PathSegment) -> bool {
    !segment.arguments.is_none() || segment.ident.to_string().starts_with(char::is_uppercase)
}
