//! The documents of a schema: what is written where, in which draft, and what a reference points to.
//!
//! A schema is a [`Document`], with others beside it that the caller registered under their addresses, and the standard
//! meta-schemas; nothing is ever fetched. [`Documents`] gives numbers to the locations in them that the front end looks at. It does not know what the
//! keywords mean, apart from the few that name things: `$id`, `$anchor`, `$dynamicAnchor`, `$recursiveAnchor`,
//! `$schema`, and where schemas are nested in schemas.
//!
//! ```
//! use tokenstile_grammar::Budget;
//! use tokenstile_grammar::frontends::json_schema::documents::{Document, Documents, Draft};
//!
//! let budget = Budget::default();
//! let schema = r##"{"items": {"$ref": "#/$defs/a~1b"}, "$defs": {"a/b": {"type": "null"}}}"##;
//! let schema = Document::parse(schema, &budget)?;
//! let mut documents = Documents::new(&schema, &[], Draft::default(), &budget)?;
//! let items = documents.child(documents.root(), "items").unwrap();
//! let target = documents.resolve(items, "#/$defs/a~1b")?;
//! assert_eq!(documents.pointer(target), "/$defs/a~1b");
//! assert_eq!(documents.json(target).get("type").and_then(|name| name.as_str()), Some("null"));
//! # Ok::<(), tokenstile_grammar::Error>(())
//! ```
//!
//! Invariants:
//!
//! 1. The same value in the same resource, taken for the same thing, is the same [`SchemaId`].
//! 2. There are never more locations than were asked for, plus those that a search for an address or an anchor goes
//!    over, which it does once. So all of this is linear in the size of the documents.
//! 3. A local reference touches only the way to its target: no address is taken apart, nothing is gathered.
//!
//! Documents are borrowed, so what [`Documents::json`] gives lives as long as they do, also while `Documents` is asked
//! for more.
//!
//! Reading order: `json`, `reader`, `document`; `draft`, `positions`; `location`, `resources`; `uri`, `fragment`,
//! `addresses`, `standard`, `resolve`; `scope`; `contents`.

mod addresses;
mod contents;
mod document;
mod draft;
mod fragment;
mod json;
mod location;
mod positions;
mod reader;
mod resolve;
mod resources;
mod scope;
mod standard;
mod uri;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use smallvec::SmallVec;

use crate::error::{Error, ErrorKind, Place, Result};
use crate::limits::Budget;

use addresses::Addresses;
use contents::Contents;
use location::{Location, Locations};
use positions::Position;
use resources::Resource;
use scope::Scopes;

pub use contents::{ContentId, Repeat};
pub use document::Document;
pub use draft::Draft;
pub use json::{Json, MAX_DEPTH, Object};
pub use location::{SchemaId, Step};
pub use resources::ResourceId;
pub use scope::{Located, ScopeId};

/// The number of a document: the root document, then those of the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct DocumentId(u32);

impl DocumentId {
    const ROOT: DocumentId = DocumentId(0);
}

/// A document, with its address and the location of its root once it was opened.
#[derive(Clone, Copy, Debug)]
struct Source<'json> {
    document: &'json Document<'json>,
    /// As the caller gave it; empty for the root document.
    uri: &'json str,
    /// Which of several root documents it is.
    operand: Option<u32>,
    root: Option<SchemaId>,
}

/// A schema, the documents beside it, and the locations in them.
#[derive(Debug)]
pub struct Documents<'json> {
    sources: Vec<Source<'json>>,
    default_draft: Draft,
    root: SchemaId,
    locations: Locations<'json>,
    resources: Vec<Resource<'json>>,
    addresses: Addresses,
    scopes: Scopes<'json>,
    /// What schemas say, if there are many.
    contents: Option<Box<Contents<'json>>>,
    /// The JSON Pointers that were written, by location.
    pointers: Vec<Option<Arc<str>>>,
    /// Where they are put together.
    spelling: String,
    budget: &'json Budget,
}

fn push_step(step: Step<'_>, pointer: &mut String) {
    match step {
        Step::Key(key) => fragment::push_token(key, pointer),
        Step::Index(index) => fragment::push_token(&index.to_string(), pointer),
    }
}

/// How the pointers of one of several root documents begin.
fn operand_name(operand: u32) -> String {
    format!("all_of/{operand}#")
}

