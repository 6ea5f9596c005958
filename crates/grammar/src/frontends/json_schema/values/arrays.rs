//! Shapes of arrays.
//!
//! As with objects a shape is a conjunction, a set of arrays is a union of shapes, and the complement of a shape is the
//! union of the ways to break it.

use super::Algebra;
use super::formula::FormulaId;
use crate::error::{Error, Result};

/// How many items are in a set, from some place on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contains {
    /// The set.
    pub value: FormulaId,
    /// The first place that counts.
    pub from: u32,
    /// The least number.
    pub min: u32,
    /// The greatest number.
    pub max: Option<u32>,
}

/// Which items keywords have evaluated: what `unevaluatedItems` leaves alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EvaluatedItems {
    /// So many at the start.
    pub prefix: u32,
    /// All of them.
    pub all: bool,
    /// Those that are in such a set.
    pub matching: Vec<FormulaId>,
}

/// A conjunction of conditions on arrays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayShape {
    /// The first items.
    pub prefix: Vec<FormulaId>,
    /// All items after those.
    pub rest: FormulaId,
    /// The least number of items.
    pub min: u32,
    /// The greatest number of items.
    pub max: Option<u32>,
    /// Counts of items of certain sets.
    pub contains: Vec<Contains>,
    /// Whether no two items are equal.
    pub unique: bool,
    /// Whether some two items are equal.
    pub repeats: bool,
    /// What was evaluated.
    pub evaluated: EvaluatedItems,
    /// Whether some keyword says what the items after a prefix are.
    pub says_rest: bool,
}

impl Default for ArrayShape {
    fn default() -> Self {
        ArrayShape::any()
    }
}

impl ArrayShape {
    /// Any array.
    pub fn any() -> Self {
        ArrayShape {
            prefix: Vec::new(),
            rest: FormulaId::ANY,
            min: 0,
            max: None,
            contains: Vec::new(),
            unique: false,
            repeats: false,
            evaluated: EvaluatedItems::default(),
            says_rest: false,
        }
    }

    /// How many conditions it has.
    pub fn parts(&self) -> usize {
        self.prefix.len() + self.contains.len()
    }

    /// Whether it is any array.
    pub fn is_any(&self) -> bool {
        self.prefix.is_empty()
            && self.rest == FormulaId::ANY
            && self.min == 0
            && self.max.is_none()
            && self.contains.is_empty()
            && !self.unique
            && !self.repeats
    }

    /// Whether keywords have said more of it than its conditions: what was evaluated, how it is closed.
    pub fn is_annotated(&self) -> bool {
        self.evaluated != EvaluatedItems::default() || self.says_rest
    }

    /// The set of the item at `place`.
    pub fn item(&self, place: usize) -> FormulaId {
        self.prefix.get(place).copied().unwrap_or(self.rest)
    }

    /// The same without the conditions that reach from one item to another.
    #[must_use]
    pub fn without_relations(&self) -> Self {
        ArrayShape { contains: Vec::new(), unique: false, repeats: false, ..self.clone() }
    }

    /// Narrows the first items and all after them.
    pub fn narrow_items(&mut self, prefix: &[FormulaId], rest: FormulaId, algebra: &mut Algebra<'_>) {
        let length = self.prefix.len().max(prefix.len());
        let joined = (0..length).map(|place| {
            let other = prefix.get(place).copied().unwrap_or(rest);
            algebra.formulas.and(self.item(place), other)
        });
        self.prefix = joined.collect();
        self.rest = algebra.formulas.and(self.rest, rest);
    }

    /// What both admit.
    #[must_use]
    pub fn intersect(&self, other: &Self, algebra: &mut Algebra<'_>) -> Self {
        let mut both = self.clone();
        both.narrow_items(&other.prefix, other.rest, algebra);
        both.min = both.min.max(other.min);
        both.max = match (both.max, other.max) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        for count in &other.contains {
            if !both.contains.contains(count) {
                both.contains.push(count.clone());
            }
        }
        both.unique |= other.unique;
        both.repeats |= other.repeats;
        both.evaluated.prefix = both.evaluated.prefix.max(other.evaluated.prefix);
        both.evaluated.all |= other.evaluated.all;
        both.evaluated.matching.extend(&other.evaluated.matching);
        both.says_rest |= other.says_rest;
        both
    }

    /// Whether `other` plainly has every array that it has: what `other` asks for, it asks for.
    pub fn is_within(&self, other: &Self) -> bool {
        let is_narrower = |own: FormulaId, wide: FormulaId| own == wide || wide == FormulaId::ANY;
        let length = self.prefix.len().max(other.prefix.len());
        self.min >= other.min
            && other.max.is_none_or(|most| self.max.is_some_and(|max| max <= most))
            && is_narrower(self.rest, other.rest)
            && (0..length).all(|place| is_narrower(self.item(place), other.item(place)))
            && other.contains.iter().all(|count| self.contains.contains(count))
            && (self.unique || !other.unique)
            && (self.repeats || !other.repeats)
            && self.evaluated == other.evaluated
            && self.says_rest == other.says_rest
    }

    /// The ways to break it.
    pub fn complement(&self, algebra: &mut Algebra<'_>) -> Result<Vec<Self>> {
        let mut ways = Vec::new();
        for (place, &item) in self.prefix.iter().enumerate().filter(|(_, item)| **item != FormulaId::ANY) {
            let mut prefix = vec![FormulaId::ANY; place];
            prefix.push(algebra.formulas.not(item));
            ways.push(ArrayShape { prefix, min: place as u32 + 1, ..ArrayShape::any() });
        }
        if self.rest != FormulaId::ANY {
            let value = algebra.formulas.not(self.rest);
            let from = self.prefix.len() as u32;
            ways.push(if value == FormulaId::ANY {
                ArrayShape { min: from + 1, ..ArrayShape::any() }
            } else {
                let contains = vec![Contains { value, from, min: 1, max: None }];
                ArrayShape { contains, ..ArrayShape::any() }
            });
        }
        if self.min > 0 {
            ways.push(ArrayShape { max: Some(self.min - 1), ..ArrayShape::any() });
        }
        if let Some(max) = self.max {
            ways.push(ArrayShape { min: above(max)?, ..ArrayShape::any() });
        }
        for count in &self.contains {
            if count.min == 1 {
                let prefix = vec![FormulaId::ANY; count.from as usize];
                let rest = algebra.formulas.not(count.value);
                ways.push(ArrayShape { prefix, rest, ..ArrayShape::any() });
            } else if count.min > 1 {
                let fewer = Contains { min: 0, max: Some(count.min - 1), ..count.clone() };
                ways.push(ArrayShape { contains: vec![fewer], ..ArrayShape::any() });
            }
            if let Some(max) = count.max {
                let more = Contains { min: above(max)?, max: None, ..count.clone() };
                ways.push(ArrayShape { contains: vec![more], ..ArrayShape::any() });
            }
        }
        if self.unique {
            ways.push(ArrayShape { repeats: true, ..ArrayShape::any() });
        }
        if self.repeats {
            ways.push(ArrayShape { unique: true, ..ArrayShape::any() });
        }
        Ok(ways)
    }
}

fn above(max: u32) -> Result<u32> {
    max.checked_add(1).ok_or_else(|| Error::unsupported("a count beyond 32 bits"))
}
