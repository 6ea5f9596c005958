//! `minLength`, `maxLength`: the length in code points.

use super::super::documents::Json;
use super::super::expand::{Expander, Schema};
use super::super::values::ValueSet;
use super::super::values::texts::TextSet;
use super::read;
use crate::error::Result;

pub(super) fn minimum(
    expander: &mut Expander<'_>,
    _: &Schema<'_>,
    value: &Json<'_>,
    set: &mut ValueSet,
) -> Result<()> {
    let bounds = TextSet::of_length(read::count(value)?, None);
    expander.narrow_texts(set, &bounds)
}

pub(super) fn maximum(
    expander: &mut Expander<'_>,
    _: &Schema<'_>,
    value: &Json<'_>,
    set: &mut ValueSet,
) -> Result<()> {
    let bounds = TextSet::of_length(0, Some(read::count(value)?));
    expander.narrow_texts(set, &bounds)
}
