//! Kimi-K3: `<|open|>argument key="K" type="T"<|sep|>V<|close|>argument<|sep|>`, T being the type of the value.
//! A number is `number`; where the schema says nothing, a whole one may be `integer` too.

use super::{Kind, Nesting, Tags};

pub(super) const TAGS: Tags = Tags {
    before_key: "<|open|>argument key=\"",
    after_key: "\" type=\"",
    kind,
    after_kind: "\"<|sep|>",
    free_integer: Some("integer"),
    close: "<|close|>argument<|sep|",
    closes_with_key: false,
    quote: "",
    escapes: &[('&', "&amp;"), ('"', "&quot;")],
    space_after_key: false,
    space_around: true,
    space_around_text: true,
    text_end: "<|close|>argument<|sep|>",
    marks: &[],
    nesting: Nesting::Json,
};

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Text => "string",
        Kind::Null => "null",
        Kind::Boolean => "boolean",
        Kind::Number => "number",
        Kind::Array => "array",
        Kind::Object => "object",
    }
}
