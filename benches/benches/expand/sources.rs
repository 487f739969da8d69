//! The sources to compile: each with macros, and the same without.

use std::fmt::Write;

/// A crate of one file.
pub(crate) struct Source {
    /// Its name in JSON.
    pub(crate) key: &'static str,
    /// What it consists of.
    pub(crate) what: String,
    /// How many blocks, functions, structs or graphs.
    pub(crate) uses: usize,
    pub(crate) text: String,
    /// The same without macros.
    pub(crate) plain: String,
}

impl Source {
    pub(crate) fn lines(&self) -> usize {
        self.text.lines().count()
    }
}

/// 10, 100 and 1,000 blocks in one function, and 1,000 in a hundred.
pub(crate) fn multicore() -> Vec<Source> {
    let source = |key, functions: usize, blocks: usize| {
        let of = |macros| {
            let mut text = String::from("#![allow(unused)]\nuse multicore::prelude::*;\n");
            (0..functions).for_each(|i| text += &pipeline(i, blocks, macros));
            text
        };
        let s = if functions == 1 { "" } else { "s" };
        let what = format!("{functions} function{s} of {blocks} blocks");
        Source { key, what, uses: functions * blocks, text: of(true), plain: of(false) }
    };
    vec![source("10", 1, 10), source("100", 1, 100), source("1000", 1, 1000), source("100x10", 100, 10)]
}

/// A function of layers of ten blocks on four streams: values that cross streams, one that is written in place, limits,
/// an `after`.
fn pipeline(number: usize, blocks: usize, macros: bool) -> String {
    const LAYER: [&str; 10] = [
        "let q@ = [a, cores(cube = 6)| h.matmul(w)? ];",
        "let k@ = [b, cores(cube = 6)| h.matmul(w)? ];",
        "let v@ = [c, cores(cube = 6, vector = 8)| h.matmul(w)?.add(&h)? ];",
        "let s@ = [a, cores(cube = 12, vector = 8)| q@.matmul(&k@.transposed(0, 1)?)?.softmax()? ];",
        "let mut o@ = [b| s@.matmul(&v@)? ];",
        "[b| o@.add_(x)?; ];",
        "let g@ = [c, cores(vector = 16)| o@.rms_norm(w, 1e-6)? ];",
        "let u@ = [d, cores(cube = 12)| let up = o@.matmul(w)?; up.silu()?.mul(&g@)? ];",
        "[d, after(g@)| o@.add_(&u@)?; ];",
        "let h = [a| o@.add(&q@)?.mul(&s@)? ];",
    ];
    let mut text = String::new();
    if macros {
        text += "\n#[multicore(streams(a, b, c, d))]";
    }
    let _ = writeln!(text, "\npub fn f{number}(x: &Tensor, w: &Tensor) -> Result<Tensor> {{\n    let h = x.silu()?;");
    for i in 0..blocks {
        let line = LAYER[i % LAYER.len()].replace('@', &(i / LAYER.len()).to_string());
        let (before, call) = line.split_once('[').unwrap_or_default();
        let (header, body) = call.split_once('|').unwrap_or_default();
        let (body, after) = body.rsplit_once(']').unwrap_or_default();
        let _ = if macros {
            writeln!(text, "    {before}stream!({header}, {{{body}}}){after}")
        } else {
            writeln!(text, "    {before}{{{body}}}{after}")
        };
    }
    text + "    Ok(h)\n}\n"
}

/// Repeats a piece until the source is as long as one of ours.
fn repeated(head: &str, piece: impl Fn(usize, bool) -> String, what: &str) -> Vec<Source> {
    let sizes = multicore().into_iter().filter(|ours| ours.key != "100x10");
    let source = sizes.map(|ours| {
        let uses = (ours.lines() / piece(0, true).lines().count()).max(1);
        let of =
            |macros| format!("#![allow(unused)]\n{head}\n{}", (0..uses).map(|i| piece(i, macros)).collect::<String>());
        Source { key: ours.key, what: format!("{uses} {what}"), uses, text: of(true), plain: of(false) }
    });
    source.collect()
}

/// Functions of ten statements.
pub(crate) fn tokio() -> Vec<Source> {
    let function = |i: usize, macros| {
        let attribute = if macros { "#[tokio::main(flavor = \"current_thread\")]\n" } else { "" };
        let mut text = format!("\n{attribute}pub async fn f{i}(x: u64) -> u64 {{\n");
        for statement in 0..9 {
            let previous = if statement == 0 { "x".to_owned() } else { format!("v{}", statement - 1) };
            let _ = writeln!(text, "    let v{statement} = {previous}.wrapping_mul({statement}).rotate_left(7);");
        }
        text + "    v8\n}\n"
    };
    repeated("use tokio;", function, "functions of 10 statements")
}

/// Structs of eight fields, read and written.
pub(crate) fn serde() -> Vec<Source> {
    let structure = |i: usize, macros| {
        let derives = if macros { "#[derive(Serialize, Deserialize)]\n" } else { "" };
        let fields: String = (0..8).map(|field| format!("    pub field{field}: u64,\n")).collect();
        format!("\n{derives}pub struct S{i} {{\n{fields}}}\n")
    };
    repeated("use serde::{Deserialize, Serialize};", structure, "structs of 8 fields")
}

/// Graphs of ten operators.
pub(crate) fn dfir() -> Vec<Source> {
    let graph = |i: usize, macros| {
        let operators: String = (0..8).map(|op| format!("            -> map(|x: u64| x + {op})\n")).collect();
        let graph = format!(
            "    let df = dfir_rs::dfir_syntax! {{\n        source_iter(0..10)\n{operators}            -> for_each(|x| println!(\"{{x}}\"));\n    }};\n"
        );
        format!("\npub fn f{i}() {{\n{}}}\n", if macros { &graph } else { "" })
    };
    repeated("use dfir_rs;", graph, "graphs of 10 operators")
}
