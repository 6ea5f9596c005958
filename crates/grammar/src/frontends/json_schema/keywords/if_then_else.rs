//! `if`, `then`, `else`: what is in the first is in the second, and what is not is in the third.

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
    let condition = expander.child(schema, "if")?;
    let branch = |expander: &mut Expander<'_>, name| match schema.json.get(name) {
        Some(_) => expander.child(schema, name),
        None => Ok(FormulaId::ANY),
    };
    let (then, otherwise) = (branch(expander, "then")?, branch(expander, "else")?);
    let is_idle = then == FormulaId::ANY && otherwise == FormulaId::ANY;
    if is_idle && !expander.tracks_evaluated {
        return Ok(());
    }
    let formulas = &mut expander.algebra.formulas;
    let broken = formulas.not(condition);
    let mut union = expander.both(condition, then)?;
    let other = expander.both(broken, otherwise)?;
    union = union.unite(&other, &mut expander.algebra)?;
    if is_idle {
        // A condition without branches rules nothing out; it says what was evaluated.
        union = ValueSet { arrays: union.arrays, objects: union.objects, ..ValueSet::any() };
    }
    expander.narrow_to(set, &union)
}
