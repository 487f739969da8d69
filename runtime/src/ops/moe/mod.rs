//! A mixture of experts: which experts a token goes to, its rows in the experts' order, and the weighted sum on the way
//! back. The experts themselves are a [`grouped_matmul`](super::grouped_matmul).

mod combine;
mod gate;
mod route;

pub use combine::{moe_collect, moe_combine};
pub use gate::{GateConfig, moe_gate};
pub use route::{MoeRouting, moe_dispatch, moe_permute, moe_route, moe_unpermute};
