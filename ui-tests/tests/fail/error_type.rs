use std::num::ParseIntError;

use multicore::prelude::*;

#[multicore(streams(s1))]
fn f(x: &Tensor, text: &str) -> Result<Tensor> {
    let y = stream!(s1, {
        let n = u32::from_str_radix(text, 10)?; //~ not our error
        if n > 1 { x.silu()? } else { x.clone() }
    });
    Ok(y)
}

#[multicore(streams(s1, s2))]
fn g(x: &str) -> Result<u32, ParseIntError> { //~ cannot be ours
    stream!(s1, { x.parse() })
}

fn main() {}
