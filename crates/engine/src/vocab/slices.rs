//! Slices: tokens that stay inside a wide terminal whatever their bytes are.
//!
//! Inside a string nearly every token is plain text that the terminal's loop takes as a whole. So tokens are sorted
//! by the kinds of characters that they are made of. If a state stays alive on every character of some kinds, and so
//! do all the states that these lead to, then all tokens made of those kinds stay inside, and only the others have to
//! be walked. Such a slice (a mask of the first, a trie of the others) depends on the kinds alone and is kept for
//! the vocabulary.
//!
//! A state that takes no more than so many characters has a slice too: of the tokens of those kinds, the short ones.
//! The long ones are in neither part. They do not fit, if what comes after the characters is of another kind.

use std::sync::Arc;

use parking_lot::Mutex;

use super::trie::Trie;
use super::{TokenId, TokenTable};
use crate::mask::Row;

/// A set of kinds of characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Kinds(pub(crate) u32);

/// The kinds of ASCII characters, each the set of characters that a grammar tends to treat alike.
pub(crate) const ASCII_KINDS: [&[u8]; 24] = [
    b"abcdefghijklmnopqrstuvwxyz",
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    b"0123456789",
    b" ",
    b"\n",
    b"\t\r",
    b"\"",
    b"\\",
    b"_",
    b"-",
    b".",
    b",",
    b":",
    b"'",
    b"()",
    b"[]",
    b"{}",
    b"<>",
    b"/",
    b"+*=%",
    b"&|!^~",
    b"#$@?;`",
    b"\x7f",
    b"\x00\x01\x02\x03\x04\x05\x06\x07\x08\x0b\x0c\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f",
];

impl Kinds {
    /// Whole characters outside of ASCII.
    pub(crate) const OTHER_TEXT: Kinds = Kinds(1 << 24);
    /// What may stand unescaped in a JSON string: all but quotes, backslashes and control characters.
    pub(crate) const JSON_TEXT: Kinds =
        Kinds(0x00FF_FFFF & !(1 << 4 | 1 << 5 | 1 << 6 | 1 << 7 | 1 << 23) | 1 << 24);
    /// Bytes that are not whole characters; no state is asked about them.
    const BROKEN: Kinds = Kinds(1 << 31);

    /// The kinds of the characters in `bytes`.
    fn of(bytes: &[u8], by_byte: &[u32; 128]) -> Kinds {
        let mut kinds = 0;
        let mut ascii = true;
        for &byte in bytes {
            if byte < 128 {
                kinds |= by_byte[usize::from(byte)];
            } else {
                ascii = false;
            }
        }
        if !ascii {
            let whole = std::str::from_utf8(bytes).is_ok();
            kinds |= if whole { Self::OTHER_TEXT.0 } else { Self::BROKEN.0 };
        }
        Kinds(kinds)
    }

    /// Whether a character of these kinds may begin with a byte of a range.
    pub(crate) fn meets(self, low: u8, high: u8) -> bool {
        let of = |byte: u8| ASCII_KINDS.iter().position(|members| members.contains(&byte));
        let ascii = |byte: u8| of(byte).is_some_and(|kind| self.0 >> kind & 1 == 1);
        (low..=high.min(0x7F)).any(ascii) || (high >= 0x80 && self.0 & Self::OTHER_TEXT.0 != 0)
    }

    /// Whether all of these are in `other`.
    pub(crate) fn within(self, other: Kinds) -> bool {
        self.0 & !other.0 == 0
    }
}

/// The tokens of some kinds, and the rest.
#[derive(Debug)]
pub(crate) struct Slice {
    /// A bit for each token of the kinds.
    pub(crate) mask: Arc<Row>,
    /// The trie of all other tokens.
    pub(crate) rest: Arc<Trie>,
}

impl Slice {
    /// Whether a token is of the kinds.
    pub(crate) fn contains(&self, token: u32) -> bool {
        self.mask.words()[token as usize / 32] >> (token % 32) & 1 == 1
    }
}

/// How many characters begin in a text.
pub(crate) fn characters(bytes: &[u8]) -> usize {
    bytes.iter().filter(|&&byte| !(0x80..0xC0).contains(&byte)).count()
}

/// The slices of a vocabulary.
pub(crate) struct Slices {
    /// The kinds of each token, by id.
    kinds: Box<[Kinds]>,
    /// How many characters each token has, by id.
    lengths: Box<[u8]>,
    /// All tokens by the number of their characters.
    longest_first: Box<[u32]>,
    known: Mutex<Vec<(SliceKey, Option<Arc<Slice>>)>>,
}

/// A slice that was never asked for.
struct NobodyAsked;

/// Some kinds, and the most characters that a token may have.
type SliceKey = (Kinds, u8);

/// No bound on the length; tokens with more characters than a byte counts are never in a slice with a bound.
pub(crate) const ANY_LENGTH: u8 = u8::MAX;

