//! How long an operator takes on so many cores of a chip, alone: before anything moves, and then as long as the slowest
//! of cube cores, vector cores, memory and links.
//!
//! ```text
//! head   cube: 0.5 us for one core to 3.7 us for 24;   others: 1.9 us + 0.026 us a core
//! cube   waves of 128 x 256 tiles over the cores, each tile at 0.715 of a core's peak
//! vector operations over the lanes of the cores, at 0.85 of the peak
//! memory bytes from HBM at min(c x core's rate, chip's rate), what is read again from L2 likewise
//! links  latency + bytes at what a group of this size reaches
//! ```
//!
//! What runs beside it is not in here: the device shares memory and links among what runs, and a neighbour that moves much
//! data costs [`INTERFERENCE`].

use super::Chip;
use crate::kernel::{Pattern, Work};
use crate::limit::{CoreKind, Cores};

/// How long a launch takes alone, and what it moves meanwhile.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Before anything moves, in ns.
    pub head_ns: f64,
    /// The rest, in ns.
    pub body_ns: f64,
    /// Bytes from and to device memory.
    pub hbm_bytes: f64,
    /// Bytes from and to the shared cache.
    pub l2_bytes: f64,
    /// Bytes sent over links.
    pub link_bytes: f64,
}

impl Cost {
    /// A time that does not depend on what runs beside it.
    pub const fn fixed(ns: f64) -> Cost {
        Cost { head_ns: 0.0, body_ns: ns, hbm_bytes: 0.0, l2_bytes: 0.0, link_bytes: 0.0 }
    }

    /// All of it, in ns.
    pub fn total_ns(&self) -> f64 {
        self.head_ns + self.body_ns
    }
}

/// How much longer an operator takes beside one that takes half or more of the memory's or the links' rate: 1.15 in the
/// tiling of fused matmul and collectives (mirror-cann/asc-devkit), a median of 1.16 in an H800 training profile.
pub(crate) const INTERFERENCE: f64 = 1.15;

/// Head of a launch without cube cores: fitted on the gather of the fit set, 1.92 us + 0.026 us a core + 35 us / cores.
const HEAD_NS: f64 = 1920.0;
const HEAD_PER_CORE_NS: f64 = 26.0;
/// Head of a launch with cube cores: 0.5 us on one, 3.7 us on 24 (mirror-cann/asc-devkit, matmul tuning).
const CUBE_HEAD_NS: f64 = 500.0;
const CUBE_HEAD_PER_CORE_NS: f64 = 139.0;
/// Of a cube core's peak, reached by a matmul that is well tiled: fitted on the matmul of the fit set (803 us).
const CUBE_EFFICIENCY: f64 = 0.715;
/// Of a vector core's peak.
const VECTOR_EFFICIENCY: f64 = 0.85;
/// Rows and columns of a matmul's tile: what fills the accumulator buffer (128 KiB of `f32`).
const TILE: [f64; 2] = [128.0, 256.0];
/// Least length of a piece of `k` when a product is split along it.
const SPLIT_K: f64 = 512.0;
/// Least bytes that a vector core is given: a few of the 32-byte blocks that its buffer is filled by.
const BLOCK_BYTES: f64 = 8192.0;
/// Pieces of this many bytes reach half of the memory's rate: single rows of 128 bytes reach 0.37 (mirror-cann/asc-devkit,
/// data copy).
const HALF_RATE_BYTES: f64 = 185.0;
/// Latency of an all-to-all, and what each rank adds: 116 to 132 us for 128 tokens among 8, 0.9 us a rank.
const ALL_TO_ALL_NS: f64 = 63_000.0;
const ALL_TO_ALL_PER_RANK_NS: f64 = 900.0;
/// Of all links together, what an all-to-all among 8 reaches, and how it falls with the ranks: fitted on dispatch and
/// combine among 8 and 64 (146, 81, 125, 91 GB/s).
const ALL_TO_ALL_EFFICIENCY: f64 = 0.689;
const ALL_TO_ALL_DECAY: f64 = 0.2175;
/// Latency of a sum over 8 devices of an A2 server, and what it reaches of all links together: fitted on 64 MiB (1071 us).
const ALL_REDUCE_NS: f64 = 14_800.0;
const ALL_REDUCE_EFFICIENCY: f64 = 0.567;

