//! Text in, messages out: one for each mistake that can be made in a signature, in the arguments, in a header or around
//! a block.

use quote::ToTokens;

use super::{StreamBlock, parse};
use crate::testing::tokens;

fn messages(args: &str, item: &str) -> Vec<String> {
    parse(tokens(args), tokens(item)).map_or_else(|diagnostics| diagnostics.messages(), |_| Vec::new())
}

/// Each source must give messages that start like this, in this order, and no others.
#[track_caller]
fn all<const N: usize>(args: &str, item: &str, expected: [&str; N]) {
    let messages = messages(args, item);
    let alike = messages.len() == N && messages.iter().zip(expected).all(|(message, start)| message.starts_with(start));
    assert!(alike, "#[multicore({args})] {item}\n{messages:#?}");
}

#[track_caller]
fn body<const N: usize>(body: &str, expected: [&str; N]) {
    all("streams(s1, s2)", &format!("fn f(x: &T) -> Result<T> {{ {body} }}"), expected);
}

#[track_caller]
fn header<const N: usize>(header: &str, expected: [&str; N]) {
    body(&format!("let r = stream!({header}); Ok(r)"), expected);
}

#[test]
fn arguments() {
    let with = |args| messages(args, "fn f() -> Result<T> { g() }");
    assert_eq!(with(""), [""; 0]);
    assert_eq!(with("streams(a, b,), serial, explain, crate = other::multicore,"), [""; 0]);
    let f = "fn f() -> Result<T> { g() }";
    all("serial, serial", f, ["`serial` set twice (1/2)", "`serial` set twice (2/2)"]);
    all("streams(a, b, a)", f, ["stream `a` declared twice (1/2)", "stream `a` declared twice (2/2)"]);
    all("streams(a), streams(b)", f, ["`streams` set twice (1/2)", "`streams` set twice (2/2)"]);
    all(
        "stream(a), seriel = 3, serial",
        f,
        ["unknown argument `stream`; expected `streams(..)`", "unknown argument `seriel`"],
    );
    all("\"a\"", f, ["unknown argument `\"a\"`"]);
    all("streams", f, ["`streams` takes names"]);
    all("streams()", f, ["`streams()` declares no stream"]);
    all("streams(main)", f, ["`main` need not be declared"]);
    all("streams(a.b)", f, ["`streams` takes names"]);
    all("serial = true", f, ["`serial` takes no value"]);
    all("crate", f, ["`crate` takes a path"]);
}

#[test]
fn items() {
    const NOT: &str = "`#[multicore]` can only be used on functions";
    for item in [
        "struct S;",
        "pub enum E {}",
        "mod m {}",
        "impl S {}",
        "unsafe impl T for S {}",
        "trait T {}",
        "const N: u8 = 1;",
        "static N: u8 = 1;",
        "use a::b;",
        "type A = B;",
        "extern crate a;",
        "m! {}",
        "extern \"C\" { fn f(); }",
    ] {
        all("", item, [NOT]);
    }
    assert!(messages("", "impl S {}")[0].ends_with("put it on each method"));
    all("", "fn f(&self) -> Result<T>;", ["`#[multicore]` needs a function body"]);
    for item in [
        "pub(crate) unsafe fn f<'a, T: X, const N: usize>(mut self, x: &'a T) -> crate::Result<impl X + 'a> where T: Y { g() }",
        "/// Text.\n#[inline] fn f() -> io::Result<()> { g() }",
        "extern \"Rust\" fn f() -> Done { g() }",
    ] {
        all("", item, []);
    }
}

#[test]
fn signatures() {
    all("", "async fn f() -> Result<T> { g() }", ["async functions are not supported"]);
    all("", "const fn f() -> Result<T> { g() }", ["`#[multicore]` functions run device work and cannot be `const`"]);
    all("", "extern \"C\" fn f() -> Result<T> { g() }", ["`extern` functions are not supported"]);
    all("", "extern fn f() -> Result<T> { g() }", ["`extern` functions are not supported"]);
    all("", "#[multicore(serial)] fn f() -> Result<T> { g() }", ["duplicate `#[multicore]`"]);
    for output in ["", "-> ()", "-> &T", "-> (T, T)", "-> !", "-> u32", "-> Option<T>", "-> impl X", "-> [T; 2]"] {
        all("", &format!("fn f() {output} {{ g() }}"), ["a `#[multicore]` function returns a `Result`"]);
    }
    // All of it at once, and the body as well.
    let wrong = ["async functions are", "a `#[multicore]` function returns", "`cube` must be at least 1"];
    all("", "async fn f() { stream!(s1, cores(cube = 0), {}); }", wrong);
}

