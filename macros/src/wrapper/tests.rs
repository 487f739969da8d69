//! Text in, text out.

use super::expand;
use crate::testing::{compact, tokens};

#[track_caller]
fn gives(items: &str, expected: &str) {
    assert_eq!(compact(&expand(tokens(items))), compact(&tokens(expected)));
}

#[test]
fn functions_are_marked() {
    gives("fn f() -> R { stream!(s1) < g(x) > }", "#[::multicore::multicore] fn f() -> R { stream!(s1, { g(x) }) }");
    gives("#[multicore(serial)] fn f() -> R { g() }", "#[multicore(serial)] fn f() -> R { g() }");
    gives(
        "/// Text.\n#[mc::multicore(crate = mc)] fn f() -> R { g() } fn h() -> R { k() }",
        "/// Text.\n#[mc::multicore(crate = mc)] fn f() -> R { g() } #[::multicore::multicore] fn h() -> R { k() }",
    );
}

#[test]
fn methods_with_blocks_are_marked() {
    gives(
        "impl S { const N: u8 = 1; pub fn f(&self) -> R { stream!(s1) < g(x) > } fn h() {} }",
        "impl S { const N: u8 = 1; #[::multicore::multicore] pub fn f(&self) -> R { stream!(s1, { g(x) }) } fn h() {} }",
    );
    gives(
        "trait S { fn f(&self) -> R { stream!(s1) < g(x) > } fn h(); }",
        "trait S { #[::multicore::multicore] fn f(&self) -> R { stream!(s1, { g(x) }) } fn h(); }",
    );
}

#[test]
fn errors_come_with_a_stand_in() {
    gives(
        "#[multicore(streams(s1))] fn f() -> R { stream!(s1) < a; b > y }",
        "::core::compile_error! { \"ambiguous `>`\\nhelp: end the block with `>;`, or put the comparison in parentheses\" }
        #[allow(unused)] fn f() -> R { let s1 = ::multicore::Stream::current().unwrap(); { let _ = &(s1); a; b }; y }",
    );
    gives(
        "struct S;",
        "::core::compile_error! { \"`multicore_fn!` can only wrap functions, and `impl` blocks and traits with methods\" } struct S;",
    );
    gives(
        "",
        "::core::compile_error! { \"`multicore_fn!` needs a function: `multicore_fn! { fn f(..) -> Result<..> { .. } }`\" }",
    );
}

#[test]
fn half_typed_code_is_left_to_rustc() {
    gives(
        "fn f() -> R { stream!(s1) < g(x); > x. }",
        "#[::multicore::multicore] fn f() -> R { stream!(s1, { g(x); }); x. }",
    );
}
