//! Qwen's coder models, and `MiMo`: `<parameter=K>V</parameter>`.

use super::{Nesting, Tags, no_kind};

pub(super) const TAGS: Tags = Tags {
    before_key: "<parameter=",
    after_key: ">",
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
    marks: &["<parameter=", "<function="],
    nesting: Nesting::Json,
};