#[test]
fn headers() {
    for correct in [
        "s1, { x }",
        "&streams[i % 4], cores(cube = N, vector = cfg.vector + 1,), after(x, self.kv), reads(p), writes(q.0), { x },",
        "if a { &s1 } else { &s2 }, cores(vector = 4u32), { x }",
        "main, cores(cube = (24)), after(x), after(y), #[allow(unused)] { x }",
    ] {
        header(correct, []);
    }
    const NO_BLOCK: &str = "`stream!` needs a block as its last argument";
    const COUNT: &str = "`cube` takes a whole number of cores";
    header("", ["`stream!` needs a stream and a block"]);
    header("s1", [NO_BLOCK]);
    header("s1,", [NO_BLOCK]);
    header("s1, cores(cube = 1)", [NO_BLOCK]);
    header("s1, f(x)?", [NO_BLOCK]);
    header("s1 { x }", ["missing `,` before the block"]);
    header("{ x }", ["`stream!` needs the stream first"]);
    header("cores(cube = 1), { x }", ["`stream!` needs the stream first"]);
    header("s1, { x }, cores(cube = 1)", ["the block must be the last argument"]);
    header("s1, { x }, { y }", ["second block in one `stream!`"]);
    header("s1, unsafe { x }", ["put `unsafe` inside the block"]);
    header("s1, async { x }", ["a `stream!` block cannot be `async`"]);
    header("s1, || { x }", [NO_BLOCK_OR_CLOSURE]);
    header("s1, move || { x }", [NO_BLOCK_OR_CLOSURE]);
    header("s1, priority = high, { x }", ["unknown item in the header"]);
    header("s1, core(cube = 3), { x }", ["unknown item in the header"]);
    header("s1, cores(cube = 3), cores(vector = 8), { x }", ["`cores` set twice (1/2)", "`cores` set twice (2/2)"]);
    header("s1, cores(), { x }", ["`cores()` needs `cube = ..` or `vector = ..`"]);
    header("s1, cores(3, 8), { x }", ["`cores` takes keys: write `cores(cube = 3, vector = 8)`"]);
    header("s1, cores(cube: 3), { x }", ["`cores` takes keys"]);
    header("s1, cores(cube = 0), { x }", ["`cube` must be at least 1; leave the key out for no limit"]);
    for wrong in ["-1", "1.5", "\"3\"", "3u64", "4294967296", "true", "'3'", "3i32"] {
        header(&format!("s1, cores(cube = {wrong}), {{ x }}"), [COUNT]);
    }
    header(
        "s1, cores(cube = 1, cub = 2, cube = 0), { x }",
        ["unknown key `cub`", "`cube` must be at least 1", "`cube` set twice (1/2)", "`cube` set twice (2/2)"],
    );
    header("s1, after(), { x }", ["`after()` names nothing"]);
    header("s1, after(&x), { x }", ["`after` takes the variable itself; leave out the `&`"]);
    header("s1, reads(x[0]), { x }", ["`reads` takes whole variables; leave out the index"]);
    header("s1, writes(f(x)), { x }", ["`writes` takes variables and their fields"]);
    header("s1, after(s1), { x }", ["`after(s1)` has no effect on stream `s1`"]);
    header("self.s, after(self.s), { x }", ["`after(self.s)` has no effect on stream `self.s`"]);
    header("s1, after(s2), { x }", ["`s2` is a stream; `after` takes the value to wait for"]);
    header("&self.s, cores(cube = stream!(s1, { 3 })), { x }", ["cannot analyse `stream!` in the header of another"]);
}

const NO_BLOCK_OR_CLOSURE: &str = "the block of `stream!` is not a closure";

