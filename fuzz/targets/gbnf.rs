//! EBNF texts with llama.cpp's forms, in which tokens are named by their text too.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tokenstile_fuzz::front_end::{check, with_tokens};
use tokenstile_grammar::frontends::ebnf;

fuzz_target!(|input: &[u8]| {
    check(input, |text, budget| {
        with_tokens(|tokens| {
            ebnf::parse_with_tokens(text, "root", Some(tokens.find), budget.limits(), budget)
        })
    });
});
