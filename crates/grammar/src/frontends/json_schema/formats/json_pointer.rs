//! JSON Pointers, RFC 6901, and the relative ones of the draft that JSON Schema names.

use super::texts::Texts;
use crate::error::Result;
use crate::ir::ExprId;

/// Reference tokens, each behind a slash. Between slashes stands anything, but `~` only as `~0` or `~1`.
const POINTER: &str = "(?:/(?:[^~]|~[01])*)?";

pub(super) fn json_pointer(texts: &mut Texts<'_>) -> Result<ExprId> {
    texts.pattern(POINTER)
}

pub(super) fn relative_json_pointer(texts: &mut Texts<'_>) -> Result<ExprId> {
    texts.pattern(&format!("(?:0|[1-9][0-9]*)(?:#|{POINTER})"))
}
