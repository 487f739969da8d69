//! All messages read alike: lower case, no dot at the end, and nothing in them that the author did not write. The index in
//! `docs/messages.md` has all of them, with the mistakes that get them, and nothing else.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The mistakes by name, each with what the compiler says.
fn mistakes() -> BTreeMap<String, String> {
    let folder = root().join("ui-tests/tests/fail");
    let files = fs::read_dir(folder).expect("the folder of the mistakes").map(|entry| entry.expect("an entry").path());
    let sources = files.filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    sources
        .map(|path| {
            let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
            let said = fs::read_to_string(path.with_extension("stderr"));
            (name, said.unwrap_or_else(|_| panic!("{} has no message", path.display())))
        })
        .collect()
}

/// The first lines of the errors in what the compiler says.
fn errors(said: &str) -> impl Iterator<Item = &str> {
    said.lines().filter(|line| line.starts_with("error"))
}

/// A row of a table of the index.
struct Row {
    section: String,
    message: String,
    tests: Vec<String>,
}

fn index() -> Vec<Row> {
    let text = fs::read_to_string(root().join("docs/messages.md")).expect("the index");
    let mut rows = Vec::new();
    let mut section = String::new();
    for line in text.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            section = title.to_owned();
        }
        let Some(row) = line.strip_prefix("| ").and_then(|row| row.strip_suffix('|')) else { continue };
        let cells: Vec<&str> = row.split(" |").map(str::trim).collect();
        let first = cells[0];
        let tests = cells[cells.len() - 1].split(", ");
        let tests = tests.map(|test| test.trim().to_owned()).filter(|test| test.contains('/'));
        rows.push(Row { section: section.clone(), message: first.to_owned(), tests: tests.collect() });
    }
    rows.retain(|row| !["message", "case"].contains(&row.message.as_str()));
    rows
}

/// Is this a message of the row? `…` stands for anything.
fn matches(message: &str, error: &str) -> bool {
    let mut rest = error;
    message.split('…').all(|part| match rest.find(part) {
        Some(at) => {
            rest = &rest[at + part.len()..];
            true
        }
        None => false,
    })
}

#[test]
fn messages_are_well_written() {
    let mut messages = 0;
    for (name, text) in mistakes() {
        let mut of_rustc = false;
        for line in text.lines() {
            // What rustc adds may show where a bound or a method comes from.
            let starts = |words: &[&str]| words.iter().any(|word| line.starts_with(word));
            of_rustc = starts(&["note: ", "help: the "]) || of_rustc && !starts(&["error", "help: "]);
            if !of_rustc && !line.contains(" = ") {
                for internal in ["__", "Region", "Ready", "Recorded", "Block<", "Diagnostics", "proc_macro"] {
                    assert!(!line.contains(internal), "{name} shows `{internal}`: {line}");
                }
            }
            assert!(!line.contains("panicked"), "{name}: {line}");
            let Some(message) = line.strip_prefix("error: ").or_else(|| line.trim_start().strip_prefix("help: "))
            else {
                continue;
            };
            messages += 1;
            assert!(!message.ends_with('.') || message.ends_with(".."), "{name} ends with a dot: {message}");
            assert!(!message.to_lowercase().contains("error:"), "{name} says `error` twice: {message}");
            assert!(!message.starts_with(char::is_uppercase), "{name} starts with a capital: {message}");
        }
    }
    assert!(messages > 100, "only {messages} messages");
}

#[test]
fn every_mistake_is_marked() {
    for name in mistakes().keys() {
        let path = root().join("ui-tests/tests/fail").join(name).with_extension("rs");
        let source = fs::read_to_string(&path).expect("a mistake");
        assert!(source.contains("//~ "), "{} does not say where the mistake is", path.display());
    }
}

/// Each error of each mistake is in the index with that mistake, and each message of the index comes from the mistakes
/// that it names.
#[test]
fn the_index_has_every_message() {
    let (mistakes, index) = (mistakes(), index());
    for (name, said) in &mistakes {
        let several = name.starts_with("several");
        for error in errors(said) {
            let known = index
                .iter()
                .any(|row| (several || row.tests.contains(&format!("fail/{name}"))) && matches(&row.message, error));
            assert!(known, "docs/messages.md does not say of fail/{name}: {error}");
        }
    }
    for row in &index {
        for name in row.tests.iter().filter_map(|test| test.strip_prefix("fail/")) {
            let said = mistakes.get(name).unwrap_or_else(|| panic!("docs/messages.md names fail/{name}"));
            assert!(
                errors(said).any(|error| matches(&row.message, error)),
                "fail/{name} does not say: {}",
                row.message
            );
        }
    }
}

/// After an error of ours there is none of rustc's: the function is left in a state that compiles.
#[test]
fn one_mistake_is_one_error() {
    let index = index();
    for (name, said) in mistakes() {
        let of_rustc = ["Left to rustc", "Warnings", "Plans"];
        let left = index
            .iter()
            .any(|row| of_rustc.contains(&row.section.as_str()) && row.tests.contains(&format!("fail/{name}")));
        for error in errors(&said).filter(|_| !left) {
            assert!(error.starts_with("error: "), "fail/{name}: {error}");
        }
    }
}

#[test]
fn the_index_names_tests_that_exist() {
    let mut runs = 0;
    for test in index().into_iter().flat_map(|row| row.tests) {
        let path = match test.split_once('/').expect("a folder") {
            ("fail", name) => root().join(format!("ui-tests/tests/fail/{name}.rs")),
            ("pass", name) => root().join(format!("ui-tests/tests/pass/{name}.rs")),
            (folder, name) => {
                let (file, function) = name.split_once("::").unwrap_or_else(|| panic!("{test} names no function"));
                let folder = if folder == "regions" { "runtime/tests/regions" } else { "runtime/tests" };
                let path = root().join(folder).join(file).with_extension("rs");
                let source = fs::read_to_string(&path).unwrap_or_else(|_| panic!("{} is not there", path.display()));
                assert!(source.contains(&format!("fn {function}(")), "{} has no {function}", path.display());
                path
            }
        };
        assert!(path.exists(), "{} is not there", path.display());
        runs += u32::from(!test.starts_with("fail/"));
    }
    assert!(runs > 20, "only {runs} tests of what is accepted");
}
