//! `#[multicore]` functions on the embedded device, with gates: what must wait waits, and what need not does not.
//!
//! In every test the runtime must find nothing to put right: the plan alone orders what conflicts.

mod common;

use common::*;
use multicore::prelude::*;

/// Runs a test on a fresh device, with its default stream current, and checks that the plan left no hazard.
fn on_device(test: impl FnOnce(&Device) -> Result<()>) {
    let device = device();
    let on = device.default_stream().enter();
    test(&device).expect("the test's own calls succeed");
    device.synchronize().expect("nothing fails on the device");
    assert_eq!(device.diagnostics(), [], "the plan orders everything");
    assert_eq!(device.stats().hazards, 0);
    drop(on);
}

#[track_caller]
fn assert_waits(stream: &Stream) {
    assert!(holds(|| !stream.is_complete().unwrap()), "stream {} must wait", stream.id());
}

#[track_caller]
fn assert_runs(stream: &Stream) {
    assert!(soon(|| stream.is_complete().unwrap()), "stream {} must not wait", stream.id());
}

mod order {
    use super::*;

    // Each ordered pair of accesses over two streams: the first behind a gate, the second must wait, and the values tell.

    fn read(x: &Tensor, gate: Option<&Gate>) -> Result<Option<Tensor>> {
        gate.map_or_else(|| affine(x, 3.0), |gate| gate.affine(x, 3.0)).map(Some)
    }

    /// Overwrites without reading, behind the gate if there is one.
    fn write(x: &mut Tensor, gate: Option<&Gate>) -> Result<Option<Tensor>> {
        overwrite(gate, x, 7.0).map(|()| None)
    }

    fn update(x: &mut Tensor, gate: Option<&Gate>) -> Result<Option<Tensor>> {
        match gate {
            Some(gate) => gated_affine_(gate, x, 5.0)?,
            None => affine_(x, 5.0)?,
        }
        Ok(None)
    }

    type Pair = fn(&Stream, &Stream, &mut Tensor, &Gate) -> Result<(Option<Tensor>, Option<Tensor>)>;

    macro_rules! pairs {
        ($($name:ident: $first:ident($($mut1:tt)*) then $second:ident($($mut2:tt)*);)*) => {
            $(
                #[multicore]
                fn $name(a: &Stream, b: &Stream, x: &mut Tensor, gate: &Gate) -> Result<(Option<Tensor>, Option<Tensor>)> {
                    let r = stream!(a, { $first($($mut1)* *x, Some(gate))? });
                    let s = stream!(b, { $second($($mut2)* *x, None)? });
                    Ok((r, s))
                }
            )*
            const PAIRS: &[(&str, &str, Pair)] = &[$((stringify!($first), stringify!($second), $name)),*];
        };
    }

    pairs! {
        rr: read(&) then read(&);
        rw: read(&) then write(&mut);
        ru: read(&) then update(&mut);
        wr: write(&mut) then read(&);
        ww: write(&mut) then write(&mut);
        wu: write(&mut) then update(&mut);
        ur: update(&mut) then read(&);
        uw: update(&mut) then write(&mut);
        uu: update(&mut) then update(&mut);
    }

    #[test]
    fn all_nine_pairs_of_read_write_and_update() {
        let apply = |x: f32, what: &str| match what {
            "read" => (x, Some(vec![x * 3.0 + 1.0])),
            "write" => (7.0, None),
            _ => (x * 5.0 + 1.0, None),
        };
        for (first, second, pair) in PAIRS {
            on_device(|device| {
                let (a, b) = (device.new_stream()?, device.new_stream()?);
                let gate = Gate::new();
                let mut x = tensor(&[2.0]);
                let (r, s) = pair(&a, &b, &mut x, &gate)?;
                match (*first, *second) {
                    ("read", "read") => assert_runs(&b),
                    _ => assert_waits(&b),
                }
                gate.open();
                let (value, expected_r) = apply(2.0, first);
                let (value, expected_s) = apply(value, second);
                let values = |t: Option<Tensor>| t.map(|t| t.to_vec::<f32>()).transpose();
                assert_eq!((values(r)?, values(s)?), (expected_r, expected_s), "{first} then {second}");
                assert_eq!(x.to_vec::<f32>()?, [value], "{first} then {second}");
                Ok(())
            });
        }
    }

