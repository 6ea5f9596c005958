//! Slices: tokens that stay inside a wide terminal whatever their bytes are.
//!
//! Inside a string nearly every token is plain text that the terminal's loop takes as a whole. So tokens are sorted
//! by the kinds of characters that they are made of. If a state stays alive on every character of some kinds, and so
//! do all the states that these lead to, then all tokens made of those kinds stay inside, and only the others have to
//! be walked. Such a slice (a mask of the first, a trie of the others) depends on the kinds alone and is kept for
//! the vocabulary.

use std::sync::Arc;

use parking_lot::Mutex;

use super::trie::Trie;
use super::{TokenId, TokenTable};

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

    /// Whether all of these are in `other`.
    fn within(self, other: Kinds) -> bool {
        self.0 & !other.0 == 0
    }
}

/// The tokens of some kinds, and the rest.
#[derive(Debug)]
pub(crate) struct Slice {
    /// A bit for each token of the kinds.
    pub(crate) mask: Arc<[u32]>,
    /// The trie of all other tokens.
    pub(crate) rest: Arc<Trie>,
}

/// The slices of a vocabulary.
pub(crate) struct Slices {
    /// The kinds of each token, by id.
    kinds: Box<[Kinds]>,
    known: Mutex<Vec<(Kinds, Option<Arc<Slice>>)>>,
}

/// How many slices are kept.
const MAX_SLICES: usize = 24;
/// A slice must hold at least one token in this many, or walking its tokens costs less than the trie of the others.
const WORTH: usize = 2;

impl Slices {
    pub(super) fn new(table: &TokenTable) -> Self {
        let mut by_byte = [0; 128];
        for (kind, members) in ASCII_KINDS.iter().enumerate() {
            members.iter().for_each(|&byte| by_byte[usize::from(byte)] = 1 << kind);
        }
        let kinds = table.iter().map(|(_, bytes)| Kinds::of(bytes, &by_byte)).collect();
        Slices { kinds, known: Mutex::default() }
    }

    /// The slice of `kinds`, if it is worth one. `sorted` is all tokens in the order of their bytes.
    pub(super) fn get(&self, kinds: Kinds, table: &TokenTable, sorted: &[u32]) -> Option<Arc<Slice>> {
        let mut known = self.known.lock();
        if let Some(at) = known.iter().position(|(other, _)| *other == kinds) {
            let entry = known.remove(at);
            known.push(entry.clone());
            return entry.1;
        }
        let slice = self.build(kinds, table, sorted).map(Arc::new);
        if known.len() >= MAX_SLICES {
            known.remove(0);
        }
        known.push((kinds, slice.clone()));
        slice
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
        Some(Slice { mask: mask.into(), rest })
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let slices = self.known.lock();
        let slices = slices.iter().filter_map(|(_, slice)| slice.as_ref());
        size_of_val(&*self.kinds)
            + slices.map(|slice| size_of_val(&*slice.mask) + slice.rest.memory_bytes()).sum::<usize>()
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
