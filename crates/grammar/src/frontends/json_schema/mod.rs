//! JSON Schema: a schema as a set of values, and the set as a grammar.

pub mod formats;
