//! Every spelling of every block in the examples comes out as the same canonical text.

use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Group, TokenStream, TokenTree};
use quote::quote;

use super::tokens::{as_block, call_at, is_punct, without_trailing_comma};
use super::{Syntax, normalise};
use crate::diag::Diagnostics;
use crate::testing::{compact, tokens};

/// Functions with blocks in places where the examples may have none.
const FUNCTIONS: [&str; 4] = [
    "fn values(x: &T) -> R { let y = stream!(s1, cores(cube = 3, vector = 8), { g(x)? }); let (a, b) = stream!(self.s, { y.split() }); Ok((a, b)) }",
    "fn statements(x: &mut T) -> R { stream!(s1, { x.add(1)?; }); stream!(&s[i % 4], after(x), { x.add(2)?; }); stream!(s1, { if a > b { x.add(3)?; } }); Ok(()) }",
    "fn nested(x: &T) -> R { for i in 0..3 { stream!(s1, { stream!(s2, cores(cube = i), { g(i)?; }); stream!(main, { h(i)? }) }); } stream!(s1, { x > y }) }",
    "fn operands(x: &T) -> R { outs.push(stream!(s1, { g(x)? })); match x { A => stream!(s1, { a }), _ => stream!(s2, { b })?, }; f(stream!(s1, { a })?.b(), 1) }",
];

#[derive(Clone, Copy, Debug)]
enum Spelling {
    /// `#[stream(s1)] { .. }`
    Attribute,
    /// `#[stream(s1)] let r = { .. };`, and [`Spelling::Attribute`] where there is no `let`
    Let,
    /// `stream!(s1 < .. >)`
    Angles,
    /// `stream!(s1) < .. >`
    Card,
}

/// Writes each canonical call in another spelling; gives how many there are as well.
fn respell(source: TokenStream, spelling: Spelling) -> (TokenStream, usize) {
    let list: Vec<TokenTree> = source.into_iter().collect();
    let (mut respelled, mut calls, mut at): (Vec<TokenTree>, _, _) = (Vec::new(), 0, 0);
    while let Some(token) = list.get(at) {
        at += 1;
        let TokenTree::Group(group) = token else {
            respelled.push(token.clone());
            continue;
        };
        let (inner, more) = respell(group.stream(), spelling);
        calls += more;
        let Some(call) = at.checked_sub(3).and_then(|start| call_at(&list, start)) else {
            respelled.push(Group::new(group.delimiter(), inner).into());
            continue;
        };
        calls += 1;
        let mut header = without_trailing_comma(inner);
        let block = header
            .pop()
            .and_then(|block| as_block(Some(&block)))
            .unwrap_or_else(|| panic!("no block last: {}", call.arguments));
        header.pop();
        let (header, body): (TokenStream, _) = (header.into_iter().collect(), block.stream());
        respelled.truncate(respelled.len() - 2);
        let statement = respelled.iter().rposition(|token| is_punct(Some(token), ';')).map_or(0, |end| end + 1);
        let starts_let = matches!(respelled.get(statement), Some(TokenTree::Ident(word)) if word == "let");
        let is_let = starts_let && is_punct(respelled.last(), '=') && is_punct(list.get(at), ';');
        match spelling {
            Spelling::Let if is_let => {
                respelled.splice(statement..statement, quote!(#[stream(#header)]));
                respelled.extend(quote!(#block));
            }
            Spelling::Attribute | Spelling::Let => respelled.extend(quote!(#[stream(#header)] #block)),
            Spelling::Angles => respelled.extend(quote!(stream!(#header < #body >))),
            Spelling::Card => respelled.extend(quote!(stream!(#header) < #body >)),
        }
    }
    (respelled.into_iter().collect(), calls)
}

fn canonical(source: TokenStream, syntax: Syntax, name: &str) -> String {
    let mut diagnostics = Diagnostics::default();
    let text = compact(&normalise(source, syntax, &mut diagnostics));
    assert_eq!(diagnostics.messages(), [""; 0], "{name}");
    text
}

/// Checks all spellings of one source; gives the number of its blocks.
fn check(source: &str, name: &str) -> usize {
    let source = tokens(source);
    let expected = canonical(source.clone(), Syntax::Attribute, name);
    let mut calls = 0;
    for spelling in [Spelling::Attribute, Spelling::Let, Spelling::Angles, Spelling::Card] {
        let (respelled, found) = respell(source.clone(), spelling);
        let syntax = if matches!(spelling, Spelling::Card) { Syntax::Wrapper } else { Syntax::Attribute };
        assert_eq!(canonical(respelled, syntax, name), expected, "{name} as {spelling:?}");
        calls = found;
    }
    calls
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok).map(|entry| entry.path());
    let files = entries.flat_map(|path| if path.is_dir() { rust_files(&path) } else { vec![path] });
    files.filter(|path| path.extension().is_some_and(|extension| extension == "rs")).collect()
}

#[test]
fn of_these_functions() {
    let calls: Vec<usize> = FUNCTIONS.iter().map(|function| check(function, function)).collect();
    assert_eq!(calls, [2, 3, 4, 4]);
}

#[test]
fn of_all_examples() {
    let files = rust_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/examples"));
    let read = |file: &PathBuf| fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let calls: usize = files.iter().map(|file| check(&read(file), &file.display().to_string())).sum();
    // There are no examples where the crate is tested on its own.
    assert!(calls > 0 || files.is_empty(), "no example has a block");
}
