//! Keywords: a file each (or a file for two that are one idea), and [`REGISTRY`], the list of them.
//!
//! A keyword narrows the set of values that its schema admits. It sees the whole schema, because some keywords speak
//! of others ("the properties not named above"), and it never looks at the order in which keywords are written; the
//! order only decides in which order new keys are declared.

mod additional_properties;
mod all_of;
mod any_of;
mod constant;
mod contains;
mod dependent_required;
mod dependent_schemas;
mod enumeration;
mod format;
mod if_then_else;
mod item_counts;
mod items;
mod lengths;
mod misspelled;
mod multiple_of;
mod not;
mod number_bounds;
mod one_of;
mod pattern;
mod pattern_properties;
mod properties;
mod property_counts;
mod property_names;
mod read;
mod reference;
mod required;
mod strict;
mod types;
mod unevaluated_items;
mod unevaluated_properties;
mod unique_items;
mod vocabulary;

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use super::diagnosis;
use super::documents::{Draft, Json, Object};
use super::expand::{Expander, Schema};
use super::report::Outcome;
use super::values::ValueSet;
use crate::error::{ErrorKind, Place, Result};

pub use strict::{close, imply_types};

/// What a keyword does to the set of its schema.
type Apply = for<'b> fn(&mut Expander<'b>, &Schema<'b>, &'b Json<'b>, &mut ValueSet) -> Result<()>;

/// A keyword.
#[derive(Clone, Copy)]
pub struct Keyword {
    /// Its name.
    pub name: &'static str,
    /// The first draft that has it.
    pub since: Draft,
    /// The last draft that has it; later ones ignore it.
    pub until: Draft,
    /// What it does, in a line.
    pub summary: &'static str,
    /// What it does; `None` for what is read by another keyword, and for annotations.
    apply: Option<Apply>,
    /// When it is applied.
    turn: Turn,
    /// Whether nobody reads it: two schemas that differ in it alone mean the same.
    is_remark: bool,
}

/// The order in which the keywords of a schema are applied. It changes no set, apart from the last turn.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Turn {
    /// What narrows the value itself.
    First,
    /// What splits the set into branches: those are fewer when the rest is known.
    Branches,
    /// What looks at what all others have evaluated.
    Last,
}

const fn keyword(name: &'static str, apply: Apply, summary: &'static str) -> Keyword {
    Keyword {
        name,
        since: Draft::Draft4,
        until: Draft::Draft202012,
        summary,
        apply: Some(apply),
        turn: Turn::First,
        is_remark: false,
    }
}

const fn silent(name: &'static str, summary: &'static str) -> Keyword {
    Keyword {
        name,
        since: Draft::Draft4,
        until: Draft::Draft202012,
        summary,
        apply: None,
        turn: Turn::First,
        is_remark: false,
    }
}

const fn remark(name: &'static str, summary: &'static str) -> Keyword {
    let mut keyword = silent(name, summary);
    keyword.is_remark = true;
    keyword
}

impl Keyword {
    const fn since(mut self, draft: Draft) -> Self {
        self.since = draft;
        self
    }

    const fn until(mut self, draft: Draft) -> Self {
        self.until = draft;
        self
    }

    const fn branches(mut self) -> Self {
        self.turn = Turn::Branches;
        self
    }

    const fn last(mut self) -> Self {
        self.turn = Turn::Last;
        self
    }

    /// Whether a draft has it.
    pub fn is_in(&self, draft: Draft) -> bool {
        (self.since..=self.until).contains(&draft)
    }

    /// Whether it changes what is admitted, rather than being read by another or being a remark.
    pub fn acts(&self) -> bool {
        self.apply.is_some()
    }
}

/// The keyword for the schema at another place.
pub const REFERENCE: &str = "$ref";

