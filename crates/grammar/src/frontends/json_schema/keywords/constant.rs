//! `const`: this value and no other.

use super::super::documents::Json;
use super::super::expand::{Expander, Schema};
use super::super::values::ValueSet;
use crate::error::Result;

pub(super) fn apply<'b>(
    expander: &mut Expander<'b>,
    _: &Schema<'b>,
    value: &'b Json<'b>,
    set: &mut ValueSet,
) -> Result<()> {
    let one = expander.constant_set(value)?;
    expander.narrow_to(set, &one)
}
