//! What schemas say: those that say the same are told by one number.
//!
//! Large schemas are written by programs, and say the same thing at a hundred places: the same reference, the same list of
//! values, whole definitions copied out. Remarks apart, two such places differ in nothing. Whoever works on the first of
//! them alone has done the work for all.
//!
//! The content of a schema is written down as bytes: its keywords in order, and for each schema below it the number of
//! that one's content. So a content is as long as what it says itself, all of them together are no longer than the
//! document, and equal bytes are equal schemas. It is put together when a schema is first asked for, with all that lies
//! below; definitions are left out until something refers to them.
//!
//! In a small document there is little to find, and no schema is compared with another.
//!
//! The meaning of a schema hangs on more than its content, and [`Documents::first_alike`] looks at the rest: references
//! are relative to the resource, and some look at the scope. A schema that names itself is like no other.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashMap, HashTable};
use rustc_hash::FxBuildHasher;

use super::draft::Draft;
use super::json::Json;
use super::location::Step;
use super::positions::Position;
use super::resources::ResourceId;
use super::scope::{Located, ScopeId};
use super::{Documents, SchemaId};

/// The number of a content. That of a schema is greater than those of the schemas below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentId(u32);

/// A schema that says the same as another one, which was met before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Repeat {
    /// What both say.
    pub content: ContentId,
    /// The later one.
    pub again: SchemaId,
    /// The first one.
    pub first: SchemaId,
}

/// With fewer keys it takes as long to compare schemas as to convert them twice.
const FEWEST_KEYS: usize = 100;

/// No UTF-8 has this byte, so it ends a text.
const END_OF_TEXT: u8 = 0xff;

/// All contents, and the schemas that were first met with them.
#[derive(Debug, Default)]
pub(super) struct Contents<'json> {
    /// One after the other.
    bytes: Vec<u8>,
    /// Where each of them ends.
    ends: Vec<usize>,
    /// By content. Schemas come from strangers, hence a hash that nobody can foresee.
    index: HashTable<ContentId>,
    hasher: DefaultHashBuilder,
    /// The contents of the values that were looked at, by address.
    known: HashMap<(usize, Draft), ContentId, FxBuildHasher>,
    first: HashMap<(ContentId, ResourceId, ScopeId), Located, FxBuildHasher>,
    /// The values that are being written, from the outermost in.
    open: Vec<Open<'json>>,
    /// What is written of them.
    draft: Vec<u8>,
}

/// A value that is being written.
#[derive(Debug)]
struct Open<'json> {
    json: &'json Json<'json>,
    position: Position,
    /// The place of the entry or the item that comes next.
    next: usize,
    /// Where its content begins.
    start: usize,
    /// Whether it names itself.
    is_named: bool,
}

impl Documents<'_> {
    /// The first schema that was asked for and means the same, and what both say; none if this is the first. Keywords for
    /// which `says` is false are remarks.
    pub fn first_alike(&mut self, at: Located, says: fn(&str) -> bool) -> Option<(Located, ContentId)> {
        let (json, resource) = (self.json(at.schema), self.resource_id(at.schema));
        let draft = self.resource(resource).draft;
        let contents = self.contents.as_mut()?;
        let content = contents.content(json, draft, says);
        let first = *contents.first.entry((content, resource, at.scope)).or_insert(at);
        (first.schema != at.schema).then_some((first, content))
    }
}

impl<'json> Contents<'json> {
    /// No content yet; none at all for documents of so many keys together.
    pub(super) fn worth_it(keys: usize) -> Option<Box<Self>> {
        (keys >= FEWEST_KEYS).then(Box::default)
    }

    fn content(&mut self, json: &'json Json<'json>, draft: Draft, says: fn(&str) -> bool) -> ContentId {
        if let Some(&known) = self.known.get(&(address(json), draft)) {
            return known;
        }
        self.begin(json, Position::Schema);
        loop {
            let Some((position, step, value)) = self.next_below() else {
                let content = self.end(draft);
                if let (Some(content), true) = (content, self.open.is_empty()) {
                    self.draft.clear();
                    return content;
                }
                continue;
            };
            if let (Position::Schema, Step::Key(key)) = (position, step)
                && !says(key)
            {
                continue;
            }
            if let Step::Key(key) = step {
                self.write_text(b'k', key);
            }
            self.write(value, position.below(step, draft, value), draft);
        }
    }

