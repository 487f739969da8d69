//! What the benchmarks share: their arguments, their statistics, the task graphs of [`dag`], and the counts of [`syncs`].

pub mod dag;
pub mod syncs;

use std::time::Instant;

use serde_json::Value;

/// Prints lines for people, or collects figures for one JSON object at the end.
pub struct Report {
    json: bool,
    figures: serde_json::Map<String, Value>,
}

impl Report {
    /// A report as asked for on the command line: `--json`, or text. (`cargo bench` passes `--bench`, which says nothing.)
    ///
    /// Ends the process with code 2 at any other argument.
    pub fn from_args() -> Report {
        let mut json = false;
        for argument in std::env::args().skip(1) {
            match argument.as_str() {
                "--json" => json = true,
                "--bench" => {}
                other => {
                    eprintln!("unknown argument `{other}`: write `--json`, or nothing");
                    std::process::exit(2);
                }
            }
        }
        Report { json, figures: serde_json::Map::new() }
    }

    /// A figure with its unit: a line of text, and `key` in the object.
    pub fn figure(&mut self, key: &str, value: f64, text: impl std::fmt::Display) {
        if !self.json {
            println!("{text}");
        }
        self.figures.insert(key.into(), value.into());
    }

    /// A line of text that is no figure: a heading, a peer that is left out.
    pub fn line(&self, text: impl std::fmt::Display) {
        if !self.json {
            println!("{text}");
        }
    }

    /// A figure that only the object shows.
    pub fn value(&mut self, key: &str, value: f64) {
        self.figures.insert(key.into(), value.into());
    }

    /// How many times the figure `key` is as much as the figure `beside`, if both are there and `beside` is not too
    /// small to divide by.
    pub fn ratio(&mut self, key: &str, beside: &str) {
        let figure = |key: &str| self.figures.get(key).and_then(Value::as_f64);
        if let (Some(ours), Some(theirs)) = (figure(key), figure(beside))
            && theirs > 0.0
        {
            let ratio = ours / theirs;
            self.figure(&format!("{key}_by_{beside}"), ratio, format_args!("{key} / {beside} {ratio:.2}"));
        }
    }

    /// A number that only the object shows.
    pub fn count(&mut self, key: &str, value: u64) {
        self.figures.insert(key.into(), value.into());
    }

    /// Prints the object, if that was asked for.
    pub fn finish(self) {
        if self.json {
            println!("{}", Value::Object(self.figures));
        }
    }
}

/// The middle of the values.
///
/// # Panics
/// Without values.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Seconds that `f` takes.
pub fn seconds(f: impl FnOnce()) -> f64 {
    let start = Instant::now();
    f();
    start.elapsed().as_secs_f64()
}

/// The middle of `runs` timings of `run`, in seconds; what `prepare` does before each is not counted.
///
/// # Errors
/// The first error of the two.
pub fn median_seconds<T, E>(
    runs: usize,
    mut prepare: impl FnMut() -> Result<T, E>,
    mut run: impl FnMut(T) -> Result<(), E>,
) -> Result<f64, E> {
    let mut times = Vec::with_capacity(runs);
    for _ in 0..runs {
        let prepared = prepare()?;
        let start = Instant::now();
        run(prepared)?;
        times.push(start.elapsed().as_secs_f64());
    }
    Ok(median(times))
}
