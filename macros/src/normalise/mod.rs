//! Every accepted spelling of a stream block, rewritten to `stream!(.., { .. })` before anything is parsed.
//!
//! In: the tokens of an item. Out: the same tokens, their spans kept, where
//!
//! | written | becomes |
//! |---|---|
//! | `#[stream(s1, ..)] { .. }`, `#[stream(s1, ..)] let r = { .. };` | `stream!(s1, .., { .. })`, `let r = stream!(s1, .., { .. });` |
//! | `stream!(s1, .. < .. >)` | `stream!(s1, .., { .. })` |
//! | `stream!(s1, ..) < .. >` | the same, in `multicore_fn!` only (see [`closing`]) |
//! | `stream! { .. }`, `stream![ .. ]` | `stream!( .. )` |
//! | `multicore::stream!(..)` | `stream!(..)` |
//! | `#[allow(..)] stream!(s1, .., { .. })` | `stream!(s1, .., #[allow(..)] { .. })` |
//!
//! and a statement that ended with its block ends with `;`. Groups are rewritten from the inside out and, within one,
//! from right to left, so whatever stands between a `<` and its `>` is canonical already. A fault is noted and, as far
//! as its meaning is plain, repaired, so that it does not lead to further errors.

mod closing;
mod tokens;

use proc_macro2::{Delimiter, Group, Ident, Punct, Spacing, Span, TokenStream, TokenTree};

use crate::diag::Diagnostics;
pub(crate) use tokens::{Attribute, Call, as_block, attribute_at, call_at, is_punct};
use tokens::{
    attribute_run, attributes_start, call_start, is_block, is_call, separator, starts_statement, without_trailing_comma,
};

/// Where the tokens come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Syntax {
    /// An item under `#[multicore]`: rustc has parsed it as Rust.
    Attribute,
    /// The argument of `multicore_fn!`: any tokens.
    Wrapper,
}

const CARD_FORM: &str = "`stream!(..) < .. >` is not Rust syntax inside `#[multicore]`\n\
    help: write `stream!(s1, cores(cube = 3, vector = 8), { .. })`, or wrap the function in `multicore_fn! { .. }`";

/// Rewrites `tokens` and all groups in them.
pub(crate) fn normalise(tokens: TokenStream, syntax: Syntax, diagnostics: &mut Diagnostics) -> TokenStream {
    Normaliser { syntax, diagnostics, changes: 0 }.list(tokens, Delimiter::Brace).into_iter().collect()
}

struct Normaliser<'d> {
    syntax: Syntax,
    diagnostics: &'d mut Diagnostics,
    /// How often something was rewritten.
    changes: usize,
}

