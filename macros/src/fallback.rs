//! What stands in for a function that has errors.
//!
//! In: what the attribute was given and what it stands on. Out: the same item without streams, every block a plain one,
//! so that its callers and the rest of its body are checked as ever, editors go on completing in it, and no second wave
//! of errors follows the ones we report. Every name of the author's is in it, where it was.

mod repair;

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::visit::{self, Visit};
use syn::{Expr, ExprAsync, ExprAwait, ExprClosure, ExprTry, Item, ItemFn, ReturnType, Stmt, parse_quote};

use crate::args::Args;
use crate::check::may_be_result;
use crate::diag::Diagnostics;
use crate::emit::publish::{Published, publish};
use crate::emit::table::Table;
use crate::normalise::{Call, Syntax, as_block, attribute_at, call_at, is_punct, normalise};

/// The stand-in for `item`.
pub(crate) fn fallback(args: TokenStream, item: TokenStream) -> TokenStream {
    let mut reported = Diagnostics::default();
    let Args { streams, krate, explain, .. } = Args::parse(args, &mut reported);
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
    let Some(mut function) = function(&flat) else { return flat };
    function.sig.constness = None;
    function.attrs.push(parse_quote!(#[allow(unused)]));
    // An empty plan, so that `plan_of!` finds one.
    let Published { beside, .. } = publish(&function, &krate, explain, &Table::default().tokens());
    let mut uses = Uses::default();
    uses.visit_block(&function.block);
    if uses.awaits && function.sig.asyncness.is_none() || uses.tries && !may_be_result(&function.sig.output) {
        // rustc would refuse such a body whatever the blocks are.
        *function.block = parse_quote!({ ::core::unreachable!() });
    } else {
        let body = &function.block.stmts;
        // What is half typed may have swallowed the value of the function.
        let end = lacks_value(&function).then(|| quote!(::core::unreachable!()));
        *function.block = parse_quote!({ #(let #streams = #krate::Stream::current().unwrap();)* #(#body)* #end });
    }
    quote!(#function #beside)
}

/// True when the body does not end with an expression, and the function has a value.
fn lacks_value(function: &ItemFn) -> bool {
    let has_value = matches!(function.block.stmts.last(), Some(Stmt::Expr(_, None)))
        || matches!(function.block.stmts.last(), Some(Stmt::Macro(last)) if last.semi_token.is_none());
    !has_value && !matches!(function.sig.output, ReturnType::Default)
}

/// The function, if need be with a completed body.
fn function(flat: &TokenStream) -> Option<ItemFn> {
    if let Ok(function) = syn::parse2(flat.clone()) {
        return Some(function);
    }
    let mut list: Vec<TokenTree> = flat.clone().into_iter().collect();
    let Some(TokenTree::Group(body)) = list.pop() else { return None };
    list.push(regroup(&body, repair::statements(body.stream())).into());
    syn::parse2(list.into_iter().collect()).ok()
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
    let at = arguments.iter().rposition(|argument| as_block(Some(argument)).is_some());
    let open = arguments.iter().position(|argument| is_punct(Some(argument), '<'));
    let header = header(&arguments[..at.or(open).unwrap_or(arguments.len())], captures);
    let block = match (at, open) {
        (Some(at), _) => as_block(arguments.get(at)),
        // `< ..` that is not closed yet.
        (None, Some(open)) => Some(Group::new(Delimiter::Brace, arguments[open + 1..].iter().cloned().collect())),
        (None, None) => None,
    };
    let Some(block) = block else {
        return if arguments.is_empty() {
            quote!(::core::unreachable!())
        } else {
            quote!({ #header ::core::unreachable!() })
        };
    };
    let inside = flatten(block.stream(), captures);
    let block = regroup(&block, quote!(#header #inside));
    // At the start of a statement a bare block would end it.
    let goes_on = matches!(next, Some(TokenTree::Punct(next)) if !matches!(next.as_char(), ';' | ','));
    if goes_on { quote!((#block)) } else { block.into_token_stream() }
}

fn regroup(original: &Group, contents: TokenStream) -> Group {
    let mut group = Group::new(original.delimiter(), contents);
    group.set_span(original.span());
    group
}

/// The header of a block: the stream and the numbers of cores as expressions that are not used, the rest as text. Of a
/// place in `after(..)`, say, it may be just what is wrong that there is no such variable.
fn header(arguments: &[TokenTree], captures: bool) -> TokenStream {
    let mut header = TokenStream::new();
    for (i, item) in arguments.split(|token| is_punct(Some(token), ',')).enumerate().filter(|_| captures) {
        let values = match item {
            [] => continue,
            [TokenTree::Ident(main)] if i == 0 && main == "main" => continue,
            _ if i == 0 => vec![stream_expression(item)],
            [TokenTree::Ident(name), TokenTree::Group(list)] if name == "cores" => cores_expressions(list),
            _ => Vec::new(),
        };
        let values_of_plain_blocks = values.iter().flatten().map(|value| flatten(value.clone(), captures));
        header.extend(values_of_plain_blocks.map(|value| quote!(let _ = &(#value);)));
        if i > 0 || values.iter().any(Option::is_none) {
            let text: TokenStream = item.iter().cloned().collect();
            header.extend(quote!(let _ = ::core::stringify!(#text);));
        }
    }
    header
}

/// What may be an expression that names a stream of the author's.
fn stream_expression(tokens: &[TokenTree]) -> Option<TokenStream> {
    let stream = repair::expression(tokens)?;
    match syn::parse2::<Expr>(stream.clone()).ok()? {
        Expr::Path(_) | Expr::Field(_) | Expr::Reference(_) | Expr::MethodCall(_) => Some(stream),
        _ => None,
    }
}

/// The values of `cores(key = value, ..)`, `None` for what has no value.
fn cores_expressions(list: &Group) -> Vec<Option<TokenStream>> {
    let list: Vec<TokenTree> = list.stream().into_iter().collect();
    let values =
        list.split(|token| is_punct(Some(token), ',')).filter(|item| !item.is_empty()).map(|item| match item {
            [TokenTree::Ident(_), TokenTree::Punct(equals), value @ ..] if equals.as_char() == '=' => {
                repair::expression(value)
            }
            _ => None,
        });
    values.collect()
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
mod half_typed;
#[cfg(test)]
mod tests;