/// All keywords.
pub const REGISTRY: &[Keyword] = &[
    keyword(REFERENCE, reference::apply, "the schema at another place"),
    keyword("$dynamicRef", reference::apply_dynamic, "the schema that the outermost `$dynamicAnchor` names")
        .since(Draft::Draft202012),
    keyword("$recursiveRef", reference::apply_recursive, "the outermost schema with `$recursiveAnchor`")
        .since(Draft::Draft201909)
        .until(Draft::Draft201909),
    keyword("type", types::apply, "the types of the value; OpenAPI's `nullable` adds null"),
    keyword("enum", enumeration::apply, "one of the listed values"),
    keyword("const", constant::apply, "this value").since(Draft::Draft6),
    keyword("allOf", all_of::apply, "all of the schemas"),
    keyword("anyOf", any_of::apply, "at least one of the schemas").branches(),
    keyword("oneOf", one_of::apply, "just one of the schemas").branches(),
    keyword("not", not::apply, "not the schema").branches(),
    keyword("if", if_then_else::apply, "`then` where the schema holds, else `else`")
        .since(Draft::Draft7)
        .branches(),
    keyword("minimum", number_bounds::minimum, "at least so much"),
    keyword("maximum", number_bounds::maximum, "at most so much"),
    keyword("exclusiveMinimum", number_bounds::exclusive_minimum, "more than so much"),
    keyword("exclusiveMaximum", number_bounds::exclusive_maximum, "less than so much"),
    keyword("multipleOf", multiple_of::apply, "a multiple of so much"),
    keyword("minLength", lengths::minimum, "at least so many code points"),
    keyword("maxLength", lengths::maximum, "at most so many code points"),
    keyword("pattern", pattern::apply, "a part of the string matches the regex"),
    keyword("format", format::apply, "a string of the format"),
    keyword("prefixItems", items::prefix_items, "the first items, one by one").since(Draft::Draft202012),
    keyword("items", items::items, "all items (after the prefix); a list is the first items, one by one"),
    keyword("additionalItems", items::additional_items, "the items after those that `items` lists"),
    keyword("minItems", item_counts::minimum, "at least so many items"),
    keyword("maxItems", item_counts::maximum, "at most so many items"),
    keyword("uniqueItems", unique_items::apply, "no two items are equal"),
    keyword(
        "contains",
        contains::apply,
        "some items are of the schema, `minContains` to `maxContains` of them",
    )
    .since(Draft::Draft6),
    keyword("properties", properties::apply, "the values of the named keys"),
    keyword("patternProperties", pattern_properties::apply, "the values of the keys that match a regex"),
    keyword("additionalProperties", additional_properties::apply, "the values of all other keys"),
    keyword("propertyNames", property_names::apply, "the keys themselves").since(Draft::Draft6),
    keyword("required", required::apply, "the keys that must be there"),
    keyword("minProperties", property_counts::minimum, "at least so many keys"),
    keyword("maxProperties", property_counts::maximum, "at most so many keys"),
    keyword("dependentRequired", dependent_required::apply, "keys that a key asks for")
        .since(Draft::Draft201909),
    keyword("dependentSchemas", dependent_schemas::apply, "a schema that a key asks for")
        .since(Draft::Draft201909)
        .branches(),
    keyword("dependencies", dependent_schemas::apply_dependencies, "keys or a schema that a key asks for")
        .branches(),
    keyword("unevaluatedItems", unevaluated_items::apply, "the items that no other keyword has looked at")
        .since(Draft::Draft201909)
        .last(),
    keyword(
        "unevaluatedProperties",
        unevaluated_properties::apply,
        "the keys that no other keyword has looked at",
    )
    .since(Draft::Draft201909)
    .last(),
    silent("then", "read by `if`").since(Draft::Draft7),
    silent("else", "read by `if`").since(Draft::Draft7),
    silent("minContains", "read by `contains`").since(Draft::Draft201909),
    silent("maxContains", "read by `contains`").since(Draft::Draft201909),
    silent("nullable", "OpenAPI: read by `type`"),
    silent("$schema", "the draft"),
    silent("$id", "the address of the schema").since(Draft::Draft6),
    silent("id", "the address of the schema").until(Draft::Draft4),
    silent("$anchor", "a name of the schema").since(Draft::Draft201909),
    silent("$dynamicAnchor", "a name for `$dynamicRef`").since(Draft::Draft202012),
    silent("$recursiveAnchor", "a target of `$recursiveRef`")
        .since(Draft::Draft201909)
        .until(Draft::Draft201909),
    remark("$defs", "schemas to refer to"),
    remark("definitions", "schemas to refer to"),
    silent("$vocabulary", "of meta-schemas; ignored").since(Draft::Draft201909),
    remark("$comment", "a remark"),
    remark("title", "a remark"),
    remark("description", "a remark"),
    remark("default", "a remark"),
    remark("examples", "a remark"),
    remark("deprecated", "a remark"),
    remark("readOnly", "a remark"),
    remark("writeOnly", "a remark"),
    remark("contentEncoding", "a remark"),
    remark("contentMediaType", "a remark"),
    remark("contentSchema", "a remark"),
];

