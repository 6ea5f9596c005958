//! Structural tags.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tokenstile_fuzz::dice::Dice;
use tokenstile_fuzz::front_end::{check, with_tokens};
use tokenstile_grammar::frontends::json_schema::Spelling;
use tokenstile_grammar::frontends::structural_tag::{self, Tokens};

fuzz_target!(|input: &[u8]| {
    let mut dice = Dice(input);
    let spelling = if dice.byte() % 2 == 1 { Spelling::Any } else { Spelling::Canonical };
    check(dice.0, |text, budget| {
        with_tokens(|tokens| {
            let tokens = Tokens { find: tokens.find, count: tokens.count };
            structural_tag::parse(text, spelling, Some(tokens), budget)
        })
    });
});
