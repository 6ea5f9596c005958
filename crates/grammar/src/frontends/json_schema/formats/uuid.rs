//! UUIDs. Version and variant are not looked at: RFC 4122 leaves the meaning of their other values to later documents.

use super::texts::Texts;
use crate::error::Result;
use crate::ir::ExprId;

pub(super) fn uuid(texts: &mut Texts<'_>) -> Result<ExprId> {
    texts.pattern("[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
}
