//! The vocabulary: which bytes every token id stands for, and which ids end a text.
//!
//! Masks are about bytes, tokenizers are about names. This module reads vocabularies from lists, from
//! `tokenizer.json` and from `.tiktoken` files, undoes the spelling of the names, and ends with a [`Vocab`]: immutable,
//! shared by reference, with one bit of a mask for each id.
//!
//! Three things that are easily confused:
//!
//! - the *vocabulary's size* is the number of logits of the model. It can be larger than the number of tokens (padding)
//!   and ids can be missing in between (holes); such ids have no bytes.
//! - *special* ids are those without bytes: no bytes can lead to them. What a tokenizer marks as special
//!   (`<|im_start|>`) is a control token and no text, although it has one by which a grammar can name it. Added tokens that
//!   the tokenizer does not mark are text like any other.
//! - *stop* tokens end the output. They are only listed here; what they mean is the matcher's matter.
//!
//! Reading order:
//!
//! 1. [`kind`]: the spellings of bytes in names.
//! 2. [`table`]: the bytes of all tokens, shared between equal vocabularies.
//! 3. this file: [`Vocab`].
//! 4. [`detect`]: what spelling a vocabulary has.
//! 5. [`tokenizer_json`], [`tiktoken`]: files. [`stop_tokens`]: what ends a text, where nobody said so.
//! 6. [`saved`]: a vocabulary as JSON and back.

pub mod detect;
pub mod error;
pub mod kind;
pub mod saved;
pub mod stop_tokens;
pub mod table;
pub mod tiktoken;
pub mod tokenizer_json;

mod file;
mod index;
pub(crate) mod plain_rows;
pub(crate) mod reach;
pub(crate) mod shapes;
pub(crate) mod trie;
mod warm;

use std::hash::{Hash, Hasher};
use std::sync::Arc;

pub use error::{VocabError, VocabErrorKind};
pub(crate) use index::TokenIndex;
pub use kind::VocabKind;
pub use table::{Fingerprint, TokenTable};
pub(crate) use warm::samples;

use table::TokenTableBuilder;

/// The most ids that a vocabulary can have.
pub const MAX_TOKENS: usize = 1 << 22;
/// The most bytes that a token can have.
pub const MAX_TOKEN_BYTES: usize = 1 << 16;
/// The most bytes that all tokens can have together.
pub const MAX_TABLE_BYTES: usize = 1 << 30;

/// The number of a token: its index in logits and masks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TokenId(pub u32);

impl TokenId {
    /// The same as an index into tables.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What goes with the tokens of a vocabulary.
#[derive(Clone, Debug, Default)]
pub struct VocabOptions {
    /// How the names are spelled.
    pub kind: VocabKind,
    /// The number of logits; the number of tokens where it is not given.
    pub vocab_size: Option<usize>,
    /// The tokens that end a text; where not given, those with one of the texts in [`stop_tokens::STOP_TOKEN_TEXTS`].
    pub stop_token_ids: Option<Vec<TokenId>>,
    /// The tokens that are no text, in any order; only a grammar that names them can have them.
    pub special_token_ids: Vec<TokenId>,
    /// Whether the tokenizer puts a space before a text.
    pub add_prefix_space: bool,
}

/// A vocabulary.
///
/// ```
/// use tokenstile_engine::vocab::{TokenId, Vocab, VocabKind, VocabOptions};
/// let options = VocabOptions { kind: VocabKind::ByteLevel, vocab_size: Some(4), ..VocabOptions::default() };
/// let vocab = Vocab::from_encoded(["Ġa", "Ċ", "<|endoftext|>"], options)?;
/// assert_eq!(vocab.token_bytes(TokenId(0)), b" a");
/// assert_eq!(vocab.stop_token_ids(), [TokenId(2)]);
/// assert_eq!(vocab.special_token_ids(), [TokenId(3)]);
/// # Ok::<(), tokenstile_engine::vocab::VocabError>(())
/// ```
#[derive(Debug)]
pub struct Vocab {
    table: Arc<TokenTable>,
    stop_token_ids: Box<[TokenId]>,
    kind: VocabKind,
    add_prefix_space: bool,
}

impl Vocab {
    /// A vocabulary of tokens that are given as bytes, in the order of ids. `options.kind` is only recorded.
    pub fn new<Token: AsRef<[u8]>>(
        tokens: impl IntoIterator<Item = Token>,
        options: VocabOptions,
    ) -> Result<Arc<Self>, VocabError> {
        let mut builder = TokenTableBuilder::default();
        for token in tokens {
            builder.push(token.as_ref())?;
        }
        Self::from_builder(builder, options)
    }

