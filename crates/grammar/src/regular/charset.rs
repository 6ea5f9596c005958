//! Sets of Unicode scalar values.

use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

/// A set of code points (never surrogates), as sorted ranges with gaps between them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CharSet(Box<[(char, char)]>);

impl CharSet {
    /// The set of these ranges, in any order and overlapping at will; reversed ranges are empty.
    pub fn new(ranges: impl IntoIterator<Item = (char, char)>) -> Self {
        let ranges = ranges.into_iter().filter(|(low, high)| low <= high);
        CharSet::from(&ClassUnicode::new(ranges.map(|(low, high)| ClassUnicodeRange::new(low, high))))
    }

    /// Every code point.
    pub fn any() -> Self {
        CharSet::new([('\0', char::MAX)])
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
        CharSet::new(self.0.iter().chain(&other.0).copied())
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

impl From<&ClassUnicode> for CharSet {
    fn from(class: &ClassUnicode) -> Self {
        CharSet(class.iter().map(|range| (range.start(), range.end())).collect())
    }
}

impl From<&CharSet> for ClassUnicode {
    fn from(set: &CharSet) -> Self {
        ClassUnicode::new(set.0.iter().map(|&(low, high)| ClassUnicodeRange::new(low, high)))
    }
}
