//! No input panics, hangs or is read as something it is not: real-like files with bytes changed, and properties.
//!
//! A bounded relative of the fuzz targets in `timeline/fuzz`, which run for as long as they are let.

use std::fs;

use multicore_timeline::capture::Row;
use multicore_timeline::{Capture, Core, Operand, Options, Record, Result, Sync, kernel_details, read, write_folder};
use proptest::prelude::*;

fn read_bytes(name: &str, bytes: &[u8]) -> Result<Capture> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(name);
    fs::write(&path, bytes).expect("a file");
    read(&path, &Options::default())
}

/// What holds for every capture, whatever it was read from.
fn keeps_its_guarantees(capture: &Capture) {
    assert!(!capture.rows.is_empty());
    assert!(capture.rows.is_sorted_by_key(|row| row.start_ns));
    assert!(capture.syncs.is_sorted_by_key(|sync| sync.start_ns));
    let sources = capture.sources.len();
    for row in &capture.rows {
        assert!((row.source as usize) < sources && row.start_ns.checked_add(row.duration_ns).is_some());
        let texts = [row.name, row.op_type, row.input_shapes, row.input_types, row.output_shapes, row.output_types];
        texts.iter().for_each(|&text| assert!(capture.strings.find(capture.strings.text(text)) == Some(text)));
    }
    assert!(capture.dropped.iter().all(|dropped| (dropped.source as usize) < sources && !dropped.why.is_empty()));
    assert!(capture.notes.iter().all(|note| (note.source as usize) < sources));
    let count = |index: usize| capture.rows.iter().filter(|row| row.source as usize == index).count() as u64;
    capture.sources.iter().enumerate().for_each(|(index, source)| assert_eq!(source.rows, count(index)));
    assert_eq!(capture.sources.iter().map(|source| source.syncs).sum::<u64>(), capture.syncs.len() as u64);
}

/// A change to a text.
#[derive(Clone, Debug)]
enum Change {
    Set(usize, u8),
    Insert(usize, u8),
    Cut(usize, usize),
    Repeat(usize, usize),
    End(usize),
}

fn change() -> impl Strategy<Value = Change> {
    // Bytes that mean something to one of the readers, and any others.
    let byte = prop_oneof![prop::sample::select(b",\"\n\r\t{}[]:\\.-eE09 \0\xff".to_vec()), any::<u8>()];
    let (at, length) = (0..100_000usize, 1..300usize);
    prop_oneof![
        4 => (at.clone(), byte.clone()).prop_map(|(at, byte)| Change::Set(at, byte)),
        4 => (at.clone(), byte).prop_map(|(at, byte)| Change::Insert(at, byte)),
        2 => (at.clone(), length.clone()).prop_map(|(at, length)| Change::Cut(at, length)),
        1 => (at.clone(), length).prop_map(|(at, length)| Change::Repeat(at, length)),
        1 => at.prop_map(Change::End),
    ]
}

fn changed(text: &str, changes: &[Change]) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    for change in changes {
        let length = bytes.len().max(1);
        match *change {
            Change::Set(at, byte) if !bytes.is_empty() => bytes[at % length] = byte,
            Change::Insert(at, byte) => bytes.insert(at % length.min(bytes.len() + 1), byte),
            Change::Cut(at, more) => drop(bytes.drain(at % length..(at % length + more).min(bytes.len()))),
            Change::Repeat(at, more) => {
                let again = bytes[at % length..(at % length + more).min(bytes.len())].to_vec();
                bytes.splice(at % length..at % length, again);
            }
            Change::End(at) => bytes.truncate(at % length),
            Change::Set(..) => {}
        }
    }
    bytes
}

/// A table as CANN's profiler writes it.
fn table() -> String {
    let mut text = Vec::new();
    kernel_details::write(&mut text, &records(12)).expect("memory takes it");
    String::from_utf8(text).expect("UTF-8")
}

