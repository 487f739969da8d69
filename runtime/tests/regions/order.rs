//! What conflicts waits: each pair of accesses, chains, iterations, branches, the entry.

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
fn cloned(a: &Stream, b: &Stream, x: &Tensor, gate: &Gate) -> Result<(Tensor, Tensor)> {
    let mut y = stream!(a, { gate.affine(x, 2.0)? });
    let z = {
        let borrowed = &y;
        borrowed.clone()
    };
    y = affine(x, 5.0)?; // another value: what `z` shares is still on its way
    Ok((stream!(b, { affine(&z, 3.0)? }), y))
}

#[multicore]
fn cloned_last(a: &Stream, b: &Stream, x: &Tensor, gate: &Gate) -> Result<(Tensor, Tensor)> {
    let z = {
        let list = [stream!(a, { gate.affine(x, 2.0)? })];
        list.last().cloned()
    };
    let z = z.unwrap_or_else(|| x.clone());
    Ok((stream!(b, { affine(&z, 3.0)? }), affine(x, 5.0)?))
}

#[test]
fn a_clone_outlives_the_borrow_it_was_made_from() {
    for function in [cloned, cloned_last] {
        on_device(|device| {
            let (a, b) = (device.new_stream()?, device.new_stream()?);
            let gate = Gate::new();
            let (z, y) = function(&a, &b, &tensor(&[1.0]), &gate)?;
            assert_waits(&b);
            gate.open();
            assert_eq!((z.to_vec::<f32>()?, y.to_vec::<f32>()?), (vec![10.0], vec![6.0]));
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
        // Two in the plan, and one at the exit: main waits for the last stream, which implies the others.
        assert_eq!((after.records - before.records, after.waits - before.waits), (3, 3));
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

#[multicore]
fn two(a: &Stream, b: &Stream, x: &Tensor) -> Result<Tensor> {
    let y = stream!(a, { affine(x, 2.0)? });
    Ok(stream!(b, { combine(&y, x)? })) // comes after what main held because `y` does
}

#[test]
fn what_another_wait_implies_is_not_waited_for() {
    on_device(|device| {
        let (a, b) = (device.new_stream()?, device.new_stream()?);
        let x = affine(&tensor(&[1.0]), 3.0)?;
        let before = device.stats();
        let z = two(&a, &b, &x)?;
        // `a` for main, `b` for `a`, and main for `b`.
        assert_eq!(device.stats().waits - before.waits, 3);
        assert_eq!(z.to_vec::<f32>()?, [9.0 - 8.0]);
        Ok(())
    });
}
