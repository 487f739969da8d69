//! Functions in functions, methods, recursion, generics, `serial`, `after`.

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
        assert!(device.take_trace().operators.iter().all(|r| r.stream_id == Some(0)));
        Ok(())
    });
    let device = Device::open("host,serial,workers=2")?;
    let _on = device.default_stream().enter();
    device.set_tracing(true);
    assert_eq!(tree(&tensor(&[1.0]), 3)?.to_vec::<f32>()?, [tree_by_hand(1.0, 3)]);
    assert!(device.take_trace().operators.iter().all(|r| r.stream_id == Some(0)));
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

#[multicore]
fn produce(b: &Stream, x: &Tensor) -> Result<Tensor> {
    Ok(stream!(b, { affine(x, 2.0)? }))
}

#[multicore]
fn pass_on(a: &Stream, b: &Stream, x: &Tensor) -> Result<Tensor> {
    stream!(a, { produce(b, x) })
}

#[test]
fn entry_and_exit_reach_through_a_function_that_launches_nothing_itself() {
    on_device(|device| {
        let (a, b) = (device.new_stream()?, device.new_stream()?);
        let gate = Gate::new();
        let x = gate.affine(&tensor(&[1.0]), 3.0)?;
        let y = pass_on(&a, &b, &x)?;
        let z = affine(&y, 10.0)?;
        assert_waits(&b);
        gate.open();
        assert_eq!(z.to_vec::<f32>()?, [91.0]);
        Ok(())
    });
}

#[multicore]
fn here_then_there(c: &Stream, x: &Tensor) -> Result<(Tensor, Tensor)> {
    let y = affine(x, 2.0)?;
    let z = stream!(c, { affine(x, 3.0)? });
    Ok((y, z))
}

#[multicore]
fn after_a_call(a: &Stream, b: &Stream, c: &Stream, x: &Tensor, gate: &Gate) -> Result<(Tensor, Tensor)> {
    let before = stream!(a, { gate.affine(x, 2.0)? });
    let (y, z) = stream!(b, after(before), { here_then_there(c, x)? });
    drop(before);
    Ok((y, z))
}

#[test]
fn what_a_block_waits_for_comes_before_all_of_a_function_called_in_it() {
    on_device(|device| {
        let (a, b, c) = (device.new_stream()?, device.new_stream()?, device.new_stream()?);
        let gate = Gate::new();
        let (y, z) = after_a_call(&a, &b, &c, &tensor(&[1.0]), &gate)?;
        assert_waits(&b);
        assert_waits(&c);
        gate.open();
        assert_eq!((y.to_vec::<f32>()?, z.to_vec::<f32>()?), (vec![3.0], vec![4.0]));
        Ok(())
    });
}

#[multicore]
fn behind_a_pointer(a: &Stream, b: &Stream, x: &mut Tensor, gate: &Gate) -> Result<Tensor> {
    // The kernel writes `x` by its address: nothing but `writes` says so.
    stream!(a, writes(x), { gate.pass()? });
    stream!(b, { affine(&*x, 3.0) })
}

#[test]
fn what_a_block_says_it_writes_is_waited_for_by_a_launch_that_shows_its_use() {
    on_device(|device| {
        let (a, b) = (device.new_stream()?, device.new_stream()?);
        let gate = Gate::new();
        let y = behind_a_pointer(&a, &b, &mut tensor(&[1.0]), &gate)?;
        assert_waits(&b);
        gate.open();
        assert_eq!(y.to_vec::<f32>()?, [4.0]);
        Ok(())
    });
}
