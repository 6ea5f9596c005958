//! `prefixItems`, `items`, `additionalItems`: the first items one by one, and all after those.
//!
//! Up to 2019-09 the list of the first items is `items` itself, and `additionalItems` are those after it. A list is
//! read so in every draft.

use super::super::documents::{Draft, Json};
use super::super::expand::{Expander, Schema};
use super::super::values::ValueSet;
use super::super::values::formula::FormulaId;
use super::read;
use crate::error::Result;

pub(super) fn prefix_items(
    expander: &mut Expander<'_>,
    schema: &Schema<'_>,
    value: &Json<'_>,
    set: &mut ValueSet,
) -> Result<()> {
    listed(expander, schema, "prefixItems", value, set)
}

pub(super) fn items(
    expander: &mut Expander<'_>,
    schema: &Schema<'_>,
    value: &Json<'_>,
    set: &mut ValueSet,
) -> Result<()> {
    if let Json::Array(_) = value {
        return listed(expander, schema, "items", value, set);
    }
    let prefix = match schema.json.get("prefixItems") {
        Some(prefix) if schema.draft >= Draft::Draft202012 => read::list(prefix)?.len(),
        _ => 0,
    };
    let rest = expander.child(schema, "items")?;
    after(expander, prefix, rest, set);
    Ok(())
}

pub(super) fn additional_items(
    expander: &mut Expander<'_>,
    schema: &Schema<'_>,
    _: &Json<'_>,
    set: &mut ValueSet,
) -> Result<()> {
    let Some(Json::Array(prefix)) = schema.json.get("items") else { return Ok(()) };
    let rest = expander.child(schema, "additionalItems")?;
    after(expander, prefix.len(), rest, set);
    Ok(())
}

fn listed(
    expander: &mut Expander<'_>,
    schema: &Schema<'_>,
    keyword: &str,
    value: &Json<'_>,
    set: &mut ValueSet,
) -> Result<()> {
    let count = read::list(value)?.len();
    let prefix = (0..count).map(|place| expander.child_at(schema, keyword, place));
    let prefix = prefix.collect::<Result<Vec<_>>>()?;
    for shape in &mut set.arrays {
        shape.narrow_items(&prefix, FormulaId::ANY, &mut expander.algebra);
        shape.evaluated.prefix = shape.evaluated.prefix.max(count as u32);
    }
    Ok(())
}

fn after(expander: &mut Expander<'_>, prefix: usize, rest: FormulaId, set: &mut ValueSet) {
    for shape in &mut set.arrays {
        shape.narrow_items(&vec![FormulaId::ANY; prefix], rest, &mut expander.algebra);
        shape.evaluated.all = true;
        shape.says_rest = true;
    }
}
