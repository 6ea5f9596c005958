//! `oneOf`: just one of the branches.
//!
//! That is the union of each branch without the others. Branches are usually told apart by a type or by the value of a
//! key; those that have nothing in common need not be taken out of each other, so that is looked at first.

use std::rc::Rc;

use super::super::documents::Json;
use super::super::expand::{Expander, Schema};
use super::super::values::ValueSet;
use super::super::values::formula::FormulaId;
use super::read;
use crate::error::Result;

pub(super) fn apply(
    expander: &mut Expander<'_>,
    schema: &Schema<'_>,
    value: &Json,
    set: &mut ValueSet,
) -> Result<()> {
    let mut branches = Vec::new();
    for place in 0..read::list(value)?.len() {
        let formula = expander.child(schema, &["oneOf", &place.to_string()])?;
        // What stands beside `oneOf` often tells its branches apart, or makes one of them impossible.
        let mut branch = (*expander.expand(formula)?).clone();
        expander.narrow_to(&mut branch, set)?;
        branches.push((formula, Rc::new(branch)));
    }
    let mut union = ValueSet::never();
    for (place, (formula, branch)) in branches.iter().enumerate() {
        let mut alone = (**branch).clone();
        for (other_place, (other_formula, other)) in branches.iter().enumerate() {
            if place != other_place {
                exclude(expander, &mut alone, (*formula, branch), (*other_formula, other))?;
            }
        }
        union = union.unite(&alone, &mut expander.algebra)?;
    }
    *set = union;
    Ok(())
}

/// Takes `other` out of `alone`, which is a part of `branch`.
fn exclude(
    expander: &mut Expander<'_>,
    alone: &mut ValueSet,
    branch: (FormulaId, &Rc<ValueSet>),
    other: (FormulaId, &Rc<ValueSet>),
) -> Result<()> {
    if branch.0 == other.0 {
        *alone = ValueSet::never();
        return Ok(());
    }
    let mut common = alone.intersect(other.1, &mut expander.algebra)?;
    expander.prune(&mut common)?;
    if expander.is_nothing(&common)? {
        return Ok(());
    }
    let rest = expander.complement(other.1, &common)?;
    expander.narrow_to(alone, &rest)
}
