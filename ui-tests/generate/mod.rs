//! Random `#[multicore]` functions that compile: correct Rust, in the forms that people write.
//!
//! In: a seed and a number. Out: the text of a module with that many functions (entries, helpers that others call, methods,
//! recursive ones) and a table `PROGRAMS` to call each of them by. The generator knows what the borrow checker allows
//! (`scope`), and nothing of what the macro does with it.

mod compound;
mod function;
mod random;
mod scope;
mod statement;
mod value;

use std::fmt::Write;

use function::{Callable, Function};
use random::Random;

/// The text of the module.
pub(crate) fn module(seed: u64, functions: u64) -> String {
    let mut out = String::new();
    let mut callable: Vec<Callable> = Vec::new();
    let mut table = String::new();
    for number in 0..functions {
        let random = Random::new(seed.wrapping_mul(1 << 20).wrapping_add(number));
        let written = Function::new(random, &callable).write(number);
        out.push_str(&written.text);
        let _ = writeln!(table, "    {},", written.row);
        callable.extend(written.callable);
    }
    let _ = writeln!(out, "pub(crate) const PROGRAMS: &[Program] = &[\n{table}];");
    out
}
