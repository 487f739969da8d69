//! Drops, panics, failing kernels and early returns at random, from several threads on one device, for a while: nothing
//! hangs, what succeeds is right, and at the end the device is empty and works.

mod common;

use common::*;
use multicore::prelude::*;

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Mishap {
    None,
    Return,
    Question,
    Panic,
    Kernel,
    Drop,
}

/// A small pipeline in which something may go wrong after step `when`.
#[multicore]
fn pipeline(s: &[Stream], x: &Tensor, steps: usize, when: usize, mishap: Mishap) -> Result<Vec<Tensor>> {
    let mut outs = Vec::new();
    let mut state = stream!(&s[0], { affine(x, 0.5)? });
    for i in 0..steps {
        let y = stream!(&s[i % s.len()], cores(vector = 3), {
            if i == when {
                match mishap {
                    Mishap::Return => return Ok(outs),
                    Mishap::Question => {
                        Tensor::from_slice(&[0.0f32], &[7])?;
                    }
                    Mishap::Panic => std::panic::panic_any("on purpose"),
                    Mishap::Kernel => state = fail(&state, Failure::Error)?,
                    Mishap::Drop => drop(std::mem::replace(&mut state, tensor(&[1.0; 64]))),
                    Mishap::None => {}
                }
            }
            affine(&state, 2.0)?
        });
        stream!(&s[(i + 1) % s.len()], { affine_(&mut state, 0.25)? });
        outs.push(stream!(&s[(i + 2) % s.len()], { combine(&y, &state)? }));
    }
    Ok(outs)
}

/// What the pipeline gives, for one element.
fn by_hand(x: f32, steps: usize, when: usize, mishap: Mishap) -> Vec<f32> {
    let mut outs = Vec::new();
    let mut state = x * 0.5 + 1.0;
    for i in 0..steps {
        if i == when && mishap == Mishap::Return {
            return outs;
        }
        if i == when && mishap == Mishap::Drop {
            state = 1.0;
        }
        let y = state * 2.0 + 1.0;
        state = state * 0.25 + 1.0;
        outs.push(y - 2.0 * state);
    }
    outs
}

#[test]
fn drops_panics_and_early_returns() {
    // The panics are on purpose: keep the log short.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if info.payload().downcast_ref::<&str>() != Some(&"on purpose") {
            hook(info);
        }
    }));
    let device = Device::open("host,workers=3").unwrap();
    std::thread::scope(|scope| {
        for thread in 0..3u64 {
            let device = device.clone();
            scope.spawn(move || {
                let mut random = Random(thread + 1);
                let main = device.new_stream().unwrap();
                let _on = main.enter();
                for round in 0..150 {
                    let streams: Vec<_> = (0..1 + random.below(4)).map(|_| device.new_stream().unwrap()).collect();
                    let x = random.below(9) as f32;
                    let steps = random.below(8) as usize;
                    let when = random.below(8) as usize;
                    use Mishap::*;
                    let mishap = [None, Return, Question, Panic, Kernel, Drop][random.below(6) as usize];
                    let input = tensor(&[x; 64]);
                    let run = std::panic::AssertUnwindSafe(|| pipeline(&streams, &input, steps, when, mishap));
                    let outs = std::panic::catch_unwind(run);
                    assert_eq!(Stream::current().unwrap(), main);
                    if random.below(3) == 0 {
                        drop(streams);
                        drop(input);
                        continue;
                    }
                    let happens = when < steps;
                    let case = format!("thread {thread}, round {round}: {mishap:?} after {when} of {steps}");
                    match outs {
                        Err(_) => assert!(happens && mishap == Panic, "{case}"),
                        Ok(Err(error)) => assert!(happens && mishap == Question, "{case}: {error}"),
                        Ok(Ok(outs)) => {
                            let expected = by_hand(x, steps, when, mishap);
                            assert_eq!(outs.len(), expected.len(), "{case}");
                            for (i, (out, expected)) in outs.iter().zip(expected).enumerate() {
                                match out.to_vec::<f32>() {
                                    Ok(values) => assert_eq!(values, [expected; 64], "{case}, out {i}"),
                                    Err(error) => {
                                        let failed = happens && mishap == Kernel && i >= when;
                                        assert!(failed && error.to_string().contains("`Fail`"), "{case}: {error}");
                                    }
                                }
                            }
                        }
                    }
                }
            });
        }
    });
    // Faults that nobody asked for come here, one at a time.
    while let Err(error) = device.synchronize() {
        assert!(error.to_string().contains("`Fail`"), "{error}");
    }
    assert_eq!(device.stats().hazards, 0, "{:?}", device.diagnostics());
    assert_eq!(device.memory_in_use(), 0);
    let _on = device.default_stream().enter();
    assert_eq!(affine(&tensor(&[1.0]), 2.0).unwrap().to_vec::<f32>().unwrap(), [3.0]);
}
