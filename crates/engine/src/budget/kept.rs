//! What narrowing a mask came to, for the limits that it holds for.
//!
//! A mask is narrowed again with each token that is spent, and mostly nothing has changed: the same configurations can be
//! afforded with 17 tokens as with 18. While a mask is narrowed the greatest number is noted that was needed by anything that
//! stays, and the least that was needed by anything that goes. For all limits from the one up to the other the same goes.
//! So what went is kept with these two, if it is little or nearly everything.

use crate::mask::{clear_bit, has_bit, set_bit};

/// More tokens than this are not kept in a list.
const MOST_LISTED: usize = 512;

/// Limits: from the first up to the second, without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limits {
    pub(super) from: u32,
    pub(super) to: u32,
}

impl Limits {
    /// All there are.
    pub(super) const ANY: Self = Limits { from: 0, to: u32::MAX };

    /// Those of them for which something stays that takes so much.
    pub(super) fn stays(&mut self, needed: u32) {
        self.from = self.from.max(needed);
    }

    /// Those of them for which something goes that takes so much.
    pub(super) fn goes(&mut self, needed: u32) {
        self.to = self.to.min(needed);
    }

    fn contains(self, limit: u32) -> bool {
        (self.from..self.to).contains(&limit)
    }
}

/// The tokens that go, or those that stay.
#[derive(Clone, Debug)]
enum Tokens {
    Go(Box<[u32]>),
    Stay(Box<[u32]>),
}

/// What narrowing a mask came to.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    limits: Limits,
    tokens: Tokens,
}

impl Kept {
    /// What became of `before`, if it is short enough to keep.
    pub(super) fn new(limits: Limits, before: &[u32], after: &[u32]) -> Option<Self> {
        let tokens = match listed(before.iter().zip(after).map(|(before, after)| before & !after)) {
            Some(go) => Tokens::Go(go),
            None => Tokens::Stay(listed(after.iter().copied())?),
        };
        Some(Kept { limits, tokens })
    }

    /// Narrows a mask in the same way, if that holds for a limit.
    pub(super) fn apply(&self, limit: u32, row: &mut [u32]) -> bool {
        let holds = self.limits.contains(limit);
        if holds {
            match &self.tokens {
                Tokens::Go(tokens) => tokens.iter().for_each(|&token| clear_bit(row, token)),
                Tokens::Stay(tokens) => {
                    let stay: Vec<u32> =
                        tokens.iter().copied().filter(|&token| has_bit(row, token)).collect();
                    row.fill(0);
                    stay.iter().for_each(|&token| set_bit(row, token));
                }
            }
        }
        holds
    }

    /// The memory that it takes.
    pub(crate) fn memory_bytes(&self) -> usize {
        let (Tokens::Go(tokens) | Tokens::Stay(tokens)) = &self.tokens;
        size_of::<Self>() + size_of_val(&**tokens)
    }
}

/// The tokens in some words, if they are few.
fn listed(words: impl Iterator<Item = u32>) -> Option<Box<[u32]>> {
    let mut tokens = Vec::new();
    for (word, mut bits) in (0..).zip(words) {
        if tokens.len() + bits.count_ones() as usize > MOST_LISTED {
            return None;
        }
        while bits != 0 {
            tokens.push(word * u32::BITS + bits.trailing_zeros());
            bits &= bits - 1;
        }
    }
    Some(tokens.into())
}

#[cfg(test)]
mod tests {
    use super::{Kept, Limits};

    #[test]
    fn a_mask_is_narrowed_alike_within_the_limits_only() {
        let mut limits = Limits::ANY;
        limits.stays(3);
        limits.stays(2);
        limits.goes(7);
        limits.goes(9);
        let kept = Kept::new(limits, &[0b1111], &[0b0101]).unwrap();
        for (limit, holds) in [(2, false), (3, true), (6, true), (7, false)] {
            let mut row = [0b1111];
            assert_eq!(kept.apply(limit, &mut row), holds);
            assert_eq!(row, [if holds { 0b0101 } else { 0b1111 }]);
        }
    }

    #[test]
    fn what_stays_is_listed_where_more_goes_than_can_be() {
        let (before, after) = ([u32::MAX; 64], {
            let mut after = [0; 64];
            after[40] = 6;
            after
        });
        let kept = Kept::new(Limits { from: 0, to: 5 }, &before, &after).unwrap();
        let mut row = before;
        // A bit that this row does not have comes from nowhere.
        row[40] = 4;
        assert!(kept.apply(4, &mut row));
        assert_eq!(row.iter().map(|word| word.count_ones()).sum::<u32>(), 1);
        assert!(Kept::new(Limits::ANY, &before, &[u32::MAX >> 16; 64]).is_none());
    }
}
