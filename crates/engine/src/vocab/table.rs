//! The bytes of all tokens, in one buffer, and one such table in the process for equal contents.
//!
//! A [`TokenTable`] is the part of a vocabulary that masks depend on and that is worth sharing: which bytes each id
//! has. What does not change the bytes (stop tokens, the spelling they came from) is in [`super::Vocab`]. Whatever is
//! derived from the bytes alone belongs beside them here, so that it too exists once.
//!
//! Invariants:
//!
//! 1. The table never changes after it was built.
//! 2. `offsets` has one entry more than there are ids, starts with 0, never falls, and ends with the buffer's length.
//! 3. A special token has no bytes in the buffer; its text is among `special_texts`, which are sorted and not empty.
//! 4. Two live tables have different contents: `TokenTable::shared` gives out the table that exists already.
//!    So equal contents can be seen by comparing pointers.
//!
//! The registry behind 4 holds weak references: a table goes away with the last vocabulary that uses it.

use std::collections::HashMap;
use std::fmt;
use std::hash::Hasher;
use std::sync::{Arc, LazyLock, OnceLock, Weak};

use parking_lot::Mutex;
use siphasher::sip128::{Hasher128, SipHasher13};
use tokenstile_grammar::passes::Special;

use super::error::VocabError;
use super::index::TokenIndex;
use super::reach::Reach;
use super::{MAX_TABLE_BYTES, MAX_TOKEN_BYTES, MAX_TOKENS, TokenId};

/// A hash of a table's contents: the same in every process and on every machine.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fingerprint([u8; 16]);

impl Fingerprint {
    /// Its bytes.
    pub fn to_bytes(self) -> [u8; 16] {
        self.0
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Fingerprint({self})")
    }
}

/// A special token and its text.
type SpecialText = (TokenId, Box<[u8]>);

/// The bytes of every id of a vocabulary.
pub struct TokenTable {
    bytes: Box<[u8]>,
    offsets: Box<[u32]>,
    empty_ids: Box<[TokenId]>,
    special_texts: Box<[SpecialText]>,
    special: Special,
    reach: Arc<Reach>,
    fingerprint: Fingerprint,
    index: OnceLock<TokenIndex>,
}

impl TokenTable {
    /// A table without tokens.
    pub(crate) fn none() -> Arc<Self> {
        TokenTableBuilder::default().finish()
    }

    /// How many ids there are, those without bytes included: the width of a mask in bits.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there are no ids.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of a token; none for a special token, a padding id, a hole, and an id outside of the vocabulary.
    pub fn token_bytes(&self, id: TokenId) -> &[u8] {
        match self.offsets.get(id.index()..) {
            Some(&[start, end, ..]) => &self.bytes[start as usize..end as usize],
            _ => &[],
        }
    }

    /// The bytes of every token, in the order of ids.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (TokenId, &[u8])> {
        self.offsets
            .windows(2)
            .enumerate()
            .map(|(id, range)| (TokenId(id as u32), &self.bytes[range[0] as usize..range[1] as usize]))
    }

    /// The text of a token: its bytes, or what a special token is called. None for padding and holes.
    pub fn token_text(&self, id: TokenId) -> &[u8] {
        match self.token_bytes(id) {
            [] => self.special_text(id).unwrap_or_default(),
            bytes => bytes,
        }
    }

    fn special_text(&self, id: TokenId) -> Option<&[u8]> {
        let at = self.special_texts.binary_search_by_key(&id, |&(special, _)| special).ok()?;
        Some(&self.special_texts[at].1)
    }

    /// The text of every token, in the order of ids.
    pub fn texts(&self) -> impl ExactSizeIterator<Item = (TokenId, &[u8])> {
        (0..self.len() as u32).map(|id| (TokenId(id), self.token_text(TokenId(id))))
    }

    /// The special tokens that have a text, ascending.
    pub fn special_texts(&self) -> impl ExactSizeIterator<Item = (TokenId, &[u8])> {
        self.special_texts.iter().map(|(id, text)| (*id, &**text))
    }

    /// The special tokens by their texts, for grammars that name them.
    pub fn special(&self) -> &Special {
        &self.special
    }

    /// The ids without bytes, ascending: special tokens, padding, holes and empty tokens. No grammar matches them by bytes.
    pub fn empty_ids(&self) -> &[TokenId] {
        &self.empty_ids
    }

    /// The length of the longest token that has bytes.
    pub fn max_token_bytes(&self) -> usize {
        self.reach.longest as usize
    }

    /// How far the tokens reach.
    pub(crate) fn reach(&self) -> &Arc<Reach> {
        &self.reach
    }

    /// The hash of the contents.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// The trie of the tokens and what else is derived from them, made on the first call.
    pub(crate) fn index(&self) -> &TokenIndex {
        self.index.get_or_init(|| TokenIndex::new(self))
    }

    /// Makes what is derived from the tokens now, rather than at the first mask: the trie, and the shapes.
    pub(super) fn prepare(&self) {
        self.index();
    }

    /// The memory that the table takes, with what has been derived from it.
    pub fn memory_bytes(&self) -> usize {
        let texts: usize =
            self.special_texts.iter().map(|(_, text)| size_of::<SpecialText>() + text.len()).sum();
        let own = self.bytes.len() + size_of_val(&*self.offsets) + size_of_val(&*self.empty_ids) + texts;
        size_of::<Self>() + own + self.index.get().map_or(0, TokenIndex::memory_bytes)
    }

    fn has_same_contents(&self, other: &Self) -> bool {
        self.fingerprint == other.fingerprint
            && self.offsets == other.offsets
            && self.bytes == other.bytes
            && self.special_texts == other.special_texts
    }

    /// The one table in the process with the contents of `self`.
    fn shared(self) -> Arc<TokenTable> {
        static TABLES: LazyLock<Mutex<HashMap<Fingerprint, Vec<Weak<TokenTable>>>>> =
            LazyLock::new(Mutex::default);

        let mut tables = TABLES.lock();
        tables.retain(|_, bucket| {
            bucket.retain(|table| table.strong_count() > 0);
            !bucket.is_empty()
        });
        let bucket = tables.entry(self.fingerprint).or_default();
        // A hash says "maybe": the contents decide.
        if let Some(table) =
            bucket.iter().filter_map(Weak::upgrade).find(|table| self.has_same_contents(table))
        {
            return table;
        }
        let table = Arc::new(self);
        bucket.push(Arc::downgrade(&table));
        table
    }
}

