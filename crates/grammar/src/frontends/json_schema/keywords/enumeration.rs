//! `enum`: one of the listed values.

use std::collections::BTreeSet;
use std::rc::Rc;

use super::super::documents::Json;
use super::super::expand::{Expander, Schema};
use super::super::values::numbers::NumberSet;
use super::super::values::texts::TextSet;
use super::super::values::{MAX_SHAPES, ValueSet};
use super::read;
use crate::error::{Error, ErrorKind, Result};

pub(super) fn apply<'b>(
    expander: &mut Expander<'b>,
    _: &Schema<'b>,
    value: &'b Json<'b>,
    set: &mut ValueSet,
) -> Result<()> {
    let mut listed = ValueSet::never();
    let mut texts = BTreeSet::new();
    let mut numbers = Vec::new();
    let items = read::list(value)?;
    check_containers(items)?;
    for item in items {
        match item {
            Json::String(text) => {
                texts.insert((&**text).into());
            }
            Json::Null => listed.null = true,
            Json::Bool(true) => listed.truth = true,
            Json::Bool(false) => listed.falsity = true,
            Json::Number(text) => numbers.push(expander.listed_number(text)?),
            other => {
                let one = expander.constant_set(other)?;
                listed = listed.unite(&one, &mut expander.algebra)?;
            }
        }
    }
    listed.numbers = NumberSet::any_of(numbers);
    listed.texts = TextSet::Finite(Rc::new(texts));
    expander.narrow_to(set, &listed)
}

/// Fails if more arrays and objects are listed than a set may have shapes.
fn check_containers(items: &[Json]) -> Result<()> {
    let containers = items.iter().filter(|item| matches!(item, Json::Array(_) | Json::Object(_))).count();
    if containers <= MAX_SHAPES {
        return Ok(());
    }
    let message =
        format!("{containers} arrays and objects are listed, and at most {MAX_SHAPES} can be told apart");
    let help = "describe them with `properties` or `prefixItems`; strings and numbers may be listed by the thousands";
    Err(Error::new(ErrorKind::Limit, message).with_help(help))
}
