//! Addresses: RFC 3986, embedded resources, the registry, drafts of resources.

use super::super::{Documents, Draft, uri};
use super::{at, parse, place, target, target_among};
use crate::error::ErrorKind;
use crate::limits::Budget;

#[test]
fn references_resolve_as_the_rfc_says() {
    // The examples of RFC 3986, sections 5.4.1 and 5.4.2.
    let cases = [
        ("g:h", "g:h"),
        ("g", "http://a/b/c/g"),
        ("./g", "http://a/b/c/g"),
        ("g/", "http://a/b/c/g/"),
        ("/g", "http://a/g"),
        ("//g", "http://g"),
        ("?y", "http://a/b/c/d;p?y"),
        ("g?y", "http://a/b/c/g?y"),
        (";x", "http://a/b/c/;x"),
        ("g;x?y", "http://a/b/c/g;x?y"),
        ("", "http://a/b/c/d;p?q"),
        (".", "http://a/b/c/"),
        ("./", "http://a/b/c/"),
        ("..", "http://a/b/"),
        ("../", "http://a/b/"),
        ("../g", "http://a/b/g"),
        ("../..", "http://a/"),
        ("../../", "http://a/"),
        ("../../g", "http://a/g"),
        ("../../../g", "http://a/g"),
        ("/./g", "http://a/g"),
        ("/../g", "http://a/g"),
        ("g.", "http://a/b/c/g."),
        ("..g", "http://a/b/c/..g"),
        ("./../g", "http://a/b/g"),
        ("./g/.", "http://a/b/c/g/"),
        ("g/./h", "http://a/b/c/g/h"),
        ("g/../h", "http://a/b/c/h"),
        ("g;x=1/./y", "http://a/b/c/g;x=1/y"),
        ("g;x=1/../y", "http://a/b/c/y"),
        ("g?y/../x", "http://a/b/c/g?y/../x"),
    ];
    for (reference, expected) in cases {
        assert_eq!(uri::resolve("http://a/b/c/d;p?q", reference), expected, "{reference:?}");
    }
}

#[test]
fn odd_addresses_are_read_leniently() {
    assert_eq!(uri::resolve("HTTP://Example.COM", "a B{c}.json"), "http://example.com/a B{c}.json");
    assert_eq!(uri::resolve("urn:uuid:1-2", "urn:Example:X"), "urn:Example:X");
    assert_eq!(uri::resolve("file:///c:/x/y.json", "z.json"), "file:///c:/x/z.json");
    assert_eq!(uri::resolve(uri::DEFAULT_BASE, "a.json"), "schema:///a.json");
}

const NESTED: &str = r#"{
    "$id": "http://x/root.json",
    "items": {"$ref": "REFERENCE"},
    "$defs": {
        "a": {"$id": "folder/a.json", "items": {"$ref": "b.json"}, "$defs": {"b": {"$id": "b.json"}}},
        "data": {"enum": [{"$id": "hidden.json"}], "x-unknown": {"$id": "hidden.json"}}
    }
}"#;

#[test]
fn embedded_resources_are_found_by_their_address() {
    let cases = [
        ("http://x/root.json", ""),
        ("HTTP://X/root.json#", ""),
        ("root.json#/$defs/a", "/$defs/a"),
        ("folder/a.json", "/$defs/a"),
        ("/folder/a.json#/$defs", "/$defs/a/$defs"),
        ("folder/b.json", "/$defs/a/$defs/b"),
        ("http://x/folder/b.json#", "/$defs/a/$defs/b"),
    ];
    for (reference, expected) in cases {
        let schema = NESTED.replace("REFERENCE", reference);
        assert_eq!(target(&schema, "/items").unwrap(), expected, "{reference}");
    }
    assert_eq!(target(NESTED, "/$defs/a/items").unwrap(), "/$defs/a/$defs/b");
}

#[test]
fn identifiers_in_data_are_no_identifiers() {
    let error = target(&NESTED.replace("REFERENCE", "hidden.json"), "/items").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert_eq!(place(&error), "/items/$ref");
    assert!(error.help().unwrap().contains("registry="), "{error}");
    assert!(error.message().contains("http://x/hidden.json"), "{error}");
}

