//! Text in, text out. `S` stands for `stream!(s1, cores(cube = 3, vector = 8))` and `C(..)` for the canonical block on
//! that stream.

use proc_macro2::TokenStream;
use proptest::prelude::*;
use syn::Block;
use syn::parse::Parser;

use super::{Syntax, normalise};
use crate::diag::Diagnostics;
use crate::fallback::fallback;
use crate::parse::parse;
use crate::testing::{compact, tokens};

/// Rewrites `source`, and says what was wrong with it.
fn run(source: &str, syntax: Syntax) -> (String, Vec<String>) {
    let mut diagnostics = Diagnostics::default();
    let tokens = normalise(tokens(source), syntax, &mut diagnostics);
    (compact(&tokens), diagnostics.messages())
}

fn spell_out(source: &str) -> String {
    source
        .replace("S <", "stream!(s1, cores(cube = 3, vector = 8)) <")
        .replace("C(", "stream!(s1, cores(cube = 3, vector = 8), ")
}

#[track_caller]
fn gives(syntax: Syntax, source: &str, expected: &str) {
    let (source, expected) = (spell_out(source), spell_out(expected));
    let (text, errors) = run(&source, syntax);
    assert!(errors.is_empty(), "{source}\n{errors:?}");
    assert_eq!(text, compact(&tokens(&expected)), "{source}");
    assert_eq!(run(&expected, syntax), (text, errors), "not stable: {expected}");
}

#[track_caller]
fn fails(syntax: Syntax, source: &str, expected: &str) -> String {
    let (text, errors) = run(&spell_out(source), syntax);
    assert_eq!(errors.len(), 1, "{source}: {errors:?}");
    assert!(errors[0].starts_with(expected), "{source}: {errors:?}");
    text
}

/// The 32 cases of the closing rule.
#[test]
fn card_form() {
    let cases = [
        // Where it ends is plain: after `;`, an item or a block-like expression.
        ("S < let x = a + 1; g(x); > y", "C({ let x = a + 1; g(x); }); y"),
        ("S < f(); > S < g(); >", "C({ f(); }); C({ g(); })"),
        ("S <\n    let q = a;\n    g(q);\n>\nlet z = 1;", "C({ let q = a; g(q); }); let z = 1;"),
        ("S < >", "C({ })"),
        ("S < if a > b { f(); } > y", "C({ if a > b { f(); } }); y"),
        ("S < fn g() -> u8 { 1 } > y", "C({ fn g() -> u8 { 1 } }); y"),
        // A value, and something behind it that no comparison goes on with.
        ("let r = S < a + 1 >;", "let r = C({ a + 1 });"),
        ("let r = S < let x = a > b; x >;", "let r = C({ let x = a > b; x });"),
        ("S < x = a > b; x >", "C({ x = a > b; x })"),
        ("S < f(x) > let y = 1;", "C({ f(x) }); let y = 1;"),
        ("S < f(x) > S < g(x) >", "C({ f(x) }); C({ g(x) })"),
        ("f(S < a >, S < b >)", "f(C({ a }), C({ b }))"),
        ("let Some(r) = S < a > else { return };", "let Some(r) = C({ a }) else { return };"),
        // A `>` that means something else.
        ("S < let v: Vec<Vec<i32>> = f(); >", "C({ let v: Vec<Vec<i32>> = f(); })"),
        ("let r = S < g::<T>(x) >;", "let r = C({ g::<T>(x) });"),
        ("let r = S < v as Vec<i32> >;", "let r = C({ v as Vec<i32> });"),
        ("let r = S < |a: i32| -> i32 { a } >;", "let r = C({ |a: i32| -> i32 { a } });"),
        (
            "let r = S < match a { 1 => 2, b if b > 3 => 4, _ => 5 } >;",
            "let r = C({ match a { 1 => 2, b if b > 3 => 4, _ => 5 } });",
        ),
        ("let r = S < a >> 1 >;", "let r = C({ a >> 1 });"),
        ("let r = S < a >= b >;", "let r = C({ a >= b });"),
        ("let r = S < (a > b) >;", "let r = C({ (a > b) });"),
        ("S < a > b >;", "C({ a > b });"),
        // Blocks in blocks.
        ("S < stream!(s2) < a >>;", "C({ stream!(s2, { a }) });"),
        ("S < stream!(s2) < stream!(s3) < a >>>;", "C({ stream!(s2, { stream!(s3, { a }) }) });"),
        ("S < stream!(s2) < a >> 1 >>;", "C({ stream!(s2, { a >> 1 }) });"),
        // In expressions and statements of every kind.
        ("S < f(x) >?;", "C({ f(x) })?;"),
        ("S < f(x) >.wait();", "C({ f(x) }).wait();"),
        ("for i in 0..n { S < f(i); > g(i); }", "for i in 0..n { C({ f(i); }); g(i); }"),
        (
            "match a { 1 => S < f(); > 2 => S < g() >, _ => {} }",
            "match a { 1 => C({ f(); }), 2 => C({ g() }), _ => {} }",
        ),
        ("fn f() -> R { S < Ok(x) > }", "fn f() -> R { C({ Ok(x) }) }"),
        // The block in the parentheses, also with comparisons in it.
        ("stream!(s1, cores(cube = 3, vector = 8) < f(x); >); y", "C({ f(x); }); y"),
        ("let r = stream!(s1, cores(cube = 3, vector = 8) < a > b && c < d >);", "let r = C({ a > b && c < d });"),
    ];
    assert_eq!(cases.len(), 32);
    for (source, expected) in cases {
        gives(Syntax::Wrapper, source, expected);
    }
}

