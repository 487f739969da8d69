//! Tokens as text for people: streams and places as they stand in the source, near enough.

use proc_macro2::{Delimiter, Ident, Spacing, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Expr, ExprLit, Lit};

/// The text of an expression on one line.
pub(crate) fn of(tokens: impl ToTokens) -> String {
    let mut text = String::new();
    put(tokens.into_token_stream(), &mut text);
    text
}

/// The same, sooner for a name or a number, which most are.
pub(crate) fn of_expr(expr: &Expr) -> String {
    match expr {
        Expr::Path(path) => {
            path.path.get_ident().filter(|_| path.qself.is_none()).map_or_else(|| of(path), Ident::to_string)
        }
        Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) => number.to_string(),
        _ => of(expr),
    }
}

fn put(tokens: TokenStream, text: &mut String) {
    // A space stands between two words, and around operators between two operands.
    let mut operand = false;
    let mut joint = false;
    for token in tokens {
        match token {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::Brace => (" { ", " }"),
                    Delimiter::None => ("", ""),
                };
                text.push_str(open);
                put(group.stream(), text);
                text.push_str(close);
                operand = true;
                joint = false;
            }
            TokenTree::Punct(punct) => {
                let mark = punct.as_char();
                let is_operator =
                    operand && matches!(mark, '+' | '-' | '*' | '/' | '%' | '<' | '>' | '=' | '|' | '&' | '^');
                match mark {
                    ',' | ';' => text.push_str(&format!("{mark} ")),
                    _ if is_operator => text.push_str(&format!(" {mark} ")),
                    _ => text.push(mark),
                }
                joint = punct.spacing() == Spacing::Joint;
                operand = matches!(mark, '?');
            }
            word => {
                if operand && !joint && text.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | ')' | '}')) {
                    text.push(' ');
                }
                text.push_str(&word.to_string());
                operand = true;
                joint = false;
            }
        }
    }
}
