//! Schedules that somebody measured or worked out, as the device finds them.

use multicore::prelude::*;
use multicore::sim::{Chip, Cost};
use multicore::{Cores, Pattern};

/// An operator of known time. It takes the cores of its stream's limit.
struct Timed {
    name: &'static str,
    kind: CoreKind,
    us: f64,
    /// The part of the time on all 24 cube cores that more cores do not make shorter.
    fixed: f64,
}

impl Timed {
    fn new(name: &'static str, kind: CoreKind, us: f64) -> Timed {
        Timed { name, kind, us, fixed: 1.0 }
    }

    fn launch(self) -> Result<()> {
        Launch::new(self).tiles(1 << 16).submit()
    }
}

impl Kernel for Timed {
    fn name(&self) -> &'static str {
        self.name
    }
    fn kind(&self) -> CoreKind {
        self.kind
    }
    fn cost(&self, _: &Chip, cores: Cores) -> Option<Cost> {
        let shared = (1.0 - self.fixed) * 24.0 / f64::from(cores.cube.max(1));
        Some(Cost::fixed(self.us * 1e3 * (self.fixed + shared)))
    }
    fn tile(&self, _: &mut Tile<'_>) -> KernelResult {
        Ok(())
    }
}

fn us(device: &Device) -> Result<f64> {
    device.synchronize()?;
    Ok(device.now_ns() as f64 / 1e3)
}

/// A chip with one core of each kind, in a file of its own.
fn smallest_chip() -> Result<Device> {
    let path = std::env::temp_dir().join(format!("multicore-golden-{}.toml", std::process::id()));
    let chip = "cube = 1\nvector = 1\nclock_mhz = 1850\nhbm_gib = 64\nl2_mib = 192\nhbm_gb_s = 1490\ncore_hbm_bytes = 32\n\
                core_l2_bytes = 110\nl2_gb_s = 5960\nmacs = 4096\nlanes = 128\nlink_gb_s = 196\npeer_gb_s = 28\n";
    std::fs::write(&path, chip).expect("the temporary folder takes a file");
    let device = Device::open(&format!("sim:{},dry,issue=0", path.display()));
    std::fs::remove_file(&path).expect("it was written");
    device
}

/// hicann/cann-recipes-infer, multi_stream_principles.md: 110 us, and 100 us when an event lets the first stream's vector
/// operator go first.
#[test]
fn two_streams_of_vector_and_cube_operators() -> Result<()> {
    for (event, expected) in [(false, 110.0), (true, 100.0)] {
        let device = smallest_chip()?;
        let (first, second) = (device.new_stream()?, device.new_stream()?);
        let vector = |us| Timed::new("V", CoreKind::Vector, us).launch();
        let cube = |us| Timed::new("C", CoreKind::Cube, us).launch();
        if !event {
            let _on = second.enter();
            vector(30.0)?;
        }
        {
            let _on = first.enter();
            vector(20.0)?;
            if event {
                second.wait(&first.record_event()?)?;
            }
            cube(40.0)?;
            vector(20.0)?;
        }
        let _on = second.enter();
        if event {
            vector(30.0)?;
        }
        cube(20.0)?;
        vector(20.0)?;
        assert_eq!(us(&device)?, expected, "with the event: {event}");
    }
    Ok(())
}

/// An activity of a recorded run.
struct Activity {
    stream: u32,
    start: u64,
    end: u64,
    is_exchange: bool,
}

