//! What real files do to readers, one trap a test, on files written here.

use std::fs;
use std::path::PathBuf;

use multicore_timeline::capture::{Note, NoteKind};
use multicore_timeline::{Capture, Core, Error, ErrorKind, Options, Result, read};
use tempfile::TempDir;

const HEADER: &str = "Step Id,Device_id,Model ID,Task ID,Stream ID,Name,Type,Accelerator Core,Start Time(us),\
                      Duration(us),Wait Time(us),Block Dim,Mix Block Dim,Input Shapes,Input Data Types,Output Shapes,\
                      Output Data Types,aicore_time(us),aiv_time(us)";

/// A file that goes away at the end.
struct File {
    _folder: TempDir,
    path: PathBuf,
}

fn file(name: &str, text: impl AsRef<[u8]>) -> File {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(name);
    fs::write(&path, text).expect("a file");
    File { _folder: folder, path }
}

fn try_csv(text: impl AsRef<[u8]>) -> Result<Capture> {
    read(&file("kernel_details.csv", text).path, &Options::default())
}

fn csv(text: impl AsRef<[u8]>) -> Capture {
    try_csv(text).unwrap_or_else(|e| panic!("{e}"))
}

/// The failure, in one line that names the file.
fn refused(text: impl AsRef<[u8]>) -> (ErrorKind, String) {
    let error = try_csv(text).expect_err("the file is not to be read");
    let text = error.to_string();
    assert!(text.contains("kernel_details.csv") && !text.contains('\n'), "{text}");
    (error.kind(), text)
}

fn names(capture: &Capture) -> Vec<&str> {
    capture.rows.iter().map(|row| capture.strings.text(row.name)).collect()
}

/// A row with a name and times, in the columns of [`HEADER`].
fn row(name: &str, stream: &str, start: &str, duration: &str) -> String {
    format!(
        "13,0,4294967295,7,{stream},{name},Add,AI_VECTOR_CORE,{start}\t,{duration},0,24,0,\"\"\"4096,1024;1\"\"\",\
         DT_BF16;INT32,\"\"\"4096,1024\"\"\",DT_BF16,0.0,12.61"
    )
}

fn table(rows: &[String]) -> String {
    format!("{HEADER}\n{}\n", rows.join("\n"))
}

fn dropped(capture: &Capture) -> Vec<(u64, &str)> {
    capture.dropped.iter().map(|dropped| (dropped.line, dropped.why.as_str())).collect()
}

#[test]
fn operators_that_touch_do_not_overlap() {
    // Through an f64 the first ends 0.25 us late.
    let text = table(&[row("a", "2", "1774497535428633.256", "1.380"), row("b", "2", "1774497535428634.636", "1")]);
    let capture = csv(text);
    assert_eq!(capture.rows[0].end_ns(), capture.rows[1].start_ns);
    assert_eq!(capture.notes, []);
}

#[test]
fn marks_line_ends_tabs_and_quotes_around_them_change_nothing() {
    let plain = table(&[row("a", "2", "10.5", "1.25"), row("b", "3", "11.75", "0.001")]);
    let expected = csv(&plain);
    let quoted_tab = plain.replace("10.5\t", "\"10.5\t\"");
    for variant in [
        plain.replace('\n', "\r\n"),
        format!("\u{feff}{plain}"),
        quoted_tab,
        plain.replace('\t', ""),
        plain.trim_end().into(),
    ] {
        let capture = csv(&variant);
        assert_eq!(capture.rows, expected.rows, "{variant}");
        assert_eq!((capture.dropped.len(), capture.notes.len()), (0, 0), "{variant}");
    }
    let row = &expected.rows[0];
    assert_eq!((row.start_ns, row.duration_ns, row.step, row.task), (10_500, 1_250, Some(13), Some(7)));
    assert_eq!((row.aicore_ns, row.aiv_ns, row.blocks, row.mix_blocks), (Some(0), Some(12_610), Some(24), None));
    assert_eq!(expected.strings.text(row.input_shapes), "4096,1024;1");
}

