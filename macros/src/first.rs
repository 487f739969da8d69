//! The first token of a piece of syntax, found without printing it.
//!
//! In: syntax. Out: the span of its first token, attributes left out. That is what `Spanned::span` gives on a stable
//! compiler as well, where spans cannot be joined, but at the price of all tokens of the piece.

use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::{Expr, Pat, Path, Stmt};

/// Of an expression.
pub(crate) fn of(expr: &Expr) -> Span {
    match expr {
        Expr::MethodCall(call) => of(&call.receiver),
        Expr::Call(call) => of(&call.func),
        Expr::Field(field) => of(&field.base),
        Expr::Index(index) => of(&index.expr),
        Expr::Try(tried) => of(&tried.expr),
        Expr::Await(awaited) => of(&awaited.base),
        Expr::Binary(binary) => of(&binary.left),
        Expr::Assign(assign) => of(&assign.left),
        Expr::Cast(cast) => of(&cast.expr),
        Expr::Group(group) => of(&group.expr),
        Expr::Path(path) if path.qself.is_none() => of_path(&path.path),
        Expr::Macro(call) => of_path(&call.mac.path),
        Expr::Lit(literal) => literal.lit.span(),
        Expr::Reference(reference) => reference.and_token.span,
        Expr::Paren(paren) => paren.paren_token.span.open(),
        Expr::Tuple(tuple) => tuple.paren_token.span.open(),
        Expr::Block(block) if block.label.is_none() => block.block.brace_token.span.open(),
        Expr::If(branch) => branch.if_token.span,
        Expr::Match(choice) => choice.match_token.span,
        Expr::ForLoop(repeated) if repeated.label.is_none() => repeated.for_token.span,
        Expr::While(repeated) if repeated.label.is_none() => repeated.while_token.span,
        Expr::Loop(repeated) if repeated.label.is_none() => repeated.loop_token.span,
        other => other.span(),
    }
}

/// Of a path.
pub(crate) fn of_path(path: &Path) -> Span {
    match (&path.leading_colon, path.segments.first()) {
        (Some(colons), _) => colons.spans[0],
        (None, Some(segment)) => segment.ident.span(),
        (None, None) => Span::call_site(),
    }
}

/// Of a pattern.
pub(crate) fn of_pattern(pattern: &Pat) -> Span {
    match pattern {
        Pat::Ident(name) if name.by_ref.is_none() && name.mutability.is_none() => name.ident.span(),
        Pat::Type(typed) => of_pattern(&typed.pat),
        other => other.span(),
    }
}

/// Of a statement.
pub(crate) fn of_statement(statement: &Stmt) -> Span {
    match statement {
        Stmt::Local(local) => local.let_token.span,
        Stmt::Expr(value, _) => of(value),
        Stmt::Macro(call) => of_path(&call.mac.path),
        Stmt::Item(item) => item.span(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::tokens;

    #[test]
    fn is_where_the_syntax_starts() {
        for source in [
            "a.b(c)?.d[e].f",
            "f(x)(y).await",
            "x as u32 + 1",
            "*p = q",
            "::a::b!(c)",
            "&mut x",
            "(a, b)",
            "((a))",
            "-1.5",
            "{ a }",
            "'l: { a }",
            "if a { b } else { c }",
            "match a { _ => b }",
            "for i in 0..3 {}",
            "'l: loop {}",
            "while a {}",
            "|x| x",
            "<T as U>::f()",
            "a..b",
            "S { a: 1 }",
        ] {
            let expr: Expr = syn::parse2(tokens(&format!("  {source}"))).unwrap_or_else(|e| panic!("{e}: {source}"));
            assert_eq!(of(&expr).start().column, 2, "{source}");
            let statement: Vec<Stmt> =
                syn::parse::Parser::parse2(syn::Block::parse_within, tokens(&format!("  let x = {source};")))
                    .unwrap_or_else(|e| panic!("{e}: {source}"));
            assert_eq!(of_statement(&statement[0]).start().column, 2, "{source}");
        }
    }
}