impl<'json> Documents<'json> {
    /// The schema `root`, and what its references may reach beyond it: documents by their addresses.
    ///
    /// `default_draft` is for a root that names no draft, or one that nobody knows. A document of the registry that
    /// names none is in the draft of the root.
    pub fn new(
        root: &'json Document<'json>,
        registry: &'json [(String, Document<'json>)],
        default_draft: Draft,
        budget: &'json Budget,
    ) -> Result<Self> {
        Self::of_all(std::slice::from_ref(root), registry, default_draft, budget)
    }

    /// The same of several schemas, at least one, each of which has its own draft and base address.
    pub fn of_all(
        roots: &'json [Document<'json>],
        registry: &'json [(String, Document<'json>)],
        default_draft: Draft,
        budget: &'json Budget,
    ) -> Result<Self> {
        let is_one = roots.len() == 1;
        let Some((root, more)) = roots.split_first() else {
            return Err(Error::new(ErrorKind::Invalid, "there is no schema"));
        };
        if let Some((at, other)) = (0..).zip(roots).find(|(_, root)| !root.root().is_schema()) {
            let message = format!("a schema is an object or a boolean, not {}", other.root().type_name());
            let pointer = if is_one { String::new() } else { operand_name(at) };
            return Err(Error::new(ErrorKind::Invalid, message).at(Place::Pointer(pointer)));
        }
        let source = |document, operand: u32| Source {
            document,
            uri: "",
            operand: (!is_one).then_some(operand),
            root: None,
        };
        let others =
            registry.iter().map(|(uri, document)| Source { document, uri, operand: None, root: None });
        let more = more.iter().zip(1..).map(|(document, operand)| source(document, operand));
        let sources: Vec<_> = std::iter::once(source(root, 0)).chain(others).chain(more).collect();
        let is_dynamic = sources.iter().any(|source| source.document.mentions().dynamic);
        let locations = Locations::new();
        let mut documents = Documents {
            default_draft,
            root: locations.next(),
            locations,
            resources: Vec::new(),
            addresses: Addresses::of_registry(registry.iter().map(|(uri, _)| uri.as_str())),
            scopes: Scopes::new(is_dynamic),
            contents: Contents::worth_it(sources.iter().map(|source| source.document.mentions().keys).sum()),
            pointers: Vec::new(),
            spelling: String::new(),
            budget,
            sources,
        };
        documents.open(DocumentId::ROOT);
        Ok(documents)
    }

    /// Whether any document has `unevaluatedItems` or `unevaluatedProperties`.
    pub fn mentions_unevaluated(&self) -> bool {
        self.sources.iter().any(|source| source.document.mentions().unevaluated)
    }

    /// From now on no schema stands for another that says the same.
    pub fn tell_all_apart(&mut self) {
        self.contents = None;
    }

    /// The root schema.
    pub fn root(&self) -> SchemaId {
        self.root
    }

    /// The root schemas: one, or those that were given.
    pub fn roots(&mut self) -> Vec<SchemaId> {
        let documents = (0..).zip(&self.sources);
        let roots = documents.filter(|(at, source)| *at == 0 || source.operand.is_some());
        let roots: Vec<u32> = roots.map(|(at, _)| at).collect();
        roots.into_iter().map(|at| self.open(DocumentId(at))).collect()
    }

    /// What stands at a location.
    pub fn json(&self, id: SchemaId) -> &'json Json<'json> {
        self.locations.get(id).json
    }

    /// The draft that a location is written in.
    pub fn draft(&self, id: SchemaId) -> Draft {
        self.resource_of(id).draft
    }

    /// The resource that a location belongs to.
    pub fn resource_id(&self, id: SchemaId) -> ResourceId {
        self.locations.get(id).resource
    }

    /// The address of the resource that a location belongs to, which is what references there are relative to.
    pub fn base(&self, id: SchemaId) -> &str {
        uri::shown(&self.resource_of(id).uri)
    }

    /// The meta-schema that the resource of a location names with `$schema`, where the registry has it.
    pub fn meta_schema(&self, id: SchemaId) -> Option<&'json Json<'json>> {
        let root = self.json(self.resource_of(id).root);
        self.registered(root.get("$schema")?.as_str()?)
    }

    /// What lies one step below a location, where there is such a thing.
    pub fn child<'text>(&mut self, id: SchemaId, step: impl Into<Step<'text>>) -> Option<SchemaId> {
        let location = *self.locations.get(id);
        let (step, json) = step.into().take(location.json)?;
        let draft = self.resource(location.resource).draft;
        let position = location.position.below(step, draft, json);
        Some(self.intern(id, step, json, position))
    }

    /// What lies some steps below a location, where there is such a thing.
    pub fn descend(&mut self, id: SchemaId, steps: &[Step<'_>]) -> Option<SchemaId> {
        steps.iter().try_fold(id, |at, &step| self.child(at, step))
    }

    /// The same as [`Documents::pointer`], made of the last one that was written of a location above it.
    pub fn shared_pointer(&mut self, id: SchemaId) -> Arc<str> {
        let mut unwritten: SmallVec<[Step<'_>; 8]> = SmallVec::new();
        let mut at = id;
        let mut pointer = std::mem::take(&mut self.spelling);
        pointer.clear();
        loop {
            if let Some(known) = self.pointers.get(at.index()).and_then(Option::as_ref) {
                pointer.push_str(known);
                break;
            }
            let Some((above, step)) = self.locations.get(at).above else {
                pointer.push_str(&self.pointer(at));
                break;
            };
            unwritten.push(step);
            at = above;
        }
        unwritten.iter().rev().for_each(|&step| push_step(step, &mut pointer));
        let written: Arc<str> = pointer.as_str().into();
        self.spelling = pointer;
        if self.pointers.len() <= id.index() {
            self.pointers.resize(self.locations.len(), None);
        }
        self.pointers[id.index()] = Some(Arc::clone(&written));
        written
    }

    /// The JSON Pointer of a location; after its address and a `#` if it is not in the root document.
    pub fn pointer(&self, id: SchemaId) -> String {
        let mut steps = Vec::new();
        let mut at = id;
        while let Some((above, step)) = self.locations.get(at).above {
            steps.push(step);
            at = above;
        }
        let document = self.resource_of(id).document;
        let mut pointer = String::new();
        if let Some(operand) = self.source(document).operand {
            pointer.push_str(&operand_name(operand));
        } else if document != DocumentId::ROOT {
            pointer.push_str(uri::split_fragment(self.source(document).uri).0);
            pointer.push('#');
        }
        for &step in steps.iter().rev() {
            push_step(step, &mut pointer);
        }
        pointer
    }

    fn source(&self, document: DocumentId) -> &Source<'json> {
        &self.sources[document.0 as usize]
    }

    /// The location of the root of a document.
    fn open(&mut self, document: DocumentId) -> SchemaId {
        let source = *self.source(document);
        if let Some(root) = source.root {
            return root;
        }
        let at = self.locations.next();
        let resource = self.whole_document(document, at);
        let resource = self.push_resource(resource);
        let json = source.document.root();
        let location = Location { json, above: None, within: resource, resource, position: Position::Schema };
        self.locations.push(location);
        self.sources[document.0 as usize].root = Some(at);
        at
    }

    /// The resource that a document is.
    fn whole_document(&self, document: DocumentId, root: SchemaId) -> Resource<'json> {
        let source = self.source(document);
        let first = self.resources.first().filter(|_| source.operand.is_none());
        let inherited = first.map_or(self.default_draft, |first| first.draft);
        let schema = source.document.root().as_object();
        let draft = schema.map_or(inherited, |schema| self.draft_of(schema, inherited));
        let id = schema.and_then(|schema| draft.identifier(schema)).unwrap_or_default();
        let base = addresses::normalize(source.uri);
        let uri = uri::resolve(&base, uri::split_fragment(id).0);
        Resource { uri, root, draft, document, anchors: None }
    }

    fn intern(
        &mut self,
        above: SchemaId,
        step: Step<'json>,
        json: &'json Json<'json>,
        position: Position,
    ) -> SchemaId {
        let within = self.locations.get(above).resource;
        if let Some(found) = self.locations.find(json, within, position) {
            return found;
        }
        let at = self.locations.next();
        let own = match position {
            Position::Schema => self.begin_resource(json, at, within),
            _ => None,
        };
        let resource = own.unwrap_or(within);
        self.locations.push(Location { json, above: Some((above, step)), within, resource, position })
    }
}