/// A trace with all that readers of traces know.
fn trace() -> String {
    let task = |kind: &str, stream: u32, ts: u32| {
        format!(
            r#"{{"name":"n \"{kind}\"","pid":7,"tid":{stream},"ts":"17364088837{ts}.212","dur":5.74106,"args":{{"Task Type":"{kind}","Task Id":5}},"ph":"X"}}"#
        )
    };
    let gpu = |cat: &str, ts: u32| {
        format!(
            r#"{{"ph":"X","cat":"{cat}","name":"Stream Wait Event","ts":{ts},"dur":2,"args":{{"stream":7,"wait_on_stream":20,"bw":inf}}}}"#
        )
    };
    let lanes = r#"{"ph":"M","name":"thread_name","pid":8,"tid":0,"args":{"name":"Group 0 Communication"}},{"ph":"M","name":"thread_name","pid":8,"tid":1,"args":{"name":"Plane 0"}},{"ph":"M","name":"process_labels","pid":7,"args":{"labels":"NPU 3"}}"#;
    let collective = r#"{"ph":"X","name":"hcom_allReduce__586_0_1","pid":8,"tid":0,"ts":10,"dur":7},{"ph":"X","name":"Memcpy","pid":8,"tid":1,"ts":10,"dur":1,"args":{"stream id":4}}"#;
    let events = [
        task("AI_CORE", 2, 10),
        task("EVENT_WAIT_SQE", 2, 20),
        task("SDMA", 4, 30),
        gpu("kernel", 5),
        gpu("cuda_sync", 9),
    ];
    format!(
        r#"{{"schemaVersion":1,"otherData":{{"origin_ns":"5"}},"traceEvents":[{lanes},{},{collective}],"end":[{{}}]}}"#,
        events.join(",\n")
    )
}

fn records(count: u64) -> Vec<Record> {
    let record = |i: u64| Record {
        device_id: (i % 2) as u32,
        stream_id: Some(2 + (i % 3) as u32).filter(|_| i % 5 != 4),
        task_id: Some(i),
        start_ns: 1_774_497_535_428_633_256 + i * 777,
        duration_ns: 700 + i,
        block_num: i as u32,
        inputs: vec![Operand::nd(&[4096, i as usize], "DT_BF16"), Operand::nd(&[], "FLOAT")],
        aiv_ns: i.is_multiple_of(2).then_some(i * 3),
        ..Record::new(format!("op, \"{}\"", i % 4), "Add", Core::AiVectorCore)
    };
    (0..count).map(record).collect()
}

/// What rows say, apart from where in a file that is.
fn said(capture: &Capture) -> Vec<String> {
    let text = |symbol| capture.strings.text(symbol);
    let one = |r: &Row| {
        let texts = [r.name, r.op_type, r.input_shapes, r.input_types, r.output_shapes, r.output_types].map(text);
        let places = (r.device, r.step, r.stream, r.task, r.core, r.start_ns, r.duration_ns);
        format!("{texts:?} {places:?} {:?}", (r.blocks, r.mix_blocks, r.aicore_ns, r.aiv_ns))
    };
    capture.rows.iter().map(one).collect()
}

