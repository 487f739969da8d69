//! Time: the same each run, and of this machine never.

use multicore::ops;
use multicore::prelude::*;
use multicore::timeline::kernel_details;

use crate::{CHIP, of, profile, square};

#[multicore(streams(left, right))]
fn program(x: &Tensor, times: usize) -> Result<Tensor> {
    let mut x = x.clone();
    for _ in 0..times {
        let product = stream!(left, cores(cube = 16), { ops::matmul(&x, &x)? });
        let sum = stream!(right, cores(vector = 20), { ops::add(&x, &x)? });
        x = stream!(left, { product.add(&sum)? });
    }
    Ok(x)
}

#[test]
fn the_same_run_twice_gives_the_same_profile_byte_for_byte() {
    let run = || {
        let records = profile(CHIP, |_| program(&square(1024)?, 200).map(drop));
        let mut text = Vec::new();
        kernel_details::write(&mut text, &records).expect("memory takes the profile");
        text
    };
    let (first, second) = (run(), run());
    assert!(first.len() > 10_000);
    assert!(first == second);
}

/// Asking, synchronising in between and tidying up change when the host comes to a launch, and nothing else.
#[test]
fn when_the_engine_runs_does_not_matter() {
    let starts = |often: bool| -> Vec<(u64, u64)> {
        let records = profile("sim:910b,dry,issue=0", |device| {
            let x = square(1024)?;
            let stream = device.new_stream()?;
            for _ in 0..600 {
                x.add(&x)?;
                if often {
                    device.now_ns();
                    device.memory_in_use();
                }
            }
            let _on = stream.enter();
            x.matmul(&x).map(drop)
        });
        of(&records, "Add").iter().map(|r| (r.start_ns, r.duration_ns)).collect()
    };
    assert_eq!(starts(false), starts(true));
}

/// Numbers are those of `host`, to the last bit.
#[test]
fn it_computes_what_host_computes() {
    let run = |spec: &str| -> Result<Vec<f32>> {
        let device = Device::open(spec)?;
        let _on = device.default_stream().enter();
        let numbers: Vec<f32> = (0..64 * 64).map(|i| (i % 13) as f32 / 13.0).collect();
        let x = Tensor::from_slice(&numbers, &[64, 64])?.scale(0.05)?;
        let y = program(&x, 3)?.to_vec::<f32>()?;
        assert_eq!(device.stats().hazards, 0);
        Ok(y)
    };
    let expected = run("host").expect("host runs");
    assert_eq!(run("sim:910b").expect("sim runs"), expected);
    assert_eq!(run("sim:910b3,issue=0").expect("sim runs"), expected);
}

#[test]
fn events_tell_computed_times_and_a_loop_that_asks_ends() -> Result<()> {
    let device = Device::open(CHIP)?;
    let _on = device.default_stream().enter();
    let x = square(4096)?;
    let (start, end) = (Event::with_timing(&device), Event::with_timing(&device));
    start.record(&Stream::current()?)?;
    x.matmul(&x)?;
    end.record(&Stream::current()?)?;
    let mut asked = 0;
    while !end.is_complete()? {
        asked += 1;
    }
    assert!(asked > 0);
    let ms = start.elapsed_ms(&end)?;
    assert!((0.3..1.0).contains(&ms), "a matmul of 4096 takes {ms} ms");
    assert!(device.now_ns() >= 300_000);
    Ok(())
}

#[test]
fn a_dry_device_has_no_values_and_no_memory() -> Result<()> {
    let device = Device::open("sim:910b,dry")?;
    let _on = device.default_stream().enter();
    // 3.6 GB a tensor, of 64 GiB.
    let x = Tensor::empty(&[1 << 18, 7168], DType::BF16)?;
    let y = x.add(&x)?;
    let error = y.to_vec::<bf16>().expect_err("there are no values").to_string();
    assert!(error.contains("the device `sim:910b,dry` is dry"), "{error}");
    device.synchronize()?;
    let full = (0..20).map(|_| Tensor::empty(&[1 << 18, 7168], DType::BF16)).collect::<Result<Vec<_>>>();
    assert!(matches!(full, Err(Error::OutOfMemory { .. })), "the chip's memory is the limit");
    Ok(())
}

