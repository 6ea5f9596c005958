//! The formats: their names and fields, and a file for each family.

mod compose;
mod dispatch;
mod schema;
mod tag;
mod tags;
mod text;
mod token_tags;
mod tokens;

use super::fields::Fields;
use super::lowering::{Context, Lowered, Lowering};
use crate::error::Result;
use crate::frontends::ebnf::suggest;

pub(super) use tag::Tag;

/// A format.
pub(super) struct Format {
    /// The value of `type`.
    name: &'static str,
    /// The fields that must be there.
    required: &'static [&'static str],
    /// The fields that may be left out.
    optional: &'static [&'static str],
    /// Lowers an object of this format.
    pub(super) lower: fn(&mut Lowering<'_>, &Fields<'_, '_>, Context<'_>) -> Result<Lowered>,
}

/// All formats. An object without a `type` is of the first one that has its fields.
const FORMATS: &[Format] = &[
    Format { name: "tag", required: &["begin", "content", "end"], optional: &[], lower: tag::lower },
    Format { name: "const_string", required: &["value"], optional: &[], lower: text::const_string },
    Format {
        name: "json_schema",
        required: &["json_schema"],
        optional: &["style", "any_order", "max_whitespace_cnt", "excludes"],
        lower: schema::json_schema,
    },
    Format {
        name: "any_text",
        required: &[],
        optional: &["excludes", "max_tokens", "max_chars"],
        lower: text::any_text,
    },
    Format { name: "sequence", required: &["elements"], optional: &[], lower: compose::sequence },
    Format { name: "or", required: &["elements"], optional: &[], lower: compose::or },
    Format {
        name: "triggered_tags",
        required: &["triggers", "tags"],
        optional: &["at_least_one", "stop_after_first", "excludes"],
        lower: tags::triggered_tags,
    },
    Format {
        name: "tags_with_separator",
        required: &["tags", "separator"],
        optional: &["at_least_one", "stop_after_first"],
        lower: tags::tags_with_separator,
    },
    Format { name: "optional", required: &["content"], optional: &[], lower: compose::optional },
    Format { name: "plus", required: &["content"], optional: &[], lower: compose::plus },
    Format { name: "star", required: &["content"], optional: &[], lower: compose::star },
    Format { name: "repeat", required: &["min", "max", "content"], optional: &[], lower: compose::repeat },
    Format {
        name: "dispatch",
        required: &["rules"],
        optional: &["loop", "excludes"],
        lower: dispatch::dispatch,
    },
    Format {
        name: "token_dispatch",
        required: &["rules"],
        optional: &["loop", "exclude_tokens"],
        lower: token_tags::token_dispatch,
    },
    Format { name: "grammar", required: &["grammar"], optional: &[], lower: text::grammar },
    Format { name: "regex", required: &["pattern"], optional: &[], lower: text::regex },
    Format { name: "qwen_xml_parameter", required: &["json_schema"], optional: &[], lower: schema::qwen_xml },
    Format { name: "token", required: &["token"], optional: &[], lower: tokens::token },
    Format {
        name: "exclude_token",
        required: &[],
        optional: &["exclude_tokens"],
        lower: tokens::exclude_token,
    },
    Format {
        name: "any_tokens",
        required: &[],
        optional: &["exclude_tokens", "max_tokens"],
        lower: tokens::any_tokens,
    },
    Format {
        name: "token_triggered_tags",
        required: &["trigger_tokens", "tags"],
        optional: &["exclude_tokens", "at_least_one", "stop_after_first"],
        lower: token_tags::token_triggered_tags,
    },
];

/// The names of all formats.
pub fn names() -> impl Iterator<Item = &'static str> {
    FORMATS.iter().map(|format| format.name)
}

impl Format {
    fn knows(&self, key: &str) -> bool {
        key == "type" || self.required.contains(&key) || self.optional.contains(&key)
    }

    fn fits(&self, fields: &Fields<'_, '_>) -> bool {
        self.required.iter().all(|key| fields.get(key).is_some())
            && fields.object.keys().all(|key| self.knows(key))
    }

    fn check_fields(&self, fields: &Fields<'_, '_>) -> Result<()> {
        for &key in self.required {
            fields.need(key)?;
        }
        let Some(stranger) = fields.object.keys().find(|key| !self.knows(key)) else { return Ok(()) };
        let error =
            fields.path.invalid(format!("a format of type {:?} has no field {stranger:?}", self.name));
        let known = self.required.iter().chain(self.optional).copied();
        Err(match suggest::nearest(stranger, known) {
            Some(near) => error.with_help(format!("did you mean {near:?}?")),
            None => error,
        })
    }
}

/// The format of an object.
pub(super) fn find(fields: &Fields<'_, '_>) -> Result<&'static Format> {
    let Some(name) = fields.get("type") else {
        if fields.object.keys().next().is_none() {
            let error = fields.path.invalid("the object is empty, and says no format");
            return Err(error.with_help("free text is {\"type\": \"any_text\"}"));
        }
        // Fields that may be left out say too little: `exclude_tokens` alone is of three formats.
        let is_told = |format: &Format| !format.required.is_empty() || fields.get("excludes").is_some();
        let found = FORMATS.iter().find(|format| is_told(format) && format.fits(fields));
        return found.ok_or_else(|| {
            fields.path.invalid("the object has no `type`, and its fields are those of no format")
        });
    };
    let Some(name) = name.as_str() else { return Err(fields.wrong("type", "a string", name)) };
    if let Some(format) = FORMATS.iter().find(|format| format.name == name) {
        return format.check_fields(fields).map(|()| format);
    }
    let error = fields.path.key("type").invalid(format!("there is no format of type {name:?}"));
    Err(match suggest::nearest(name, names()) {
        Some(near) => error.with_help(format!("did you mean {near:?}?")),
        None => error,
    })
}
