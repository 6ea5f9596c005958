//! What is derived from the tokens' bytes alone, made when first needed and shared by all grammars of a vocabulary.

use std::sync::{Arc, OnceLock};

use super::plain_rows::PlainRows;
use super::shapes::Shapes;
use super::trie::Trie;
use super::{TokenId, TokenTable};
use crate::config::Crossing;
use crate::generation::common_terms;
use crate::mask::{Doubtful, SharedKeyParts, SharedLost, SharedParts, SharedTables};
use crate::terminal::{CommonTerms, TableSlot, TerminalId};

/// The trie of all tokens, their shapes, and the token tables of terminals.
pub(crate) struct TokenIndex {
    trie: Arc<Trie>,
    shapes: Shapes,
    plain_rows: PlainRows,
    quoted: OnceLock<Box<[u32]>>,
    /// The token tables that grammars share.
    pub(crate) tables: SharedTables,
    /// The parts of masks that grammars share.
    pub(crate) parts: SharedParts,
    /// What keys lose for what they exclude.
    pub(crate) lost: SharedLost,
    pub(crate) key_parts: SharedKeyParts,
    /// Those of the terms that all grammars have in common, by their numbers.
    common_tables: OnceLock<Box<[TableSlot]>>,
    crossing: OnceLock<Arc<Crossing>>,
    bytes: OnceLock<Arc<Trie>>,
    /// The tokens that may hold two keys.
    pub(crate) doubtful: Doubtful,
}

impl TokenIndex {
    pub(super) fn new(table: &TokenTable) -> Self {
        let mut sorted: Vec<u32> = (0..table.len() as u32).collect();
        let bytes = |token: &u32| table.token_bytes(TokenId(*token));
        sorted.retain(|token| !bytes(token).is_empty());
        sorted.sort_by(|a, b| bytes(a).cmp(bytes(b)));
        let trie = Trie::from_sorted(sorted.iter().map(|token| (bytes(token), *token)));
        trie.heights();
        let shapes = Shapes::new(&trie);
        TokenIndex {
            plain_rows: PlainRows::new(table, &shapes),
            shapes,
            trie: Arc::new(trie),
            quoted: OnceLock::new(),
            tables: SharedTables::default(),
            parts: SharedParts::default(),
            lost: SharedLost::default(),
            key_parts: SharedKeyParts::default(),
            common_tables: OnceLock::new(),
            crossing: OnceLock::new(),
            bytes: OnceLock::new(),
            doubtful: Doubtful::default(),
        }
    }

    /// The trie of all tokens that have bytes.
    pub(crate) fn trie(&self) -> &Arc<Trie> {
        &self.trie
    }

    /// The tokens with two quotes or more.
    pub(crate) fn quoted(&self, table: &TokenTable) -> &[u32] {
        self.quoted.get_or_init(|| {
            let is_quote = |byte: &&u8| **byte == b'"';
            let has_two =
                |token: &u32| table.token_bytes(TokenId(*token)).iter().filter(is_quote).nth(1).is_some();
            (0..table.len() as u32).filter(has_two).collect()
        })
    }

    /// Where the table of a term is kept that all grammars have in common; `None` of another.
    pub(crate) fn common_table(&self, state: TerminalId) -> Option<&TableSlot> {
        let slots = || common_terms().map_or(0, CommonTerms::len);
        let make = || (0..slots()).map(|_| OnceLock::new()).collect();
        self.common_tables.get_or_init(make).get(state.0 as usize)
    }

    /// The tokens that reach from one item of an array into the next.
    pub(crate) fn crossing(&self, table: &TokenTable) -> &Crossing {
        self.crossing.get_or_init(|| Crossing::new(table))
    }

    /// The bytes that stand in any token, each as a token of its own.
    pub(crate) fn bytes(&self) -> &Arc<Trie> {
        self.bytes.get_or_init(|| {
            let mut stands = [false; 256];
            let nodes = 1..self.trie.end(Trie::ROOT);
            nodes.for_each(|node| stands[usize::from(self.trie.byte(node))] = true);
            let bytes: Vec<[u8; 1]> =
                (0..=u8::MAX).filter(|&byte| stands[usize::from(byte)]).map(|byte| [byte]).collect();
            Arc::new(Trie::from_sorted(bytes.iter().map(|byte| (byte.as_slice(), u32::from(byte[0])))))
        })
    }

    /// The shapes of all tokens that have bytes.
    pub(crate) fn shapes(&self) -> &Shapes {
        &self.shapes
    }

    /// The rows of tokens that are made of some kinds of characters.
    pub(crate) fn plain_rows(&self) -> &PlainRows {
        &self.plain_rows
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.trie.memory_bytes()
            + self.shapes.memory_bytes()
            + self.plain_rows.memory_bytes()
            + self.tables.memory_bytes()
            + self.parts.memory_bytes()
            + self.lost.memory_bytes()
            + self.key_parts.memory_bytes()
    }
}
