//! The tables that nearly every grammar needs, made when a vocabulary comes to life.
//!
//! The first table of a state of a JSON string walks the vocabulary, which takes milliseconds. Tables are shared by all
//! grammars of a vocabulary, so that a small schema, read along a small text once, makes them for all: the first request
//! does not wait for what any request would. The same goes for words and numbers of other languages, for the automata of
//! formats, which the process makes once, and for the list of tokens that reach from one item of an array into the next.

use std::sync::Arc;

use tokenstile_grammar::frontends::ebnf;
use tokenstile_grammar::frontends::json_schema::{self, Lowered, Options, Spelling};
use tokenstile_grammar::machine::Machine;
use tokenstile_grammar::{Budget, passes};

use super::TokenTable;
use crate::config::SetId;
use crate::generation::Generation;

/// A smaller vocabulary is walked in no time.
const WORTH_WARMING: usize = 4_096;

const SCHEMA: &str = r#"{"type": "object", "properties": {
    "text": {"type": "string"}, "number": {"type": "number"}, "integer": {"type": "integer"},
    "truth": {"type": "boolean"}, "list": {"type": "array", "items": {"type": "string"}},
    "inner": {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": false}
}}"#;

const TEXT: &[u8] = br#"{"text": "a\n\u00e9", "number": -1.5e+30, "integer": 12, "truth": true, "list": ["a", "b"], "inner": {"a": "b"}, "other": {"x": [null, "y", 1]}}"#;

/// What schemas mostly have, as deep as white space differs, and a text of it.
const NESTED: &str = r##"{"$ref": "#/$defs/node", "$defs": {"node": {"type": "object", "properties": {
    "text": {"type": "string"}, "number": {"type": "number"}, "size": {"type": "number", "minimum": 0},
    "integer": {"type": "integer"}, "count": {"type": "integer", "minimum": 0}, "truth": {"type": "boolean"},
    "none": {"type": ["string", "null"]}, "texts": {"type": "array", "items": {"type": "string"}},
    "numbers": {"type": "array", "items": {"type": "number"}}, "inner": {"$ref": "#/$defs/node"},
    "nodes": {"type": "array", "items": {"$ref": "#/$defs/node"}}
}, "additionalProperties": false}}}"##;

const NESTED_TEXT: &[u8] = br#"{"text": "a", "number": 1, "size": 2, "integer": 3, "count": 4, "truth": true, "none": null, "texts": ["b", "c"], "numbers": [1, 2], "inner": {"text": "a", "number": 1, "size": 2, "integer": 3, "count": 4, "truth": true, "none": null, "texts": ["b", "c"], "numbers": [1, 2], "inner": {"text": "a", "number": 1, "size": 2, "integer": 3, "count": 4, "truth": true, "none": null, "texts": ["b", "c"], "numbers": [1, 2], "inner": {"text": "a", "number": 1, "size": 2, "integer": 3, "count": 4, "truth": true, "none": null, "texts": ["b", "c"], "numbers": [1, 2], "nodes": []}, "nodes": [{}, {}]}}, "nodes": [{}, {}]}"#;

const SPELLINGS: [Spelling; 2] = [Spelling::Canonical, Spelling::Any];

