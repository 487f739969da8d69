//! Several devices in one clock.

use multicore::prelude::*;
use multicore::sim::Group;

use crate::{overlap, square};

/// An operator that must have all its blocks at once, like one that synchronises all cores.
struct NonZero(u32);

impl Kernel for NonZero {
    fn name(&self) -> &'static str {
        "NonZero"
    }
    fn kind(&self) -> CoreKind {
        CoreKind::Vector
    }
    fn resident_blocks(&self) -> u32 {
        self.0
    }
    fn tile(&self, _: &mut Tile<'_>) -> KernelResult {
        Ok(())
    }
}

/// Ascend/torchair, core_limit.md: a collective on 16 and one on 24 vector cores, and an operator on all 48, in a crossed
/// order on two devices.
fn crossed(blocks: u32) -> Result<()> {
    let ranks = Device::open_ranks("sim:910b,dry", 2)?;
    let (scatter, dispatch) = (Group::new(2), Group::new(2));
    let non_zero = || Launch::new(NonZero(blocks)).tiles(blocks as usize).submit();
    let streams = |device: &Device| Ok((device.named_stream("a")?, device.named_stream("b")?));
    let (a, b) = streams(&ranks[0])?;
    {
        let _on = a.enter();
        scatter.all_reduce(0, 1e6, 16)?;
    }
    {
        let _on = b.enter();
        non_zero()?;
        dispatch.all_to_all(0, 1e6, 24)?;
    }
    let (a, b) = streams(&ranks[1])?;
    {
        let _on = b.enter();
        dispatch.all_to_all(1, 1e6, 24)?;
    }
    {
        let _on = a.enter();
        non_zero()?;
        scatter.all_reduce(1, 1e6, 16)?;
    }
    ranks[0].synchronize()?;
    ranks[1].synchronize()
}

#[test]
fn the_crossed_order_is_a_deadlock_that_is_found_and_named() {
    let error = crossed(48).expect_err("it cannot go on");
    assert!(matches!(&error, Error::Deadlock { circle } if circle.len() == 4), "{error}");
    let text = error.to_string();
    for part in [
        "`AllReduce` launched at",
        "`NonZero` launched at",
        "`AllToAll` launched at",
        "of rank 0 needs 48 vector cores at once, 32 are free",
        "of rank 1 needs 48 vector cores at once, 24 are free",
        "waits for the other ranks of its collective",
    ] {
        assert!(text.contains(part), "no `{part}` in: {text}");
    }
}

#[test]
fn it_is_gone_when_the_operator_is_limited() {
    crossed(24).expect("there is room for all");
}

/// Both ranks go on together, and one that comes late holds the other up; what runs beside goes on.
#[test]
fn a_collective_takes_as_long_as_its_last_rank() -> Result<()> {
    let ranks = Device::open_ranks("sim:910b,dry,issue=graph", 2)?;
    let group = Group::new(2);
    for (rank, device) in (0..).zip(&ranks) {
        device.set_tracing(true);
        let _on = device.default_stream().enter();
        let x = square(4096)?;
        if rank == 1 {
            x.matmul(&x)?;
        }
        group.all_to_all(rank, 235e6, 8)?;
        let _on = device.named_stream("beside")?.enter();
        x.matmul(&x)?;
    }
    ranks.iter().try_for_each(Device::synchronize)?;
    let [first, second] = [0, 1].map(|rank: usize| ranks[rank].take_trace().operators);
    let sent = |records: &[multicore::timeline::Record]| {
        records.iter().find(|r| r.op_type == "AllToAll").cloned().expect("it was sent")
    };
    let (a, b) = (sent(&first), sent(&second));
    assert!(a.start_ns < b.start_ns, "the first rank was there earlier");
    assert_eq!(a.end_ns(), b.end_ns());
    assert_eq!((a.device_id, b.device_id), (0, 1));
    let matmul = first.iter().find(|r| r.op_type == "MatMul").expect("it ran");
    assert_eq!(overlap(matmul, &a), matmul.duration_ns);
    Ok(())
}

/// An event of one rank orders another one.
#[test]
fn an_event_between_ranks() -> Result<()> {
    let ranks = Device::open_ranks("sim:910b,dry,issue=graph", 2)?;
    ranks.iter().for_each(|device| device.set_tracing(true));
    let event = {
        let _on = ranks[0].default_stream().enter();
        let x = square(4096)?;
        x.matmul(&x)?;
        Stream::current()?.record_event()?
    };
    let _on = ranks[1].default_stream().enter();
    Stream::current()?.wait(&event)?;
    let x = square(4096)?;
    x.add(&x)?;
    ranks.iter().try_for_each(Device::synchronize)?;
    let (before, after) = (ranks[0].take_trace().operators, ranks[1].take_trace().operators);
    assert!(after[0].start_ns >= before[0].end_ns());
    Ok(())
}

/// A rank that nobody launches is told, not waited for without end.
#[test]
fn a_forgotten_rank() -> Result<()> {
    let ranks = Device::open_ranks("sim:910b,dry", 2)?;
    let group = Group::new(2);
    let _on = ranks[0].default_stream().enter();
    group.all_to_all(0, 1e6, 8)?;
    let error = ranks[0].synchronize().expect_err("rank 1 never comes").to_string();
    assert!(error.contains("`AllToAll` launched at") && error.contains("waits for the other ranks"), "{error}");
    Ok(())
}

/// Ranks may be driven by threads of their own, each waiting for the other to issue.
#[test]
fn a_thread_for_each_rank() -> Result<()> {
    let ranks = Device::open_ranks("sim:910b,dry,issue=graph", 2)?;
    let group = Group::new(2);
    std::thread::scope(|scope| {
        let run = |rank: u32, device: &Device| -> Result<()> {
            let _on = device.default_stream().enter();
            for _ in 0..50 {
                group.all_to_all(rank, 1e6, 8)?;
                device.synchronize()?;
            }
            Ok(())
        };
        let threads: Vec<_> = (0..).zip(&ranks).map(|(rank, device)| scope.spawn(move || run(rank, device))).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("no panic"))
    })
}
