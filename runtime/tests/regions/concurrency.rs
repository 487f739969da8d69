//! What does not conflict does not wait.

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
