//! What the examples share. The examples themselves are in `examples/`.

pub mod plot;
