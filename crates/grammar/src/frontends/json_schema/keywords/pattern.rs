//! `pattern`: some part of the string matches a regex of ECMA-262.

use super::super::documents::Json;
use super::super::expand::{Expander, Schema};
use super::super::values::ValueSet;
use super::super::values::texts::TextSet;
use super::read;
use crate::error::Result;

pub(super) fn apply(
    expander: &mut Expander<'_>,
    _: &Schema<'_>,
    value: &Json<'_>,
    set: &mut ValueSet,
) -> Result<()> {
    if set.texts.is_never() {
        return Ok(());
    }
    let expr = expander.pattern(read::string(value)?)?;
    expander.narrow_texts(set, &TextSet::of_expr(expr))
}
