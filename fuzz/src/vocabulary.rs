//! The vocabularies of the targets.

use std::io::Read;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use flate2::read::GzDecoder;
use tokenstile_engine::vocab::tokenizer_json::{self, FileOptions};
use tokenstile_engine::vocab::{TokenId, Vocab, VocabOptions};

/// Where a folder with a `tokenizer.json` or `tokenizer.json.gz` is named.
pub const VARIABLE: &str = "TOKENSTILE_FUZZ_TOKENIZER";

const WORDS: [&str; 14] = [
    "ab",
    "abc",
    "x)",
    "é",
    "<a>",
    "</a>",
    "ab</a>",
    "aaaaaaaaaaaaaaaaaaaa",
    "\":\"",
    "😀x",
    "\", \"",
    "  ",
    "1.5",
    "}]",
];

/// All bytes, some words, half a character, an id without bytes, a special token and a stop token.
pub fn small() -> &'static Arc<Vocab> {
    static SMALL: OnceLock<Arc<Vocab>> = OnceLock::new();
    SMALL.get_or_init(|| {
        let mut tokens: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
        tokens.extend(WORDS.iter().map(|word| word.as_bytes().to_vec()));
        tokens.extend([b"\xc3\xa9\xc3".to_vec(), Vec::new(), b"<|tool|>".to_vec(), b"</s>".to_vec()]);
        let last = tokens.len() as u32 - 1;
        let options = VocabOptions {
            stop_token_ids: Some(vec![TokenId(last)]),
            special_token_ids: vec![TokenId(last - 1)],
            ..VocabOptions::default()
        };
        Vocab::new(tokens, options).expect("a vocabulary")
    })
}

/// The vocabulary of a real model.
///
/// # Panics
/// If none is named: to walk in another one would say nothing of real ones.
pub fn real() -> &'static Arc<Vocab> {
    static REAL: OnceLock<Arc<Vocab>> = OnceLock::new();
    REAL.get_or_init(|| {
        let folder = std::env::var_os(VARIABLE).map(PathBuf::from);
        let folder =
            folder.unwrap_or_else(|| panic!("{VARIABLE} has to name the folder of a tokenizer.json"));
        let plain = folder.join("tokenizer.json");
        let text = std::fs::read_to_string(&plain).or_else(|_| {
            let mut text = String::new();
            let packed = std::fs::File::open(folder.join("tokenizer.json.gz"))?;
            GzDecoder::new(packed).read_to_string(&mut text).map(|_| text)
        });
        let text = text.unwrap_or_else(|error| panic!("{}: {error}", plain.display()));
        tokenizer_json::from_text(&text, FileOptions::default()).expect("a tokenizer")
    })
}
