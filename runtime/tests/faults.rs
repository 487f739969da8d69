//! A failing kernel: its outputs are unusable, what depends on them does not run, the rest goes on, the origin is named.

mod common;

use common::*;
use multicore::prelude::*;

fn fault_of<T>(result: Result<T>) -> String {
    match result {
        Err(Error::Kernel(fault)) => fault.to_string(),
        Err(other) => panic!("another error: {other}"),
        Ok(_) => panic!("no error"),
    }
}

#[test]
fn a_failure_names_its_origin_and_stops_what_depends_on_it() -> Result<()> {
    for how in [Failure::Error, Failure::Panic] {
        let device = device();
        let (s1, s2, s3) = (device.new_stream()?, device.new_stream()?, device.new_stream()?);
        let _on = s1.enter();
        let x = tensor(&[1.0]);
        let line = line!() + 1;
        let bad = fail(&x, how)?;
        s2.wait_stream(&s1)?;
        let gate = Gate::new();
        let dependent = {
            let _on = s2.enter();
            gate.affine(&bad, 2.0)?
        };
        let grandchild = {
            let _on = s2.enter();
            affine(&dependent, 2.0)?
        };
        let beside = {
            let _on = s3.enter();
            affine(&x, 2.0)?
        };
        let after = affine(&x, 5.0)?;
        for poisoned in [&bad, &dependent, &grandchild] {
            let message = fault_of(poisoned.to_vec::<f32>());
            assert!(message.contains("`Fail`") && message.contains("out of luck"), "{message}");
            assert!(message.contains(&format!("on stream {}", s1.id())), "{message}");
            assert!(message.contains(&format!("faults.rs:{line}")), "{message}");
        }
        assert!(!gate.is_reached(), "what depends on it does not run");
        assert_eq!(beside.to_vec::<f32>()?, [3.0]);
        assert_eq!(after.to_vec::<f32>()?, [6.0], "the stream goes on");
        // The device is usable, and the output can be written anew.
        let again = affine(&x, 7.0)?;
        assert_eq!(again.to_vec::<f32>()?, [8.0]);
    }
    Ok(())
}

#[test]
fn a_failure_is_told_once_to_each_observer_that_comes_after_it() -> Result<()> {
    let device = device();
    let (s1, s2, s3) = (device.new_stream()?, device.new_stream()?, device.new_stream()?);
    let _on = s1.enter();
    let x = tensor(&[1.0]);
    fail(&x, Failure::Error)?;
    s2.wait_stream(&s1)?;
    {
        let _on = s2.enter();
        affine(&x, 1.0)?;
    }
    {
        let _on = s3.enter();
        affine(&x, 1.0)?;
    }
    assert!(fault_of(s2.synchronize()).contains("`Fail`"), "s2 comes after s1");
    s2.synchronize()?;
    s3.synchronize()?;
    assert!(fault_of(s1.synchronize()).contains("`Fail`"), "s1's observers have not heard of it");
    s1.synchronize()?;
    assert!(s1.is_complete()?);
    assert!(fault_of(device.synchronize()).contains("`Fail`"));
    device.synchronize()?;
    Ok(())
}

#[test]
fn a_failure_that_nobody_asked_for_is_not_lost() -> Result<()> {
    let device = device();
    let s = device.new_stream()?;
    let event = {
        let _on = s.enter();
        drop(fail(&tensor(&[1.0]), Failure::Panic)?);
        drop(fail(&tensor(&[1.0]), Failure::Error)?);
        s.record_event()?
    };
    drop(s);
    assert!(soon(|| !matches!(event.is_complete(), Ok(false))));
    assert!(fault_of(device.synchronize()).contains("panic: out of luck"));
    assert!(fault_of(device.synchronize()).contains("out of luck"));
    device.synchronize()?;
    Ok(())
}

#[test]
fn a_failed_half_does_not_spoil_the_other() -> Result<()> {
    let device = device();
    let _on = device.default_stream().enter();
    let mut x = Tensor::from_slice(&[1.0f32, 2.0], &[2, 1])?;
    let (mut low, mut high) = x.split_at_mut(1)?;
    struct Bad;
    impl Kernel for Bad {
        fn name(&self) -> &'static str {
            "Bad"
        }
        fn kind(&self) -> CoreKind {
            CoreKind::Vector
        }
        fn tile(&self, _: &mut Tile<'_>) -> KernelResult {
            Err("bad".into())
        }
    }
    Launch::new(Bad).update(&mut low, [1, 1]).submit()?;
    affine_(&mut high, 3.0)?;
    assert_eq!(high.to_vec::<f32>()?, [7.0]);
    assert!(low.to_vec::<f32>().is_err());
    assert!(x.to_vec::<f32>().is_err());
    Ok(())
}

#[test]
fn reused_memory_does_not_inherit_a_failure() -> Result<()> {
    let device = device();
    let _on = device.default_stream().enter();
    for n in [1000, 900, 1024, 700] {
        let x = Tensor::from_slice(&vec![1.0f32; n], &[n])?;
        assert!(fail(&x, Failure::Error)?.to_vec::<f32>().is_err());
        assert_eq!(affine(&x, 1.0)?.to_vec::<f32>()?, vec![2.0; n]);
    }
    Ok(())
}

#[test]
fn a_kernel_whose_drop_panics_does_not_take_a_worker_along() -> Result<()> {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("dropped");
        }
    }
    impl Kernel for Bomb {
        fn name(&self) -> &'static str {
            "Bomb"
        }
        fn kind(&self) -> CoreKind {
            CoreKind::Host
        }
        fn tile(&self, _: &mut Tile<'_>) -> KernelResult {
            Ok(())
        }
    }
    let device = Device::open("host,workers=1")?;
    let _on = device.default_stream().enter();
    for _ in 0..200 {
        Launch::new(Bomb).submit()?;
    }
    device.synchronize()?;
    assert_eq!(affine(&tensor(&[1.0]), 2.0)?.to_vec::<f32>()?, [3.0]);
    Ok(())
}
