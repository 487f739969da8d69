//! However a function is left, it joins, and gives streams and limits back.

use super::*;

#[derive(Clone, Copy, PartialEq, Debug)]
enum Exit {
    End,
    Return,
    Question,
    Break,
    Panic,
}

#[multicore]
fn leave(a: &Stream, x: &Tensor, gate: &Gate, exit: Exit) -> Result<Option<Tensor>> {
    for i in 0..2 {
        stream!(a, cores(vector = 3), {
            gate.affine(x, 2.0)?;
            match exit {
                Exit::End => {}
                Exit::Return => return Ok(None),
                Exit::Question => {
                    Tensor::from_slice(&[1.0f32], &[2])?;
                }
                Exit::Break if i == 0 => break,
                Exit::Break => {}
                Exit::Panic => panic!("on purpose"),
            }
        });
    }
    Ok(None)
}

/// However the function is left, main comes after all its work, and the current stream and limits are as before.
#[test]
fn every_exit_joins_and_restores() {
    for exit in [Exit::End, Exit::Return, Exit::Question, Exit::Break, Exit::Panic] {
        on_device(|device| {
            let (main, a) = (device.default_stream(), device.new_stream()?);
            let x = tensor(&[1.0]);
            let gate = Gate::new();
            let left = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| leave(&a, &x, &gate, exit)));
            assert_eq!(left.is_err(), exit == Exit::Panic);
            assert_eq!(matches!(left, Ok(Err(_))), exit == Exit::Question);
            assert_eq!(Stream::current()?, main);
            assert_eq!(a.core_limit().vector, 48);
            let after = affine(&x, 1.0)?;
            assert_waits(&main);
            gate.open();
            assert_eq!(after.to_vec::<f32>()?, [2.0]);
            // Unset is restored as unset: the stream follows the device.
            device.set_core_limit(CoreLimit::NONE.with_vector(5))?;
            assert_eq!(a.core_limit().vector, 5);
            Ok(())
        });
    }
}

#[multicore]
fn limits(a: &Stream, seen: &mut Vec<(u32, u32)>) -> Result<()> {
    let mut note = |s: &Stream| {
        let c = s.core_limit();
        seen.push((c.cube, c.vector));
    };
    note(a);
    stream!(a, cores(cube = 3), {
        note(a);
        stream!(a, cores(vector = 8), { note(a) });
        note(a);
        stream!(main, cores(cube = 1), { note(a) });
        note(a);
    });
    note(a);
    Ok(())
}

#[test]
fn a_nested_block_limits_further_and_the_end_gives_back() {
    on_device(|device| {
        let a = device.new_stream()?;
        let mut seen = Vec::new();
        limits(&a, &mut seen)?;
        assert_eq!(seen, [(24, 48), (3, 48), (3, 8), (3, 48), (3, 48), (3, 48), (24, 48)]);
        Ok(())
    });
}

#[multicore]
fn bad_limit(a: &Stream, cube: u32) -> Result<()> {
    stream!(a, cores(cube = cube), {});
    Ok(())
}

#[test]
fn a_limit_out_of_range_is_an_error() {
    on_device(|device| {
        let a = device.new_stream()?;
        bad_limit(&a, 24)?;
        for cube in [0, 25] {
            assert!(matches!(bad_limit(&a, cube), Err(Error::CoreLimit { available: 24, .. })));
        }
        Ok(())
    });
}

#[multicore]
fn small(a: &Stream, x: &Tensor) -> Result<Tensor> {
    Ok(stream!(a, { affine(x, 2.0)? }))
}

/// A thread's locals may go before or after the runtime's: the call works or is refused, and nothing panics.
#[test]
fn a_call_while_the_thread_ends_works_or_is_refused() {
    struct Last(Stream, Tensor);
    impl Drop for Last {
        fn drop(&mut self) {
            let right = match small(&self.0, &self.1) {
                Ok(y) => y.to_vec::<f32>().is_ok_and(|y| y == [3.0]),
                Err(error) => matches!(error, Error::ThreadEnding | Error::DeviceMismatch { .. }),
            };
            // A panic here would end the process.
            if !right {
                std::process::abort();
            }
        }
    }
    thread_local!(static LAST: std::cell::OnceCell<Last> = const { std::cell::OnceCell::new() });
    for first in [true, false] {
        let device = device();
        let thread = std::thread::spawn(move || {
            let stream = device.new_stream().unwrap();
            let last = || {
                Last(stream.clone(), {
                    let _on = stream.enter();
                    tensor(&[1.0])
                })
            };
            if first {
                LAST.with(|l| l.get_or_init(last).0.id());
                // The runtime's own locals come to life after the one above; whether this call succeeds does not matter.
                let _refused = small(&device.default_stream(), &tensor(&[1.0])).is_err();
            } else {
                let _on = stream.enter();
                small(&stream, &tensor(&[1.0])).unwrap();
                LAST.with(|l| l.get_or_init(last).0.id());
            }
        });
        assert!(thread.join().is_ok());
    }
}