/// The DeepSeek-V3 training profile of `MULTICORE_DATA`, times in us from its start.
fn training_trace() -> Option<Vec<Activity>> {
    let Some(data) = std::env::var_os("MULTICORE_DATA") else {
        eprintln!("skipped: MULTICORE_DATA is not set");
        return None;
    };
    let path = std::path::Path::new(&data).join("moe/deepseek_v3_train_h800_kernels.csv");
    let mut reader = csv::Reader::from_path(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let titles = reader.headers().expect("the file has a header").clone();
    let column = |name: &str| titles.iter().position(|t| t == name).unwrap_or_else(|| panic!("no column {name}"));
    let [stream, start, length, name] = ["stream", "start_us", "dur_us", "kernel"].map(column);
    let activities = reader.records().map(|row| {
        let row = row.expect("the file has rows");
        let number = |i: usize| row[i].parse::<u64>().expect("whole microseconds");
        let start = number(start);
        let is_exchange = row[name].contains("dpsk::ep");
        Activity { stream: number(stream) as u32, start, end: start + number(length), is_exchange }
    });
    let mut activities: Vec<Activity> = activities.collect();
    activities.sort_by_key(|a| (a.start, a.end));
    Some(activities)
}

/// deepseek-ai/profile-data, one forward and one backward chunk: 983 activities on their streams, each as long as it was.
/// Where a stream stood still, it waited for what ended last on another stream, and then as long as it took to start. The
/// replay takes 129.0 ms, and 96.3 % of
/// the exchange is hidden.
#[test]
fn replay_of_a_recorded_training_run() -> Result<()> {
    let Some(activities) = training_trace() else { return Ok(()) };
    assert_eq!(activities.len(), 983);
    let device = Device::open("sim:910b,dry,issue=0")?;
    device.set_tracing(true);
    let mut streams: Vec<(u32, Stream)> = Vec::new();
    let mut waited: Vec<Option<usize>> = vec![None; activities.len()];
    // How long it took to start once all that it waited for was over.
    let mut latency: Vec<u64> = vec![0; activities.len()];
    for (i, activity) in activities.iter().enumerate() {
        let before = activities[..i].iter().filter(|a| a.stream == activity.stream).map(|a| a.end).max().unwrap_or(0);
        let others = activities[..i].iter().enumerate().filter(|(_, a)| a.stream != activity.stream);
        let ended = others.filter(|(_, a)| a.end <= activity.start && a.end > before);
        waited[i] = ended.max_by_key(|(_, a)| a.end).map(|(j, _)| j);
        let free = waited[i].map_or(before, |j| activities[j].end);
        latency[i] = activity.start.saturating_sub(free);
    }
    let mut events: Vec<Option<Event>> = vec![None; activities.len()];
    for (i, activity) in activities.iter().enumerate() {
        let known = streams.iter().find(|(id, _)| *id == activity.stream).map(|(_, stream)| stream.clone());
        let stream = match known {
            Some(stream) => stream,
            None => {
                let stream = device.new_stream()?;
                streams.push((activity.stream, stream.clone()));
                stream
            }
        };
        if let Some(event) = waited[i].and_then(|j| events[j].as_ref()) {
            stream.wait(event)?;
        }
        let _on = stream.enter();
        Timed::new("Latency", CoreKind::Host, latency[i] as f64).launch()?;
        let name = if activity.is_exchange { "Exchange" } else { "Compute" };
        Timed::new(name, CoreKind::Host, (activity.end - activity.start) as f64).launch()?;
        if waited.contains(&Some(i)) {
            events[i] = Some(stream.record_event()?);
        }
    }
    let ms = us(&device)? / 1e3;
    assert!((ms / 129.012 - 1.0).abs() < 0.01, "the replay takes {ms} ms");

    let trace = device.take_trace().operators;
    let of = |name: &str| -> Vec<(u64, u64)> {
        union(trace.iter().filter(|r| r.op_type == name).map(|r| (r.start_ns, r.end_ns())).collect())
    };
    let (exchange, compute) = (of("Exchange"), of("Compute"));
    let hidden = common(&exchange, &compute) as f64 / length(&exchange) as f64;
    assert!((hidden - 0.963).abs() < 0.01, "{hidden} of the exchange is hidden");
    Ok(())
}

fn union(mut intervals: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    intervals.sort_unstable();
    let mut union: Vec<(u64, u64)> = Vec::new();
    for (start, end) in intervals {
        match union.last_mut() {
            Some((_, last)) if start <= *last => *last = end.max(*last),
            _ => union.push((start, end)),
        }
    }
    union
}

fn length(intervals: &[(u64, u64)]) -> u64 {
    intervals.iter().map(|(start, end)| end - start).sum()
}

fn common(a: &[(u64, u64)], b: &[(u64, u64)]) -> u64 {
    let pairs = a.iter().flat_map(|x| b.iter().map(move |y| x.1.min(y.1).saturating_sub(x.0.max(y.0))));
    pairs.sum()
}

/// hicann/cann-recipes-infer, LongCat-Flash-Lite, expert parallel over 8: 7.67 ms one after another, 6.62 ms with the
/// experts on 8 cube and 16 vector cores beside the rest on 16 and 32; 0.33 ms of the experts' 3.3 stay exposed.
///
/// The part of an operator that more cores do not shorten is 0.64 of its time on all cores, the mean of the published
/// operators of this family (0.43 to 0.77).
#[test]
fn a_core_split_of_decode() -> Result<()> {
    const FIXED: f64 = 0.64;
    let on = |cube: f64| FIXED + (1.0 - FIXED) * 24.0 / cube;
    // The experts as measured on their share of the cores, and what they would take on all.
    let experts = 3300.0 / on(8.0);
    let rest = 7670.0 - experts;
    let part = |us: f64, pieces: u32| -> Result<()> {
        (0..pieces).try_for_each(|_| {
            Timed { fixed: FIXED, ..Timed::new("Part", CoreKind::Cube, us / f64::from(pieces)) }.launch()
        })
    };
    let run = |split: bool| -> Result<f64> {
        let device = Device::open("sim:910_9391,dry,issue=0")?;
        let (main, side) = (device.new_stream()?, device.new_stream()?);
        // What depends on the experts comes after them, on all cores.
        let beside = 2970.0 / on(16.0);
        if split {
            main.set_core_limit(CoreLimit::new(16, 32))?;
            side.set_core_limit(CoreLimit::new(8, 16))?;
        }
        {
            let _on = if split { side.enter() } else { main.enter() };
            part(experts, 40)?;
        }
        let done = if split { Some(side.record_event()?) } else { None };
        let _on = main.enter();
        part(beside, 40)?;
        if let Some(done) = done {
            main.wait(&done)?;
            main.reset_core_limit();
        }
        part(rest - beside, 40)?;
        us(&device)
    };
    let (serial, split) = (run(false)?, run(true)?);
    assert!((serial - 7670.0).abs() < 1.0, "{serial}");
    let ratio = split / serial;
    assert!((ratio - 0.863).abs() < 0.05, "ratio {ratio}");
    Ok(())
}

/// mirror-cann/asc-devkit, MatmulAllReduce of 4096 x 3072 x 8192 over 8 devices: 1874 us one after the other, 1262 us in
/// slices of 512 and four times 896 rows.
#[test]
fn matmul_and_all_reduce_in_slices() -> Result<()> {
    struct AllReduce(f64);
    impl Kernel for AllReduce {
        fn name(&self) -> &'static str {
            "AllReduce"
        }
        fn kind(&self) -> CoreKind {
            CoreKind::Comm
        }
        fn work(&self) -> Work {
            Work::default().with_pattern(Pattern::AllReduce { operand: self.0, ranks: 8.0 })
        }
        fn tile(&self, _: &mut Tile<'_>) -> KernelResult {
            Ok(())
        }
    }
    let run = |slices: &[usize]| -> Result<f64> {
        let device = Device::open("sim:910b,dry,issue=0,comm=copy")?;
        let (compute, links) = (device.new_stream()?, device.new_stream()?);
        let _on = compute.enter();
        let w = Tensor::empty(&[3072, 8192], DType::F16)?;
        for &rows in slices {
            let x = Tensor::empty(&[rows, 3072], DType::F16)?;
            {
                let _on = compute.enter();
                x.matmul(&w)?;
            }
            links.wait(&compute.record_event()?)?;
            let _on = links.enter();
            Launch::new(AllReduce((rows * 8192 * 2) as f64)).submit()?;
        }
        us(&device)
    };
    let (whole, sliced) = (run(&[4096])?, run(&[512, 896, 896, 896, 896])?);
    assert!((whole / 1874.0 - 1.0).abs() < 0.1, "one after the other: {whole} us");
    assert!((sliced / 1262.0 - 1.0).abs() < 0.1, "in slices: {sliced} us");
    Ok(())
}
