//! `DeepSeek`'s DSML: `<｜DSML｜parameter name="K" string="true">V</｜DSML｜parameter>`, where `string` tells whether the
//! value is a string as it is or JSON. V4.1 puts a space before the names of its tags.

use super::{Kind, Nesting, Tags};

pub(super) const TAGS: Tags = Tags {
    before_key: "<｜DSML｜parameter name=\"",
    after_key: "\" string=\"",
    kind,
    after_kind: "\">",
    free_integer: None,
    close: "</｜DSML｜parameter",
    closes_with_key: false,
    quote: "",
    escapes: &[],
    space_after_key: false,
    space_around: true,
    space_around_text: false,
    text_end: "</｜DSML｜parameter>",
    marks: &["｜DSML｜"],
    nesting: Nesting::Json,
};

pub(super) const V4_1_TAGS: Tags = Tags {
    before_key: "<｜DSML｜ parameter name=\"",
    close: "</｜DSML｜ parameter",
    text_end: "</｜DSML｜ parameter>",
    ..TAGS
};

fn kind(kind: Kind) -> &'static str {
    if kind == Kind::Text { "true" } else { "false" }
}
