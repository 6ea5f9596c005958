//! `allOf`: the intersection.

use super::super::diagnosis;
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
    for (place, json) in read::list(value)?.iter().enumerate() {
        let branch = expander.child_at(schema, "allOf", place)?;
        expander.narrow(set, branch)?;
        if expander.is_relaxed(json) {
            diagnosis::open(set);
        }
    }
    Ok(())
}
