//! `type`: one type or a list of them. Beside it `OpenAPI`'s `nullable: true` adds null.

use super::super::documents::{Draft, Json};
use super::super::expand::{Expander, Schema};
use super::super::values::ValueSet;
use super::super::values::numbers::NumberSet;
use super::super::values::texts::TextSet;
use super::read::wanted;
use crate::error::{Error, ErrorKind, Result};

#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "one for each type of JSON")]
struct Types {
    null: bool,
    boolean: bool,
    number: bool,
    integer: bool,
    string: bool,
    array: bool,
    object: bool,
}

impl Types {
    fn add(&mut self, name: &Json<'_>) -> Result<()> {
        match name.as_str().ok_or_else(|| wanted("a string or an array of strings", name))? {
            "null" => self.null = true,
            "boolean" => self.boolean = true,
            "number" => self.number = true,
            "integer" => self.integer = true,
            "string" => self.string = true,
            "array" => self.array = true,
            "object" => self.object = true,
            other => {
                let message = format!("there is no type {other:?}");
                return Err(Error::new(ErrorKind::Invalid, message)
                    .with_help("the types are null, boolean, number, integer, string, array and object"));
            }
        }
        Ok(())
    }
}

pub(super) fn apply(
    expander: &mut Expander<'_>,
    schema: &Schema<'_>,
    value: &Json<'_>,
    set: &mut ValueSet,
) -> Result<()> {
    let mut types = Types::default();
    match value {
        Json::Array(names) => names.iter().try_for_each(|name| types.add(name))?,
        name => types.add(name)?,
    }
    types.null |= schema.json.get("nullable").and_then(Json::as_bool) == Some(true);
    set.null &= types.null;
    set.truth &= types.boolean;
    set.falsity &= types.boolean;
    if !types.number {
        set.digits_only |= types.integer && schema.draft == Draft::Draft4;
        let integers = if types.integer { NumberSet::integers() } else { NumberSet::none() };
        set.numbers = set.numbers.intersect(&integers, expander.algebra.languages.budget)?;
    }
    if !types.string {
        set.texts = TextSet::never();
    }
    if !types.array {
        set.arrays.clear();
    }
    if !types.object {
        set.objects.clear();
    }
    Ok(())
}
