//! `minimum`, `maximum`, and the exclusive forms: numbers of their own since draft 6, in draft 4 a boolean beside the
//! other two.

use super::super::documents::Json;
use super::super::expand::{Expander, Schema};
use super::super::values::ValueSet;
use super::super::values::numbers::NumberSet;
use super::read;
use crate::error::Result;

fn is_exclusive(schema: &Schema<'_>, name: &str) -> bool {
    schema.json.get(name).and_then(Json::as_bool) == Some(true)
}

fn narrow(expander: &Expander<'_>, set: &mut ValueSet, numbers: &NumberSet) -> Result<()> {
    set.numbers = set.numbers.intersect(numbers, expander.algebra.languages.budget)?;
    Ok(())
}

pub(super) fn minimum(
    expander: &mut Expander<'_>,
    schema: &Schema<'_>,
    value: &Json<'_>,
    set: &mut ValueSet,
) -> Result<()> {
    let bound = read::number(value)?;
    let numbers = if is_exclusive(schema, "exclusiveMinimum") {
        NumberSet::more_than(bound)
    } else {
        NumberSet::at_least(bound)
    };
    narrow(expander, set, &numbers)
}

pub(super) fn maximum(
    expander: &mut Expander<'_>,
    schema: &Schema<'_>,
    value: &Json<'_>,
    set: &mut ValueSet,
) -> Result<()> {
    let bound = read::number(value)?;
    let numbers = if is_exclusive(schema, "exclusiveMaximum") {
        NumberSet::less_than(bound)
    } else {
        NumberSet::at_most(bound)
    };
    narrow(expander, set, &numbers)
}

pub(super) fn exclusive_minimum(
    expander: &mut Expander<'_>,
    _: &Schema<'_>,
    value: &Json<'_>,
    set: &mut ValueSet,
) -> Result<()> {
    match value {
        Json::Bool(_) => Ok(()),
        bound => narrow(expander, set, &NumberSet::more_than(read::number(bound)?)),
    }
}

pub(super) fn exclusive_maximum(
    expander: &mut Expander<'_>,
    _: &Schema<'_>,
    value: &Json<'_>,
    set: &mut ValueSet,
) -> Result<()> {
    match value {
        Json::Bool(_) => Ok(()),
        bound => narrow(expander, set, &NumberSet::less_than(read::number(bound)?)),
    }
}
