//! Writes what `tests/programs` compiles and runs: random `#[multicore]` functions, and the examples.
//!
//! `MULTICORE_SEED` and `MULTICORE_PROGRAMS` choose other functions and more of them.

mod generate;

use std::path::Path;

/// Where the examples are, and those whose functions are run.
const EXAMPLES: &str = "../examples/examples";
const FILES: [&str; 7] = [
    "01_two_streams.rs",
    "02_core_limits.rs",
    "03_events_by_hand.rs",
    "04_loop_pipeline.rs",
    "05_own_kernel.rs",
    "06_plans.rs",
    "moe_token_slices/layer.rs",
];

fn main() {
    println!("cargo::rerun-if-env-changed=MULTICORE_SEED");
    println!("cargo::rerun-if-env-changed=MULTICORE_PROGRAMS");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=generate");
    let out = std::env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let write = |name: &str, text: String| {
        std::fs::write(Path::new(&out).join(name), text).expect("OUT_DIR can be written");
    };
    let number = |name: &str, default: u64| match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name} takes a number, not `{text}`")),
        Err(_) => default,
    };
    write("programs.rs", generate::module(number("MULTICORE_SEED", 1), number("MULTICORE_PROGRAMS", 300)));
    for file in FILES {
        let path = format!("{EXAMPLES}/{file}");
        println!("cargo::rerun-if-changed={path}");
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        write(file.rsplit('/').next().unwrap_or(file), included(&text));
    }
}

/// The text of a file as it can be included, line for line: without inner documentation, and without its tests.
fn included(text: &str) -> String {
    let lines = text.lines().take_while(|line| *line != "#[cfg(test)]");
    lines.map(|line| line.replacen("//!", "//", 1) + "\n").collect()
}
