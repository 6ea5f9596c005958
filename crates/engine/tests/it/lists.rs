//! Random lists of members: the engine and the oracle agree on every mask of every random walk.

use crate::dice::Dice;
use crate::vocabulary::Vocabulary;
use crate::walk::{Check, Twins, Walk};
use tokenstile_grammar::frontends::json_schema::{self, Options};
use tokenstile_grammar::ir::Escapes;
use tokenstile_grammar::ir::members::{Count, Entry, Layout, Order, Others, Variant, Variants};
use tokenstile_grammar::regular::CharSet;
use tokenstile_grammar::{Budget, Builder, Grammar, Limits, RuleOptions};

/// Keys that begin alike, end inside of each other, or are written with escapes.
const KEYS: [&str; 9] = ["", "a", "ab", "abc", "b", "ba", "\"", "\u{e9}", "a\n"];

/// Numbers of the parts: the separator, values, a value that holds a list again, and languages of keys.
const VALUES: [u32; 4] = [1, 2, 3, 4];
const ITEMS: [u32; 3] = [5, 6, 7];
const KEY_LANGUAGES: [u32; 3] = [8, 9, 10];

fn variants(dice: &mut Dice, values: &[u32], counters: u32, least: usize) -> Variants {
    let count = least + dice.below(2);
    let mut variant = || {
        let value = values[dice.below(values.len())];
        Variant { value, counters: (0..counters).filter(|_| dice.below(2) == 0).collect() }
    };
    (0..count).map(|_| variant()).collect()
}

fn entry(dice: &mut Dice, key: Option<&str>, counters: u32) -> Entry {
    let least = usize::from(dice.below(6) != 0);
    let values: &[u32] = if key.is_some() { &VALUES } else { &ITEMS };
    Entry {
        key: key.map(Into::into),
        required: dice.below(4) == 0,
        variants: variants(dice, values, counters, least),
    }
}

fn random_layout(dice: &mut Dice) -> Layout {
    let keyed = dice.below(4) != 0;
    let counters = dice.below(3) as u32;
    let entries = dice.below(5);
    let mut keys = KEYS.to_vec();
    let entries: Box<[Entry]> = (0..entries)
        .map(|_| {
            let key = keys.swap_remove(dice.below(keys.len()));
            entry(dice, keyed.then_some(key), counters)
        })
        .collect();
    let count = entries.len();
    let has_others = dice.below(3) == 0;
    let mut family = || {
        let keys = keyed.then(|| KEY_LANGUAGES[dice.below(KEY_LANGUAGES.len())]);
        Others { keys, variants: variants(dice, if keyed { &VALUES[..3] } else { &ITEMS }, counters, 1) }
    };
    let others = if has_others { Box::new([family()]) as Box<[Others]> } else { Box::default() };
    let mut bounds = || {
        let min = dice.below(3) as u32;
        Count { min, max: (dice.below(2) == 0).then(|| min + dice.below(3) as u32) }
    };
    let counters = (0..counters).map(|_| bounds()).collect();
    let implied = if count > 0 { dice.below(3) } else { 0 };
    Layout {
        order: [Order::Sequence, Order::Declared, Order::Any][dice.below(3)],
        separator: 0,
        entries,
        others,
        counters,
        implies: (0..implied).map(|_| (dice.below(count) as u32, dice.below(count) as u32)).collect(),
        unique: dice.below(2) == 0,
        escapes: [Escapes::Any, Escapes::Canonical, Escapes::Least][dice.below(3)],
        track: Box::default(),
    }
}

/// A list in braces, of which one value is such a list again.
fn random_grammar(dice: &mut Dice) -> Grammar {
    let mut builder = Builder::new(&Limits::default());
    let root = builder.declare("root");
    let call = builder.rule(root);
    let digits = builder.class(CharSet::new([('0', '1')]));
    let digits = builder.repeat(digits, 1, None);
    let colon = builder.bytes(":");
    let separator = builder.bytes(if dice.below(3) > 0 { "," } else { ", " });
    let (zero, one) = (builder.bytes(":0"), builder.bytes("1"));
    let number = builder.seq([colon, digits]);
    let nested = builder.seq([colon, call]);
    let empty = builder.empty();
    let letters = builder.class(CharSet::new([('a', 'b')]));
    let few = builder.repeat(letters, 0, Some(2));
    let many = builder.repeat(letters, 0, None);
    let quoted = builder.class(CharSet::new([('\n', '\n'), ('"', '"'), ('a', 'a')]));
    let quoted = builder.repeat(quoted, 0, Some(1));
    let parts = [separator, zero, number, nested, empty, one, digits, call, few, many, quoted];
    let list = builder.members(random_layout(dice), parts);
    let (open, close) = (builder.bytes("{"), builder.bytes("}"));
    let body = builder.seq([open, list, close]);
    builder.define(root, body, RuleOptions::default());
    builder.finish(root).expect("a grammar")
}

fn vocabulary(dice: &mut Dice) -> Vocabulary {
    Vocabulary::new("lists", tokens(dice))
}

/// The same, and what else JSON has.
pub(crate) fn json_vocabulary(dice: &mut Dice) -> Vocabulary {
    let words = [
        "[", "]", "true", "false", "null", "-", ".", "+", "\"]", "\"],", "[\"", "[[\"", "[]", "}]",
        "\":[{\"", "]]",
    ];
    let more = (0..=u8::MAX).map(|byte| vec![byte]).chain(words.map(|word| word.as_bytes().to_vec()));
    Vocabulary::new("JSON", tokens(dice).into_iter().chain(more).collect())
}

