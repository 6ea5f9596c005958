//! A small validator, to find out whether references lead to the right schemas.
//!
//! It knows the keywords that the official suite uses around references, and says so where it meets another one.

use super::super::{Documents, Draft, Json, Located, Step};
use crate::error::Error;

/// Why an instance could not be decided.
#[derive(Debug)]
pub(super) enum Undecided {
    /// A keyword that is not known here.
    Keyword,
    /// A reference that leads nowhere.
    Reference(Error),
}

impl From<Error> for Undecided {
    fn from(error: Error) -> Self {
        Undecided::Reference(error)
    }
}

type Verdict = Result<bool, Undecided>;

/// Keywords that say nothing about instances, or only together with others.
const SILENT: &[&str] = &[
    "$schema",
    "$id",
    "id",
    "$anchor",
    "$dynamicAnchor",
    "$recursiveAnchor",
    "$comment",
    "$defs",
    "definitions",
    "title",
    "description",
    "default",
    "examples",
    "then",
    "else",
    "format",
];

/// Keywords that say something, but not here.
const BEYOND: &[&str] = &[
    "pattern",
    "patternProperties",
    "unevaluatedItems",
    "unevaluatedProperties",
    "contains",
    "uniqueItems",
    "multipleOf",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minProperties",
    "maxProperties",
    "dependencies",
    "dependentSchemas",
    "additionalItems",
];

