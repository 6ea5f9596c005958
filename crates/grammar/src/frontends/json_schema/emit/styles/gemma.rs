//! Gemma 4: `{K:V,K:V}`, nested, with `[V,V]` for arrays. Keys are bare, and strings are quoted by a token of their own,
//! `<|"|>`, so that nothing in them is escaped.

use super::super::super::values::arrays::ArrayShape;
use super::super::super::values::objects::ObjectShape;
use super::super::Emitter;
use super::{Nesting, Tags, no_kind};
use crate::error::Result;
use crate::ir::ExprId;

pub(super) const TAGS: Tags = Tags {
    before_key: "",
    after_key: ":",
    kind: no_kind,
    after_kind: "",
    free_integer: None,
    close: "",
    closes_with_key: false,
    quote: "<|\"|>",
    escapes: &[],
    space_after_key: false,
    space_around: false,
    space_around_text: false,
    text_end: "<|\"|>",
    marks: &["{", "}", "[", "]", ","],
    nesting: Nesting::Brackets,
};

impl Emitter<'_> {
    /// The members of an object, in braces.
    pub(super) fn object_in_braces(&mut self, shape: &ObjectShape, tags: &'static Tags) -> Result<ExprId> {
        let comma = self.builder().bytes(",");
        let (layout, parts) = self.members_as_tags(shape, comma, tags)?;
        let builder = self.builder();
        let members = builder.members(layout, parts.0);
        let (open, close) = (builder.bytes("{"), builder.bytes("}"));
        Ok(builder.seq([open, members, close]))
    }

    /// The items of an array, in brackets.
    pub(super) fn array_in_brackets(&mut self, shape: &ArrayShape, tags: &'static Tags) -> Result<ExprId> {
        let mut prefix = Vec::with_capacity(shape.prefix.len());
        for &formula in &shape.prefix {
            prefix.push(self.item_as_tag(formula, ("", ""), tags)?);
        }
        let rest = self.item_as_tag(shape.rest, ("", ""), tags)?;
        let listed = prefix.len() as u32;
        let (min, most) = (shape.min.saturating_sub(listed), shape.max.map(|max| max.saturating_sub(listed)));
        let builder = self.builder();
        let (open, close, comma) = (builder.bytes("["), builder.bytes("]"), builder.bytes(","));
        let following = builder.seq([comma, rest]);
        let mut tail = if prefix.is_empty() {
            let more =
                builder.repeat(following, min.saturating_sub(1), most.map(|most| most.saturating_sub(1)));
            let all = builder.seq([rest, more]);
            match (min, most) {
                (_, Some(0)) => builder.empty(),
                (0, _) => builder.optional(all),
                _ => all,
            }
        } else {
            builder.repeat(following, min, most)
        };
        for (place, item) in prefix.into_iter().enumerate().rev() {
            let separator = if place == 0 { builder.empty() } else { comma };
            let through = builder.seq([separator, item, tail]);
            tail = if (place as u32) < shape.min { through } else { builder.optional(through) };
        }
        Ok(builder.seq([open, tail, close]))
    }
}
