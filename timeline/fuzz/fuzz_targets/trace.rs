//! Chrome traces.
#![no_main]

mod common;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let path = common::folder().join("trace_view.json");
    std::fs::write(&path, bytes).expect("a file for the input");
    common::check(&path);
});
