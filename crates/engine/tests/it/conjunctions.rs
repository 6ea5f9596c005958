//! Random lists of members in a conjunction with regular languages: the masks agree with the oracle and nothing comes to a
//! dead end, and a text is in the conjunction if and only if it is in both sides.

use tokenstile_engine::oracle::Oracle;
use tokenstile_grammar::frontends::json_schema::{self, Combination, Options, SchemaText};
use tokenstile_grammar::frontends::regex;
use tokenstile_grammar::{Budget, ErrorKind, Grammar, ir};

use crate::dice::Dice;
use crate::lists::{json_vocabulary, random_list, walks_of};
use crate::vocabulary::Vocabulary;

/// Bounds of lengths, what a text holds or does not hold, and a few texts that are taken away.
const PATTERNS: [&str; 12] = [
    ".{0,12}",
    ".{14}",
    "(?s).{0,20}",
    "[^b]*",
    ".*a.*",
    "(?!.*ab).*",
    "(..)*",
    ".{0,6}|.{9,15}",
    r#"\{"a.*"#,
    r#"(?!\{"a":0\}$).*"#,
    r#"(?s)[^"]*("[^"]*"[^"]*){0,2}"#,
    r#"\{("(a|b|ab)?":[01{}:",ab]*)?\}"#,
];

fn regular(pattern: &str) -> Grammar {
    let budget = Budget::default();
    regex::to_grammar(pattern, &regex::Syntax::whole(), budget.limits(), &budget).expect("a pattern")
}

/// A text that a grammar has or nearly has: of bytes that its oracle takes, with a slip now and then.
fn text_near(oracle: &Oracle, dice: &mut Dice) -> Vec<u8> {
    const BYTES: &[u8] = b"{}\":,01ab e";
    let mut state = oracle.start();
    let mut text = Vec::new();
    for _ in 0..30 {
        let taken: Vec<u8> =
            (BYTES.iter().copied()).filter(|&byte| state.would_accept(&[byte], u32::MAX)).collect();
        let all = if taken.is_empty() || dice.below(40) == 0 { BYTES } else { &taken };
        let byte = all[dice.below(all.len())];
        state.advance_byte(byte);
        text.push(byte);
        if state.is_complete() && dice.below(2) == 0 || !state.is_alive() {
            break;
        }
    }
    text
}

fn has(oracle: &Oracle, text: &[u8]) -> bool {
    let mut state = oracle.start();
    state.advance_bytes(text);
    state.is_alive() && state.is_complete()
}

/// Checks a conjunction of two sides; tells whether it is one that is made and has texts.
fn check(
    sides: [&Grammar; 2],
    both: &Grammar,
    vocabulary: Vocabulary,
    dice: &mut Dice,
) -> Result<bool, String> {
    let oracles = match sides.map(Oracle::new) {
        [Ok(first), Ok(second)] => [first, second],
        _ => return Ok(false),
    };
    let oracle = match Oracle::new(both) {
        Ok(oracle) => oracle,
        Err(error) if error.kind() != ErrorKind::Invalid => return Ok(false),
        // Nothing is in both.
        Err(_) => {
            for _ in 0..20 {
                let text = text_near(&oracles[dice.below(2)], dice);
                if oracles.iter().all(|oracle| has(oracle, &text)) {
                    return Err(format!("{:?} is in both", String::from_utf8_lossy(&text)));
                }
            }
            return Ok(false);
        }
    };
    for _ in 0..20 {
        let near = [&oracles[0], &oracles[1], &oracle][dice.below(3)];
        let text = text_near(near, dice);
        let expected = oracles.iter().all(|oracle| has(oracle, &text));
        if has(&oracle, &text) != expected {
            let text = String::from_utf8_lossy(&text).into_owned();
            return Err(format!("{text:?}: in both is {expected}, in the conjunction {}", !expected));
        }
    }
    walks_of(both, vocabulary, dice)
}

#[test]
fn lists_beside_automata() {
    let mut walked = 0;
    for seed in 0..300 {
        let (list, vocabulary) = random_list(seed);
        let mut dice = Dice::new(seed);
        let budget = Budget::default();
        let pattern = PATTERNS[dice.below(PATTERNS.len())];
        let regular = regular(pattern);
        let both = ir::intersect(&[list.clone(), regular.clone()], budget.limits()).expect("small grammars");
        match check([&list, &regular], &both, vocabulary, &mut dice) {
            Ok(is_walked) => walked += usize::from(is_walked),
            Err(wrong) => panic!("seed {seed}, {pattern}: {wrong}"),
        }
    }
    assert!(walked > 60, "only {walked} of the conjunctions are made and have texts");
}