/// Words, names, numbers and strings, as grammars of languages for people and machines write them, and the beginning of a
/// text.
const TERMINALS: [(&str, &str); 7] = [
    ("[a-z]+", "ab"),
    ("[A-Za-z]+", "ab"),
    ("[a-z_] [a-z0-9_]*", "ab"),
    ("[a-zA-Z_] [a-zA-Z0-9_]*", "ab"),
    ("[0-9]+ (\".\" [0-9]+)?", "12"),
    (r#""\"" ([^"\\\n] | "\\" ["\\nrt0])* "\"""#, "\"a"),
    (r#""'" [^']* "'""#, "'a"),
];

/// The formats whose automata take a millisecond or more to make, and the beginning of a text where its tables take many.
const FORMATS: [(&str, &str); 7] = [
    ("date-time", ""),
    ("email", "\""),
    ("hostname", "\""),
    ("ipv6", ""),
    ("uri", ""),
    ("uri-reference", ""),
    ("regex", "\"^[a-z]+(.*|a)"),
];

/// Plain schemas, compiled in each spelling, and a text of each that it has in both: what any grammar of JSON has.
pub(crate) fn samples() -> impl Iterator<Item = (Machine, &'static [u8])> {
    let all = [(SCHEMA, TEXT), (NESTED, NESTED_TEXT)].into_iter();
    let all = all.flat_map(|(schema, text)| SPELLINGS.map(|spelling| (schema, text, spelling)));
    all.filter_map(|(schema, text, spelling)| Some((machine(schema, spelling)?, text)))
}

/// Makes the tables for `tokens`.
pub(super) fn warm_up(tokens: &Arc<TokenTable>) {
    if tokens.len() >= WORTH_WARMING {
        for spelling in SPELLINGS {
            walk(tokens, spelling);
        }
        for (terminal, beginning) in TERMINALS {
            walk_terminal(tokens, terminal, beginning);
        }
        for (format, beginning) in FORMATS {
            for spelling in SPELLINGS {
                walk_format(tokens, format, beginning, spelling);
            }
        }
        tokens.index().crossing(tokens);
        // What all plain schemas begin with is made with the first of them.
        for spelling in SPELLINGS {
            lowered(SCHEMA, spelling, true);
        }
    }
}

/// Asks for the masks along the beginning of a text of a format, if there is one. Whether it was read.
fn walk_format(tokens: &Arc<TokenTable>, format: &str, beginning: &str, spelling: Spelling) -> bool {
    let schema = format!(r#"{{"type": "string", "format": "{format}"}}"#);
    let Some(machine) = machine(&schema, spelling) else { return false };
    if beginning.is_empty() {
        return true;
    }
    let generation = Generation::new(Arc::new(machine), Arc::clone(tokens));
    walk_text(&generation, beginning.as_bytes()) != SetId::DEAD
}

/// A schema, compiled. A test sees to it that it does; without it things would be made when they are needed.
fn machine(schema: &str, spelling: Spelling) -> Option<Machine> {
    lowered(schema, spelling, false)
}

/// The same in strict mode or not, with the options that callers have then.
fn lowered(schema: &str, spelling: Spelling, strict_mode: bool) -> Option<Machine> {
    let options = Options { strict_mode, any_order: !strict_mode, spelling, ..Options::default() };
    let budget = Budget::default();
    match json_schema::lowered(schema, &options, &budget).ok()? {
        Lowered::Machine(machine) => Some(*machine),
        Lowered::Grammar(grammar) => passes::compile(&grammar, &budget).ok(),
    }
}

/// Asks for the masks along the beginning of a text that a terminal matches. Whether it was read.
fn walk_terminal(tokens: &Arc<TokenTable>, terminal: &str, beginning: &str) -> bool {
    let budget = Budget::default();
    let machine = ebnf::parse(&format!("root ::= {terminal}"), "root", budget.limits(), &budget)
        .and_then(|grammar| passes::compile(&grammar, &budget));
    let Ok(machine) = machine else { return false };
    let generation = Generation::new(Arc::new(machine), Arc::clone(tokens));
    walk_text(&generation, beginning.as_bytes()) != SetId::DEAD
}

/// Asks for the mask before each byte of a text, and after the last. The configuration after it.
fn walk_text(generation: &Generation, text: &[u8]) -> SetId {
    let mut config = generation.start();
    for &byte in text {
        generation.mask(config);
        config = generation.step(config, byte);
    }
    generation.mask(config);
    config
}

/// Asks for the mask before each byte of the text, and after the last. Whether the text was read to its end.
fn walk(tokens: &Arc<TokenTable>, spelling: Spelling) -> bool {
    let Some(machine) = machine(SCHEMA, spelling) else { return false };
    let generation = Generation::new(Arc::new(machine), Arc::clone(tokens));
    let config = walk_text(&generation, TEXT);
    generation.sets().ends(config)
}

#[cfg(test)]
mod tests {
    use super::super::{Vocab, VocabOptions};
    use super::*;

    #[test]
    fn the_schema_has_the_text() {
        let vocab = Vocab::new(["a", "\"", "{"], VocabOptions::default()).unwrap();
        for spelling in SPELLINGS {
            assert!(walk(vocab.table(), spelling));
            let nested = machine(NESTED, spelling).unwrap();
            let generation = Generation::new(Arc::new(nested), Arc::clone(vocab.table()));
            assert!(generation.sets().ends(generation.step_bytes(generation.start(), NESTED_TEXT)));
            assert!(lowered(SCHEMA, spelling, true).is_some());
        }
        for (terminal, beginning) in TERMINALS {
            assert!(walk_terminal(vocab.table(), terminal, beginning), "{terminal}");
        }
        for spelling in SPELLINGS {
            let is_read = |&(format, text): &(&str, &str)| walk_format(vocab.table(), format, text, spelling);
            assert!(FORMATS.iter().all(is_read));
        }
    }

    #[test]
    fn large_vocabularies_have_tables_before_the_first_grammar() {
        let bytes = |count: u32| {
            let tokens = (0..count).map(|at| format!("warm {at}"));
            let vocab = Vocab::new(tokens, VocabOptions::default()).unwrap();
            vocab.table().index().tables.memory_bytes()
        };
        assert!(bytes(WORTH_WARMING as u32) > 0);
        assert_eq!(bytes(100), 0);
    }
}
