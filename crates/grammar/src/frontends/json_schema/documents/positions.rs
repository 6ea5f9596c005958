//! Where in a schema there are schemas.
//!
//! An `$id` inside of `enum`, of an example or of an unknown keyword is data and names nothing. So a location knows
//! what it is by its way down from a schema, and the keywords of each draft are listed here.
//!
//! `definitions` and `$defs` count in every draft. One of them is not a keyword of the old drafts, the other is kept
//! by the new ones for old schemas only, but authors mix them up, and nobody keeps data there.

use super::draft::Draft;
use super::json::Json;
use super::location::Step;

/// What a location is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Position {
    /// A schema.
    Schema,
    /// An object whose values are schemas.
    Map,
    /// An array whose items are schemas.
    List,
    /// Anything else.
    Other,
}

impl Position {
    /// What `value` is, that lies one step below this.
    pub(super) fn below(self, step: Step<'_>, draft: Draft, value: &Json<'_>) -> Self {
        let position = match (self, step) {
            (Position::Schema, Step::Key(keyword)) => of_keyword(keyword, draft, value),
            (Position::Map, Step::Key(_)) | (Position::List, Step::Index(_)) => Position::Schema,
            _ => Position::Other,
        };
        let fits = match position {
            Position::Schema => value.is_schema(),
            Position::Map => matches!(value, Json::Object(_)),
            Position::List => matches!(value, Json::Array(_)),
            Position::Other => true,
        };
        if fits { position } else { Position::Other }
    }
}

fn of_keyword(keyword: &str, draft: Draft, value: &Json<'_>) -> Position {
    let before_2020 = draft < Draft::Draft202012;
    let (position, since) = match keyword {
        "allOf" | "anyOf" | "oneOf" => (Position::List, Draft::Draft4),
        "items" if before_2020 && matches!(value, Json::Array(_)) => (Position::List, Draft::Draft4),
        "additionalItems" if !before_2020 => return Position::Other,
        "not" | "items" | "additionalItems" | "additionalProperties" => (Position::Schema, Draft::Draft4),
        "properties" | "patternProperties" | "definitions" | "$defs" | "dependencies" => {
            (Position::Map, Draft::Draft4)
        }
        "contains" | "propertyNames" => (Position::Schema, Draft::Draft6),
        "if" | "then" | "else" => (Position::Schema, Draft::Draft7),
        "unevaluatedItems" | "unevaluatedProperties" | "contentSchema" => {
            (Position::Schema, Draft::Draft201909)
        }
        "dependentSchemas" => (Position::Map, Draft::Draft201909),
        "prefixItems" => (Position::List, Draft::Draft202012),
        _ => return Position::Other,
    };
    if draft >= since { position } else { Position::Other }
}
