//! `multicore_fn! { .. }`: functions whose blocks may be written `stream!(..) < .. >`, which rustc would not parse
//! anywhere else.
//!
//! In: functions, or `impl` blocks and traits with methods. Out: the same with canonical blocks under `#[multicore]`,
//! which does the rest.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::parse::{ParseStream, Parser};
use syn::{ImplItem, Item, TraitItem};

use crate::check::streams_in;
use crate::diag::Diagnostics;
use crate::fallback::fallback;
use crate::normalise::{Attribute, Syntax, attribute_at, normalise};

/// Expands the contents of the wrapper.
pub(crate) fn expand(tokens: TokenStream) -> TokenStream {
    let mut diagnostics = Diagnostics::default();
    let tokens = normalise(tokens, Syntax::Wrapper, &mut diagnostics);
    if tokens.is_empty() {
        diagnostics.error(
            Span::call_site(),
            "`multicore_fn!` needs a function: `multicore_fn! { fn f(..) -> Result<..> { .. } }`",
        );
    }
    let mut items = match items.parse2(tokens.clone()) {
        Ok(items) => items,
        // Unless it is due to what was found already, rustc says better what is wrong in there, and editors need the
        // tokens.
        Err(_) if diagnostics.is_empty() => return mark(tokens),
        Err(_) => {
            let mut expanded = diagnostics.into_compile_errors();
            expanded.extend(stand_in(tokens));
            return expanded;
        }
    };
    for item in &items {
        if !matches!(item, Item::Fn(_) | Item::Impl(_) | Item::Trait(_)) {
            diagnostics
                .error_on(item, "`multicore_fn!` can only wrap functions, and `impl` blocks and traits with methods");
        }
    }
    let change = if diagnostics.is_empty() { mark } else { stand_in };
    let mut expanded = diagnostics.into_compile_errors();
    for item in &mut items {
        each_function(item, change);
        item.to_tokens(&mut expanded);
    }
    expanded
}

fn items(input: ParseStream<'_>) -> syn::Result<Vec<Item>> {
    let mut items = Vec::new();
    while !input.is_empty() {
        items.push(input.parse()?);
    }
    Ok(items)
}

/// Changes the function, or those methods that have a block.
fn each_function(item: &mut Item, change: fn(TokenStream) -> TokenStream) {
    let with_block =
        |method: &dyn ToTokens| Some(method.to_token_stream()).filter(|tokens| !streams_in(tokens.clone()).is_empty());
    match item {
        Item::Fn(function) => *item = Item::Verbatim(change(function.to_token_stream())),
        Item::Impl(block) => {
            for method in &mut block.items {
                if let Some(tokens) = with_block(method) {
                    *method = ImplItem::Verbatim(change(tokens));
                }
            }
        }
        Item::Trait(block) => {
            for method in &mut block.items {
                if let Some(tokens) = with_block(method) {
                    *method = TraitItem::Verbatim(change(tokens));
                }
            }
        }
        _ => {}
    }
}

/// The function under `#[multicore]`, if it does not say so itself.
fn mark(function: TokenStream) -> TokenStream {
    match own_attribute(&function) {
        Some(_) => function,
        None => quote!(#[::multicore::multicore] #function),
    }
}

fn stand_in(function: TokenStream) -> TokenStream {
    let arguments = own_attribute(&function).and_then(|attribute| attribute.arguments);
    fallback(arguments.map(|group| group.stream()).unwrap_or_default(), function)
}

fn own_attribute(function: &TokenStream) -> Option<Attribute> {
    let list: Vec<TokenTree> = function.clone().into_iter().collect();
    (0..).step_by(2).map_while(|at| attribute_at(&list, at)).find(|attribute| attribute.name == "multicore")
}

#[cfg(test)]
mod tests;
