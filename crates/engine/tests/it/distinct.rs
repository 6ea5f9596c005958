//! Arrays of which no two items are equal.
//!
//! The oracle does not compare items. So here the languages are small enough to write them all down: every text of the
//! grammar without the option, of which those are left whose items differ as JSON values. A token fits if it leads to the
//! beginning of one of these, and every mask must say just that.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::Value;
use tokenstile_engine::{CompiledGrammar, EngineLimits, Matcher, MatcherOptions};
use tokenstile_grammar::Budget;

use crate::dice::Dice;
use crate::invariants::{has, parse};
use crate::vocabulary::Vocabulary;

/// More texts than any of the grammars has.
const MOST_TEXTS: usize = 60_000;

fn compiled(source: &str, vocabulary: &Vocabulary, cache_bytes: usize) -> Arc<CompiledGrammar> {
    let limits = EngineLimits { cache_bytes };
    CompiledGrammar::new(parse(source), Arc::clone(&vocabulary.vocab), limits, &Budget::default())
        .expect("it compiles")
}

/// Every text of a grammar.
fn all_texts(source: &str) -> Vec<Vec<u8>> {
    let bytes = Vocabulary::bytes();
    let mut matcher = Matcher::new(compiled(source, &bytes, 1 << 26), MatcherOptions::default());
    let mut texts = Vec::new();
    let mut text: Vec<u8> = Vec::new();
    let mut row = vec![0; bytes.tokens.len().div_ceil(32)];
    // The bytes that are still to be tried after each byte of the text, the last first.
    let mut waiting: Vec<Vec<u8>> = Vec::new();
    loop {
        if waiting.len() == text.len() {
            matcher.fill_mask(&mut row);
            if matcher.is_completed() {
                texts.push(text.clone());
                assert!(texts.len() < MOST_TEXTS, "too many texts");
            }
            waiting.push((0..=u8::MAX).rev().filter(|&byte| has(&row, u32::from(byte))).collect());
        }
        if let Some(byte) = waiting.last_mut().and_then(Vec::pop) {
            assert!(matcher.accept_token(u32::from(byte)));
            text.push(byte);
            continue;
        }
        waiting.pop();
        if text.pop().is_none() {
            return texts;
        }
        matcher.rollback(1).expect("a byte was accepted");
    }
}

