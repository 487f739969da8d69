//! What a trace says of waits and records: all that were made and no others, who made them, for what, and when.

#![allow(deprecated, reason = "streams that only wait for each other are what is tested")]

mod common;

use std::collections::BTreeMap;

use common::*;
use multicore::prelude::*;
use multicore::timeline::{Origin, Site, Sync, SyncKind};
use multicore::{Plan, Trace, plan_of};

/// Runs `f` on a fresh device that is traced, with its default stream current.
fn traced(f: impl FnOnce(&Device) -> Result<()>) -> Result<(Device, Trace)> {
    let device = device();
    let on = device.default_stream().enter();
    device.set_tracing(true);
    f(&device)?;
    device.synchronize()?;
    drop(on);
    let trace = device.take_trace();
    check(&device, &trace);
    Ok((device, trace))
}

/// What holds for every trace of everything that a device did.
fn check(device: &Device, trace: &Trace) {
    let stats = device.stats();
    let of = |kind, origins: &[Origin]| {
        trace.syncs.iter().filter(|sync| sync.kind == kind && origins.contains(&sync.origin)).count() as u64
    };
    let all = [Origin::Plan, Origin::Hand, Origin::Hazard, Origin::Function, Origin::Memory];
    assert_eq!(trace.operators.len() as u64, stats.launches);
    assert_eq!(of(SyncKind::Wait, &all), stats.waits, "every wait that was made: {:#?}", trace.syncs);
    assert_eq!(trace.syncs.iter().filter(|sync| sync.origin == Origin::Hazard).count() as u64, 2 * stats.hazards);
    for wait in trace.syncs.iter().filter(|sync| sync.kind == SyncKind::Wait) {
        let record = record_of(trace, wait).unwrap_or_else(|| panic!("no record for {wait:#?}"));
        // A function's exit waits for what its plan has recorded, if nothing came after.
        let is_exit = (record.origin, wait.origin) == (Origin::Plan, Origin::Function);
        assert!(record.origin == wait.origin || is_exit, "{record:#?} {wait:#?}");
        assert!(record.start_ns <= wait.end_ns(), "{record:#?} {wait:#?}");
        // Everything on the stream lies before the wait or after its end.
        for operator in trace.operators.iter().filter(|operator| operator.stream_id == Some(wait.stream_id)) {
            assert!(
                operator.end_ns() <= wait.start_ns || wait.end_ns() <= operator.start_ns,
                "{operator:#?} {wait:#?}"
            );
        }
    }
}

fn record_of<'t>(trace: &'t Trace, wait: &Sync) -> Option<&'t Sync> {
    let event = wait.event?;
    trace.syncs.iter().find(|sync| sync.kind == SyncKind::Record && sync.event == Some(event))
}

fn waits(trace: &Trace, origin: Origin) -> Vec<&Sync> {
    trace.syncs.iter().filter(|sync| sync.kind == SyncKind::Wait && sync.origin == origin).collect()
}

fn site(sync: &Sync) -> &Site {
    sync.site.as_ref().expect("it stands in the source")
}

/// Each wait of a plan that was made: its number, and that of the record. What the sites say is what the plan says.
fn pairs(trace: &Trace, plan: &Plan) -> BTreeMap<(u32, u32), usize> {
    let mut pairs = BTreeMap::new();
    for wait in waits(trace, Origin::Plan).into_iter().filter(|wait| site(wait).function == plan.function) {
        let (at, from) = (site(wait), site(record_of(trace, wait).expect("checked")));
        let (planned, record) = (&plan.waits[at.index as usize], &plan.records[from.index as usize]);
        assert!(planned.records.contains(&from.index), "wait {} is not for record {}", at.index, from.index);
        assert_eq!((at.line, &*at.variables, &*at.file), (planned.line, planned.variable, plan.file));
        assert_eq!((from.line, &*from.variables), (record.line, &*record.variables.join(", ")));
        *pairs.entry((at.index, from.index)).or_default() += 1;
    }
    pairs
}

#[multicore(explain, streams(compute, vector, shared))]
fn layer(x: &Tensor) -> Result<Tensor> {
    let up = stream!(compute, { affine(x, 2.0)? });
    let activated = stream!(vector, { affine(&up, 3.0)? });
    let beside = stream!(shared, { affine(x, 4.0)? });
    stream!(compute, { combine(&activated, &combine(&beside, &up)?) })
}

