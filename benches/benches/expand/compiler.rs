//! Crates to compile against, and rustc with its timers on.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// A cargo project of its own, whose dependencies are built.
pub(crate) struct Project {
    folder: PathBuf,
    /// What is passed to rustc so that it finds them.
    externs: Vec<String>,
}

/// Seconds.
#[derive(Clone, Copy)]
pub(crate) struct Timing {
    /// The pass `macro_expand_crate`.
    pub(crate) expand: f64,
    /// Everything.
    pub(crate) total: f64,
}

/// What all macros of a crate put out.
pub(crate) struct Expansion {
    pub(crate) lines: f64,
    pub(crate) bytes: f64,
}

impl Project {
    /// Builds `dependencies`, lines of a `Cargo.toml`, in a project under the target folder that knows nothing of ours:
    /// neither its profiles nor its lock file.
    pub(crate) fn build(name: &str, dependencies: &str) -> Result<Project, String> {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("expand");
        let folder = root.join(name.replace("::", "_"));
        let manifest = format!(
            "[package]\nname = \"source\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n{dependencies}\n"
        );
        fs::create_dir_all(folder.join("src")).map_err(|error| error.to_string())?;
        for (file, text) in [("Cargo.toml", manifest.as_str()), ("src/lib.rs", "")] {
            fs::write(folder.join(file), text).map_err(|error| error.to_string())?;
        }
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut check = Command::new(cargo);
        check.args(["check", "--quiet", "--message-format=json"]).current_dir(&folder);
        check.env("CARGO_TARGET_DIR", root.join("target")).env_remove("RUSTFLAGS");
        let built = run(&mut check)?;
        let messages = String::from_utf8_lossy(&built.stdout).into_owned();
        Ok(Project { folder, externs: externs(&messages) })
    }

    /// Compiles a source as `cargo check` would.
    pub(crate) fn compile(&self, source: &str) -> Result<Timing, String> {
        let stderr = self.rustc(source, &["-Ztime-passes", "-Ztime-passes-format=json"])?;
        let seconds = |pass: &str| {
            let mut passes = stderr.lines().filter_map(|line| line.strip_prefix("time: "));
            passes.find_map(|line| {
                let line: Value = serde_json::from_str(line).ok()?;
                if line["pass"] == pass { line["time"].as_f64() } else { None }
            })
        };
        match (seconds("macro_expand_crate"), seconds("total")) {
            (Some(expand), Some(total)) => Ok(Timing { expand, total }),
            _ => Err(format!("rustc does not print its timers: {}", last_line(&stderr))),
        }
    }

    /// How much the macros of a source put out.
    pub(crate) fn output(&self, source: &str) -> Result<Expansion, String> {
        let stderr = self.rustc(source, &["-Zmacro-stats"])?;
        let mut output = Expansion { lines: 0.0, bytes: 0.0 };
        for line in stderr.lines().filter_map(|line| line.strip_prefix("macro-stats ")) {
            // NAME USES LINES AVERAGE BYTES AVERAGE
            let columns: Vec<f64> =
                line.split_whitespace().rev().map_while(|word| word.replace('_', "").parse().ok()).collect();
            if let [_, bytes, _, lines, _] = columns[..] {
                output.lines += lines;
                output.bytes += bytes;
            }
        }
        Ok(output)
    }

    fn rustc(&self, source: &str, flags: &[&str]) -> Result<String, String> {
        let file = self.folder.join("source.rs");
        fs::write(&file, source).map_err(|error| error.to_string())?;
        let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
        // The timers are unstable; for a measurement the stable compiler may be told to have them.
        rustc.env("RUSTC_BOOTSTRAP", "1").env("CARGO_MANIFEST_DIR", &self.folder);
        rustc.args(["--edition=2024", "--crate-type=lib", "--emit=metadata", "-Cdebuginfo=2"]);
        rustc.arg("--out-dir").arg(&self.folder).arg(&file).args(&self.externs).args(flags);
        Ok(String::from_utf8_lossy(&run(&mut rustc)?.stderr).into_owned())
    }
}

/// What cargo says it has built, as arguments of rustc.
fn externs(messages: &str) -> Vec<String> {
    let mut externs = Vec::new();
    for artifact in messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        if artifact["reason"] != "compiler-artifact" || artifact["target"]["name"] == "source" {
            continue;
        }
        let files = artifact["filenames"].as_array().into_iter().flatten().filter_map(Value::as_str);
        for file in files.map(Path::new) {
            if file.extension().is_some_and(|extension| extension == "rmeta") {
                let name = artifact["target"]["name"].as_str().unwrap_or_default().replace('-', "_");
                externs.extend(["--extern".to_owned(), format!("{name}={}", file.display())]);
                let folder = file.parent().unwrap_or(file);
                externs.push(format!("-Ldependency={}", folder.display()));
            }
        }
    }
    externs.dedup();
    externs
}

fn run(command: &mut Command) -> Result<Output, String> {
    let output = command.output().map_err(|error| format!("{:?}: {error}", command.get_program()))?;
    if output.status.success() {
        return Ok(output);
    }
    Err(last_line(&String::from_utf8_lossy(&output.stderr)).to_owned())
}

/// The first line that says `error`, which is the cause; or the last.
fn last_line(stderr: &str) -> &str {
    let error = stderr.lines().find(|line| line.starts_with("error"));
    error.or_else(|| stderr.lines().next_back()).unwrap_or("no message")
}
