//! The exact text of `kernel_details.csv`, and its header beside a real one.

use std::io;
use std::path::Path;

use multicore_timeline::{Core, Error, Operand, Record, kernel_details};

fn text(records: &[Record]) -> String {
    let mut out = Vec::new();
    kernel_details::write(&mut out, records).expect("writing to memory");
    String::from_utf8(out).expect("utf-8")
}

/// The cells of one row under the given titles, unquoted.
fn cells(text: &str, row: usize, titles: &[&str]) -> Vec<String> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header = reader.headers().expect("a header").clone();
    let record = reader.records().nth(row).expect("the row").expect("a row of equal length");
    titles
        .iter()
        .map(|title| record[header.iter().position(|h| h == *title).expect("a title of the header")].to_string())
        .collect()
}

#[test]
fn a_row_has_the_exact_text_of_the_profiler() {
    let cast = Record {
        device_id: 0,
        stream_id: Some(2),
        task_id: Some(49243),
        start_ns: 1_774_497_535_428_633_256,
        duration_ns: 1_380,
        block_num: 1,
        inputs: vec![Operand::nd(&[4096, 1024], "INT32"), Operand::nd(&[], "FLOAT")],
        outputs: vec![Operand::nd(&[1], "INT64")],
        aicore_ns: Some(0),
        aiv_ns: Some(856),
        ..Record::new("aclnnArgMax_CastAiCore_Cast", "Cast", Core::AiVectorCore)
    };
    let text = text(&[cast]);
    let row = text.lines().nth(1).expect("one row");
    assert_eq!(
        row,
        "0,4294967295,49243,2,aclnnArgMax_CastAiCore_Cast,Cast,N/A,AI_VECTOR_CORE,1774497535428633.256\t,1.380,0.000000,\
         1,0,N/A,\"\"\"4096,1024;\"\"\",INT32;FLOAT,ND;ND,\"\"\"1\"\"\",INT64,ND,N/A,0.000,N/A,N/A,N/A,N/A,N/A,N/A,N/A,\
         N/A,N/A,N/A,N/A,N/A,0.856,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A"
    );
}

#[test]
fn what_a_record_does_not_know_is_n_a() {
    let text = text(&[Record::new("hcom_allReduce__360_0_73", "hcom_allReduce_", Core::Communication)]);
    let titles = ["Task ID", "Stream ID", "Input Shapes", "Input Formats", "Output Data Types", "aicore_time(us)"];
    assert_eq!(cells(&text, 0, &titles), ["N/A"; 6]);
    assert_eq!(cells(&text, 0, &["Accelerator Core"]), ["COMMUNICATION"]);
}

#[test]
fn rows_are_sorted_and_wait_since_the_row_before_whatever_its_stream() {
    let op = |name: &'static str, stream, start_ns, duration_ns| Record {
        stream_id: Some(stream),
        start_ns,
        duration_ns,
        ..Record::new(name, "Add", Core::AiVectorCore)
    };
    // `late` starts 250 ns after `long` ended; `inside` starts while `first` still runs.
    let text = text(&[op("late", 1, 5_250, 10), op("first", 1, 1_000, 2_000), op("inside", 2, 1_500, 3_500)]);
    let titles = ["Name", "Start Time(us)", "Wait Time(us)"];
    assert_eq!(cells(&text, 0, &titles), ["first", "1.000\t", "0.000000"]);
    assert_eq!(cells(&text, 1, &titles), ["inside", "1.500\t", "0.000000"]);
    assert_eq!(cells(&text, 2, &titles), ["late", "5.250\t", "0.250000"]);
}

#[test]
fn names_are_quoted_when_they_must_be() {
    let text = text(&[Record::new("a,\"b\"", "Add", Core::AiCore)]);
    assert!(text.contains(r#","a,""b""",Add,"#), "{text}");
}

#[test]
fn no_records_give_a_header_alone() {
    assert_eq!(text(&[]).lines().count(), 1);
}

#[test]
fn cores_are_spelled_as_cann_spells_them() {
    let cores = [Core::AiCore, Core::AiVectorCore, Core::MixAic, Core::MixAiv, Core::Communication, Core::AiCpu];
    let names = cores.map(Core::name);
    assert_eq!(names, ["AI_CORE", "AI_VECTOR_CORE", "MIX_AIC", "MIX_AIV", "COMMUNICATION", "AI_CPU"]);
}

#[test]
fn a_full_disk_is_an_error() {
    struct Full;
    impl io::Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let error = kernel_details::write(Full, &[]).expect_err("nothing can be written");
    assert!(matches!(&error, Error::Write(e) if e.kind() == io::ErrorKind::StorageFull), "{error}");
    assert!(error.to_string().starts_with("cannot write the profile: "), "{error}");
}

/// Today's header is the one of real files that still say `Block Dim`, with `Block Num` in its place.
#[test]
fn the_header_is_that_of_a_real_file() {
    let Some(data) = std::env::var_os("MULTICORE_DATA") else {
        eprintln!("skipped: set MULTICORE_DATA to the folder that has profiles/ to compare with a real file");
        return;
    };
    let profiles = Path::new(&data).join("profiles");
    let first_line = |file: &str| {
        let text = std::fs::read_to_string(profiles.join(file)).unwrap_or_else(|e| panic!("{file}: {e}"));
        text.lines().next().expect("a header").to_string()
    };
    let ours = text(&[]);
    let ours = ours.trim_end();
    assert_eq!(first_line("kd_dsv3_decode.csv").replace("Block Dim", "Block Num"), ours);

    // The newest file is of the other family, which has other titles for the same columns.
    let renamed = first_line("ops_blocknum_amin.csv")
        .replace("Op Name", "Name")
        .replace("OP Type", "Type")
        .replace("Task Type", "Accelerator Core")
        .replace("Task Start", "Start")
        .replace("Task Duration", "Duration")
        .replace("Task Wait", "Wait");
    assert_eq!(renamed, ours);
}
