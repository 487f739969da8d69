//! All messages read alike: lower case, no dot at the end, and nothing in them that the author did not write.

use std::fs;

#[test]
fn messages_are_well_written() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fail");
    let mut messages = 0;
    for entry in fs::read_dir(folder).expect("the folder of the mistakes") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|extension| extension != "stderr") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("a message");
        let name = path.display();
        for internal in ["__", "Region", "Ready", "Recorded", "Block<", "Diagnostics", "proc_macro", "panicked"] {
            assert!(!text.contains(internal), "{name} shows `{internal}`");
        }
        for line in text.lines() {
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
    assert!(messages > 60, "only {messages} messages");
}

#[test]
fn every_mistake_is_marked() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fail");
    for entry in fs::read_dir(folder).expect("the folder of the mistakes") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|extension| extension == "rs") {
            let source = fs::read_to_string(&path).expect("a mistake");
            assert!(source.contains("//~ "), "{} does not say where the mistake is", path.display());
            assert!(path.with_extension("stderr").exists(), "{} has no message", path.display());
        }
    }
}
