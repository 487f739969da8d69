//! Each operator against an `f64` reference, on odd and empty shapes, strided views and all types; the messages of what
//! cannot be; and the same bits under every limit and number of workers.

mod elementwise;
mod identity;
mod layout;
mod messages;
mod moe;
mod products;
mod rows;
mod support;
