//! Sets of tokens as they are kept.
//!
//! A *part* is what one table or one walk found: a row of bits that many parts have in common, less a few tokens, and a few
//! more. A part that many masks will have is one row. A mask is its parts with rows, shared with whatever else is made of
//! them, and the tokens of all others side by side. So a mask that is new costs next to nothing. Many are asked for once;
//! those that are asked for often, or that are much work to put together, get a row of bits, which is quicker to copy. Masks
//! of different configurations are often the same, so equal ones share a row ([`Rows`]).

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};

use smallvec::SmallVec;

use super::rows::{Row, Rows, clear_bit, has_bit, set_bit};

/// Tokens that are a part of masks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Part {
    base: Option<Arc<Row>>,
    /// Tokens of the base that are not in the part.
    lost: Box<[u32]>,
    /// Tokens in any order, some perhaps in the base, or more than once.
    extra: Box<[u32]>,
}

/// How many tokens of a base a part may lose, and how many more than its base it keeps as numbers: with more of them it
/// has a row of its own, which then takes less memory, and less time to fill.
fn many(words: usize) -> usize {
    words / 8 + 32
}

/// The same where there is no base.
fn most(words: usize) -> usize {
    words / 2 + 32
}

impl Part {
    /// A part of a row of bits and single tokens; `words` is the width of a row.
    pub(crate) fn new(words: usize, base: Option<&Arc<Row>>, extra: Vec<u32>) -> Self {
        let most = if base.is_some() { many(words) } else { most(words) };
        let part = Part { base: base.cloned(), lost: Box::default(), extra: extra.into() };
        if part.extra.len() > most { part.of_one_row(words) } else { part }
    }

