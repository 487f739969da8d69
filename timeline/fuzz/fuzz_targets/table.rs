//! Tables: `kernel_details.csv`, `op_summary`, `task_time`.
#![no_main]

mod common;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let path = common::folder().join("kernel_details.csv");
    std::fs::write(&path, bytes).expect("a file for the input");
    common::check(&path);
});
