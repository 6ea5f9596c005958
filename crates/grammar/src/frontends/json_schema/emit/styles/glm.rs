//! GLM: `<arg_key>K</arg_key><arg_value>V</arg_value>`, a key and a value being tags of their own.

use super::{Nesting, Tags, no_kind};

pub(super) const TAGS: Tags = Tags {
    before_key: "<arg_key>",
    after_key: "</arg_key>",
    kind: no_kind,
    after_kind: "<arg_value>",
    free_integer: None,
    close: "</arg_value",
    closes_with_key: false,
    quote: "",
    escapes: &[],
    space_after_key: true,
    space_around: true,
    space_around_text: true,
    text_end: "</arg_value>",
    marks: &["<arg_key>", "<arg_value>", "</arg_value>", "<tool_call>", "</tool_call>"],
    nesting: Nesting::Json,
};
