//! Events order streams, and no more than they say.

use multicore::prelude::*;
use multicore::timeline::Record;

use crate::{CHIP, of, overlap, profile, square};

#[test]
fn an_event_between_a_matmul_and_an_add() {
    let records = profile(CHIP, |device| {
        let (s1, s2) = (device.new_stream()?, device.new_stream()?);
        let (x, y) = (square(4096)?, square(4096)?);
        let _on = s1.enter();
        let _product = x.matmul(&x)?;
        let event = s1.record_event()?;
        s2.wait(&event)?;
        let _on = s2.enter();
        y.add(&y)?;
        Ok(())
    });
    let (matmul, add) = (of(&records, "MatMul")[0], of(&records, "Add")[0]);
    assert!(add.start_ns >= matmul.end_ns(), "{records:?}");
}

#[test]
fn five_events_in_a_ring_over_five_streams() {
    let records = profile(CHIP, |device| {
        let x = square(2048)?;
        let streams = (0..5).map(|_| device.new_stream()).collect::<Result<Vec<_>>>()?;
        let mut last: Option<Event> = None;
        for stream in streams.iter().cycle().take(15) {
            if let Some(event) = &last {
                stream.wait(event)?;
            }
            let _on = stream.enter();
            x.matmul(&x)?;
            x.add(&x)?;
            last = Some(stream.record_event()?);
        }
        Ok(())
    });
    let mut records: Vec<&Record> = records.iter().filter(|r| r.op_type == "MatMul" || r.op_type == "Add").collect();
    records.sort_by_key(|r| r.start_ns);
    assert_eq!(records.len(), 30);
    assert!(records.windows(2).all(|pair| overlap(pair[0], pair[1]) == 0));
}

#[test]
fn one_record_with_four_waiters() {
    let records = profile(CHIP, |device| {
        let (x, y) = (square(4096)?, square(4096)?);
        let main = device.new_stream()?;
        let event = {
            let _on = main.enter();
            x.matmul(&x)?;
            main.record_event()?
        };
        for _ in 0..4 {
            let stream = device.new_stream()?;
            stream.set_core_limit(CoreLimit::NONE.with_vector(12))?;
            stream.wait(&event)?;
            let _on = stream.enter();
            y.add(&y)?;
        }
        Ok(())
    });
    let (matmul, adds) = (of(&records, "MatMul")[0], of(&records, "Add"));
    assert_eq!(adds.len(), 4);
    for (i, a) in adds.iter().enumerate() {
        assert!(a.start_ns >= matmul.end_ns());
        assert!(adds[i + 1..].iter().all(|b| overlap(a, b) > 0), "{adds:?}");
    }
}

/// The same by data flow: the macro's plan gives the same profile as the events by hand.
#[test]
fn the_macro_orders_what_depends_and_nothing_else() {
    #[multicore(streams(s1, s2, s3))]
    fn fork(x: &Tensor) -> Result<Tensor> {
        let product = stream!(s1, cores(cube = 12), { x.matmul(x)? });
        let beside = stream!(s3, cores(cube = 12), { x.matmul(x)? });
        let sum = stream!(s2, { product.add(x)? });
        Ok(stream!(s1, { sum.add(&beside)? }))
    }
    let records = profile(CHIP, |_| fork(&square(4096)?).map(drop));
    let (matmuls, adds) = (of(&records, "MatMul"), of(&records, "Add"));
    assert!(overlap(matmuls[0], matmuls[1]) > matmuls[0].duration_ns / 2);
    assert!(adds[0].start_ns >= matmuls[0].end_ns());
    assert!(adds[1].start_ns >= adds[0].end_ns().max(matmuls[1].end_ns()));
}
