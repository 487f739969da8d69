//! Text in, text out: functions with errors, and what stands in for them.

use super::fallback;
use crate::testing::{compact, tokens};

#[track_caller]
fn gives(args: &str, item: &str, expected: &str) {
    assert_eq!(compact(&fallback(tokens(args), tokens(item))), compact(&tokens(expected)));
}

#[test]
fn blocks_become_plain() {
    gives(
        "",
        "pub fn f(s1: &Stream, x: &T) -> Result<T> { let y = stream!(s1, cores(cube = 0), { g(x)? }); stream!(self.s, { h(&y) })?.k() }",
        "#[allow(unused)] pub fn f(s1: &Stream, x: &T) -> Result<T> {
            let y = { let _ = &(s1); let _ = &(0); let _ = ::core::stringify!(cores(cube = 0)); g(x)? };
            ({ let _ = &(self.s); h(&y) })?.k()
        }",
    );
}

#[test]
fn every_spelling_is_understood() {
    gives(
        "",
        "fn f() -> R { #[stream(s1)] { a(); } stream!(s1 < b(); >); stream!(s1) < c(); > stream!(main) { d(); } stream!(s1); g() }",
        "#[allow(unused)] fn f() -> R {
            { let _ = &(s1); a(); }; { let _ = &(s1); b(); }; { let _ = &(s1); c(); }; { d(); }; { let _ = &(s1); ::core::unreachable!() }; g()
        }",
    );
}

#[test]
fn declared_streams_still_exist() {
    gives(
        "streams(s1, s2), crate = other, oops",
        "fn f() -> R { stream!(s1, { g(&s2) }) }",
        "#[allow(unused)] fn f() -> R { let s1 = other::Stream::current().unwrap(); let s2 = other::Stream::current().unwrap(); { let _ = &(s1); g(&s2) } }",
    );
}

#[test]
fn what_rustc_would_refuse_as_well_is_left_out() {
    gives("", "const fn f() -> R { g() }", "#[allow(unused)] fn f() -> R { g() }");
    gives("", "fn f() { stream!(main, { g()?; }); }", "#[allow(unused)] fn f() { ::core::unreachable!() }");
    gives("", "fn f() { stream!(main, { g(|| h()?); }); }", "#[allow(unused)] fn f() { { g(|| h()?); }; }");
    gives(
        "",
        "fn f() -> R { stream!(main, { g().await }) }",
        "#[allow(unused)] fn f() -> R { ::core::unreachable!() }",
    );
    gives(
        "",
        "async fn f() -> R { stream!(main, { g().await }) }",
        "#[allow(unused)] async fn f() -> R { { g().await } }",
    );
    gives(
        "",
        "#[doc = \"\"] #[multicore(serial)] fn f() -> R { g() }",
        "#[doc = \"\"] #[allow(unused)] fn f() -> R { g() }",
    );
}

#[test]
fn items_inside_do_not_name_variables() {
    gives(
        "",
        "fn f() -> R { fn g() -> R { stream!(s1, { h() }) } const N: u8 = stream!(s1, { 1 }); stream!(s1, { k() }) }",
        "#[allow(unused)] fn f() -> R { fn g() -> R { { h() } } const N: u8 = { 1 }; { let _ = &(s1); k() } }",
    );
}

#[test]
fn other_items_stay() {
    gives("", "struct S;", "struct S;");
    gives("", "impl S { fn f() { stream!(s1, { g() }) } }", "impl S { fn f() { { g() } } }");
    // Half-typed code, which only editors can read.
    gives("", "fn f() -> R { stream!(main, { x. }) }", "#[allow(unused)] fn f() -> R { { x.__unfinished } }");
}

#[test]
fn a_plan_can_be_asked_of_it() {
    let text = compact(&fallback(
        tokens("explain"),
        tokens("pub fn f(a: &Stream) -> R { stream!(a, cores(cube = 0), { g() }) }"),
    ));
    assert!(text.contains("pubenumf{}impl::multicore::plan::Plannedforf{"), "{text}");
    assert!(text.contains("blocks:&[]"), "{text}");
}
