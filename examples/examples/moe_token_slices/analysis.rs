//! What a trace says about overlap: records in, shares between 0 and 1 out. Integer nanoseconds throughout.

use multicore::timeline::{Core, Record};

/// From the first nanosecond to the one after the last.
type Interval = (u64, u64);

/// The time in which at least one of the records was running, as disjoint intervals in order.
fn busy<'a>(records: impl Iterator<Item = &'a Record>) -> Vec<Interval> {
    let mut intervals: Vec<Interval> = records.map(|r| (r.start_ns, r.end_ns())).collect();
    intervals.sort_unstable();
    let mut union: Vec<Interval> = Vec::with_capacity(intervals.len());
    for (start, end) in intervals {
        match union.last_mut() {
            Some((_, last)) if start <= *last => *last = end.max(*last),
            _ => union.push((start, end)),
        }
    }
    union
}

fn length(intervals: &[Interval]) -> u64 {
    intervals.iter().map(|(start, end)| end - start).sum()
}

/// The time that lies in both.
fn common(a: &[Interval], b: &[Interval]) -> u64 {
    let (mut i, mut j, mut sum) = (0, 0, 0);
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        sum += x.1.min(y.1).saturating_sub(x.0.max(y.0));
        if x.1 < y.1 { i += 1 } else { j += 1 }
    }
    sum
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// From the first start to the last end, in ns.
pub(crate) fn wall_ns(records: &[Record]) -> u64 {
    let start = records.iter().map(|r| r.start_ns).min().unwrap_or(0);
    let end = records.iter().map(Record::end_ns).max().unwrap_or(0);
    end - start
}

/// The part of a stream's busy time in which another stream was busy too.
pub(crate) fn hidden_share(records: &[Record], stream: u32, behind: u32) -> f64 {
    let of = |id| busy(records.iter().filter(move |r| r.stream_id == Some(id)));
    let side = of(stream);
    ratio(common(&side, &of(behind)), length(&side))
}

/// The part of the communication's busy time in which cube cores were busy.
pub(crate) fn communication_hidden(records: &[Record]) -> f64 {
    let of = |kinds: &[Core]| busy(records.iter().filter(|r| kinds.contains(&r.core)));
    let exchange = of(&[Core::Communication]);
    ratio(common(&exchange, &of(&[Core::AiCore, Core::MixAic, Core::MixAiv])), length(&exchange))
}

/// What a schedule of `slices` slices is held against, in ns, given the times that its operators take one after another on
/// all cores (`serial`). It takes the operators of one resource (cube cores, vector cores, links) to gain nothing beside
/// each other, as those that fill it do; small ones could beat it. And the first slice must come to its experts before they can begin, the last one go back after they are done.
pub(crate) fn lower_bound_ns(serial: &[Record], slices: usize) -> u64 {
    let sum = |of: &dyn Fn(&Record) -> bool| -> u64 { serial.iter().filter(|r| of(r)).map(|r| r.duration_ns).sum() };
    let on = |kinds: &[Core]| sum(&|r| kinds.contains(&r.core));
    let resource = on(&[Core::AiCore, Core::MixAic]).max(on(&[Core::AiVectorCore])).max(on(&[Core::Communication]));
    let experts = sum(&|r| r.op_type == "GroupedMatmul");
    let around = sum(&|r| !["GroupedMatmul", "MatMul", "SwiGlu", "Concat"].contains(&r.op_type.as_ref()));
    resource.max(experts + around / slices as u64)
}

/// Core time used over core time there was: at every instant the blocks of the running operators of these kinds, at most
/// `cores` of them, over `cores`, averaged over the wall time.
pub(crate) fn core_share(records: &[Record], kinds: &[Core], cores: u32) -> f64 {
    let mut changes: Vec<(u64, i64)> = records
        .iter()
        .filter(|r| kinds.contains(&r.core))
        .flat_map(|r| [(r.start_ns, i64::from(r.block_num)), (r.end_ns(), -i64::from(r.block_num))])
        .collect();
    changes.sort_unstable();
    let (mut since, mut blocks, mut used) = (0, 0i64, 0u64);
    for (at, change) in changes {
        used += (at - since) * blocks.clamp(0, i64::from(cores)).unsigned_abs();
        (since, blocks) = (at, blocks + change);
    }
    ratio(used, wall_ns(records) * u64::from(cores))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(stream: u32, core: Core, block_num: u32, start_ns: u64, end_ns: u64) -> Record {
        let duration_ns = end_ns - start_ns;
        Record { stream_id: Some(stream), block_num, start_ns, duration_ns, ..Record::new("op", "Op", core) }
    }

    #[test]
    fn hidden_is_the_part_of_the_side_that_the_other_covers() {
        let side = [(0, 10), (20, 40), (50, 60)].map(|(a, b)| record(1, Core::AiVectorCore, 1, a, b));
        let main = [(5, 8), (7, 30), (55, 100)].map(|(a, b)| record(2, Core::AiCore, 1, a, b));
        let all = [side, main].concat();
        // Side: 40 ns busy, of which 5..10, 20..30 and 55..60 are covered.
        assert_eq!(hidden_share(&all, 1, 2), 0.5);
        assert_eq!(hidden_share(&all, 2, 1), 20.0 / 70.0);
        assert_eq!(hidden_share(&all, 3, 1), 0.0);
    }

    #[test]
    fn the_bound_is_the_busiest_resource_or_the_way_through_the_experts() {
        let op = |op_type: &'static str, core, ns| Record { duration_ns: ns, ..Record::new("op", op_type, core) };
        let pass = |experts, exchange| {
            [
                op("RmsNorm", Core::AiVectorCore, 10),
                op("MoeDispatch", Core::Communication, exchange),
                op("GroupedMatmul", Core::AiCore, experts),
                op("MatMul", Core::AiCore, 50),
                op("MoeCombine", Core::Communication, exchange),
            ]
        };
        assert_eq!(lower_bound_ns(&pass(300, 40), 1), 300 + 90);
        assert_eq!(lower_bound_ns(&pass(300, 40), 4), 350, "all that cube cores do");
        assert_eq!(lower_bound_ns(&pass(100, 200), 4), 400, "the links");
    }

    #[test]
    fn core_share_caps_what_runs_together_at_the_chip() {
        let all = [
            record(1, Core::AiCore, 6, 0, 100),
            record(2, Core::AiCore, 6, 50, 100),
            record(3, Core::AiVectorCore, 8, 100, 200),
        ];
        // Cube: 6 of 8 for 50 ns, 8 of 8 (12 asked for) for 50 ns, nothing for 100 ns.
        assert_eq!(core_share(&all, &[Core::AiCore], 8), (6.0 * 50.0 + 8.0 * 50.0) / (8.0 * 200.0));
        assert_eq!(core_share(&all, &[Core::AiVectorCore], 16), 0.25);
        assert_eq!(core_share(&[], &[Core::AiCore], 8), 0.0);
    }
}
