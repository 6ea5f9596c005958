//! The parts of a schema that may be relaxed: its keywords, and the schemas in them.

use super::super::documents::{Draft, Json, Step};
use super::super::keywords;
use super::place::Hop;

/// How a keyword is relaxed, and whose values the schemas in it speak of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Schemas that all hold for the same value.
    Same,
    /// Schemas for the same value, of which not all hold.
    Branches,
    /// Schemas for the values of keys, or for items.
    Container,
    /// A schema for a key, or for an item among others.
    Key,
    /// `required`.
    Required,
    /// Anything else.
    Plain,
}

impl Kind {
    pub(super) fn of(keyword: &str) -> Self {
        match keyword {
            "$ref" | "$dynamicRef" | "$recursiveRef" | "allOf" => Kind::Same,
            "anyOf" | "oneOf" | "if" | "dependentSchemas" | "dependencies" => Kind::Branches,
            "properties"
            | "patternProperties"
            | "additionalProperties"
            | "unevaluatedProperties"
            | "items"
            | "prefixItems"
            | "additionalItems"
            | "unevaluatedItems" => Kind::Container,
            "contains" | "propertyNames" => Kind::Key,
            "required" => Kind::Required,
            _ => Kind::Plain,
        }
    }

    /// Whether the schemas in it may be relaxed one by one.
    pub(super) fn has_schemas(self) -> bool {
        matches!(self, Kind::Same | Kind::Container)
    }

    /// Whether the schemas in it speak of other values than the one that the keyword speaks of.
    pub(super) fn is_of_other_values(self) -> bool {
        matches!(self, Kind::Container | Kind::Key)
    }
}

/// A keyword of a schema.
#[derive(Debug)]
pub(super) struct Part<'j> {
    pub(super) keyword: &'static str,
    pub(super) kind: Kind,
    pub(super) json: &'j Json<'j>,
    /// The schemas in it, those that are relaxed left out.
    pub(super) children: Vec<Child<'j>>,
}

/// A schema in the value of a keyword, or that value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Child<'j> {
    pub(super) step: Option<Step<'j>>,
    pub(super) json: &'j Json<'j>,
}

impl Part<'_> {
    /// The way to a schema in the keyword.
    pub(super) fn hops_to(&self, child: &Child<'_>) -> Vec<Hop> {
        let below = child.step.map(|step| match step {
            Step::Key(key) => Hop::Key(key.into()),
            Step::Index(index) => Hop::Index(index),
        });
        std::iter::once(Hop::Key(self.keyword.into())).chain(below).collect()
    }

    /// The way to the one schema that holds for the same value, if it is only one.
    pub(super) fn same_value(&self) -> Option<Vec<Hop>> {
        match (self.kind, self.children.as_slice()) {
            (Kind::Same, []) if self.json.as_str().is_some() => Some(vec![Hop::Reference(self.keyword)]),
            (Kind::Same, [child]) if child.json.is_schema() => Some(self.hops_to(child)),
            _ => None,
        }
    }
}

/// The parts of a schema of a draft, in order.
pub(super) fn parts_of<'j>(schema: &'j Json<'j>, draft: Draft) -> Vec<Part<'j>> {
    let Some(object) = schema.as_object() else { return Vec::new() };
    let is_reference = draft.ref_ignores_siblings()
        && object.get(keywords::REFERENCE).is_some_and(|it| it.as_str().is_some());
    let mut parts = Vec::new();
    for (name, json) in object.iter() {
        let Some(keyword) = keywords::find(name, draft) else { continue };
        if is_reference && keyword.name != keywords::REFERENCE {
            continue;
        }
        if keyword.acts() || is_bound(keyword.name, json) {
            let kind = Kind::of(keyword.name);
            parts.push(Part { keyword: keyword.name, kind, json, children: children_of(keyword.name, json) });
        }
    }
    parts
}

/// Whether it is a bound of `contains` that can be relaxed: without a bound there must be one.
fn is_bound(keyword: &str, json: &Json<'_>) -> bool {
    keyword == "maxContains" || keyword == "minContains" && json.as_number().is_some_and(|least| least != "0")
}

fn children_of<'j>(keyword: &str, json: &'j Json<'j>) -> Vec<Child<'j>> {
    match (Kind::of(keyword), json) {
        (Kind::Plain | Kind::Required, _) => Vec::new(),
        (_, Json::Object(members)) if matches!(keyword, "properties" | "patternProperties") => {
            members.iter().map(|(name, json)| Child { step: Some(Step::Key(name)), json }).collect()
        }
        (_, Json::Array(items)) => {
            let steps = items.iter().enumerate();
            steps.map(|(at, json)| Child { step: Some(Step::Index(at)), json }).collect()
        }
        (Kind::Container | Kind::Key, Json::Object(_) | Json::Bool(_)) => vec![Child { step: None, json }],
        _ => Vec::new(),
    }
}
