//! JSON Schema.

pub mod documents;
