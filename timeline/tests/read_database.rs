//! The profiler's database, on small ones made here.
#![cfg(feature = "sqlite")]

use std::path::Path;

use multicore_timeline::{Capture, Core, ErrorKind, Options, Result, SyncKind, Via, read};
use rusqlite::Connection;

const STRINGS: &str = "CREATE TABLE STRING_IDS (id INTEGER PRIMARY KEY, value TEXT);
    INSERT INTO STRING_IDS VALUES (1, 'AI_CORE'), (2, 'AI_VECTOR_CORE'), (3, 'EVENT_WAIT_SQE'), (4, 'SDMA'), (5, 'add_0'),
        (6, 'Add'), (7, '\"4096,1024;1\"'), (8, 'FLOAT;INT32'), (9, 'hcom_allReduce__1_0'), (10, 'hcom_allReduce_'),
        (11, 'N/A'), (12, 'PLACE_HOLDER_SQE'), (13, 'MEMCPY_ASYNC');";

const TABLES: &str = "CREATE TABLE TASK (startNs INTEGER, endNs INTEGER, deviceId INTEGER, connectionId INTEGER,
        globalTaskId INTEGER, globalPid INTEGER, taskType INTEGER, contextId INTEGER, streamId INTEGER, taskId INTEGER,
        modelId INTEGER);
    CREATE TABLE COMPUTE_TASK_INFO (name INTEGER, globalTaskId INTEGER PRIMARY KEY, blockDim INTEGER, mixBlockDim INTEGER,
        taskType INTEGER, opType INTEGER, inputFormats INTEGER, inputDataTypes INTEGER, inputShapes INTEGER,
        outputFormats INTEGER, outputDataTypes INTEGER, outputShapes INTEGER);
    CREATE TABLE COMMUNICATION_OP (opName INTEGER, startNs INTEGER, endNs INTEGER, opType INTEGER);
    CREATE TABLE COMMUNICATION_TASK_INFO (name INTEGER, globalTaskId INTEGER);
    CREATE TABLE STEP_TIME (id INTEGER, startNs INTEGER, endNs INTEGER);";

const ROWS: &str = "INSERT INTO TASK VALUES
        (1774497535428633256, 1774497535428634636, 3, 1, 100, 0, 1, 0, 2, 7, 0),
        (1774497535428634636, 1774497535428700000, 3, 1, 101, 0, 3, 0, 2, 8, 0),
        (1774497535428634700, 1774497535428634800, 3, 1, 102, 0, 4, 0, 4, 1, 0),
        (1774497535428800000, 1774497535428800100, 3, 1, 103, 0, 13, 0, 2, 9, 0),
        (1774497535428800200, 1774497535428800300, 3, 1, 104, 0, 12, 0, 2, 10, 0),
        (1774497535428800300, 1774497535428800200, 3, 1, 105, 0, 1, 0, 2, 11, 0),
        (-5, 1774497535428800200, 3, 1, 106, 0, 1, 0, 2, 12, 0),
        (100.5, 1774497535428800400, 3, 1, 107, 0, 1, 0, 2, 13, 0);
    INSERT INTO COMPUTE_TASK_INFO VALUES (5, 100, 24, 0, 2, 6, 11, 8, 7, 11, 11, 11);
    INSERT INTO COMMUNICATION_OP VALUES (9, 1774497535428634650, 1774497535428690000, 10);
    INSERT INTO COMMUNICATION_TASK_INFO VALUES (4, 102);
    INSERT INTO STEP_TIME VALUES (13, 1774497535428000000, 1774497535428700000);";

fn make(path: &Path, sql: &[&str]) {
    let database = Connection::open(path).expect("a database");
    sql.iter().for_each(|sql| database.execute_batch(sql).expect("tables"));
}

fn read_made(sql: &[&str]) -> Result<Capture> {
    let folder = tempfile::tempdir().expect("a folder");
    make(&folder.path().join("ascend_pytorch_profiler_0.db"), sql);
    // Through the folder, as the profiler leaves it.
    read(folder.path(), &Options::default())
}

#[test]
fn operators_waits_copies_and_collectives() {
    let capture = read_made(&[STRINGS, TABLES, ROWS]).unwrap_or_else(|e| panic!("{e}"));
    let text = |symbol| capture.strings.text(symbol);
    let rows: Vec<_> = capture.rows.iter().map(|r| (text(r.name), r.core, r.stream, r.step)).collect();
    assert_eq!(
        rows,
        [
            ("add_0", Core::AiVectorCore, Some(2), Some(13)),
            ("hcom_allReduce__1_0", Core::Communication, None, Some(13)),
            ("MEMCPY_ASYNC", Core::Copy, Some(2), None),
        ]
    );
    let add = &capture.rows[0];
    assert_eq!((add.start_ns, add.duration_ns, add.task), (1_774_497_535_428_633_256, 1_380, Some(7)));
    assert_eq!((add.device, add.blocks, add.mix_blocks), (3, Some(24), None));
    assert_eq!(
        (text(add.op_type), text(add.input_shapes), text(add.input_types)),
        ("Add", "4096,1024;1", "FLOAT;INT32")
    );
    assert_eq!(text(add.output_shapes), "");
    assert_eq!((capture.rows[1].device, text(capture.rows[1].op_type)), (3, "hcom_allReduce_"));

    let [wait] = &capture.syncs[..] else { panic!("{:?}", capture.syncs) };
    assert_eq!((wait.kind, wait.via, wait.stream_id, wait.duration_ns), (SyncKind::Wait, Via::Event, 2, 65_364));
    assert_eq!(capture.sources[0].skipped, 2, "a copy inside of the collective, and a place holder");
    let why: Vec<_> = capture.dropped.iter().map(|dropped| dropped.why.as_str()).collect();
    assert_eq!(
        why,
        [
            "row 6 of TASK: ends at 1774497535428800200, before it starts at 1774497535428800300: left out",
            "row 7 of TASK: startNs is negative: left out",
            "row 8 of TASK: startNs is not a whole number: left out",
        ]
    );
}

#[test]
fn older_databases_have_fewer_tables_and_columns() {
    let task = "CREATE TABLE TASK (startNs INTEGER, endNs INTEGER, taskType INTEGER, streamId INTEGER);
        INSERT INTO TASK VALUES (10, 30, 1, 2), (40, 50, 3, 2);";
    let capture = read_made(&[STRINGS, task]).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((capture.rows.len(), capture.syncs.len()), (1, 1));
    let row = &capture.rows[0];
    assert_eq!((row.core, row.task, row.device, capture.strings.text(row.name)), (Core::AiCore, None, 0, "AI_CORE"));
}

#[test]
fn what_is_no_profile_says_so() {
    let error = read_made(&["CREATE TABLE x (y)"]).expect_err("no profile");
    assert_eq!(error.kind(), ErrorKind::Unreadable);
    assert!(error.to_string().ends_with("it has no tables TASK and STRING_IDS"), "{error}");
    let error = read_made(&[STRINGS, TABLES]).expect_err("no tasks");
    assert_eq!(error.kind(), ErrorKind::NoData);

    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("broken.db");
    make(&path, &[STRINGS, TABLES, ROWS]);
    let mut bytes = std::fs::read(&path).expect("the file");
    bytes.truncate(bytes.len() / 2);
    bytes[100..].fill(0xff);
    std::fs::write(&path, bytes).expect("the file");
    let error = read(&path, &Options::default()).expect_err("broken");
    assert_eq!(error.kind(), ErrorKind::Unreadable, "{error}");
}
