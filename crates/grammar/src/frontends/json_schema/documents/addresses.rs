//! Addresses: which resource an absolute address belongs to.
//!
//! The registry's own addresses are known from the start. Those that documents give to their parts are gathered when a
//! reference needs them: first of the root document, and of the registry only if nothing else has the address. Most
//! schemas never come that far.

use std::collections::BTreeMap;

use super::draft::Draft;
use super::json::{Json, Object};
use super::location::SchemaId;
use super::{DocumentId, Documents, uri};
use crate::error::Result;

/// Who has which address.
#[derive(Debug, Default)]
pub(super) struct Addresses {
    /// The documents of the registry, by the addresses that the caller gave.
    registry: BTreeMap<String, DocumentId>,
    /// The resources, by the addresses that their `$id` gave.
    embedded: BTreeMap<String, Owner>,
    /// How many documents `embedded` knows.
    gathered: usize,
}

/// The resource that has an address.
#[derive(Clone, Copy, Debug)]
pub(super) struct Owner {
    pub(super) root: SchemaId,
    /// Whether another one, that says something else, has it too.
    pub(super) ambiguous: bool,
}

impl Addresses {
    /// Addresses that the caller gave, as they are compared; the document of the first is number one.
    pub(super) fn of_registry<'uri>(uris: impl Iterator<Item = &'uri str>) -> Self {
        let numbered = uris.zip(1..);
        let registry = numbered.map(|(uri, number)| (normalize(uri), DocumentId(number))).collect();
        Addresses { registry, ..Addresses::default() }
    }

    /// The document of the registry with this address.
    pub(super) fn registered(&self, uri: &str) -> Option<DocumentId> {
        self.registry.get(uri).copied()
    }
}

/// An address as the caller gave it, made comparable.
pub(super) fn normalize(uri: &str) -> String {
    uri::resolve(uri::DEFAULT_BASE, uri::split_fragment(uri).0)
}

impl<'json> Documents<'json> {
    /// The resource with the absolute address `uri`.
    pub(super) fn find_resource(&mut self, uri: &str) -> Result<Option<Owner>> {
        let root = self.root();
        if self.resource_of(root).uri == uri {
            return Ok(Some(Owner { root, ambiguous: false }));
        }
        self.gather_addresses(1)?;
        if let Some(&owner) = self.addresses.embedded.get(uri) {
            return Ok(Some(owner));
        }
        if let Some(document) = self.addresses.registered(uri) {
            return Ok(Some(Owner { root: self.open(document), ambiguous: false }));
        }
        self.gather_addresses(self.sources.len())?;
        if let Some(&owner) = self.addresses.embedded.get(uri) {
            return Ok(Some(owner));
        }
        let standard = self.standard(uri);
        Ok(standard.map(|document| Owner { root: self.open(document), ambiguous: false }))
    }

    /// Gathers the addresses that the first documents give to their parts.
    fn gather_addresses(&mut self, documents: usize) -> Result<()> {
        while self.addresses.gathered < documents {
            let document = DocumentId(self.addresses.gathered as u32);
            if self.source(document).document.mentions().identifiers {
                self.gather_document(document)?;
            }
            self.addresses.gathered += 1;
        }
        Ok(())
    }

    fn gather_document(&mut self, document: DocumentId) -> Result<()> {
        let start = self.open(document);
        for schema in self.schemas(start, None)? {
            let resource = self.resource_of(schema);
            if resource.root != schema {
                continue;
            }
            let uri = resource.uri.clone();
            let known = self.addresses.embedded.get(&uri).copied();
            let owner = match known {
                // What is ambiguous already is compared no more, so comparing stays linear.
                Some(Owner { root, ambiguous }) => {
                    Owner { root, ambiguous: ambiguous || self.contradicts(root, schema) }
                }
                None => Owner { root: schema, ambiguous: false },
            };
            self.addresses.embedded.insert(uri, owner);
        }
        Ok(())
    }

    /// Whether two resources with one address are not the same. What the root document says goes before the registry.
    fn contradicts(&self, kept: SchemaId, other: SchemaId) -> bool {
        let root = DocumentId::ROOT;
        let outranked = self.resource_of(kept).document == root && self.resource_of(other).document != root;
        !outranked && self.locations.get(kept).json != self.locations.get(other).json
    }

    /// The draft that a schema is written in, where it begins a resource inside of one in draft `inherited`.
    pub(super) fn draft_of(&self, schema: &Object<'_>, inherited: Draft) -> Draft {
        match schema.get("$schema").and_then(Json::as_str) {
            Some(uri) => self.draft_named(uri),
            None => inherited,
        }
    }

    /// The draft of a meta-schema: a known one, or what the one in the registry is written in itself.
    fn draft_named(&self, uri: &str) -> Draft {
        const LONGEST_CHAIN: usize = 8;
        let mut name = uri;
        for _ in 0..LONGEST_CHAIN {
            if let Some(draft) = Draft::from_uri(name) {
                return draft;
            }
            let Some(meta) = self.registered(name) else { break };
            let Some(next) = meta.get("$schema").and_then(Json::as_str) else { break };
            name = next;
        }
        self.default_draft
    }

    /// The root of the document that the caller registered under `uri`.
    pub(super) fn registered(&self, uri: &str) -> Option<&'json Json<'json>> {
        let document = self.addresses.registered(&normalize(uri))?;
        Some(self.source(document).document.root())
    }
}
