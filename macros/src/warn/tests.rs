//! From source to warnings: name, line and text.

use proc_macro2::TokenStream;

use super::find;
use crate::access;
use crate::analyse::analyse;
use crate::diag::Diagnostics;
use crate::testing::tokens;

/// The warnings of a function with these arguments of `#[multicore]` and this body, whose first line is line 1.
fn warnings(args: &str, body: &str) -> Vec<String> {
    let args: TokenStream = tokens(args);
    let source = format!("fn f(x: &Tensor, y: &mut Tensor, s: &[Stream], n: usize) -> Result<()> {{{body} Ok(()) }}");
    let function = crate::parse::parse(args, tokens(&source)).map_err(|e| e.messages()).expect("the source is right");
    let mut item = function.item;
    let mut diagnostics = Diagnostics::default();
    let seen = access::see(&function.args.streams, &mut item, function.blocks, &mut diagnostics);
    assert!(diagnostics.is_empty());
    let plan = analyse(&seen.model);
    let found = find(&function.args, &item, &seen, &plan);
    found
        .iter()
        .map(|warning| format!("{}:{} {}", warning.span.start().line, warning.name, warning.text.replace('\n', " ")))
        .collect()
}

#[track_caller]
fn check<const N: usize>(args: &str, body: &str, expected: [&str; N]) {
    let found = warnings(args, body);
    let alike = found.len() == N && found.iter().zip(expected).all(|(found, start)| found.starts_with(start));
    assert!(alike, "{found:#?}");
}

const TWO: &str = "streams(a, b)";

#[test]
fn a_function_without_blocks() {
    check("", "x.silu()?;", ["1:no_stream_block this `#[multicore]` function has no `stream!` block"]);
    check("", "stream!(&s[0], { x.silu()? });", []);
}

#[test]
fn a_stream_that_only_waits() {
    check(
        TWO,
        "let u = stream!(a, { x.silu()? });
        stream!(b, { g(&u) });",
        ["2:stream_never_overlaps every block on `b` waits for `a`: line 2 for `u` of line 1 help: "],
    );
    // Something that needs neither.
    check(
        TWO,
        "let u = stream!(a, { x.silu()? });
        stream!(a, { g(x) });
        stream!(b, { g(&u) });",
        [],
    );
    check(
        TWO,
        "let u = stream!(a, { x.silu()? });
        let v = stream!(b, { g(&u) });
        let w = stream!(a, { g(&v) });
        stream!(b, { g(&w) });",
        [
            "2:stream_never_overlaps stream `b` never overlaps another one in this function: line 2 (`b`) waits for `u` of \
          line 1 (`a`), line 4 (`b`) waits for `w` of line 3 (`a`), line 3 (`a`) waits for `v` of line 2 (`b`) help: ",
        ],
    );
}

#[test]
fn one_stream_is_no_stream_too_many() {
    check(TWO, "stream!(a, { x.silu()? }); stream!(a, { x.silu()? });", []);
    check(TWO, "let u = stream!(a, { x.silu()? }); stream!(main, { g(&u) });", []);
    check(TWO, "let u = stream!(a, { x.silu()? }); g(&u);", []);
    // Nothing is launched on `b`.
    check(TWO, "let u = stream!(a, { x.silu()? }); let n = stream!(b, { u.shape() });", []);
    check("streams(a, b), serial", "let u = stream!(a, { x.silu()? }); stream!(b, { g(&u) });", []);
}

#[test]
fn main_counts_as_another_stream() {
    check(TWO, "let u = stream!(a, { x.silu()? }); h(n); stream!(b, { g(&u) });", []);
}

#[test]
fn what_is_not_one_stream_is_not_spoken_of() {
    check(
        TWO,
        "let mut u = x.clone();
        for i in 0..n { u = stream!(&s[i], { g(&u) }); u = stream!(&s[i + 1], { g(&u) }); }",
        [],
    );
}

#[test]
fn rounds_of_a_loop() {
    let pipeline = "for i in 0..n {
            let u = stream!(a, { g(x) });
            stream!(b, { g(&u) });
        }";
    check(TWO, pipeline, []);
    let recurrence = "let mut u = x.clone();
        for i in 0..n {
            let v = stream!(a, { g(&u) });
            u = stream!(b, { g(&v) });
        }";
    check(TWO, recurrence, ["4:stream_never_overlaps stream `b` never overlaps another one"]);
}