#[test]
fn card_form_that_cannot_be_read() {
    for source in ["S < a; b > y", "S < a; b > 1", "S < a; b > (y)"] {
        fails(Syntax::Wrapper, source, "ambiguous `>`");
    }
    let text = fails(Syntax::Wrapper, "{ S < f(x) ; let y = 1; }", "unclosed `<` of a `stream!` block");
    assert_eq!(text, "{stream!(s1,cores(cube=3,vector=8),{f(x);lety=1;})}");
}

#[test]
fn card_form_before_operators() {
    // A statement ends with its block, as in `if a {} *x = 1;` ...
    gives(Syntax::Wrapper, "S < f(); > *x = 1;", "C({ f(); }); *x = 1;");
    gives(Syntax::Wrapper, "S < f(); > #[allow(unused)] let x = 1;", "C({ f(); }); #[allow(unused)] let x = 1;");
    gives(Syntax::Wrapper, "S < f(); > 'a: loop {}", "C({ f(); }); 'a: loop {}");
    gives(
        Syntax::Wrapper,
        "stream!(if a { &s1 } else { &s2 }) < f(); > y",
        "stream!(if a { &s1 } else { &s2 }, { f(); }); y",
    );
    // ... and an operand does not.
    gives(Syntax::Wrapper, "let r = S < let x = 1; > - 1;", "let r = C({ let x = 1; }) - 1;");
}

#[test]
fn card_form_under_the_attribute() {
    for source in ["S < a; b > y;", "S < let x = 1; f(x); >", "S < a", "let r = S < a >;"] {
        fails(Syntax::Attribute, source, "`stream!(..) < .. >` is not Rust syntax inside `#[multicore]`");
    }
    // Comparisons of values are Rust.
    for source in ["C({ a }) < b", "if C({ a }) { f() }", "stream!(s1 < a >) < b"] {
        assert_eq!(run(&spell_out(source), Syntax::Attribute).1, [""; 0], "{source}");
    }
}

#[test]
fn braces_behind_the_call() {
    for syntax in [Syntax::Attribute, Syntax::Wrapper] {
        let text = fails(syntax, "stream!(s1) { f(x); } y", "the block goes inside the parentheses");
        assert_eq!(text, "stream!(s1,{f(x);});y");
    }
}

