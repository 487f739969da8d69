//! Reading a `kernel_details.csv` of a million rows and 46 columns, beside pandas and polars on the same file.
//!
//! pandas and polars are run by `scripts/read_csv.py` if a `python3` has them (`PYTHON` names another), and reading is
//! compared with both of their ways: all columns, and only those that `timeline` keeps. Starts are read to the nanosecond
//! by us, as floats by them. All figures are the best of a few runs, with the file in the page cache.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use benches::{Report, seconds};
use multicore_timeline::{Options, kernel_details, read};
use serde_json::Value;

const ROWS: u64 = 1_000_000;
const RUNS: usize = 5;
const PYTHON_RUNS: usize = 3;

/// Rows as CANN's profiler writes them, without the columns before and the start; a decoder layer in small.
const OPERATORS: [(&str, &str); 4] = [
    (
        "aclnnQuantMatmul_QuantBatchMatmulV3_7,QuantBatchMatmulV3,dynamic,MIX_AIC",
        "18.220,0.120000,24,48,NO,\"\"\"3,512;192,32,16,32;6144;3\"\"\",INT8;INT8;FLOAT;FLOAT,ND;FRACTAL_NZ;ND;ND,\"\"\"3,6144\"\"\",\
         DT_BF16,ND,N/A,15.012,648110,2.274,0.151,1.84,0.123,3.498,0.233,9.969,0.664,4.68,0.312,0.058,4.1,354312,0.3,0.07,0.9,\
         0.22,2.1,0.512,1.1,0.268,0.09,26.037",
    ),
    (
        "aclnnSwiGlu_SwiGlu_SwiGlu,SwiGlu,dynamic,AI_VECTOR_CORE",
        "3.140,0.010000,40,0,NO,\"\"\"3,4096\"\"\",DT_BF16,ND,\"\"\"3,2048\"\"\",DT_BF16,ND,N/A,0.0,0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,\
         0.0,0.0,0.0,2.356,170541,0.226,0.096,0.25,0.106,0.984,0.418,0.605,0.257,0.197,0.000",
    ),
    (
        "aclnnDynamicQuant_DynamicQuant_DynamicQuant,DynamicQuant,static,AI_VECTOR_CORE",
        "4.480,1.420000,24,0,NO,\"\"\"3,7168\"\"\",DT_BF16,ND,\"\"\"3,7168;3\"\"\",INT8;FLOAT,ND;ND,0,0.0,0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,\
         0.0,0.0,0.0,0.0,3.063,191300,0.964,0.31,0.328,0.107,0.898,0.293,0.719,0.235,0.157,0.000",
    ),
    (
        "AivKernel,hcom_allReduce_,N/A,COMMUNICATION",
        "21.360,0.000000,8,0,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A\
         ,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A",
    ),
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut report = Report::from_args();
    let path = std::env::temp_dir().join(format!("read_profile_{}.csv", std::process::id()));
    let written = write(&path);
    let result = written.map_err(Into::into).and_then(|()| compare(&mut report, &path));
    std::fs::remove_file(&path)?;
    result?;
    report.finish();
    Ok(())
}

fn write(path: &Path) -> std::io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    let header: Vec<_> = kernel_details::header().collect();
    writeln!(file, "{}", header.join(",").replace("Block Num", "Block Dim"))?;
    let mut start_ns: u64 = 1_774_497_535_428_633_256;
    for row in 0..ROWS {
        let (identity, rest) = OPERATORS[(row % 4) as usize];
        let stream = [2, 2, 140, 141][(row % 4) as usize];
        let (us, ns) = (start_ns / 1_000, start_ns % 1_000);
        writeln!(file, "0,4294967295,{row},{stream},{identity},{us}.{ns:03}\t,{rest}")?;
        start_ns += 21_400;
    }
    file.flush()
}

fn compare(report: &mut Report, path: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let megabytes = std::fs::metadata(path)?.len() as f64 / 1e6;
    let capture = read(path, &Options::default())?;
    assert_eq!((capture.rows.len() as u64, capture.dropped.len()), (ROWS, 0));
    drop(capture);
    let ours = (0..RUNS).map(|_| seconds(|| drop(read(path, &Options::default())))).fold(f64::INFINITY, f64::min);
    report.figure(
        "read_profile_s",
        ours,
        format_args!("timeline: {ours:.3} s for {ROWS} rows, {:.0} MB/s", megabytes / ours),
    );
    match peers(path) {
        Ok(peers) => {
            for (name, taken) in &peers {
                let Some(taken) = taken.as_f64() else { continue };
                let ratio = taken / ours;
                let text = format!("{name}: {taken:.3} s, {ratio:.1} times ours");
                report.figure(&format!("read_profile_{name}_ratio"), ratio, text);
            }
            for name in ["pandas", "polars"].iter().filter(|name| !peers.contains_key(**name)) {
                eprintln!("{name} is not installed: not compared");
            }
        }
        Err(error) => eprintln!("pandas and polars are not compared: {error}"),
    }
    Ok(())
}

/// Seconds that pandas and polars take.
fn peers(path: &Path) -> Result<serde_json::Map<String, Value>, Box<dyn std::error::Error>> {
    let python = std::env::var_os("PYTHON").unwrap_or_else(|| "python3".into());
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("scripts/read_csv.py");
    let output = Command::new(python).arg(script).arg(path).arg(PYTHON_RUNS.to_string()).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_string().into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}
