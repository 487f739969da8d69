//! With random delays and any number of workers the result is bit for bit the serial one, and nothing is left to the
//! runtime to put right.

use super::{Bench, PROGRAMS, kernels};

/// Inputs a program.
const INPUTS: u64 = 6;

#[test]
fn every_program_gives_the_serial_result_and_leaves_no_hazard() {
    let serial = Bench::new("host,serial,workers=1");
    let benches: Vec<_> = (1..=4).map(|n| Bench::new(&format!("host,workers={n}"))).collect();
    let (mut runs, mut errors, mut wrong) = (0, 0, Vec::new());
    for (number, program) in PROGRAMS.iter().enumerate() {
        for input in 0..INPUTS {
            let seed = input * 0x0123_4567_89ab_cdef + number as u64;
            kernels::delay(0);
            let (expected, _) = serial.run(program, seed);
            errors += u64::from(expected.error.is_some());
            for (n, bench) in benches.iter().enumerate() {
                kernels::delay((seed << 3) + n as u64 + 1);
                let (left, hazards) = bench.run(program, seed);
                runs += 1;
                if left != expected || hazards != 0 {
                    wrong.push(format!(
                        "{} on {}, input {input}: {hazards} hazards, {}",
                        program.name,
                        n + 1,
                        if left == expected { "right result" } else { "WRONG RESULT" }
                    ));
                }
            }
        }
    }
    let said: Vec<String> =
        benches.iter().flat_map(|bench| bench.device.diagnostics()).map(|d| d.to_string()).collect();
    println!("{} functions, {runs} runs, {errors} inputs ended by an error", PROGRAMS.len());
    assert!(wrong.is_empty(), "{} runs:\n{}\n{}", wrong.len(), wrong.join("\n"), said.join("\n"));
}