/// Schemas with keys of all sorts, closed and open.
const SCHEMAS: [&str; 12] = [
    "{}",
    r#"{"type": "object", "maxProperties": 2}"#,
    r#"{"properties": {"a": {"type": "integer"}, "b": {"enum": [0, "a", true]}}}"#,
    r#"{"properties": {"b": {"type": "integer"}, "a": {"type": ["integer", "string"]}}, "required": ["a"]}"#,
    r#"{"properties": {"a": {}}, "additionalProperties": {"type": "integer", "minimum": 0, "maximum": 11}}"#,
    r#"{"patternProperties": {"^a": {"type": "integer"}}, "additionalProperties": false, "minProperties": 1}"#,
    r#"{"type": "array", "items": {"type": "integer", "maximum": 1}, "maxItems": 3}"#,
    r#"{"anyOf": [{"properties": {"a": {"const": 1}}, "required": ["a"]}, {"type": "integer"}]}"#,
    r#"{"properties": {"a": {"properties": {"b": {"type": "integer"}}}, "b": {"type": "boolean"}}}"#,
    r#"{"type": "object", "propertyNames": {"pattern": "^[ab]?$"}, "additionalProperties": {"const": 0}}"#,
    r#"{"type": "object", "dependentRequired": {"a": ["b"]}, "maxProperties": 3}"#,
    r#"{"type": ["object", "integer"], "not": {"required": ["b"]}}"#,
];

fn options(dice: &mut Dice) -> Options {
    let strict_mode = dice.below(2) == 0;
    Options {
        strict_mode,
        any_order: dice.below(2) == 0,
        any_whitespace: false,
        separators: Some((",".to_owned(), ":".to_owned())),
        ..Options::default()
    }
}

#[test]
fn schemas_beside_automata() {
    let mut walked = 0;
    for seed in 0..120 {
        let mut dice = Dice::new(seed);
        let budget = Budget::default();
        let schema = SCHEMAS[dice.below(SCHEMAS.len())];
        let pattern = PATTERNS[dice.below(PATTERNS.len())];
        let Ok(side) = json_schema::grammar(schema, &options(&mut dice), &budget) else { continue };
        let regular = regular(pattern);
        let both = ir::intersect(&[side.clone(), regular.clone()], budget.limits()).expect("small grammars");
        let vocabulary = json_vocabulary(&mut dice);
        match check([&side, &regular], &both, vocabulary, &mut dice) {
            Ok(is_walked) => walked += usize::from(is_walked),
            Err(wrong) => panic!("seed {seed}, {schema}, {pattern}: {wrong}"),
        }
    }
    assert!(walked > 15, "only {walked} of the conjunctions are made and have texts");
}

#[test]
fn schemas_beside_schemas() {
    let mut walked = 0;
    for seed in 0..200 {
        let mut dice = Dice::new(seed);
        let budget = Budget::default();
        let texts = [0; 2].map(|_| SCHEMAS[dice.below(SCHEMAS.len())]);
        let options = [0; 2].map(|_| options(&mut dice));
        let sides = [0, 1].map(|at| json_schema::grammar(texts[at], &options[at], &budget));
        let [Ok(first), Ok(second)] = sides else { continue };
        let schemas = [0, 1].map(|at| SchemaText { text: texts[at], options: &options[at] });
        let all = Combination::All(vec![Combination::Schemas(vec![0]), Combination::Schemas(vec![1])]);
        let both = match json_schema::combine(&schemas, &all, &budget) {
            Ok(both) => both,
            Err(error) if error.kind() != ErrorKind::Invalid => continue,
            Err(_) => {
                // Nothing is in both.
                let oracles = [&first, &second].map(|side| Oracle::new(side).expect("it has values"));
                for _ in 0..40 {
                    let text = text_near(&oracles[dice.below(2)], &mut dice);
                    let is_in_both = oracles.iter().all(|oracle| has(oracle, &text));
                    assert!(!is_in_both, "seed {seed}, {texts:?}: {:?}", String::from_utf8_lossy(&text));
                }
                continue;
            }
        };
        let vocabulary = json_vocabulary(&mut dice);
        match check([&first, &second], &both, vocabulary, &mut dice) {
            Ok(is_walked) => walked += usize::from(is_walked),
            Err(wrong) => panic!("seed {seed}, {texts:?}, {options:?}: {wrong}"),
        }
    }
    assert!(walked > 30, "only {walked} of the conjunctions are made and have texts");
}
