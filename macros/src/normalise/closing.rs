//! Which `>` closes the block of `stream!(..) < .. >`.
//!
//! In: the tokens of one group, everything right of the `<` already canonical. Out: the index of the closing `>`, or an
//! error at the `>` that could be a comparison as well, or at the `<` that nothing closes.
//!
//! A `>` closes if the tokens before it parse as the inside of a block, and if either the block is at a statement
//! boundary there (no statement starts with `>`) or what follows cannot be the right side of a comparison. The first
//! one that does is taken.

use proc_macro2::{TokenStream, TokenTree};
use syn::parse::Parser;
use syn::{Block, Expr, Stmt};

use super::tokens::{call_at, is_joint, is_punct};

/// The index of the `>` for the `<` at `open`; with an error, the index to go on from as if it closed there.
pub(super) fn find(list: &[TokenTree], open: usize) -> Result<usize, (syn::Error, usize)> {
    let mut ambiguous = None;
    for i in open + 1..list.len() {
        if !is_candidate(list, i) {
            continue;
        }
        let body: TokenStream = list[open + 1..i].iter().cloned().collect();
        let Ok(statements) = Block::parse_within.parse2(body) else { continue };
        if at_boundary(statements.last()) || ends_operand(list, i) {
            return Ok(i);
        }
        ambiguous.get_or_insert(i);
    }
    Err(match ambiguous {
        Some(i) => (
            syn::Error::new(
                list[i].span(),
                "ambiguous `>`\nhelp: end the block with `>;`, or put the comparison in parentheses",
            ),
            i,
        ),
        None => (
            syn::Error::new(
                list[open].span(),
                "unclosed `<` of a `stream!` block\n\
                    help: end it with `>`; if there is one, the statements before it are not complete",
            ),
            list.len(),
        ),
    })
}

/// Is there a `>` at `i` that is not part of `->`, `=>` or `>=`?
pub(super) fn is_candidate(list: &[TokenTree], i: usize) -> bool {
    let arrow = i > 0 && (is_joint(&list[i - 1], '-') || is_joint(&list[i - 1], '='));
    let at_least = is_joint(&list[i], '>') && is_punct(list.get(i + 1), '=');
    is_punct(list.get(i), '>') && !arrow && !at_least
}

/// Can what follows the `>` at `i` not be the right operand of a comparison?
fn ends_operand(list: &[TokenTree], i: usize) -> bool {
    match list.get(i + 1) {
        None => true,
        // Of a glued `>>` the second one decides: `a >> 1` is a shift, `a >>;` ends two blocks.
        Some(TokenTree::Punct(next)) if next.as_char() == '>' => !is_joint(&list[i], '>') || ends_operand(list, i + 1),
        Some(TokenTree::Punct(next)) => matches!(next.as_char(), ';' | ',' | '.' | '?'),
        Some(TokenTree::Ident(word)) => {
            matches!(word.to_string().as_str(), "let" | "else" | "as" | "fn" | "use") || call_at(list, i + 1).is_some()
        }
        _ => false,
    }
}

/// Does a block whose last statement is this one need nothing more?
fn at_boundary(last: Option<&Stmt>) -> bool {
    match last {
        None | Some(Stmt::Local(_) | Stmt::Item(_) | Stmt::Expr(_, Some(_))) => true,
        Some(Stmt::Macro(call)) => {
            call.semi_token.is_some() || matches!(call.mac.delimiter, syn::MacroDelimiter::Brace(_))
        }
        Some(Stmt::Expr(value, None)) => matches!(
            value,
            Expr::Block(_)
                | Expr::Const(_)
                | Expr::ForLoop(_)
                | Expr::If(_)
                | Expr::Loop(_)
                | Expr::Match(_)
                | Expr::Unsafe(_)
                | Expr::While(_)
        ),
    }
}
