//! Dynamic scopes.

use super::super::{Documents, Draft, Located, ScopeId, Step};
use super::parse;
use crate::limits::Budget;

/// A list whose items are a hole, and two schemas that fill it.
const LISTS: &str = r##"{
    "$id": "http://x/main",
    "anyOf": [{"$ref": "numbers"}, {"$ref": "strings"}, {"$ref": "list"}],
    "$defs": {
        "list": {"$id": "list", "items": {"$dynamicRef": "#item"}, "$defs": {"any": {"$dynamicAnchor": "item"}}},
        "numbers": {"$id": "numbers", "$ref": "list",
                    "$defs": {"item": {"$dynamicAnchor": "item", "type": "number"}}},
        "strings": {"$id": "strings", "$ref": "list",
                    "$defs": {"item": {"$dynamicAnchor": "item", "type": "string"}}}
    }
}"##;

fn step(documents: &mut Documents<'_>, from: Located, steps: &[Step<'_>]) -> Located {
    steps.iter().fold(from, |at, &step| documents.step(at, step).unwrap().expect("a value"))
}

#[test]
fn a_hole_is_filled_by_the_outermost() {
    let (budget, schema) = (Budget::default(), parse(LISTS));
    let mut documents = Documents::new(&schema, &[], Draft::default(), &budget).unwrap();
    let start = documents.start().unwrap();
    let cases = [
        (0, Some("numbers"), "/$defs/numbers/$defs/item"),
        (1, Some("strings"), "/$defs/strings/$defs/item"),
        (2, None, "/$defs/list/$defs/any"),
    ];
    let mut lists = Vec::new();
    for (branch, reference, expected) in cases {
        let mut at = step(&mut documents, start, &[Step::Key("anyOf"), Step::Index(branch)]);
        if let Some(reference) = reference {
            at = documents.follow(at, reference).unwrap();
        }
        let list = documents.follow(at, "list").unwrap();
        lists.push(list);
        let items = step(&mut documents, list, &[Step::Key("items")]);
        let filled = documents.follow_dynamic(items, "#item").unwrap();
        assert_eq!(documents.pointer(filled.schema), expected);
    }
    assert!(lists.iter().all(|list| list.schema == lists[0].schema));
    assert!(lists[0].scope != lists[1].scope && lists[1].scope != lists[2].scope);
}

#[test]
fn recursion_closes() {
    let schema = r##"{"$id": "http://x/strict", "$dynamicAnchor": "node", "$ref": "tree",
        "$defs": {"tree": {"$id": "tree", "$dynamicAnchor": "node", "items": {"$dynamicRef": "#node"}}}}"##;
    let (budget, schema) = (Budget::default(), parse(schema));
    let mut documents = Documents::new(&schema, &[], Draft::default(), &budget).unwrap();
    let start = documents.start().unwrap();
    let tree = documents.follow(start, "tree").unwrap();
    let items = step(&mut documents, tree, &[Step::Key("items")]);
    assert_eq!(documents.follow_dynamic(items, "#node").unwrap(), start);
}

#[test]
fn a_scope_without_dynamic_references_is_empty() {
    let schema = LISTS.replace("$dynamicRef", "$ref");
    let (budget, schema) = (Budget::default(), parse(&schema));
    let mut documents = Documents::new(&schema, &[], Draft::default(), &budget).unwrap();
    let start = documents.start().unwrap();
    let numbers = documents.follow(start, "numbers").unwrap();
    let list = documents.follow(numbers, "list").unwrap();
    assert_eq!((start.scope, numbers.scope, list.scope), (ScopeId::EMPTY, ScopeId::EMPTY, ScopeId::EMPTY));
}

#[test]
fn recursive_references_look_for_the_outermost_recursive_anchor() {
    let schema = |outer: bool, inner: bool| {
        format!(
            r##"{{"$schema": "https://json-schema.org/draft/2019-09/schema", "$id": "http://x/outer",
                "$recursiveAnchor": {outer}, "$ref": "inner", "$defs": {{
                "inner": {{"$id": "inner", "$recursiveAnchor": {inner}, "items": {{"$recursiveRef": "#"}}}}}}}}"##
        )
    };
    for (outer, inner, expected) in
        [(true, true, ""), (true, false, "/$defs/inner"), (false, true, "/$defs/inner")]
    {
        let text = schema(outer, inner);
        let (budget, schema) = (Budget::default(), parse(&text));
        let mut documents = Documents::new(&schema, &[], Draft::default(), &budget).unwrap();
        let start = documents.start().unwrap();
        let below = documents.follow(start, "inner").unwrap();
        let items = step(&mut documents, below, &[Step::Key("items")]);
        let target = documents.follow_recursive(items, "#").unwrap();
        assert_eq!(documents.pointer(target.schema), expected, "{outer} {inner}");
    }
}

#[test]
fn an_ambiguous_outermost_anchor_is_refused() {
    let schema = LISTS.replace(
        r#"{"item": {"$dynamicAnchor": "item", "type": "number"}}"#,
        r#"{"item": {"$dynamicAnchor": "item", "type": "number"}, "other": {"$dynamicAnchor": "item"}}"#,
    );
    let (budget, schema) = (Budget::default(), parse(&schema));
    let mut documents = Documents::new(&schema, &[], Draft::default(), &budget).unwrap();
    let start = documents.start().unwrap();
    let numbers = documents.follow(start, "numbers").unwrap();
    let list = documents.follow(numbers, "list").unwrap();
    let items = step(&mut documents, list, &[Step::Key("items")]);
    assert!(documents.follow_dynamic(items, "#item").unwrap_err().message().contains("several schemas"));
}
