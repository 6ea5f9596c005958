//! `propertyNames`: a schema for the keys, as strings.

use super::super::documents::Json;
use super::super::expand::{Expander, Schema};
use super::super::values::ValueSet;
use super::super::values::formula::FormulaId;
use super::super::values::keys::Keys;
use crate::error::Result;

pub(super) fn apply(
    expander: &mut Expander<'_>,
    schema: &Schema<'_>,
    _: &Json<'_>,
    set: &mut ValueSet,
) -> Result<()> {
    let formula = expander.child(schema, "propertyNames")?;
    let names = expander.expand(formula)?.texts.clone();
    if names.is_any() || set.objects.is_empty() {
        return Ok(());
    }
    let languages = &mut expander.algebra.languages;
    let (others, is_narrowed) = (Keys::outside(&names, languages)?, names.is_narrowed());
    for shape in &mut set.objects {
        shape.has_narrowed_keys |= is_narrowed;
        shape.families.push((others.clone(), FormulaId::NEVER));
        shape.openness.says_others = true;
    }
    Ok(())
}
