//! The tables that nearly every JSON grammar needs, made when a vocabulary comes to life.
//!
//! The first table of a state of a JSON string walks the vocabulary, which takes milliseconds. Tables are shared by all
//! grammars of a vocabulary, so that a small schema, read along a small text once, makes them for all: the first request
//! does not wait for what any request would.

use std::sync::Arc;

use tokenstile_grammar::frontends::json_schema::{self, Options};
use tokenstile_grammar::{Budget, CancelFlag, Limits, passes};

use super::TokenTable;
use crate::generation::Generation;

/// A smaller vocabulary is walked in no time.
const WORTH_WARMING: usize = 4_096;

const SCHEMA: &str = r#"{"type": "object", "properties": {
    "text": {"type": "string"}, "number": {"type": "number"}, "integer": {"type": "integer"},
    "truth": {"type": "boolean"}, "list": {"type": "array", "items": {"type": "string"}},
    "inner": {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": false}
}}"#;

const TEXT: &[u8] = br#"{"text": "a\n\u00e9", "number": -1.5e+3, "integer": 12, "truth": true, "list": ["a", "b"], "inner": {"a": "b"}, "other": {"x": [null, "y", 1]}}"#;

/// Makes the tables for `tokens`.
pub(super) fn warm_up(tokens: &Arc<TokenTable>) {
    if tokens.len() >= WORTH_WARMING {
        walk(tokens);
    }
}

/// Asks for the mask before each byte of the text, and after the last. Whether the text was read to its end.
fn walk(tokens: &Arc<TokenTable>) -> bool {
    let options = Options { strict_mode: false, any_order: true, ..Options::default() };
    let budget = Budget::new(Limits::default(), CancelFlag::default());
    let machine = json_schema::parse(SCHEMA, &options, &budget)
        .and_then(|converted| passes::compile(&converted.grammar, &budget));
    // A test sees to it that the schema compiles; without it the tables would be made when they are needed.
    let Ok(machine) = machine else { return false };
    let generation = Generation::new(Arc::new(machine), Arc::clone(tokens));
    let mut config = generation.start();
    for &byte in TEXT {
        generation.mask(config);
        config = generation.step(config, byte);
    }
    generation.mask(config);
    generation.sets().ends(config)
}

#[cfg(test)]
mod tests {
    use super::super::{Vocab, VocabOptions};
    use super::*;

    #[test]
    fn the_schema_has_the_text() {
        let vocab = Vocab::new(["a", "\"", "{"], VocabOptions::default()).unwrap();
        assert!(walk(vocab.table()));
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
