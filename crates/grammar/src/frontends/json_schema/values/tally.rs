//! Which values are in any of many sets, and which are in just one.
//!
//! Alternatives are often labels: a string or a number each, or a range of numbers, and there may be thousands. To put each
//! together with each other would take as long as there are pairs. So those that are nothing but words, listed strings and
//! numbers are counted together: strings one by one, sets of numbers in a tournament, where each round halves their number.

use std::collections::{BTreeMap, BTreeSet};

use super::ValueSet;
use super::numbers::NumberSet;
use super::texts::TextSet;
use crate::error::Result;
use crate::limits::Budget;

/// The sets that were counted.
#[derive(Debug, Default)]
pub struct Tally {
    /// How many sets have `null`, `false` and `true`.
    words: [usize; 3],
    texts: BTreeMap<Box<str>, usize>,
    numbers: Vec<NumberSet>,
}

/// What came of it.
#[derive(Debug)]
pub struct Counted {
    /// The values that are in just one set.
    pub once: ValueSet,
    /// The values that are in any.
    pub any: ValueSet,
}

impl Tally {
    /// Counts a set, and says whether it could be counted.
    pub fn add(&mut self, set: &ValueSet) -> bool {
        let TextSet::Finite(texts) = &set.texts else { return false };
        if !set.arrays.is_empty() || !set.objects.is_empty() || set.digits_only {
            return false;
        }
        for (count, is_there) in self.words.iter_mut().zip([set.null, set.falsity, set.truth]) {
            *count += usize::from(is_there);
        }
        for text in texts.iter() {
            *self.texts.entry(text.clone()).or_default() += 1;
        }
        if !set.numbers.is_empty() {
            self.numbers.push(set.numbers.clone());
        }
        true
    }

    /// The values that are in any of the sets.
    pub fn any(self, budget: &Budget) -> Result<ValueSet> {
        let numbers = tournament(self.numbers, budget, |one, other| one.unite(other, budget))?;
        let words = self.words.map(|count| count > 0);
        Ok(plain(self.texts.into_keys().collect(), numbers.unwrap_or_else(NumberSet::none), words))
    }

    /// The values that are in just one of the sets, and those that are in any.
    pub fn counted(self, budget: &Budget) -> Result<Counted> {
        let numbers = self.numbers.into_iter().map(Numbers::of).collect();
        let numbers = tournament(numbers, budget, |one: &Numbers, other| one.with(other, budget))?
            .unwrap_or_else(|| Numbers::of(NumberSet::none()));
        let single = self.texts.iter().filter(|(_, count)| **count == 1);
        let once: BTreeSet<Box<str>> = single.map(|(text, _)| text.clone()).collect();
        let any_numbers = numbers.any(budget)?;
        Ok(Counted {
            once: plain(once, numbers.once, self.words.map(|count| count == 1)),
            any: plain(self.texts.into_keys().collect(), any_numbers, self.words.map(|count| count > 0)),
        })
    }
}

fn plain(texts: BTreeSet<Box<str>>, numbers: NumberSet, [null, falsity, truth]: [bool; 3]) -> ValueSet {
    ValueSet { null, falsity, truth, numbers, ..ValueSet::of_texts(texts) }
}

/// What becomes of all of them when neighbours are put together, round by round.
fn tournament<T>(
    mut all: Vec<T>,
    budget: &Budget,
    together: impl Fn(&T, &T) -> Result<T>,
) -> Result<Option<T>> {
    while all.len() > 1 {
        let mut next = Vec::with_capacity(all.len().div_ceil(2));
        let mut left = all.into_iter();
        while let Some(one) = left.next() {
            budget.tick()?;
            next.push(match left.next() {
                Some(other) => together(&one, &other)?,
                None => one,
            });
        }
        all = next;
    }
    Ok(all.pop())
}

/// The numbers of some sets.
struct Numbers {
    /// Those that are in one set.
    once: NumberSet,
    /// Those that are in more.
    more: NumberSet,
}

impl Numbers {
    /// Those of one set.
    fn of(once: NumberSet) -> Self {
        Numbers { once, more: NumberSet::none() }
    }

    fn any(&self, budget: &Budget) -> Result<NumberSet> {
        self.once.unite(&self.more, budget)
    }

    /// Those of the sets of both.
    fn with(&self, other: &Self, budget: &Budget) -> Result<Self> {
        let both = self.any(budget)?.intersect(&other.any(budget)?, budget)?;
        let more = self.more.unite(&other.more, budget)?.unite(&both, budget)?;
        let either = self.once.unite(&other.once, budget)?;
        let once =
            if more.is_empty() { either } else { either.intersect(&more.complement(budget)?, budget)? };
        Ok(Numbers { once, more })
    }
}

#[cfg(test)]
mod tests {
    use super::super::numbers::Decimal;
    use super::*;

    fn numbers(values: &[i64]) -> NumberSet {
        NumberSet::any_of(values.iter().map(|&value| Decimal::from(value)))
    }

    #[test]
    fn what_is_in_one_set_only_is_told_from_what_is_in_more() {
        let sets = [&[1, 2, 3][..], &[3, 4], &[5], &[2, 6, 3], &[7]];
        let mut tally = Tally::default();
        for set in sets {
            let texts = set.iter().map(|value| value.to_string().into_boxed_str()).collect();
            assert!(tally.add(&ValueSet {
                null: set.contains(&5),
                truth: set.contains(&3),
                numbers: numbers(set),
                ..ValueSet::of_texts(texts)
            }));
        }
        let Counted { once, any } = tally.counted(&Budget::default()).unwrap();
        assert_eq!(once.numbers, numbers(&[1, 4, 5, 6, 7]));
        assert_eq!(any.numbers, numbers(&[1, 2, 3, 4, 5, 6, 7]));
        let texts = |all: &[&str]| ValueSet::of_texts(all.iter().map(|&text| text.into()).collect()).texts;
        assert_eq!(once.texts, texts(&["1", "4", "5", "6", "7"]));
        assert_eq!(any.texts, texts(&["1", "2", "3", "4", "5", "6", "7"]));
        assert!(once.null && !once.truth && any.truth && !any.falsity);
    }

    #[test]
    fn what_is_more_than_that_is_not_counted() {
        let mut tally = Tally::default();
        assert!(!tally.add(&ValueSet::any()));
        assert!(!tally.add(&ValueSet { texts: TextSet::any(), ..ValueSet::never() }));
        assert!(tally.counted(&Budget::default()).unwrap().any.is_never());
    }
}
