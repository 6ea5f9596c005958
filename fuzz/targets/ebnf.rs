//! EBNF texts, of which tokens are named by number only.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tokenstile_fuzz::front_end::check;
use tokenstile_grammar::frontends::ebnf;

fuzz_target!(|input: &[u8]| {
    check(input, |text, budget| ebnf::parse(text, "root", budget.limits(), budget));
});