/// Records with any content that a profile can hold.
fn record() -> impl Strategy<Value = Record> {
    let cores =
        [Core::AiCore, Core::AiVectorCore, Core::MixAic, Core::MixAiv, Core::Communication, Core::AiCpu, Core::Dsa];
    let shape = prop::collection::vec(0..10_000usize, 0..4);
    let operands = prop::collection::vec(shape.prop_map(|shape| Operand::nd(&shape, "DT_BF16")), 0..3);
    let times = (1..u64::MAX / 4, 0..1_000_000_000u64, any::<Option<u32>>(), any::<Option<u32>>());
    let identity = ("[ -~é\n]{1,20}", prop::sample::select(cores.to_vec()), 0..4u32, 0..4u32, any::<Option<u64>>());
    (identity, times, operands.clone(), operands, 0..2048u32).prop_map(
        |(identity, times, inputs, outputs, block_num)| {
            let (name, core, device_id, stream, task_id) = identity;
            let (start_ns, duration_ns, aicore, aiv) = times;
            Record {
                device_id,
                stream_id: Some(stream).filter(|&stream| stream > 0),
                task_id,
                start_ns,
                duration_ns,
                block_num,
                inputs,
                outputs,
                aicore_ns: aicore.map(u64::from),
                aiv_ns: aiv.map(u64::from),
                // Spaces around a name, and a name that says there is none, do not survive a table.
                ..Record::new(format!("<{name}>"), "Add", core)
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn changed_tables_are_read_or_refused(changes in prop::collection::vec(change(), 1..8)) {
        if let Ok(capture) = read_bytes("kernel_details.csv", &changed(&table(), &changes)) {
            keeps_its_guarantees(&capture);
        }
    }

    #[test]
    fn changed_traces_are_read_or_refused(changes in prop::collection::vec(change(), 1..8)) {
        if let Ok(capture) = read_bytes("trace_view.json", &changed(&trace(), &changes)) {
            keeps_its_guarantees(&capture);
        }
    }

    #[test]
    fn bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        if let Ok(capture) = read_bytes("x", &bytes) {
            keeps_its_guarantees(&capture);
        }
    }

    /// One changed byte in one row costs at most that row and the next: the others say what they said.
    #[test]
    fn a_changed_byte_costs_little(at in 0..100_000usize, byte in any::<u8>()) {
        let text = table();
        let header = text.find('\n').expect("a header") + 1;
        let at = header + at % (text.len() - header);
        let whole = said(&read_bytes("kernel_details.csv", text.as_bytes()).expect("a table"));
        let mut bytes = text.into_bytes();
        bytes[at] = byte;
        let found = said(&read_bytes("kernel_details.csv", &bytes).expect("most of a table"));
        let same = whole.iter().filter(|row| found.contains(row)).count();
        prop_assert!(same + 2 >= whole.len(), "{} of {}", same, whole.len());
    }

    #[test]
    fn any_order_of_rows_is_the_same_capture(
        records in prop::collection::vec(record(), 1..20),
        order in any::<prop::sample::Index>(),
        same_start in any::<bool>(),
    ) {
        let mut records = records;
        if same_start {
            records.iter_mut().for_each(|record| record.start_ns = 1_774_497_535_428_633_256);
        }
        let mut text = Vec::new();
        kernel_details::write(&mut text, &records)?;
        let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(&text[..]);
        let mut rows: Vec<csv::StringRecord> = reader.records().collect::<std::result::Result<_, _>>()?;
        let first = 1 + order.index(rows.len() - 1);
        rows[1..].rotate_left(first - 1);
        rows[1..].reverse();
        let mut other = csv::Writer::from_writer(Vec::new());
        rows.iter().try_for_each(|row| other.write_record(row))?;
        let other = other.into_inner().map_err(|error| error.into_error())?;
        match (read_bytes("a.csv", &text), read_bytes("b.csv", &other)) {
            (Ok(one), Ok(other)) => prop_assert_eq!(said(&one), said(&other)),
            (Err(one), Err(other)) => prop_assert_eq!(one.kind(), other.kind()),
            (one, other) => prop_assert!(false, "{:?} {:?}", one.is_ok(), other.is_ok()),
        }
    }

    #[test]
    fn what_is_written_reads_back(mut records in prop::collection::vec(record(), 1..20)) {
        records[0].stream_id = Some(1);
        let mut text = Vec::new();
        kernel_details::write(&mut text, &records)?;
        let capture = read_bytes("kernel_details.csv", &text)?;
        prop_assert_eq!(said(&capture), said(&Capture::from_records(&records, &[])));
        prop_assert_eq!((capture.dropped.len(), capture.sources[0].rows), (0, records.len() as u64));
    }

    /// Table and trace of one run join to the run, whatever it did.
    #[test]
    fn a_folder_reads_back(mut records in prop::collection::vec(record(), 1..20)) {
        records[0].stream_id = Some(1);
        // One device: a trace by itself names it, but a process of its own each is the writer's affair.
        records.iter_mut().for_each(|record| record.device_id = 3);
        let folder = tempfile::tempdir()?;
        let none: [Sync; 0] = [];
        write_folder(folder.path(), &records, &none)?;
        let capture = read(folder.path(), &Options::default())?;
        prop_assert_eq!(said(&capture), said(&Capture::from_records(&records, &[])));
    }
}