    /// The next step down from the innermost value that is open, if there is one left.
    fn next_below(&mut self) -> Option<(Position, Step<'json>, &'json Json<'json>)> {
        let open = self.open.last_mut()?;
        let place = open.next;
        open.next += 1;
        let (step, value) = match open.json {
            Json::Object(object) => {
                let (key, value) = object.entry_at(place)?;
                let names = matches!(key, "$id" | "id") && matches!(value, Json::String(_));
                open.is_named |= names && open.position == Position::Schema;
                (Step::Key(key), value)
            }
            Json::Array(items) => (Step::Index(place), items.get(place)?),
            _ => return None,
        };
        Some((open.position, step, value))
    }

    fn write(&mut self, json: &'json Json<'json>, position: Position, draft: Draft) {
        match json {
            Json::Null => self.draft.push(b'n'),
            Json::Bool(true) => self.draft.push(b't'),
            Json::Bool(false) => self.draft.push(b'f'),
            Json::Number(text) => self.write_text(b'#', text),
            Json::String(text) => self.write_text(b'"', text),
            Json::Array(_) | Json::Object(_) => {
                let known = self.known.get(&(address(json), draft)).filter(|_| position == Position::Schema);
                match known {
                    Some(&content) => self.write_content(content),
                    None => self.begin(json, position),
                }
            }
        }
    }

    fn write_text(&mut self, tag: u8, text: &str) {
        self.draft.push(tag);
        self.draft.extend_from_slice(text.as_bytes());
        self.draft.push(END_OF_TEXT);
    }

    fn write_content(&mut self, content: ContentId) {
        self.draft.push(b'@');
        self.draft.extend_from_slice(&content.0.to_le_bytes());
    }

    fn begin(&mut self, json: &'json Json<'json>, position: Position) {
        let start = self.draft.len();
        self.open.push(Open { json, position, next: 0, start, is_named: false });
        self.draft.push(if matches!(json, Json::Array(_)) { b'[' } else { b'{' });
    }

    /// Ends the innermost value that is open. What a schema says gets a number, which stands for it in what is around it.
    fn end(&mut self, draft: Draft) -> Option<ContentId> {
        let open = self.open.pop()?;
        self.draft.push(b'}');
        if open.position != Position::Schema {
            return None;
        }
        let content = if open.is_named { self.push(&[]) } else { self.intern(open.start) };
        self.draft.truncate(open.start);
        self.write_content(content);
        self.known.insert((address(open.json), draft), content);
        Some(content)
    }

    /// The number of what is written from `start` on.
    fn intern(&mut self, start: usize) -> ContentId {
        let draft = std::mem::take(&mut self.draft);
        let written = &draft[start..];
        let hash = self.hasher.hash_one(written);
        let known = self.index.find(hash, |&other| self.get(other) == written).copied();
        let content = known.unwrap_or_else(|| {
            let new = self.push(written);
            let (bytes, ends, hasher) = (&self.bytes, &self.ends, &self.hasher);
            self.index.insert_unique(hash, new, |&other| hasher.hash_one(slice(bytes, ends, other)));
            new
        });
        self.draft = draft;
        content
    }

    fn get(&self, content: ContentId) -> &[u8] {
        slice(&self.bytes, &self.ends, content)
    }

    /// Adds a content.
    fn push(&mut self, written: &[u8]) -> ContentId {
        self.bytes.extend_from_slice(written);
        self.ends.push(self.bytes.len());
        ContentId(self.ends.len() as u32 - 1)
    }
}

fn slice<'c>(bytes: &'c [u8], ends: &[usize], content: ContentId) -> &'c [u8] {
    let at = content.0 as usize;
    let start = at.checked_sub(1).map_or(0, |before| ends[before]);
    &bytes[start..ends[at]]
}

fn address(json: &Json<'_>) -> usize {
    std::ptr::from_ref(json).addr()
}