/// What an operator of `kind` costs alone on `cores` of `chip`.
///
/// ```
/// use multicore::sim::{self, Chip};
/// use multicore::{CoreKind, Cores, Work};
///
/// // Adding 64 Mi elements of 2 bytes is bound by memory: half of the vector cores are enough.
/// let chip = Chip::named("910b1")?;
/// let add = Work::new(6.7e7, 4.03e8);
/// let on = |vector| sim::cost(&chip, CoreKind::Vector, &add, Cores { cube: 0, vector }).total_ns();
/// assert!(on(24) < 1.06 * on(48));
/// # Ok::<(), multicore::Error>(())
/// ```
pub fn cost(chip: &Chip, kind: CoreKind, work: &Work, cores: Cores) -> Cost {
    let cost = match (kind, work.pattern) {
        (_, Pattern::AllToAll { sent, ranks }) => all_to_all(chip, sent, ranks, cores),
        (_, Pattern::AllReduce { operand, ranks }) => all_reduce(chip, operand, ranks),
        (CoreKind::Host, _) => Cost::fixed(0.0),
        (_, Pattern::Products { batch, m, n, k, element }) => {
            products(chip, Products { batch, m, n, k, element }, work.bytes, cores)
        }
        (CoreKind::Cube, _) => matrix(chip, work, cores),
        (CoreKind::Mix, _) => beside(matrix(chip, work, cores), rows(chip, work, cores)),
        (CoreKind::Vector | CoreKind::Comm, _) => rows(chip, work, cores),
    };
    Cost { head_ns: head_ns(kind, cores), ..cost }
}

/// How many cores have something to do: as many as there are tiles of products or pieces of rows. `None` when the work
/// does not say.
pub(crate) fn most_blocks(work: &Work) -> Option<u32> {
    let blocks = match work.pattern {
        Pattern::Products { batch, m, n, k, .. } => {
            let tiles = batch * (m / TILE[0]).ceil().max(1.0) * (n / TILE[1]).ceil().max(1.0);
            tiles * (k / SPLIT_K).floor().max(1.0)
        }
        Pattern::Rows | Pattern::Pieces { .. } if work.bytes > 0.0 => (work.bytes / BLOCK_BYTES).ceil(),
        _ => return None,
    };
    // Saturates.
    Some(blocks.max(1.0) as u32)
}

fn head_ns(kind: CoreKind, cores: Cores) -> f64 {
    match kind {
        CoreKind::Cube | CoreKind::Mix => CUBE_HEAD_NS + CUBE_HEAD_PER_CORE_NS * (f64::from(cores.cube) - 1.0).max(0.0),
        CoreKind::Vector | CoreKind::Comm => HEAD_NS + HEAD_PER_CORE_NS * f64::from(cores.vector),
        CoreKind::Host => 0.0,
    }
}

/// What so many cores together read from device memory, in bytes a nanosecond.
fn hbm_rate(chip: &Chip, cores: f64) -> f64 {
    (cores.max(1.0) * chip.core_hbm_bytes * chip.ghz()).min(chip.hbm_gb_s)
}

/// What so many cores together read from the shared cache, in bytes a nanosecond.
fn l2_rate(chip: &Chip, cores: f64) -> f64 {
    (cores.max(1.0) * chip.core_l2_bytes * chip.ghz()).min(chip.l2_gb_s)
}

/// The slower of two that go on side by side.
fn beside(a: Cost, b: Cost) -> Cost {
    Cost { body_ns: a.body_ns.max(b.body_ns), ..a }
}

/// Data that is touched once: from the cache if all of it fits there.
fn rows(chip: &Chip, work: &Work, cores: Cores) -> Cost {
    let c = f64::from(cores.vector.max(1));
    let vector = work.flops / (chip.lanes / 2.0 * chip.ghz() * c) / VECTOR_EFFICIENCY;
    let efficiency = match work.pattern {
        Pattern::Pieces { bytes } => bytes / (bytes + HALF_RATE_BYTES),
        _ => 1.0,
    };
    let (hbm_bytes, l2_bytes) = placed(chip, work.bytes);
    let memory = (hbm_bytes / hbm_rate(chip, c) + l2_bytes / l2_rate(chip, c)) / efficiency.max(0.01);
    Cost { body_ns: vector.max(memory), hbm_bytes, l2_bytes, ..Cost::default() }
}

/// Operations on cube cores of which only the number is known.
fn matrix(chip: &Chip, work: &Work, cores: Cores) -> Cost {
    let c = f64::from(cores.cube.max(1));
    let cube = work.flops / 2.0 / (chip.macs * chip.ghz() * c) / CUBE_EFFICIENCY;
    Cost { body_ns: cube.max(work.bytes / hbm_rate(chip, c)), hbm_bytes: work.bytes, ..Cost::default() }
}

/// Bytes from memory and from the cache.
fn placed(chip: &Chip, bytes: f64) -> (f64, f64) {
    if bytes <= chip.l2_mib * f64::from(1 << 20) { (0.0, bytes) } else { (bytes, 0.0) }
}

struct Products {
    batch: f64,
    m: f64,
    n: f64,
    k: f64,
    element: f64,
}

