//! Streams, events and what orders launches, with gates: order is proved, not timed.

mod common;

use common::*;
use multicore::prelude::*;
use multicore::{Conflict, Diagnostic};

#[test]
fn a_stream_is_first_in_first_out() -> Result<()> {
    let device = device();
    let _on = device.default_stream().enter();
    let mut x = tensor(&[1.0, 2.0]);
    for i in 0..100 {
        affine_(&mut x, if i % 2 == 0 { 2.0 } else { 0.5 })?;
    }
    let mut expected = [1.0f32, 2.0];
    for i in 0..100 {
        expected = expected.map(|v| v * if i % 2 == 0 { 2.0 } else { 0.5 } + 1.0);
    }
    assert_eq!(x.to_vec::<f32>()?, expected);
    assert_eq!(device.stats().hazards, 0);
    Ok(())
}

#[test]
fn streams_run_beside_each_other() -> Result<()> {
    let device = device();
    let (s1, s2) = (device.new_stream()?, device.new_stream()?);
    let _on = s1.enter();
    let x = tensor(&[1.0]);
    let gate = Gate::new();
    let slow = gate.affine(&x, 2.0)?;
    gate.wait_reached();
    let fast = {
        let _on = s2.enter();
        affine(&x, 3.0)?
    };
    assert_eq!(fast.to_vec::<f32>()?, [4.0], "s2 does not wait for the gated s1");
    assert!(!s1.is_complete()?);
    gate.open();
    assert_eq!(slow.to_vec::<f32>()?, [3.0]);
    assert!(s1.is_complete()?);
    Ok(())
}

#[test]
fn an_event_orders_what_comes_after_the_wait() -> Result<()> {
    let device = device();
    let (s1, s2) = (device.new_stream()?, device.new_stream()?);
    let x = {
        let _on = s1.enter();
        tensor(&[1.0])
    };
    let (first, second) = (Gate::new(), Gate::new());
    let _on = s1.enter();
    let a = first.affine(&x, 2.0)?;
    let event = s1.record_event()?;
    let later = second.affine(&x, 2.0)?;
    s2.wait(&event)?;
    let b = {
        let _on = s2.enter();
        affine(&a, 10.0)?
    };
    assert!(!event.is_complete()?);
    assert!(holds(|| !s2.is_complete().unwrap()), "s2 waits for the event");
    first.open();
    assert_eq!(b.to_vec::<f32>()?, [31.0], "s2 waits for the event, not for what came after it on s1");
    assert!(event.is_complete()?);
    assert!(!s1.is_complete()?);
    second.open();
    assert_eq!(later.to_vec::<f32>()?, [3.0]);
    assert_eq!(device.stats().hazards, 0);
    assert_eq!(device.stats().waits, 1);
    Ok(())
}

#[test]
fn a_wait_keeps_the_version_it_saw() -> Result<()> {
    let device = device();
    let (s1, s2) = (device.new_stream()?, device.new_stream()?);
    let _on = s1.enter();
    let x = tensor(&[1.0]);
    let (first, second) = (Gate::new(), Gate::new());
    let event = Event::new(&device);
    first.affine(&x, 1.0)?;
    event.record(&s1)?;
    s2.wait(&event)?;
    second.affine(&x, 1.0)?;
    event.record(&s1)?;
    let y = {
        let _on = s2.enter();
        affine(&x, 1.0)?
    };
    let waiter = std::thread::spawn({
        let s2 = s2.clone();
        move || s2.synchronize()
    });
    first.open();
    assert_eq!(y.to_vec::<f32>()?, [2.0]);
    waiter.join().unwrap()?;
    assert!(!event.is_complete()?, "the event has its second version now");
    second.open();
    event.synchronize()?;
    Ok(())
}

#[test]
fn one_record_has_any_number_of_waiters() -> Result<()> {
    let device = device();
    let main = device.new_stream()?;
    let _on = main.enter();
    let x = tensor(&[1.0]);
    let gate = Gate::new();
    let a = gate.affine(&x, 2.0)?;
    let event = main.record_event()?;
    let mut results = Vec::new();
    for i in 0..20 {
        let s = device.new_stream()?;
        s.wait(&event)?;
        let _on = s.enter();
        results.push(affine(&a, i as f32)?);
    }
    gate.open();
    for (i, y) in results.iter().enumerate() {
        assert_eq!(y.to_vec::<f32>()?, [3.0 * i as f32 + 1.0]);
    }
    assert_eq!((device.stats().hazards, device.stats().waits), (0, 20));
    Ok(())
}

