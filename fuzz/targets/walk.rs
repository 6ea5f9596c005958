//! A grammar of any kind, and a walk over a real vocabulary.
//!
//! The first byte is the kind, the next two are the walk, the rest is the text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tokenstile_engine::{Matcher, MatcherOptions};
use tokenstile_fuzz::dice::{Dice, Numbers};
use tokenstile_fuzz::front_end::compiled;
use tokenstile_fuzz::{vocabulary, walk};
use tokenstile_grammar::frontends::json_schema::{self, Options, Spelling};
use tokenstile_grammar::frontends::{ebnf, lark, regex, structural_tag};

fuzz_target!(|input: &[u8]| {
    let mut dice = Dice(input);
    let kind = dice.byte() % 5;
    let seed = dice.below(1 << 16) as u64;
    let Ok(text) = std::str::from_utf8(dice.0) else { return };
    let vocab = vocabulary::real();
    let compiled = compiled(vocab, |budget| match kind {
        0 => ebnf::parse(text, "root", budget.limits(), budget),
        1 => json_schema::grammar(text, &Options::default(), budget),
        2 => regex::to_grammar(text, &regex::Syntax::whole(), budget.limits(), budget),
        3 => structural_tag::parse(text, Spelling::default(), None, budget),
        _ => {
            let surroundings =
                lark::Surroundings { named: &[], token_ids: None, spelling: Spelling::default() };
            lark::parse(text, &surroundings, budget.limits(), budget)
        }
    });
    let Some(compiled) = compiled else { return };
    let mut matcher = Matcher::new(compiled, MatcherOptions::default());
    walk::sampled(&mut matcher, vocab, &mut Numbers(seed + 1), 24);
});
