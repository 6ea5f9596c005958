//! `patternProperties`: the values of all keys that match a regex; of a key that matches several, all of them.

use super::super::documents::Json;
use super::super::expand::{Expander, Schema};
use super::super::values::ValueSet;
use super::super::values::keys::Keys;
use super::read;
use crate::error::Result;

pub(super) fn apply(
    expander: &mut Expander<'_>,
    schema: &Schema<'_>,
    value: &Json<'_>,
    set: &mut ValueSet,
) -> Result<()> {
    for pattern in read::object(value)?.keys() {
        let keys = Keys::matching(expander.pattern(pattern)?, &expander.algebra.languages);
        let value = expander.child_at(schema, "patternProperties", pattern)?;
        for shape in &mut set.objects {
            shape.families.push((keys.clone(), value));
            if expander.tracks_evaluated {
                shape.evaluated.push(keys.clone());
            }
            shape.openness.lists_names = true;
        }
    }
    Ok(())
}