#[test]
fn angles_in_the_parentheses() {
    let gives = |source, expected| gives(Syntax::Attribute, source, expected);
    gives("stream!(s1 < >);", "stream!(s1, { });");
    gives("stream!(&streams[i % 4] < f(x); >);", "stream!(&streams[i % 4], { f(x); });");
    gives("stream!(self.get::<u8>()? < f(x); >);", "stream!(self.get::<u8>()?, { f(x); });");
    gives("stream!(<T as Has>::stream() < f(x); >);", "stream!(<T as Has>::stream(), { f(x); });");
    gives("stream!(s1, after(x), cores(cube = 1), < a >,);", "stream!(s1, after(x), cores(cube = 1), { a });");
    gives("stream!(s1 < stream!(s2 < a >) >);", "stream!(s1, { stream!(s2, { a }) });");
    gives("stream!(s1 < let v: Vec<Vec<i32>> = f(); v >);", "stream!(s1, { let v: Vec<Vec<i32>> = f(); v });");
}

#[test]
fn attribute_form() {
    let gives = |source, expected| gives(Syntax::Attribute, source, expected);
    gives("#[stream(s1, cores(cube = 1))] { f(x); } y", "stream!(s1, cores(cube = 1), { f(x); }); y");
    gives("#[stream(s1)] { x }", "stream!(s1, { x })");
    gives("g(#[stream(s1)] { x }, 1)", "g(stream!(s1, { x }), 1)");
    gives("let r = #[stream(s1)] { x };", "let r = stream!(s1, { x });");
    gives("#[stream(s1)] let r = { x };", "let r = stream!(s1, { x });");
    gives("#[stream(s1)] let (a, b): (A, B<C = D>) = { x };", "let (a, b): (A, B<C = D>) = stream!(s1, { x });");
    gives("#[stream(s1)] let Some(r) = { x } else { return };", "let Some(r) = stream!(s1, { x }) else { return };");
    gives("#[stream(s1,)] { x }?.y()", "stream!(s1, { x })?.y()");
    gives("#[stream(s1)] { x; } #[stream(s2)] { y; } *z = 1;", "stream!(s1, { x; }); stream!(s2, { y; }); *z = 1;");
    gives("#[stream(s1)] { #[stream(s2)] { y } }", "stream!(s1, { stream!(s2, { y }) })");
    gives(
        "match a { 1 => #[stream(s1)] { x } 2 => #[stream(s1)] { y }, _ => {} }",
        "match a { 1 => stream!(s1, { x }), 2 => stream!(s1, { y }), _ => {} }",
    );
    gives("#[multicore::stream(s1)] { x }", "stream!(s1, { x })");
}

#[test]
fn attribute_form_in_the_wrong_place() {
    let misplaced = "`#[stream(..)]` goes on a block";
    for source in [
        "#[stream(s1)] for i in 0..n {}",
        "#[stream(s1)] f(x)?;",
        "#[stream(s1)] let r = f(x);",
        "#[stream(s1)] fn g() {}",
        "#[stream(s1)] let r;",
        "#[stream(s1)] let r = a == { b };",
        "#[stream(s1)] g!(s1, { f(x) });",
    ] {
        let text = fails(Syntax::Attribute, source, misplaced);
        // What it says is kept.
        assert!(text.starts_with("stream!(s1,{});") && text.matches("stream").count() == 1, "{text}");
    }
    fails(Syntax::Attribute, "#[stream] { f(x); }", "`#[stream]` needs the stream");
    fails(Syntax::Attribute, "#[stream(s1)] unsafe { f(x); }", "put `unsafe` inside the block");
}

