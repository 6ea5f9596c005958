//! What is found, what is not blamed, and that it ends.

use super::super::{Options, check, check_inhabited, explained, grammar, parse};
use super::*;
use crate::limits::{CancelFlag, Limits};

const EMPTY: &str = r#"{"type": "object", "required": ["b"], "maxProperties": 0}"#;
const WHY: &str = r#"no value satisfies the schema: "required" and "maxProperties" contradict each other"#;

/// The error of a schema, with its pointer.
fn error_of(schema: &str, options: &Options) -> (String, Error) {
    let error = check(schema, options, &Budget::default()).unwrap_err();
    let Place::Pointer(pointer) = error.place() else { panic!("{error}") };
    (pointer.clone(), error)
}

fn lenient() -> Options {
    Options { strict_mode: false, ..Options::default() }
}

#[test]
fn the_innermost_place_is_named() {
    let schema = format!(
        r##"{{"type": "object", "required": ["a"], "properties": {{"z": {EMPTY}, "a": {{"$ref": "#/$defs/list"}}}},
        "$defs": {{"list": {{"type": "array", "minItems": 1, "items": {{"allOf": [{{}}, {EMPTY}]}}}}}}}}"##
    );
    for options in [Options::default(), lenient()] {
        let (pointer, error) = error_of(&schema, &options);
        assert_eq!((pointer.as_str(), error.message()), ("/$defs/list/items/allOf/1", WHY));
    }
}

#[test]
fn keywords_that_only_look_guilty_are_not_named() {
    // Without "properties" the key "o" would be one of those that "additionalProperties" forbids.
    let schema = format!(
        r#"{{"type": "object", "properties": {{"o": {EMPTY}, "p": true}}, "required": ["o"],
        "additionalProperties": false, "minProperties": 1, "maxProperties": 9, "propertyNames": {{"maxLength": 5}}}}"#
    );
    for options in [Options::default(), lenient()] {
        let (pointer, error) = error_of(&schema, &options);
        assert_eq!((pointer.as_str(), error.message()), ("/properties/o", WHY));
    }
}

#[test]
fn an_optional_part_is_not_blamed_for_what_strict_mode_closes() {
    let schema = format!(r#"{{"type": "object", "properties": {{"a": {EMPTY}}}, "minProperties": 2}}"#);
    let (pointer, error) = error_of(&schema, &Options::default());
    assert_eq!(pointer, "");
    assert!(
        error.message().ends_with(r#""properties" and "minProperties" contradict each other"#),
        "{error}"
    );
    assert!(error.help().is_some_and(|help| help.contains("strict mode")), "{error}");
}

#[test]
fn of_several_that_are_all_needed_none_is_named_alone() {
    let schema = format!(
        r#"{{"type": "object", "properties": {{"a": {EMPTY}, "b": {EMPTY}}}, "minProperties": 1,
        "additionalProperties": false}}"#
    );
    let (pointer, error) = error_of(&schema, &lenient());
    assert_eq!(pointer, "");
    assert!(
        error.message().contains(r#""properties", "minProperties" and "additionalProperties""#),
        "{error}"
    );
}

#[test]
fn dynamic_references_are_followed() {
    let schema = r##"{"$id": "https://example.com/list", "$dynamicAnchor": "item", "type": "array", "minItems": 1,
        "items": {"$dynamicRef": "#item"}}"##;
    let (pointer, error) = error_of(schema, &Options::default());
    assert_eq!(pointer, "");
    assert!(error.message().ends_with("without end"), "{error}");
}

#[test]
fn a_conversion_does_not_look_and_compiling_explains() {
    let budget = Budget::default();
    let converted = grammar(EMPTY, &Options::default(), &budget).unwrap();
    let found = check_inhabited(&converted, EMPTY, &Options::default(), &budget).unwrap_err();
    let failed = crate::passes::compile(&converted, &budget).unwrap_err();
    assert_eq!(*failed.place(), Place::Nowhere);
    assert_eq!(explained(failed, EMPTY, &Options::default(), &budget), found);
    assert_eq!(found.message(), WHY);
}

