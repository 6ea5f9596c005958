//! Saved vocabularies, and the metadata of vocabularies.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tokenstile_engine::vocab::Vocab;
use tokenstile_fuzz::account::Allowance;

const READ: Allowance = Allowance::new("reading a vocabulary", 4.0, 1536);

fuzz_target!(|input: &[u8]| {
    let Ok(text) = std::str::from_utf8(input) else { return };
    if let Ok(options) = READ.check(|| Vocab::options_from_metadata_json(text)) {
        let _ = READ.check(|| Vocab::new(["a", "</s>"], options));
    }
    let Ok(vocab) = READ.check(|| Vocab::from_saved_json(text)) else { return };
    if vocab.len() < 10_000 {
        let saved = vocab.to_saved_json();
        let again = Vocab::from_saved_json(&saved).expect("what was saved reads back");
        assert_eq!(vocab, again);
        assert_eq!(saved, again.to_saved_json());
    }
});
