//! What functions expand to. The snapshots are meant to be read: each shows one thing.

use proc_macro2::TokenStream;

use super::expand;
use crate::testing::tokens;

/// The expansion of a function, formatted.
fn expanded(arguments: &str, source: &str) -> String {
    let function = crate::parse::parse(tokens(arguments), tokens(source));
    let function = function.map_err(|e| e.messages()).expect("the source is right");
    let output: TokenStream = expand(function).map_err(|e| e.messages()).expect("it can be planned");
    let text = output.to_string();
    let file = syn::parse_file(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    prettyplease::unparse(&file)
}

/// The same without the plan.
fn code(arguments: &str, source: &str) -> String {
    let text = expanded(arguments, source);
    let (head, rest) = text.split_once("    static __PLAN").expect("there is a plan");
    let (_, body) = rest.split_once("\n    };\n").expect("it ends");
    let head = head.replace("    use ::multicore::__private as __multicore;\n", "");
    format!("{head}{body}")
}

/// What is wrong with a function.
fn rejected(source: &str) -> Vec<String> {
    let function = crate::parse::parse(TokenStream::new(), tokens(source)).map_err(|e| e.messages());
    expand(function.expect("the parser sees nothing wrong")).expect_err("it cannot be planned").messages()
}

#[test]
fn one_value_over_two_streams() {
    insta::assert_snapshot!(expanded(
        "streams(compute, comm)",
        "/// Documented.
         pub fn exchange<'a>(x: &'a Tensor, ep: &Communicator) -> Result<Tensor> {
             let routed = stream!(compute, cores(cube = 3, vector = 8), { gate(x)? });
             let recv = stream!(comm, cores(vector = 8), { ep.all_to_all(&routed)? });
             let shared = stream!(compute, { ffn(x)? });
             stream!(compute, { ffn(&recv)?.add(&shared) })
         }"
    ));
}

#[test]
fn a_late_use_waits_late() {
    insta::assert_snapshot!(code(
        "",
        "fn late(a: &Stream, b: &Stream, x: &Tensor) -> Result<Tensor> {
             let y = stream!(a, { f(x)? });
             let z = stream!(b, { f(x)?.add(&y)? });
             let w = stream!(b, { g(f(&z)?, y)? });
             let v = f(x)? + w;
             stream!(a, { f(&v)?.sum(w.scale(2.0)?) })
         }"
    ));
}

#[test]
fn writers_wait_for_readers() {
    insta::assert_snapshot!(code(
        "",
        "fn update(&mut self, x: &Tensor) -> Result<Tensor> {
             let k = stream!(main, { attend(x, &self.kv.k)? });
             let v = f(&self.kv.v)?;
             stream!(&self.side, { self.kv.k.append(x)?; });
             g(&k, &v)
         }"
    ));
}

#[test]
fn a_loop_with_a_container() {
    insta::assert_snapshot!(code(
        "",
        "fn slices(streams: &[Stream], xs: &[Tensor]) -> Result<Tensor> {
             let mut outs = Vec::new();
             for (i, x) in xs.iter().enumerate() {
                 let y = stream!(&streams[i % 4], { f(x)? });
                 outs.push(y);
             }
             stream!(&streams[0], { concat(&outs) })
         }"
    ));
}

#[test]
fn branches_and_moves() {
    insta::assert_snapshot!(code(
        "",
        "fn choose(a: &Stream, b: &Stream, x: &Tensor, n: usize) -> Result<Tensor> {
             let y = stream!(a, { f(x)? });
             let z = match n {
                 0 => y,
                 1 => stream!(b, { f(&y)? }),
                 _ => f(x)?,
             };
             if norm(&z)? > 1.0 {
                 return Ok(z);
             }
             stream!(b, { f(&z) })
         }"
    ));
}

#[test]
fn leaving_a_loop_from_a_block() {
    insta::assert_snapshot!(code(
        "",
        "fn leave(a: &Stream, b: &Stream, mut x: Tensor) -> Result<Tensor> {
             let y = loop {
                 stream!(a, writes(x), {
                     step(&mut x)?;
                     if done() {
                         break f(&x)?;
                     }
                 });
                 if norm(&x)? < 1e-3 { continue; }
             };
             stream!(b, after(x), { f(&y) })
         }"
    ));
}

#[test]
fn nested_blocks_and_operands() {
    insta::assert_snapshot!(code(
        "serial",
        "fn fork(a: &Stream, b: &Stream, x: &Tensor) -> Result<Tensor> {
             let y = stream!(a, cores(vector = 8), {
                 let p = f(x)?;
                 let q = stream!(b, { f(&p)? });
                 stream!(a, cores(vector = 2), { g(&p, &q)? })
             });
             g(&y, &stream!(b, { f(&y)? }))
         }"
    ));
}

#[test]
fn what_needs_no_event_costs_nothing() {
    insta::assert_snapshot!(code(
        "streams(s1)",
        "fn one_stream(x: &Tensor, n: usize) -> Result<Tensor> {
             let rows = x.shape()[0] * n;
             let y = stream!(s1, { f(x, rows)? });
             stream!(s1, { #[allow(unused_mut)] let mut z = f(&y, rows)?; Ok(z) })
         }"
    ));
}

#[test]
fn after_needs_something_to_wait_for() {
    let source = "fn f(a: &Stream, b: &Stream, x: &Tensor) -> Result<Tensor> {
        let mut y = Tensor::default();
        stream!(b, after(x), { f(x)? });
        stream!(a, { y = f(x)? });
        Ok(y)
    }";
    assert_eq!(
        rejected(source),
        ["nothing in this function produces `x` before this block\nhelp: leave `after(x)` out"]
    );
    let later = "fn f(a: &Stream, b: &Stream, mut y: Tensor) -> Result<Tensor> {
        stream!(b, after(y), { f()? });
        stream!(a, { y = g()? });
        Ok(y)
    }";
    assert_eq!(rejected(later), ["`y` is produced later (1/2)", "`y` is produced later (2/2)"]);
    let nobody = "fn f(a: &Stream) -> Result<()> { stream!(a, reads(y), { f() }) }";
    assert_eq!(rejected(nobody), ["this is not a variable of the function"]);
}