/// Matrix products: tiles in waves over the cores. Operands come from memory once, and again from the cache.
fn products(chip: &Chip, p: Products, bytes: f64, cores: Cores) -> Cost {
    let c = f64::from(cores.cube.max(1));
    let side = |size: f64, most: f64| ((size / 16.0).ceil().max(1.0) * 16.0).min(most);
    let (rows, cols) = (side(p.m, TILE[0]), side(p.n, TILE[1]));
    let tiles = p.batch * (p.m / rows).ceil().max(1.0) * (p.n / cols).ceil().max(1.0);
    let split = (c / tiles).floor().min((p.k / SPLIT_K).floor()).max(1.0);
    let waves = (tiles * split / c).ceil();
    // 8-bit operands go twice as fast, 32-bit ones at a quarter.
    let macs = chip.macs
        * if p.element <= 1.0 {
            2.0
        } else if p.element <= 2.0 {
            1.0
        } else {
            0.25
        };
    let cube = waves * rows * cols * (p.k / split).ceil() / (macs * chip.ghz()) / CUBE_EFFICIENCY;
    let traffic = tiles * (rows + cols) * p.k * p.element;
    let (hbm_bytes, l2_bytes) = (bytes, (traffic - bytes).max(0.0));
    let memory = hbm_bytes / hbm_rate(chip, c) + l2_bytes / l2_rate(chip, c);
    Cost { body_ns: cube.max(memory), hbm_bytes, l2_bytes, ..Cost::default() }
}

/// What a device sends to the others of its group together, in bytes a nanosecond.
fn link_rate(chip: &Chip, ranks: f64) -> f64 {
    (chip.peer_gb_s * (ranks - 1.0).max(1.0)).min(chip.link_gb_s)
}

/// Every rank sends to every other; vector cores, if any, write what is sent.
fn all_to_all(chip: &Chip, sent: f64, ranks: f64, cores: Cores) -> Cost {
    let links = link_rate(chip, ranks) * ALL_TO_ALL_EFFICIENCY * (8.0 / ranks.max(8.0)).powf(ALL_TO_ALL_DECAY);
    let rate = if cores.vector == 0 { links } else { links.min(hbm_rate(chip, f64::from(cores.vector))) };
    let latency = ALL_TO_ALL_NS + ALL_TO_ALL_PER_RANK_NS * ranks;
    Cost { body_ns: latency + sent / rate, link_bytes: sent, ..Cost::default() }
}

/// A sum over all ranks: each byte leaves and comes back once, but for the own share.
fn all_reduce(chip: &Chip, operand: f64, ranks: f64) -> Cost {
    let moved = 2.0 * (ranks - 1.0).max(0.0) / ranks.max(1.0) * operand;
    Cost {
        body_ns: ALL_REDUCE_NS + moved / (link_rate(chip, ranks) * ALL_REDUCE_EFFICIENCY),
        link_bytes: moved,
        ..Cost::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chip() -> Chip {
        Chip::named("910b1").unwrap()
    }

    fn us(kind: CoreKind, work: Work, cube: u32, vector: u32) -> f64 {
        cost(&chip(), kind, &work, Cores { cube, vector }).total_ns() / 1e3
    }

    /// Both published truths: what is bound by memory or links is as good well below all cores, and cube operators of
    /// decode lose 23 to 57 % on half of them.
    #[test]
    fn half_of_the_cores() {
        let add = Work::new(6.7e7, 4.03e8);
        assert!(us(CoreKind::Vector, add, 0, 26) < 1.01 * us(CoreKind::Vector, add, 0, 48));
        let send = Work::default().with_pattern(Pattern::AllToAll { sent: 2.35e8, ranks: 8.0 });
        assert!(us(CoreKind::Comm, send, 0, 4) < 1.01 * us(CoreKind::Comm, send, 0, 48));
        assert!(us(CoreKind::Comm, send, 0, 1) > 1.5 * us(CoreKind::Comm, send, 0, 4));
        let decode = |m: f64, n: f64, k: f64| {
            let bytes = 2.0 * (m * k + k * n + m * n);
            let work =
                Work::new(2.0 * m * n * k, bytes).with_pattern(Pattern::Products { batch: 1.0, m, n, k, element: 2.0 });
            us(CoreKind::Cube, work, 12, 0) / us(CoreKind::Cube, work, 24, 0)
        };
        for (n, k) in [(6144.0, 1536.0), (7168.0, 2048.0), (4096.0, 7168.0)] {
            let ratio = decode(64.0, n, k);
            assert!((1.23..=1.9).contains(&ratio), "{n} x {k}: {ratio}");
        }
    }

    #[test]
    fn more_of_anything_takes_no_less_time() {
        let chip = chip();
        let of = |flops: f64, bytes: f64, c: u32| {
            cost(&chip, CoreKind::Vector, &Work::new(flops, bytes), Cores { cube: 0, vector: c }).body_ns
        };
        for c in 1..48 {
            assert!(of(1e8, 1e9, c + 1) <= of(1e8, 1e9, c));
            assert!(of(1e8, 1e9, c) <= of(1e8, 2e9, c));
            assert!(of(1e8, 1e9, c) <= of(1e11, 1e9, c));
        }
    }
}
