//! Core limits: set, get, reset, inherit; and the memory of a device.

mod common;

use common::*;
use multicore::Cores;
use multicore::prelude::*;

fn cores(cube: u32, vector: u32) -> Cores {
    Cores { cube, vector }
}

#[test]
fn the_ladder_of_limits() -> Result<()> {
    let device = Device::open("host,workers=1")?;
    let (s1, s2) = (device.new_stream()?, device.new_stream()?);
    assert_eq!(device.core_limit(), cores(24, 48));
    assert_eq!(s1.core_limit(), cores(24, 48));
    device.set_core_limit(CoreLimit::new(8, 8))?;
    assert_eq!(device.core_limit(), cores(8, 8));
    assert_eq!(s1.core_limit(), cores(8, 8), "unset follows the device");
    device.set_core_limit(CoreLimit::NONE.with_cube(3))?;
    assert_eq!(device.core_limit(), cores(3, 8), "a partial update keeps the other kind");
    s1.set_core_limit(CoreLimit::NONE.with_vector(20))?;
    assert_eq!(s1.core_limit(), cores(3, 20), "each kind inherits by itself, and may exceed the device's");
    assert_eq!(s2.core_limit(), cores(3, 8));
    assert_eq!(s1.requested_core_limit(), CoreLimit::NONE.with_vector(20));
    assert_eq!((s2.requested_core_limit(), device.requested_core_limit()), (CoreLimit::NONE, CoreLimit::new(3, 8)));
    device.reset_core_limit();
    assert_eq!(s1.core_limit(), cores(24, 20));
    s1.reset_core_limit();
    device.set_core_limit(CoreLimit::NONE.with_vector(5))?;
    assert_eq!(s1.core_limit(), cores(24, 5), "after a reset it follows the device again");
    Ok(())
}

#[test]
fn limits_out_of_range_change_nothing() -> Result<()> {
    let device = Device::open("host:20x40,workers=1")?;
    let s = device.new_stream()?;
    for (limit, text) in [
        (CoreLimit::NONE.with_cube(0), "a limit of 0 cube cores is out of range: write 1 to 20"),
        (CoreLimit::NONE.with_cube(21), "a limit of 21 cube cores is out of range: write 1 to 20"),
        (CoreLimit::new(4, 41), "a limit of 41 vector cores is out of range: write 1 to 40"),
    ] {
        let error = s.set_core_limit(limit).unwrap_err().to_string();
        assert!(error.contains(text), "{error}");
        assert!(device.set_core_limit(limit).is_err());
        assert_eq!(s.core_limit(), cores(20, 40));
    }
    Ok(())
}

/// The block count in the trace is the limit in force at the launch.
#[test]
fn a_launch_takes_the_limit_in_force_when_it_is_enqueued() -> Result<()> {
    let device = Device::open("host,workers=2")?;
    device.set_tracing(true);
    let s = device.new_stream()?;
    let _on = s.enter();
    let x = Tensor::from_slice(&[1.0f32; 100], &[100, 1])?;
    for limit in [None, Some(8), Some(3), None] {
        match limit {
            Some(n) => s.set_core_limit(CoreLimit::NONE.with_vector(n))?,
            None => s.reset_core_limit(),
        }
        affine(&x, 2.0)?;
    }
    s.set_core_limit(CoreLimit::NONE.with_vector(1))?;
    device.synchronize()?;
    let trace = device.take_trace().operators;
    let blocks: Vec<_> = trace.iter().map(|r| r.block_num).collect();
    assert_eq!(blocks, [48, 8, 3, 48]);
    assert!(trace.windows(2).all(|w| w[0].end_ns() <= w[1].start_ns), "one stream: one after another");
    assert_eq!(trace[0].inputs[0].shape, [100, 1]);
    assert_eq!(trace[0].stream_id, Some(s.id()));
    Ok(())
}

