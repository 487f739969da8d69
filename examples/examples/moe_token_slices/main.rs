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
//! | [`schedules`] | the same layer under other schedules, on a modelled chip |
//! | [`report`] | the figures, as text or JSON |

mod analysis;
mod layer;
mod model;
mod options;
mod report;
mod routing;
mod schedules;

use std::process::ExitCode;

use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use multicore::prelude::*;
use multicore::timeline::write_folder;

use layer::{Shape, Split};
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
    let mut shape = Shape::new(options.hidden, options.inter, experts, options.top_k);
    shape.local = experts / options.ranks;

    let spec = device_spec(options);
    let overlapped = Device::open(&spec)?;
    let serial = Device::open(&format!("{spec},serial"))?;
    options.check_device(overlapped.is_dry())?;
    if options.schedules {
        schedules::compare(&spec, shape, options, &target)?;
        return Ok(true);
    }
    let split = Split::of(overlapped.chip());

    let progress = progress_bar(options);
    progress.set_message("choosing the routing");
    let tokens: Vec<f32> = if overlapped.is_dry() {
        Vec::new()
    } else {
        model::uniform(0).take(options.tokens * options.hidden).collect()
    };
    let sizes = [options.tokens, options.hidden];
    let tokens =
        || if overlapped.is_dry() { Tensor::empty(&sizes, DType::BF16) } else { Tensor::from_slice(&tokens, &sizes) };
    let (x, (model, routed)) = on(&overlapped, || {
        let x = tokens()?;
        let model = if overlapped.is_dry() {
            (Model::without_values(shape, options.layers, DType::BF16)?, vec![target.clone()])
        } else {
            Model::with_routing(shape, options.layers, &x, &target)?
        };
        Ok((x, model))
    })?;
    let (x_serial, model_serial) = on(&serial, || {
        let model = if overlapped.is_dry() {
            Model::without_values(shape, options.layers, DType::BF16)?
        } else {
            model.to_current_device()?
        };
        Ok((tokens()?, model))
    })?;
    progress.inc(1);

    // A pass, and how long it took in ms.
    let pass = |device: &Device, model: &Model, x: &Tensor, split: Split| {
        on(device, || {
            let start = device.now_ns();
            let y = model.forward(x, options.slices, split)?;
            device.synchronize()?;
            Ok(((device.now_ns() - start) as f64 * 1e-6, y))
        })
    };

    // One pass each to warm up, which also gives the results to compare.
    progress.set_message("comparing");
    let (_, y_serial) = pass(&serial, &model_serial, &x_serial, split)?;
    let before = overlapped.stats();
    let (_, y) = pass(&overlapped, &model, &x, split)?;
    let counts = overlapped.stats();
    let equal_to_serial = if overlapped.is_dry() { None } else { Some(bits(&y)? == bits(&y_serial)?) };
    progress.inc(1);

    // By turns, so that whatever else the machine does meets both.
    progress.set_message("timing");
    let (mut serial_ms, mut multi_stream_ms) = (Vec::new(), Vec::new());
    for _ in 0..options.repeat {
        serial_ms.push(pass(&serial, &model_serial, &x_serial, split)?.0);
        multi_stream_ms.push(pass(&overlapped, &model, &x, split)?.0);
        progress.inc(1);
    }

    progress.set_message("tracing");
    overlapped.set_tracing(true);
    pass(&overlapped, &model, &x, split)?;
    let trace = overlapped.take_trace();
    if let Some(folder) = &options.trace {
        write_folder(folder, &trace.operators, &trace.syncs)?;
    }
    // What each operator takes alone, on all cores.
    serial.set_tracing(true);
    pass(&serial, &model_serial, &x_serial, Split::none(serial.chip()))?;
    let lower_bound_ns = analysis::lower_bound_ns(&serial.take_trace().operators, options.slices);
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
        lower_bound_ms: lower_bound_ns as f64 * 1e-6,
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
    Ok(equal_to_serial != Some(false))
}

/// The device that was asked for; a modelled one knows how many share the experts.
fn device_spec(options: &Options) -> String {
    let asked = options.device.clone().or_else(|| std::env::var("MULTICORE_DEVICE").ok());
    let spec = asked.unwrap_or_else(|| "host".into());
    let is_modelled = spec.split([':', ',']).next() == Some("sim");
    if is_modelled && options.ranks > 1 { format!("{spec},ranks={}", options.ranks) } else { spec }
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
