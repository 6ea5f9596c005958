//! `enum`: one of the listed values.

use std::collections::BTreeSet;
use std::rc::Rc;

use super::super::documents::Json;
use super::super::expand::{Expander, Schema};
use super::super::values::ValueSet;
use super::super::values::numbers::{Decimal, NumberSet};
use super::super::values::texts::TextSet;
use super::read;
use crate::error::Result;

pub(super) fn apply<'b>(
    expander: &mut Expander<'b>,
    _: &Schema<'b>,
    value: &'b Json<'b>,
    set: &mut ValueSet,
) -> Result<()> {
    let mut listed = ValueSet::never();
    let mut texts = BTreeSet::new();
    let mut numbers = Vec::new();
    for item in read::list(value)? {
        match item {
            Json::String(text) => {
                texts.insert((&**text).into());
            }
            Json::Null => listed.null = true,
            Json::Bool(true) => listed.truth = true,
            Json::Bool(false) => listed.falsity = true,
            Json::Number(text) => numbers.push(Decimal::parse(text)?),
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
