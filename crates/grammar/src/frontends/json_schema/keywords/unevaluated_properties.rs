//! `unevaluatedProperties`: the keys that no keyword beside it or in a schema applied beside it has looked at.

use super::super::documents::Json;
use super::super::expand::{Expander, Schema};
use super::super::values::ValueSet;
use super::super::values::keys::Keys;
use crate::error::Result;

pub(super) fn apply(
    expander: &mut Expander<'_>,
    schema: &Schema<'_>,
    _: &Json<'_>,
    set: &mut ValueSet,
) -> Result<()> {
    let value = expander.child(schema, "unevaluatedProperties")?;
    for shape in &mut set.objects {
        let keys = Keys::NoneOf(shape.evaluated.as_slice().into());
        shape.families.push((keys, value));
        shape.evaluated = vec![Keys::all()];
        shape.openness.says_others = true;
    }
    Ok(())
}
