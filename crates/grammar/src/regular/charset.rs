//! Sets of Unicode scalar values.

use std::sync::{Arc, LazyLock};

use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

/// The code points on both sides of the surrogates. They are neighbours, so that equal sets are equal ranges;
/// `regex-syntax` does not join ranges there, and would complement such a set wrongly.
const LAST_BEFORE_SURROGATES: char = '\u{d7ff}';
const FIRST_AFTER_SURROGATES: char = '\u{e000}';

/// A set of code points (never surrogates), as sorted ranges with gaps between them. It is cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CharSet(Arc<[(char, char)]>);

impl CharSet {
    /// The set of these ranges, in any order and overlapping at will; reversed ranges are empty.
    pub fn new(ranges: impl IntoIterator<Item = (char, char)>) -> Self {
        let ranges: Vec<(char, char)> = ranges.into_iter().filter(|(low, high)| low <= high).collect();
        if ranges.windows(2).all(|pair| has_gap(pair[0], pair[1])) {
            return CharSet(ranges.into());
        }
        let ranges = ranges.into_iter().map(|(low, high)| ClassUnicodeRange::new(low, high));
        CharSet::from(&ClassUnicode::new(ranges))
    }

    /// Every code point.
    pub fn any() -> Self {
        static ANY: LazyLock<CharSet> = LazyLock::new(|| CharSet::new([('\0', char::MAX)]));
        ANY.clone()
    }

    /// The ranges, sorted, with gaps between them.
    pub fn ranges(&self) -> &[(char, char)] {
        &self.0
    }

    /// Whether `c` is in the set.
    pub fn contains(&self, c: char) -> bool {
        let at = self.0.partition_point(|&(_, high)| high < c);
        self.0.get(at).is_some_and(|&(low, _)| low <= c)
    }

    /// How many code points there are in the set.
    pub fn count(&self) -> u64 {
        let surrogates = u32::from(FIRST_AFTER_SURROGATES) - u32::from(LAST_BEFORE_SURROGATES) - 1;
        let count = |&(low, high): &(char, char)| {
            let spans = low <= LAST_BEFORE_SURROGATES && high >= FIRST_AFTER_SURROGATES;
            u32::from(high) - u32::from(low) + 1 - if spans { surrogates } else { 0 }
        };
        self.0.iter().map(count).map(u64::from).sum()
    }

    /// The code points outside of the set.
    #[must_use]
    pub fn complement(&self) -> Self {
        let mut class = ClassUnicode::from(self);
        class.negate();
        CharSet::from(&class)
    }

    /// The code points in either set.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        CharSet::new(self.0.iter().chain(&*other.0).copied())
    }

    /// The code points in both sets.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        let mut class = ClassUnicode::from(self);
        class.intersect(&ClassUnicode::from(other));
        CharSet::from(&class)
    }

    /// The set with the other cases of its letters, by Unicode's simple case folding.
    #[must_use]
    pub fn case_folded(&self) -> Self {
        let mut class = ClassUnicode::from(self);
        class.case_fold_simple();
        CharSet::from(&class)
    }
}

/// Whether the second range begins after the first, with a code point in between.
fn has_gap(first: (char, char), second: (char, char)) -> bool {
    let neighbours = (LAST_BEFORE_SURROGATES, FIRST_AFTER_SURROGATES);
    u32::from(first.1) + 1 < u32::from(second.0) && (first.1, second.0) != neighbours
}

impl From<&ClassUnicode> for CharSet {
    fn from(class: &ClassUnicode) -> Self {
        let mut ranges: Vec<(char, char)> = Vec::with_capacity(class.ranges().len());
        for range in class.iter() {
            match ranges.last_mut() {
                Some(last) if last.1 == LAST_BEFORE_SURROGATES && range.start() == FIRST_AFTER_SURROGATES => {
                    last.1 = range.end();
                }
                _ => ranges.push((range.start(), range.end())),
            }
        }
        CharSet(ranges.into())
    }
}

impl From<&CharSet> for ClassUnicode {
    fn from(set: &CharSet) -> Self {
        ClassUnicode::new(set.0.iter().map(|&(low, high)| ClassUnicodeRange::new(low, high)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_join_across_the_surrogates() {
        let any = CharSet::new([('\u{e000}', char::MAX), ('\0', '\u{d7ff}')]);
        assert_eq!(any, CharSet::any());
        assert!(any.complement().ranges().is_empty());
        assert_eq!(any.count(), ('\0'..=char::MAX).count() as u64);
        let around = CharSet::new([('\u{d000}', '\u{d7ff}'), ('\u{e000}', '\u{e001}')]);
        assert_eq!(around.complement().complement(), around);
        assert_eq!(around.complement().ranges(), [('\0', '\u{cfff}'), ('\u{e002}', char::MAX)]);
    }

    #[test]
    fn sets_are_sets() {
        let (letters, vowels) =
            (CharSet::new([('m', 'z'), ('a', 'n')]), CharSet::new(['a', 'e'].map(|c| (c, c))));
        assert_eq!(letters.ranges(), [('a', 'z')]);
        assert_eq!(letters.intersection(&vowels), vowels);
        assert_eq!(letters.union(&vowels), letters);
        assert!(vowels.case_folded().contains('E') && !vowels.contains('E'));
        assert!(CharSet::new([('b', 'a')]).ranges().is_empty());
    }
}
