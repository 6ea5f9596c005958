//! `multipleOf`: a whole multiple of a positive number, exactly, as decimals.

use super::super::documents::Json;
use super::super::expand::{Expander, Schema};
use super::super::values::ValueSet;
use super::super::values::numbers::NumberSet;
use super::read;
use crate::error::{Error, ErrorKind, Result};

pub(super) fn apply(
    _: &mut Expander<'_>,
    _: &Schema<'_>,
    value: &Json,
    set: &mut ValueSet,
) -> Result<()> {
    let step = read::number(value)?;
    if !step.is_positive() {
        return Err(Error::new(ErrorKind::Invalid, "the value must be greater than 0"));
    }
    set.numbers = set.numbers.intersect(&NumberSet::multiple_of(&step))?;
    Ok(())
}
