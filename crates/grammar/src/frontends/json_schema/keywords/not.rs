//! `not`: the complement.

use super::super::documents::Json;
use super::super::expand::{Expander, Schema};
use super::super::values::ValueSet;
use crate::error::Result;

pub(super) fn apply(
    expander: &mut Expander<'_>,
    schema: &Schema<'_>,
    _: &Json<'_>,
    set: &mut ValueSet,
) -> Result<()> {
    let formula = expander.child(schema, "not")?;
    let other = expander.algebra.formulas.not(formula);
    expander.narrow(set, other)
}
