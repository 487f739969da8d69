//! The same program twice: with events by hand, and with `#[multicore]`. A layer's two matrix products run beside the
//! shared expert of the layer, on three streams. Both make the same waits; one of them had to be told.

use multicore::prelude::*;

/// Forget one of the waits, and the numbers are wrong now and then; add one too many, and nothing overlaps.
/// (Here the runtime would notice: it orders what was forgotten and counts it as a hazard.)
fn by_hand(x: &Tensor, w: &Weights, streams: &Streams) -> Result<Tensor> {
    let main = Stream::current()?;
    let Streams { compute, vector, shared } = streams;

    let entry = main.record_event()?;
    compute.wait(&entry)?;
    shared.wait(&entry)?;

    let compute_on = compute.enter();
    let up = x.matmul(&w.up)?;
    let up_ready = compute.record_event()?;
    drop(compute_on);

    vector.wait(&up_ready)?;
    let vector_on = vector.enter();
    let activated = up.silu()?;
    let activated_ready = vector.record_event()?;
    drop(vector_on);

    let shared_on = shared.enter();
    let beside = x.matmul(&w.shared)?;
    let beside_ready = shared.record_event()?;
    drop(shared_on);

    compute.wait(&activated_ready)?;
    let compute_on = compute.enter();
    let down = activated.matmul(&w.down)?;
    compute.wait(&beside_ready)?;
    let out = down.add(&beside)?;
    drop(compute_on);

    main.wait_stream(compute)?;
    Ok(out)
}

#[multicore(streams(compute, vector, shared))]
fn by_macro(x: &Tensor, w: &Weights) -> Result<Tensor> {
    let up = stream!(compute, { x.matmul(&w.up)? });
    let activated = stream!(vector, { up.silu()? });
    let beside = stream!(shared, { x.matmul(&w.shared)? });
    stream!(compute, { activated.matmul(&w.down)?.add(&beside) })
}

struct Weights {
    up: Tensor,
    down: Tensor,
    shared: Tensor,
}

struct Streams {
    compute: Stream,
    vector: Stream,
    shared: Stream,
}

fn main() -> Result<()> {
    let device = Device::try_default()?;
    let matrix = |n: usize, m: usize| {
        let numbers: Vec<f32> = (0..n * m).map(|i| (i * 7 % 23) as f32 / 23.0 - 0.5).collect();
        Tensor::from_slice(&numbers, &[n, m])
    };
    let x = matrix(256, 512)?;
    let w = Weights { up: matrix(512, 1024)?, down: matrix(1024, 512)?, shared: matrix(512, 512)? };
    let streams = Streams { compute: device.new_stream()?, vector: device.new_stream()?, shared: device.new_stream()? };
    device.synchronize()?;

    let (hand, hand_stats) = counted(&device, || by_hand(&x, &w, &streams))?;
    let (generated, macro_stats) = counted(&device, || by_macro(&x, &w))?;

    println!("             launches  records  waits  hazards");
    for (name, [launches, records, waits, hazards]) in [("by hand", hand_stats), ("#[multicore]", macro_stats)] {
        println!("{name:<12} {launches:>8} {records:>8} {waits:>6} {hazards:>8}");
    }
    assert_eq!(hand, generated, "both compute the same");
    let ([launches, records, waits, hazards], [hand_launches, hand_records, hand_waits, _]) = (macro_stats, hand_stats);
    assert_eq!((launches, waits), (hand_launches, hand_waits), "the plan is the one a careful hand writes");
    // By hand, what `main` held at entry takes an event whether or not anything was there.
    assert!(records <= hand_records, "{records} records");
    assert_eq!(hazards, 0, "every order was planned");
    Ok(())
}

/// The result of `f`, and the launches, records, waits and hazards it took.
fn counted(device: &Device, f: impl FnOnce() -> Result<Tensor>) -> Result<(Vec<f32>, [u64; 4])> {
    let before = device.stats();
    let y = f()?;
    let after = device.stats();
    let counts = [
        after.launches - before.launches,
        after.records - before.records,
        after.waits - before.waits,
        after.hazards - before.hazards,
    ];
    Ok((y.to_vec()?, counts))
}
