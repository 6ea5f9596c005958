//! Front ends: text to [`crate::Grammar`].

pub mod ebnf;
pub mod json_schema;
pub mod lark;
pub mod regex;
pub mod structural_tag;