#[test]
fn keys_of_narrowed_formats_hide_no_contradiction() {
    for (schema, named) in [
        (
            r#"{"type": "array", "items": {"type": "object", "propertyNames": {"format": "hostname"}},
            "contains": {"type": "array"}}"#,
            r#""items" and "contains""#,
        ),
        (
            r#"{"type": "object", "minProperties": 1, "propertyNames": {"format": "duration"},
            "additionalProperties": false}"#,
            r#""minProperties" and "additionalProperties""#,
        ),
    ] {
        let (pointer, error) = error_of(schema, &lenient());
        assert_eq!(pointer, "");
        assert!(error.message().contains(named), "{error}");
    }
}

#[test]
fn no_error_speaks_of_rules_that_nobody_wrote() {
    let budget = Budget::default();
    let failed = Error::new(ErrorKind::Invalid, crate::passes::trim::GENERATES_NOTHING);
    let told = explained(failed, r#"{"type": "object"}"#, &Options::default(), &budget);
    assert_eq!(*told.place(), Place::Pointer(String::new()));
    assert_eq!(told.message(), "no value of the schema can be written");
}

#[test]
fn errors_of_other_schemas_stay_as_they_are() {
    let budget = Budget::default();
    let failed = Error::new(ErrorKind::Invalid, "something else");
    for schema in [r#"{"type": "object"}"#, "{", r#"{"type": 1}"#, r##"{"$ref": "#/nowhere"}"##] {
        assert_eq!(explained(failed.clone(), schema, &Options::default(), &budget), failed);
    }
}

#[test]
fn members_that_cannot_be_decided_have_a_place() {
    let circle = r#"{"properties": {"a": true, "b": true, "c": {}, "d": {}}, "minProperties": 2, "maxProperties": 3,
        "dependentRequired": {"a": ["b"], "b": ["d"], "d": ["a"]}}"#;
    let schema = format!(r#"{{"properties": {{"q": {circle}}}}}"#);
    let budget = Budget::default();
    let options = Options::default();
    let refused = grammar(&schema, &options, &budget).unwrap_err();
    assert_eq!(*refused.place(), Place::Pointer("/properties/q/dependentRequired".to_owned()));
    let nowhere = Error::new(refused.kind(), refused.message());
    assert_eq!(explained(nowhere.clone(), &schema, &options, &budget).place(), refused.place());
    // What was spent elsewhere is not said of that place.
    for other in [Error::limit("the number of automaton states", 1, "max_states"), Error::unsupported("else")]
    {
        assert_eq!(explained(other.clone(), &schema, &options, &budget), other);
    }
    let late = Limits { max_compile_time: std::time::Duration::ZERO, ..Limits::default() };
    let late = Budget::new(late, CancelFlag::default());
    assert_eq!(explained(nowhere.clone(), &schema, &options, &late), nowhere);
}

#[test]
fn it_ends_in_time() {
    let all_needed: Vec<String> = (0..5_000)
        .map(|at| format!(r#""a{at}": {{"type": "integer", "minimum": {at}, "maximum": -1}}"#))
        .collect();
    let wide = format!(
        r#"{{"type": "object", "properties": {{{}}}, "minProperties": 1, "additionalProperties": false}}"#,
        all_needed.join(", ")
    );
    let deep = format!(
        "{}{EMPTY}{}",
        r#"{"type": "object", "required": ["x"], "properties": {"x": "#.repeat(300),
        "}}".repeat(300)
    );
    for schema in [&wide, &deep] {
        let (_, error) = error_of(schema, &Options::default());
        assert!(error.message().starts_with(NO_VALUE), "{error}");
    }
}

#[test]
fn who_wants_to_stop_is_told_so() {
    let cancel = CancelFlag::default();
    let budget = Budget::new(Limits::default(), cancel.clone());
    let error = parse("false", &Options::default(), &budget).unwrap_err();
    assert!(error.message().ends_with("it is false"), "{error}");
    cancel.cancel();
    let plain = Error::new(ErrorKind::Invalid, "the grammar generates nothing");
    assert_eq!(explained(plain, EMPTY, &Options::default(), &budget).kind(), ErrorKind::Cancelled);
}
