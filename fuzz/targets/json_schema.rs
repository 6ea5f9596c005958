//! JSON Schemas: the first bytes are the options. What has an outline is compiled in both ways, which have the same masks.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use tokenstile_engine::{CompiledGrammar, EngineLimits, Matcher, MatcherOptions};
use tokenstile_fuzz::dice::{Dice, Numbers};
use tokenstile_fuzz::front_end::{budget, check, compiled};
use tokenstile_fuzz::{vocabulary, walk};
use tokenstile_grammar::frontends::json_schema::{self, Formats, Lowered, Options, Spelling};

fuzz_target!(|input: &[u8]| {
    let mut dice = Dice(input);
    let flags = dice.byte();
    let options = Options {
        any_whitespace: flags & 1 == 0,
        indent: (flags & 2 != 0).then_some(2),
        strict_mode: flags & 4 == 0,
        any_order: flags & 8 != 0,
        max_whitespace: (flags & 16 != 0).then_some(3),
        formats: if flags & 32 == 0 { Formats::Assert } else { Formats::Annotate },
        spelling: if flags & 64 == 0 { Spelling::Canonical } else { Spelling::Any },
        ..Options::default()
    };
    check(dice.0, |text, budget| json_schema::grammar(text, &options, budget));
    let Ok(text) = std::str::from_utf8(dice.0) else { return };
    let (vocab, limits) = (vocabulary::small(), EngineLimits { cache_bytes: 32 << 20 });
    let budget = budget();
    let Ok(Lowered::Machine(machine)) = json_schema::lowered(text, &options, &budget) else { return };
    let schema = (text.to_owned(), options.clone());
    let make = move |budget: &_| json_schema::grammar(&schema.0, &schema.1, budget);
    let Ok(short) = CompiledGrammar::of_machine(*machine, make, Arc::clone(vocab), limits) else { return };
    let Some(long) = compiled(vocab, |budget| json_schema::grammar(text, &options, budget)) else { return };
    let mut matchers = [short, long].map(|compiled| Matcher::new(compiled, MatcherOptions::default()));
    walk::side_by_side(&mut matchers, vocab, &mut Numbers(input.len() as u64 + 1), 8);
});
