//! Half-typed code, made to parse.
//!
//! In: the statements of a block, of which some break off: `x.`, `let y =`, `f(a,`. Out: statements that parse, with every
//! token of the author's in them, so that an editor finds the expression it is to complete. What broke off is completed
//! with as little as does it; what nothing completes is kept as the text of a `stringify!`.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::parse::Parser;
use syn::{Block, Expr};

use super::regroup;
use crate::normalise::is_punct;

/// The statements of a block, completed.
pub(super) fn statements(tokens: TokenStream) -> TokenStream {
    if is_block(&tokens) {
        return tokens;
    }
    let list: Vec<TokenTree> = tokens.into_iter().collect();
    let mut whole = TokenStream::new();
    for statement in list.split_inclusive(|token| is_punct(Some(token), ';')) {
        whole.extend(run(statement));
    }
    whole
}

/// What stands before a `;`: blocks that end by themselves, and a statement.
fn run(mut rest: &[TokenTree]) -> TokenStream {
    let mut whole = TokenStream::new();
    while !is_block(&joined(rest)) {
        let ends = (1..rest.len()).rev().filter(|&at| is_braces(&rest[at - 1]) && is_block(&joined(&rest[..at])));
        match ends.into_iter().next() {
            Some(end) => {
                whole.extend(joined(&rest[..end]));
                rest = &rest[end..];
            }
            None => {
                whole.extend(completed(rest, is_block, &ENDS).unwrap_or_else(|| {
                    let text = joined(rest);
                    quote!(let _ = ::core::stringify!(#text);)
                }));
                return whole;
            }
        }
    }
    whole.extend(joined(rest));
    whole
}

/// The expressions of a list, completed.
fn expressions(tokens: TokenStream) -> TokenStream {
    let list: Vec<TokenTree> = tokens.into_iter().collect();
    let elements = list.split(|token| is_punct(Some(token), ',')).filter(|element| !element.is_empty());
    let elements = elements.map(|element| {
        expression(element).unwrap_or_else(|| {
            let text = joined(element);
            quote!(::core::stringify!(#text))
        })
    });
    quote!(#(#elements),*)
}

/// An expression, completed if that is possible.
pub(super) fn expression(list: &[TokenTree]) -> Option<TokenStream> {
    let whole = joined(list);
    if is_expression(&whole) { Some(whole) } else { completed(list, is_expression, &ENDS[..2]) }
}

/// What may be missing at the end: a value, a name, a body, and what leads up to it.
const ENDS: [&str; 9] = [
    "::core::unreachable!()",
    "__unfinished",
    "{}",
    "__unfinished {}",
    "::core::unreachable!() {}",
    "in ::core::unreachable!() {}",
    "= ::core::unreachable!()",
    "{ ::core::unreachable!() }",
    "() {}",
];

/// The tokens with what is missing in their groups or at their end, as soon as they are what they should be.
fn completed(list: &[TokenTree], is_right: fn(&TokenStream) -> bool, ends: &[&str]) -> Option<TokenStream> {
    let inside = list.iter().map(|token| match token {
        TokenTree::Group(group) => completed_group(group).into(),
        other => other.clone(),
    });
    let inside: Vec<TokenTree> = inside.collect();
    let (inside, list, semicolon) = match list.split_last() {
        Some((last, list)) if is_punct(Some(last), ';') => (&inside[..list.len()], list, true),
        _ => (&inside[..], list, false),
    };
    let semicolons = if semicolon { &[";"][..] } else { &["", ";"] };
    let endings = std::iter::once("").chain(ends.iter().copied());
    let endings = endings.flat_map(|end| semicolons.iter().map(move |semicolon| format!("{end}{semicolon}")));
    let endings: Vec<TokenStream> = endings.filter_map(|end| end.parse().ok()).collect();
    let mut completed = [inside, list]
        .into_iter()
        .flat_map(|list| endings.iter().map(|end| list.iter().cloned().chain(end.clone()).collect::<TokenStream>()));
    completed.find(is_right)
}

fn completed_group(group: &Group) -> Group {
    let inside = group.stream();
    match group.delimiter() {
        Delimiter::Brace => regroup(group, statements(inside)),
        Delimiter::None => group.clone(),
        Delimiter::Parenthesis | Delimiter::Bracket => regroup(group, expressions(inside)),
    }
}

fn is_block(tokens: &TokenStream) -> bool {
    Block::parse_within.parse2(tokens.clone()).is_ok()
}

fn is_expression(tokens: &TokenStream) -> bool {
    syn::parse2::<Expr>(tokens.clone()).is_ok()
}

fn is_braces(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace)
}

fn joined(list: &[TokenTree]) -> TokenStream {
    list.iter().map(ToTokens::to_token_stream).collect()
}
