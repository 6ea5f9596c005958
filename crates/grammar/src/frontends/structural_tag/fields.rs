//! The fields of a format, read by type. A field that may be left out may also be `null`.

use super::path::Path;
use crate::error::{Error, Result};
use crate::frontends::json_schema::documents::{Json, Object};

/// The greatest count that a field may give.
pub(super) const MAX_COUNT: u32 = i32::MAX as u32;

/// An object with the place where it stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields<'j, 'p> {
    pub(super) object: &'j Object<'j>,
    pub(super) path: &'p Path<'p>,
}

impl<'j> Fields<'j, '_> {
    /// The value of a field, unless it is left out.
    pub(super) fn get(&self, key: &str) -> Option<&'j Json<'j>> {
        self.object.get(key).filter(|value| **value != Json::Null)
    }

    /// The value of a field that must be there.
    pub(super) fn need(&self, key: &str) -> Result<&'j Json<'j>> {
        self.get(key).ok_or_else(|| self.path.invalid(format!("the field `{key}` is missing")))
    }

    /// That a field is not what it should be.
    pub(super) fn wrong(&self, key: &str, wanted: &str, found: &Json<'_>) -> Error {
        let message = format!("`{key}` must be {wanted}, not {}", found.type_name());
        self.path.key(key).invalid(message)
    }

    /// A string that must be there.
    pub(super) fn text(&self, key: &str) -> Result<&'j str> {
        let value = self.need(key)?;
        value.as_str().ok_or_else(|| self.wrong(key, "a string", value))
    }

    /// A list that must be there and have an item.
    pub(super) fn list(&self, key: &str) -> Result<&'j [Json<'j>]> {
        let value = self.need(key)?;
        match value.as_array() {
            None => Err(self.wrong(key, "a list", value)),
            Some([]) => Err(self.path.key(key).invalid(format!("`{key}` needs at least one item"))),
            Some(items) => Ok(items),
        }
    }

    /// A list that may be left out.
    pub(super) fn list_or_none(&self, key: &str) -> Result<&'j [Json<'j>]> {
        match self.get(key) {
            None => Ok(&[]),
            Some(value) => value.as_array().ok_or_else(|| self.wrong(key, "a list", value)),
        }
    }

    /// Strings, none of them empty.
    pub(super) fn texts(&self, key: &str, items: &'j [Json<'j>]) -> Result<Vec<Box<str>>> {
        let read = |(at, item): (usize, &Json<'_>)| match item {
            Json::String(text) if !text.is_empty() => Ok((&**text).into()),
            Json::String(_) => {
                Err(self.path.key(key).index(at).invalid(format!("a string of `{key}` is empty")))
            }
            other => {
                let message = format!("`{key}` is a list of strings, not of {}", other.type_name());
                Err(self.path.key(key).index(at).invalid(message))
            }
        };
        items.iter().enumerate().map(read).collect()
    }

    /// The strings that a text may not hold; none if the field is left out.
    pub(super) fn excludes(&self) -> Result<Vec<Box<str>>> {
        self.texts("excludes", self.list_or_none("excludes")?)
    }

    /// A boolean, `default` if it is left out.
    pub(super) fn flag(&self, key: &str, default: bool) -> Result<bool> {
        match self.get(key) {
            None => Ok(default),
            Some(value) => value.as_bool().ok_or_else(|| self.wrong(key, "a boolean", value)),
        }
    }

    /// An integer within 0 and [`MAX_COUNT`], unless it is left out.
    pub(super) fn count(&self, key: &str) -> Result<Option<u32>> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let Some(text) = value.as_number() else { return Err(self.wrong(key, "a number", value)) };
        match text.parse::<u32>() {
            Ok(count) if count <= MAX_COUNT => Ok(Some(count)),
            _ => {
                let message = format!("`{key}` must be an integer from 0 to {MAX_COUNT}, not {text}");
                Err(self.path.key(key).invalid(message))
            }
        }
    }
}