    #[multicore]
    fn made_and_used(a: &Stream, b: &Stream, x: &Tensor, gate: &Gate) -> Result<Tensor> {
        let y = stream!(a, { gate.affine(x, 2.0)? });
        let z = stream!(b, { affine(&y, 10.0)? });
        Ok(z)
    }

    #[test]
    fn a_use_waits_for_the_value() {
        on_device(|device| {
            let (a, b) = (device.new_stream()?, device.new_stream()?);
            let gate = Gate::new();
            let z = made_and_used(&a, &b, &tensor(&[1.0]), &gate)?;
            assert_waits(&b);
            gate.open();
            assert_eq!(z.to_vec::<f32>()?, [31.0]);
            Ok(())
        });
    }

    #[multicore]
    fn shared(a: &Stream, b: &Stream, x: &mut Tensor, gate: &Gate, reshape: bool) -> Result<Tensor> {
        let y = if reshape { x.reshape(&[1, 1])? } else { x.clone() };
        let r = stream!(b, { gate.affine(&y, 2.0)? });
        drop(y);
        stream!(a, { affine_(x, 3.0)? }); // in the memory that `b` still reads
        Ok(r)
    }

    #[test]
    fn a_write_waits_for_what_reads_the_same_memory_under_another_name() {
        for reshape in [false, true] {
            on_device(|device| {
                let (a, b) = (device.new_stream()?, device.new_stream()?);
                let gate = Gate::new();
                let mut x = tensor(&[1.0]);
                let r = shared(&a, &b, &mut x, &gate, reshape)?;
                assert_waits(&a);
                gate.open();
                assert_eq!((r.to_vec::<f32>()?, x.to_vec::<f32>()?), (vec![3.0], vec![4.0]));
                Ok(())
            });
        }
    }

    #[multicore]
    fn overwritten(a: &Stream, b: &Stream, x: &Tensor, gate: &Gate) -> Result<(Tensor, Tensor)> {
        let mut y = stream!(a, { affine(x, 2.0)? });
        let r = stream!(b, { gate.affine(&y, 2.0)? });
        stream!(a, { y = affine(x, 5.0)? });
        let s = stream!(b, { affine(&y, 1.0)? });
        Ok((r, s))
    }

    #[test]
    fn an_assignment_makes_a_new_value() {
        on_device(|device| {
            let (a, b) = (device.new_stream()?, device.new_stream()?);
            let gate = Gate::new();
            let (r, s) = overwritten(&a, &b, &tensor(&[1.0]), &gate)?;
            gate.open();
            assert_eq!((r.to_vec::<f32>()?, s.to_vec::<f32>()?), (vec![7.0], vec![7.0]));
            Ok(())
        });
    }

    #[multicore]
    fn chain(s: &[Stream; 3], x: &Tensor, gate: &Gate) -> Result<Tensor> {
        let (s0, s1, s2) = (&s[0], &s[1], &s[2]);
        let a = stream!(s0, { gate.affine(x, 2.0)? });
        let b = stream!(s1, { affine(&a, 2.0)? });
        let c = stream!(s2, { combine(&a, &b)? }); // a's event is implied by b's
        Ok(c)
    }

    #[test]
    fn a_chain_over_three_streams_has_two_waits() {
        on_device(|device| {
            let s = [device.new_stream()?, device.new_stream()?, device.new_stream()?];
            let gate = Gate::new();
            let before = device.stats();
            let c = chain(&s, &tensor(&[1.0]), &gate)?;
            let after = device.stats();
            assert_waits(&s[2]);
            gate.open();
            assert_eq!(c.to_vec::<f32>()?, [3.0 - 14.0]);
            // Two in the plan; one at the exit, which implies those for the other two streams or is implied by none.
            assert!(after.waits - before.waits <= 5, "{before:?} {after:?}");
            Ok(())
        });
    }

    #[multicore]
    fn iterations(a: &Stream, b: &Stream, x: &mut Tensor, n: usize) -> Result<Vec<Tensor>> {
        let mut seen = Vec::new();
        for i in 0..n {
            stream!(a, { affine_(x, i as f32)? });
            let y = stream!(b, { affine(x, 2.0)? }); // the next iteration's write waits for this read
            seen.push(y);
        }
        Ok(seen)
    }

    #[test]
    fn order_is_kept_across_iterations() {
        for n in [0, 1, 2, 20] {
            on_device(|device| {
                let (a, b) = (device.new_stream()?, device.new_stream()?);
                let mut x = tensor(&[1.0]);
                let seen = iterations(&a, &b, &mut x, n)?;
                let mut v = 1.0f32;
                for (i, y) in seen.iter().enumerate() {
                    v = v * i as f32 + 1.0;
                    assert_eq!(y.to_vec::<f32>()?, [v * 2.0 + 1.0], "iteration {i} of {n}");
                }
                Ok(())
            });
        }
    }