#[test]
fn calls_are_tidied() {
    let gives = |source, expected| gives(Syntax::Attribute, source, expected);
    gives("stream! { s1, { x; } } y", "stream!(s1, { x; }); y");
    gives("stream! { s1, { x } }", "stream!(s1, { x })");
    gives("let r = stream![s1, { x }];", "let r = stream!(s1, { x });");
    gives("multicore::stream!(s1, { x });", "stream!(s1, { x });");
    gives("::multicore::stream!(s1, { x });", "stream!(s1, { x });");
    gives("#[allow(unused)] stream!(s1, { x });", "stream!(s1, #[allow(unused)] { x });");
    gives("#[allow(unused)] #[stream(s1)] #[inline] { x } y", "stream!(s1, #[allow(unused)] #[inline] { x }); y");
    gives("#[allow(unused)] #[stream(s1)] let r = { x };", "#[allow(unused)] let r = stream!(s1, { x });");
    gives("stream!(s1, { x },);", "stream!(s1, { x },);");
    gives("multicore_fn! { fn f() { stream!(s1) < a > } }", "multicore_fn! { fn f() { stream!(s1) < a > } }");
}

#[test]
fn spans_stay_the_authors() {
    let source = "{\n    stream!(s1, cores(cube = 3)) < f(x) >;\n}";
    let mut diagnostics = Diagnostics::default();
    let tokens = normalise(tokens(source), Syntax::Wrapper, &mut diagnostics);
    assert!(diagnostics.is_empty());
    fn find(tokens: TokenStream, name: &str) -> Option<(usize, usize)> {
        tokens.into_iter().find_map(|token| match token {
            proc_macro2::TokenTree::Group(group) => find(group.stream(), name),
            token => (token.to_string() == name).then(|| (token.span().start().line, token.span().start().column)),
        })
    }
    assert_eq!(find(tokens.clone(), "stream"), Some((2, 4)));
    assert_eq!(find(tokens.clone(), "cube"), Some((2, 22)));
    assert_eq!(find(tokens, "x"), Some((2, 37)));
}

/// Any tokens at all, with many that matter here.
fn token_soup() -> impl Strategy<Value = String> {
    const WORDS: [&str; 30] = [
        "stream",
        "!",
        "stream !",
        "stream!(s1)",
        "stream!(s1, {})",
        "<",
        ">",
        ">>",
        "=",
        "==",
        "=>",
        "->",
        ";",
        ",",
        ".",
        "?",
        "#",
        "#[stream(s1)]",
        "#[stream]",
        "#[a]",
        "let",
        "else",
        "x",
        "1",
        "::",
        "&",
        "*x",
        "unsafe",
        "'a",
        "multicore_fn!",
    ];
    let word = prop::sample::select(&WORDS[..]).prop_map(str::to_owned);
    word.prop_recursive(4, 64, 8, |inner| {
        let brackets = prop::sample::select(&[("(", ")"), ("{", "}"), ("[", "]"), ("", "")][..]);
        (brackets, prop::collection::vec(inner, 0..8))
            .prop_map(|((open, close), words)| format!("{open} {} {close}", words.join(" ")))
    })
}

proptest! {
    /// Nothing that can be typed makes it panic, and what comes out as Rust stays as it is when it is rewritten again.
    #[test]
    fn any_tokens(source in token_soup()) {
        // What is not tokens at all (a lone quote, say) never gets here.
        let Ok(tokens) = source.parse::<TokenStream>() else { return Ok(()) };
        for syntax in [Syntax::Attribute, Syntax::Wrapper] {
            let mut diagnostics = Diagnostics::default();
            let once = normalise(tokens.clone(), syntax, &mut diagnostics);
            if diagnostics.is_empty() && Block::parse_within.parse2(once.clone()).is_ok() {
                let twice = normalise(once.clone(), syntax, &mut diagnostics);
                prop_assert_eq!(compact(&once), compact(&twice));
            }
            let f = format!("fn f() -> R {{ {source} }}").parse::<TokenStream>();
            if let Ok(f) = f {
                let _ = parse(TokenStream::new(), f.clone());
                let _ = fallback(TokenStream::new(), f);
            }
        }
    }
}
