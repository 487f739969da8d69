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
    let text = prettyplease::unparse(&file);
    assert_is_short(arguments, source, &text);
    text
}

/// What the macro adds is at most 15 lines a block, those of the plan among them, and as many once for the function: the
/// plan without its entries, and entering. No types inside of types.
fn assert_is_short(arguments: &str, source: &str, expanded: &str) {
    let plain = crate::fallback::fallback(tokens(arguments), tokens(source));
    let plain = prettyplease::unparse(&syn::parse2(plain).expect("the stand-in is Rust"));
    let added = expanded.lines().count() - plain.lines().count();
    let blocks = expanded.matches("PlanBlock::new").count();
    // A plan beside the function has two items around it.
    let once = if arguments.contains("explain") { 30 } else { 15 };
    assert!(added <= 15 * blocks + once, "{added} lines for {blocks} blocks:\n{expanded}");
    assert!(!expanded.contains("::<"), "{expanded}");
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
    assert_eq!(
        rejected(later),
        [1, 2].map(|i| {
            format!("`y` is produced later ({i}/2)\nhelp: put this block behind that one, or leave `after(y)` out")
        })
    );
    let nobody = "fn f(a: &Stream) -> Result<()> { stream!(a, reads(y), { f() }) }";
    assert_eq!(rejected(nobody), ["`y` is not a variable of this function; name one that holds the value"]);
}

/// The functions of a file, each with its arguments for `#[multicore]`.
fn functions(path: &str) -> Vec<(TokenStream, syn::ItemFn)> {
    let path = format!("{}/{path}", env!("CARGO_MANIFEST_DIR"));
    let source = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let file: TokenStream = source.parse().expect("it is Rust");
    let functions = syn::parse2::<syn::File>(file).expect("it is a file").items.into_iter().filter_map(|item| {
        let syn::Item::Fn(mut function) = item else { return None };
        let at = function.attrs.iter().position(|attribute| attribute.path().is_ident("multicore"))?;
        let attribute = function.attrs.remove(at);
        Some((attribute.meta.require_list().map(|list| list.tokens.clone()).unwrap_or_default(), function))
    });
    functions.collect()
}

/// The text of a function's `#[doc]` attributes.
fn documentation(function: &syn::ItemFn) -> String {
    let lines = function.attrs.iter().filter_map(|attribute| match &attribute.meta {
        syn::Meta::NameValue(doc) if doc.path.is_ident("doc") => match &doc.value {
            syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    });
    lines.map(|line| line.strip_prefix(' ').unwrap_or(&line).to_owned() + "\n").collect()
}

/// The plan of a program says the same: `ui-tests/tests/plans.rs`.
#[test]
fn explained_documentation() {
    let mut all = String::new();
    for (arguments, function) in functions("../ui-tests/tests/plans/explained.rs") {
        let name = function.sig.ident.to_string();
        let parsed = crate::parse::parse(arguments, quote::quote!(#function)).map_err(|e| e.messages());
        let output = expand(parsed.expect("the source is right")).map_err(|e| e.messages());
        let items = syn::parse2::<syn::File>(output.expect("it can be planned")).expect("it is Rust").items;
        let Some(syn::Item::Fn(expanded)) = items.into_iter().next() else { panic!("`{name}` is gone") };
        all += &format!("==== {name}\n{}", documentation(&expanded));
    }
    insta::assert_snapshot!(all);
}

#[test]
fn a_plan_beside_a_function_and_a_method() {
    insta::assert_snapshot!(expanded(
        "explain",
        "pub fn free(a: &Stream, x: &Tensor) -> Result<Tensor> { stream!(a, { f(x) }) }"
    ));
    insta::assert_snapshot!(expanded(
        "explain",
        "pub(crate) fn new(a: &Stream, x: &Tensor) -> Result<Self> { stream!(a, { Ok(Self { y: f(x)? }) }) }"
    ));
}

/// The line that keeps the plan: beside the function or in it.
fn kept(source: &str) -> String {
    let text = expanded("explain", source);
    let beside = text
        .lines()
        .find(|line| line.starts_with("enum ") || line.contains(" enum ") || line.contains("const __plan_of"));
    beside.map_or("inside", |line| line.trim_end_matches(" = {")).to_owned()
}

#[test]
fn where_the_plan_is_kept() {
    // Nothing can stand beside a method of a trait, and nothing tells it from a private one.
    assert_eq!(kept("fn f(&self) -> Result<()> { Ok(()) }"), "inside");
    assert_eq!(kept("fn f(x: &Tensor) -> Result<Self> { Ok(Self(x.clone())) }"), "inside");
    assert_eq!(kept("pub fn f(&self) -> Result<()> { Ok(()) }"), "pub const __plan_of_f: &'static ::multicore::Plan");
    assert_eq!(
        kept("pub(crate) fn f(n: usize) -> Result<()> { go(n * Self::N) }"),
        "pub(crate) const __plan_of_f: &'static ::multicore::Plan"
    );
    assert_eq!(
        kept("pub(super) fn f(n: usize) -> Result<()> { println!(\"{}\", Self::N); Ok(()) }"),
        "pub(super) const __plan_of_f: &'static ::multicore::Plan"
    );
    assert_eq!(kept("pub fn f() -> Result<()> { Ok(()) }"), "pub enum f {}");
    // The `Self` is that of an item inside.
    let item = "fn f() -> Result<()> { struct A; impl A { fn a() -> Self { Self } } Ok(()) }";
    assert_eq!(kept(item), "enum f {}");
}