#[test]
fn a_wait_that_another_implies_is_skipped() -> Result<()> {
    let device = device();
    let s: Vec<_> = (0..3).map(|_| device.new_stream()).collect::<Result<_>>()?;
    let _on = s[0].enter();
    let x = tensor(&[1.0]);
    let a = affine(&x, 2.0)?;
    s[1].wait_stream(&s[0])?;
    let b = {
        let _on = s[1].enter();
        affine(&a, 2.0)?
    };
    s[2].wait_stream(&s[1])?;
    s[2].wait_stream(&s[0])?; // implied through s[1]
    let c = {
        let _on = s[2].enter();
        combine(&a, &b)?
    };
    assert_eq!(c.to_vec::<f32>()?, [3.0 - 14.0]);
    let stats = device.stats();
    assert_eq!((stats.waits, stats.implied_waits, stats.hazards), (2, 1, 0));
    Ok(())
}

/// What is done to a tensor on one stream, then on another.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Touch {
    Read,
    Write,
    ReadWrite,
}

/// Each ordered pair of accesses over two streams, ordered by hand and forgotten.
#[test]
fn a_forgotten_wait_is_made_by_the_runtime_and_said() -> Result<()> {
    use Touch::*;
    for first in [Read, Write, ReadWrite] {
        for second in [Read, Write, ReadWrite] {
            for ordered in [true, false] {
                let device = device();
                let (s1, s2) = (device.new_stream()?, device.new_stream()?);
                let _on = s1.enter();
                let gate = Gate::new();
                let mut x = tensor(&[1.0, 2.0]);
                let y = tensor(&[5.0, 6.0]);
                let touch = |x: &mut Tensor, t: Touch, gate: Option<&Gate>| -> Result<Option<Tensor>> {
                    match (t, gate) {
                        (Read, Some(g)) => g.affine(x, 2.0).map(Some),
                        (Read, None) => affine(x, 2.0).map(Some),
                        (Write, g) => write_over(g, x, &y).map(|()| None),
                        (ReadWrite, Some(g)) => gated_affine_(g, x, 3.0).map(|()| None),
                        (ReadWrite, None) => affine_(x, 3.0).map(|()| None),
                    }
                };
                let r1 = touch(&mut x, first, Some(&gate))?;
                if ordered {
                    s2.wait_stream(&s1)?;
                }
                let r2 = {
                    let _on = s2.enter();
                    touch(&mut x, second, None)?
                };
                let conflict = first != Read || second != Read;
                let case = format!("{first:?} then {second:?}, ordered: {ordered}");
                if conflict {
                    assert!(holds(|| !s2.is_complete().unwrap()), "{case}: must wait");
                }
                gate.open();
                // What the same calls give one after another.
                let apply = |v: [f32; 2], t: Touch| match t {
                    Read => (v, Some(v.map(|v| v * 2.0 + 1.0))),
                    Write => ([5.0, 6.0], None),
                    ReadWrite => (v.map(|v| v * 3.0 + 1.0), None),
                };
                let (v, e1) = apply([1.0, 2.0], first);
                let (v, e2) = apply(v, second);
                for (r, e) in [(r1, e1), (r2, e2)] {
                    assert_eq!(r.map(|r| r.to_vec::<f32>()).transpose()?, e.map(|e| e.to_vec()), "{case}");
                }
                assert_eq!(x.to_vec::<f32>()?, v, "{case}");
                let expected = u64::from(conflict && !ordered);
                assert_eq!(device.stats().hazards, expected, "{case}");
                if expected == 1 {
                    let kind = match (first, second) {
                        (Read, _) => Conflict::WriteAfterRead,
                        (_, Read) => Conflict::ReadAfterWrite,
                        _ => Conflict::WriteAfterWrite,
                    };
                    let found = device.diagnostics();
                    let Diagnostic::Hazard(hazard) = found[0] else { panic!("{case}: {found:?}") };
                    assert_eq!(hazard.conflict, kind, "{case}");
                    assert_eq!((hazard.earlier.stream, hazard.later.stream), (s1.id(), s2.id()), "{case}");
                    assert!(
                        hazard.later.at.file().ends_with("streams.rs") || hazard.later.at.file().ends_with("mod.rs")
                    );
                }
            }
        }
    }
    Ok(())
}