    #[multicore]
    fn branches(a: &Stream, b: &Stream, x: &Tensor, which: Option<bool>, gate: &Gate) -> Result<Tensor> {
        let mut y = stream!(a, { affine(x, 1.0)? });
        match which {
            Some(true) => stream!(a, { y = gate.affine(&y, 2.0)? }),
            Some(false) => stream!(b, { y = gate.affine(&y, 3.0)? }),
            None => {}
        }
        Ok(stream!(b, { affine(&y, 10.0)? }))
    }

    #[test]
    fn a_use_waits_for_whichever_arm_ran() {
        for (which, expected) in [(Some(true), 51.0), (Some(false), 71.0), (None, 21.0)] {
            on_device(|device| {
                let (a, b) = (device.new_stream()?, device.new_stream()?);
                let gate = Gate::new();
                let z = branches(&a, &b, &tensor(&[1.0]), which, &gate)?;
                if which.is_some() {
                    assert_waits(&b);
                }
                gate.open();
                assert_eq!(z.to_vec::<f32>()?, [expected]);
                Ok(())
            });
        }
    }

    #[multicore]
    fn entry(a: &Stream, x: &Tensor) -> Result<Tensor> {
        Ok(stream!(a, { affine(x, 2.0)? }))
    }

    #[test]
    fn the_first_work_of_a_stream_comes_after_what_main_held() {
        on_device(|device| {
            let a = device.new_stream()?;
            let gate = Gate::new();
            let x = tensor(&[1.0]);
            gate.affine(&x, 1.0)?;
            let y = entry(&a, &x)?;
            assert_waits(&a);
            gate.open();
            assert_eq!(y.to_vec::<f32>()?, [3.0]);
            Ok(())
        });
    }
}

mod concurrency {
    use super::*;

    #[multicore]
    fn slices(streams: &[Stream], x: &Tensor, gates: &[Gate]) -> Result<Vec<Tensor>> {
        let mut outs = Vec::new();
        for (i, gate) in gates.iter().enumerate() {
            let y = stream!(&streams[i % 4], { gate.affine(x, i as f32)? });
            outs.push(y);
        }
        Ok(outs)
    }

    #[test]
    fn slices_of_a_loop_that_are_pushed_into_one_vector_run_at_once() {
        on_device(|device| {
            let streams: Vec<_> = (0..4).map(|_| device.new_stream()).collect::<Result<_>>()?;
            let gates: Vec<_> = (0..4).map(|_| Gate::new()).collect();
            let outs = slices(&streams, &tensor(&[1.0]), &gates)?;
            gates.iter().for_each(Gate::wait_reached);
            gates.iter().rev().for_each(Gate::open);
            for (i, y) in outs.iter().enumerate() {
                assert_eq!(y.to_vec::<f32>()?, [i as f32 + 1.0]);
            }
            Ok(())
        });
    }

    #[multicore]
    fn readers(a: &Stream, b: &Stream, x: &Tensor, w: &Tensor, gate: &Gate) -> Result<(Tensor, Tensor)> {
        let p = stream!(a, {
            let t = gate.affine(w, 1.0)?;
            combine(x, &t)?
        });
        let q = stream!(b, { combine(x, w)? });
        Ok((p, q))
    }

    #[test]
    fn two_readers_of_one_weight_do_not_wait_for_each_other() {
        on_device(|device| {
            let (a, b) = (device.new_stream()?, device.new_stream()?);
            let gate = Gate::new();
            let (p, q) = readers(&a, &b, &tensor(&[1.0]), &tensor(&[2.0]), &gate)?;
            assert_runs(&b);
            gate.open();
            assert_eq!((p.to_vec::<f32>()?, q.to_vec::<f32>()?), (vec![-5.0], vec![-3.0]));
            Ok(())
        });
    }

    #[multicore]
    fn halves(a: &Stream, b: &Stream, x: &mut Tensor, gate: &Gate) -> Result<()> {
        let (mut low, mut high) = x.split_at_mut(1)?;
        stream!(a, { gated_affine_(gate, &mut low, 2.0)? });
        stream!(b, { affine_(&mut high, 10.0)? });
        Ok(())
    }

