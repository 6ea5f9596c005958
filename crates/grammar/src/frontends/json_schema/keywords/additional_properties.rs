//! `additionalProperties`: the values of the keys that neither `properties` nor `patternProperties` beside it speaks of.

use std::rc::Rc;

use super::super::documents::Json;
use super::super::expand::{Expander, Schema};
use super::super::values::ValueSet;
use super::super::values::formula::FormulaId;
use super::super::values::keys::{KeyList, Keys};
use super::read;
use crate::error::Result;

pub(super) fn apply(
    expander: &mut Expander<'_>,
    schema: &Schema<'_>,
    _: &Json<'_>,
    set: &mut ValueSet,
) -> Result<()> {
    let value = expander.child(schema, "additionalProperties")?;
    if set.objects.is_empty() {
        return Ok(());
    }
    let keys = Keys::Unlisted(Rc::new(listed(expander, schema)?));
    for shape in &mut set.objects {
        if value != FormulaId::ANY {
            shape.families.push((keys.clone(), value));
        }
        if expander.tracks_evaluated {
            shape.evaluated.push(keys.clone());
        }
        shape.openness.says_others = true;
    }
    Ok(())
}

/// The names and patterns that the schema itself lists.
fn listed(expander: &mut Expander<'_>, schema: &Schema<'_>) -> Result<KeyList> {
    let mut list = KeyList::default();
    if let Some(properties) = schema.json.get("properties") {
        list.names = read::object(properties)?.keys().map(Rc::from).collect();
    }
    if let Some(patterns) = schema.json.get("patternProperties") {
        for pattern in read::object(patterns)?.keys() {
            let pattern = expander.pattern(pattern)?;
            list.add_pattern(pattern, &expander.algebra.languages);
        }
    }
    Ok(list)
}
