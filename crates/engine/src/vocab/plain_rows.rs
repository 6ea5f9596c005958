//! Rows of the tokens that are made of some kinds of characters, and of no more than so many.
//!
//! Inside a string nearly every token is plain text that the terminal's loop takes as a whole. If a state takes any string of
//! some kinds, up to a number of characters, all such tokens stay inside, and only the others have to be walked. Their row
//! depends on the kinds and the number alone, and is kept for the vocabulary.

use std::sync::Arc;

use parking_lot::Mutex;

use super::TokenTable;
use super::shapes::{KindSet, characters_of};
use crate::mask::{Row, clear_bit, set_bit};

/// Kinds of characters, and how many of them a token may have.
type Key = (KindSet, u32);

/// What a token is made of.
struct Made {
    of: KindSet,
    characters: u32,
}

/// How many characters begin in a text.
pub(crate) fn count_characters(bytes: &[u8]) -> usize {
    bytes.iter().filter(|&&byte| !(0x80..0xC0).contains(&byte)).count()
}

/// The rows of a vocabulary.
pub(crate) struct PlainRows {
    /// What each token is made of.
    tokens: Box<[Made]>,
    /// All tokens that have any, by the number of their characters.
    longest_last: Box<[u32]>,
    /// The rows that were asked for last, the last one last.
    known: Mutex<Vec<(Key, Arc<Row>)>>,
    /// The most characters that a token has.
    longest: u32,
}

/// How many rows are kept.
const MAX_ROWS: usize = 256;

impl PlainRows {
    pub(super) fn new(table: &TokenTable) -> Self {
        let made =
            |bytes: &[u8]| Made { of: characters_of(bytes), characters: count_characters(bytes) as u32 };
        let tokens: Box<[Made]> = table.iter().map(|(_, bytes)| made(bytes)).collect();
        let characters = |token: &u32| tokens[*token as usize].characters;
        let mut longest_last: Vec<u32> =
            (0..tokens.len() as u32).filter(|token| characters(token) > 0).collect();
        longest_last.sort_by_key(characters);
        let longest = longest_last.last().map_or(0, characters);
        PlainRows { longest_last: longest_last.into(), longest, tokens, known: Mutex::default() }
    }

    /// The row of the tokens that are made of `kinds`, with at most so many characters.
    pub(crate) fn get(&self, kinds: KindSet, most: u32) -> Arc<Row> {
        let key = (kinds, most.min(self.longest));
        {
            let mut known = self.known.lock();
            if let Some(at) = known.iter().position(|(other, _)| *other == key) {
                let entry = known.remove(at);
                let row = Arc::clone(&entry.1);
                known.push(entry);
                return row;
            }
        }
        let row = Arc::new(self.build(key));
        let mut known = self.known.lock();
        if known.len() >= MAX_ROWS {
            known.remove(0);
        }
        known.push((key, Arc::clone(&row)));
        row
    }

    /// How many characters a token has.
    pub(crate) fn characters(&self, token: u32) -> usize {
        self.tokens[token as usize].characters as usize
    }

    fn build(&self, (kinds, most): Key) -> Row {
        let fits = |token: &Made| token.of & !kinds == 0 && token.characters > 0;
        let short =
            self.longest_last.partition_point(|&token| self.tokens[token as usize].characters <= most);
        let (short, long) = self.longest_last.split_at(short);
        if short.len() < long.len() / 2 {
            let mut words = vec![0; self.tokens.len().div_ceil(32)];
            let fitting = short.iter().filter(|&&token| fits(&self.tokens[token as usize]));
            fitting.for_each(|&token| set_bit(&mut words, token));
            return Row::new(words);
        }
        if !long.is_empty() {
            let mut words = self.get(kinds, self.longest).words().to_vec();
            long.iter().for_each(|&token| clear_bit(&mut words, token));
            return Row::new(words);
        }
        let word =
            |tokens: &[Made]| tokens.iter().rev().fold(0, |word, token| word << 1 | u32::from(fits(token)));
        Row::new(self.tokens.chunks(32).map(word).collect())
    }

    pub(super) fn memory_bytes(&self) -> usize {
        size_of_val(&*self.tokens)
            + size_of_val(&*self.longest_last)
            + self.known.lock().iter().map(|(_, row)| row.memory_bytes()).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::super::shapes::{KIND_OF, OTHER};
    use super::super::{Vocab, VocabOptions};
    use super::*;

    #[test]
    fn rows_hold_short_tokens_of_their_kinds() {
        let mut tokens: Vec<&str> = vec!["ab", "abc", "", "ab1", "a", "\"", "é", "1"];
        tokens.resize(40, "");
        tokens.push("xyz");
        let vocab = Vocab::new(tokens, VocabOptions::default()).unwrap();
        let rows = PlainRows::new(vocab.table());
        let kind = |byte: u8| 1 << KIND_OF[usize::from(byte)];
        let held = |kinds, length| {
            let row = rows.get(kinds, length);
            (0..41).filter(|&token| row.has(token)).collect::<Vec<_>>()
        };
        assert_eq!(held(kind(b'x'), u32::MAX), [0, 1, 4, 40]);
        assert_eq!(held(kind(b'x'), 2), [0, 4]);
        assert_eq!(held(kind(b'x') | kind(b'1'), 3), [0, 1, 3, 4, 7, 40]);
        assert_eq!(held(OTHER, 9), [6]);
        assert_eq!(rows.characters(6), 1);
        assert!(Arc::ptr_eq(&rows.get(kind(b'x'), 3), &rows.get(kind(b'x'), 300)));
    }
}
