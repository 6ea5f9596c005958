//! Vocabularies: a meta-schema of one's own may leave out the keywords that validate.
//!
//! Only a meta-schema that the caller has passed is looked at, and of its vocabularies only the one that matters: without
//! the validation vocabulary a schema has applicators and references, and its other keywords are remarks.

use super::super::documents::{Draft, Json};
use super::super::expand::{Expander, Schema};

const VALIDATION: &[&str] = &[
    "type",
    "enum",
    "const",
    "multipleOf",
    "maximum",
    "exclusiveMaximum",
    "minimum",
    "exclusiveMinimum",
    "maxLength",
    "minLength",
    "pattern",
    "maxItems",
    "minItems",
    "uniqueItems",
    "maxContains",
    "minContains",
    "maxProperties",
    "minProperties",
    "required",
    "dependentRequired",
];

/// Whether the schema is written without the keywords that validate.
pub(super) fn lacks_validation(expander: &Expander<'_>, schema: &Schema<'_>) -> bool {
    if schema.draft < Draft::Draft201909 || expander.options.registry.is_empty() {
        return false;
    }
    let meta = expander.documents.meta_schema(schema.at.schema);
    let Some(Json::Object(vocabulary)) = meta.and_then(|meta| meta.get("$vocabulary")) else { return false };
    !vocabulary.keys().any(|uri| uri.ends_with("/vocab/validation"))
}

/// Whether a keyword validates.
pub(super) fn validates(name: &str) -> bool {
    VALIDATION.contains(&name)
}
