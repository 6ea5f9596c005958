//! How it is said that no value satisfies a schema.

use super::super::documents::{Json, Step};
use super::super::expand::NO_VALUE;
use super::parts::Part;
use crate::error::{Error, ErrorKind, Place};

/// What helps where strict mode leaves no value.
pub(super) const STRICT_MODE: &str = "only strict mode leaves no value: it allows no keys and items but those that are listed, and where no \
     type is given just the types that the keywords speak of";

/// So many schemas that contradict each other are named.
const MAX_PLACES: usize = 4;

const ENDLESS: &str = "every value of it would hold another one of the same schema, without end";

/// Why a place has no value.
pub(super) enum Reason<'j> {
    /// It is `false`.
    False,
    /// A value of it would have to hold another one.
    Endless,
    /// These keywords exclude each other.
    Keywords(Vec<Part<'j>>),
    /// Nobody had the time to find out.
    Unknown,
}

impl Reason<'_> {
    /// The error of a schema at a pointer, in place of one that may have the place of a keyword of it already.
    pub(super) fn error_at(&self, pointer: &str, known: &Error) -> Error {
        let (place, why) = self.place_and_words(pointer);
        let why = why.map_or_else(String::new, |why| format!(": {why}"));
        let place =
            if self.names_place_of(known, pointer) { known.place().clone() } else { Place::Pointer(place) };
        Error::new(ErrorKind::Invalid, format!("{NO_VALUE}{why}")).at(place)
    }

    /// Whether the place of an error is that of a keyword of the schema at a pointer that is one of those to blame.
    fn names_place_of(&self, error: &Error, pointer: &str) -> bool {
        let Reason::Keywords(parts) = self else { return false };
        let is_place =
            |part: &&Part<'_>| *error.place() == Place::Pointer(format!("{pointer}/{}", part.keyword));
        error.kind() == ErrorKind::Invalid && guilty(parts).iter().any(is_place)
    }

    /// The reason in one line, if there is something to say.
    pub(super) fn told_at(&self, pointer: &str) -> Option<String> {
        let (place, why) = self.place_and_words(pointer);
        Some(format!("at {place:?}: {}", why?))
    }

    /// Which schemas of `allOf` contradict each other, if they do and are few.
    pub(super) fn help_at(&self, pointer: &str) -> Option<String> {
        let Reason::Keywords(parts) = self else { return None };
        let Part { keyword, children, .. } = parts.iter().find(|part| part.keyword == "allOf")?;
        let places = children.iter().map(|child| match child.step {
            Some(Step::Index(at)) => format!("{pointer}/{keyword}/{at}"),
            _ => pointer.to_owned(),
        });
        let places: Vec<String> = places.collect();
        let places: Vec<&str> = places.iter().map(String::as_str).collect();
        (2..=MAX_PLACES)
            .contains(&places.len())
            .then(|| format!("the schemas at {} contradict each other", listed(&places)))
    }

    /// The place, which is that of a keyword if it is the only one, and what is to be said.
    fn place_and_words(&self, pointer: &str) -> (String, Option<String>) {
        let (keyword, why) = match self {
            Reason::False => (None, Some("it is false".to_owned())),
            Reason::Endless => (None, Some(ENDLESS.to_owned())),
            Reason::Keywords(parts) => told_of(parts),
            Reason::Unknown => (None, None),
        };
        (keyword.map_or_else(|| pointer.to_owned(), |keyword| format!("{pointer}/{keyword}")), why)
    }
}

/// The parts that are to be named.
fn guilty<'p, 'j>(parts: &'p [Part<'j>]) -> Vec<&'p Part<'j>> {
    parts.iter().filter(|part| !is_mere_type(part, parts)).collect()
}

/// What is to be said of keywords, and the keyword that it is said of if it is only one.
fn told_of(parts: &[Part<'_>]) -> (Option<&'static str>, Option<String>) {
    let guilty = guilty(parts);
    let names: Vec<&'static str> = guilty.iter().map(|part| part.keyword).collect();
    match names.as_slice() {
        [] => (None, None),
        [one] => (Some(one), Some(format!("{one:?} admits none"))),
        _ => {
            let contradict = || format!("{} contradict each other", listed(&names));
            (None, Some(told_of_key(&guilty).unwrap_or_else(contradict)))
        }
    }
}

/// The same of a key that must be there and has no value.
fn told_of_key(parts: &[&Part<'_>]) -> Option<String> {
    let required = parts.iter().find(|part| part.keyword == "required")?;
    let others: Vec<&&Part<'_>> = parts.iter().filter(|part| part.keyword != "required").collect();
    if !others.iter().all(|part| speaks_of_keys(part.keyword)) {
        return None;
    }
    let asked_for = required.json.as_array()?;
    let declared =
        others.iter().find(|part| part.keyword == "properties").map(|part| part.children.as_slice());
    let name = match (declared, asked_for) {
        (Some([child]), _) => match child.step? {
            Step::Key(name) if asked_for.iter().any(|one| one.as_str() == Some(name)) => name,
            _ => return None,
        },
        (None, [one]) => one.as_str()?,
        _ => return None,
    };
    let names: Vec<&str> = others.iter().map(|part| part.keyword).collect();
    let verb = if names.len() == 1 { "allows" } else { "allow" };
    Some(format!("the key {name:?} is required, and {} {verb} no value of it", listed(&names)))
}

fn speaks_of_keys(keyword: &str) -> bool {
    matches!(
        keyword,
        "properties"
            | "patternProperties"
            | "additionalProperties"
            | "unevaluatedProperties"
            | "propertyNames"
    )
}

/// Whether a part is a `type` that says only what the others speak of.
fn is_mere_type(part: &Part<'_>, parts: &[Part<'_>]) -> bool {
    let Some(name) = (part.keyword == "type").then_some(part.json).and_then(Json::as_str) else {
        return false;
    };
    let mut others = parts.iter().filter(|other| other.keyword != "type");
    parts.len() > 1 && others.all(|other| type_of(other.keyword) == Some(name))
}

/// The type that a keyword says something of, if it is one.
fn type_of(keyword: &str) -> Option<&'static str> {
    Some(match keyword {
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => "number",
        "minLength" | "maxLength" | "pattern" | "format" => "string",
        "prefixItems" | "items" | "additionalItems" | "unevaluatedItems" | "minItems" | "maxItems"
        | "uniqueItems" | "contains" | "minContains" | "maxContains" => "array",
        "properties"
        | "patternProperties"
        | "additionalProperties"
        | "unevaluatedProperties"
        | "propertyNames"
        | "required"
        | "minProperties"
        | "maxProperties"
        | "dependentRequired"
        | "dependentSchemas"
        | "dependencies" => "object",
        _ => return None,
    })
}

/// Names in quotes, with commas and "and".
fn listed(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
    match quoted.split_last() {
        None => String::new(),
        Some((last, [])) => last.clone(),
        Some((last, before)) => format!("{} and {last}", before.join(", ")),
    }
}