#[test]
fn places() {
    for correct in [
        "stream!(s1, { stream!(s2, { g(x)? }) })",
        "for i in 0..3 { if a { stream!(s1, { break; }); } else { stream!(s1, { continue; }); } } Ok(x)",
        "stream!(s1, { let c = |a| a + 1; let d = async { e.await }; })",
        "#[multicore] fn inner() -> Result<T> { stream!(s1, { x }) } inner()",
        "mod m { #[::multicore::multicore] fn inner() -> Result<T> { stream!(s1, { x }) } } m::inner()",
        "println!(\"{}\", stream); x.stream(); Ok(x)",
        "#[cfg(a)] let y = 1; #[allow(unused)] stream!(s1, { x })",
    ] {
        body(correct, []);
    }
    body("let c = |a| stream!(s1, { a }); Ok(x)", ["`stream!` cannot be used in a closure"]);
    body("stream!(s1, { x.map(|a| stream!(s2, { a })) })", ["`stream!` cannot be used in a closure"]);
    body("let c = async { stream!(s1, { x.await }) }; Ok(x)", ["`stream!` cannot be used in an `async` block"]);
    body("fn inner() { stream!(s1, { x }); } Ok(x)", ["`stream!` stands in the function `inner`"]);
    body("struct S; impl S { fn inner() { stream!(s1, { x }); } } Ok(x)", ["`stream!` stands in the function `inner`"]);
    body("const N: u8 = stream!(s1, { 1 }); Ok(x)", ["`stream!` cannot be used in a `const`"]);
    body("static N: u8 = stream!(s1, { 1 }); Ok(x)", ["`stream!` cannot be used in a `static`"]);
    body("let n = const { stream!(s1, { 1 }) }; Ok(x)", ["`stream!` cannot be used in a `const` block"]);
    body("let v = vec![stream!(s1, { x })]; Ok(v)", ["cannot analyse `stream!` inside `vec!`"]);
    body("f(a!(stream!(s1, { x }), (stream!(s1, { x }))))", ["cannot analyse `stream!` inside `a!`"; 2]);
    body("let v = vec![f(#[stream(s1)] { x })]; Ok(v)", ["cannot analyse `stream!` inside `vec!`"]);
    body("macro_rules! m { () => { stream!(s1, { x }) } } m!()", ["cannot analyse `stream!` inside `macro_rules!`"]);
    body("stream!(s1, { x.await })", ["cannot await inside a `stream!` block"]);
    const CFG: &str = "the analysis cannot see whether `#[cfg]` keeps";
    for hidden in [
        "#[cfg(a)] stream!(s1, { x });",
        "#[stream(s1)] #[cfg(a)] { x }",
        "#[cfg(a)] #[stream(s1)] let r = { x };",
        "#[cfg(a)] { stream!(s1, { x }); }",
        "#[allow(unused)] #[cfg(a)] let r = f(stream!(s1, { x }))?;",
        "match x { #[cfg(a)] 1 => stream!(s1, { x }), _ => {} }",
        "stream!(s1, { #[cfg(a)] let y = x; y });",
        "stream!(s1, { let c = || { #[cfg(a)] g(); }; });",
    ] {
        body(hidden, [CFG]);
    }
}

#[test]
fn what_a_block_says() {
    let call = syn::parse_quote!(stream!(
        &self.s,
        cores(vector = 8, cube = n + 1),
        writes(b),
        reads(a.k),
        after(x),
        #[allow(unused)]
        {
            x
        }
    ));
    let block = StreamBlock::from_macro(&call).expect("a stream! call").expect("without an error");
    let text = |tokens: &dyn ToTokens| tokens.to_token_stream().to_string();
    assert_eq!(text(&block.stream), "& self . s");
    assert_eq!(block.cube.map(|cube| text(&cube)).as_deref(), Some("n + 1"));
    assert_eq!(block.vector.map(|vector| text(&vector)).as_deref(), Some("8"));
    assert_eq!(block.after.iter().map(|x| text(x)).collect::<Vec<_>>(), ["x"]);
    assert_eq!(block.reads.iter().map(|x| text(x)).collect::<Vec<_>>(), ["a . k"]);
    assert_eq!(block.writes.iter().map(|x| text(x)).collect::<Vec<_>>(), ["b"]);
    assert_eq!((block.attrs.len(), text(&block.block).as_str()), (1, "{ x }"));
    assert!(StreamBlock::from_macro(&syn::parse_quote!(vec![1])).is_none());
}
