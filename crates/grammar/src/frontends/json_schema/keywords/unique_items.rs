//! `uniqueItems`: no two items are equal as JSON values.

use super::super::documents::Json;
use super::super::expand::{Expander, Schema};
use super::super::values::ValueSet;
use super::read;
use crate::error::Result;

pub(super) fn apply(
    _: &mut Expander<'_>,
    _: &Schema<'_>,
    value: &Json<'_>,
    set: &mut ValueSet,
) -> Result<()> {
    if read::boolean(value)? {
        set.arrays.iter_mut().for_each(|shape| shape.unique = true);
    }
    Ok(())
}
