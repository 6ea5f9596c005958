//! Local references: JSON Pointers and anchors.

use super::super::{Documents, Draft, Step};
use super::{at, parse, place, target};
use crate::error::ErrorKind;
use crate::limits::Budget;

/// The target of `reference` at `/items` of a schema with every sort of key.
fn from_items(reference: &str) -> Result<String, crate::Error> {
    let schema = r#"{
        "items": {"$ref": REFERENCE},
        "$defs": {"": {"": true}, "a/b": true, "a~b": true, "a%b": true, "é\"": true, "~1": true, "0": true,
                  "named": {"$anchor": "name"}, "both": [{"$anchor": "inner"}]},
        "anyOf": [{}, {"x-unknown": [5, {"$anchor": "hidden"}, true]}]
    }"#;
    target(&schema.replace("REFERENCE", &format!("{reference:?}")), "/items")
}

#[test]
fn pointers_lead_to_their_targets() {
    let cases = [
        ("#", ""),
        ("", ""),
        ("#/$defs/a~1b", "/$defs/a~1b"),
        ("#/$defs/a~0b", "/$defs/a~0b"),
        ("#/$defs/a%25b", "/$defs/a%b"),
        ("#/$defs/a%b", "/$defs/a%b"),
        ("#/$defs/%C3%A9%22", "/$defs/é\""),
        ("#/%24defs/a%7E1b", "/$defs/a~1b"),
        ("#%2F$defs%2Fa~1b", "/$defs/a~1b"),
        ("#/$defs/~01", "/$defs/~01"),
        ("#/$defs/0", "/$defs/0"),
        ("#/$defs/", "/$defs/"),
        ("#/$defs//", "/$defs//"),
        ("#/anyOf/0", "/anyOf/0"),
        ("#/anyOf/1/x-unknown/2", "/anyOf/1/x-unknown/2"),
        ("#/items", "/items"),
        ("#name", "/$defs/named"),
        ("#n%61me", "/$defs/named"),
    ];
    for (reference, expected) in cases {
        assert_eq!(from_items(reference).unwrap_or_else(|error| panic!("{error}")), expected, "{reference}");
    }
}

#[test]
fn pointers_to_nothing_are_refused() {
    let cases = [
        ("#/$defs/missing", "\"/$defs\" has no \"missing\""),
        ("#/$defs/a/b", "\"/$defs\" has no \"a\""),
        ("#/anyOf/2", "\"/anyOf\" has no \"2\""),
        ("#/anyOf/00", "\"/anyOf\" has no \"00\""),
        ("#/anyOf/-", "\"/anyOf\" has no \"-\""),
        ("#/anyOf/99999999999999999999999", "has no"),
        ("#/$defs/a~2b", "neither `~0` nor `~1`"),
        ("#/$defs/a~", "neither `~0` nor `~1`"),
        ("#/$defs/%FF", "no UTF-8"),
        ("#/anyOf/1/x-unknown/0", "is a number, not a schema"),
        ("#/anyOf", "is an array, not a schema"),
        ("#nobody", "no schema has the anchor"),
        ("#hidden", "no schema has the anchor"),
        ("#inner", "no schema has the anchor"),
    ];
    for (reference, message) in cases {
        let error = from_items(reference).expect_err(reference);
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.message().contains(message), "{error}");
        assert_eq!(place(&error), "/items/$ref");
    }
}

#[test]
fn a_pointer_without_its_slash_gets_a_hint() {
    let error = from_items("#$defs/a~1b").unwrap_err();
    assert!(error.help().unwrap().contains("#/$defs/a~1b"), "{error}");
    assert_eq!(from_items("#nobody").unwrap_err().help(), None);
}

#[test]
fn an_anchor_given_twice_is_refused() {
    let schema = r##"{"$ref": "#a", "$defs": {"x": {"$anchor": "a"}, "y": {"$anchor": "a"}}}"##;
    assert!(target(schema, "").unwrap_err().message().contains("several"));
}

#[test]
fn old_drafts_have_anchors_in_their_identifiers() {
    for (draft, keyword) in [("draft-04", "id"), ("draft-06", "$id"), ("draft-07", "$id")] {
        let schema = format!(
            r##"{{"$schema": "http://json-schema.org/{draft}/schema#", "items": {{"$ref": "#a"}},
                "definitions": {{"x": {{"{keyword}": "#a"}}, "y": {{"{keyword}": "#/y"}}, "z": {{"$anchor": "a"}},
                                 "w": {{"{keyword}": "#a", "$ref": "#"}}}}}}"##
        );
        assert_eq!(target(&schema, "/items").unwrap(), "/definitions/x");
    }
}

#[test]
fn the_same_place_is_the_same_id() {
    let budget = Budget::default();
    let schema = parse(r##"{"items": {"$ref": "#"}, "x": {"y": [{"items": {}}]}}"##);
    let mut documents = Documents::new(&schema, &[], Draft::default(), &budget).unwrap();
    let root = documents.root();
    let items = at(&mut documents, "/items");
    assert_eq!(documents.resolve(items, "#").unwrap(), root);
    assert_eq!(documents.resolve(items, "#/items").unwrap(), items);
    let inner = documents.resolve(items, "#/x/y/0/items").unwrap();
    assert_eq!(documents.resolve(root, "#/x/y/0/items").unwrap(), inner);
    let steps = [Step::Key("x"), Step::Key("y"), Step::Index(0)];
    let data = documents.descend(root, &steps).unwrap();
    assert_eq!(documents.pointer(data), "/x/y/0");
    assert_ne!(documents.resolve(root, "#/x/y/0").unwrap(), data, "data became a schema");
    assert_eq!(documents.child(root, 0), None);
    assert_eq!(documents.child(data, "missing"), None);
}
