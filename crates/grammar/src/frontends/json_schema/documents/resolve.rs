//! References: what a `$ref` points to.
//!
//! The part before `#` says which resource: none says the one that the reference stands in, and that is nearly always
//! so and costs nothing. The part after it says where in there: a JSON Pointer is walked, a name is an anchor. On its
//! way a pointer may pass into another resource, and what lies below then belongs to that one. It may also end where
//! no schema is expected; being pointed at makes a schema of it.

use super::json::Json;
use super::location::{SchemaId, Step};
use super::positions::Position;
use super::{Documents, fragment, uri};
use crate::error::{Error, ErrorKind, Place, Result};

/// What a reference points to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target<'json> {
    pub(super) schema: SchemaId,
    /// The name, where a `$dynamicAnchor` was found by it.
    pub(super) dynamic: Option<&'json str>,
}

/// A reference, and where it stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reference<'text> {
    pub(super) from: SchemaId,
    pub(super) keyword: &'static str,
    pub(super) text: &'text str,
}

impl<'json> Documents<'json> {
    /// What the `$ref` of the schema `from` points to.
    ///
    /// It fails if the document is not known, or if there is nothing there, or no schema. A chain of references is not
    /// followed: the target may be a `$ref` itself, and a circle is for the caller to see.
    pub fn resolve(&mut self, from: SchemaId, reference: &str) -> Result<SchemaId> {
        let reference = Reference { from, keyword: "$ref", text: reference };
        Ok(self.find(reference)?.schema)
    }

    pub(super) fn find(&mut self, reference: Reference<'_>) -> Result<Target<'json>> {
        self.budget.check_nodes(self.locations.len())?;
        let (address, fragment) = uri::split_fragment(reference.text);
        let root = self.find_root(reference, address)?;
        let Some(fragment) = fragment::decode(fragment.unwrap_or_default()) else {
            let message = format!("the fragment of {} is no UTF-8", quote(reference.text));
            return Err(self.invalid(reference, message));
        };
        let target = self.find_fragment(reference, root, &fragment)?;
        let json = self.json(target.schema);
        if !json.is_schema() {
            let message = format!("{} is {}, not a schema", quote(reference.text), json.type_name());
            return Err(self.invalid(reference, message));
        }
        Ok(Target { schema: self.as_schema(target.schema), ..target })
    }

    fn find_fragment(
        &mut self,
        reference: Reference<'_>,
        root: SchemaId,
        fragment: &str,
    ) -> Result<Target<'json>> {
        if fragment.is_empty() {
            return Ok(Target { schema: root, dynamic: None });
        }
        let Some(tokens) = fragment.strip_prefix('/') else {
            return self.find_anchor(reference, root, fragment);
        };
        match self.walk(root, tokens) {
            Ok(schema) => Ok(Target { schema, dynamic: None }),
            Err(message) => Err(self.invalid(reference, message)),
        }
    }

    /// The root of the resource that the address names.
    fn find_root(&mut self, reference: Reference<'_>, address: &str) -> Result<SchemaId> {
        let current = self.resource_of(reference.from);
        if address.is_empty() {
            return Ok(current.root);
        }
        let uri = uri::resolve(&current.uri, address);
        if uri == current.uri {
            return Ok(current.root);
        }
        // Of several root documents each knows its own address best.
        let document = current.document;
        if self.source(document).operand.is_some() {
            let root = self.open(document);
            if self.resource_of(root).uri == uri {
                return Ok(root);
            }
        }
        match self.find_resource(&uri)? {
            Some(owner) if owner.ambiguous => {
                let message = format!("several schemas have the address {}", quote(uri::shown(&uri)));
                Err(self.invalid(reference, message))
            }
            Some(owner) => Ok(owner.root),
            None => Err(self.unknown_document(reference, &uri)),
        }
    }

    /// Follows the tokens of a pointer, or says why they lead nowhere.
    fn walk(&mut self, root: SchemaId, tokens: &str) -> Result<SchemaId, String> {
        let mut at = root;
        for token in tokens.split('/') {
            let key = fragment::unescape(token)
                .ok_or_else(|| format!("{} has a `~` that is neither `~0` nor `~1`", quote(token)))?;
            let step = match self.json(at) {
                Json::Array(_) => fragment::index(&key).map(Step::Index),
                _ => Some(Step::Key(&key)),
            };
            let below = step.and_then(|step| self.child(at, step));
            at = below.ok_or_else(|| {
                format!("nothing is there: {} has no {}", quote(&self.pointer(at)), quote(&key))
            })?;
        }
        Ok(at)
    }

    fn find_anchor(&mut self, reference: Reference<'_>, root: SchemaId, name: &str) -> Result<Target<'json>> {
        let resource = self.locations.get(root).resource;
        match self.anchors(resource)?.get_key_value(name) {
            Some((_, anchor)) if anchor.ambiguous => Err(self.ambiguous_anchor(reference, name)),
            Some((name, anchor)) => {
                Ok(Target { schema: anchor.at, dynamic: anchor.dynamic.then_some(*name) })
            }
            None => Err(self.unknown_anchor(reference, root, name)),
        }
    }

    /// The same location, taken for a schema.
    fn as_schema(&mut self, id: SchemaId) -> SchemaId {
        let location = *self.locations.get(id);
        match location.above {
            Some((above, step)) if location.position != Position::Schema => {
                self.intern(above, step, location.json, Position::Schema)
            }
            _ => id,
        }
    }

    fn unknown_document(&self, reference: Reference<'_>, uri: &str) -> Error {
        let uri = quote(uri::shown(uri));
        let message = format!("{} is in the document {uri}, which is not known", quote(reference.text));
        let what = if uri.contains("//json-schema.org/") { "the meta-schema" } else { "the document" };
        Error::unsupported(message)
            .at(self.place(reference))
            .with_help(format!(
                "nothing is fetched: put {what} into `$defs` with the `$id` {uri}, or in Python pass it in `registry=`"
            ))
    }

    fn unknown_anchor(&mut self, reference: Reference<'_>, root: SchemaId, name: &str) -> Error {
        let error = self.invalid(reference, format!("no schema has the anchor {}", quote(name)));
        match self.walk(root, name) {
            Ok(_) => error
                .with_help(format!("a JSON Pointer begins with a slash: {}", quote(&format!("#/{name}")))),
            Err(_) => error,
        }
    }

    pub(super) fn ambiguous_anchor(&self, reference: Reference<'_>, name: &str) -> Error {
        self.invalid(reference, format!("several schemas have the anchor {}", quote(name)))
    }

    fn invalid(&self, reference: Reference<'_>, message: String) -> Error {
        Error::new(ErrorKind::Invalid, message).at(self.place(reference))
    }

    fn place(&self, reference: Reference<'_>) -> Place {
        let mut pointer = self.pointer(reference.from);
        fragment::push_token(reference.keyword, &mut pointer);
        Place::Pointer(pointer)
    }
}

/// A text in quotes for a message, cut where it is long.
fn quote(text: &str) -> String {
    const LONGEST: usize = 200;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{:?}...", &text[..end]),
        None => format!("{text:?}"),
    }
}