/// Whether `instance` is valid at `at`.
pub(super) fn validate(documents: &mut Documents<'_>, at: Located, instance: &Json<'_>) -> Verdict {
    let schema = match documents.json(at.schema) {
        Json::Bool(verdict) => return Ok(*verdict),
        Json::Object(schema) => schema,
        other => panic!("{other} is no schema"),
    };
    if documents.draft(at.schema).ref_ignores_siblings()
        && let Some(reference) = schema.get("$ref").and_then(Json::as_str)
    {
        let target = documents.follow(at, reference)?;
        return validate(documents, target, instance);
    }
    for (keyword, value) in schema.iter() {
        if !check(documents, at, (keyword, value), instance)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn check(
    documents: &mut Documents<'_>,
    at: Located,
    (keyword, value): (&str, &Json<'_>),
    instance: &Json<'_>,
) -> Verdict {
    let draft = documents.draft(at.schema);
    match keyword {
        _ if SILENT.contains(&keyword) => Ok(true),
        _ if BEYOND.contains(&keyword) => Err(Undecided::Keyword),
        "$ref" | "$dynamicRef" | "$recursiveRef" => reference(documents, at, (keyword, value), instance),
        "allOf" | "anyOf" | "oneOf" => combination(documents, at, keyword, instance),
        "not" => Ok(!below(documents, at, &[Step::Key("not")], instance)?),
        "if" if draft >= Draft::Draft7 => condition(documents, at, instance),
        "properties" | "additionalProperties" | "propertyNames" => members(documents, at, keyword, instance),
        "items" | "prefixItems" => items(documents, at, (keyword, value), instance),
        _ => Ok(check_plain(draft, (keyword, value), instance)),
    }
}

/// The keywords that hold no schemas.
fn check_plain(draft: Draft, (keyword, value): (&str, &Json<'_>), instance: &Json<'_>) -> bool {
    let bound = |found: Option<f64>, least: bool| match (found, number(value)) {
        (Some(found), Some(bound)) => {
            if least {
                found >= bound
            } else {
                found <= bound
            }
        }
        _ => true,
    };
    let length = instance.as_str().map(|text| size(text.chars().count()));
    let count = instance.as_array().map(|items| size(items.len()));
    match keyword {
        "type" => match value {
            Json::Array(names) => names.iter().any(|name| has_type(name, instance)),
            name => has_type(name, instance),
        },
        "const" if draft > Draft::Draft4 => value == instance,
        "enum" => value.as_array().unwrap().contains(instance),
        "minimum" => bound(number(instance), true),
        "maximum" => bound(number(instance), false),
        "minLength" => bound(length, true),
        "maxLength" => bound(length, false),
        "minItems" => bound(count, true),
        "maxItems" => bound(count, false),
        "required" => match instance {
            Json::Object(object) => {
                value.as_array().unwrap().iter().all(|key| object.contains_key(key.as_str().unwrap()))
            }
            _ => true,
        },
        "dependentRequired" if draft >= Draft::Draft201909 => match instance {
            Json::Object(object) => value.as_object().unwrap().iter().all(|(key, needed)| {
                !object.contains_key(key)
                    || needed.as_array().unwrap().iter().all(|key| object.contains_key(key.as_str().unwrap()))
            }),
            _ => true,
        },
        _ => true,
    }
}

/// A length, which in the suite is always small.
fn size(length: usize) -> f64 {
    f64::from(u32::try_from(length).unwrap())
}

fn number(json: &Json<'_>) -> Option<f64> {
    json.as_number().map(|text| text.parse().unwrap())
}

fn has_type(name: &Json<'_>, instance: &Json<'_>) -> bool {
    let found = match instance {
        Json::Null => "null",
        Json::Bool(_) => "boolean",
        Json::Number(_) => "number",
        Json::String(_) => "string",
        Json::Array(_) => "array",
        Json::Object(_) => "object",
    };
    let wanted = name.as_str().unwrap();
    wanted == found || (wanted == "integer" && number(instance).is_some_and(|value| value.fract() == 0.0))
}

fn below(documents: &mut Documents<'_>, at: Located, steps: &[Step<'_>], instance: &Json<'_>) -> Verdict {
    let mut at = at;
    for &step in steps {
        at = documents.step(at, step)?.expect("a step to what is there");
    }
    validate(documents, at, instance)
}

fn reference(
    documents: &mut Documents<'_>,
    at: Located,
    (keyword, value): (&str, &Json<'_>),
    instance: &Json<'_>,
) -> Verdict {
    let Json::String(reference) = value else { return Ok(true) };
    let target = match (keyword, documents.draft(at.schema)) {
        ("$ref", _) => documents.follow(at, reference)?,
        ("$dynamicRef", Draft::Draft202012) => documents.follow_dynamic(at, reference)?,
        ("$recursiveRef", Draft::Draft201909) => documents.follow_recursive(at, reference)?,
        _ => return Ok(true),
    };
    validate(documents, target, instance)
}

fn combination(documents: &mut Documents<'_>, at: Located, keyword: &str, instance: &Json<'_>) -> Verdict {
    let count = documents.json(at.schema).get(keyword).and_then(Json::as_array).unwrap().len();
    let mut valid = 0;
    for branch in 0..count {
        valid += usize::from(below(documents, at, &[Step::Key(keyword), Step::Index(branch)], instance)?);
    }
    Ok(match keyword {
        "allOf" => valid == count,
        "anyOf" => valid > 0,
        _ => valid == 1,
    })
}

fn condition(documents: &mut Documents<'_>, at: Located, instance: &Json<'_>) -> Verdict {
    let branch = if below(documents, at, &[Step::Key("if")], instance)? { "then" } else { "else" };
    match documents.json(at.schema).get(branch) {
        Some(_) => below(documents, at, &[Step::Key(branch)], instance),
        None => Ok(true),
    }
}

fn members(documents: &mut Documents<'_>, at: Located, keyword: &str, instance: &Json<'_>) -> Verdict {
    let Json::Object(object) = instance else { return Ok(true) };
    let declared = documents.json(at.schema).get("properties");
    for (key, value) in object.iter() {
        let is_declared = declared.is_some_and(|declared| declared.get(key).is_some());
        let name = Json::String(key.into());
        let valid = match keyword {
            "properties" if is_declared => {
                below(documents, at, &[Step::Key("properties"), Step::Key(key)], value)?
            }
            "additionalProperties" if !is_declared => below(documents, at, &[Step::Key(keyword)], value)?,
            "propertyNames" => below(documents, at, &[Step::Key(keyword)], &name)?,
            _ => true,
        };
        if !valid {
            return Ok(false);
        }
    }
    Ok(true)
}

fn items(
    documents: &mut Documents<'_>,
    at: Located,
    (keyword, value): (&str, &Json<'_>),
    instance: &Json<'_>,
) -> Verdict {
    let Json::Array(items) = instance else { return Ok(true) };
    let newest = documents.draft(at.schema) == Draft::Draft202012;
    if keyword == "prefixItems" && !newest {
        return Ok(true);
    }
    let schema = documents.json(at.schema);
    let prefix =
        if newest { schema.get("prefixItems").and_then(Json::as_array).map_or(0, <[Json]>::len) } else { 0 };
    for (place, item) in items.iter().enumerate() {
        let valid = match value {
            Json::Array(listed) if place < listed.len() => {
                below(documents, at, &[Step::Key(keyword), Step::Index(place)], item)?
            }
            Json::Array(_) => true,
            _ if place >= prefix => below(documents, at, &[Step::Key(keyword)], item)?,
            _ => true,
        };
        if !valid {
            return Ok(false);
        }
    }
    Ok(true)
}
