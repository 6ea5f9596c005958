//! The drafts of JSON Schema, and what sets them apart where references are concerned.

use super::json::{Json, Object};

/// A draft of JSON Schema. Later drafts are greater.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Draft {
    /// Draft 4, of 2013.
    Draft4,
    /// Draft 6, of 2017.
    Draft6,
    /// Draft 7, of 2018.
    Draft7,
    /// Draft 2019-09.
    Draft201909,
    /// Draft 2020-12, for every schema that does not say otherwise.
    #[default]
    Draft202012,
}

impl Draft {
    /// The draft whose meta-schema has this address, as `$schema` gives it.
    pub fn from_uri(uri: &str) -> Option<Self> {
        let uri = uri.trim_end_matches('#');
        let address = uri.strip_prefix("https://").or_else(|| uri.strip_prefix("http://"))?;
        match address.strip_prefix("json-schema.org/")? {
            "draft-04/schema" => Some(Draft::Draft4),
            "draft-06/schema" => Some(Draft::Draft6),
            "draft-07/schema" => Some(Draft::Draft7),
            "draft/2019-09/schema" => Some(Draft::Draft201909),
            "draft/2020-12/schema" | "schema" => Some(Draft::Draft202012),
            _ => None,
        }
    }

    /// The keyword that names a resource.
    pub fn id_keyword(self) -> &'static str {
        if self == Draft::Draft4 { "id" } else { "$id" }
    }

    /// Whether a schema with `$ref` is that reference and nothing else.
    pub fn ref_ignores_siblings(self) -> bool {
        self <= Draft::Draft7
    }

    /// The identifier of a schema, unless a `$ref` beside it hides it.
    pub(super) fn identifier<'json>(self, schema: &'json Object<'_>) -> Option<&'json str> {
        let id = schema.get(self.id_keyword())?.as_str()?;
        let hidden = self.ref_ignores_siblings() && schema.get("$ref").and_then(Json::as_str).is_some();
        (!hidden).then_some(id)
    }
}
