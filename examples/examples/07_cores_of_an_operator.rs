//! How long an operator takes on so many cores of a modelled chip. What is bound by memory or links is as fast well below
//! all cores; what is bound by cube cores is not.
//!
//! `cargo run --example 07_cores_of_an_operator [FOLDER]` also writes `cores_of_an_operator.svg` into the folder.

use examples::plot::{self, Curve, Failure};
use multicore::prelude::*;
use multicore::{CoreKind, Pattern};

/// An operator of which only the work is known.
struct Known {
    name: &'static str,
    kind: CoreKind,
    work: Work,
}

impl Kernel for Known {
    fn name(&self) -> &'static str {
        self.name
    }
    fn kind(&self) -> CoreKind {
        self.kind
    }
    fn work(&self) -> Work {
        self.work
    }
    fn tile(&self, _: &mut Tile<'_>) -> KernelResult {
        Err("it is only modelled".into())
    }
}

/// Attention of `heads` heads over `length` tokens: scores and their sum, products of `length` x `size` matrices.
fn attention(heads: f64, length: f64, size: f64) -> Known {
    let bytes = 2.0 * heads * 4.0 * length * size;
    let pattern = Pattern::Products { batch: heads, m: length, n: length, k: 2.0 * size, element: 2.0 };
    let work = Work::new(4.0 * heads * length * length * size, bytes).with_pattern(pattern);
    Known { name: "Attention", kind: CoreKind::Mix, work }
}

/// Rows of 7168 bytes to the experts of 4096 tokens, eight each, over eight devices.
fn all_to_all() -> Known {
    let work = Work::default().with_pattern(Pattern::AllToAll { sent: 4096.0 * 8.0 * 7168.0, ranks: 8.0 });
    Known { name: "AllToAll", kind: CoreKind::Comm, work }
}

/// An operator of the table: its name, and how it is launched.
type Operator = (&'static str, fn() -> Result<()>);

fn bf16(shape: &[usize]) -> Result<Tensor> {
    Tensor::empty(shape, DType::BF16)
}

const OPERATORS: [Operator; 5] = [
    ("MatMul 4096 x 7168 x 4096", || bf16(&[4096, 7168])?.matmul(&bf16(&[7168, 4096])?).map(drop)),
    ("BatchMatMul 128 of 64 x 512 x 128", || bf16(&[128, 64, 512])?.batch_matmul(&bf16(&[128, 512, 128])?).map(drop)),
    ("Attention 16 heads, 2048 tokens", || Launch::new(attention(16.0, 2048.0, 128.0)).tiles(256).submit()),
    ("Add 8192 x 8192", || bf16(&[8192, 8192])?.add(&bf16(&[8192, 8192])?).map(drop)),
    ("AllToAll 4096 tokens, 8 devices", || Launch::new(all_to_all()).tiles(48).submit()),
];

/// The time of one launch with `share` of all cores, in us.
fn time(launch: fn() -> Result<()>, limit: CoreLimit) -> Result<f64> {
    let device = Device::open("sim:910b,dry,issue=graph")?;
    device.set_core_limit(limit)?;
    let _on = device.default_stream().enter();
    let (start, end) = (Event::with_timing(&device), Event::with_timing(&device));
    // The stream has something to do until the host has issued all of this.
    all_cores_busy()?;
    start.record(&Stream::current()?)?;
    launch()?;
    end.record(&Stream::current()?)?;
    device.synchronize()?;
    Ok(start.elapsed_ms(&end)? * 1e3)
}

fn all_cores_busy() -> Result<()> {
    let x = bf16(&[4096, 4096])?;
    x.matmul(&x).map(drop)
}

fn main() -> Result<(), Failure> {
    const SHARES: [u32; 9] = [1, 2, 3, 4, 6, 8, 12, 18, 24];
    let mut curves: Vec<Curve> = Vec::new();
    print!("{:36}", "us on cube / vector cores");
    SHARES.iter().for_each(|cube| print!("{:>9}", format!("{cube}/{}", 2 * cube)));
    println!();
    for (name, launch) in OPERATORS {
        let times =
            SHARES.iter().map(|&cube| time(launch, CoreLimit::new(cube, 2 * cube))).collect::<Result<Vec<f64>>>()?;
        print!("{name:36}");
        times.iter().for_each(|us| print!("{us:9.1}"));
        println!();
        let all = times[times.len() - 1];
        let points = SHARES.iter().zip(&times).skip(2).map(|(&cube, us)| (f64::from(cube) / 24.0, us / all));
        curves.push((name.to_owned(), points.collect()));
    }
    if let Some(folder) = plot::folder_from_args() {
        std::fs::create_dir_all(&folder)?;
        let path = folder.join("cores_of_an_operator.svg");
        let axes = ["share of the cores", "time / time on all cores"];
        plot::curves(&path, "The time of an operator and its cores (910B1, modelled)", axes, &curves)?;
        println!("wrote {}", path.display());
    }
    Ok(())
}
