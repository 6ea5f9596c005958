//! `allOf`: the intersection.

use super::super::documents::Json;
use super::super::expand::{Expander, Schema};
use super::super::values::ValueSet;
use super::read;
use crate::error::Result;

pub(super) fn apply(
    expander: &mut Expander<'_>,
    schema: &Schema<'_>,
    value: &Json<'_>,
    set: &mut ValueSet,
) -> Result<()> {
    for place in 0..read::list(value)?.len() {
        let branch = expander.child_at(schema, "allOf", place)?;
        expander.narrow(set, branch)?;
    }
    Ok(())
}