    /// The same for a part that many masks will have: one row, unless it is as quick to fill without.
    pub(super) fn to_share<'p>(
        words: usize,
        base: Option<&Arc<Row>>,
        extra: impl Iterator<Item = &'p [u32]> + Clone,
    ) -> Self {
        let count: usize = extra.clone().map(<[u32]>::len).sum();
        let extra = extra.flatten().copied();
        if count <= FEW_EXTRA {
            return Part { base: base.cloned(), lost: Box::default(), extra: extra.collect() };
        }
        let mut row = base.map_or_else(|| vec![0; words], |base| base.words().to_vec());
        extra.for_each(|token| set_bit(&mut row, token));
        Part { base: Some(Arc::new(Row::new(row))), lost: Box::default(), extra: Box::default() }
    }

    /// The row that it is, if it is one and nothing else.
    pub(super) fn as_row(&self) -> Option<&Arc<Row>> {
        self.base.as_ref().filter(|_| self.lost.is_empty() && self.extra.is_empty())
    }

    /// The same tokens as one row.
    pub(super) fn in_one_row(&self, words: usize) -> Arc<Row> {
        let mut row = vec![0; words];
        self.add_to(&mut row, true);
        Arc::new(Row::new(row))
    }

    fn of_one_row(&self, words: usize) -> Self {
        Part { base: Some(self.in_one_row(words)), lost: Box::default(), extra: Box::default() }
    }

    /// The part without `tokens`, which are sorted.
    pub(crate) fn without(&self, tokens: &[u32]) -> Self {
        let is_lost = |token: &u32| tokens.binary_search(token).is_ok();
        let extra = self.extra.iter().copied().filter(|token| !is_lost(token)).collect();
        let Some(base) = &self.base else { return Part { extra, ..Part::default() } };
        let before = self.lost.iter().filter(|token| !is_lost(token));
        let lost = before.chain(tokens.iter().filter(|&&token| base.has(token))).copied().collect();
        let words = base.words().len();
        let part = Part { base: Some(Arc::clone(base)), lost, extra };
        if part.lost.len() > many(words) { part.of_one_row(words) } else { part }
    }

    /// Whether it has any of `tokens`, which are sorted.
    pub(super) fn has_any(&self, tokens: &[u32]) -> bool {
        let in_base =
            |base: &Arc<Row>| tokens.iter().any(|&token| base.has(token) && !self.lost.contains(&token));
        self.base.as_ref().is_some_and(in_base)
            || self.extra.iter().any(|token| tokens.binary_search(token).is_ok())
    }

    /// Whether `token` is in it.
    pub(crate) fn contains(&self, token: u32) -> bool {
        let in_base = self.base.as_ref().is_some_and(|base| base.has(token)) && !self.lost.contains(&token);
        in_base || self.extra.contains(&token)
    }

    /// All of its tokens, some perhaps more than once.
    pub(super) fn tokens(&self) -> impl Iterator<Item = u32> {
        let words = self.base.iter().flat_map(|base| base.words().iter().copied().zip(0..));
        let in_base = words.flat_map(|(word, at)| {
            (0..32).filter(move |bit| word >> bit & 1 == 1).map(move |bit| at * 32 + bit)
        });
        in_base.filter(|token| !self.lost.contains(token)).chain(self.extra.iter().copied())
    }

    /// No fewer tokens than are in it.
    fn at_most(&self) -> usize {
        self.base.as_ref().map_or(0, |base| base.count()) + self.extra.len()
    }

    fn is_empty(&self) -> bool {
        self.base.is_none() && self.extra.is_empty()
    }

    /// Adds it to `row`, or writes it over what was there if it `is_first`.
    #[inline]
    fn add_to(&self, row: &mut [u32], is_first: bool) {
        match &self.base {
            Some(base) if is_first => {
                row.copy_from_slice(base.words());
                self.lost.iter().for_each(|&token| clear_bit(row, token));
            }
            Some(base) => {
                let is_lost = |&token: &u32| !has_bit(row, token);
                let lost: SmallVec<[u32; 32]> = self.lost.iter().copied().filter(is_lost).collect();
                row.iter_mut().zip(base.words()).for_each(|(word, other)| *word |= other);
                lost.iter().for_each(|&token| clear_bit(row, token));
            }
            None if is_first => row.fill(0),
            None => {}
        }
        self.extra.iter().for_each(|&token| set_bit(row, token));
    }

    /// The memory that is this part's own.
    pub(crate) fn memory_bytes(&self) -> usize {
        let is_own = |base: &&Arc<Row>| Arc::strong_count(base) == 1;
        let base = self.base.as_ref().filter(is_own).map_or(0, |base| base.memory_bytes());
        size_of::<Self>() + base + (self.lost.len() + self.extra.len()) * 4
    }
}

/// A set of tokens, put together from parts.
pub(crate) type Parts = SmallVec<[Arc<Part>; 4]>;

/// Puts together some parts, each once, and single tokens, where `words` is the width of a row. A part with a base comes
/// first.
pub(crate) fn gather(words: usize, parts: &[&Arc<Part>], extra: Vec<u32>) -> Parts {
    let mut all: Parts = SmallVec::new();
    for &part in parts.iter().filter(|part| !part.is_empty()) {
        if !all.iter().any(|known| Arc::ptr_eq(known, part)) {
            all.push(Arc::clone(part));
        }
    }
    if !extra.is_empty() {
        all.push(Arc::new(Part::new(words, None, extra)));
    }
    if let Some(at) = all.iter().position(|part| part.base.is_some()) {
        all.swap(0, at);
    }
    all
}

/// The mask of a configuration.
#[derive(Debug)]
pub(crate) struct Mask {
    /// The parts that have bases.
    based: SmallVec<[Arc<Part>; 2]>,
    /// The tokens of all other parts, some perhaps more than once.
    extra: Box<[u32]>,
    /// How often it was put together.
    fills: AtomicU8,
    row: OnceLock<Arc<Row>>,
}

