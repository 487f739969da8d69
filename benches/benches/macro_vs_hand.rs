//! What generated code costs on the host, beside the same order written by hand: a pipeline of 12 blocks on three
//! streams (load, compute and store of four pieces), kernels that do next to nothing, time until the last launch is
//! enqueued.

use std::time::Instant;

use benches::{Report, median};
use multicore::prelude::*;

const RUNS: usize = 4001;

/// A kernel whose cost is that of its launch.
struct Copy;

impl Kernel for Copy {
    fn name(&self) -> &'static str {
        "Copy"
    }
    fn kind(&self) -> CoreKind {
        CoreKind::Vector
    }
    fn tile(&self, tile: &mut Tile<'_>) -> KernelResult {
        let x = tile.input::<f32>(0)?;
        tile.output::<f32>(0)?.as_mut_slice()?.copy_from_slice(x.as_slice()?);
        Ok(())
    }
}

fn step(x: &Tensor) -> Result<Tensor> {
    let mut y = Tensor::empty(x.shape(), x.dtype())?;
    Launch::new(Copy).input(x).output(&mut y, [1, 16]).submit()?;
    Ok(y)
}

#[multicore]
fn generated(x: &Tensor, [load, compute, store]: &[Stream; 3]) -> Result<[Tensor; 4]> {
    let a = stream!(load, { step(x)? });
    let a = stream!(compute, { step(&a)? });
    let a = stream!(store, { step(&a)? });
    let b = stream!(load, { step(x)? });
    let b = stream!(compute, { step(&b)? });
    let b = stream!(store, { step(&b)? });
    let c = stream!(load, { step(x)? });
    let c = stream!(compute, { step(&c)? });
    let c = stream!(store, { step(&c)? });
    let d = stream!(load, { step(x)? });
    let d = stream!(compute, { step(&d)? });
    let d = stream!(store, { step(&d)? });
    Ok([a, b, c, d])
}

fn by_hand(x: &Tensor, [load, compute, store]: &[Stream; 3]) -> Result<[Tensor; 4]> {
    fn on(stream: &Stream, x: &Tensor) -> Result<Tensor> {
        let _on = stream.enter();
        step(x)
    }
    let main = Stream::current()?;
    load.wait(&main.record_event()?)?;
    let piece = || {
        let loaded = on(load, x)?;
        compute.wait(&load.record_event()?)?;
        let computed = on(compute, &loaded)?;
        store.wait(&compute.record_event()?)?;
        on(store, &computed)
    };
    let pieces = [piece()?, piece()?, piece()?, piece()?];
    main.wait(&store.record_event()?)?;
    Ok(pieces)
}

fn main() -> Result<()> {
    let mut report = Report::from_args();
    let device = Device::open("host,workers=1")?;
    let main = device.default_stream();
    let _on = main.enter();
    let streams = [device.new_stream()?, device.new_stream()?, device.new_stream()?];
    let x = Tensor::from_slice(&[1.0f32; 16], &[1, 16])?;

    type Pipeline = fn(&Tensor, &[Stream; 3]) -> Result<[Tensor; 4]>;
    let mut measured =
        [("generated", generated as Pipeline), ("by_hand", by_hand)].map(|(n, f)| (n, f, Vec::new(), [0; 3]));
    for run in 0..2 * RUNS {
        let (_, pipeline, times, counts) = &mut measured[run % 2];
        let before = device.stats();
        let start = Instant::now();
        let pieces = pipeline(&x, &streams)?;
        times.push(start.elapsed().as_secs_f64() * 1e6);
        device.synchronize()?;
        drop(pieces);
        let after = device.stats();
        *counts = [after.records - before.records, after.waits - before.waits, after.hazards - before.hazards];
    }
    let [generated, by_hand] = measured.map(|(name, _, times, counts)| {
        let us = median(times);
        let [records, waits, hazards] = counts;
        report.figure(
            &format!("{name}_us"),
            us,
            format_args!("{name:<10} {us:6.2} us, {records} records, {waits} waits, {hazards} hazards"),
        );
        for (key, count) in ["records", "waits", "hazards"].into_iter().zip(counts) {
            report.count(&format!("{name}_{key}"), count);
        }
        (us, counts)
    });
    let ratio = generated.0 / by_hand.0;
    report.figure("ratio", ratio, format_args!("generated / by hand {ratio:.3}"));
    report.finish();
    let (ours, hand) = (generated.1, by_hand.1);
    assert!(ours[0] <= hand[0] && ours[1] <= hand[1], "no more records and waits than by hand");
    assert_eq!(ours[2], 0, "every order was planned");
    Ok(())
}
