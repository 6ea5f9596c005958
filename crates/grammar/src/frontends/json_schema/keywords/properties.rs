//! `properties`: the values of the keys that it names, in the order in which it names them.

use std::rc::Rc;

use super::super::documents::Json;
use super::super::expand::{Expander, Schema};
use super::super::values::ValueSet;
use super::super::values::formula::FormulaId;
use super::super::values::keys::{KeyList, Keys, NameMap};
use super::read;
use crate::error::Result;

pub(super) fn apply(
    expander: &mut Expander<'_>,
    schema: &Schema<'_>,
    value: &Json<'_>,
    set: &mut ValueSet,
) -> Result<()> {
    let object = read::object(value)?;
    if set.objects.is_empty() {
        return Ok(());
    }
    let mut named: NameMap<FormulaId> = NameMap::default();
    named.reserve(object.len());
    for name in object.keys() {
        let value = expander.child_at(schema, "properties", name)?;
        named.insert(Rc::from(name), value);
    }
    let keys = expander.tracks_evaluated.then(|| {
        Keys::Listed(Rc::new(KeyList { names: named.keys().cloned().collect(), patterns: Vec::new() }))
    });
    let named = Rc::new(named);
    for shape in &mut set.objects {
        if shape.named.is_empty() {
            shape.named = Rc::clone(&named);
        } else {
            named.iter().for_each(|(name, &value)| shape.narrow_named(name, value, &mut expander.algebra));
        }
        shape.evaluated.extend(keys.clone());
        shape.openness.lists_names = true;
    }
    Ok(())
}