#[test]
fn every_family_of_titles_says_the_same() {
    let kernel_details = "Task ID,Stream ID,Name,Type,Accelerator Core,Start Time(us),Duration(us),Block Dim";
    let rows = "\n7,2,a,Add,AI_CORE,10.5,1.25,24\n";
    let expected = csv(format!("{kernel_details}{rows}"));
    for (header, format) in [
        (kernel_details.replace("Block Dim", "Block Num"), "kernel_details.csv"),
        (
            "Task ID,Stream ID,Op Name,OP Type,Task Type,Task Start Time(us),Task Duration(us),Block Num".into(),
            "op_summary.csv",
        ),
        (
            "Task ID,Stream ID,Name,Type,Accelerator Core,Task Start Time(us),Task Duration(us),Block Dim".into(),
            "kernel_details.csv",
        ),
        (
            "task_id,stream_id,kernel_name,OP Type,kernel_type,task_start(us),task_time(us),Block Dim".into(),
            "task_time.csv",
        ),
    ] {
        let capture = csv(format!("{header}{rows}"));
        assert_eq!(capture.rows, expected.rows, "{header}");
        assert_eq!(capture.sources[0].format, format, "{header}");
    }
    // The unit is in the title.
    let ns = csv("Stream ID,Name,Start Time(ns),Duration(ms)\n2,a,10500,0.00125\n");
    assert_eq!((ns.rows[0].start_ns, ns.rows[0].duration_ns), (10_500, 1_250));
}

#[test]
fn unsorted_rows_are_sorted() {
    let capture =
        csv(table(&[row("late", "2", "30", "1"), row("early", "2", "10", "1"), row("middle", "3", "20", "1")]));
    assert_eq!(names(&capture), ["early", "middle", "late"]);
    assert_eq!(capture.rows[0].line, 3);
}

#[test]
fn ragged_rows_are_listed_and_cost_nobody_else() {
    let whole = row("whole", "2", "10", "1");
    let short = whole.rsplit_once(',').expect("cells").0;
    let capture =
        csv(table(&[whole.clone(), short.into(), format!("{whole},surplus"), format!("{whole},"), whole.clone()]));
    assert_eq!(
        dropped(&capture),
        [(3, "18 cells under a header of 19: left out"), (4, "20 cells under a header of 19: left out")]
    );
    assert_eq!(capture.rows.len(), 3);
    assert_eq!(capture.sources[0].rows, 3);
}

#[test]
fn a_quote_that_is_not_closed_costs_its_row() {
    let open = row("open", "2", "10", "1").replace("\"\"\"4096,1024;1\"\"\"", "\"4096");
    let capture = csv(table(&[open.clone(), row("b", "2", "20", "1"), open, row("c", "2", "30", "1")]));
    assert_eq!(names(&capture), ["b", "c"]);
    assert_eq!(dropped(&capture), [(2, "a quote is not closed: left out"), (4, "a quote is not closed: left out")]);
}

#[test]
fn cells_that_are_no_numbers_say_which_and_what() {
    let bad = [
        row("a", "2", "abc", "1"),
        row("b", "2", "10", "-5"),
        row("c", "two", "10", "1"),
        row("d", "2", "99999999999999999999", "1"),
        row("e", "2", "N/A", "1"),
        row("f", "2", "18446744073709551", "1000"),
        row("g", "2", "10", "1"),
    ];
    let capture = csv(table(&bad));
    assert_eq!(names(&capture), ["g"]);
    assert_eq!(
        dropped(&capture),
        [
            (2, "column Start Time(us): `abc` is not a number: left out"),
            (3, "column Duration(us): `-5` is negative: left out"),
            (4, "column Stream ID: `two` is not a number: left out"),
            (5, "column Start Time(us): `99999999999999999999` is more than 64 bits of nanoseconds hold: left out"),
            (6, "column Start Time(us): `N/A` does not say: left out"),
            (7, "start 18446744073709551000 ns + duration 1000000 ns is past the end of time: left out"),
        ]
    );
    // If nothing is left, that is the answer, with the first reason.
    let (kind, text) = refused(table(&bad[..2]));
    assert_eq!(kind, ErrorKind::NoData);
    assert!(text.contains("none of its 2 rows can be read; line 2: column Start Time(us): `abc`"), "{text}");
}

#[test]
fn cells_that_one_can_do_without_cost_a_note() {
    let text = table(&[row("a", "2", "10", "1").replace("12.61", "fast")]);
    let capture = csv(text);
    assert_eq!(capture.rows[0].aiv_ns, None);
    let cell = NoteKind::Cell { column: "aiv_time(us)".into(), value: "fast".into() };
    assert_eq!(capture.notes, [Note { source: 0, line: 2, kind: cell }]);
}

