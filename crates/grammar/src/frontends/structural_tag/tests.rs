//! Tests of the front end: against a slow search in the text, printed and read back, and with hostile input. What each
//! format accepts is in `testdata/structural_tag/`.

use proptest::prelude::*;

use super::*;
use crate::frontends::ebnf;
use crate::frontends::json_schema::Spelling;
use crate::passes;
use crate::regular::{Dfa, determinize};

fn read(tag: &str) -> Result<Grammar> {
    parse(tag, Spelling::Any, None, &Budget::default())
}

/// The language of a tag that has no recursion, as one automaton.
fn automaton(tag: &str) -> Dfa {
    let budget = Budget::default();
    let grammar = passes::dispatch::lower(read(tag).unwrap(), &budget).unwrap();
    let body = grammar.rule(grammar.root()).body;
    determinize(&grammar, body, &budget).unwrap()
}

fn quoted(texts: &[String]) -> String {
    let texts: Vec<String> = texts.iter().map(|text| format!("{text:?}")).collect();
    format!("[{}]", texts.join(","))
}

/// Whether `text` is free text up to the first of `ends`, by search.
fn ends_at_first(text: &str, ends: &[String], excludes: &[String]) -> bool {
    ends.iter().any(|end| {
        let Some(free) = text.strip_suffix(end.as_str()) else { return false };
        let strings = || ends.iter().chain(excludes);
        let begins = |at: usize| strings().any(|string| text[at..].starts_with(string.as_str()));
        !(0..free.len()).any(begins)
    })
}

proptest! {
    #[test]
    fn text_ends_at_the_first_end(
        ends in prop::collection::vec("[abc]{1,3}", 1..4),
        excludes in prop::collection::vec("[abc]{1,3}", 0..3),
        texts in prop::collection::vec("[abcd]{0,7}", 40),
    ) {
        let tag = format!(
            r#"{{"format": {{"type": "tag", "begin": "", "content": {{"type": "any_text", "excludes": {}}}, "end": {}}}}}"#,
            quoted(&excludes), quoted(&ends),
        );
        let dfa = automaton(&tag);
        for text in texts {
            prop_assert_eq!(dfa.matches(text.as_bytes()), ends_at_first(&text, &ends, &excludes), "{:?}", text);
        }
    }

    /// With content that is a lone digit, so that calls can be told from text.
    #[test]
    fn text_with_tags_ends_at_the_first_end(
        trigger in "[ab]{1,3}",
        end in "[ab]{1,3}",
        texts in prop::collection::vec("[ab1]{0,8}", 40),
    ) {
        prop_assume!(!trigger.contains(&end));
        let tag = format!(
            r#"{{"format": {{"type": "tag", "begin": "", "end": {end:?}, "content": {{"type": "triggered_tags",
                "triggers": [{trigger:?}], "tags": [{{"begin": {trigger:?}, "content": {{"value": "1"}}, "end": ""}}]}}}}}}"#,
        );
        let dfa = automaton(&tag);
        for text in texts {
            prop_assert_eq!(dfa.matches(text.as_bytes()), with_calls(&text, &trigger, &end), "{:?}", text);
        }
    }

    #[test]
    fn nothing_panics(text in r#"[{}\[\]":,a-z_ 0-9<>/-]{0,60}"#) {
        let _ = read(&text);
        let _ = read(&format!(r#"{{"format": {text}}}"#));
        let _ = read(&format!(r#"{{"format": {{"type": "tag", {text}}}}}"#));
    }
}

/// Free text and calls up to the first end, by search: what comes first counts, and in a call nothing does. A trigger may
/// not hold the end, which is an excluded string of the free text.
fn with_calls(text: &str, trigger: &str, end: &str) -> bool {
    let free = |upto: usize, then: &str| {
        let whole = upto + then.len();
        !(0..upto).any(|at| [trigger, end].iter().any(|s| text[at..whole].starts_with(s)))
    };
    let last = text.strip_suffix(end).is_some_and(|before| free(before.len(), end));
    let called = (0..text.len()).any(|at| {
        text[at..].starts_with(trigger)
            && !trigger.contains(end)
            && free(at, trigger)
            && text[at + trigger.len()..].strip_prefix('1').is_some_and(|rest| with_calls(rest, trigger, end))
    });
    last || called
}

#[test]
fn prints_so_that_it_reads_back() {
    for tag in [
        r#"{"format": {"type": "triggered_tags", "triggers": ["<"], "tags": [
            {"begin": "<a\"\\", "content": {"type": "any_text"}, "end": ">"},
            {"begin": "<b", "content": {"type": "json_schema", "json_schema": {"items": {"type": "integer"}}}, "end": ">"}]}}"#,
        r#"{"format": {"type": "tag", "begin": ":", "end": "aba", "content": {"type": "triggered_tags", "triggers": ["ab"],
            "tags": [{"begin": "ab", "content": {"value": "1"}, "end": ""}]}}}"#,
        r#"{"format": {"elements": [{"type": "any_tokens", "max_tokens": 3}, {"type": "token_dispatch",
            "rules": [[3, {"value": "x"}]]}, {"type": "any_text", "max_chars": 4}]}}"#,
        r#"{"format": {"type": "json_schema", "style": "qwen_xml", "json_schema": {"properties": {"a\"b": {"type": "string",
            "maxLength": 3}, "n": {"type": "integer"}}, "additionalProperties": {"enum": ["</parameter>", "x"]}}}}"#,
        r#"{"format": {"elements": [{"grammar": "root ::= value_1\nvalue_1 ::= \"x\""},
            {"type": "json_schema", "json_schema": {"type": "array"}}, {"grammar": "root ::= value_1\nvalue_1 ::= \"y\""}]}}"#,
    ] {
        let budget = Budget::default();
        let grammar = read(tag).unwrap();
        let printed = grammar.to_string();
        let again = ebnf::parse(&printed, "root", budget.limits(), &budget).unwrap();
        assert_eq!(again.to_string(), printed);
        passes::compile(&again, &budget).unwrap();
    }
}

