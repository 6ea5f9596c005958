//! Reading the values of keywords, with errors that say what a keyword wants.

use super::super::documents::Json;
use super::super::values::numbers::Decimal;
use crate::error::{Error, ErrorKind, Result};

/// What a keyword wants and did not get.
pub(super) fn wanted(what: &str, got: &Json<'_>) -> Error {
    Error::new(ErrorKind::Invalid, format!("the value must be {what}, not {}", got.type_name()))
}

/// A count: a whole number that is not negative, `2.0` included; one beyond 32 bits is as good as the largest.
pub(super) fn count(value: &Json<'_>) -> Result<u32> {
    let text = value.as_number().ok_or_else(|| wanted("a number", value))?;
    if let Ok(count) = text.parse::<u32>() {
        return Ok(count);
    }
    let number = Decimal::parse(text)?;
    if !number.is_integer() || number.is_negative() {
        let message = format!("{text} is not a whole number that is at least 0");
        return Err(Error::new(ErrorKind::Invalid, message));
    }
    Ok(number.to_string().parse().unwrap_or(u32::MAX))
}

/// A number.
pub(super) fn number(value: &Json<'_>) -> Result<Decimal> {
    Decimal::parse(value.as_number().ok_or_else(|| wanted("a number", value))?)
}

/// A boolean.
pub(super) fn boolean(value: &Json<'_>) -> Result<bool> {
    value.as_bool().ok_or_else(|| wanted("a boolean", value))
}

/// A string.
pub(super) fn string<'j>(value: &'j Json<'_>) -> Result<&'j str> {
    value.as_str().ok_or_else(|| wanted("a string", value))
}

/// A list.
pub(super) fn list<'j>(value: &'j Json<'j>) -> Result<&'j [Json<'j>]> {
    value.as_array().ok_or_else(|| wanted("an array", value))
}

/// A list of strings.
pub(super) fn strings<'j>(value: &'j Json<'j>) -> Result<Vec<&'j str>> {
    list(value)?.iter().map(string).collect()
}

/// An object.
pub(super) fn object<'j>(value: &'j Json<'j>) -> Result<&'j super::super::documents::Object<'j>> {
    value.as_object().ok_or_else(|| wanted("an object", value))
}
