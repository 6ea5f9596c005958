//! A small recursive grammar that the input makes, and a walk over a real vocabulary.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tokenstile_engine::{Matcher, MatcherOptions};
use tokenstile_fuzz::dice::{Dice, Numbers};
use tokenstile_fuzz::front_end::compiled;
use tokenstile_fuzz::{recursive, vocabulary, walk};
use tokenstile_grammar::frontends::ebnf;

fuzz_target!(|input: &[u8]| {
    let mut dice = Dice(input);
    let seed = dice.below(1 << 16) as u64;
    let text = recursive::grammar(&mut dice);
    if std::env::var_os("TOKENSTILE_FUZZ_SHOW").is_some() {
        println!("{text}");
    }
    let vocab = vocabulary::real();
    let Some(compiled) = compiled(vocab, |budget| ebnf::parse(&text, "root", budget.limits(), budget)) else {
        return;
    };
    let mut matcher = Matcher::new(compiled, MatcherOptions::default());
    walk::sampled(&mut matcher, vocab, &mut Numbers(seed + 1), 24);
});