#[test]
fn meta_schemas_are_known() {
    let address = "http://json-schema.org/draft-07/schema#";
    assert_eq!(target(&format!(r#"{{"$ref": "{address}"}}"#), "").unwrap(), address);
}

#[test]
fn an_address_with_two_owners_is_refused_unless_they_agree() {
    let schema = |other: &str| {
        format!(
            r#"{{"items": {{"$ref": "http://x/a"}},
                "$defs": {{"a": {{"$id": "http://x/a", "type": "null"}}, "b": {other}}}}}"#
        )
    };
    let same = schema(r#"{"type": "null", "$id": "http://x/a"}"#);
    assert!(target(&same, "/items").is_ok());
    let other = schema(r#"{"type": "string", "$id": "http://x/a"}"#);
    assert!(target(&other, "/items").unwrap_err().message().contains("several schemas"));
}

#[test]
fn local_references_stay_in_their_resource() {
    let schema = r##"{"$defs": {"x": {"type": "null"}},
        "items": {"$id": "http://x/a", "items": {"$ref": "#/$defs/x"}, "$defs": {"x": {"type": "string"}}},
        "not": {"$id": "http://x/b", "items": {"$ref": "#/$defs/x"}}}"##;
    assert_eq!(target(schema, "/items/items").unwrap(), "/items/$defs/x");
    assert!(target(schema, "/not/items").is_err());
}

#[test]
fn a_pointer_into_another_resource_changes_the_base() {
    let schema = r##"{"$id": "http://x/root", "$ref": "#/$defs/a/$defs/b",
        "$defs": {"a": {"$id": "folder/a", "$defs": {"b": {"$ref": "c"}, "c": {"$id": "c"}}}}}"##;
    let budget = Budget::default();
    let schema = parse(schema);
    let mut documents = Documents::new(&schema, &[], Draft::default(), &budget).unwrap();
    let inner = documents.resolve(documents.root(), "#/$defs/a/$defs/b").unwrap();
    assert_eq!(documents.base(inner), "http://x/folder/a");
    let last = documents.resolve(inner, "c").unwrap();
    assert_eq!(documents.pointer(last), "/$defs/a/$defs/c");
    assert_eq!(documents.base(last), "http://x/folder/c");
}

#[test]
fn old_drafts_hide_an_identifier_beside_a_reference() {
    let schema = |draft: &str| {
        format!(
            r#"{{"$schema": "{draft}", "$id": "http://x/", "items": {{"$id": "y/", "$ref": "a"}},
                "definitions": {{"a": {{"$id": "http://x/a"}}, "b": {{"$id": "http://x/y/a"}}}}}}"#
        )
    };
    let old = schema("http://json-schema.org/draft-07/schema#");
    assert_eq!(target(&old, "/items").unwrap(), "/definitions/a");
    let new = schema("https://json-schema.org/draft/2019-09/schema");
    assert_eq!(target(&new, "/items").unwrap(), "/definitions/b");
}

#[test]
fn the_registry_is_asked_by_address() {
    let others = [
        ("http://x/a.json", r#"{"$defs": {"b": {"$ref": "c.json"}}, "$anchor": "top"}"#),
        (
            "relative.json",
            r#"{"$id": "http://y/named", "$defs": {"z": {"$id": "inner", "$anchor": "deep"}}}"#,
        ),
        ("http://x/c.json#", "true"),
        ("http://x/number.json", "5"),
    ];
    let cases = [
        ("http://x/a.json", "http://x/a.json#"),
        ("http://x/a.json#/$defs/b", "http://x/a.json#/$defs/b"),
        ("http://x/a.json#top", "http://x/a.json#"),
        ("http://x/c.json", "http://x/c.json#"),
        ("relative.json", "relative.json#"),
        ("http://y/named", "relative.json#"),
        ("http://y/inner#deep", "relative.json#/$defs/z"),
    ];
    for (reference, expected) in cases {
        let schema = format!(r#"{{"$ref": "{reference}"}}"#);
        assert_eq!(target_among(&schema, &others, "").unwrap(), expected, "{reference}");
    }
    let error = target_among(r#"{"$ref": "http://x/number.json"}"#, &others, "").unwrap_err();
    assert!(error.message().contains("is a number, not a schema"), "{error}");
}

#[test]
fn errors_in_another_document_name_it() {
    let budget = Budget::default();
    let schema = parse(r#"{"$ref": "a.json"}"#);
    let others = [("a.json".to_owned(), parse(r##"{"items": {"$ref": "#/gone"}}"##))];
    let mut documents = Documents::new(&schema, &others, Draft::default(), &budget).unwrap();
    let other = documents.resolve(documents.root(), "a.json").unwrap();
    let items = documents.child(other, "items").unwrap();
    let error = documents.resolve(items, "#/gone").unwrap_err();
    assert_eq!(place(&error), "a.json#/items/$ref");
}

#[test]
fn each_resource_has_its_own_draft() {
    let budget = Budget::default();
    let schema = parse(
        r#"{"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {
            "old": {"$id": "http://x/old", "$schema": "http://json-schema.org/draft-04/schema#", "items": {}},
            "same": {"$id": "http://x/same"},
            "foreign": {"id": "http://x/foreign", "$schema": "http://json-schema.org/draft-04/schema#"},
            "no-resource": {"$schema": "http://json-schema.org/draft-04/schema#"},
            "custom": {"$id": "http://x/custom", "$schema": "http://x/meta"},
            "unknown": {"$id": "http://x/unknown", "$schema": "http://x/nobody"}}}"#,
    );
    let meta = parse(r#"{"$schema": "https://json-schema.org/draft/2019-09/schema"}"#);
    let others = [("http://x/meta".to_owned(), meta), ("http://x/plain".to_owned(), parse("{}"))];
    let mut documents = Documents::new(&schema, &others, Draft::Draft6, &budget).unwrap();
    let cases = [
        ("", Draft::Draft7),
        ("/definitions/old", Draft::Draft4),
        ("/definitions/old/items", Draft::Draft4),
        ("/definitions/same", Draft::Draft7),
        ("/definitions/foreign", Draft::Draft7),
        ("/definitions/no-resource", Draft::Draft7),
        ("/definitions/custom", Draft::Draft201909),
        ("/definitions/unknown", Draft::Draft6),
    ];
    for (pointer, draft) in cases {
        let id = at(&mut documents, pointer);
        assert_eq!(documents.draft(id), draft, "{pointer}");
    }
    let custom = at(&mut documents, "/definitions/custom");
    assert_eq!(documents.meta_schema(custom), Some(others[0].1.root()));
    let root = documents.root();
    assert_eq!(documents.meta_schema(root), None);
    let plain = documents.resolve(root, "http://x/plain").unwrap();
    assert_eq!(documents.draft(plain), Draft::Draft7);
}
