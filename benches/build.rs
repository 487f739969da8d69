//! Writes programs of the `syncs` benchmark: random task graphs as `#[multicore]` functions, a task a line, on one of 2, 4,
//! 8 or 16 streams, after some of the tasks shortly before it; and the layer of the main job, without its tests.

use std::fmt::Write;

/// Streams, most dependencies of a task, how far back they reach.
const GRAPHS: [(u64, u64, u64); 4] = [(2, 2, 8), (4, 3, 16), (8, 4, 64), (16, 4, 64)];
const TASKS: u64 = 250;

const LAYER: &str = "../examples/examples/moe_token_slices/layer.rs";

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }
}

fn function(streams: u64, most: u64, reach: u64) -> String {
    let mut random = Random(streams);
    let names: Vec<String> = (0..streams).map(|s| format!("s{s}")).collect();
    let mut text = format!(
        "/// {TASKS} tasks on {streams} streams, each after up to {most} of the {reach} before it.\n\
         #[multicore(streams({}))]\npub fn random_{streams}(log: &Log) -> Result<()> {{\n",
        names.join(", ")
    );
    let tasks = (0..TASKS).map(|i| {
        let count = random.below(most + 1);
        let mut after: Vec<u64> = (0..count).filter(|_| i > 0).map(|_| i - 1 - random.below(reach.min(i))).collect();
        after.sort_unstable();
        after.dedup();
        (random.below(streams), after)
    });
    let tasks: Vec<(u64, Vec<u64>)> = tasks.collect();
    for (i, (stream, after)) in tasks.iter().enumerate() {
        let is_used = tasks.iter().any(|(_, after)| after.contains(&(i as u64)));
        let name = if is_used { format!("let t{i} = ") } else { String::new() };
        let inputs: Vec<String> = after.iter().map(|task| format!("&t{task}")).collect();
        let _ = writeln!(text, "    {name}stream!(s{stream}, {{ task(log, &[{}])? }});", inputs.join(", "));
    }
    text + "    Ok(())\n}\n"
}

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={LAYER}");
    let out = std::env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let write = |name: &str, text: String| {
        std::fs::write(std::path::Path::new(&out).join(name), text).expect("OUT_DIR can be written");
    };
    write("random.rs", GRAPHS.iter().map(|&(streams, most, reach)| function(streams, most, reach)).collect());
    let layer = std::fs::read_to_string(LAYER).unwrap_or_else(|error| panic!("{LAYER}: {error}"));
    // Inner documentation cannot be included.
    let lines = layer.lines().filter(|line| !line.starts_with("//!")).take_while(|line| *line != "#[cfg(test)]");
    write("layer.rs", lines.map(|line| format!("{line}\n")).collect());
}
