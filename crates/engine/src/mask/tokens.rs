//! A mask as it is kept: a shared base, and the tokens beyond it.
//!
//! Most masks are either a handful of tokens, or the tokens that stay in a terminal, which many masks have in common,
//! and a few hundred more. So a mask costs its few hundred numbers, and a full row of bits only where it has to.

use std::sync::Arc;

use rustc_hash::FxHashSet;

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

    fn empty(words: usize) -> Self {
        Row { words: vec![0; words].into(), count: 0 }
    }

    /// The words of the row.
    pub(crate) fn words(&self) -> &[u32] {
        &self.words
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        size_of::<Self>() + size_of_val(&*self.words)
    }

    #[inline]
    fn has(&self, token: u32) -> bool {
        self.words[token as usize / 32] >> (token % 32) & 1 == 1
    }

    fn add(&mut self, tokens: &[u32]) {
        for &token in tokens {
            let (word, bit) = (&mut self.words[token as usize / 32], 1 << (token % 32));
            self.count += u32::from(*word & bit == 0);
            *word |= bit;
        }
    }

    fn remove(&mut self, tokens: &[u32]) {
        for &token in tokens {
            let (word, bit) = (&mut self.words[token as usize / 32], 1 << (token % 32));
            self.count -= u32::from(*word & bit != 0);
            *word &= !bit;
        }
    }
}

/// A set of tokens.
#[derive(Clone, Debug)]
pub(crate) struct Mask {
    base: Option<Arc<Row>>,
    /// Tokens that are not in the base: sorted, each once.
    extra: Box<[u32]>,
}

/// Tokens that are a part of masks: as much as any mask needs to know of them.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(super) base: Option<Arc<Row>>,
    /// Tokens in any order, some perhaps in the base, or more than once.
    pub(super) extra: Box<[u32]>,
}

/// Sets the bit of `token`.
#[inline]
pub(crate) fn set_bit(row: &mut [u32], token: u32) {
    row[token as usize / 32] |= 1 << (token % 32);
}

/// How many tokens a mask that is filled often keeps as numbers: setting more one by one would cost more than copying
/// a row of their own.
fn few(words: usize) -> usize {
    words / 32 + 32
}

/// How many tokens a part of masks keeps as numbers: more would take more memory than a row.
fn many(words: usize) -> usize {
    words / 2 + 32
}

/// One row of all the bits in `bases`.
fn join(bases: &[&Arc<Row>]) -> Option<Arc<Row>> {
    match bases {
        [] => None,
        [one] => Some(Arc::clone(one)),
        [first, rest @ ..] => {
            let mut row: Vec<u32> = first.words.to_vec();
            for other in rest {
                row.iter_mut().zip(&other.words).for_each(|(word, other)| *word |= other);
            }
            Some(Arc::new(Row::new(row)))
        }
    }
}

/// The row of a base, or an empty one, with more tokens.
fn joined_by(base: Option<&Arc<Row>>, words: usize, tokens: &[u32]) -> Arc<Row> {
    let mut row = base.map_or_else(|| Row::empty(words), |base| (**base).clone());
    row.add(tokens);
    Arc::new(row)
}

impl Part {
    /// Whether `token` is in it.
    #[cfg(test)]
    pub(crate) fn contains(&self, token: u32) -> bool {
        let in_base = |base: &Arc<Row>| base.words()[token as usize / 32] >> (token % 32) & 1 == 1;
        self.base.as_ref().is_some_and(in_base) || self.extra.contains(&token)
    }

    /// A part from the rows of bits in `bases`, and single tokens; `words` is the width of a row.
    pub(crate) fn new(words: usize, bases: &[&Arc<Row>], extra: Vec<u32>) -> Self {
        Self::with_most(words, bases, extra, many(words))
    }

    /// A part that many masks have as their base: it has few tokens of its own.
    pub(crate) fn new_base(words: usize, bases: &[&Arc<Row>], extra: Vec<u32>) -> Self {
        let most = if bases.is_empty() { many(words) } else { few(words) / 2 };
        Self::with_most(words, bases, extra, most)
    }

    fn with_most(words: usize, bases: &[&Arc<Row>], extra: Vec<u32>, most: usize) -> Self {
        let base = join(bases);
        if extra.len() > most {
            return Part { base: Some(joined_by(base.as_ref(), words, &extra)), extra: Box::default() };
        }
        Part { base, extra: extra.into() }
    }

    /// The part without `tokens`.
    pub(crate) fn without(&self, tokens: &[u32]) -> Self {
        let (base, extra) = without(self.base.as_ref(), &self.extra, tokens);
        Part { base, extra }
    }

    /// The memory that is this part's own.
    pub(crate) fn memory_bytes(&self) -> usize {
        own_bytes(self.base.as_ref()) + self.extra.len() * 4
    }
}

fn without(base: Option<&Arc<Row>>, extra: &[u32], tokens: &[u32]) -> (Option<Arc<Row>>, Box<[u32]>) {
    let mut base = base.cloned();
    if let Some(row) = base.as_mut().filter(|row| tokens.iter().any(|&token| row.has(token))) {
        Arc::make_mut(row).remove(tokens);
    }
    let lost: FxHashSet<u32> = tokens.iter().copied().collect();
    (base, extra.iter().copied().filter(|token| !lost.contains(token)).collect())
}

fn own_bytes(base: Option<&Arc<Row>>) -> usize {
    base.filter(|base| Arc::strong_count(base) == 1).map_or(0, |base| base.memory_bytes())
}

impl Mask {
    /// A mask of `words` words from the rows of bits in `bases` and the single tokens in `extra`.
    pub(crate) fn new(words: usize, bases: &[&Arc<Row>], mut extra: Vec<u32>) -> Self {
        let base = join(bases);
        if let Some(base) = &base {
            extra.retain(|&token| !base.has(token));
        }
        if extra.len() > few(words) {
            return Mask { base: Some(joined_by(base.as_ref(), words, &extra)), extra: Box::default() };
        }
        extra.sort_unstable();
        extra.dedup();
        Mask { base, extra: extra.into() }
    }

    /// The mask without `tokens`.
    pub(crate) fn without(&self, tokens: &[u32]) -> Self {
        let (base, extra) = without(self.base.as_ref(), &self.extra, tokens);
        Mask { base, extra }
    }

    /// Writes the mask over `row`.
    #[inline]
    pub(crate) fn fill(&self, row: &mut [u32]) {
        match &self.base {
            Some(base) => row.copy_from_slice(&base.words),
            None => row.fill(0),
        }
        for &token in &self.extra {
            set_bit(row, token);
        }
    }

    /// How many tokens are in the mask.
    pub(crate) fn len(&self) -> usize {
        self.base.as_ref().map_or(0, |base| base.count as usize) + self.extra.len()
    }

    /// Whether `token` is in the mask.
    pub(crate) fn contains(&self, token: u32) -> bool {
        self.base.as_ref().is_some_and(|base| base.has(token)) || self.extra.binary_search(&token).is_ok()
    }

    /// The row of bits that other masks may share.
    pub(crate) fn base(&self) -> Option<&Arc<Row>> {
        self.base.as_ref()
    }

    /// The tokens beyond the base.
    pub(crate) fn extra(&self) -> &[u32] {
        &self.extra
    }

    /// The memory that is this mask's own.
    pub(crate) fn memory_bytes(&self) -> usize {
        size_of::<Self>() + self.extra.len() * 4 + own_bytes(self.base.as_ref())
    }
}
