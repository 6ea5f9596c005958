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
    // Which keys are meant is not known from those that can be written: for a question, any of them.
    let is_open = expander.relaxed.is_some() && names.is_narrowed();
    let languages = &mut expander.algebra.languages;
    let others = if is_open { None } else { Some(Keys::outside(&names, languages)?) };
    for shape in &mut set.objects {
        shape.narrowed_keys.extend(names.is_narrowed().then(|| names.clone()));
        shape.families.extend(others.clone().map(|keys| (keys, FormulaId::NEVER)));
        shape.openness.says_others = true;
    }
    Ok(())
}
