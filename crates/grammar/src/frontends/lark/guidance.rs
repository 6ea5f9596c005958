//! `x-guidance`: how a schema in a Lark text wants to be read and laid out.
//!
//! llguidance takes these options from the top of a schema. Those that mean something here are taken, and the others are
//! refused by name: none is ignored.
//!
//! | option | here |
//! |---|---|
//! | `whitespace_flexible` | any white space between the tokens of JSON, or none but that of the separators |
//! | `item_separator`, `key_separator` | the separators, where white space is not free: texts, not patterns |
//! | `coerce_one_of` | `oneOf` is read as `anyOf` |
//! | `lenient` | what cannot be enforced is left out |

use crate::error::{Error, Result};
use crate::frontends::json_schema::documents::Json;
use crate::frontends::json_schema::{OnUnsupported, Options};

/// The options of a schema in a Lark text: values as they stand, in any order of their keys, unless it says otherwise.
pub(super) fn options(schema: &Json) -> Result<Options> {
    let mut options = Options { strict_mode: false, any_order: true, ..Options::default() };
    let Some(guidance) = schema.get("x-guidance") else { return Ok(options) };
    let Some(guidance) = guidance.as_object() else {
        return Err(Error::unsupported(format!("`x-guidance` is an object, not {}", guidance.type_name())));
    };
    let mut separators = (None, None);
    for (name, value) in guidance.iter() {
        match name {
            "whitespace_flexible" => options.any_whitespace = flag(name, value)?,
            "item_separator" => separators.0 = Some(text(name, value)?),
            "key_separator" => separators.1 = Some(text(name, value)?),
            "coerce_one_of" => options.coerce_one_of = flag(name, value)?,
            "lenient" if flag(name, value)? => options.on_unsupported = OnUnsupported::Warn,
            "lenient" => {}
            _ => return Err(unknown(name)),
        }
    }
    let has_own = |own: &Option<String>, usual: &str| own.as_ref().is_some_and(|own| own != usual);
    if options.any_whitespace && (has_own(&separators.0, ",") || has_own(&separators.1, ":")) {
        return Err(Error::unsupported("`x-guidance` asks for separators where white space is free")
            .with_help("set `whitespace_flexible` to false"));
    }
    let or = |own: Option<String>, usual: &str| own.unwrap_or_else(|| usual.to_owned());
    options.separators = Some((or(separators.0, ","), or(separators.1, ":")));
    Ok(options)
}

fn unknown(name: &str) -> Error {
    Error::unsupported(format!("the option {name:?} of `x-guidance` is not supported"))
        .with_help("these are: whitespace_flexible, item_separator, key_separator, coerce_one_of, lenient")
}

fn flag(name: &str, value: &Json) -> Result<bool> {
    value.as_bool().ok_or_else(|| {
        Error::unsupported(format!(
            "the option {name:?} of `x-guidance` is true or false, not {}",
            value.type_name()
        ))
    })
}

/// A separator. llguidance reads a pattern, so what would be more than a text in one is refused.
fn text(name: &str, value: &Json) -> Result<String> {
    let is_plain = |text: &&str| !text.contains(|c: char| "\\^$.|?*+()[]{}".contains(c));
    value.as_str().filter(is_plain).map(str::to_owned).ok_or_else(|| {
        Error::unsupported(format!("the option {name:?} of `x-guidance` is a text without marks of patterns"))
    })
}