/// Overwrites `x` with `y` without reading it.
fn write_over(gate: Option<&Gate>, x: &mut Tensor, y: &Tensor) -> Result<()> {
    struct Over;
    impl Kernel for Over {
        fn name(&self) -> &'static str {
            "Over"
        }
        fn kind(&self) -> CoreKind {
            CoreKind::Vector
        }
        fn tile(&self, tile: &mut Tile<'_>) -> KernelResult {
            let y = tile.input::<f32>(0)?;
            let mut x = tile.output::<f32>(0)?;
            let range = x.range();
            x.as_mut_slice()?.copy_from_slice(&y.as_slice()?[range]);
            Ok(())
        }
    }
    if let Some(gate) = gate {
        // In front of it on the same stream.
        gate.affine(y, 1.0)?;
    }
    Launch::new(Over).input(y).output(x, [1, usize::MAX]).submit()
}

#[test]
fn halves_of_a_tensor_do_not_conflict() -> Result<()> {
    let device = device();
    let (s1, s2) = (device.new_stream()?, device.new_stream()?);
    let _on = s1.enter();
    let mut x = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0], &[2, 2])?;
    let gate = Gate::new();
    let (mut low, mut high) = x.split_at_mut(1)?;
    gated_affine_(&gate, &mut low, 2.0)?;
    {
        let _on = s2.enter();
        affine_(&mut high, 10.0)?;
    }
    assert!(soon(|| s2.is_complete().unwrap()), "the second half does not wait for the first");
    gate.open();
    assert_eq!(x.to_vec::<f32>()?, [3.0, 5.0, 31.0, 41.0]);
    assert_eq!(device.stats().hazards, 0);
    Ok(())
}

#[test]
fn waiting_for_what_was_never_recorded_orders_nothing_and_is_said() -> Result<()> {
    let device = device();
    let s = device.new_stream()?;
    let event = Event::new(&device);
    s.wait(&event)?;
    event.synchronize()?;
    assert!(event.is_complete()?);
    s.wait_stream(&s)?;
    let said = device.diagnostics();
    assert!(matches!(said[0], Diagnostic::WaitForUnrecorded { .. }), "{said:?}");
    assert!(matches!(said[1], Diagnostic::WaitForItself { .. }), "{said:?}");
    assert!(said[0].to_string().contains("streams.rs"));
    Ok(())
}

#[test]
fn the_time_between_events() -> Result<()> {
    let device = device();
    let other = Device::open("host")?;
    let s = device.new_stream()?;
    let (start, end) = (Event::with_timing(&device), Event::with_timing(&device));
    assert!(matches!(start.elapsed_ms(&end), Err(Error::EventNotRecorded { which: "start" })));
    start.record(&s)?;
    assert!(matches!(
        start.elapsed_ms(&end),
        Err(Error::EventNotRecorded { which: "end" }) | Err(Error::EventNotComplete { .. })
    ));
    let gate = Gate::new();
    {
        let _on = s.enter();
        gate.affine(&tensor(&[1.0]), 1.0)?;
    }
    end.record(&s)?;
    start.synchronize()?;
    assert!(matches!(start.elapsed_ms(&end), Err(Error::EventNotComplete { which: "end" })));
    gate.open();
    end.synchronize()?;
    assert!(start.elapsed_ms(&end)? > 0.0);
    assert!(end.elapsed_ms(&start)? < 0.0);
    assert_eq!(start.elapsed_ms(&start)?, 0.0);
    let untimed = s.record_event()?;
    assert!(matches!(start.elapsed_ms(&untimed), Err(Error::EventTimingOff { which: "end" })));
    assert!(matches!(start.elapsed_ms(&Event::with_timing(&other)), Err(Error::DeviceMismatch { .. })));
    Ok(())
}

#[test]
fn events_across_devices() -> Result<()> {
    let (d1, d2) = (device(), device());
    let (s1, s2) = (d1.new_stream()?, d2.new_stream()?);
    let error = Event::new(&d1).record(&s2).unwrap_err().to_string();
    assert!(error.contains("the event") && error.contains("the stream"), "{error}");
    let gate = Gate::new();
    {
        let _on = s1.enter();
        gate.affine(&tensor(&[1.0]), 1.0)?;
    }
    let event = s1.record_event()?;
    s2.wait(&event)?;
    let y = {
        let _on = s2.enter();
        affine(&tensor(&[2.0]), 2.0)?
    };
    assert!(holds(|| !s2.is_complete().unwrap()));
    gate.open();
    assert_eq!(y.to_vec::<f32>()?, [5.0]);
    d2.synchronize()?;
    let mut x = {
        let _on = s1.enter();
        tensor(&[1.0])
    };
    let _on = s2.enter();
    let error = affine(&x, 1.0).unwrap_err().to_string();
    assert!(error.contains("operands of one launch"), "{error}");
    let error = affine_(&mut x, 1.0).unwrap_err().to_string();
    assert!(error.contains("its operands") && error.contains("the current stream"), "{error}");
    Ok(())
}

