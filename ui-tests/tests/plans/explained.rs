//! Functions with a plan to show. A test of the macros keeps the documentation that they get as a snapshot, which a test
//! here compares with what the plan says of itself when the program runs.

use multicore::prelude::*;

/// A value that goes over two streams.
#[multicore(explain, streams(compute, comm))]
pub(crate) fn exchange(x: &Tensor) -> Result<Tensor> {
    let routed = stream!(compute, cores(cube = 3, vector = 8), { x.silu()? });
    let received = stream!(comm, cores(vector = 8), { routed.silu()? });
    let shared = stream!(compute, { x.silu()? });
    stream!(compute, { received.silu()?.add(&shared) })
}

/// A loop, nested blocks, code outside of all blocks, and streams whose text means something to Mermaid and Markdown.
#[multicore(explain)]
pub(crate) fn hostile(streams: &[Stream], x: &Tensor) -> Result<Tensor> {
    let mut sum = x.silu()?;
    for i in 0..2usize {
        let half = stream!(&streams[i | 1], cores(vector = 4 + 4), {
            let inner = stream!(named("a#1;`<b>\"\\", streams), { x.silu()? });
            inner.add(x)?
        });
        stream!(if i < 1 { &streams[0] } else { &streams[2] }, {
            sum = sum.add(&half)?;
        });
    }
    sum.add(x)
}

#[multicore(explain, serial)]
pub(crate) fn serial(a: &Stream, x: &Tensor) -> Result<Tensor> {
    let y = stream!(a, { x.silu()? });
    y.add(x)
}

/// Nothing waits.
#[multicore(explain)]
pub(crate) fn one_block(a: &Stream, x: &Tensor) -> Result<Tensor> {
    stream!(a, { x.silu() })
}

#[allow(dead_code)]
fn named<'s>(name: &str, streams: &'s [Stream]) -> &'s Stream {
    &streams[name.len() % streams.len()]
}
