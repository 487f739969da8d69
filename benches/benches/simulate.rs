//! How fast a dry device of modelled time goes: 100,000 launches on 1, 4 and 16 streams, from the first call to the end of
//! `synchronize`, with and without waits between the streams.

use benches::{Report, median_seconds};
use multicore::prelude::*;

const LAUNCHES: usize = 100_000;

fn main() -> Result<()> {
    let mut report = Report::from_args();
    for (streams, every) in [(1, 0), (4, 0), (4, 4), (16, 0), (16, 4)] {
        let seconds = median_seconds(
            5,
            || {
                let device = Device::open("sim:910b,dry,issue=graph")?;
                let streams = (0..streams).map(|_| device.new_stream()).collect::<Result<Vec<_>>>()?;
                for stream in &streams {
                    stream.set_core_limit(CoreLimit::NONE.with_vector(4))?;
                }
                let inputs = {
                    let _on = device.default_stream().enter();
                    streams.iter().map(|_| Tensor::empty(&[1024, 1024], DType::BF16)).collect::<Result<Vec<_>>>()?
                };
                Ok((device, streams, inputs))
            },
            |(device, streams, inputs)| {
                for i in 0..LAUNCHES {
                    let at = i % streams.len();
                    if every > 0 && i % every == 0 {
                        let other = &streams[(at + 1) % streams.len()];
                        streams[at].wait(&other.record_event()?)?;
                    }
                    let _on = streams[at].enter();
                    inputs[at].add(&inputs[at])?;
                }
                device.synchronize()
            },
        )?;
        let key = format!("streams{streams}_waits{every}");
        let waits = if every > 0 { format!("a wait every {every}") } else { "no waits".to_owned() };
        let text = format!("{LAUNCHES} launches, {streams:2} streams, {waits:16} {:7.1} ms", seconds * 1e3);
        report.figure(&key, seconds * 1e3, text);
    }
    report.finish();
    Ok(())
}
