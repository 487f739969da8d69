//! The profiler's database.
#![no_main]

mod common;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let path = common::folder().join("ascend_pytorch_profiler.db");
    std::fs::write(&path, bytes).expect("a file for the input");
    common::check(&path);
});
