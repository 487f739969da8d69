//! Modelled chips: what the device `sim` computes times from.

mod chip;
mod collective;
mod cost;
mod table;

pub(crate) use crate::kernel::Pattern;
pub use chip::Chip;
pub use collective::{Group, Meeting};
pub(crate) use cost::INTERFERENCE;
pub use cost::{Cost, cost};
pub use table::CostTable;
