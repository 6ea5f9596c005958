//! Rows of bits, one for each token.
//!
//! A row of a large vocabulary takes 16 KiB, so a grammar keeps each only once: a language with ten levels of expressions
//! has thousands of configurations, and some two hundred different masks. Kept once, the rows that are in use stay near
//! the processor.

use std::hash::BuildHasher;
use std::sync::Arc;

use hashbrown::DefaultHashBuilder;

use crate::interner::Interner;
use crate::seldom::Seldom;

/// A row of bits, and how many of them are set.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    words: Box<[u32]>,
    count: u32,
}

impl Row {
    pub(crate) fn new(words: Vec<u32>) -> Self {
        let count = words.iter().map(|word| word.count_ones()).sum();
        Row { words: words.into(), count }
    }

    /// The words of the row.
    pub(crate) fn words(&self) -> &[u32] {
        &self.words
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        size_of::<Self>() + size_of_val(&*self.words)
    }

    /// How many bits are set.
    pub(crate) fn count(&self) -> usize {
        self.count as usize
    }

    /// Whether the bit of `token` is set.
    #[inline]
    pub(crate) fn has(&self, token: u32) -> bool {
        has_bit(&self.words, token)
    }
}

/// Whether the bit of `token` is set.
#[inline]
pub(crate) fn has_bit(row: &[u32], token: u32) -> bool {
    row[token as usize / 32] >> (token % 32) & 1 == 1
}

/// Sets the bit of `token`.
#[inline]
pub(crate) fn set_bit(row: &mut [u32], token: u32) {
    row[token as usize / 32] |= 1 << (token % 32);
}

/// Clears the bit of `token`.
#[inline]
pub(crate) fn clear_bit(row: &mut [u32], token: u32) {
    row[token as usize / 32] &= !(1 << (token % 32));
}

/// Rows, each kept once.
#[derive(Default)]
pub(crate) struct Rows {
    known: Seldom<Interner<Arc<Row>>>,
    /// Quicker for long keys than what the interner uses.
    hasher: DefaultHashBuilder,
}

impl Rows {
    /// The row with these words.
    pub(super) fn intern(&self, words: &[u32]) -> Arc<Row> {
        let same = |row: &Arc<Row>| row.words() == words;
        let make = || Arc::new(Row::new(words.to_vec()));
        let (number, _) = self.known.intern(&self.hasher.hash_one(words), same, make);
        Arc::clone(self.known.get(number))
    }

    /// The memory of all rows.
    pub(crate) fn memory_bytes(&self) -> usize {
        let known = self.known.made().filter(|known| known.len() > 0);
        known.map_or(0, |known| known.len() * known.get(0).memory_bytes())
    }
}
