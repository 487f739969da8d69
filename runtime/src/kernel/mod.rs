//! Kernels: how an operator is written. The built-in operators and those of authors are made the same way.
//!
//! A kernel says what it is (name, kind of cores, work) and computes one *tile* of its outputs at a time. How many tiles
//! there are follows from the shapes alone; the core limit only decides how many cores share them. So a result never
//! depends on limits, workers or streams.

mod launch;
mod tile;
mod work;

pub use launch::Launch;
pub(crate) use launch::{Launched, OperandInfo, panic_message};
pub use tile::{Input, Output, Tile};
pub use work::{Pattern, Work};

use crate::error::KernelResult;
use crate::limit::{CoreKind, Cores};
use crate::sim::{Chip, Cost, Meeting};

/// An operator's body, run tile by tile on the cores of a device.
///
/// ```
/// use multicore::prelude::*;
///
/// /// y = x²
/// struct Square;
///
/// impl Kernel for Square {
///     fn name(&self) -> &'static str {
///         "Square"
///     }
///     fn kind(&self) -> CoreKind {
///         CoreKind::Vector
///     }
///     fn tile(&self, tile: &mut Tile<'_>) -> KernelResult {
///         let x = tile.input::<f32>(0)?;
///         let mut y = tile.output::<f32>(0)?;
///         for i in 0..y.rows().len() {
///             let row = y.rows().start + i;
///             let cols = y.cols();
///             for (y, x) in y.row_mut(i).iter_mut().zip(&x.row(row)?[cols]) {
///                 *y = x * x;
///             }
///         }
///         Ok(())
///     }
/// }
///
/// # fn main() -> Result<()> {
/// let x = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0], &[2, 2])?;
/// let mut y = Tensor::empty(&[2, 2], DType::F32)?;
/// Launch::new(Square).input(&x).output(&mut y, [1, 2]).submit()?;
/// assert_eq!(y.to_vec::<f32>()?, [1.0, 4.0, 9.0, 16.0]);
/// # Ok(())
/// # }
/// ```
pub trait Kernel: Send + Sync + 'static {
    /// The operator's name, as traces and messages show it.
    fn name(&self) -> &'static str;

    /// The cores it runs on.
    fn kind(&self) -> CoreKind;

    /// How much it computes and moves in all its tiles, for traces and for devices whose time is modelled.
    fn work(&self) -> Work {
        Work::default()
    }

    /// How long a launch takes on so many cores of a chip, for devices whose time is modelled; `None` for what
    /// [`sim::cost`](crate::sim::cost) makes of [`work`](Self::work).
    fn cost(&self, chip: &Chip, cores: Cores) -> Option<Cost> {
        let _ = (chip, cores);
        None
    }

    /// The collective that a launch is part of, for devices whose time is modelled: all its launches go on together once
    /// the last one has started, and hold their cores until then.
    fn meeting(&self) -> Option<Meeting> {
        None
    }

    /// Blocks that must be resident at the same time because they wait for each other; 0 when blocks are independent.
    /// A launch that is granted fewer cores is an error, never a hang.
    fn resident_blocks(&self) -> u32 {
        0
    }

    /// Computes one tile. Called once for each, in any order, by several threads at once.
    ///
    /// # Errors
    /// An error (or a panic) makes every output of the launch unusable: whoever uses one gets this error with the
    /// operator, the stream and the launch site.
    fn tile(&self, tile: &mut Tile<'_>) -> KernelResult;
}
