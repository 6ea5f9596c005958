//! The `tokenizer.json` of tokenizers, as a vocabulary and for its metadata.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tokenstile_engine::vocab::tokenizer_json::{self, FileOptions};
use tokenstile_engine::vocab::{TokenId, Vocab};
use tokenstile_fuzz::account::Allowance;
use tokenstile_fuzz::dice::Dice;

const READ: Allowance = Allowance::new("reading a vocabulary", 4.0, 1536);

fuzz_target!(|input: &[u8]| {
    let mut dice = Dice(input);
    let options = match dice.byte() % 4 {
        1 => FileOptions { vocab_size: Some(300), ..FileOptions::default() },
        2 => FileOptions { stop_token_ids: Some(vec![TokenId(1)]), ..FileOptions::default() },
        3 => FileOptions { special_token_ids: Some(vec![TokenId(2)]), ..FileOptions::default() },
        _ => FileOptions::default(),
    };
    let Ok(text) = std::str::from_utf8(dice.0) else { return };
    let _ = READ.check(|| tokenizer_json::metadata_from_text(text));
    let Ok(vocab) = READ.check(|| tokenizer_json::from_text(text, options)) else { return };
    // A vocabulary of millions of ids takes long to write and read, and there is nothing else to be seen in it.
    if vocab.len() < 10_000 {
        let again = Vocab::from_saved_json(&vocab.to_saved_json()).expect("what was saved reads back");
        assert_eq!(vocab, again);
    }
});