fn tokens(dice: &mut Dice) -> Vec<Vec<u8>> {
    let all = "{}\",: \\nu0123456789abcdefABCDEF\u{e9}";
    let mut tokens: Vec<Vec<u8>> = all.bytes().map(|byte| vec![byte]).collect();
    let pieces =
        ["\"", "a", "b", "ab", "\":", "0", "1", ",", ", ", "{", "}", "\\u00", "61", "\\n", "\\\"", "\u{e9}"];
    for _ in 0..40 {
        let count = 2 + dice.below(6);
        tokens.push((0..count).flat_map(|_| pieces[dice.below(pieces.len())].bytes()).collect());
    }
    // Tokens that hold whole keys, and the end of one and the start of another.
    let keys = ["a", "", "b", "ab", "\\u0061", "aa"];
    let separator = [",", ",", ", "][dice.below(3)];
    for _ in 0..12 {
        let [first, second] = [0; 2].map(|_| keys[dice.below(keys.len())]);
        let text = format!("{separator}\"{first}\":0{separator}\"{second}\":");
        let start = dice.below(text.len() / 2);
        tokens.push(text.as_bytes()[start..text.len() - dice.below(4)].to_vec());
    }
    tokens
}

/// A random list, and a vocabulary for it.
pub(crate) fn random_list(seed: u64) -> (Grammar, Vocabulary) {
    let mut dice = Dice::new(seed);
    let grammar = random_grammar(&mut dice);
    (grammar, vocabulary(&mut dice))
}

fn walks(seed: u64) -> Check<bool> {
    let mut dice = Dice::new(seed);
    let grammar = random_grammar(&mut dice);
    let vocabulary = vocabulary(&mut dice);
    walks_of(&grammar, vocabulary, &mut dice)
}

pub(crate) fn walks_of(grammar: &Grammar, vocabulary: Vocabulary, dice: &mut Dice) -> Check<bool> {
    let Ok(twins) = Twins::new(grammar, vocabulary)? else { return Ok(false) };
    for _ in 0..2 {
        let mut walk = Walk::new(&twins)?;
        for _ in 0..24 {
            let choices = walk.choices();
            let Some(&token) = choices.get(dice.below(choices.len())) else {
                let message = format!("a dead end:\n{grammar}");
                return if walk.is_complete() { Ok(true) } else { Err(message) };
            };
            walk.step(token, dice).map_err(|wrong| format!("{wrong}\n{grammar}"))?;
        }
        walk.stop()?;
        walk.replay()?;
    }
    Ok(true)
}

#[test]
fn masks_agree_on_random_lists() {
    let mut walked = 0;
    for seed in 0..800 {
        match walks(seed) {
            Ok(is_walked) => walked += usize::from(is_walked),
            Err(wrong) => panic!("seed {seed}: {wrong}"),
        }
    }
    assert!(walked > 400, "only {walked} of the grammars generate something");
}

/// Lists share what they know of a vocabulary. What one of them leaves there is right for all others.
#[test]
fn masks_agree_after_other_lists() {
    for round in 0..6 {
        let vocabulary = vocabulary(&mut Dice::new(round));
        for seed in 0..60 {
            let mut dice = Dice::new(1_000 * round + seed);
            let grammar = random_grammar(&mut dice);
            if let Err(wrong) = walks_of(&grammar, vocabulary.clone(), &mut dice) {
                panic!("round {round}, seed {seed}: {wrong}");
            }
        }
    }
}

/// Schemas that have much in common, and hardly anything.
const SCHEMAS: [&str; 14] = [
    "{}",
    r#"{"type": "object"}"#,
    r#"{"properties": {"a": {"type": "string"}}}"#,
    r#"{"properties": {"b": {"type": "string"}, "ab": {}}, "required": ["b"]}"#,
    r#"{"additionalProperties": {"type": "string"}, "type": "object"}"#,
    r#"{"additionalProperties": {"type": "string"}, "type": "object", "minProperties": 2}"#,
    r#"{"additionalProperties": {"type": "integer"}, "type": "object", "properties": {"a": true}}"#,
    r#"{"type": "array", "items": {"type": "string"}}"#,
    r#"{"type": "array", "items": {"type": "string"}, "maxItems": 3}"#,
    r#"{"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 4}"#,
    r#"{"type": "array", "items": {"type": "array", "items": {"enum": ["a", "b", 0]}}}"#,
    r#"{"properties": {"a": {"items": {"type": "string"}}, "b": {"type": "object"}}, "type": "object"}"#,
    r#"{"anyOf": [{"type": "string", "maxLength": 2}, {"type": "array", "items": {"maxLength": 2}}]}"#,
    r#"{"type": "object", "propertyNames": {"maxLength": 1}, "additionalProperties": {"type": "object"}}"#,
];

/// The same for schemas, in many orders.
#[test]
fn masks_agree_after_other_schemas() {
    for round in 0..8 {
        let mut dice = Dice::new(round);
        let vocabulary = json_vocabulary(&mut dice);
        for _ in 0..24 {
            let schema = SCHEMAS[dice.below(SCHEMAS.len())];
            let options = Options { any_order: dice.below(2) == 0, ..Options::default() };
            let grammar = json_schema::parse(schema, &options, &Budget::default()).expect("a schema").grammar;
            if let Err(wrong) = walks_of(&grammar, vocabulary.clone(), &mut dice) {
                panic!("round {round}, {schema}: {wrong}");
            }
        }
    }
}