/// What was measured comes before what is computed; between two numbers of cores it is interpolated.
#[test]
fn a_table_of_measured_times() {
    let path = std::env::temp_dir().join(format!("multicore-measured-{}.csv", std::process::id()));
    let shape = "\"4096,4096;4096,4096\"";
    let text = format!("operator,shape,cores,us\nMatMul,{shape},24,400\nMatMul,{shape},12,700\n");
    std::fs::write(&path, text).expect("the temporary folder takes a file");
    let spec = format!("{CHIP},costs={}", path.display());
    let records = profile(&spec, |device| {
        let x = square(4096)?;
        for cube in [24, 12, 16] {
            device.set_core_limit(CoreLimit::NONE.with_cube(cube))?;
            x.matmul(&x)?;
        }
        x.add(&x).map(drop)
    });
    std::fs::remove_file(&path).expect("it was written");
    let us: Vec<u64> = of(&records, "MatMul").iter().map(|r| r.duration_ns / 1000).collect();
    // 100 us + 7200 us / cores goes through both.
    assert_eq!(us, [400, 700, 550]);
    assert!(of(&records, "Add")[0].duration_ns > 10_000, "what is not in the table is computed");
}

/// Failures go where they go on `host`: dependents do not run, the rest does.
#[test]
fn a_kernel_that_fails() -> Result<()> {
    struct Fails;
    impl Kernel for Fails {
        fn name(&self) -> &'static str {
            "Fails"
        }
        fn kind(&self) -> CoreKind {
            CoreKind::Vector
        }
        fn tile(&self, _: &mut Tile<'_>) -> KernelResult {
            Err("on purpose".into())
        }
    }
    let device = Device::open("sim:910b")?;
    let _on = device.default_stream().enter();
    let mut x = Tensor::from_slice(&[1.0f32; 4], &[2, 2])?;
    let fine = x.add(&x)?;
    Launch::new(Fails).update(&mut x, [2, 2]).submit()?;
    let y = x.add(&x)?;
    let error = y.to_vec::<f32>().expect_err("it failed").to_string();
    assert!(error.contains("Fails") && error.contains("on purpose"), "{error}");
    assert_eq!(fine.to_vec::<f32>()?, [2.0; 4]);
    assert!(device.synchronize().is_err());
    x = Tensor::from_slice(&[2.0f32; 4], &[2, 2])?;
    assert_eq!(x.add(&x)?.to_vec::<f32>()?, [4.0; 4]);
    Ok(())
}

/// Work that is queued when the last handle goes is done all the same.
#[test]
fn callbacks_run_after_the_device_is_dropped() -> Result<()> {
    let (said, heard) = std::sync::mpsc::channel();
    {
        let device = Device::open("sim:910b")?;
        let stream = device.default_stream();
        stream.launch_host(move || {
            let _ = said.send(());
            Ok(())
        })?;
    }
    assert!(heard.recv_timeout(std::time::Duration::from_secs(60)).is_ok());
    Ok(())
}

/// The last handle may go inside a kernel, while the engine runs.
#[test]
fn a_kernel_that_drops_the_last_handle() -> Result<()> {
    struct Owner(std::sync::Mutex<Option<Tensor>>, std::sync::mpsc::Sender<()>);
    impl Kernel for Owner {
        fn name(&self) -> &'static str {
            "Owner"
        }
        fn kind(&self) -> CoreKind {
            CoreKind::Vector
        }
        fn tile(&self, _: &mut Tile<'_>) -> KernelResult {
            drop(self.0.lock().map_err(|_| "poisoned")?.take());
            let _ = self.1.send(());
            Ok(())
        }
    }
    let (said, heard) = std::sync::mpsc::channel();
    let host = Device::open("host")?;
    let waiting = host.new_stream()?;
    {
        let device = Device::open("sim:910b")?;
        let _on = device.default_stream().enter();
        let x = Tensor::from_slice(&[1.0f32; 4], &[2, 2])?;
        Launch::new(Owner(std::sync::Mutex::new(Some(x)), said)).submit()?;
        // The other device's stream brings this one forward after its handles are gone.
        waiting.wait(&Stream::current()?.record_event()?)?;
    }
    waiting.launch_host(|| Ok(()))?;
    waiting.synchronize()?;
    assert!(heard.recv_timeout(std::time::Duration::from_secs(60)).is_ok());
    Ok(())
}

/// Streams of two devices wait for each other, one in real and one in virtual time.
#[test]
fn two_kinds_of_devices_wait_for_each_other() -> Result<()> {
    let (sim, host) = (Device::open("sim:910b")?, Device::open("host")?);
    let order = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let note = |stream: &Stream, what: u32| {
        let order = order.clone();
        stream.launch_host(move || {
            order.lock().map_err(|_| "poisoned")?.push(what);
            Ok(())
        })
    };
    let (a, b) = (sim.new_stream()?, host.new_stream()?);
    for i in 0..10 {
        note(&a, 2 * i)?;
        b.wait(&a.record_event()?)?;
        note(&b, 2 * i + 1)?;
        a.wait(&b.record_event()?)?;
    }
    a.synchronize()?;
    assert_eq!(*order.lock().expect("nobody panicked"), (0..20).collect::<Vec<_>>());
    Ok(())
}
