//! Holds nothing: the tests are in `tests/`.
