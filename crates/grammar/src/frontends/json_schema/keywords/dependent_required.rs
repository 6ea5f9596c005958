//! `dependentRequired`: with a key, other keys must be there too.

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
    for (name, others) in read::object(value)?.iter() {
        require(name, &read::strings(others)?, set);
    }
    Ok(())
}

/// With the key `name`, `others` must be there too.
pub(super) fn require(name: &str, others: &[&str], set: &mut ValueSet) {
    let name: Rc<str> = Rc::from(name);
    for shape in &mut set.objects {
        for &other in others {
            if *other != *name {
                shape.implies.push((Rc::clone(&name), Rc::from(other)));
            }
        }
    }
}