    #[test]
    fn the_halves_of_split_at_mut_are_written_at_once() {
        on_device(|device| {
            let (a, b) = (device.new_stream()?, device.new_stream()?);
            let gate = Gate::new();
            let mut x = Tensor::from_slice(&[1.0f32, 2.0], &[2, 1])?;
            halves(&a, &b, &mut x, &gate)?;
            assert_runs(&b);
            assert!(!a.is_complete()?);
            gate.open();
            assert_eq!(x.to_vec::<f32>()?, [3.0, 21.0]);
            Ok(())
        });
    }

    trait Steps {
        fn plus(&self, other: &Tensor) -> Result<Tensor>;
    }

    impl Steps for Tensor {
        fn plus(&self, other: &Tensor) -> Result<Tensor> {
            combine(self, other)
        }
    }

    #[multicore]
    fn late_use(a: &Stream, b: &Stream, x: &Tensor, late: &Gate, early: &Gate) -> Result<Tensor> {
        let y = stream!(a, { late.affine(x, 2.0)? });
        let z = stream!(b, { early.affine(x, 10.0)?.plus(&y)? });
        Ok(z)
    }

    #[test]
    fn the_first_call_of_a_statement_does_not_wait_for_the_operand_of_the_second() {
        on_device(|device| {
            let (a, b) = (device.new_stream()?, device.new_stream()?);
            let (late, early) = (Gate::new(), Gate::new());
            let z = late_use(&a, &b, &tensor(&[1.0]), &late, &early)?;
            early.wait_reached();
            early.open();
            assert_waits(&b);
            late.open();
            assert_eq!(z.to_vec::<f32>()?, [11.0 - 6.0]);
            Ok(())
        });
    }

    #[multicore]
    fn arms(a: &Stream, b: &Stream, x: &Tensor, gate: &Gate, which: bool) -> Result<(Tensor, Tensor)> {
        let y = stream!(a, { gate.affine(x, 2.0)? });
        let z = match which {
            true => stream!(b, { affine(&y, 2.0)? }),
            false => stream!(b, { affine(x, 3.0)? }),
        };
        Ok((y, z))
    }

    #[test]
    fn an_arm_does_not_wait_for_what_only_the_other_arm_uses() {
        on_device(|device| {
            let (a, b) = (device.new_stream()?, device.new_stream()?);
            let gate = Gate::new();
            let (y, z) = arms(&a, &b, &tensor(&[1.0]), &gate, false)?;
            assert_runs(&b);
            gate.open();
            assert_eq!((y.to_vec::<f32>()?, z.to_vec::<f32>()?), (vec![3.0], vec![4.0]));
            let gate = Gate::new();
            let (_, z) = arms(&a, &b, &tensor(&[1.0]), &gate, true)?;
            assert_waits(&b);
            gate.open();
            assert_eq!(z.to_vec::<f32>()?, [7.0]);
            Ok(())
        });
    }

    #[multicore]
    fn host_only(a: &Stream, b: &Stream, x: &Tensor, gate: &Gate) -> Result<(Tensor, usize)> {
        let y = stream!(a, { gate.affine(x, 2.0)? });
        let (z, n) = stream!(b, {
            let n = y.numel();
            (affine(x, n as f32)?, n)
        });
        let mut all = vec![z];
        all.push(y);
        Ok((all.swap_remove(0), n))
    }

    #[test]
    fn a_use_on_the_host_alone_waits_for_nothing() {
        on_device(|device| {
            let (a, b) = (device.new_stream()?, device.new_stream()?);
            let gate = Gate::new();
            let (z, n) = host_only(&a, &b, &tensor(&[1.0, 2.0]), &gate)?;
            assert_runs(&b);
            assert_eq!((z.to_vec::<f32>()?, n), (vec![3.0, 5.0], 2));
            gate.open();
            Ok(())
        });
    }
}

mod exits {
    use super::*;

    #[derive(Clone, Copy, PartialEq, Debug)]
    enum Exit {
        End,
        Return,
        Question,
        Break,
        Panic,
    }

    #[multicore]
    fn leave(a: &Stream, x: &Tensor, gate: &Gate, exit: Exit) -> Result<Option<Tensor>> {
        for i in 0..2 {
            stream!(a, cores(vector = 3), {
                gate.affine(x, 2.0)?;
                match exit {
                    Exit::End => {}
                    Exit::Return => return Ok(None),
                    Exit::Question => {
                        Tensor::from_slice(&[1.0f32], &[2])?;
                    }
                    Exit::Break if i == 0 => break,
                    Exit::Break => {}
                    Exit::Panic => panic!("on purpose"),
                }
            });
        }
        Ok(None)
    }

