//! Core limits are the block counts of the profile, and do not leak.

use multicore::prelude::*;

use crate::{CHIP, of, profile, square};

fn blocks(records: &[multicore::timeline::Record], operator: &str) -> Vec<u32> {
    of(records, operator).iter().map(|r| r.block_num).collect()
}

#[test]
fn the_limit_of_a_device_is_what_was_set_and_what_the_profile_shows() {
    let records = profile(CHIP, |device| {
        device.set_core_limit(CoreLimit::new(6, 10))?;
        let limit = device.core_limit();
        assert_eq!((limit.cube, limit.vector), (6, 10));
        let x = square(4096)?;
        x.matmul(&x)?;
        x.add(&x)?;
        Ok(())
    });
    assert_eq!((blocks(&records, "MatMul"), blocks(&records, "Add")), (vec![6], vec![10]));
}

#[test]
fn the_limit_of_a_stream() {
    let records = profile(CHIP, |device| {
        let stream = device.new_stream()?;
        stream.set_core_limit(CoreLimit::new(3, 8))?;
        let limit = stream.core_limit();
        assert_eq!((limit.cube, limit.vector), (3, 8));
        let x = square(4096)?;
        {
            let _on = stream.enter();
            x.matmul(&x)?;
            x.add(&x)?;
        }
        x.matmul(&x)?;
        Ok(())
    });
    let mut matmuls = blocks(&records, "MatMul");
    matmuls.sort_unstable();
    assert_eq!((matmuls, blocks(&records, "Add")), (vec![3, 24], vec![8]));
}

#[test]
fn a_limit_before_each_operator_and_the_chip_after_reset() {
    let records = profile(CHIP, |device| {
        let stream = device.new_stream()?;
        let x = square(4096)?;
        let _on = stream.enter();
        for cube in [3, 6, 12, 24] {
            stream.set_core_limit(CoreLimit::NONE.with_cube(cube))?;
            x.matmul(&x)?;
        }
        stream.reset_core_limit();
        x.matmul(&x)?;
        Ok(())
    });
    assert_eq!(blocks(&records, "MatMul"), [3, 6, 12, 24, 24]);
}

#[test]
fn a_limit_inside_a_block_only_and_two_levels() {
    #[multicore(streams(s1))]
    fn levels(x: &Tensor) -> Result<()> {
        stream!(s1, { x.matmul(x)? });
        stream!(s1, cores(cube = 10), {
            x.matmul(x)?;
            stream!(s1, cores(cube = 4), { x.matmul(x)? });
            x.matmul(x)?
        });
        stream!(s1, { x.matmul(x)? });
        Ok(())
    }
    let records = profile(CHIP, |_| levels(&square(4096)?));
    assert_eq!(blocks(&records, "MatMul"), [24, 10, 4, 10, 24]);
}

/// MindSpore's check: five streams with limits, six layers; a matmul outside of the limits has all cores each time.
#[test]
fn limits_do_not_leak_over_five_streams_and_six_layers() {
    const LIMITS: [u32; 5] = [3, 6, 9, 12, 15];
    let records = profile(CHIP, |device| {
        let x = square(2048)?;
        let streams = (0..5).map(|_| device.new_stream()).collect::<Result<Vec<_>>>()?;
        for _ in 0..6 {
            for (stream, cube) in streams.iter().zip(LIMITS) {
                stream.set_core_limit(CoreLimit::NONE.with_cube(cube))?;
                let _on = stream.enter();
                x.matmul(&x)?;
            }
            x.matmul(&x)?;
        }
        Ok(())
    });
    for (stream, cube) in [(0, 24)].into_iter().chain((1..).zip(LIMITS)) {
        let mine: Vec<u32> =
            of(&records, "MatMul").iter().filter(|r| r.stream_id == Some(stream)).map(|r| r.block_num).collect();
        assert_eq!(mine, [cube; 6], "stream {stream}");
    }
}
