//! Modelled chips: what the device `sim` computes times from.

mod chip;
mod collective;
mod cost;
mod table;

pub(crate) use crate::kernel::Pattern;
pub use chip::Chip;
pub use collective::{Group, Meeting};
pub use cost::{Cost, cost};
pub(crate) use cost::{INTERFERENCE, most_blocks};
pub use table::CostTable;
