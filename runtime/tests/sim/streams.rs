//! Operators on several streams overlap in time.

use multicore::prelude::*;

use crate::{CHIP, of, overlap, profile, square};

#[test]
fn a_matmul_and_an_add_on_two_streams_overlap() {
    let records = profile(CHIP, |device| {
        let (s1, s2) = (device.new_stream()?, device.new_stream()?);
        let x = square(4096)?;
        let _product = {
            let _on = s1.enter();
            x.matmul(&x)?
        };
        let _on = s2.enter();
        x.add(&x)?;
        Ok(())
    });
    let (matmul, add) = (of(&records, "MatMul")[0], of(&records, "Add")[0]);
    assert_ne!(matmul.stream_id, add.stream_id);
    assert!(overlap(matmul, add) > 0, "{records:?}");
}

#[test]
fn several_operators_on_two_streams_overlap() {
    let records = profile(CHIP, |device| {
        let (s1, s2) = (device.new_stream()?, device.new_stream()?);
        let x = square(4096)?;
        for _ in 0..4 {
            let _on = s1.enter();
            x.matmul(&x)?;
            let _on = s2.enter();
            x.add(&x)?;
        }
        Ok(())
    });
    let (matmuls, adds) = (of(&records, "MatMul"), of(&records, "Add"));
    assert_eq!((matmuls.len(), adds.len()), (4, 4));
    for add in adds {
        assert!(matmuls.iter().any(|matmul| overlap(matmul, add) == add.duration_ns), "{add:?} is not hidden");
    }
}

/// The first operator of each stream is so long that the host has issued the rest before it ends.
#[test]
fn five_streams_overlap() {
    let records = profile("sim:910b,dry,issue=eager", |device| {
        let x = square(8192)?;
        let small = square(2048)?;
        let streams = (0..5).map(|_| device.new_stream()).collect::<Result<Vec<_>>>()?;
        for stream in &streams {
            stream.set_core_limit(CoreLimit::new(4, 8))?;
            let _on = stream.enter();
            x.matmul(&x)?;
        }
        for stream in streams.iter().cycle().take(20) {
            let _on = stream.enter();
            small.add(&small)?;
        }
        Ok(())
    });
    let matmuls = of(&records, "MatMul");
    assert_eq!(matmuls.len(), 5);
    for (i, a) in matmuls.iter().enumerate() {
        for b in &matmuls[i + 1..] {
            assert!(overlap(a, b) > 0, "{a:?} and {b:?}");
        }
    }
    let adds = of(&records, "Add");
    let beside = adds.iter().filter(|a| adds.iter().any(|b| a.stream_id != b.stream_id && overlap(a, b) > 0));
    assert!(beside.count() > 4, "{adds:?}");
}

/// Two kernels of one stream never overlap, and the host's issue time is in the profile.
#[test]
fn one_stream_is_in_order_and_no_faster_than_the_host() {
    let records = profile("sim:910b,dry,issue=55", |_| {
        let x = square(256)?;
        (0..10).try_for_each(|_| x.add(&x).map(drop))
    });
    let adds = of(&records, "Add");
    for pair in adds.windows(2) {
        assert_eq!(overlap(pair[0], pair[1]), 0);
        assert_eq!(pair[1].start_ns - pair[0].start_ns, 55_000, "the host issues one every 55 us");
    }
}
