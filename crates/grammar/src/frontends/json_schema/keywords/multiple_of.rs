//! `multipleOf`: a whole multiple of a positive number, exactly, as decimals.

use super::super::documents::Json;
use super::super::expand::{Expander, Schema};
use super::super::values::ValueSet;
use super::super::values::numbers::NumberSet;
use super::read;
use crate::error::Result;

pub(super) fn apply(
    expander: &mut Expander<'_>,
    _: &Schema<'_>,
    value: &Json<'_>,
    set: &mut ValueSet,
) -> Result<()> {
    let step = read::number(value)?;
    let multiples = NumberSet::multiple_of(&step)?;
    set.numbers = set.numbers.intersect(&multiples, expander.algebra.languages.budget)?;
    Ok(())
}
