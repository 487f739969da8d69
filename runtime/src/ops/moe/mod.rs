//! A mixture of experts: which experts a token goes to, its rows in the experts' order, and the weighted sum on the way
//! back. The experts themselves are a [`grouped_matmul`](super::grouped_matmul).
//!
//! ```
//! use multicore::ops::GateConfig;
//! use multicore::prelude::*;
//!
//! # fn main() -> Result<()> {
//! // Two tokens, three experts, each token to its two best.
//! let config = GateConfig { experts: 3, groups: 1, topk_groups: 1, top_k: 2, route_scale: 1.0 };
//! let logits = Tensor::from_slice(&[0.0f32, 9.0, 9.0, 9.0, 9.0, 0.0], &[2, 3])?;
//! let (weights, experts) = logits.moe_gate(None, &config)?;
//! assert_eq!(experts.to_vec::<i32>()?, [1, 2, 0, 1]);
//!
//! let x = Tensor::from_slice(&[10.0f32, 20.0], &[2, 1])?;
//! let (rows, routing) = x.moe_permute(&experts, config.experts)?;
//! assert_eq!(rows.to_vec::<f32>()?, [20.0, 10.0, 20.0, 10.0]);
//! assert_eq!(routing.offsets.to_vec::<i32>()?, [0, 1, 3, 4]);
//!
//! // Experts that change nothing: the weights of a token add up to 1.
//! assert_eq!(rows.moe_combine(&routing, &weights)?.to_vec::<f32>()?, [10.0, 20.0]);
//! # Ok(())
//! # }
//! ```

mod combine;
mod gate;
mod route;

pub use combine::moe_combine;
pub use gate::{GateConfig, moe_gate};
pub use route::{MoeRouting, moe_dispatch, moe_permute, moe_route, moe_unpermute};