static INDEX: LazyLock<FxHashMap<&'static str, usize>> =
    LazyLock::new(|| REGISTRY.iter().enumerate().map(|(at, keyword)| (keyword.name, at)).collect());

/// The keyword of a name, where the draft has it.
pub fn find(name: &str, draft: Draft) -> Option<&'static Keyword> {
    INDEX.get(name).map(|&at| &REGISTRY[at]).filter(|keyword| keyword.is_in(draft))
}

/// Whether a schema may mean something else without the keyword of a name.
pub fn says(name: &str) -> bool {
    INDEX.get(name).is_some_and(|&at| !REGISTRY[at].is_remark)
}

/// The reference of a schema that means what it refers to, and nothing more.
pub fn only_reference<'b>(schema: &'b Object<'b>, draft: Draft) -> Option<&'b str> {
    let reference = schema.get(REFERENCE)?.as_str()?;
    let is_alone = || schema.iter().all(|(name, _)| matches!(name, REFERENCE | "$schema") || !says(name));
    (draft.ref_ignores_siblings() || is_alone()).then_some(reference)
}

/// The type of a schema that says nothing else.
pub fn only_type<'b>(schema: &'b Object<'b>) -> Option<&'b str> {
    let name = schema.get("type")?.as_str()?;
    schema.iter().all(|(name, _)| name == "type" || !says(name)).then_some(name)
}

/// What all keywords of a schema admit together.
pub fn conjunction<'b>(expander: &mut Expander<'b>, schema: &Schema<'b>) -> Result<ValueSet> {
    let mut set = expander.everything();
    let Some(object) = schema.json.as_object() else { return Ok(set) };
    if schema.draft.ref_ignores_siblings()
        && let Some(target) = object.get(REFERENCE).filter(|target| target.as_str().is_some())
    {
        apply_one(expander, schema, &REGISTRY[0], target, &mut set)?;
        return Ok(set);
    }
    let mut later = Vec::new();
    let remarks_only = vocabulary::lacks_validation(expander, schema);
    for (name, value) in object.iter() {
        match find(name, schema.draft) {
            Some(keyword) if remarks_only && vocabulary::validates(keyword.name) => {}
            Some(keyword) if keyword.turn == Turn::First => {
                apply_one(expander, schema, keyword, value, &mut set)?;
            }
            Some(keyword) => later.push((keyword, value)),
            None => note_misspelled(expander, schema, name),
        }
    }
    later.sort_by_key(|(keyword, _)| keyword.turn);
    for (keyword, value) in later {
        apply_one(expander, schema, keyword, value, &mut set)?;
    }
    Ok(set)
}

/// How the notes on names begin that look like a keyword with a typing error.
pub const MISSPELLED: &str = "no keyword, so it says nothing;";

/// Reports a name that is no keyword, and looks like one.
fn note_misspelled(expander: &mut Expander<'_>, schema: &Schema<'_>, name: &str) {
    if expander.is_reporting()
        && let Some(meant) = misspelled::meant(name, schema.draft)
    {
        expander.note_name(schema.at, name, format!("{MISSPELLED} did you mean {meant:?}?"));
    }
}

fn apply_one<'b>(
    expander: &mut Expander<'b>,
    schema: &Schema<'b>,
    keyword: &'static Keyword,
    value: &'b Json<'b>,
    set: &mut ValueSet,
) -> Result<()> {
    let Some(apply) = keyword.apply else { return Ok(()) };
    if expander.relaxed.is_some() && diagnosis::relax(expander, keyword.name, value, set) {
        return Ok(());
    }
    let before = expander.widens().then(|| set.clone());
    let was_never = set.is_never();
    let result = apply(expander, schema, value, set);
    match (result, before) {
        (Ok(()), _) => {
            if !was_never && set.is_never() {
                expander.note_conflict(schema.at, keyword.name);
            }
            expander.note(schema.at, keyword.name, Outcome::Exact, "");
            Ok(())
        }
        (Err(error), Some(before)) if error.kind() == ErrorKind::Unsupported => {
            *set = before;
            expander.leave_out(set);
            expander.note(schema.at, keyword.name, Outcome::Widened, error.message().to_owned());
            Ok(())
        }
        (Err(error), _) => {
            let pointer = expander.documents.pointer(schema.at.schema);
            Err(error.at(Place::Pointer(format!("{pointer}/{}", keyword.name))))
        }
    }
}
