//! Tests of documents and references. Those against the official suite say in their prose what they check.

mod base_uris;
mod contents;
mod hostile;
mod pointers;
mod reading;
mod scopes;
mod suite;
mod validator;

use super::{Document, Documents, Draft, SchemaId};
use crate::error::{Error, Place};
use crate::limits::Budget;

/// A document from text that is JSON.
fn parse(text: &str) -> Document<'_> {
    Document::parse(text, &Budget::default()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Resolves the reference at `pointer` of `schema` with `others` beside it, and gives the target's pointer.
fn target_among(schema: &str, others: &[(&str, &str)], pointer: &str) -> Result<String, Error> {
    let budget = Budget::default();
    let schema = parse(schema);
    let others: Vec<_> = others.iter().map(|(uri, text)| ((*uri).to_owned(), parse(text))).collect();
    let mut documents = Documents::new(&schema, &others, Draft::default(), &budget)?;
    let from = at(&mut documents, pointer);
    let reference = documents.json(from).get("$ref").and_then(|text| text.as_str()).expect("a reference");
    let target = documents.resolve(from, reference)?;
    Ok(documents.pointer(target))
}

fn target(schema: &str, pointer: &str) -> Result<String, Error> {
    target_among(schema, &[], pointer)
}

/// The location that a plain pointer names, by way of `child`.
fn at(documents: &mut Documents<'_>, pointer: &str) -> SchemaId {
    let mut id = documents.root();
    for token in pointer.split('/').skip(1) {
        let below = match token.parse::<usize>() {
            Ok(index) => documents.child(id, index),
            Err(_) => documents.child(id, token),
        };
        id = below.unwrap_or_else(|| panic!("no {token} in {pointer}"));
    }
    id
}

/// The pointer that an error has as its place.
fn place(error: &Error) -> &str {
    match error.place() {
        Place::Pointer(pointer) => pointer,
        other => panic!("{other:?}"),
    }
}