/// How many slices are kept.
const MAX_SLICES: usize = 96;
/// A slice must hold at least one token in this many, or walking its tokens costs less than the trie of the others.
const WORTH: usize = 2;
/// The greatest bound that a slice can have.
pub(crate) const MAX_LENGTH: u8 = ANY_LENGTH - 1;

impl Slices {
    pub(super) fn new(table: &TokenTable) -> Self {
        let mut by_byte = [0; 128];
        for (kind, members) in ASCII_KINDS.iter().enumerate() {
            members.iter().for_each(|&byte| by_byte[usize::from(byte)] = 1 << kind);
        }
        let kinds = table.iter().map(|(_, bytes)| Kinds::of(bytes, &by_byte)).collect();
        let length = |bytes: &[u8]| u8::try_from(characters(bytes)).unwrap_or(u8::MAX);
        let lengths: Box<[u8]> = table.iter().map(|(_, bytes)| length(bytes)).collect();
        let mut longest_first: Box<[u32]> = (0..lengths.len() as u32).collect();
        longest_first.sort_by_key(|&token| std::cmp::Reverse(lengths[token as usize]));
        Slices { kinds, lengths, longest_first, known: Mutex::default() }
    }

    /// How many characters a token has.
    pub(super) fn characters(&self, token: u32, table: &TokenTable) -> usize {
        match self.lengths[token as usize] {
            u8::MAX => characters(table.token_bytes(TokenId(token))),
            length => length.into(),
        }
    }

    /// The slice of the tokens of `kinds` with at most `most` characters, if it is worth one. `sorted` is all tokens in
    /// the order of their bytes.
    pub(super) fn get(
        &self,
        kinds: Kinds,
        most: u8,
        table: &TokenTable,
        sorted: &[u32],
    ) -> Option<Arc<Slice>> {
        if let Ok(known) = self.find((kinds, most)) {
            return known;
        }
        let slice = match most {
            ANY_LENGTH => self.build(kinds, table, sorted),
            _ => self.get(kinds, ANY_LENGTH, table, sorted).map(|all| self.shortened(&all, kinds, most)),
        };
        let slice = slice.map(Arc::new);
        let mut known = self.known.lock();
        if known.len() >= MAX_SLICES {
            known.remove(0);
        }
        known.push(((kinds, most), slice.clone()));
        slice
    }

    /// The slice of a key, or that it is not worth one, if anybody has asked before.
    fn find(&self, key: SliceKey) -> Result<Option<Arc<Slice>>, NobodyAsked> {
        let mut known = self.known.lock();
        let at = known.iter().position(|(other, _)| *other == key).ok_or(NobodyAsked)?;
        let entry = known.remove(at);
        known.push(entry.clone());
        Ok(entry.1)
    }

    /// The tokens of a slice that have at most `most` characters; the long ones are in neither part.
    fn shortened(&self, all: &Slice, kinds: Kinds, most: u8) -> Slice {
        let mut mask = all.mask.words().to_vec();
        let is_long = |token: &&u32| self.lengths[**token as usize] > most;
        for &token in self.longest_first.iter().take_while(is_long) {
            if self.kinds[token as usize].within(kinds) {
                mask[token as usize / 32] &= !(1 << (token % 32));
            }
        }
        Slice { mask: Arc::new(Row::new(mask)), rest: Arc::clone(&all.rest) }
    }

    fn build(&self, kinds: Kinds, table: &TokenTable, sorted: &[u32]) -> Option<Slice> {
        let inside = |token: u32| self.kinds[token as usize].within(kinds);
        let count = sorted.iter().filter(|&&token| inside(token)).count();
        if count * WORTH < sorted.len() {
            return None;
        }
        let mut mask = vec![0u32; table.len().div_ceil(32)];
        for &token in sorted.iter().filter(|&&token| inside(token)) {
            mask[token as usize / 32] |= 1 << (token % 32);
        }
        let others = sorted.iter().filter(|&&token| !inside(token));
        let rest =
            Arc::new(Trie::from_sorted(others.map(|&token| (table.token_bytes(TokenId(token)), token))));
        Some(Slice { mask: Arc::new(Row::new(mask)), rest })
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let slices = self.known.lock();
        let slices = slices.iter().filter_map(|(_, slice)| slice.as_ref());
        size_of_val(&*self.kinds)
            + size_of_val(&*self.lengths)
            + size_of_val(&*self.longest_first)
            + slices.map(|slice| slice.mask.memory_bytes() + slice.rest.memory_bytes()).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ascii_byte_has_one_kind() {
        for byte in 0..128u8 {
            assert_eq!(ASCII_KINDS.iter().filter(|members| members.contains(&byte)).count(), 1, "{byte}");
        }
    }

    #[test]
    fn json_text_is_what_json_lets_stand() {
        for (kind, members) in ASCII_KINDS.iter().enumerate() {
            let stands = members.iter().all(|&byte| byte >= 0x20 && byte != b'"' && byte != b'\\');
            assert_eq!(Kinds::JSON_TEXT.0 >> kind & 1 == 1, stands, "{members:?}");
        }
    }
}