/// A mask gets a row once putting it together was as much work as copying more rows than this: to make a row, with its hash and
/// its fresh memory, takes as long as to copy over a dozen,
const WORTH_A_ROW: usize = 32;
/// unless it has a single base and at most so many tokens beyond it: to set these costs no more than to copy a row.
const FEW_EXTRA: usize = 96;
/// To copy a row of so many words takes as long as to set a bit.
const WORDS_A_BIT: usize = 8;

impl Mask {
    /// The mask of some parts, each taken once, and single tokens, where `words` is the width of a row.
    pub(crate) fn new(words: usize, parts: &[&Arc<Part>], mut extra: Vec<u32>) -> Self {
        let mut based: SmallVec<[Arc<Part>; 2]> = SmallVec::new();
        for (at, &part) in parts.iter().enumerate() {
            match part.base {
                _ if parts[..at].iter().any(|known| Arc::ptr_eq(known, part)) => {}
                Some(_) => based.push(Arc::clone(part)),
                None => extra.extend_from_slice(&part.extra),
            }
        }
        if extra.len() > most(words) {
            based.push(Arc::new(Part::new(words, None, std::mem::take(&mut extra))));
        }
        Mask { based, extra: extra.into(), fills: AtomicU8::new(0), row: OnceLock::new() }
    }

    /// The mask without `tokens`, which are sorted.
    pub(crate) fn without(&self, tokens: &[u32]) -> Self {
        let based = self.based.iter().map(|part| Arc::new(part.without(tokens))).collect();
        let is_left = |token: &u32| tokens.binary_search(token).is_err();
        let extra = self.extra.iter().copied().filter(is_left).collect();
        Mask { based, extra, fills: AtomicU8::new(0), row: OnceLock::new() }
    }

    /// Writes the mask over `row`.
    #[inline]
    pub(crate) fn fill(&self, row: &mut [u32], rows: &Rows) {
        if let Some(known) = self.row.get() {
            row.copy_from_slice(known.words());
            return;
        }
        match self.based.split_first() {
            None => row.fill(0),
            Some((first, others)) => {
                first.add_to(row, true);
                others.iter().for_each(|part| part.add_to(row, false));
            }
        }
        self.extra.iter().for_each(|&token| set_bit(row, token));
        if self.is_worth_a_row(row.len()) {
            self.row.get_or_init(|| rows.intern(row));
        }
    }

    /// Whether it should get a row, now that it was put together once more.
    fn is_worth_a_row(&self, words: usize) -> bool {
        let in_parts: usize = self.based.iter().map(|part| part.extra.len() + part.lost.len()).sum();
        let single = self.extra.len() + in_parts;
        if self.based.len() < 2 && single <= FEW_EXTRA {
            return false;
        }
        let fills = self.fills.load(Ordering::Relaxed).saturating_add(1);
        self.fills.store(fills, Ordering::Relaxed);
        (self.based.len() * words + single * WORDS_A_BIT) * usize::from(fills) > WORTH_A_ROW * words
    }

    /// No fewer tokens than are in the mask.
    pub(crate) fn at_most(&self) -> usize {
        match self.row.get() {
            Some(row) => row.count(),
            None => self.based.iter().map(|part| part.at_most()).sum::<usize>() + self.extra.len(),
        }
    }

    /// Whether `token` is in the mask.
    pub(crate) fn contains(&self, token: u32) -> bool {
        match self.row.get() {
            Some(row) => row.has(token),
            None => self.extra.contains(&token) || self.based.iter().any(|part| part.contains(token)),
        }
    }

    /// Whether all of its tokens are among `tokens`, which are few.
    pub(crate) fn is_within(&self, tokens: &[u32]) -> bool {
        let are_within = |part: &Arc<Part>| {
            part.base.as_ref().is_none_or(|base| base.count() <= tokens.len() + part.lost.len())
                && part.tokens().all(|token| tokens.contains(&token))
        };
        self.based.iter().all(are_within) && self.extra.iter().all(|token| tokens.contains(token))
    }

