//! What the targets share: bytes become a file, the file a capture, and the capture is looked through.

use std::path::{Path, PathBuf};

use multicore_timeline::{Options, read};

/// A folder of this process, in memory where the system has that.
pub fn folder() -> PathBuf {
    let memory = Path::new("/dev/shm");
    let parent = if memory.is_dir() { memory.to_path_buf() } else { std::env::temp_dir() };
    let folder = parent.join(format!("timeline-fuzz-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for the inputs");
    folder
}

/// Reads a file or a folder; panics if the capture breaks a promise.
pub fn check(path: &Path) {
    let Ok(capture) = read(path, &Options::default()) else { return };
    assert!(!capture.rows.is_empty());
    assert!(capture.rows.is_sorted_by_key(|row| row.start_ns));
    for row in &capture.rows {
        assert!(row.start_ns.checked_add(row.duration_ns).is_some());
        capture.strings.text(row.name);
    }
    let rows: u64 = capture.sources.iter().map(|source| source.rows).sum();
    assert_eq!(rows, capture.rows.len() as u64);
}
