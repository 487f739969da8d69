//! The main job: a DeepSeek-V3-shaped MoE layer whose tokens are cut into slices, pipelined over three streams. Prints what
//! that gains over one block after another, and checks that both give the same to the last bit.
//!
//! Exit code 0: equal; 1: not equal; 2: could not run.
//!
//! | module | what |
//! |---|---|
//! | [`options`] | the command line |
//! | [`routing`] | a router histogram, and the gate's bias that follows it |
//! | [`layer`] | the layer: **the `#[multicore]` function to read** |
//! | [`model`] | layers one after another, with random weights |
//! | [`analysis`] | what a trace says about overlap |
//! | [`report`] | the figures, as text or JSON |

mod analysis;
mod layer;
mod model;
mod options;
mod report;
mod routing;

use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use multicore::prelude::*;
use multicore::timeline::write_folder;

use layer::Shape;
use model::Model;
use options::Options;
use report::{Figures, Times};

type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

/// True when both results are equal.
fn run(options: &Options) -> Result<bool, Failure> {
    let target = match &options.counts {
        Some(path) => Some(routing::read_counts(path, options.layer)?),
        None => None,
    };
    let experts = match (&target, options.experts) {
        (Some(target), Some(experts)) if target.len() != experts => {
            return Err(
                format!("--experts is {experts}, but --counts has {} columns: leave one out", target.len()).into()
            );
        }
        (Some(target), _) => target.len(),
        (None, experts) => experts.unwrap_or(64),
    };
    options.check(experts)?;
    let target = target.unwrap_or_else(|| routing::skewed(experts));
    let shape = Shape::new(options.hidden, options.inter, experts, options.top_k);

    let spec =
        options.device.clone().or_else(|| std::env::var("MULTICORE_DEVICE").ok()).unwrap_or_else(|| "host".into());
    let overlapped = Device::open(&spec)?;
    let serial = Device::open(&format!("{spec},serial"))?;

    let progress = progress_bar(options);
    progress.set_message("choosing the routing");
    let tokens: Vec<f32> = model::uniform(0).take(options.tokens * options.hidden).collect();
    let tokens = || Tensor::from_slice(&tokens, &[options.tokens, options.hidden]);
    let (x, (model, routed)) = on(&overlapped, || {
        let x = tokens()?;
        let model = Model::with_routing(shape, options.layers, &x, &target)?;
        Ok((x, model))
    })?;
    let (x_serial, model_serial) = on(&serial, || Ok((tokens()?, model.to_current_device()?)))?;
    progress.inc(1);

    // A pass, and how long it took in ms.
    let pass = |device: &Device, model: &Model, x: &Tensor| {
        on(device, || {
            let start = Instant::now();
            let y = model.forward(x, options.slices)?;
            device.synchronize()?;
            Ok((start.elapsed().as_secs_f64() * 1e3, y))
        })
    };

    // One pass each to warm up, which also gives the results to compare.
    progress.set_message("comparing");
    let (_, y_serial) = pass(&serial, &model_serial, &x_serial)?;
    let before = overlapped.stats();
    let (_, y) = pass(&overlapped, &model, &x)?;
    let counts = overlapped.stats();
    let equal_to_serial = bits(&y)? == bits(&y_serial)?;
    progress.inc(1);

    // By turns, so that whatever else the machine does meets both.
    progress.set_message("timing");
    let (mut serial_ms, mut multi_stream_ms) = (Vec::new(), Vec::new());
    for _ in 0..options.repeat {
        serial_ms.push(pass(&serial, &model_serial, &x_serial)?.0);
        multi_stream_ms.push(pass(&overlapped, &model, &x)?.0);
        progress.inc(1);
    }

    progress.set_message("tracing");
    overlapped.set_tracing(true);
    pass(&overlapped, &model, &x)?;
    let trace = overlapped.take_trace();
    if let Some(folder) = &options.trace {
        write_folder(folder, &trace.operators, &trace.syncs)?;
    }
    progress.finish_and_clear();

    let figures = Figures {
        device: spec,
        chip: overlapped.chip(),
        tokens: options.tokens,
        slices: options.slices,
        layers: options.layers,
        shape,
        times: Times::new(serial_ms, multi_stream_ms),
        launches: counts.launches - before.launches,
        records: counts.records - before.records,
        waits: counts.waits - before.waits,
        hazards: overlapped.stats().hazards + serial.stats().hazards,
        routing: report::Routing::new(&target, &routed),
        overlap: report::Overlap::new(&overlapped, &trace.operators)?,
        equal_to_serial,
    };
    if options.json {
        println!("{}", figures.json())
    } else {
        print!("{figures}")
    }
    if let (Some(folder), false) = (&options.trace, options.json) {
        println!("profile of one pass: {}", folder.display());
    }
    Ok(equal_to_serial)
}

/// Runs `f` with the default stream of `device` as the current one.
fn on<T>(device: &Device, f: impl FnOnce() -> Result<T>) -> Result<T> {
    let main = device.default_stream();
    let _on = main.enter();
    f()
}

/// The bits of every element: equal numbers are not enough.
fn bits(y: &Tensor) -> Result<Vec<u32>> {
    Ok(y.to_vec::<f32>()?.into_iter().map(f32::to_bits).collect())
}

/// A bar on a terminal (standard error), nothing elsewhere.
fn progress_bar(options: &Options) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg:22} {wide_bar} {pos}/{len}")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(options.repeat as u64 + 2).with_style(style)
}