    /// The memory that is this mask's own.
    pub(crate) fn memory_bytes(&self) -> usize {
        let is_own = |part: &&Arc<Part>| Arc::strong_count(part) == 1;
        let parts = self.based.iter().filter(is_own).map(|part| part.memory_bytes()).sum::<usize>();
        size_of::<Self>() + parts + size_of_val(&*self.extra)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: usize = 400;

    fn row(tokens: impl Iterator<Item = u32>) -> Arc<Row> {
        let mut words = vec![0; WORDS];
        tokens.for_each(|token| set_bit(&mut words, token));
        Arc::new(Row::new(words))
    }

    fn filled(mask: &Mask) -> Vec<u32> {
        let mut words = vec![u32::MAX; WORDS];
        mask.fill(&mut words, &Rows::default());
        (0..32 * WORDS as u32).filter(|&token| has_bit(&words, token)).collect()
    }

    #[test]
    fn what_one_part_loses_another_may_have() {
        let even = Part::new(WORDS, Some(&row((0..600).step_by(2))), vec![1, 3]).without(&[1, 4, 10, 12]);
        let threes = Part::new(WORDS, Some(&row((0..600).step_by(3))), vec![]).without(&[6, 12]);
        let mask = Mask::new(WORDS, &[&Arc::new(even), &Arc::new(threes)], vec![700, 10]);
        let is_even = |token: u32| token.is_multiple_of(2) && ![4, 10, 12].contains(&token);
        let is_three = |token: u32| token.is_multiple_of(3) && ![6, 12].contains(&token);
        let expected: Vec<u32> =
            (0..600).filter(|&token| is_even(token) || is_three(token) || token == 10).chain([700]).collect();
        assert_eq!(filled(&mask), expected);
        for token in 0..32 * WORDS as u32 {
            assert_eq!(mask.contains(token), expected.contains(&token), "{token}");
        }
        assert!(mask.at_most() >= expected.len());
    }

    #[test]
    fn a_mask_that_is_filled_often_gets_a_row_and_stays_the_same() {
        let extra: Vec<u32> = (0..1_400).step_by(14).collect();
        let mask = Mask::new(WORDS, &[], extra.clone());
        let (mut row, rows) = (vec![0; WORDS], Rows::default());
        let mut has_row_after_fill = || {
            mask.fill(&mut row, &rows);
            rows.memory_bytes() > 0
        };
        let without = (0..100).take_while(|_| !has_row_after_fill()).count();
        assert_eq!(without, WORTH_A_ROW * WORDS / (extra.len() * WORDS_A_BIT));
        assert_eq!(filled(&mask), extra);
        assert_eq!(mask.at_most(), extra.len());
        assert!(extra.iter().all(|&token| mask.contains(token)) && !mask.contains(1));
    }

    #[test]
    fn equal_masks_share_a_row_whatever_they_are_made_of() {
        let tokens: Vec<u32> = (0..2_000).step_by(10).collect();
        let base = Part::new(WORDS, Some(&row(tokens.iter().copied())), vec![]);
        let masks = [
            Mask::new(WORDS, &[], tokens.clone()),
            Mask::new(WORDS, &[&Arc::new(base)], tokens[..150].to_vec()),
        ];
        let (mut row, rows) = (vec![0; WORDS], Rows::default());
        masks.iter().cycle().take(4 * WORTH_A_ROW).for_each(|mask| mask.fill(&mut row, &rows));
        let kept = masks.each_ref().map(|mask| mask.row.get());
        assert!(Arc::ptr_eq(kept[0].unwrap(), kept[1].unwrap()));
    }

    #[test]
    fn few_tokens_never_get_a_row() {
        let mask = Mask::new(WORDS, &[], vec![5, 6]);
        let (mut row, rows) = (vec![0; WORDS], Rows::default());
        (0..9).for_each(|_| mask.fill(&mut row, &rows));
        assert_eq!(rows.memory_bytes(), 0);
        assert!(mask.is_within(&[6, 7, 5]) && !mask.is_within(&[6, 7]));
    }
}
