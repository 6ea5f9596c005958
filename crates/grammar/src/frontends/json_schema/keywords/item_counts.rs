//! `minItems`, `maxItems`.

use super::super::documents::Json;
use super::super::expand::{Expander, Schema};
use super::super::values::ValueSet;
use super::read;
use crate::error::Result;

pub(super) fn minimum(
    _: &mut Expander<'_>,
    _: &Schema<'_>,
    value: &Json<'_>,
    set: &mut ValueSet,
) -> Result<()> {
    let count = read::count(value)?;
    set.arrays.iter_mut().for_each(|shape| shape.min = shape.min.max(count));
    Ok(())
}

pub(super) fn maximum(
    _: &mut Expander<'_>,
    _: &Schema<'_>,
    value: &Json<'_>,
    set: &mut ValueSet,
) -> Result<()> {
    let count = read::count(value)?;
    set.arrays.iter_mut().for_each(|shape| shape.max = Some(shape.max.map_or(count, |max| max.min(count))));
    set.arrays.retain(|shape| shape.min <= count);
    Ok(())
}
