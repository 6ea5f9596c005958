//! `required`: the keys that must be there, declared or not. Draft 3's boolean inside of a property says nothing here.

use std::rc::Rc;

use super::super::documents::Json;
use super::super::expand::{Expander, Schema};
use super::super::values::ValueSet;
use super::read;
use crate::error::Result;

pub(super) fn apply(
    _: &mut Expander<'_>,
    _: &Schema<'_>,
    value: &Json<'_>,
    set: &mut ValueSet,
) -> Result<()> {
    if matches!(value, Json::Bool(_)) {
        return Ok(());
    }
    let names: Vec<Rc<str>> = read::strings(value)?.into_iter().map(Rc::from).collect();
    for shape in &mut set.objects {
        names.iter().for_each(|name| shape.require(name));
    }
    Ok(())
}
