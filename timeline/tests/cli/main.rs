//! The command, run as a program on small profiles that the tests write and on real ones where they are.

mod exits;
mod golden;
mod real;
mod schema;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use multicore_timeline::{Core, Operand, Origin, Record, Site, Sync, SyncKind, Via, write_folder};
use serde_json::Value;

/// Runs the command in a folder.
pub(crate) fn timeline(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_timeline"));
    command.current_dir(folder).args(arguments).env_remove("NO_COLOR");
    command.output().expect("the command was built for this test")
}

/// What it prints, if it succeeds.
pub(crate) fn said(folder: &Path, arguments: &[&str]) -> String {
    let output = timeline(folder, arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "timeline {arguments:?}: {errors}");
    assert_eq!(errors, "", "timeline {arguments:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

pub(crate) fn json(folder: &Path, arguments: &[&str]) -> Value {
    let text = said(folder, &[arguments, &["--json"]].concat());
    serde_json::from_str(&text).expect("JSON")
}

/// A folder with one profile each of the cases that answers differ by.
pub(crate) struct Profiles {
    folder: tempfile::TempDir,
}

impl Profiles {
    pub(crate) fn new() -> Profiles {
        let profiles = Profiles { folder: tempfile::tempdir().expect("a folder") };
        profiles.write("parallel", &parallel(), &[]);
        profiles.write("serial", &serial(), &[]);
        profiles.write("waits", &serial(), &waits());
        profiles.write("starved", &starved(), &[]);
        write_folder(profiles.path().join("run"), &serial(), &waits()).expect("the folder is ours");
        profiles.write("one", &parallel().into_iter().filter(|op| op.stream_id == Some(2)).collect::<Vec<_>>(), &[]);
        profiles
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn file(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(name);
        std::fs::write(&path, text).expect("the folder is ours");
        path
    }

    /// `NAME.csv` without waits, `NAME.json` with what there is of them.
    fn write(&self, name: &str, records: &[Record], syncs: &[Sync]) {
        let folder = self.path().join(name);
        write_folder(&folder, records, syncs).expect("the folder is ours");
        for (file, extension) in [("kernel_details.csv", "csv"), ("trace_view.json", "json")] {
            let to = self.path().join(format!("{name}.{extension}"));
            std::fs::rename(folder.join(file), to).expect("both are ours");
        }
        std::fs::remove_dir(folder).expect("it is empty");
    }
}

/// When the runs begin: far enough from 0 that a float would not do.
const EPOCH_US: u64 = 1_774_497_535_428_633;

fn op(op_type: &'static str, core: Core, stream: u32, start_us: u64, duration_us: u64, blocks: u32) -> Record {
    let work = duration_us * 900;
    Record {
        stream_id: Some(stream),
        start_ns: (EPOCH_US + start_us) * 1_000 + 256,
        duration_ns: duration_us * 1_000,
        block_num: blocks,
        inputs: vec![Operand::nd(&[16, 512 * stream as usize], "DT_BF16")],
        outputs: vec![Operand::nd(&[16, 512 * stream as usize], "DT_BF16")],
        aicore_ns: (core == Core::AiCore).then_some(work),
        aiv_ns: (core == Core::AiVectorCore).then_some(work),
        ..Record::new(format!("{op_type}_{start_us}"), op_type, core)
    }
}

/// Two layers in which a side of two operators runs beside a large product.
fn parallel() -> Vec<Record> {
    let layer = |at: u64| {
        vec![
            op("RmsNorm", Core::AiVectorCore, 2, at, 10, 48),
            op("MatMulV2", Core::AiCore, 2, at + 12, 60, 16),
            op("Quant", Core::AiVectorCore, 3, at + 14, 8, 20),
            op("SharedMatMul", Core::AiCore, 3, at + 24, 30, 8),
            op("Add", Core::AiVectorCore, 2, at + 74, 6, 48),
        ]
    };
    [layer(0), layer(100)].concat()
}

/// The same, with the side before the product, and a cast between that reads what the side wrote.
fn serial() -> Vec<Record> {
    let layer = |at: u64| {
        let cast = Record {
            inputs: vec![Operand::nd(&[16, 1536], "DT_BF16")],
            ..op("Cast", Core::AiVectorCore, 2, at + 56, 4, 20)
        };
        vec![
            op("RmsNorm", Core::AiVectorCore, 2, at, 10, 48),
            op("Quant", Core::AiVectorCore, 3, at + 12, 8, 20),
            op("SharedMatMul", Core::AiCore, 3, at + 22, 30, 8),
            cast,
            op("MatMulV2", Core::AiCore, 2, at + 62, 60, 16),
            op("Add", Core::AiVectorCore, 2, at + 124, 6, 48),
        ]
    };
    [layer(0), layer(140)].concat()
}

/// What ordered that run, with the places in its source.
fn waits() -> Vec<Sync> {
    let sync = |kind, stream_id, start_us: u64, duration_us: u64, event, line, variables: &'static str| Sync {
        kind,
        via: Via::Event,
        origin: Origin::Plan,
        device_id: 0,
        stream_id,
        start_ns: (EPOCH_US + start_us) * 1_000 + 256,
        duration_ns: duration_us * 1_000,
        event: Some(event),
        task: None,
        of_stream: None,
        site: Some(Site {
            function: "layer".into(),
            file: "src/layer.rs".into(),
            line,
            variables: variables.into(),
            index: 0,
        }),
    };
    let layer = |at: u64, event: u64| {
        vec![
            sync(SyncKind::Record, 2, at + 10, 0, event, 10, "x"),
            sync(SyncKind::Wait, 3, at, 11, event, 11, "x"),
            sync(SyncKind::Record, 3, at + 52, 0, event + 1, 11, "beside"),
            sync(SyncKind::Wait, 2, at + 10, 44, event + 1, 14, "beside"),
        ]
    };
    [layer(0, 1), layer(140, 3)].concat()
}

/// Four layers in which the side's product lasts as long as the dominator and computes a tenth of it, and one alone.
fn starved() -> Vec<Record> {
    let held = |at: u64, duration: u64| Record {
        aicore_ns: Some(9_000),
        ..op("SharedMatMul", Core::AiCore, 3, at, duration, 24)
    };
    let mut ops = vec![op("RmsNorm", Core::AiVectorCore, 2, 0, 10, 48), held(20, 10)];
    for layer in 1..=4 {
        let at = layer * 200;
        ops.push(op("MatMulV2", Core::AiCore, 2, at, 100, 24));
        ops.push(op("Quant", Core::AiVectorCore, 3, at + 2, 4, 20));
        ops.push(held(at + 8, 98));
        ops.push(op("Add", Core::AiVectorCore, 2, at + 110, 6, 48));
    }
    ops
}
