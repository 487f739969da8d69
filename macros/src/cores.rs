//! `cube = .., vector = ..`: what stands in the parentheses of `cores(..)` and `device(..)`.
//!
//! In: those tokens. Out: a count for each key, and an error for each fault. A count that is a literal is a whole number
//! above zero; other expressions are checked when they run.

use proc_macro2::Span;
use syn::parse::ParseStream;
use syn::{Expr, ExprLit, ExprUnary, Ident, Lit, LitInt, Token, UnOp};

use crate::diag::both;

/// How many cores of each kind, as the author wrote it.
#[derive(Debug, Default)]
pub(crate) struct Cores {
    pub(crate) cube: Option<(Ident, Expr)>,
    pub(crate) vector: Option<(Ident, Expr)>,
}

impl Cores {
    /// Reads the contents of `name(..)`. What is wrong with a key goes to `errors`; an error means that reading cannot go on.
    pub(crate) fn parse(name: &Ident, content: ParseStream<'_>, errors: &mut Vec<syn::Error>) -> syn::Result<Cores> {
        let mut cores = Cores::default();
        if content.is_empty() {
            errors.push(syn::Error::new(name.span(), format!("`{name}()` needs `cube = ..` or `vector = ..`")));
        }
        while !content.is_empty() {
            if !(content.peek(Ident) && content.peek2(Token![=]) && !content.peek2(Token![==])) {
                let (cube, vector) = if name == "device" { (24, 48) } else { (3, 8) };
                let text = format!("`{name}` takes keys: write `{name}(cube = {cube}, vector = {vector})`");
                return Err(syn::Error::new(content.span(), text));
            }
            let key: Ident = content.parse()?;
            content.parse::<Token![=]>()?;
            let count = self::count(content)?;
            if !content.is_empty() {
                content.parse::<Token![,]>()?;
            }
            let slot = if key == "cube" {
                &mut cores.cube
            } else if key == "vector" {
                &mut cores.vector
            } else {
                let text = format!("unknown key `{key}`; expected `cube` or `vector`");
                errors.push(syn::Error::new(key.span(), text));
                continue;
            };
            errors.extend(not_a_count(&key, &count, name == "device"));
            if let Some((first, _)) = slot {
                errors.extend(both(first.span(), key.span(), format!("`{key}` set twice")));
            }
            *slot = Some((key, count));
        }
        Ok(cores)
    }
}

/// One count. Most are a number, and a parser of any expression takes its time.
fn count(content: ParseStream<'_>) -> syn::Result<Expr> {
    if content.peek(LitInt)
        && (content.peek2(Token![,]) || content.cursor().literal().is_some_and(|(_, rest)| rest.eof()))
    {
        return Ok(Expr::Lit(ExprLit { attrs: Vec::new(), lit: content.parse()? }));
    }
    content.parse()
}

/// The error of a count that can be seen to be wrong; of any that is no literal if it must be one.
fn not_a_count(key: &Ident, count: &Expr, must_be_literal: bool) -> Option<syn::Error> {
    let whole = match bare(count) {
        Expr::Lit(ExprLit { lit: Lit::Int(count), .. }) if matches!(count.suffix(), "" | "u32") => {
            count.base10_parse::<u32>().ok()
        }
        Expr::Lit(_) => None,
        Expr::Unary(ExprUnary { op: UnOp::Neg(_), expr, .. }) if matches!(bare(expr), Expr::Lit(_)) => None,
        Expr::Path(path) if path.path.is_ident("none") => {
            let text = format!("`{key}` takes a number of cores; leave the key out for no limit");
            return Some(syn::Error::new_spanned(count, text));
        }
        _ if must_be_literal => {
            let text = format!("`{key}` of the device is a number that the blocks are checked against: write it out");
            return Some(syn::Error::new_spanned(count, text));
        }
        _ => return None,
    };
    let text = match whole {
        Some(0) => format!("`{key}` must be at least 1; leave the key out for no limit"),
        Some(_) => return None,
        None => format!("`{key}` takes a whole number of cores (`u32`)"),
    };
    Some(syn::Error::new_spanned(count, text))
}

/// The number, if it is written out.
pub(crate) fn literal(count: &Expr) -> Option<(u32, Span)> {
    match bare(count) {
        Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) => Some((number.base10_parse().ok()?, number.span())),
        _ => None,
    }
}

/// Without the parentheses and the invisible groups that macros leave.
pub(crate) fn bare(expr: &Expr) -> &Expr {
    match expr {
        Expr::Paren(paren) => bare(&paren.expr),
        Expr::Group(group) => bare(&group.expr),
        other => other,
    }
}