impl Normaliser<'_> {
    /// The contents of one group.
    fn list(&mut self, tokens: TokenStream, delimiter: Delimiter) -> Vec<TokenTree> {
        let mut list: Vec<TokenTree> = tokens.into_iter().collect();
        for i in 0..list.len() {
            if let TokenTree::Group(group) = &list[i]
                && !belongs_to_another_wrapper(&list, i)
            {
                let before = self.changes;
                let inner = self.list(group.stream(), group.delimiter());
                // A group that is made anew loses the spans of its brackets.
                if self.changes > before {
                    list[i] = regroup(group, group.delimiter(), inner.into_iter().collect()).into();
                }
            }
        }
        for i in (0..list.len()).rev() {
            if attribute_at(&list, i).is_some_and(|attribute| attribute.name == "stream") {
                self.attribute(&mut list, i, delimiter);
            } else if is_call(&list, i) {
                self.call(&mut list, i, delimiter);
            }
        }
        list
    }

    /// `#[stream(..)]` at `at`, with the block or `let` that follows it.
    fn attribute(&mut self, list: &mut Vec<TokenTree>, at: usize, delimiter: Delimiter) {
        let Some(attribute) = attribute_at(list, at) else { return };
        self.changes += 1;
        list.drain(at..at + 2);
        let next = attribute_run(list, at);
        let is_let = matches!(list.get(next), Some(TokenTree::Ident(word)) if word == "let");
        let block = if is_let { let_block(list, next) } else { next };
        let (Some(header), Some(body)) = (&attribute.arguments, as_block(list.get(block))) else {
            let name = attribute.name.span();
            match list.get(next) {
                _ if attribute.arguments.is_none() => {
                    self.diagnostics.error(name, "`#[stream]` needs the stream: `#[stream(s1)]`")
                }
                Some(TokenTree::Ident(word)) if word == "unsafe" => {
                    self.diagnostics.error(word.span(), "put `unsafe` inside the block: `{ unsafe { .. } }`");
                }
                _ => self.diagnostics.error(
                    name,
                    "`#[stream(..)]` goes on a block: `#[stream(s1)] { .. }` or `#[stream(s1)] let r = { .. };`",
                ),
            }
            // What it says must not get lost to an editor.
            if let Some(header) = attribute.arguments.filter(|_| starts_statement(list, at, delimiter)) {
                let span = header.span();
                let mut arguments = without_trailing_comma(header.stream());
                arguments.extend([comma(span), braces(&[], span).into()]);
                let group = regroup(&header, Delimiter::Parenthesis, arguments.into_iter().collect());
                let call: [TokenTree; 4] =
                    [attribute.name.into(), punct('!', span).into(), group.into(), punct(';', span).into()];
                list.splice(at..at, call);
            }
            return;
        };
        let mut arguments = without_trailing_comma(header.stream());
        arguments.extend([comma(body.span()), body.into()]);
        let name = attribute.name;
        let call: [TokenTree; 3] = [
            name.clone().into(),
            punct('!', name.span()).into(),
            regroup(header, Delimiter::Parenthesis, arguments.into_iter().collect()).into(),
        ];
        let after = (!is_let).then(|| separator(list, attributes_start(list, at), block + 1, delimiter)).flatten();
        list.splice(block..=block, call.into_iter().chain(after));
        if !is_let {
            tidy(list, block);
        }
    }

    /// `stream ! (..)` at `at`, with the block that follows it if it has none.
    fn call(&mut self, list: &mut Vec<TokenTree>, at: usize, delimiter: Delimiter) {
        let Some(call) = call_at(list, at) else { return };
        let arguments = without_trailing_comma(call.arguments.stream());
        let bracketed = call.arguments.delimiter() != Delimiter::Parenthesis;
        let is_block = |i: usize| is_block_argument(&arguments, i);
        if !bracketed && arguments.len().checked_sub(1).is_some_and(is_block) && call_start(list, at) == at {
            return;
        }
        let has_block = (0..arguments.len()).any(is_block);
        let mut end = at + 3;
        let arguments = if let Some(arguments) = angles_inside(&arguments) {
            arguments
        } else if has_block {
            if !bracketed && call_start(list, at) == at {
                return;
            }
            call.arguments.stream().into_iter().collect()
        } else if let Some((body, close)) = self.block_behind(list, end, &call.name, arguments.is_empty()) {
            end = list.len().min(close + 1);
            arguments.into_iter().chain([comma(body.span()), body.into()]).collect()
        } else {
            return;
        };
        self.changes += 1;
        let after =
            if bracketed || end > at + 3 { separator(list, call_start(list, at), end, delimiter) } else { None };
        let group = regroup(&call.arguments, Delimiter::Parenthesis, arguments.into_iter().collect());
        list.splice(at + 2..end, [group.into()].into_iter().chain(after));
        tidy(list, at);
    }

    /// A block written behind the call: `< .. >`, which `multicore_fn!` accepts, or `{ .. }`, which is an error
    /// everywhere.
    fn block_behind(&mut self, list: &[TokenTree], at: usize, name: &Ident, bare: bool) -> Option<(Group, usize)> {
        let header = if bare { "s1" } else { "s1, .." };
        let token = list.get(at)?;
        if is_punct(Some(token), '<') {
            let (close, error) = match closing::find(list, at) {
                Ok(close) => (close, None),
                Err((error, close)) => (close, Some(error)),
            };
            if self.syntax == Syntax::Attribute {
                self.diagnostics.error(name.span(), CARD_FORM);
            } else if let Some(error) = error {
                self.diagnostics.push(error);
            }
            return Some((braces(&list[at + 1..close], token.span()), close));
        }
        let body = as_block(Some(token))?;
        let text = format!("the block goes inside the parentheses: write `stream!({header}, {{ .. }})`");
        self.diagnostics.error(name.span(), text);
        Some((body, at))
    }
}

