//! `$ref`, `$dynamicRef`, `$recursiveRef`: the schema at another place, conjoined with what stands beside it.

use super::super::documents::{Json, Located};
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
    let target = expander.documents.follow(schema.at, read::string(value)?)?;
    join(expander, target, set)
}

pub(super) fn apply_dynamic(
    expander: &mut Expander<'_>,
    schema: &Schema<'_>,
    value: &Json<'_>,
    set: &mut ValueSet,
) -> Result<()> {
    let target = expander.documents.follow_dynamic(schema.at, read::string(value)?)?;
    join(expander, target, set)
}

pub(super) fn apply_recursive(
    expander: &mut Expander<'_>,
    schema: &Schema<'_>,
    value: &Json<'_>,
    set: &mut ValueSet,
) -> Result<()> {
    let target = expander.documents.follow_recursive(schema.at, read::string(value)?)?;
    join(expander, target, set)
}

fn join(expander: &mut Expander<'_>, target: Located, set: &mut ValueSet) -> Result<()> {
    let formula = expander.formula_of(target);
    expander.narrow(set, formula)
}