#[test]
fn names_of_rules_are_unique() {
    let grammar = read(
        r#"{"format": {"elements": [{"grammar": "root ::= value_1\nvalue_1 ::= \"x\""},
            {"type": "json_schema", "json_schema": {"type": "array"}}, {"type": "json_schema", "json_schema": {"items": true}},
            {"grammar": "root ::= value_1 value_1_1\nvalue_1 ::= \"y\"\nvalue_1_1 ::= \"z\""}]}}"#,
    )
    .unwrap();
    let names: hashbrown::HashSet<&str> = grammar.rules().map(|(_, rule)| rule.name.as_str()).collect();
    assert_eq!(names.len(), grammar.rules().len());
}

#[test]
fn equal_schemas_are_converted_once() {
    let one = r#"{"type": "json_schema", "json_schema": {"type": "array", "items": {"type": "object"}}}"#;
    let rules = |tag: String| read(&tag).unwrap().rules().len();
    assert_eq!(
        rules(format!(r#"{{"format": {one}}}"#)),
        rules(format!(r#"{{"format": {{"elements": [{one}, {one}, {one}]}}}}"#))
    );
}

#[test]
fn deep_nesting_is_an_error() {
    let deep = |levels: usize| {
        let open = r#"{"type": "star", "content": "#.repeat(levels);
        format!(r#"{{"format": {open}{{"value": "a"}}{}}}"#, "}".repeat(levels))
    };
    assert!(read(&deep(200)).is_ok());
    assert_eq!(read(&deep(400)).unwrap_err().kind(), ErrorKind::Limit);
    assert!(read(&deep(100_000)).is_err());
}

#[test]
fn every_format_is_found_by_its_name() {
    let names: Vec<&str> = format_names().collect();
    assert_eq!(names.len(), 21);
    for name in names {
        let error = read(&format!(r#"{{"format": {{"type": {name:?}, "stranger": 1}}}}"#)).unwrap_err();
        assert!(!error.message().contains("no format"), "{name}: {error}");
    }
}