#[test]
fn a_host_function_is_in_stream_order() -> Result<()> {
    let device = device();
    let s = device.new_stream()?;
    let _on = s.enter();
    let gate = Gate::new();
    let x = gate.affine(&tensor(&[1.0]), 1.0)?;
    let (sender, receiver) = std::sync::mpsc::channel();
    let inner = device.clone();
    s.launch_host(move || {
        let refused = matches!(inner.synchronize(), Err(Error::CalledFromStream { .. }))
            && matches!(inner.default_stream().record_event(), Err(Error::CalledFromStream { .. }));
        sender.send(refused)?;
        Ok(())
    })?;
    assert!(receiver.recv_timeout(A_WHILE).is_err(), "it runs after the gated kernel");
    gate.open();
    assert!(receiver.recv().unwrap(), "blocking calls from inside are errors, not deadlocks");
    s.synchronize()?;
    s.launch_host(|| panic!("in a callback"))?;
    let error = s.synchronize().unwrap_err().to_string();
    assert!(
        error.contains("host function") && error.contains("in a callback") && error.contains("streams.rs"),
        "{error}"
    );
    s.synchronize()?;
    assert_eq!(x.to_vec::<f32>()?, [2.0]);
    Ok(())
}

#[test]
fn streams_run_out_and_come_back() -> Result<()> {
    let device = Device::open("host,streams=4,workers=1")?;
    let s: Vec<_> = (0..3).map(|_| device.new_stream()).collect::<Result<_>>()?;
    let error = device.new_stream().unwrap_err();
    assert!(matches!(error, Error::StreamsExhausted { in_use: 4, capacity: 4 }), "{error}");
    assert!(device.named_stream("x").is_err());
    let y = {
        let _on = s[1].enter();
        affine(&tensor(&[1.0]), 2.0)?
    };
    assert_eq!(y.to_vec::<f32>()?, [3.0], "earlier streams go on");
    drop(s);
    let named = device.named_stream("x")?;
    assert_eq!(named, device.named_stream("x")?);
    assert_ne!(named, device.new_stream()?);
    Ok(())
}

#[test]
fn handles_can_be_dropped_in_any_order_with_work_pending() -> Result<()> {
    for order in 0..6 {
        let device = device();
        let stream = device.new_stream()?;
        let gate = Gate::new();
        let on = stream.enter();
        let x = tensor(&[1.0]);
        let y = gate.affine(&x, 2.0)?;
        let event = stream.record_event()?;
        drop(on);
        let (sender, receiver) = std::sync::mpsc::channel();
        stream.launch_host(move || Ok(sender.send(())?))?;
        let mut things: Vec<Box<dyn std::any::Any>> = vec![Box::new(device), Box::new(stream), Box::new((x, y, event))];
        for i in [[0, 0, 0], [1, 0, 0], [2, 0, 0], [0, 1, 0], [1, 1, 0], [2, 1, 0]][order] {
            drop(things.remove(i));
        }
        gate.open();
        assert!(receiver.recv().is_ok(), "the work completes");
    }
    Ok(())
}

/// A host that waits helps, but only with what it waits for: here the next kernel needs the host to open its gate.
#[test]
fn a_waiting_host_runs_nothing_behind_what_it_waits_for() -> Result<()> {
    let device = Device::open("host,workers=2")?;
    let _on = device.default_stream().enter();
    let x = Tensor::from_slice(&[1.0f32; 64], &[64, 1])?;
    for _ in 0..300 {
        let gate = Gate::new();
        let y = affine(&x, 2.0)?; // 64 tiles that the host may share
        let z = gate.affine(&x, 3.0)?;
        assert_eq!(y.to_vec::<f32>()?, [3.0; 64]);
        gate.open();
        assert_eq!(z.to_vec::<f32>()?, [4.0; 64]);
    }
    Ok(())
}
