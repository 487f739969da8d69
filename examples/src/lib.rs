//! Holds nothing: the examples are in `examples/`.
