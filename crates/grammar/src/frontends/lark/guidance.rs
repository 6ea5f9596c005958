//! `x-guidance`: how a schema in a Lark text wants to be read and laid out.
//!
//! llguidance takes these options from the top of a schema. Those that mean something here are taken, and the others are
//! refused by name: none is ignored.
//!
//! | option | here |
//! |---|---|
//! | `whitespace_flexible` | any white space between the tokens of JSON, or none but that of the separators |
//! | `whitespace_pattern` | a pattern: what may stand, once, between two tokens, whatever `whitespace_flexible` says |
//! | `item_separator`, `key_separator` | patterns, in place of the comma and the colon |
//! | `coerce_one_of` | `oneOf` is read as `anyOf` |
//! | `lenient` | what cannot be enforced is left out |

use crate::error::{Error, Result};
use crate::frontends::json_schema::documents::Json;
use crate::frontends::json_schema::{OnUnsupported, Options, Spelling};

/// The options of a schema in a Lark text: values as they stand, with their keys in the order in which the schema
/// declares them, as llguidance has it.
pub(super) fn options(schema: &Json<'_>, spelling: Spelling) -> Result<Options> {
    let mut options = Options { strict_mode: false, any_order: false, spelling, ..Options::default() };
    let Some(guidance) = schema.get("x-guidance") else { return Ok(options) };
    let Some(guidance) = guidance.as_object() else {
        return Err(Error::unsupported(format!("`x-guidance` is an object, not {}", guidance.type_name())));
    };
    options.separators = Some((",".to_owned(), ":".to_owned()));
    let patterns = &mut options.patterns;
    for (name, value) in guidance.iter() {
        match name {
            "whitespace_flexible" => options.any_whitespace = flag(name, value)?,
            "whitespace_pattern" => patterns.whitespace = pattern(name, value)?,
            "item_separator" => patterns.item_separator = pattern(name, value)?,
            "key_separator" => patterns.key_separator = pattern(name, value)?,
            "coerce_one_of" => options.coerce_one_of = flag(name, value)?,
            "lenient" if flag(name, value)? => options.on_unsupported = OnUnsupported::Warn,
            "lenient" => {}
            _ => return Err(unknown(name)),
        }
    }
    Ok(options)
}

fn unknown(name: &str) -> Error {
    Error::unsupported(format!("the option {name:?} of `x-guidance` is not supported"))
        .with_help(
            "these are: whitespace_flexible, whitespace_pattern, item_separator, key_separator, coerce_one_of, lenient",
        )
}

fn flag(name: &str, value: &Json<'_>) -> Result<bool> {
    value.as_bool().ok_or_else(|| {
        Error::unsupported(format!(
            "the option {name:?} of `x-guidance` is true or false, not {}",
            value.type_name()
        ))
    })
}

/// A pattern; `null` is as if it were not there.
fn pattern(name: &str, value: &Json<'_>) -> Result<Option<String>> {
    match value {
        Json::Null => Ok(None),
        Json::String(text) => Ok(Some(String::from(&**text))),
        other => Err(Error::unsupported(format!(
            "the option {name:?} of `x-guidance` is a pattern, not {}",
            other.type_name()
        ))),
    }
}
