//! A document: a JSON value with what is worth knowing of it before any of it is looked at.
//!
//! Most schemas are one resource without anchors, and their references are all of the form `#/definitions/x`. The
//! reader sees every key anyway; so it notes whether the others occur, and then nothing is paid for them.

use super::json::Json;
use super::{reader, standard};
use crate::error::Result;
use crate::limits::Budget;

/// What was seen of keys anywhere in a document: which keywords, and how many keys. A key may be no keyword where it stands,
/// so this errs to the side of more.
#[expect(clippy::struct_excessive_bools, reason = "one for each thing that costs where it is mentioned")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mentions {
    /// `$id`, `id` with a string: there may be more resources than one, or anchors of the old drafts.
    pub(super) identifiers: bool,
    /// `$anchor`, `$dynamicAnchor`.
    pub(super) anchors: bool,
    /// `$dynamicRef`, `$recursiveRef`, or a meta-schema that has them: the dynamic scope matters.
    pub(super) dynamic: bool,
    /// `unevaluatedItems`, `unevaluatedProperties`: it matters which keyword looked at what.
    pub(super) unevaluated: bool,
    /// Keywords that relate members or items to each other, take one schema out of another, or join many.
    pub(super) relations: bool,
    /// How many keys there are.
    pub(super) keys: usize,
}

/// More alternatives than this are many.
const FEW_ALTERNATIVES: usize = 16;

impl Mentions {
    pub(super) fn note(&mut self, key: &str, value: &Json<'_>) {
        self.keys += 1;
        if !key.starts_with(['$', 'u', 'i', 'p', 'c', 'm', 'd', 'n', 'a', 'o']) {
            return;
        }
        let is_text = matches!(value, Json::String(_));
        match key {
            "uniqueItems" => self.relations |= matches!(value, Json::Bool(true)),
            "anyOf" | "oneOf" => {
                self.relations |= matches!(value, Json::Array(items) if items.len() > FEW_ALTERNATIVES);
            }
            "prefixItems" | "additionalItems" | "contains" | "minProperties" | "maxProperties"
            | "dependencies" | "dependentRequired" | "dependentSchemas" | "not" | "if" => {
                self.relations = true;
            }
            "id" | "$id" => {
                self.identifiers |= is_text;
                self.dynamic |= value.as_str().is_some_and(standard::is_dynamic);
            }
            "$ref" => self.dynamic |= value.as_str().is_some_and(standard::is_dynamic),
            "$anchor" | "$dynamicAnchor" => self.anchors |= is_text,
            "$dynamicRef" | "$recursiveRef" => self.dynamic |= is_text,
            "unevaluatedItems" | "unevaluatedProperties" => (self.unevaluated, self.relations) = (true, true),
            _ => {}
        }
    }
}

/// A JSON document, or a part of another one.
#[derive(Clone, Debug)]
pub struct Document<'json> {
    root: Root<'json>,
    mentions: Mentions,
}

#[derive(Clone, Debug)]
enum Root<'json> {
    Whole(Json<'json>),
    Part(&'json Json<'json>),
}

impl<'json> Document<'json> {
    /// Reads JSON text.
    ///
    /// ```
    /// use tokenstile_grammar::Budget;
    /// use tokenstile_grammar::frontends::json_schema::documents::Document;
    /// let document = Document::parse(r#"{"maximum": 1.50}"#, &Budget::default())?;
    /// assert_eq!(document.root().get("maximum").and_then(|bound| bound.as_number()), Some("1.50"));
    /// # Ok::<(), tokenstile_grammar::Error>(())
    /// ```
    pub fn parse(text: &'json str, budget: &Budget) -> Result<Self> {
        let (root, mentions) = reader::read(text, budget)?;
        Ok(Document { root: Root::Whole(root), mentions })
    }

    /// A value within this document as a document of its own, so that `#` is that value.
    #[must_use]
    pub fn part(&self, value: &'json Json<'json>) -> Document<'json> {
        // What the whole mentions, its part may: that errs to the side of more, as mentions do.
        Document { root: Root::Part(value), mentions: self.mentions }
    }

    /// The value that it is.
    pub fn root(&self) -> &Json<'json> {
        match &self.root {
            Root::Whole(json) => json,
            Root::Part(json) => json,
        }
    }

    /// Whether it has keys that may be keywords which relate members or items to each other, take one schema out of another, or
    /// join many.
    pub(in super::super) fn mentions_relations(&self) -> bool {
        self.mentions.relations
    }

    pub(super) fn mentions(&self) -> Mentions {
        self.mentions
    }
}
