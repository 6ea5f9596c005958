//! The standard meta-schemas, which nobody has to register: those of the drafts that the front end reads.
//!
//! They are the files that json-schema.org publishes under its BSD licence, unchanged but for white space. Each is read
//! when the first reference asks for it, and kept for the process. What the caller registered under the same address
//! goes before them.

use std::sync::OnceLock;

use super::addresses::normalize;
use super::document::Document;
use super::{DocumentId, Documents, Source};
use crate::limits::Budget;

/// By address.
static TEXTS: [(&str, &str); 19] = [
    ("https://json-schema.org/draft/2019-09/schema", include_str!("standard/2019-09_schema.json")),
    (
        "https://json-schema.org/draft/2019-09/meta/applicator",
        include_str!("standard/2019-09_applicator.json"),
    ),
    ("https://json-schema.org/draft/2019-09/meta/content", include_str!("standard/2019-09_content.json")),
    ("https://json-schema.org/draft/2019-09/meta/core", include_str!("standard/2019-09_core.json")),
    ("https://json-schema.org/draft/2019-09/meta/format", include_str!("standard/2019-09_format.json")),
    ("https://json-schema.org/draft/2019-09/meta/meta-data", include_str!("standard/2019-09_meta-data.json")),
    (
        "https://json-schema.org/draft/2019-09/meta/validation",
        include_str!("standard/2019-09_validation.json"),
    ),
    ("https://json-schema.org/draft/2020-12/schema", include_str!("standard/2020-12_schema.json")),
    (
        "https://json-schema.org/draft/2020-12/meta/applicator",
        include_str!("standard/2020-12_applicator.json"),
    ),
    ("https://json-schema.org/draft/2020-12/meta/content", include_str!("standard/2020-12_content.json")),
    ("https://json-schema.org/draft/2020-12/meta/core", include_str!("standard/2020-12_core.json")),
    (
        "https://json-schema.org/draft/2020-12/meta/format-annotation",
        include_str!("standard/2020-12_format-annotation.json"),
    ),
    (
        "https://json-schema.org/draft/2020-12/meta/format-assertion",
        include_str!("standard/2020-12_format-assertion.json"),
    ),
    ("https://json-schema.org/draft/2020-12/meta/meta-data", include_str!("standard/2020-12_meta-data.json")),
    (
        "https://json-schema.org/draft/2020-12/meta/unevaluated",
        include_str!("standard/2020-12_unevaluated.json"),
    ),
    (
        "https://json-schema.org/draft/2020-12/meta/validation",
        include_str!("standard/2020-12_validation.json"),
    ),
    ("http://json-schema.org/draft-04/schema", include_str!("standard/04_schema.json")),
    ("http://json-schema.org/draft-06/schema", include_str!("standard/06_schema.json")),
    ("http://json-schema.org/draft-07/schema", include_str!("standard/07_schema.json")),
];

static READ: [OnceLock<Option<Document<'static>>>; TEXTS.len()] = [const { OnceLock::new() }; TEXTS.len()];

/// An address without its scheme: the drafts are asked for under `http` and under `https`.
fn after_scheme(uri: &str) -> &str {
    uri.split_once("://").map_or(uri, |(_, rest)| rest)
}

/// Whether a reference or an address may lead to one of them that has dynamic references.
pub(super) fn is_dynamic(address: &str) -> bool {
    address.contains("//json-schema.org/draft/20")
}

fn find(uri: &str) -> Option<(&'static str, &'static Document<'static>)> {
    let at = TEXTS.iter().position(|(known, _)| after_scheme(&normalize(known)) == after_scheme(uri))?;
    let (known, text) = TEXTS[at];
    let document = READ[at].get_or_init(|| Document::parse(text, &Budget::default()).ok());
    Some((known, document.as_ref()?))
}

impl Documents<'_> {
    /// The standard meta-schema with the absolute address `uri`, put beside the documents of the registry.
    pub(super) fn standard(&mut self, uri: &str) -> Option<DocumentId> {
        let (uri, document) = find(uri)?;
        let known = self.sources.iter().position(|source| std::ptr::eq(source.document, document));
        let at = known.unwrap_or_else(|| {
            self.sources.push(Source { document, uri, operand: None, root: None });
            self.sources.len() - 1
        });
        Some(DocumentId(at as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_what_it_says() {
        for (uri, _) in TEXTS {
            let (_, document) = find(&normalize(uri)).unwrap_or_else(|| panic!("{uri}"));
            let id = document.root().get("$id").or_else(|| document.root().get("id"));
            assert_eq!(id.and_then(|id| id.as_str()).map(|id| id.trim_end_matches('#')), Some(uri));
        }
        assert!(find(&normalize("http://json-schema.org/draft-03/schema")).is_none());
    }
}
