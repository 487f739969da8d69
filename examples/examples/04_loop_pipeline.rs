//! A loop as a pipeline: slice after slice is loaded, multiplied and reduced, on four streams in turn. A variable of the
//! loop's body is a new one each time round, so slices do not wait for each other; what is pushed into `sums` takes its
//! events along, so only the last block waits for all of them.

use multicore::prelude::*;

#[multicore]
fn pipeline(slices: &[Tensor], norm: &Tensor, w: &Tensor, streams: &[Stream]) -> Result<Tensor> {
    let mut sums = Vec::new();
    for (i, slice) in slices.iter().enumerate() {
        let x = stream!(&streams[i % streams.len()], { slice.rms_norm(norm, 1e-6)? });
        let y = stream!(&streams[(i + 1) % streams.len()], { x.matmul(w)? }); // waits for `x`, and for nothing else
        sums.push(y);
    }
    let mut total = Tensor::zeros(sums[0].shape(), sums[0].dtype())?;
    for y in &sums {
        total.add_(y)?; // on `main`, in order
    }
    Ok(total)
}

fn main() -> Result<()> {
    const SLICES: usize = 8;
    let device = Device::try_default()?;
    let streams: Vec<Stream> = (0..4).map(|_| device.new_stream()).collect::<Result<_>>()?;
    let matrix = |seed: usize, n: usize, m: usize| {
        let numbers: Vec<f32> = (0..n * m).map(|i| ((i + seed) * 13 % 31) as f32 / 31.0 - 0.5).collect();
        Tensor::from_slice(&numbers, &[n, m])
    };
    let slices: Vec<Tensor> = (0..SLICES).map(|i| matrix(i, 256, 256)).collect::<Result<_>>()?;
    let (norm, w) = (matrix(7, 1, 256)?.reshape(&[256])?, matrix(0, 256, 256)?);

    let before = device.stats();
    let y = pipeline(&slices, &norm, &w, &streams)?.to_vec::<f32>()?;
    let after = device.stats();
    let (waits, hazards) = (after.waits - before.waits, after.hazards - before.hazards);
    println!(
        "{SLICES} slices on {} streams: {} launches, {waits} waits",
        streams.len(),
        after.launches - before.launches
    );
    assert_eq!(hazards, 0, "every order was planned");

    // One slice after another, on one stream.
    let mut total = Tensor::zeros(&[256, 256], DType::F32)?;
    for slice in &slices {
        total.add_(&slice.rms_norm(&norm, 1e-6)?.matmul(&w)?)?;
    }
    assert_eq!(y, total.to_vec::<f32>()?);
    println!("equal to one slice after another");
    Ok(())
}
