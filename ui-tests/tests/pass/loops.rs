//! Blocks in loops: streams that wait for each other round after round, and `break` and `continue` out of a block.

#![deny(warnings)]

use multicore::prelude::*;

/// Each round of `s1` waits for the one before of `s2`, and the other way round. The first waits for nothing.
#[multicore(streams(s1, s2))]
#[allow(deprecated)] // nothing runs beside anything
fn to_and_fro(x: &Tensor, rounds: usize) -> Result<Tensor> {
    let mut y = x.clone();
    for _ in 0..rounds {
        let up = stream!(s1, { y.add(x)? });
        y = stream!(s2, { up.add(&up)? });
    }
    Ok(y)
}

/// A write must wait for the reader of the round before.
#[multicore(streams(s1, s2))]
fn overwritten(x: &Tensor, rounds: usize) -> Result<Vec<Tensor>> {
    let mut y = Tensor::from_slice(&[0.0f32], &[1, 1])?;
    let mut seen = Vec::new();
    for _ in 0..rounds {
        stream!(s1, { y.add_(x)? });
        seen.push(stream!(s2, { y.add(x)? }));
        stream!(s2, { x.silu()? }); // beside the next round
    }
    Ok(seen)
}

#[multicore(streams(s1, s2))]
fn left_early(x: &Tensor, stop: usize) -> Result<Tensor> {
    let mut y = x.clone();
    let found = 'search: loop {
        for i in 0.. {
            stream!(s1, {
                if i % 2 == 1 {
                    continue;
                }
                y = y.add(x)?;
                if i >= stop {
                    break 'search stream!(s2, { y.add(&y)? });
                }
            });
        }
    };
    let doubled = 'once: {
        stream!(s2, {
            if stop > 2 {
                break 'once found.add(&y)?;
            }
        });
        found
    };
    Ok(stream!(s1, { doubled.add(x)? }))
}

fn main() -> Result<()> {
    let device = Device::open("host")?;
    let _on = device.default_stream().enter();
    let x = Tensor::from_slice(&[1.0f32], &[1, 1])?;
    for (rounds, expected) in [(0, 1.0), (1, 4.0), (2, 10.0), (5, 94.0)] {
        assert_eq!(to_and_fro(&x, rounds)?.to_vec::<f32>()?, [expected]);
    }
    let seen: Vec<f32> = overwritten(&x, 4)?.iter().map(|y| Ok(y.to_vec::<f32>()?[0])).collect::<Result<_>>()?;
    assert_eq!(seen, [2.0, 3.0, 4.0, 5.0]);
    for (stop, expected) in [(0, 5.0), (2, 7.0), (4, 13.0)] {
        assert_eq!(left_early(&x, stop)?.to_vec::<f32>()?, [expected], "{stop}");
    }
    device.synchronize()?;
    assert_eq!(device.stats().hazards, 0, "the plan orders everything");
    Ok(())
}