/// `s1, cores(..) < .. >` as the arguments of a call: the last `>` closes.
fn angles_inside(arguments: &[TokenTree]) -> Option<Vec<TokenTree>> {
    let close = arguments.len().checked_sub(1)?;
    if !closing::is_candidate(arguments, close) {
        return None;
    }
    let open = (1..close).find(|&i| {
        let operand_before = match &arguments[i - 1] {
            TokenTree::Punct(before) => matches!(before.as_char(), '?' | ','),
            _ => true,
        };
        is_punct(arguments.get(i), '<') && operand_before
    })?;
    let span = arguments[open].span();
    let mut canonical = without_trailing_comma(arguments[..open].iter().cloned().collect());
    canonical.extend([comma(span), braces(&arguments[open + 1..close], span).into()]);
    Some(canonical)
}

/// Is there a block at `i` that is an argument, and not the end of one as in `if a { b } else { c }`?
fn is_block_argument(arguments: &[TokenTree], i: usize) -> bool {
    if !is_block(&arguments[i]) {
        return false;
    }
    let start = tokens::attributes_start(arguments, i);
    start == 0 || is_punct(arguments.get(start - 1), ',')
}

/// Where the block of `let PATTERN = { .. };` or `let PATTERN = { .. } else { .. };` is, or the end of the list.
fn let_block(list: &[TokenTree], at: usize) -> usize {
    // And not the second half of `==`.
    let assigns = |i: &usize| {
        is_punct(list.get(*i), '=') && !is_punct(list.get(*i - 1), '=') && as_block(list.get(*i + 1)).is_some()
    };
    let statement = (at..list.len()).take_while(|&i| !is_punct(list.get(i), ';'));
    let block = statement.clone().find(assigns).map(|i| i + 1);
    let ends = |i: &usize| match list.get(*i + 1) {
        Some(TokenTree::Ident(word)) => word == "else",
        next => next.is_none() || is_punct(next, ';'),
    };
    block.filter(ends).unwrap_or(list.len())
}

/// Takes away the path of the call at `at`, and moves the attributes in front of it in front of its block.
fn tidy(list: &mut Vec<TokenTree>, at: usize) {
    let Some(call) = call_at(list, at) else { return };
    let path = tokens::path_start(list, at);
    let start = call_start(list, at);
    let mut arguments: Vec<TokenTree> = call.arguments.stream().into_iter().collect();
    let block = arguments.iter().rposition(|token| as_block(Some(token)).is_some()).unwrap_or(arguments.len());
    arguments.splice(block..block, list[start..path].iter().cloned());
    list[at + 2] = regroup(&call.arguments, Delimiter::Parenthesis, arguments.into_iter().collect()).into();
    list.drain(start..at);
}

fn belongs_to_another_wrapper(list: &[TokenTree], group: usize) -> bool {
    group >= 2
        && is_punct(list.get(group - 1), '!')
        && matches!(&list[group - 2], TokenTree::Ident(name) if name == "multicore_fn")
}

fn regroup(original: &Group, delimiter: Delimiter, contents: TokenStream) -> Group {
    let mut group = Group::new(delimiter, contents);
    group.set_span(original.span());
    group
}

fn braces(body: &[TokenTree], span: Span) -> Group {
    let mut group = Group::new(Delimiter::Brace, body.iter().cloned().collect());
    group.set_span(span);
    group
}

fn punct(which: char, span: Span) -> Punct {
    let mut punct = Punct::new(which, Spacing::Alone);
    punct.set_span(span);
    punct
}

fn comma(span: Span) -> TokenTree {
    punct(',', span).into()
}

#[cfg(test)]
mod spellings;
#[cfg(test)]
mod tests;