/// A value in which equal numbers are written alike.
fn normal(value: &Value) -> Value {
    match value {
        // `-0` is `0`.
        Value::Number(number) => Value::from(number.as_f64().map(|number| number + 0.0)),
        Value::Array(items) => items.iter().map(normal).collect(),
        Value::Object(members) => members
            .iter()
            .map(|(key, value)| (key.clone(), normal(value)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        other => other.clone(),
    }
}

fn is_distinct(items: &[Value]) -> bool {
    let items: Vec<String> = items.iter().map(|item| normal(item).to_string()).collect();
    items.iter().collect::<HashSet<_>>().len() == items.len()
}

/// Whether the items of an array differ, and those of all arrays in it if these are compared as well.
fn fits(value: &Value, deep: bool) -> bool {
    match value {
        Value::Array(items) => is_distinct(items) && (!deep || items.iter().all(|item| fits(item, deep))),
        Value::Object(members) => members.values().all(|value| !deep || fits(value, deep)),
        _ => true,
    }
}

/// Checks every mask along random texts, and along what else may come, with a cache of some size. All texts begin with `first`,
/// which is read at once.
fn check(name: &str, source: &str, deep: bool, cache_bytes: usize, first: &str) {
    let plain = source.replace("[distinct_items]", "");
    let parsed = |text: &[u8]| serde_json::from_slice::<Value>(text).expect("JSON");
    let texts: Vec<Vec<u8>> =
        all_texts(&plain).into_iter().filter(|text| fits(&parsed(text), deep)).collect();
    let whole: HashSet<&[u8]> = texts.iter().map(Vec::as_slice).collect();
    let beginnings: HashSet<&[u8]> =
        texts.iter().flat_map(|text| (first.len()..=text.len()).map(|end| &text[..end])).collect();
    let mut dice = Dice::new(name.len() as u64);
    let some: Vec<Vec<u8>> = (0..40).map(|_| texts[dice.below(texts.len())].clone()).collect();
    for vocabulary in [Vocabulary::merged(&some, &mut dice), Vocabulary::duplicates(&some, &mut dice)] {
        let compiled = compiled(source, &vocabulary, cache_bytes);
        let mut row = vec![0; vocabulary.tokens.len().div_ceil(32)];
        for _ in 0..60 {
            let mut matcher = Matcher::new(Arc::clone(&compiled), MatcherOptions::default());
            let mut text: Vec<u8> = first.into();
            assert!(matcher.accept_bytes(&text), "{name}");
            loop {
                matcher.fill_mask(&mut row);
                assert_eq!(matcher.is_completed(), whole.contains(&*text), "{name}: {}", text.escape_ascii());
                let mut ways = Vec::new();
                for (token, bytes) in (0..).zip(&vocabulary.tokens).filter(|(_, bytes)| !bytes.is_empty()) {
                    let longer = [text.as_slice(), bytes].concat();
                    let may_come = beginnings.contains(&*longer);
                    let place = format!("{name}: {} after {}", bytes.escape_ascii(), text.escape_ascii());
                    assert_eq!(has(&row, token), may_come, "the mask of {place}");
                    assert_eq!(matcher.validate_tokens(&[token]) == 1, may_come, "reading {place}");
                    if may_come {
                        ways.push((token, longer));
                    }
                }
                if ways.is_empty() {
                    break;
                }
                let (token, longer) = ways.swap_remove(dice.below(ways.len()));
                assert!(matcher.accept_token(token));
                text = longer;
            }
            assert!(whole.contains(&*text), "{name}: {} is a dead end", text.escape_ascii());
        }
    }
}

pub(crate) const CASES: [(&str, &str, bool); 8] = [
    (
        "numbers",
        r#"root[distinct_items] ::= "[" n ("," " "? n){0,2} "]"
n ::= "1" | "1.0" | "10e-1" | "2" | "12" | "-0" | "0" | "-1""#,
        false,
    ),
    (
        "strings",
        r#"root[distinct_items] ::= "[" s ("," s){0,2} "]"
s ::= "\"" c? c "\""
c ::= "a" | "\\u0061" | "b""#,
        false,
    ),
    (
        "objects",
        r#"root[distinct_items] ::= "[" o ("," o){0,2} "]"
o ::= "{" m? "}"
m ::= "\"a\":" b ("," "\"b\":" b)? | "\"b\":" b ("," "\"a\":" b)?
b ::= "1" | "true""#,
        false,
    ),
    (
        "all ways to go on are taken",
        r#"root[distinct_items] ::= "[" o ("," o){0,3} "]"
o ::= "{\"a\":" b ("," "\"bc\":" b)? "}"
b ::= "1" | "2""#,
        false,
    ),
    (
        "arrays",
        r#"root[distinct_items] ::= "[" i ("," i){0,2} "]"
i ::= "[" (b ("," b)?)? "]" | b
b ::= "0" | "null""#,
        false,
    ),
    (
        "inner arrays too",
        r#"root[distinct_items] ::= "[" i ("," i){0,2} "]"
i[distinct_items] ::= "[" (b ("," b)?)? "]"
b ::= "0" | "1" | "false""#,
        true,
    ),
    (
        "inner arrays alone",
        r#"root ::= "{\"x\":" i ",\"y\":" i "}"
i[distinct_items] ::= "[" (b ("," b){0,2})? "]"
b ::= "0" | "1" | "[0]" | "[1]""#,
        true,
    ),
    (
        "beginnings of each other",
        r#"root[distinct_items] ::= "[" v ("," v){0,2} "]"
v ::= "1" | "11" | "111" | "\"1\"" | "\"11\"" | "t" "rue" | "[1]" | "[1,1]""#,
        false,
    ),
];

#[test]
fn masks_are_exact() {
    for (name, source, deep) in CASES {
        check(name, source, deep, 1 << 26, "");
    }
}

#[test]
fn masks_are_exact_where_tables_are_dropped_at_every_step() {
    for (name, source, deep) in CASES {
        check(name, source, deep, 1, "");
    }
}

/// Behind so many arrays and objects that they are not looked at one by one any more.
#[test]
fn masks_are_exact_behind_many_items() {
    let item = |number: usize| match number % 3 {
        0 => format!("[{number},0]"),
        1 => format!("{{\"a\":1,\"f\":{number}}}"),
        _ => format!("{{\"b\":true,\"a\":2,\"f\":{number}}}"),
    };
    let many: Vec<String> = (3..83).map(item).collect();
    let first = format!("[{},", many.join(","));
    let literal = format!("\"{}\"", first.replace('"', "\\\""));
    for (name, source, deep) in CASES.iter().filter(|case| case.1.contains("root[distinct_items]")) {
        for cache_bytes in [1 << 26, 1] {
            check(name, &source.replacen("\"[\"", &literal, 1), *deep, cache_bytes, &first);
        }
    }
}

/// What is remembered of an item does not grow with the number of those before it.
#[test]
fn each_item_takes_as_much_as_the_one_before() {
    let source = r#"root[distinct_items] ::= "[" i ("," i)* "]"
i ::= "{\"x\":" n ",\"y\":" n "}" | "\"" n "\"" | n
n ::= [0-9]+"#;
    let compiled = compiled(source, &Vocabulary::bytes(), 1 << 30);
    let mut matcher = Matcher::new(Arc::clone(&compiled), MatcherOptions::default());
    assert!(matcher.accept_bytes(b"[0"));
    let mut read = |numbers: std::ops::Range<u32>| {
        let before = compiled.stats().cache_bytes;
        for number in numbers {
            let text = format!(",{{\"x\":{number},\"y\":7}},\"{number}\",{}", number + 1);
            assert!(matcher.accept_bytes(text.as_bytes()), "{text}");
        }
        compiled.stats().cache_bytes - before
    };
    let (first, later) = (read(1_000..1_500), {
        read(1_500..4_000);
        read(4_000..4_500)
    });
    assert!(later < 2 * first, "{first} and then {later} bytes");
    for again in [",4499,", ",\"1234\"", ",{\"x\":3000,\"y\":7}", ",{\"x\":4499,\"y\":7"] {
        assert_eq!(matcher.fork().accept_bytes(again.as_bytes()), again.ends_with("4499,\"y\":7"), "{again}");
    }
}

#[test]
fn what_is_no_array_is_not_in_the_language() {
    let bytes = Vocabulary::bytes();
    let source = "root[distinct_items] ::= \"[\" [a-z]+ \"]\" | \"x\"";
    let mut matcher = Matcher::new(compiled(source, &bytes, 1 << 26), MatcherOptions::default());
    assert!(!matcher.accept_bytes(b"x"));
    assert!(matcher.accept_bytes(b"[true]") && matcher.is_completed());
}