#[test]
fn a_launch_that_needs_more_cores_at_once_than_it_gets_is_an_error() -> Result<()> {
    struct Barrier;
    impl Kernel for Barrier {
        fn name(&self) -> &'static str {
            "Barrier"
        }
        fn kind(&self) -> CoreKind {
            CoreKind::Vector
        }
        fn resident_blocks(&self) -> u32 {
            48
        }
        fn tile(&self, _: &mut Tile<'_>) -> KernelResult {
            Ok(())
        }
    }
    let device = Device::open("host,workers=1")?;
    let s = device.new_stream()?;
    let _on = s.enter();
    Launch::new(Barrier).tiles(48).submit()?;
    s.set_core_limit(CoreLimit::NONE.with_vector(24))?;
    let error = Launch::new(Barrier).tiles(48).submit().unwrap_err().to_string();
    assert_eq!(error, "`Barrier` needs 48 vector cores at once and was granted 24: raise the limit of its stream");
    Ok(())
}

#[test]
fn a_limit_of_another_thread_is_not_seen() -> Result<()> {
    let device = Device::open("host,workers=1")?;
    let s = device.new_stream()?;
    let _on = s.enter();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            assert_ne!(Stream::current().unwrap(), s, "the current stream belongs to its thread");
        });
    });
    assert_eq!(Stream::current()?, s);
    Ok(())
}

#[test]
fn freed_memory_goes_to_a_stream_that_is_ordered_after_its_users_and_to_no_other() -> Result<()> {
    let device = device();
    let (s1, s2, s3) = (device.new_stream()?, device.new_stream()?, device.new_stream()?);
    let gate = Gate::new();
    let _on = s1.enter();
    // A slow copy reads x while x is dropped.
    let x = Tensor::from_slice(&[1.0f32; 4096], &[4096])?;
    let y = gate.affine(&x, 2.0)?;
    let before = device.memory_in_use();
    drop(x);
    assert!(device.memory_in_use() < before);
    // Not ordered after the user: other memory.
    let beside = {
        let _on = s2.enter();
        affine(&tensor(&[0.0; 4096]), 0.0)?
    };
    assert_eq!(beside.to_vec::<f32>()?[0], 1.0, "s2 does not wait for memory that s1 still reads");
    // Ordered after it, and so it may take the block at once, without the host waiting.
    s3.wait_stream(&s1)?;
    let reused = {
        let _on = s3.enter();
        let mut t = Tensor::empty(&[4096], DType::F32)?;
        fill(&mut t, 9.0)?;
        t
    };
    assert!(holds(|| !s3.is_complete().unwrap()));
    gate.open();
    assert_eq!(y.to_vec::<f32>()?, vec![3.0; 4096], "what was read is what was there");
    assert_eq!(reused.to_vec::<f32>()?[4095], 9.0);
    assert_eq!(device.stats().hazards, 0);
    Ok(())
}

fn fill(x: &mut Tensor, value: f32) -> Result<()> {
    struct Fill(f32);
    impl Kernel for Fill {
        fn name(&self) -> &'static str {
            "Fill"
        }
        fn kind(&self) -> CoreKind {
            CoreKind::Vector
        }
        fn tile(&self, tile: &mut Tile<'_>) -> KernelResult {
            tile.output::<f32>(0)?.as_mut_slice()?.fill(self.0);
            Ok(())
        }
    }
    Launch::new(Fill(value)).output(x, [1, usize::MAX]).submit()
}

#[test]
fn memory_runs_out_with_a_typed_error_after_freed_blocks_were_reclaimed() -> Result<()> {
    let device = Device::open("host,memory=1048576,workers=2")?;
    let _on = device.default_stream().enter();
    let quarter = || Tensor::empty(&[65536], DType::F32);
    let held: Vec<_> = (0..4).map(|_| quarter()).collect::<Result<_>>()?;
    let error = quarter().unwrap_err();
    assert!(matches!(error, Error::OutOfMemory { in_use: 1_048_576, capacity: 1_048_576, .. }), "{error}");
    drop(held);
    // Other sizes: the cached blocks must be given back first, those in use waited for.
    let mut big = Tensor::empty(&[262_144], DType::F32)?;
    for i in 0..20 {
        fill(&mut big, i as f32)?;
        drop(big);
        let mut small = Tensor::empty(&[1000], DType::F32)?;
        fill(&mut small, 1.0)?;
        drop(small);
        big = Tensor::empty(&[262_144], DType::F32)?;
    }
    Ok(())
}