impl fmt::Debug for TokenTable {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("TokenTable")
            .field("len", &self.len())
            .field("max_token_bytes", &self.max_token_bytes())
            .field("fingerprint", &self.fingerprint)
            .finish_non_exhaustive()
    }
}

/// Collects the tokens of a table in the order of their ids, within the limits.
#[derive(Default)]
pub(super) struct TokenTableBuilder {
    bytes: Vec<u8>,
    ends: Vec<u32>,
    special_texts: Vec<SpecialText>,
}

impl TokenTableBuilder {
    /// How many ids there are so far.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Gives the next id to `token`.
    pub(super) fn push(&mut self, token: &[u8]) -> Result<(), VocabError> {
        if self.ends.len() >= MAX_TOKENS {
            return Err(VocabError::TooManyTokens(self.ends.len() as u64 + 1));
        }
        if token.len() > MAX_TOKEN_BYTES {
            return Err(VocabError::TokenTooLong { id: self.ends.len() as u32, length: token.len() });
        }
        if self.bytes.len() + token.len() > MAX_TABLE_BYTES {
            return Err(VocabError::TableTooLarge);
        }
        self.bytes.extend_from_slice(token);
        self.ends.push(self.bytes.len() as u32);
        Ok(())
    }

    /// Adds ids without bytes until there are `len`.
    pub(super) fn pad(&mut self, len: usize) -> Result<(), VocabError> {
        if len < self.ends.len() {
            return Err(VocabError::SizeTooSmall { vocab_size: len, tokens: self.ends.len() });
        }
        if len > MAX_TOKENS {
            return Err(VocabError::TooManyTokens(len as u64));
        }
        self.ends.resize(len, self.bytes.len() as u32);
        Ok(())
    }

    /// Takes the bytes of these tokens away from grammars, and keeps them as texts. The ids are ascending, and less than
    /// [`TokenTableBuilder::len`]. A token without a text has nothing to take away.
    pub(super) fn make_special(&mut self, ids: &[TokenId]) {
        let mut ids = ids.iter().copied().peekable();
        let (mut kept, mut start) = (0, 0);
        for at in 0..self.ends.len() {
            let end = self.ends[at] as usize;
            if ids.next_if(|id| id.index() == at).is_none() {
                self.bytes.copy_within(start..end, kept);
                kept += end - start;
            } else if start < end {
                self.special_texts.push((TokenId(at as u32), self.bytes[start..end].into()));
            }
            self.ends[at] = kept as u32;
            start = end;
        }
        self.bytes.truncate(kept);
    }

    /// The table with these tokens: a new one, or the one that exists.
    pub(super) fn finish(self) -> Arc<TokenTable> {
        let mut offsets = Vec::with_capacity(self.ends.len() + 1);
        offsets.push(0);
        offsets.extend(self.ends);
        let lengths = || offsets.windows(2).map(|range| range[1] - range[0]);
        let empty_ids =
            lengths().zip(0..).filter(|&(length, _)| length == 0).map(|(_, id)| TokenId(id)).collect();
        let token = |range: &[u32]| range[0] as usize..range[1] as usize;
        let reach = Arc::new(Reach::of(offsets.windows(2).map(|range| &self.bytes[token(range)])));
        let fingerprint = fingerprint_of(&offsets, &self.bytes, &self.special_texts);
        let (bytes, offsets) = (self.bytes.into_boxed_slice(), offsets.into_boxed_slice());
        let special_texts = self.special_texts.into_boxed_slice();
        let special = Special::new(special_texts.iter().map(|(id, text)| (&**text, id.0)));
        TokenTable {
            bytes,
            offsets,
            empty_ids,
            special_texts,
            special,
            reach,
            fingerprint,
            index: OnceLock::new(),
        }
        .shared()
    }
}

