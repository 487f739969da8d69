//! Captures built by hand, and the real ones.

use std::path::PathBuf;

use multicore_timeline::analysis::{Analysis, Options, Overlap};
use multicore_timeline::capture::Row;
use multicore_timeline::{Capture, Core, Origin, Sync, SyncKind, Via};

/// A clock far from 0, as in real profiles, where an `f64` of microseconds resolves a quarter of a microsecond.
pub(crate) const CLOCK: u64 = 1_774_497_535_428_633_256;

/// A capture that grows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Build {
    pub(crate) capture: Capture,
}

impl Build {
    /// An operator on a stream (`None` for no stream), `at` and `ns` in ns after [`CLOCK`]. Returns its row to be
    /// refined.
    pub(crate) fn op(
        &mut self,
        stream: impl Into<Option<u32>>,
        op_type: &str,
        core: Core,
        at: u64,
        ns: u64,
    ) -> &mut Row {
        let line = self.capture.rows.len() as u64 + 2;
        let strings = &mut self.capture.strings;
        let (none, op_type) = (strings.intern(""), strings.intern(op_type));
        let name = strings.intern(&format!("{}_{line}", strings.text(op_type)));
        self.capture.rows.push(Row {
            source: 0,
            line,
            device: 0,
            step: None,
            stream: stream.into(),
            task: Some(line),
            name,
            op_type,
            core,
            start_ns: CLOCK + at,
            duration_ns: ns,
            blocks: None,
            mix_blocks: None,
            input_shapes: none,
            input_types: none,
            output_shapes: none,
            output_types: none,
            aicore_ns: None,
            aiv_ns: None,
        });
        self.capture.rows.last_mut().expect("just pushed")
    }

    /// An operator with shapes of type `DT_BF16`.
    pub(crate) fn shaped(
        &mut self,
        stream: u32,
        op_type: &str,
        at: u64,
        ns: u64,
        inputs: &str,
        outputs: &str,
    ) -> &mut Row {
        let strings = &mut self.capture.strings;
        let symbols = [strings.intern(inputs), strings.intern(outputs)];
        let dtypes = |shapes: &str| vec!["DT_BF16"; shapes.split(';').count()].join(";");
        let types = [strings.intern(&dtypes(inputs)), strings.intern(&dtypes(outputs))];
        let row = self.op(stream, op_type, Core::AiCore, at, ns);
        [row.input_shapes, row.output_shapes] = symbols;
        [row.input_types, row.output_types] = types;
        row
    }

    /// A collective: a row on a stream, and its second row on none.
    pub(crate) fn collective(&mut self, stream: u32, at: u64, ns: u64) {
        self.op(stream, "hcom_allReduce_", Core::Communication, at, ns);
        self.op(None, "hcom_allReduce_", Core::Communication, at, ns);
    }

    /// A record or a wait.
    pub(crate) fn sync(&mut self, kind: SyncKind, stream: u32, at: u64, ns: u64, event: Option<u64>) {
        self.capture.syncs.push(Sync {
            kind,
            via: Via::Event,
            origin: Origin::Device,
            device_id: 0,
            stream_id: stream,
            task: None,
            start_ns: CLOCK + at,
            duration_ns: ns,
            event,
            of_stream: None,
            site: None,
        });
    }

    /// The capture, in the order that readers promise.
    pub(crate) fn done(mut self) -> Capture {
        self.capture.rows.sort_by_key(|row| row.start_ns);
        self.capture.syncs.sort_by_key(|sync| sync.start_ns);
        self.capture
    }
}

/// Side, main and dominators given.
pub(crate) fn given(side: &[u32], main: &[u32], dominators: &[&str]) -> Options {
    Options {
        side: side.to_vec(),
        main: main.to_vec(),
        dominators: dominators.iter().map(|&name| name.to_owned()).collect(),
        ..Options::default()
    }
}

/// The overlap of a capture.
pub(crate) fn overlap(capture: &Capture, options: &Options) -> Overlap {
    Analysis::new(capture, options).expect("can be analysed").overlap().expect("has streams")
}

/// A real profile, or `None`, said aloud, if `MULTICORE_DATA` is not set.
pub(crate) fn real(name: &str) -> Option<Capture> {
    let Some(folder) = std::env::var_os("MULTICORE_DATA") else {
        eprintln!("skipped: MULTICORE_DATA is not set, so {name} is not there");
        return None;
    };
    let path = PathBuf::from(folder).join("profiles").join(name);
    Some(multicore_timeline::read(&path, &multicore_timeline::Options::default()).expect("is readable"))
}
