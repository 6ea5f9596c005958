//! Cohere's Command: `<cofl:value name="K" type="T">V</cofl:value>`, nested: a `dict` holds such values, a `list` holds
//! them without a name, `raw` is a string as it is, and `json` is any other scalar.

use super::{Kind, Nesting, Tags};

pub(super) const TAGS: Tags = Tags {
    before_key: "<cofl:value name=\"",
    after_key: "\" type=\"",
    kind,
    after_kind: "\">",
    free_integer: None,
    close: "</cofl:value",
    closes_with_key: false,
    quote: "",
    escapes: &[('&', "&amp;"), ('<', "&lt;"), ('>', "&gt;"), ('"', "&quot;")],
    space_after_key: false,
    space_around: true,
    space_around_text: true,
    text_end: "</cofl:value>",
    marks: &[],
    nesting: Nesting::Tags { item: "<cofl:value type=\"", item_close: "</cofl:value>" },
};

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Text => "raw",
        Kind::Null | Kind::Boolean | Kind::Number => "json",
        Kind::Array => "list",
        Kind::Object => "dict",
    }
}
