//! Places of a schema, by the way that leads there from its root.
//!
//! Each question opens the documents anew, and their numbers mean nothing to another. A way can be gone again.

use std::rc::Rc;

use super::super::documents::{Documents, Json, Located, Step};

/// A part of a way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Hop {
    /// To the value of a key.
    Key(Rc<str>),
    /// To an item.
    Index(usize),
    /// To what the reference of a keyword leads to.
    Reference(&'static str),
}

/// A way from the root of a schema.
#[derive(Clone, Debug, Default)]
pub(super) struct Way(Vec<Hop>);

impl Way {
    /// This way, and then on.
    pub(super) fn then(&self, hops: impl IntoIterator<Item = Hop>) -> Self {
        Way(self.0.iter().cloned().chain(hops).collect())
    }

    /// Where it leads to.
    pub(super) fn follow(&self, documents: &mut Documents<'_>) -> Option<Located> {
        let mut at = documents.start().ok()?;
        for hop in &self.0 {
            at = match hop {
                Hop::Key(key) => documents.step(at, Step::Key(key)).ok()??,
                Hop::Index(index) => documents.step(at, Step::Index(*index)).ok()??,
                Hop::Reference(keyword) => {
                    let reference = documents.json(at.schema).get(keyword).and_then(Json::as_str)?;
                    match *keyword {
                        "$dynamicRef" => documents.follow_dynamic(at, reference),
                        "$recursiveRef" => documents.follow_recursive(at, reference),
                        _ => documents.follow(at, reference),
                    }
                    .ok()?
                }
            };
        }
        Some(at)
    }

    /// The way that a JSON Pointer gives in a document.
    pub(super) fn of_pointer(pointer: &str, root: &Json<'_>) -> Option<Self> {
        let mut way = Way::default();
        let mut at = root;
        for token in pointer.split('/').skip(1) {
            let key = token.replace("~1", "/").replace("~0", "~");
            let (hop, below) = match at {
                Json::Array(items) => {
                    let index = key.parse().ok()?;
                    (Hop::Index(index), items.get(index)?)
                }
                _ => (Hop::Key(key.as_str().into()), at.get(&key)?),
            };
            way.0.push(hop);
            at = below;
        }
        Some(way)
    }
}
