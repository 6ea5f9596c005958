//! Front ends: text to [`crate::Grammar`].

pub mod ebnf;
pub mod regex;