#[test]
fn n_a_is_no_stream_no_step_no_blocks_and_no_shape() {
    let text =
        format!("{HEADER}\n,N/A,4294967295,N/A,N/A,hcom,hcom_,COMMUNICATION,10,5,0,0,N/A,N/A,N/A,N/A,N/A,N/A,N/A\n");
    let capture = csv(text + &row("a", "2", "10", "1"));
    let row = &capture.rows[0];
    assert_eq!((row.step, row.stream, row.task, row.blocks, row.mix_blocks), (None, None, None, None, None));
    assert_eq!((row.core, row.aicore_ns, row.aiv_ns, row.device), (Core::Communication, None, None, 0));
    assert_eq!(capture.strings.text(row.input_shapes), "");
    assert_eq!((capture.notes, capture.dropped), (vec![], vec![]));
}

#[test]
fn files_without_rows_are_no_data() {
    for (text, says) in [
        (String::new(), "is empty: no header and no rows"),
        ("\n\r\n".into(), "is empty: no header and no rows"),
        (HEADER.into(), "a header and no rows"),
        (format!("\u{feff}{HEADER}\r\n"), "a header and no rows"),
    ] {
        let (kind, found) = refused(&text);
        assert_eq!(kind, ErrorKind::NoData, "{text:?}");
        assert!(found.contains(says), "{found}");
    }
}

#[test]
fn level_0_has_no_streams() {
    let (kind, text) = refused("Name,Type,Accelerator Core,Start Time(us),Duration(us),Block Dim\na,N/A,N/A,10,1,0\n");
    assert_eq!(kind, ErrorKind::Unsuitable);
    assert!(
        text.ends_with("collected at level 0: no column Stream ID; collect at level 1 or above to see streams"),
        "{text}"
    );
    let (kind, _) = refused(table(&[row("a", "N/A", "10", "1")]));
    assert_eq!(kind, ErrorKind::Unsuitable);
}

#[test]
fn what_is_no_profile_is_unreadable() {
    for (text, says) in [
        (&b"Name,Stream ID\na,2\n"[..], "an incomplete header: line 1 has no column Start Time(us), Duration(us)"),
        (b"# Read me\n", "no profile of operators"),
        (b"\x1f\x8b\x08\0", "gunzip"),
        (b"\xff\xfeN\0a\0", "UTF-16"),
        (b"{\"traceEvents\" 5", "broken JSON: byte 15"),
    ] {
        let (kind, found) = refused(text);
        assert_eq!(kind, ErrorKind::Unreadable);
        assert!(found.contains(says), "{found}");
    }
    let missing = read("/no/such/file.csv", &Options::default()).expect_err("no file");
    assert!(matches!(missing, Error::Read { .. }) && missing.kind() == ErrorKind::Unreadable, "{missing}");
}

#[test]
fn titles_that_are_there_twice_and_headers_in_the_middle() {
    let text = table(&[row("a", "2", "10", "1"), HEADER.into(), row("b", "2", "20", "1")]);
    let capture = csv(text.replacen("Wait Time(us)", "Duration(us)", 1));
    assert_eq!(capture.rows[0].duration_ns, 1_000, "the first column of that title");
    assert!(matches!(&capture.notes[..], [n] if n.kind == NoteKind::SameTitle { column: "Duration(us)".into() }));
    let capture = csv(text);
    assert_eq!(dropped(&capture), [(3, "the header again: left out")]);
    assert_eq!(names(&capture), ["a", "b"]);
}

#[test]
fn rows_outside_every_step_are_kept() {
    let text = table(&[row("a", "2", "10", "1"), row("b", "2", "20", "1").replacen("13", "", 1)]);
    assert_eq!(csv(text).rows.iter().map(|row| row.step).collect::<Vec<_>>(), [Some(13), None]);
}

#[test]
fn spreadsheets_make_whole_numbers_fractions() {
    let text = table(&[row("a", "2.0", "10", "1")]);
    assert_eq!(csv(text).rows[0].stream, Some(2));
}

#[test]
fn a_start_of_zero_is_no_time() {
    let text = [
        row("none", "2", "0", "0"),
        row("zero", "2", "0", "5"),
        row("a", "2", "1774497535428633.256", "1"),
        row("instant", "2", "1774497535428640", "0"),
    ];
    let capture = csv(table(&text));
    assert_eq!(names(&capture), ["a", "instant"]);
    assert_eq!(
        dropped(&capture),
        [
            (2, "starts at 0 and lasts 0: the profiler has no times for it: left out"),
            (3, "starts at 0, an hour or more before all others: no time at all: left out"),
        ]
    );
    assert_eq!((&capture.notes[0].kind, capture.sources[0].rows), (&NoteKind::ZeroLength, 2));
    // On a clock that starts with the device, 0 is a time like any other.
    assert_eq!(names(&csv(table(&[row("first", "2", "0", "5"), row("b", "2", "9", "1")]))), ["first", "b"]);
}

