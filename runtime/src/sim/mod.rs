//! Modelled chips: what the device `sim` computes times from.

mod chip;
mod cost;
mod table;

pub(crate) use crate::kernel::Pattern;
pub use chip::Chip;
pub use cost::{Cost, cost};
pub(crate) use cost::INTERFERENCE;
pub use table::CostTable;
