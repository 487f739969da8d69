//! Folders: a table and a trace, joined, and the profiler's sums.
#![no_main]

mod common;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|files: (&[u8], &[u8], &[u8])| {
    let folder = common::folder();
    for (name, bytes) in [("kernel_details.csv", files.0), ("trace_view.json", files.1), ("step_trace_time.csv", files.2)] {
        std::fs::write(folder.join(name), bytes).expect("a file for the input");
    }
    common::check(&folder);
});
