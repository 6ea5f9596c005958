//! Schemas that say the same.

use super::super::{ContentId, Documents, Draft, Located};
use super::{at, parse};
use crate::limits::Budget;

/// A schema with so many keys that its schemas are compared.
fn large(schemas: &str) -> String {
    let keys: Vec<String> = (0..100).map(|at| format!(r#""x{at}": 0"#)).collect();
    format!(r#"{{"x-filler": {{{}}}, "$defs": {{"t": {{"type": "null"}}}}, {schemas}}}"#, keys.join(", "))
}

fn says(keyword: &str) -> bool {
    !matches!(keyword, "title" | "$defs") && !keyword.starts_with("x-")
}

/// The pointer of the first schema that says the same as the second, after the first was asked for.
fn alike(schema: &str, first: &str, second: &str) -> Option<(String, ContentId)> {
    let (budget, schema) = (Budget::default(), parse(schema));
    let mut documents = Documents::new(&schema, &[], Draft::default(), &budget).unwrap();
    let start = documents.start().unwrap();
    for pointer in ["", first] {
        let schema = at(&mut documents, pointer);
        assert_eq!(documents.first_alike(Located { schema, ..start }, says), None);
    }
    let schema = at(&mut documents, second);
    let (first, content) = documents.first_alike(Located { schema, ..start }, says)?;
    Some((documents.pointer(first.schema), content))
}

fn are_alike(one: &str, other: &str) -> bool {
    let schema = large(&format!(r#""properties": {{"a": {one}, "b": {other}}}"#));
    alike(&schema, "/properties/a", "/properties/b").is_some()
}

#[test]
fn equal_schemas_are_alike_whatever_remarks_they_have() {
    assert!(are_alike(r#"{"type": "string"}"#, r#"{"title": "B", "type": "string", "x-unknown": {"a": 1}}"#));
    assert!(are_alike(r##"{"items": {"$ref": "#/$defs/t"}}"##, r##"{"items": {"$ref": "#/$defs/t"}}"##));
    let nested = |title: &str| format!(r#"{{"allOf": [{{"properties": {{"c": {{"title": "{title}"}}}}}}]}}"#);
    assert!(are_alike(&nested("one"), &nested("two")));
}

#[test]
fn schemas_that_differ_are_not_alike() {
    for (one, other) in [
        (r#"{"type": "string"}"#, r#"{"type": "number"}"#),
        (r#"{"type": "string"}"#, r#"{"type": ["string"]}"#),
        (r#"{"maximum": 1}"#, r#"{"maximum": "1"}"#),
        (r#"{"enum": ["a", "b"]}"#, r#"{"enum": ["ab"]}"#),
        (r#"{"enum": [["a"], "b"]}"#, r#"{"enum": [["a", "b"]]}"#),
        (r#"{"not": {"type": "null"}}"#, r#"{"not": {"type": "array"}}"#),
        // The order of keys is the order in which they are written.
        (r#"{"properties": {"p": true, "q": true}}"#, r#"{"properties": {"q": true, "p": true}}"#),
        // What is a remark in a schema is a name in a list of properties, and data in a constant.
        (r#"{"properties": {"title": {"type": "null"}}}"#, r#"{"properties": {"title": {"type": "array"}}}"#),
        (r#"{"const": {"title": "one"}}"#, r#"{"const": {"title": "two"}}"#),
    ] {
        assert!(!are_alike(one, other), "{one} and {other}");
    }
}

#[test]
fn a_schema_that_names_itself_is_like_no_other() {
    assert!(!are_alike(r#"{"$id": "http://x/a"}"#, r#"{"$id": "http://x/a"}"#));
    let items = r#"{"items": {"$id": "http://x/a", "type": "null"}}"#;
    assert!(!are_alike(items, items));
}

#[test]
fn the_same_words_in_another_resource_are_not_alike() {
    let inner = r##"{"$ref": "#/$defs/t"}"##;
    let other = format!(r#"{{"$id": "http://x/b", "$defs": {{"t": true}}, "items": {inner}}}"#);
    let schema = large(&format!(r#""properties": {{"a": {inner}, "b": {other}}}"#));
    assert_eq!(alike(&schema, "/properties/a", "/properties/b/items"), None);
}

#[test]
fn what_lies_inside_has_the_smaller_number() {
    let inner = r#"{"type": "string", "maxLength": 3}"#;
    let outer = format!(r#"{{"items": {inner}}}"#);
    let schema =
        large(&format!(r#""properties": {{"a": {inner}, "b": {inner}, "c": {outer}, "d": {outer}}}"#));
    let (first, within) = alike(&schema, "/properties/a", "/properties/b").unwrap();
    let (_, around) = alike(&schema, "/properties/c", "/properties/d").unwrap();
    assert_eq!(first, "/properties/a");
    assert!(within < around);
}

#[test]
fn deep_schemas_are_compared_without_recursion() {
    let depth = 900;
    let deep = format!("{}{{}}{}", r#"{"items": "#.repeat(depth), "}".repeat(depth));
    assert!(are_alike(&deep, &deep));
}

#[test]
fn in_a_small_document_nothing_is_compared() {
    let schema = r#"{"properties": {"a": {"type": "null"}, "b": {"type": "null"}}}"#;
    assert_eq!(alike(schema, "/properties/a", "/properties/b"), None);
}