fn fingerprint_of(offsets: &[u32], bytes: &[u8], special_texts: &[SpecialText]) -> Fingerprint {
    let mut hasher = SipHasher13::new();
    for offset in offsets {
        hasher.write(&offset.to_le_bytes());
    }
    hasher.write(bytes);
    for (id, text) in special_texts {
        hasher.write(&id.0.to_le_bytes());
        hasher.write(&(text.len() as u32).to_le_bytes());
        hasher.write(text);
    }
    Fingerprint(hasher.finish128().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(tokens: &[&[u8]]) -> Arc<TokenTable> {
        let mut builder = TokenTableBuilder::default();
        for token in tokens {
            builder.push(token).unwrap();
        }
        builder.finish()
    }

    #[test]
    fn holds_the_bytes_by_id() {
        let table = table(&[b"a", b"", b"\xFF\xFE", b"abc"]);
        assert_eq!(table.len(), 4);
        assert_eq!(table.token_bytes(TokenId(2)), b"\xFF\xFE");
        assert_eq!(table.token_bytes(TokenId(1)), b"");
        assert_eq!(table.token_bytes(TokenId(4)), b"");
        assert_eq!(table.token_bytes(TokenId(u32::MAX)), b"");
        assert_eq!(table.empty_ids(), [TokenId(1)]);
        assert_eq!(table.max_token_bytes(), 3);
        let all: Vec<_> = table.iter().map(|(id, bytes)| (id.0, bytes.to_vec())).collect();
        assert_eq!(all[3], (3, b"abc".to_vec()));
        assert_eq!(all.len(), 4);
    }

    #[test]
    fn special_tokens_have_a_text_and_no_bytes() {
        let special = |ids: &[u32]| {
            let mut builder = TokenTableBuilder::default();
            for token in [&b"a"[..], b"<|x|>", b"", b"bc", b"<|y|>"] {
                builder.push(token).unwrap();
            }
            builder.make_special(&ids.iter().copied().map(TokenId).collect::<Vec<_>>());
            builder.finish()
        };
        let found = special(&[1, 2, 4]);
        let bytes: Vec<_> = found.iter().map(|(_, bytes)| bytes).collect();
        assert_eq!(bytes, [&b"a"[..], b"", b"", b"bc", b""]);
        let texts: Vec<_> = found.texts().map(|(_, text)| text).collect();
        assert_eq!(texts, [&b"a"[..], b"<|x|>", b"", b"bc", b"<|y|>"]);
        assert_eq!(found.empty_ids(), [1, 2, 4].map(TokenId));
        assert_eq!(found.special_texts().map(|(id, _)| id.0).collect::<Vec<_>>(), [1, 4]);
        assert_eq!(found.max_token_bytes(), 2);
        assert!(Arc::ptr_eq(&found, &special(&[1, 4])));
        for other in [special(&[]), special(&[1]), special(&[4])] {
            assert_ne!(found.fingerprint(), other.fingerprint());
            assert!(!Arc::ptr_eq(&found, &other));
        }
    }

    #[test]
    fn equal_contents_are_one_table() {
        let first = table(&[b"shared", b"table"]);
        let second = table(&[b"shared", b"table"]);
        assert!(Arc::ptr_eq(&first, &second));
        for other in
            [table(&[b"sharedtable", b""]), table(&[b"sharedt", b"able"]), table(&[b"shared", b"table", b""])]
        {
            assert!(!Arc::ptr_eq(&first, &other));
            assert_ne!(first.fingerprint(), other.fingerprint());
        }
    }

    #[test]
    fn a_table_goes_with_its_last_user() {
        let first = table(&[b"short", b"lived"]);
        let weak = Arc::downgrade(&first);
        drop(first);
        assert!(weak.upgrade().is_none());
        assert_eq!(table(&[b"short", b"lived"]).token_bytes(TokenId(1)), b"lived");
    }

    #[test]
    fn the_fingerprint_is_the_same_everywhere() {
        assert_eq!(table(&[b"a", b"b"]).fingerprint().to_string(), "6c9273822d83b3586339ebc68163076e");
    }

    #[test]
    fn threads_get_one_table() {
        let build = || table(&[b"many", b"threads"]);
        let tables: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(build)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(tables.iter().all(|table| Arc::ptr_eq(table, &tables[0])));
    }
}