#[test]
fn durations_that_overrun_the_next_start_are_noted_and_kept() {
    let overrun = |start: &str, next: &str| {
        csv(table(&[row("a", "2", start, "50"), row("b", "2", next, "1"), row("other", "3", next, "1")])).notes
    };
    let by = |by_ns| vec![Note { source: 0, line: 2, kind: NoteKind::Overrun { next_line: 3, by_ns } }];
    assert_eq!(overrun("10.001", "20.001"), by(40_000));
    // One step of the clock is rounding: 1 ns, 0.1 us or 1 us, as the starts show.
    assert_eq!(overrun("10.001", "60.000"), []);
    assert_eq!(overrun("10.001", "59.999"), by(2));
    assert_eq!(overrun("10", "59"), []);
    assert_eq!(overrun("10", "58"), by(2_000));
    // Two of one start: no order to hold them to.
    assert_eq!(overrun("10.001", "10.001"), []);
}

#[test]
fn waits_and_records_are_no_work() {
    let capture =
        csv("Device_id,kernel_name,kernel_type,stream_id,task_id,task_time(us),task_start(us),task_stop(us)\n\
         3,N/A,PROFILING_ENABLE,2,1,0.02,5,5.02\n\
         3,add,AI_CORE,2,2,10,6,16\n\
         3,N/A,EVENT_WAIT_SQE,2,3,100.5,16,116.5\n\
         3,N/A,EVENT_RECORD,4,9,0.02,116,116.02\n\
         3,N/A,NOTIFY_WAIT,4,10,7,117,124\n\
         3,copy,SDMA_SQE,4,11,7,125,132\n");
    assert_eq!(names(&capture), ["add", "copy"]);
    assert_eq!(capture.rows[1].core, Core::Copy);
    assert_eq!((capture.sources[0].rows, capture.sources[0].syncs, capture.sources[0].skipped), (2, 3, 1));
    let wait = &capture.syncs[0];
    assert_eq!((wait.device_id, wait.stream_id, wait.start_ns, wait.duration_ns), (3, 2, 16_000, 100_500));
    assert_eq!(wait.task, Some(3));
}

#[test]
fn names_may_be_anything() {
    let odd = "\"say \"\"hi\"\", x\"";
    let text = table(&[row(odd, "2", "10", "1"), row("ünï", "2", "20", "1")]);
    assert_eq!(names(&csv(text)), ["say \"hi\", x", "ünï"]);
    let latin = table(&[row("\u{1}", "2", "10", "1")]).replace('\u{1}', "?").into_bytes();
    let latin: Vec<u8> = latin.into_iter().map(|byte| if byte == b'?' { 0xe9 } else { byte }).collect();
    assert_eq!(names(&csv(latin)), ["\u{fffd}"]);
}

/// Large tables are read on several threads; nobody can tell.
#[test]
fn a_large_table_reads_as_a_small_one() {
    let rows: Vec<String> = (0..400_000)
        .map(|i| match i {
            7 | 399_990 => "too,short".into(),
            _ => row(&format!("op{}", i % 1000), "2", &format!("{}.5", 10 + i), "1"),
        })
        .collect();
    let text = table(&rows);
    assert!(text.len() > 40 << 20, "not large enough for two threads");
    let large = csv(&text);
    assert_eq!(large.rows.len(), rows.len() - 2);
    assert_eq!(dropped(&large).iter().map(|(line, _)| *line).collect::<Vec<_>>(), [9, 399_992]);
    assert!(large.rows.iter().zip((0..400_000).filter(|i| !matches!(i, 7 | 399_990))).all(|(row, i)| {
        (row.line, row.start_ns, large.strings.text(row.name))
            == (i + 2, (10 + i) * 1000 + 500, &format!("op{}", i % 1000))
    }));
    assert_eq!(large.sources[0].rows, large.rows.len() as u64);

    // A line end inside of quotes where the parts meet: read on one thread, with one row for the two lines.
    let mut rows = rows;
    rows[199_000..201_000].fill(row("\"two\nlines\"", "2", "7", "1"));
    let broken = csv(table(&rows));
    assert_eq!(broken.rows.len(), large.rows.len());
    assert_eq!(dropped(&broken).iter().map(|(line, _)| *line).collect::<Vec<_>>(), [9, 399_992 + 2000]);
}
