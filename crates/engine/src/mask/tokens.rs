//! A mask as it is kept: a shared base, and the tokens beyond it.
//!
//! Most masks are either a handful of tokens, or the tokens that stay in a terminal, which many masks have in common,
//! and a few hundred more. So a mask costs its few hundred numbers, and a full row of bits only where it has to.

use std::sync::Arc;

use rustc_hash::FxHashSet;

/// A set of tokens.
#[derive(Clone, Debug)]
pub(crate) struct Mask {
    base: Option<Arc<[u32]>>,
    /// Tokens that are not in the base.
    extra: Box<[u32]>,
    count: u32,
}

/// Sets the bit of `token`.
#[inline]
pub(crate) fn set_bit(row: &mut [u32], token: u32) {
    row[token as usize / 32] |= 1 << (token % 32);
}

fn has_bit(row: &[u32], token: u32) -> bool {
    row[token as usize / 32] >> (token % 32) & 1 == 1
}

/// How many tokens a mask that is filled often keeps as numbers: setting more one by one would cost more than copying
/// a row of their own.
pub(super) fn few(words: usize) -> usize {
    words / 32 + 32
}

/// How many tokens a part of masks keeps as numbers: more would take more memory than a row.
pub(super) fn many(words: usize) -> usize {
    words / 2 + 32
}

impl Mask {
    /// A mask of `words` words from the rows of bits in `bases` and the single tokens in `extra`, of which at most
    /// `most_extra` are kept as numbers.
    pub(crate) fn new(words: usize, bases: &[&Arc<[u32]>], mut extra: Vec<u32>, most_extra: usize) -> Self {
        let mut base = match bases {
            [] => None,
            [one] => Some(Arc::clone(one)),
            [first, rest @ ..] => {
                let mut row: Vec<u32> = first.to_vec();
                for other in rest {
                    row.iter_mut().zip(other.iter()).for_each(|(word, other)| *word |= other);
                }
                Some(row.into())
            }
        };
        if extra.len() > most_extra {
            let mut row = base.map_or_else(|| vec![0; words], |base| base.to_vec());
            extra.iter().for_each(|&token| set_bit(&mut row, token));
            base = Some(row.into());
            extra.clear();
        }
        if let Some(base) = &base {
            extra.retain(|&token| !has_bit(base, token));
        }
        extra.sort_unstable();
        extra.dedup();
        let count = base.iter().flat_map(|base| base.iter()).map(|word| word.count_ones()).sum::<u32>();
        Mask { base, count: count + extra.len() as u32, extra: extra.into() }
    }

    /// The mask with `tokens` added, of which `most_extra` may be kept as numbers; `None` if they are too many for that.
    pub(crate) fn with(&self, tokens: &[u32], most_extra: usize) -> Option<Self> {
        if self.extra.len() + tokens.len() > most_extra {
            return None;
        }
        let mut extra: Vec<u32> = tokens.iter().copied().filter(|&token| !self.contains(token)).collect();
        extra.extend_from_slice(&self.extra);
        extra.sort_unstable();
        extra.dedup();
        let count = self.count + (extra.len() - self.extra.len()) as u32;
        Some(Mask { base: self.base.clone(), extra: extra.into(), count })
    }

    /// The mask without `tokens`.
    pub(crate) fn without(&self, tokens: &[u32]) -> Self {
        let mut base = self.base.clone();
        if let Some(row) = base.as_mut().filter(|row| tokens.iter().any(|&token| has_bit(row, token))) {
            let row = Arc::make_mut(row);
            tokens.iter().for_each(|&token| row[token as usize / 32] &= !(1 << (token % 32)));
        }
        let mut extra = self.extra.to_vec();
        if !extra.is_empty() {
            let lost: FxHashSet<u32> = tokens.iter().copied().collect();
            extra.retain(|token| !lost.contains(token));
        }
        let in_base = base.iter().flat_map(|base| base.iter()).map(|word| word.count_ones()).sum::<u32>();
        Mask { base, count: in_base + extra.len() as u32, extra: extra.into() }
    }

    /// Writes the mask over `row`.
    #[inline]
    pub(crate) fn fill(&self, row: &mut [u32]) {
        match &self.base {
            Some(base) => row.copy_from_slice(base),
            None => row.fill(0),
        }
        for &token in &self.extra {
            set_bit(row, token);
        }
    }

    /// How many tokens are in the mask.
    pub(crate) fn len(&self) -> usize {
        self.count as usize
    }

    /// Whether `token` is in the mask.
    pub(crate) fn contains(&self, token: u32) -> bool {
        self.base.as_ref().is_some_and(|base| has_bit(base, token))
            || self.extra.binary_search(&token).is_ok()
    }

    /// The row of bits that other masks may share.
    pub(crate) fn base(&self) -> Option<&Arc<[u32]>> {
        self.base.as_ref()
    }

    /// The tokens beyond the base.
    pub(crate) fn extra(&self) -> &[u32] {
        &self.extra
    }

    /// The memory that is this mask's own.
    pub(crate) fn memory_bytes(&self) -> usize {
        let base =
            self.base.as_ref().filter(|base| Arc::strong_count(base) == 1).map_or(0, |base| base.len() * 4);
        size_of::<Self>() + self.extra.len() * 4 + base
    }
}
