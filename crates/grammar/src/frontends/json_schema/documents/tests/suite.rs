//! The official test suite, where the checkout has it beside it.
//!
//! Every reference in every schema of the suite is resolved, and then the cases about references are decided by a small
//! validator: if they come out right, the references led to the right schemas in the right scopes.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::super::positions::Position;
use super::super::{Document, Documents, Draft, Json, Located};
use super::parse;
use super::validator::{Undecided, validate};
use crate::error::Error;
use crate::limits::Budget;

const DRAFTS: [(&str, Draft); 5] = [
    ("draft4", Draft::Draft4),
    ("draft6", Draft::Draft6),
    ("draft7", Draft::Draft7),
    ("draft2019-09", Draft::Draft201909),
    ("draft2020-12", Draft::Draft202012),
];

/// The files whose cases are about references.
const ABOUT_REFERENCES: [&str; 15] = [
    "ref.json",
    "refRemote.json",
    "anchor.json",
    "id.json",
    "dynamicRef.json",
    "recursiveRef.json",
    "defs.json",
    "definitions.json",
    "infinite-loop-detection.json",
    "optional/id.json",
    "optional/anchor.json",
    "optional/dynamicRef.json",
    "optional/unknownKeyword.json",
    "optional/refOfUnknownKeyword.json",
    "optional/cross-draft.json",
];

fn suite() -> Option<PathBuf> {
    let folder =
        PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/json-schema-test-suite"));
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("skipped: {} is not there", folder.display());
    None
}

/// All JSON files below `folder`.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "json") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn registry(suite: &Path) -> Vec<(String, Document<'static>)> {
    let remotes = suite.join("remotes");
    let address = |path: &Path| {
        let relative = path.strip_prefix(&remotes).unwrap().to_str().unwrap();
        format!("http://localhost:1234/{}", relative.replace('\\', "/"))
    };
    let load = |path: PathBuf| (address(&path), parse(text_of(&path)));
    files(&remotes).into_iter().map(load).collect()
}

/// The text of a file, which lives as long as the tests.
fn text_of(path: &Path) -> &'static str {
    fs::read_to_string(path).unwrap().leak()
}

/// The schemas of a file, each with its description and its tests.
fn groups(path: &Path) -> Vec<(String, Document<'static>, &'static [Json<'static>])> {
    let file: &'static Document<'static> = Box::leak(Box::new(parse(text_of(path))));
    let group = |group: &'static Json<'static>| {
        let description = group.get("description").and_then(Json::as_str).unwrap().to_owned();
        let tests = group.get("tests").and_then(Json::as_array).unwrap();
        (description, parse(group.get("schema").unwrap().to_string().leak()), tests)
    };
    file.root().as_array().unwrap().iter().map(group).collect()
}

/// Whether the failure is that a meta-schema is not there.
fn wants_meta_schema(error: &Error) -> bool {
    error.help().is_some_and(|help| help.contains("put the meta-schema"))
}

/// Follows every reference that can be reached; gives how many there were, and the failures.
fn follow_all(documents: &mut Documents<'_>) -> (usize, Vec<Error>) {
    let mut open = vec![documents.start().unwrap()];
    let mut seen: HashSet<Located> = open.iter().copied().collect();
    let (mut count, mut failures) = (0, Vec::new());
    while let Some(at) = open.pop() {
        let mut reached = subschemas(documents, at);
        for outcome in references(documents, at) {
            count += 1;
            match outcome {
                Ok(target) => reached.push(target),
                Err(error) => failures.push(error),
            }
        }
        open.extend(reached.into_iter().filter(|&at| seen.insert(at)));
    }
    (count, failures)
}

/// The schemas directly below one.
fn subschemas(documents: &mut Documents<'_>, at: Located) -> Vec<Located> {
    let mut open = Vec::new();
    documents.push_below(at.schema, &mut open);
    let mut below = Vec::new();
    while let Some(id) = open.pop() {
        match documents.locations.get(id).position {
            Position::Schema => below.push(documents.locate(id, at.scope).unwrap()),
            _ => documents.push_below(id, &mut open),
        }
    }
    below
}

fn references(documents: &mut Documents<'_>, at: Located) -> Vec<Result<Located, Error>> {
    let (json, draft) = (documents.json(at.schema), documents.draft(at.schema));
    let text = |keyword: &str| json.get(keyword).and_then(Json::as_str);
    let mut outcomes = Vec::new();
    outcomes.extend(text("$ref").map(|reference| documents.follow(at, reference)));
    if draft == Draft::Draft202012 {
        outcomes.extend(text("$dynamicRef").map(|reference| documents.follow_dynamic(at, reference)));
    }
    if draft == Draft::Draft201909 {
        outcomes.extend(text("$recursiveRef").map(|reference| documents.follow_recursive(at, reference)));
    }
    outcomes
}

#[test]
fn every_reference_leads_somewhere() {
    let Some(suite) = suite() else { return };
    let registry = registry(&suite);
    let mut count = 0;
    for (folder, draft) in DRAFTS {
        for path in files(&suite.join("tests").join(folder)) {
            for (description, schema, _) in groups(&path) {
                let budget = Budget::default();
                let mut documents = Documents::new(&schema, &registry, draft, &budget).unwrap();
                let (found, failures) = follow_all(&mut documents);
                count += found;
                if let Some(error) = failures.iter().find(|error| !wants_meta_schema(error)) {
                    panic!("{}, {description}: {error}", path.display());
                }
            }
        }
    }
    assert!(count > 450, "only {count} references");
}

#[test]
fn cases_about_references_are_decided_right() {
    let Some(suite) = suite() else { return };
    let registry = registry(&suite);
    let (mut decided, mut beyond, mut wrong) = (0, 0, Vec::new());
    for (folder, draft) in DRAFTS {
        for name in ABOUT_REFERENCES {
            let path = suite.join("tests").join(folder).join(name);
            if !path.exists() {
                continue;
            }
            for (description, schema, tests) in groups(&path) {
                let budget = Budget::default();
                let mut documents = Documents::new(&schema, &registry, draft, &budget).unwrap();
                let start = documents.start().unwrap();
                for test in tests {
                    let expected = test.get("valid").and_then(Json::as_bool).unwrap();
                    match validate(&mut documents, start, test.get("data").unwrap()) {
                        Ok(verdict) if verdict == expected => decided += 1,
                        Err(Undecided::Keyword) => beyond += 1,
                        Err(Undecided::Reference(error)) if wants_meta_schema(&error) => beyond += 1,
                        other => wrong.push(format!("{folder}/{name}: {description}: {test}: {other:?}")),
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(decided > 600, "{decided} decided, {beyond} not");
}