    /// A vocabulary of tokens whose names are spelled as `options.kind` says, in the order of ids.
    pub fn from_encoded<Name: AsRef<[u8]>>(
        names: impl IntoIterator<Item = Name>,
        options: VocabOptions,
    ) -> Result<Arc<Self>, VocabError> {
        Self::from_encoded_and_added(names, |_| false, options)
    }

    /// The same, where `is_added` says which ids are added tokens: see [`VocabKind::decode_added`].
    pub fn from_encoded_and_added<Name: AsRef<[u8]>>(
        names: impl IntoIterator<Item = Name>,
        is_added: impl Fn(TokenId) -> bool,
        options: VocabOptions,
    ) -> Result<Arc<Self>, VocabError> {
        let mut builder = TokenTableBuilder::default();
        for name in names {
            let (id, name) = (TokenId(builder.len() as u32), name.as_ref());
            let kind = options.kind;
            builder.push(&if is_added(id) { kind.decode_added(name) } else { kind.decode(name) })?;
        }
        Self::from_builder(builder, options)
    }

    fn from_builder(mut builder: TokenTableBuilder, options: VocabOptions) -> Result<Arc<Self>, VocabError> {
        builder.pad(options.vocab_size.unwrap_or(builder.len()))?;
        let mut special = options.special_token_ids;
        special.sort_unstable();
        special.dedup();
        if let Some(last) = special.last().filter(|last| last.index() >= builder.len()) {
            return Err(VocabError::SpecialTokenOutOfRange { id: last.0, vocab_size: builder.len() });
        }
        builder.make_special(&special);
        let table = builder.finish();
        table.prepare();
        warm::warm_up(&table);
        let stop_token_ids = match options.stop_token_ids {
            Some(ids) => check_stop_tokens(ids, &table)?,
            None => stop_tokens::find_by_text(&table),
        };
        Ok(Arc::new(Vocab {
            table,
            stop_token_ids: stop_token_ids.into_boxed_slice(),
            kind: options.kind,
            add_prefix_space: options.add_prefix_space,
        }))
    }

    /// The bytes of all tokens, shared with every equal vocabulary.
    pub fn table(&self) -> &Arc<TokenTable> {
        &self.table
    }

    /// The number of logits: ids without a token included.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether there are no ids.
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// The bytes of a token; none for a special id and for one outside of the vocabulary.
    pub fn token_bytes(&self, id: TokenId) -> &[u8] {
        self.table.token_bytes(id)
    }

    /// The text of a token: see [`TokenTable::token_text`].
    pub fn token_text(&self, id: TokenId) -> &[u8] {
        self.table.token_text(id)
    }

    /// The ids that end a text, in the order given, without repetitions.
    pub fn stop_token_ids(&self) -> &[TokenId] {
        &self.stop_token_ids
    }

    /// The ids without bytes, ascending: special tokens, padding and holes.
    pub fn special_token_ids(&self) -> &[TokenId] {
        self.table.empty_ids()
    }

    /// How the names were spelled.
    pub fn kind(&self) -> VocabKind {
        self.kind
    }

    /// Whether the tokenizer puts a space before a text.
    pub fn add_prefix_space(&self) -> bool {
        self.add_prefix_space
    }

    /// The length of the longest text of a token.
    pub fn max_token_bytes(&self) -> usize {
        let special = self.table.special_texts().map(|(_, text)| text.len());
        special.fold(self.table.max_token_bytes(), usize::max)
    }

    /// The hash of the tokens' bytes and of which are special; stop tokens and spelling have no part in it.
    pub fn fingerprint(&self) -> Fingerprint {
        self.table.fingerprint()
    }
}

impl PartialEq for Vocab {
    fn eq(&self, other: &Self) -> bool {
        // Live tables with equal contents are one table.
        Arc::ptr_eq(&self.table, &other.table)
            && self.stop_token_ids == other.stop_token_ids
            && self.kind == other.kind
            && self.add_prefix_space == other.add_prefix_space
    }
}

impl Eq for Vocab {}

impl Hash for Vocab {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.fingerprint(), &self.stop_token_ids, self.kind, self.add_prefix_space).hash(state);
    }
}

fn check_stop_tokens(ids: Vec<TokenId>, table: &TokenTable) -> Result<Vec<TokenId>, VocabError> {
    let mut checked: Vec<TokenId> = Vec::new();
    let mut seen = hashbrown::HashSet::new();
    for id in ids {
        if id.index() >= table.len() {
            return Err(VocabError::StopTokenOutOfRange { id: id.0, vocab_size: table.len() });
        }
        if seen.insert(id) {
            checked.push(id);
        }
    }
    Ok(checked)
}

#[cfg(test)]
mod tests;