#[test]
fn a_plan_and_the_function_around_it() -> Result<()> {
    let (device, trace) = traced(|_| {
        let x = affine(&tensor(&[1.0]), 1.0)?;
        layer(&x)?.to_vec::<f32>()?;
        Ok(())
    })?;
    let plan = plan_of!(layer);
    assert_eq!(plan.waits.len(), 3);
    assert_eq!(pairs(&trace, plan), BTreeMap::from([((0, 0), 1), ((1, 2), 1), ((2, 1), 1)]), "{plan}");
    let stream = |name| device.named_stream(name).map(|stream| stream.id());
    let planned = waits(&trace, Origin::Plan);
    let streams: Vec<_> = planned.iter().map(|wait| (&*site(wait).variables, wait.stream_id, wait.of_stream)).collect();
    assert!(streams.contains(&("up", stream("vector")?, Some(stream("compute")?))), "{streams:?}");
    assert!(streams.contains(&("beside", stream("compute")?, Some(stream("shared")?))), "{streams:?}");
    // The streams come after `main` at the entry, and `main` after the last of them at the exit.
    let around: Vec<_> = waits(&trace, Origin::Function).iter().map(|wait| (wait.stream_id, wait.of_stream)).collect();
    let main = device.default_stream().id();
    for expected in
        [(stream("compute")?, Some(main)), (stream("shared")?, Some(main)), (main, Some(stream("compute")?))]
    {
        assert!(around.contains(&expected), "{around:?}");
    }
    assert!(waits(&trace, Origin::Function).iter().all(|wait| site(wait).line == plan.line));
    Ok(())
}

#[test]
fn a_wait_lasts_until_its_record() -> Result<()> {
    let gate = Gate::new();
    #[multicore(streams(a, b))]
    fn behind(gate: &Gate, x: &Tensor) -> Result<Tensor> {
        let y = stream!(a, { gate.affine(x, 2.0)? });
        stream!(b, { affine(&y, 3.0) })
    }
    let (_, trace) = traced(|_| {
        let y = behind(&gate, &tensor(&[1.0]))?;
        gate.wait_reached();
        std::thread::sleep(A_WHILE);
        gate.open();
        y.to_vec::<f32>().map(drop)
    })?;
    let wait = waits(&trace, Origin::Plan)[0];
    let record = record_of(&trace, wait).expect("checked");
    assert!(wait.duration_ns >= A_WHILE.as_nanos() as u64 / 2, "{wait:#?}");
    assert_eq!(wait.end_ns(), record.start_ns, "it ends when the record is reached");
    assert_eq!(record.start_ns, trace.operators[0].end_ns(), "right behind the operator");
    Ok(())
}

#[test]
fn loops_containers_and_four_streams() -> Result<()> {
    #[multicore(explain)]
    fn slices(streams: &[Stream], x: &Tensor) -> Result<Tensor> {
        let mut outs = Vec::new();
        for i in 0..9usize {
            let up = stream!(&streams[i % 4], { affine(x, i as f32)? });
            let down = stream!(&streams[(i + 1) % 4], { affine(&up, 2.0)? });
            outs.push(down);
        }
        let mut sum = stream!(&streams[0], { affine(&outs[0], 1.0)? });
        for out in &outs {
            sum = stream!(&streams[0], { combine(&sum, out)? });
        }
        Ok(sum)
    }
    let (_, trace) = traced(|device| {
        let streams = (0..4).map(|_| device.new_stream()).collect::<Result<Vec<_>>>()?;
        slices(&streams, &affine(&tensor(&[1.0]), 1.0)?)?.to_vec::<f32>().map(drop)
    })?;
    let plan = plan_of!(slices);
    let pairs = pairs(&trace, plan);
    let up = plan.waits.iter().position(|wait| wait.variable == "up").expect("`down` waits for `up`") as u32;
    let of_up: usize = pairs.iter().filter(|((wait, _), _)| *wait == up).map(|(_, count)| count).sum();
    assert_eq!(of_up, 9, "one each time round: {pairs:?}\n{plan}");
    assert!(waits(&trace, Origin::Hazard).is_empty());
    Ok(())
}

#[test]
fn a_function_in_a_function() -> Result<()> {
    #[multicore(explain, streams(inner))]
    fn callee(x: &Tensor, y: &Tensor) -> Result<Tensor> {
        stream!(inner, { combine(x, y) })
    }
    #[multicore(explain, streams(a, b))]
    fn caller(x: &Tensor) -> Result<Tensor> {
        let y = stream!(a, { affine(x, 2.0)? });
        let z = stream!(b, { affine(x, 3.0)? });
        stream!(b, { callee(&y, &z) })
    }
    let (_, trace) = traced(|_| caller(&tensor(&[1.0]))?.to_vec::<f32>().map(drop))?;
    // What the callee launches waits for what the caller's plan says.
    assert_eq!(pairs(&trace, plan_of!(caller)).into_values().sum::<usize>(), 1, "{:#?}", trace.syncs);
    let functions: Vec<_> = waits(&trace, Origin::Function).iter().map(|wait| site(wait).function.clone()).collect();
    assert!(functions.contains(&"callee".into()) && functions.contains(&"caller".into()), "{functions:?}");
    Ok(())
}