#[test]
fn one_stream_of_three() {
    check(
        "streams(a, b, c)",
        "let u = stream!(a, { x.silu()? });
        let v = stream!(b, { g(&u) });
        let w = stream!(c, { g(&u) });
        stream!(b, { v.add(&w)? });",
        ["1:stream_never_overlaps stream `a` never overlaps another one in this function: line 2 (`b`) waits for `u`"],
    );
}

#[test]
fn limits_out_of_reach() {
    check(
        TWO,
        "stream!(a, cores(cube = 3), {});",
        ["1:limit_out_of_reach no launch can have this limit: this block launches nothing help: leave `cube = 3` out"],
    );
    check(
        TWO,
        "stream!(a, cores(cube = 3, vector = 8), {
            stream!(a, cores(cube = 5), { g(x) });
        });",
        ["1:limit_out_of_reach no launch can have this limit: all that this block launches stands in blocks inside it"],
    );
    // On another stream the limits of this one do not hold.
    check(TWO, "stream!(a, cores(cube = 3), { stream!(b, { g(x) }); });", ["1:limit_out_of_reach"]);
    check("streams(a, b), serial", "stream!(a, cores(cube = 3), { stream!(b, { g(x) }); });", []);
    // What these give may be `a` as well.
    check(TWO, "stream!(a, cores(cube = 3), { stream!(&s[n], { g(x) }); });", []);
    check(TWO, "stream!(a, cores(cube = 3), { stream!(main, { g(x) }); });", []);
    check(TWO, "let b = a.clone(); stream!(a, cores(cube = 3), { stream!(b, { g(x) }); });", []);
    // Two steps out.
    check(TWO, "stream!(a, cores(cube = 3), { stream!(b, { stream!(a, { g(x) }); }); });", []);
    // More than around is a change like less.
    check(TWO, "stream!(a, cores(cube = 3), { g(x); stream!(a, cores(cube = 5), { g(x) }); });", []);
    check(TWO, "stream!(a, cores(cube = 3), { for t in x { *y = t; } });", []);
    check(TWO, "let mut o = Vec::new(); stream!(a, cores(cube = n), { o.push(x) });", []);
}

#[test]
fn cores_of_blocks_that_may_run_together() {
    const DEVICE: &str = "streams(a, b, c), device(cube = 24, vector = 48)";
    check(
        DEVICE,
        "stream!(a, cores(cube = 20), { g(x) });
        stream!(b, cores(cube = 7), { g(x) });",
        [
            "1:cores_exceed_device streams `a` and `b` may run together and ask for 27 cube cores; the device has 24 (1/2)",
            "2:cores_exceed_device streams `a` and `b` may run together and ask for 27 cube cores; the device has 24 (2/2)",
        ],
    );
    check(
        DEVICE,
        "let u = stream!(a, cores(vector = 20), { g(x) });
        stream!(c, cores(vector = 20), { g(x) });
        stream!(b, cores(vector = 9), { g(x) });",
        ["1:cores_exceed_device streams `a`, `c` and `b` may run together", "2:", "3:"],
    );
    // In order, and within what there is.
    check(
        DEVICE,
        "let u = stream!(a, cores(cube = 20), { g(x) });
        stream!(b, cores(cube = 7), { g(&u) });
        stream!(c, cores(cube = 4, vector = 48), { g(x) });",
        ["1:stream_never_overlaps"; 0],
    );
    // The limit of the block around holds for those on its stream.
    check(
        DEVICE,
        "stream!(a, cores(cube = 20), { stream!(a, cores(vector = 3), { g(x) }); });
        stream!(b, cores(cube = 7), { g(x) });",
        ["1:cores_exceed_device", "2:cores_exceed_device"],
    );
    // Round after round.
    check(
        DEVICE,
        "for i in 0..n {
            let u = stream!(a, cores(cube = 20), { g(x) });
            stream!(b, cores(cube = 7), { g(&u) });
        }",
        ["2:cores_exceed_device", "3:cores_exceed_device"],
    );
    check(
        DEVICE,
        "let mut u = x.clone();
        for i in 0..n { u = stream!(&s[i], cores(cube = 20), { g(&u) }); }",
        [],
    );
    check("streams(a, b)", "stream!(a, cores(cube = 20), { g(x) }); stream!(b, cores(cube = 7), { g(x) });", []);
}
