//! Writes random `#[multicore]` functions, which `tests/programs` compiles and runs.
//!
//! `MULTICORE_SEED` and `MULTICORE_PROGRAMS` choose others and more of them.

mod generate;

fn main() {
    println!("cargo::rerun-if-env-changed=MULTICORE_SEED");
    println!("cargo::rerun-if-env-changed=MULTICORE_PROGRAMS");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=generate");
    let number = |name: &str, default: u64| match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name} takes a number, not `{text}`")),
        Err(_) => default,
    };
    let text = generate::module(number("MULTICORE_SEED", 1), number("MULTICORE_PROGRAMS", 300));
    let path = std::path::Path::new(&std::env::var("OUT_DIR").expect("cargo sets OUT_DIR")).join("programs.rs");
    std::fs::write(path, text).expect("OUT_DIR can be written");
}