#[test]
fn after_waits_for_more_than_data() -> Result<()> {
    #[multicore(explain)]
    fn f(a: &Stream, b: &Stream, x: &Tensor) -> Result<Tensor> {
        let y = stream!(a, { affine(x, 2.0)? });
        let z = stream!(b, after(y), { affine(x, 3.0)? });
        combine(&y, &z)
    }
    let (_, trace) = traced(|device| {
        let (a, b) = (device.new_stream()?, device.new_stream()?);
        f(&a, &b, &tensor(&[1.0]))?.to_vec::<f32>().map(drop)
    })?;
    let pairs = pairs(&trace, plan_of!(f));
    assert_eq!(pairs.get(&(0, 0)), Some(&1), "{pairs:?}");
    Ok(())
}

#[test]
fn by_hand_and_by_the_runtime() -> Result<()> {
    let lines = std::cell::Cell::new((0, 0));
    let (_, trace) = traced(|device| {
        let (a, b) = (device.new_stream()?, device.new_stream()?);
        let on = a.enter();
        let x = affine(&tensor(&[1.0]), 2.0)?;
        let event = a.record_event()?;
        lines.set((line!() - 1, line!() + 1));
        b.wait(&event)?;
        let on_b = b.enter();
        let y = affine(&x, 3.0)?;
        drop((on_b, on));
        // Nobody orders this one.
        let _on = a.enter();
        affine(&y, 4.0).map(drop)
    })?;
    let [by_hand] = waits(&trace, Origin::Hand)[..] else { panic!("{:#?}", trace.syncs) };
    let record = record_of(&trace, by_hand).expect("checked");
    assert_eq!((site(record).line, site(by_hand).line), lines.get());
    assert!(site(by_hand).file.ends_with("traces.rs") && site(by_hand).function.is_empty());
    let [hazard] = waits(&trace, Origin::Hazard)[..] else { panic!("{:#?}", trace.syncs) };
    assert_eq!((hazard.stream_id, hazard.of_stream), (by_hand.of_stream.expect("known"), Some(by_hand.stream_id)));
    Ok(())
}

#[test]
fn memory_that_is_used_again() -> Result<()> {
    let (_, trace) = traced(|device| {
        let (a, b) = (device.new_stream()?, device.new_stream()?);
        let gate = Gate::new();
        let on = a.enter();
        drop(gate.affine(&tensor(&[1.0; 1000]), 2.0)?);
        drop(on);
        let _on = b.enter();
        let y = Tensor::zeros(&[1000], DType::F32)?;
        gate.open();
        y.to_vec::<f32>().map(drop)
    })?;
    // The allocator may give other memory; if it gives this, the wait has its reason.
    assert!(waits(&trace, Origin::Hazard).is_empty() && waits(&trace, Origin::Hand).is_empty());
    Ok(())
}

#[test]
fn off_and_on_and_in_parts() -> Result<()> {
    let device = device();
    let _on = device.default_stream().enter();
    let x = affine(&tensor(&[1.0]), 1.0)?;
    layer(&x)?.to_vec::<f32>()?;
    assert!(device.take_trace().syncs.is_empty() && device.take_trace().operators.is_empty(), "off at first");

    // An event from before is waited for all the same.
    let event = device.named_stream("compute")?.record_event()?;
    device.set_tracing(true);
    let gate = Gate::new();
    let held = gate.affine(&x, 2.0)?;
    layer(&held)?;
    device.default_stream().wait(&event)?;
    let early = device.take_trace();
    assert!(waits(&early, Origin::Plan).is_empty(), "nothing of it is done: {early:#?}");
    gate.open();
    device.synchronize()?;
    let late = device.take_trace();
    assert_eq!(late.operators.len(), 1 + 4 + 1, "{late:#?}");
    assert_eq!(waits(&late, Origin::Plan).len(), 3);
    let again = device.take_trace();
    assert!(again.syncs.is_empty() && again.operators.is_empty(), "each thing once");

    device.set_tracing(false);
    layer(&x)?.to_vec::<f32>()?;
    assert!(device.take_trace().syncs.is_empty());
    Ok(())
}

#[test]
fn with_an_error_and_a_panic_in_the_middle() -> Result<()> {
    #[multicore(explain)]
    fn leaves(a: &Stream, b: &Stream, x: &Tensor, how: u32) -> Result<Tensor> {
        let y = stream!(a, { affine(x, 2.0)? });
        match how {
            0 => return Ok(y),
            1 => return Err(Error::ThreadEnding),
            2 => panic!("on purpose"),
            _ => {}
        }
        stream!(b, { affine(&y, 3.0) })
    }
    let (_, trace) = traced(|device| {
        let (a, b) = (device.new_stream()?, device.new_stream()?);
        let x = tensor(&[1.0]);
        for how in 0..4 {
            let left = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| leaves(&a, &b, &x, how)));
            assert_eq!(left.is_err(), how == 2);
        }
        affine(&x, 1.0).map(drop)
    })?;
    assert_eq!(pairs(&trace, plan_of!(leaves)), BTreeMap::from([((0, 0), 1)]));
    Ok(())
}
