//! `MiniMax`: `<parameter name="K">V</parameter>`, and in M3, nested, with the key as the tag: each tag is preceded by the
//! mark `]<]minimax[>[`, and the items of an array are tags named `item`.

use super::{Nesting, Tags, no_kind};

pub(super) const TAGS: Tags = Tags {
    before_key: "<parameter name=\"",
    after_key: "\">",
    kind: no_kind,
    after_kind: "",
    free_integer: None,
    close: "</parameter",
    closes_with_key: false,
    quote: "",
    escapes: &[],
    space_after_key: false,
    space_around: true,
    space_around_text: true,
    text_end: "</parameter>",
    marks: &["<parameter", "</parameter>", "<invoke", "</invoke>", "minimax:tool_call>"],
    nesting: Nesting::Json,
};

pub(super) const M3_TAGS: Tags = Tags {
    before_key: "]<]minimax[>[<",
    after_key: ">",
    kind: no_kind,
    after_kind: "",
    free_integer: None,
    close: "]<]minimax[>[</",
    closes_with_key: true,
    quote: "",
    escapes: &[],
    space_after_key: false,
    space_around: false,
    space_around_text: false,
    text_end: "]<]minimax[>[",
    marks: &["]<]minimax["],
    nesting: Nesting::Tags { item: "]<]minimax[>[<item>", item_close: "]<]minimax[>[</item>" },
};
