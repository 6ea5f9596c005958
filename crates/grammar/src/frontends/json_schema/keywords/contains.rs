//! `contains` with `minContains` and `maxContains`: how many items are of a schema.

use super::super::documents::{Draft, Json};
use super::super::expand::{Expander, Schema};
use super::super::values::ValueSet;
use super::super::values::arrays::Contains;
use super::super::values::formula::FormulaId;
use super::read;
use crate::error::Result;

pub(super) fn apply(
    expander: &mut Expander<'_>,
    schema: &Schema<'_>,
    _: &Json<'_>,
    set: &mut ValueSet,
) -> Result<()> {
    let value = expander.child(schema, "contains")?;
    let bound = |name| match schema.json.get(name) {
        Some(count) if schema.draft >= Draft::Draft201909 && !expander.is_relaxed(count) => {
            read::count(count).map(Some)
        }
        _ => Ok(None),
    };
    let (min, max) = (bound("minContains")?.unwrap_or(1), bound("maxContains")?);
    for shape in &mut set.arrays {
        if value == FormulaId::ANY {
            shape.min = shape.min.max(min);
            shape.max = shape.max.into_iter().chain(max).min();
        } else if min > 0 || max.is_some() {
            shape.contains.push(Contains { value, from: 0, min, max });
        }
        if schema.draft >= Draft::Draft202012 {
            shape.evaluated.matching.push(value);
        }
    }
    set.arrays
        .retain(|shape| shape.max.is_none_or(|most| most >= shape.min) && max.is_none_or(|max| max >= min));
    Ok(())
}
