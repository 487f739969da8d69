//! A name means the binding that Rust means: shadowing, patterns, assignments to outer variables, and names that look like
//! those of generated code.

#![deny(warnings)]
#![allow(deprecated)] // nothing need run beside anything

use multicore::prelude::*;

#[derive(Clone)]
struct Pair {
    left: Tensor,
    right: Tensor,
}

#[multicore(streams(s1, s2))]
fn shadowed(x: &Tensor, which: Option<usize>) -> Result<Vec<Tensor>> {
    let y = stream!(s1, { x.add(x)? }); // 2
    let outer = y.clone();
    let y = stream!(s2, {
        let y = y.add(x)?; // 3
        let y = y.add(&y)?; // 6
        y
    });
    let inner = {
        let y = stream!(s1, { y.add(x)? }); // 7
        y.add(&y)? // 14
    };
    // A parameter of a closure, an `if let`, and an arm.
    let closed = stream!(s1, { [&outer].map(|y| y.add(y)).into_iter().next().transpose()? }); // 4
    let mut all = vec![inner];
    if let Some(y) = closed {
        all.push(stream!(s2, { y.add(x)? })); // 5
    }
    all.push(match which {
        Some(y) if y > 1 => stream!(s1, { outer.add(&all[y - 2])? }), // 16
        Some(_) => outer,
        None => stream!(s2, { y.add(&y)? }), // 12
    });
    Ok(all)
}

#[multicore(streams(s1, s2))]
fn patterns(x: &Tensor, mut pair: Pair) -> Result<Vec<Tensor>> {
    let (a, [b, ..]) = stream!(s1, { (x.add(x)?, [x.clone(), x.add(x)?]) }); // 2, 1
    let Pair { left, ref right } = stream!(s2, { Pair { left: a.add(&b)?, ..pair.clone() } }); // 3, 10
    stream!(s2, {
        let Pair { ref mut left, right: ref fixed } = pair;
        left.add_(fixed)?; // 20
    });
    let sum = stream!(s1, { left.add(right)?.add(&pair.left)? }); // 33
    let Some(last) = stream!(s2, { Some(sum.add(x)?) }) else { return Ok(Vec::new()) }; // 34
    Ok(vec![sum, last])
}

#[multicore(streams(s1, s2))]
fn assigned(x: &Tensor) -> Result<Tensor> {
    let mut sum = x.clone();
    let (mut low, mut high);
    for _ in 0..3 {
        stream!(s1, {
            sum = sum.add(x)?;
        });
        (low, high) = stream!(s2, { (sum.add(x)?, sum.add(&sum)?) });
        stream!(s1, { sum = low.add(&high)? });
        low = stream!(s2, { low.add(x)? });
        stream!(s2, { high.add_(&low)? });
    }
    Ok(sum)
}

#[multicore(streams(s1, s2))]
fn names_like_generated_ones(__x: &Tensor) -> Result<Tensor> {
    let (__on, __mc) = (1, 2);
    let __event = stream!(s1, { __x.add(__x)? });
    let __value = stream!(s2, {
        let __y = __event.add(__x)?;
        __y.add(&__y)?
    });
    let x = stream!(s1, { if __on < __mc { __value.add(__x)? } else { __x.clone() } });
    let __multicore = stream!(s2, { x.add(&__value)? });
    Ok(__multicore)
}

#[multicore(streams(s1))]
fn opaque(x: &Tensor) -> Result<impl Fn() -> Result<Vec<f32>> + use<>> {
    let y = stream!(s1, { x.add(x)? });
    Ok(move || y.to_vec())
}

fn main() -> Result<()> {
    let device = Device::open("host")?;
    let _on = device.default_stream().enter();
    let number = |n: f32| Tensor::from_slice(&[n], &[1, 1]);
    let values = |all: Vec<Tensor>| all.iter().map(|t| Ok(t.to_vec::<f32>()?[0])).collect::<Result<Vec<f32>>>();
    let x = number(1.0)?;
    assert_eq!(values(shadowed(&x, Some(2))?)?, [14.0, 5.0, 16.0]);
    assert_eq!(values(shadowed(&x, Some(0))?)?, [14.0, 5.0, 2.0]);
    assert_eq!(values(shadowed(&x, None)?)?, [14.0, 5.0, 12.0]);
    assert_eq!(values(patterns(&x, Pair { left: number(10.0)?, right: number(10.0)? })?)?, [33.0, 34.0]);
    // v -> (v + 1) + 1 + 2 (v + 1) = 3 v + 4
    assert_eq!(assigned(&x)?.to_vec::<f32>()?, [79.0]);
    assert_eq!(names_like_generated_ones(&x)?.to_vec::<f32>()?, [13.0]);
    assert_eq!(opaque(&x)?()?, [2.0]);
    device.synchronize()?;
    assert_eq!(device.stats().hazards, 0, "the plan orders everything");
    Ok(())
}
