//! Locations: the places in documents that something was read from, each one a number.
//!
//! A location is made when it is first asked for, and knows the one above it; so a JSON Pointer can be written at any
//! time, and is not kept. What a location means hangs on three things: the value that stands there, the resource that
//! holds it, and what it is taken for. The value alone is not enough, since a reference may point into an unknown
//! keyword and make a schema of what was data on the way there. Those three are the key under which it is found again,
//! with the address of the value for the value: documents are borrowed, so no value moves.

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;
use std::hash::BuildHasher;

use super::json::Json;
use super::positions::Position;
use super::resources::ResourceId;

/// The number of a location in a document, of a subschema as a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SchemaId(u32);

impl SchemaId {
    /// The id as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A step from a value to one that it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'text> {
    /// To the value of a key.
    Key(&'text str),
    /// To an item.
    Index(usize),
}

impl<'text> From<&'text str> for Step<'text> {
    fn from(key: &'text str) -> Self {
        Step::Key(key)
    }
}

impl From<usize> for Step<'_> {
    fn from(index: usize) -> Self {
        Step::Index(index)
    }
}

impl Step<'_> {
    /// What the step leads to, with the step as the document spells it.
    pub(super) fn take<'json>(self, json: &'json Json<'json>) -> Option<(Step<'json>, &'json Json<'json>)> {
        match (self, json) {
            (Step::Key(key), Json::Object(object)) => {
                let (key, value) = object.entry(key)?;
                Some((Step::Key(key), value))
            }
            (Step::Index(index), Json::Array(items)) => Some((Step::Index(index), items.get(index)?)),
            _ => None,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Location<'json> {
    pub(super) json: &'json Json<'json>,
    /// The location above and the step from there; none for the root of a document.
    pub(super) above: Option<(SchemaId, Step<'json>)>,
    /// The resource that holds it from outside.
    pub(super) within: ResourceId,
    /// The resource that it belongs to: `within`, unless it begins one of its own.
    pub(super) resource: ResourceId,
    pub(super) position: Position,
}

impl Location<'_> {
    fn key(&self) -> (usize, ResourceId, Position) {
        (std::ptr::from_ref(self.json).addr(), self.within, self.position)
    }
}

/// All locations.
#[derive(Debug)]
pub(super) struct Locations<'json> {
    all: Vec<Location<'json>>,
    index: HashTable<u32>,
}

/// There is room for so many at first; most schemas have no more.
const EXPECTED: usize = 56;

impl<'json> Locations<'json> {
    pub(super) fn new() -> Self {
        Locations { all: Vec::with_capacity(EXPECTED), index: HashTable::with_capacity(EXPECTED) }
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn get(&self, id: SchemaId) -> &Location<'json> {
        &self.all[id.index()]
    }

    /// The id that the next new location will have.
    pub(super) fn next(&self) -> SchemaId {
        SchemaId(self.all.len() as u32)
    }

    pub(super) fn find(&self, json: &Json<'_>, within: ResourceId, position: Position) -> Option<SchemaId> {
        let key = (std::ptr::from_ref(json).addr(), within, position);
        let hash = FxBuildHasher.hash_one(key);
        self.index.find(hash, |&at| self.all[at as usize].key() == key).map(|&at| SchemaId(at))
    }

    /// Adds a location that [`Locations::find`] did not find.
    pub(super) fn push(&mut self, location: Location<'json>) -> SchemaId {
        let id = self.next();
        let hash = FxBuildHasher.hash_one(location.key());
        self.all.push(location);
        let all = &self.all;
        self.index.insert_unique(hash, id.0, |&at| FxBuildHasher.hash_one(all[at as usize].key()));
        id
    }
}
