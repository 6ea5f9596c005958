//! The files of tiktoken.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tokenstile_engine::vocab::Vocab;
use tokenstile_engine::vocab::tiktoken;
use tokenstile_engine::vocab::tokenizer_json::FileOptions;
use tokenstile_fuzz::account::Allowance;
use tokenstile_fuzz::dice::Dice;

const READ: Allowance = Allowance::new("reading a vocabulary", 4.0, 1536);

fuzz_target!(|input: &[u8]| {
    let mut dice = Dice(input);
    let vocab_size = [None, None, Some(3), Some(1000)][dice.below(4)];
    let special = [("<|end|>".to_owned(), u32::from(dice.byte()))];
    let options = FileOptions { vocab_size, ..FileOptions::default() };
    let Ok(vocab) = READ.check(|| tiktoken::from_bytes(dice.0, "a file", &special, options)) else { return };
    if vocab.len() < 10_000 {
        let again = Vocab::from_saved_json(&vocab.to_saved_json()).expect("what was saved reads back");
        assert_eq!(vocab, again);
    }
});