    /// However the function is left, main comes after all its work, and the current stream and limits are as before.
    #[test]
    fn every_exit_joins_and_restores() {
        for exit in [Exit::End, Exit::Return, Exit::Question, Exit::Break, Exit::Panic] {
            on_device(|device| {
                let (main, a) = (device.default_stream(), device.new_stream()?);
                let x = tensor(&[1.0]);
                let gate = Gate::new();
                let left = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| leave(&a, &x, &gate, exit)));
                assert_eq!(left.is_err(), exit == Exit::Panic);
                assert_eq!(matches!(left, Ok(Err(_))), exit == Exit::Question);
                assert_eq!(Stream::current()?, main);
                assert_eq!(a.core_limit().vector, 48);
                let after = affine(&x, 1.0)?;
                assert_waits(&main);
                gate.open();
                assert_eq!(after.to_vec::<f32>()?, [2.0]);
                // Unset is restored as unset: the stream follows the device.
                device.set_core_limit(CoreLimit::NONE.with_vector(5))?;
                assert_eq!(a.core_limit().vector, 5);
                Ok(())
            });
        }
    }

    #[multicore]
    fn limits(a: &Stream, seen: &mut Vec<(u32, u32)>) -> Result<()> {
        let mut note = |s: &Stream| {
            let c = s.core_limit();
            seen.push((c.cube, c.vector));
        };
        note(a);
        stream!(a, cores(cube = 3), {
            note(a);
            stream!(a, cores(vector = 8), { note(a) });
            note(a);
            stream!(main, cores(cube = 1), { note(a) });
            note(a);
        });
        note(a);
        Ok(())
    }

    #[test]
    fn a_nested_block_limits_further_and_the_end_gives_back() {
        on_device(|device| {
            let a = device.new_stream()?;
            let mut seen = Vec::new();
            limits(&a, &mut seen)?;
            assert_eq!(seen, [(24, 48), (3, 48), (3, 8), (3, 48), (3, 48), (3, 48), (24, 48)]);
            Ok(())
        });
    }

    #[multicore]
    fn bad_limit(a: &Stream, cube: u32) -> Result<()> {
        stream!(a, cores(cube = cube), {});
        Ok(())
    }

    #[test]
    fn a_limit_out_of_range_is_an_error() {
        on_device(|device| {
            let a = device.new_stream()?;
            bad_limit(&a, 24)?;
            for cube in [0, 25] {
                assert!(matches!(bad_limit(&a, cube), Err(Error::CoreLimit { available: 24, .. })));
            }
            Ok(())
        });
    }
}

mod functions {
    use super::*;

    #[multicore]
    fn inner(b: &Stream, x: &Tensor, gate: &Gate) -> Result<Tensor> {
        let y = affine(x, 2.0)?;
        Ok(stream!(b, { gate.affine(&y, 10.0)? }))
    }

    #[multicore]
    fn outer(a: &Stream, b: &Stream, c: &Stream, x: &Tensor, gate: &Gate) -> Result<(Tensor, Tensor)> {
        let y = stream!(a, { inner(b, x, gate)? });
        let beside = stream!(c, { affine(x, 5.0)? });
        let z = stream!(c, { combine(&y, &beside)? });
        Ok((z, beside))
    }

    #[test]
    fn a_function_called_in_a_block_looks_as_if_all_its_work_ran_there() {
        on_device(|device| {
            let (a, b, c) = (device.new_stream()?, device.new_stream()?, device.new_stream()?);
            let gate = Gate::new();
            let (z, beside) = outer(&a, &b, &c, &tensor(&[1.0]), &gate)?;
            assert_eq!(beside.to_vec::<f32>()?, [6.0], "what does not use it goes on");
            assert_waits(&c);
            gate.open();
            assert_eq!(z.to_vec::<f32>()?, [31.0 - 12.0]);
            Ok(())
        });
    }

    #[multicore(streams(left, right))]
    fn tree(x: &Tensor, depth: usize) -> Result<Tensor> {
        if depth == 0 {
            return affine(x, 2.0);
        }
        let l = stream!(left, { tree(x, depth - 1)? });
        let r = stream!(right, { tree(&l, depth - 1)? });
        stream!(left, { combine(&l, &r) })
    }

