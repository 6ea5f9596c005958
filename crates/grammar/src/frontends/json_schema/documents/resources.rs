//! Resources: the parts of documents that have an address of their own.
//!
//! A document is one, and each schema in it with an `$id` that is more than a fragment begins another. A resource has
//! one base for relative references, one draft, and one set of anchors. Whether one begins is for the draft outside to
//! say, whose keyword names it; only then does the `$schema` inside count. Real documents join old schemas that have an
//! `id` to one whole in the newest draft, and their references mean that whole.
//!
//! Anchors are gathered when the first is asked for, by going over the schemas of the resource and stopping where
//! another one begins; and not at all in a document that was seen to have none.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::rc::Rc;

use super::draft::Draft;
use super::json::{Json, Object};
use super::location::{SchemaId, Step};
use super::positions::Position;
use super::{DocumentId, Documents, uri};
use crate::error::Result;

/// The number of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceId(pub(super) u32);

#[derive(Debug)]
pub(super) struct Resource<'json> {
    /// Its address, without a fragment: the base of the references in it.
    pub(super) uri: String,
    pub(super) root: SchemaId,
    pub(super) draft: Draft,
    pub(super) document: DocumentId,
    /// Gathered on demand.
    pub(super) anchors: Option<Rc<Anchors<'json>>>,
}

/// The anchors of a resource.
pub(super) type Anchors<'json> = BTreeMap<&'json str, Anchor>;

#[derive(Clone, Copy, Debug)]
pub(super) struct Anchor {
    pub(super) at: SchemaId,
    /// Whether it is a `$dynamicAnchor`.
    pub(super) dynamic: bool,
    /// Whether another schema of the resource has it too.
    pub(super) ambiguous: bool,
}

impl<'json> Documents<'json> {
    pub(super) fn resource_of(&self, id: SchemaId) -> &Resource<'json> {
        self.resource(self.locations.get(id).resource)
    }

    pub(super) fn resource(&self, id: ResourceId) -> &Resource<'json> {
        &self.resources[id.0 as usize]
    }

    pub(super) fn push_resource(&mut self, resource: Resource<'json>) -> ResourceId {
        self.resources.push(resource);
        ResourceId(self.resources.len() as u32 - 1)
    }

    /// The resource that the schema `json` at `at` begins, where it begins one inside of `within`.
    pub(super) fn begin_resource(
        &mut self,
        json: &'json Json<'json>,
        at: SchemaId,
        within: ResourceId,
    ) -> Option<ResourceId> {
        let outer = self.resource(within);
        let document = outer.document;
        if !self.source(document).document.mentions().identifiers {
            return None;
        }
        let schema = json.as_object()?;
        let (address, _) = uri::split_fragment(outer.draft.identifier(schema)?);
        if address.is_empty() {
            return None;
        }
        let draft = self.draft_of(schema, outer.draft);
        let uri = uri::resolve(&outer.uri, address);
        Some(self.push_resource(Resource { uri, root: at, draft, document, anchors: None }))
    }

    /// All schemas at and below `start` that stand where a schema may stand; only those of one resource, if given.
    pub(super) fn schemas(&mut self, start: SchemaId, only: Option<ResourceId>) -> Result<Vec<SchemaId>> {
        let mut found = Vec::new();
        let mut open = vec![start];
        while let Some(id) = open.pop() {
            self.budget.check_nodes(self.locations.len())?;
            let location = *self.locations.get(id);
            if only.is_some_and(|only| location.resource != only) {
                continue;
            }
            if location.position == Position::Schema {
                found.push(id);
            }
            self.push_below(id, &mut open);
        }
        Ok(found)
    }

    /// Pushes what lies one step below `id`, unless it neither is a schema nor holds any.
    pub(super) fn push_below(&mut self, id: SchemaId, open: &mut Vec<SchemaId>) {
        let location = *self.locations.get(id);
        let draft = self.resource(location.resource).draft;
        let mut push = |step, value| {
            let position = location.position.below(step, draft, value);
            if position != Position::Other {
                open.push(self.intern(id, step, value, position));
            }
        };
        match location.json {
            Json::Object(object) => object.iter().for_each(|(key, value)| push(Step::Key(key), value)),
            Json::Array(items) => {
                items.iter().enumerate().for_each(|(at, value)| push(Step::Index(at), value));
            }
            _ => {}
        }
    }

    /// The anchors of a resource.
    pub(super) fn anchors(&mut self, id: ResourceId) -> Result<Rc<Anchors<'json>>> {
        let resource = self.resource(id);
        if let Some(anchors) = &resource.anchors {
            return Ok(Rc::clone(anchors));
        }
        let (root, draft) = (resource.root, resource.draft);
        let mentions = self.source(resource.document).document.mentions();
        let mut anchors = Anchors::new();
        if mentions.anchors || mentions.identifiers {
            for schema in self.schemas(root, Some(id))? {
                self.gather_anchors(schema, draft, &mut anchors);
            }
        }
        let anchors = Rc::new(anchors);
        self.resources[id.0 as usize].anchors = Some(Rc::clone(&anchors));
        Ok(anchors)
    }

    fn gather_anchors(&self, at: SchemaId, draft: Draft, anchors: &mut Anchors<'json>) {
        let Json::Object(schema) = self.locations.get(at).json else { return };
        for (name, dynamic) in anchor_names(schema, draft) {
            let anchor = Anchor { at, dynamic, ambiguous: false };
            match anchors.entry(name) {
                Entry::Vacant(slot) => drop(slot.insert(anchor)),
                Entry::Occupied(slot) => {
                    let known = slot.into_mut();
                    known.dynamic |= dynamic;
                    known.ambiguous |= known.at != at;
                }
            }
        }
    }
}

/// The names that a schema gives itself, and whether each is dynamic.
fn anchor_names<'json>(
    schema: &'json Object<'json>,
    draft: Draft,
) -> impl Iterator<Item = (&'json str, bool)> {
    let named = |keyword: &str, since: Draft| {
        let name = schema.get(keyword).and_then(Json::as_str);
        name.filter(|_| draft >= since)
    };
    // Up to draft 7 an `$id` that is a fragment was the anchor. Later drafts forbid it, so no schema means anything
    // else by it.
    let fragment = draft.identifier(schema).and_then(|id| uri::split_fragment(id).1);
    let fragment = fragment.filter(|name| !name.is_empty() && !name.starts_with('/'));
    let fixed = [fragment, named("$anchor", Draft::Draft201909)];
    let fixed = fixed.into_iter().flatten().map(|name| (name, false));
    fixed.chain(named("$dynamicAnchor", Draft::Draft202012).map(|name| (name, true)))
}
