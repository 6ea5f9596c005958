//! Lark texts, which may name another Lark text and tokens.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tokenstile_fuzz::front_end::{check, with_tokens};
use tokenstile_grammar::frontends::json_schema::Spelling;
use tokenstile_grammar::frontends::lark;

fuzz_target!(|input: &[u8]| {
    check(input, |text, budget| {
        with_tokens(|tokens| {
            let find = |text: &str| (tokens.find)(text).into_iter().collect();
            let named = [("other", lark::Named::Lark("start: \"x\" /[0-9]+/"))];
            let surroundings =
                lark::Surroundings { named: &named, token_ids: Some(&find), spelling: Spelling::default() };
            lark::parse(text, &surroundings, budget.limits(), budget)
        })
    });
});
