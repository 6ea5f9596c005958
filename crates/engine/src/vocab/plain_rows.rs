//! Rows of the tokens that are made of some kinds of characters, and of no more than so many.
//!
//! Inside a string nearly every token is plain text that the terminal's loop takes as a whole. If a state takes any string of
//! some kinds, up to a number of characters, all such tokens stay inside, and only the others have to be walked. Their row
//! depends on the kinds and the number alone, and is kept for the vocabulary.

use std::sync::Arc;

use parking_lot::Mutex;

use super::shapes::{KindSet, Shapes, characters_of};
use super::{TokenId, TokenTable};
use crate::mask::{Row, clear_bit, set_bit};

/// Kinds of characters, and how many of them a token may have.
type Key = (KindSet, u32);

/// Tokens that are alike, side by side in the order of shapes.
struct Group {
    /// What they are made of.
    of: KindSet,
    /// How many characters each has.
    characters: u32,
    /// Where the next group begins.
    end: u32,
}

/// How many characters begin in a text.
pub(crate) fn count_characters(bytes: &[u8]) -> usize {
    bytes.iter().filter(|&&byte| !(0x80..0xC0).contains(&byte)).count()
}

/// The rows of a vocabulary.
pub(crate) struct PlainRows {
    /// How many characters each token has.
    characters: Box<[u32]>,
    /// All tokens that have bytes, in the order of shapes.
    tokens: Arc<[u32]>,
    groups: Box<[Group]>,
    /// All of them as a row.
    all: Row,
    /// The rows that were asked for last, the last one last.
    known: Mutex<Vec<(Key, Arc<Row>)>>,
    /// The most characters that a token has.
    longest: u32,
}

/// How many rows are kept.
const MAX_ROWS: usize = 256;

impl PlainRows {
    pub(super) fn new(table: &TokenTable, shapes: &Shapes) -> Self {
        let characters: Box<[u32]> = table.iter().map(|(_, bytes)| count_characters(bytes) as u32).collect();
        let tokens = Arc::clone(shapes.tokens());
        let mut groups: Vec<Group> = Vec::new();
        for (&token, end) in tokens.iter().zip(1..) {
            let (of, characters) =
                (characters_of(table.token_bytes(TokenId(token))), characters[token as usize]);
            match groups.last_mut() {
                Some(last) if (last.of, last.characters) == (of, characters) => last.end = end,
                _ => groups.push(Group { of, characters, end }),
            }
        }
        let longest = characters.iter().copied().max().unwrap_or(0);
        let mut all = vec![0; characters.len().div_ceil(32)];
        tokens.iter().for_each(|&token| set_bit(&mut all, token));
        let (all, groups) = (Row::new(all), groups.into());
        PlainRows { characters, tokens, groups, all, longest, known: Mutex::default() }
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
        self.characters[token as usize] as usize
    }

    /// Starts from all tokens or from none, whichever is nearer.
    fn build(&self, (kinds, most): Key) -> Row {
        let fits = |group: &Group| group.of & !kinds == 0 && group.characters <= most;
        let begins = std::iter::once(0).chain(self.groups.iter().map(|group| group.end));
        let ranges =
            || self.groups.iter().zip(begins.clone()).map(|(group, begin)| (group, begin..group.end));
        let count: usize = ranges().filter(|(group, _)| fits(group)).map(|(_, range)| range.len()).sum();
        let are_few = count <= self.tokens.len() / 2;
        let mut words =
            if are_few { vec![0; self.characters.len().div_ceil(32)] } else { self.all.words().to_vec() };
        let change = if are_few { set_bit } else { clear_bit };
        for (_, range) in ranges().filter(|(group, _)| fits(group) == are_few) {
            let tokens = &self.tokens[range.start as usize..range.end as usize];
            tokens.iter().for_each(|&token| change(&mut words, token));
        }
        Row::new(words)
    }

    pub(super) fn memory_bytes(&self) -> usize {
        size_of_val(&*self.characters)
            + size_of_val(&*self.groups)
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
        let rows = PlainRows::new(vocab.table(), &Shapes::new(vocab.table().index().trie()));
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
