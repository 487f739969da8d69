//! What formatters and editors make of the spellings: rustfmt leaves the canonical form formatted, and rust-analyzer
//! finds nothing wrong with any of them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Blocks in the canonical form, as rustfmt wants them.
const CANONICAL: &str = r#"use multicore::prelude::*;

#[multicore(streams(compute, comm), serial)]
pub fn canonical(x: &Tensor, w: &Tensor, other: &Stream) -> Result<Tensor> {
    let y = stream!(compute, cores(cube = 3, vector = 8), { x.matmul(w)? });
    let (a, b) = stream!(comm, cores(vector = 8), {
        let half = y.scale(0.5)?;
        (half.add(x)?, half.silu()?)
    });
    if x.shape()[0] > 4 {
        stream!(other, after(a), reads(b), { x.silu()? });
    }
    stream!(
        &[compute, comm][x.shape()[0] % 2],
        cores(cube = u32::try_from(x.shape()[0]).unwrap_or(u32::MAX), vector = 1),
        { a.add(&b) }
    )
}
"#;

/// The same function in the other spellings that `#[multicore]` accepts, and in the one of `multicore_fn!`.
const SPELLINGS: &str = r#"
#[multicore]
pub fn attribute(s1: &Stream, s2: &Stream, x: &Tensor) -> Result<Tensor> {
    #[stream(s1, cores(cube = 3, vector = 8))]
    let y = { x.silu()? };
    #[stream(s2)]
    {
        y.add(x)
    }
}

#[multicore]
pub fn angles(s1: &Stream, s2: &Stream, x: &Tensor) -> Result<Tensor> {
    let y = stream!(s1, cores(cube = 3, vector = 8) < x.silu()? >);
    stream!(s2 < y.add(x) >)
}

multicore_fn! {
    pub fn card(s1: &Stream, s2: &Stream, x: &Tensor) -> Result<Tensor> {
        let y = stream!(s1, cores(cube = 3, vector = 8)) < x.silu()? >;
        stream!(s2) < y.add(x) >
    }
}
"#;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// What rustfmt makes of a source, or `None` without rustfmt.
fn formatted(source: &str) -> Option<String> {
    let mut rustfmt = Command::new("rustfmt");
    rustfmt.args(["--edition", "2024", "--emit", "stdout", "--config-path"]).arg(root().join("rustfmt.toml"));
    rustfmt.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut running = rustfmt.spawn().ok()?;
    std::io::Write::write_all(&mut running.stdin.take()?, source.as_bytes()).ok()?;
    let output = running.wait_with_output().ok()?;
    assert!(output.status.success(), "rustfmt cannot read the source:\n{source}");
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn rustfmt_leaves_the_canonical_form_formatted() {
    let Some(once) = formatted(CANONICAL) else { return eprintln!("skipped: there is no rustfmt") };
    assert_eq!(once, CANONICAL);

    // It looks inside: a header and a body that are not formatted come out formatted.
    let ugly = CANONICAL
        .replace(
            "stream!(compute, cores(cube = 3, vector = 8), { x.matmul(w)? })",
            "stream!(compute,cores(cube=3 , vector = 8),{x.matmul( w ) ?})",
        )
        .replace("        let half = y.scale(0.5)?;\n", "  let half=y.scale( 0.5 )?;\n");
    assert!(ugly != CANONICAL && !ugly.contains("x.matmul(w)") && !ugly.contains("y.scale(0.5)"));
    assert_eq!(formatted(&ugly).as_deref(), Some(CANONICAL));
}

#[test]
fn rustfmt_leaves_the_examples_formatted() {
    fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
        for path in fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())) {
            match path.extension() {
                Some(extension) if extension == "rs" => found.push(path),
                None => sources(&path, found),
                _ => {}
            }
        }
    }
    let mut examples = Vec::new();
    sources(&root().join("examples/examples"), &mut examples);
    let mut calls = 0;
    for example in examples {
        let source = fs::read_to_string(&example).expect("it was listed");
        calls += source.matches("stream!(").count();
        let Some(once) = formatted(&source) else { return eprintln!("skipped: there is no rustfmt") };
        assert!(once == source, "{} is not formatted", example.display());
    }
    assert!(calls > 10, "{calls} blocks");
}

/// The path of a rust-analyzer that runs. A name that rustup only holds a place for does not.
fn rust_analyzer() -> Option<PathBuf> {
    let named = std::env::var_os("RUST_ANALYZER").unwrap_or_else(|| "rust-analyzer".into());
    let version = Command::new(&named).arg("--version").output().ok()?;
    version.status.success().then(|| named.into())
}

/// A project with this source, which depends on the runtime as somebody else's project does.
fn project(name: &str, source: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let runtime = root().join("runtime");
    let manifest = format!(
        "[package]\nname = \"spellings\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\nmulticore = {{ path = {runtime:?} }}\n"
    );
    fs::create_dir_all(folder.join("src")).expect("a folder for the project");
    fs::write(folder.join("Cargo.toml"), manifest).expect("its manifest");
    fs::write(folder.join("src/lib.rs"), source).expect("its source");
    folder
}

/// What rust-analyzer finds in the source of a project, a line each.
fn diagnostics(rust_analyzer: &Path, folder: &Path) -> Vec<String> {
    let mut analysis = Command::new(rust_analyzer);
    analysis.arg("diagnostics").arg(folder).env("CARGO_TARGET_DIR", folder.join("target"));
    let output = analysis.output().expect("it has just said its version");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("diagnostic scan complete"), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let found = text.lines().filter(|line| line.contains("at crate spellings"));
    found.map(str::to_owned).collect()
}

#[test]
fn rust_analyzer_finds_nothing_in_any_spelling() {
    let Some(rust_analyzer) = rust_analyzer() else {
        return eprintln!("skipped: no rust-analyzer runs here (`RUST_ANALYZER` may name one)");
    };
    let source = format!("{CANONICAL}{SPELLINGS}");
    assert_eq!(diagnostics(&rust_analyzer, &project("clean", &source)), [""; 0]);

    // It looks inside: a wrong type in a block is found in each spelling.
    let wrong = source.replace("x.silu()?", "x.nothing()?").replace("x.matmul(w)?", "x.nothing()?");
    let found = diagnostics(&rust_analyzer, &project("wrong", &wrong));
    assert!(found.len() >= 4, "{found:?}");
}