    fn tree_by_hand(x: f32, depth: usize) -> f32 {
        if depth == 0 {
            return x * 2.0 + 1.0;
        }
        let l = tree_by_hand(x, depth - 1);
        l - 2.0 * tree_by_hand(l, depth - 1)
    }

    #[test]
    fn recursion() {
        on_device(|_| {
            assert_eq!(tree(&tensor(&[1.0]), 6)?.to_vec::<f32>()?, [tree_by_hand(1.0, 6)]);
            Ok(())
        });
    }

    struct Layer {
        side: Stream,
        k: Tensor,
        v: Tensor,
    }

    impl Layer {
        #[multicore]
        fn step(&mut self, main: &Stream, gate: &Gate) -> Result<Tensor> {
            stream!(self.side, { gated_affine_(gate, &mut self.k, 2.0)? });
            stream!(main, { affine_(&mut self.v, 3.0)? });
            let r = stream!(main, { affine(&self.v, 1.0)? });
            stream!(self.side, { combine(&self.k, &r) })
        }
    }

    #[test]
    fn a_method_whose_fields_are_places_of_their_own() {
        on_device(|device| {
            let other = device.new_stream()?;
            let mut layer = Layer { side: device.new_stream()?, k: tensor(&[1.0]), v: tensor(&[2.0]) };
            let gate = Gate::new();
            let out = layer.step(&other, &gate)?;
            assert_runs(&other);
            gate.open();
            assert_eq!(out.to_vec::<f32>()?, [3.0 - 16.0]);
            Ok(())
        });
    }

    #[multicore(serial)]
    fn serial(a: &Stream, x: &Tensor) -> Result<Tensor> {
        let y = stream!(a, { affine(x, 2.0)? });
        affine(&y, 3.0)
    }

    #[test]
    fn serial_runs_every_block_on_main() -> Result<()> {
        on_device(|device| {
            let a = device.new_stream()?;
            device.set_tracing(true);
            assert_eq!(serial(&a, &tensor(&[1.0]))?.to_vec::<f32>()?, [10.0]);
            assert!(device.take_trace().iter().all(|r| r.stream_id == Some(0)));
            Ok(())
        });
        let device = Device::open("host,serial,workers=2")?;
        let _on = device.default_stream().enter();
        device.set_tracing(true);
        assert_eq!(tree(&tensor(&[1.0]), 3)?.to_vec::<f32>()?, [tree_by_hand(1.0, 3)]);
        assert!(device.take_trace().iter().all(|r| r.stream_id == Some(0)));
        assert_eq!(device.stats().waits, 0);
        Ok(())
    }

    #[multicore]
    fn after(a: &Stream, b: &Stream, x: &Tensor, gate: &Gate) -> Result<(Tensor, Tensor)> {
        let y = stream!(a, { gate.affine(x, 2.0)? });
        let z = stream!(b, after(y), { affine(x, 3.0)? });
        Ok((y, z))
    }

    #[test]
    fn after_orders_without_a_use() {
        on_device(|device| {
            let (a, b) = (device.new_stream()?, device.new_stream()?);
            let gate = Gate::new();
            let (_, z) = after(&a, &b, &tensor(&[1.0]), &gate)?;
            assert_waits(&b);
            gate.open();
            assert_eq!(z.to_vec::<f32>()?, [4.0]);
            Ok(())
        });
    }

    #[multicore]
    unsafe fn generic<'a, T, const N: usize>(s: [&'a Stream; N], x: &'a T) -> Result<Vec<Tensor>>
    where
        T: Operand + Clone,
    {
        let mut all = Vec::new();
        for s in s {
            all.push(stream!(s, { Launching::launch(&x.view())? }));
        }
        Ok(all)
    }

    trait Launching {
        fn launch(&self) -> Result<Tensor>;
    }

    impl Launching for View<'_> {
        fn launch(&self) -> Result<Tensor> {
            let x = tensor(&self.to_vec::<f32>()?);
            affine(&x, 4.0)
        }
    }

    #[test]
    fn generics_lifetimes_and_unsafe() {
        on_device(|device| {
            let s = [device.new_stream()?, device.new_stream()?];
            // SAFETY: `generic` asks for nothing.
            let all = unsafe { generic([&s[0], &s[1]], &tensor(&[1.0])) }?;
            for y in all {
                assert_eq!(y.to_vec::<f32>()?, [5.0]);
            }
            Ok(())
        });
    }
}
