//! Sets of JSON values, by type.

pub mod numbers;
