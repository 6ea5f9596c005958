//! Rows of the tokens that are made of some kinds of characters, and of no more than so many.
//!
//! Inside a string nearly every token is plain text that the terminal's loop takes as a whole. If a state takes any string of
//! some kinds, up to a number of characters, all such tokens stay inside, and only the others have to be walked. Their row
//! depends on the kinds and the number alone, and is kept for the vocabulary. Few tokens are long, so that the row of those
//! with up to so many characters is that of all, without these few.

use std::ops::Range;
use std::sync::Arc;

use parking_lot::Mutex;

use super::shapes::{KindSet, Shapes, characters_of};
use super::{TokenId, TokenTable};
use crate::mask::{Row, clear_bit, set_bit};

/// Kinds of characters, and how many of them a token may have.
type Key = (KindSet, u32);

/// Whether all tokens of one row are in another.
fn is_within(a: Key, b: Key) -> bool {
    a.0 & !b.0 == 0 && a.1 <= b.1
}

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
    /// Those with more characters than [`MANY_CHARACTERS`], the longest last.
    long: Box<[u32]>,
    /// The rows of none of them and of all.
    ends: [(Key, Arc<Row>); 2],
    /// The rows that were asked for last, the last one last.
    known: Mutex<Vec<(Key, Arc<Row>)>>,
    /// The most characters that a token has.
    longest: u32,
}

/// How many rows are kept.
const MAX_ROWS: usize = 256;

/// Few tokens have more characters than this.
const MANY_CHARACTERS: u32 = 8;

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
        let none = vec![0; characters.len().div_ceil(32)];
        let mut all = none.clone();
        tokens.iter().for_each(|&token| set_bit(&mut all, token));
        let ends = [((0, 0), Arc::new(Row::new(none))), ((KindSet::MAX, longest), Arc::new(Row::new(all)))];
        let is_long = |token: &u32| characters[*token as usize] > MANY_CHARACTERS;
        let mut long: Box<[u32]> = tokens.iter().copied().filter(is_long).collect();
        long.sort_unstable_by_key(|&token| characters[token as usize]);
        PlainRows { characters, tokens, groups: groups.into(), long, ends, longest, known: Mutex::default() }
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
        let row = Arc::new(if (MANY_CHARACTERS..self.longest).contains(&key.1) {
            self.without_long(&self.get(kinds, self.longest), key.1)
        } else {
            self.build(key)
        });
        let mut known = self.known.lock();
        if known.len() >= MAX_ROWS {
            known.remove(0);
        }
        known.push((key, Arc::clone(&row)));
        row
    }

    /// The tokens with more than so many characters, if these are many characters.
    pub(crate) fn longer_than(&self, most: u32) -> Option<&[u32]> {
        (most >= MANY_CHARACTERS).then(|| &self.long[self.short_among_long(most)..])
    }

    /// How many of the long ones have no more than so many characters.
    fn short_among_long(&self, most: u32) -> usize {
        self.long.partition_point(|&token| self.characters[token as usize] <= most)
    }

    /// How many characters a token has.
    pub(crate) fn characters(&self, token: u32) -> usize {
        self.characters[token as usize] as usize
    }

    /// Starts from the row of all tokens, that of none, or one that was made before, whichever is nearest.
    fn build(&self, key: Key) -> Row {
        let count = self.ranges(|group| is_within(group, key)).map(|range| range.len()).sum();
        let (base, row) = self.nearest(key, count);
        let mut words = row.words().to_vec();
        let change = if is_within(base, key) { set_bit } else { clear_bit };
        for range in self.ranges(|group| is_within(group, key) != is_within(group, base)) {
            self.tokens[range].iter().for_each(|&token| change(&mut words, token));
        }
        Row::new(words)
    }

    /// The tokens of the groups that are wanted.
    fn ranges(&self, is_wanted: impl Fn(Key) -> bool) -> impl Iterator<Item = Range<usize>> {
        let begins = std::iter::once(0).chain(self.groups.iter().map(|group| group.end));
        let groups = self.groups.iter().zip(begins);
        let wanted = groups.filter(move |(group, _)| is_wanted((group.of, group.characters)));
        wanted.map(|(group, begin)| begin as usize..group.end as usize)
    }

    /// The row that is the nearest to one with `count` tokens, among those that are within it or that it is within.
    fn nearest(&self, key: Key, count: usize) -> (Key, Arc<Row>) {
        let known = self.known.lock();
        let near =
            known.iter().chain(&self.ends).filter(|one| is_within(one.0, key) || is_within(key, one.0));
        let nearest = near.min_by_key(|one| one.1.count().abs_diff(count)).unwrap_or(&self.ends[0]);
        (nearest.0, Arc::clone(&nearest.1))
    }

    /// A row without the tokens that have more than so many characters, which are [many](MANY_CHARACTERS).
    fn without_long(&self, row: &Row, most: u32) -> Row {
        let mut words = row.words().to_vec();
        self.long[self.short_among_long(most)..].iter().for_each(|&token| clear_bit(&mut words, token));
        Row::new(words)
    }

    pub(super) fn memory_bytes(&self) -> usize {
        size_of_val(&*self.characters)
            + size_of_val(&*self.groups)
            + size_of_val(&*self.long)
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
        tokens.extend(["xyz", "abcdefgh", "abcdefghi", "abcdefghijkl", "1111111111"]);
        let vocab = Vocab::new(tokens, VocabOptions::default()).unwrap();
        let rows = PlainRows::new(vocab.table(), &Shapes::new(vocab.table().index().trie()));
        let kind = |byte: u8| 1 << KIND_OF[usize::from(byte)];
        let held = |kinds, length| {
            let row = rows.get(kinds, length);
            (0..45).filter(|&token| row.has(token)).collect::<Vec<_>>()
        };
        assert_eq!(held(kind(b'x'), u32::MAX), [0, 1, 4, 40, 41, 42, 43]);
        assert_eq!(held(kind(b'x'), 11), [0, 1, 4, 40, 41, 42]);
        assert_eq!(held(kind(b'x'), 8), [0, 1, 4, 40, 41]);
        assert_eq!(held(kind(b'x'), 7), [0, 1, 4, 40]);
        assert_eq!(held(kind(b'x'), 2), [0, 4]);
        assert_eq!(held(kind(b'x') | kind(b'1'), 3), [0, 1, 3, 4, 7, 40]);
        assert_eq!(held(OTHER, 9), [6]);
        assert_eq!(rows.characters(6), 1);
        assert_eq!(held(kind(b'x') | kind(b'1'), 300), [0, 1, 3, 4, 7, 40, 41, 42, 43, 44]);
        assert_eq!(held(kind(b'1'), 300), [7, 44]);
        assert!(Arc::ptr_eq(&rows.get(kind(b'x'), 12), &rows.get(kind(b'x'), 300)));
    }
}
