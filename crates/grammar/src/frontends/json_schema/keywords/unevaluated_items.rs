//! `unevaluatedItems`: the items that no keyword beside it or in a schema applied beside it has looked at.

use super::super::documents::Json;
use super::super::expand::{Expander, Schema};
use super::super::values::ValueSet;
use super::super::values::formula::FormulaId;
use crate::error::Result;

pub(super) fn apply(
    expander: &mut Expander<'_>,
    schema: &Schema<'_>,
    _: &Json<'_>,
    set: &mut ValueSet,
) -> Result<()> {
    let value = expander.child(schema, "unevaluatedItems")?;
    for shape in &mut set.arrays {
        if !shape.evaluated.all {
            let matching = shape.evaluated.matching.clone();
            let rest = expander.algebra.formulas.or_all(matching.into_iter().chain([value]));
            let prefix = vec![FormulaId::ANY; shape.evaluated.prefix as usize];
            shape.narrow_items(&prefix, rest, &mut expander.algebra);
        }
        shape.evaluated.all = true;
        shape.says_rest = true;
    }
    Ok(())
}
