//! JSON Schema.

pub mod values;
