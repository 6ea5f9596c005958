//! Regular expressions: the first byte says how they are read, the rest is the pattern.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tokenstile_fuzz::dice::Dice;
use tokenstile_fuzz::front_end::check;
use tokenstile_grammar::frontends::regex;

fuzz_target!(|input: &[u8]| {
    let mut dice = Dice(input);
    let letters = *dice.one_of(&["", "", "", "i", "s", "m", "x", "ims"]);
    let is_search = dice.byte() % 4 == 1;
    check(dice.0, |text, budget| {
        let syntax = if is_search { regex::Syntax::search() } else { regex::Syntax::whole() };
        let syntax = syntax.with_flags(regex::Flags::from_letters(letters)?);
        regex::to_grammar(text, &syntax, budget.limits(), budget)
    });
});
