//! Small vocabularies, made for a case so that its texts have many tokenisations.

use std::collections::BTreeSet;
use std::sync::Arc;

use tokenstile_engine::vocab::{TokenId, Vocab, VocabOptions};

use crate::dice::Dice;

/// A vocabulary, its tokens again as plain bytes, and the one that ends a text.
#[derive(Clone, Debug)]
pub(crate) struct Vocabulary {
    /// What it is, for messages.
    pub(crate) name: &'static str,
    /// The bytes of each token.
    pub(crate) tokens: Vec<Vec<u8>>,
    /// The stop token.
    pub(crate) stop: u32,
    /// The same for the engine.
    pub(crate) vocab: Arc<Vocab>,
}

impl Vocabulary {
    /// These tokens, and a stop token without bytes behind them.
    pub(crate) fn new(name: &'static str, mut tokens: Vec<Vec<u8>>) -> Self {
        let stop = u32::try_from(tokens.len()).expect("test vocabularies are small");
        tokens.push(Vec::new());
        let options = VocabOptions { stop_token_ids: Some(vec![TokenId(stop)]), ..VocabOptions::default() };
        let vocab = Vocab::new(&tokens, options).expect("a small vocabulary");
        Vocabulary { name, tokens, stop, vocab }
    }

    /// Every byte.
    pub(crate) fn bytes() -> Self {
        Vocabulary::new("bytes", (0..=u8::MAX).map(|byte| vec![byte]).collect())
    }

    /// The bytes of `texts` and some others, and random pieces of the texts.
    pub(crate) fn merged(texts: &[Vec<u8>], dice: &mut Dice) -> Self {
        Vocabulary::new("merged", with_pieces(texts, 40, dice))
    }

    /// The same with some tokens several times, and some ids without bytes between them.
    pub(crate) fn duplicates(texts: &[Vec<u8>], dice: &mut Dice) -> Self {
        let mut tokens = with_pieces(texts, 20, dice);
        for _ in 0..12 {
            let token = tokens[dice.below(tokens.len())].clone();
            tokens.insert(dice.below(tokens.len() + 1), token);
        }
        for _ in 0..3 {
            tokens.insert(dice.below(tokens.len() + 1), Vec::new());
        }
        Vocabulary::new("duplicates", tokens)
    }

    /// The same with tokens that start or end inside of a code point, and tokens that are no UTF-8 at all.
    pub(crate) fn partial_utf8(texts: &[Vec<u8>], dice: &mut Dice) -> Self {
        let mut tokens = with_pieces(texts, 10, dice);
        for text in ["é", "日本", "😀", "aé", "é\"", "日a"] {
            for start in 0..text.len() {
                for end in start + 1..=text.len() {
                    tokens.push(text.as_bytes()[start..end].to_vec());
                }
            }
        }
        let wrong: [&[u8]; 6] = [b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"a\x80", b"\xf4\x90", b"\xc3\xc3"];
        tokens.extend(wrong.map(<[u8]>::to_vec));
        Vocabulary::new("partial UTF-8", tokens)
    }

    /// A random sequence of tokens whose bytes are `text`; every byte of it must be a token.
    pub(crate) fn tokenize(&self, text: &[u8], dice: &mut Dice) -> Vec<u32> {
        let mut ids = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let fits = |token: &Vec<u8>| !token.is_empty() && rest.starts_with(token);
            let fitting: Vec<u32> =
                (0..).zip(&self.tokens).filter(|(_, token)| fits(token)).map(|(id, _)| id).collect();
            let id = fitting[dice.below(fitting.len())];
            rest = &rest[self.tokens[id as usize].len()..];
            ids.push(id);
        }
        ids
    }
}

/// Each byte of `texts` as a token, some bytes that are always there, and up to `count` random pieces of the texts.
fn with_pieces(texts: &[Vec<u8>], count: usize, dice: &mut Dice) -> Vec<Vec<u8>> {
    let mut tokens: BTreeSet<Vec<u8>> = texts.iter().flatten().map(|&byte| vec![byte]).collect();
    tokens.extend(b"ab1 \"<.".map(|byte| vec![byte]));
    tokens.extend([0xC3, 0xE6, 0xF0, 0x80, 0xA9].map(|byte| vec![byte]));
    let long: Vec<&Vec<u8>> = texts.iter().filter(|text| text.len() > 1).collect();
    for _ in 0..if long.is_empty() { 0 } else { count } {
        let text = long[dice.below(long.len())];
        let start = dice.below(text.len() - 1);
        let length = 2 + dice.below((text.len() - start - 1).min(6));
        tokens.insert(text[start..text.len().min(start + length)].to_vec());
    }
    // Not in the order of their bytes: nothing may depend on that.
    let mut tokens: Vec<Vec<u8>> = tokens.into_iter().collect();
    for at in (1..tokens.len()).rev() {
        tokens.swap(at, dice.below(at + 1));
    }
    tokens
}
