//! Shapes of objects.
//!
//! A shape is a conjunction: for every key what its value is, which keys must be there, how many there are, which key
//! asks for which, and that some key of a set has some value. A set of objects is a union of shapes. The complement of
//! a shape is the union of the ways to break it, and each of those is a shape again.

use std::rc::Rc;

use indexmap::{IndexMap, IndexSet};

use super::Algebra;
use super::formula::FormulaId;
use super::keys::Keys;
use crate::error::{Error, Result};

/// That some member has a key of a set and a value of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Witness {
    /// Its key.
    pub keys: Keys,
    /// Its value.
    pub value: FormulaId,
}

/// What is known of the keys that a closed object may have beside those that keywords speak of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Openness {
    /// Some keyword lists names: in strict mode the object is closed then.
    pub lists_names: bool,
    /// Some keyword says what the other keys are.
    pub says_others: bool,
}

impl Openness {
    fn join(self, other: Self) -> Self {
        Openness {
            lists_names: self.lists_names || other.lists_names,
            says_others: self.says_others || other.says_others,
        }
    }
}

/// A conjunction of conditions on objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectShape {
    /// The values of the named keys, in the order in which they were declared.
    pub named: Rc<IndexMap<Rc<str>, FormulaId>>,
    /// The values of all keys of a set.
    pub families: Vec<(Keys, FormulaId)>,
    /// The keys that must be there.
    pub required: Rc<IndexSet<Rc<str>>>,
    /// Pairs: with the first key, the second must be there too.
    pub implies: Vec<(Rc<str>, Rc<str>)>,
    /// The least number of members.
    pub min: u32,
    /// The greatest number of members.
    pub max: Option<u32>,
    /// Members that must be there, known by their values.
    pub witnesses: Vec<Witness>,
    /// The keys that some keyword has evaluated: what `unevaluatedProperties` leaves alone.
    pub evaluated: Vec<Keys>,
    /// How it is closed in strict mode.
    pub openness: Openness,
}

impl ObjectShape {
    /// Any object.
    pub fn any() -> Self {
        ObjectShape::default()
    }

    /// Whether it is any object.
    pub fn is_any(&self) -> bool {
        self.named.is_empty()
            && self.families.is_empty()
            && self.required.is_empty()
            && self.implies.is_empty()
            && self.min == 0
            && self.max.is_none()
            && self.witnesses.is_empty()
    }

    /// Whether keywords have said more of it than its conditions: what was evaluated, how it is closed.
    pub fn is_annotated(&self) -> bool {
        !self.evaluated.is_empty() || self.openness != Openness::default()
    }

    /// Requires a key.
    pub fn require(&mut self, name: &Rc<str>) {
        if !self.required.contains(name) {
            Rc::make_mut(&mut self.required).insert(Rc::clone(name));
        }
    }

    /// Narrows the value of a named key.
    pub fn narrow_named(&mut self, name: &Rc<str>, value: FormulaId, algebra: &mut Algebra<'_>) {
        let named = Rc::make_mut(&mut self.named);
        let slot = named.entry(Rc::clone(name)).or_insert(FormulaId::ANY);
        *slot = algebra.formulas.and(*slot, value);
    }

    /// What both admit.
    pub fn intersect(&self, other: &Self, algebra: &mut Algebra<'_>) -> Self {
        let mut both = self.clone();
        if both.named.is_empty() {
            both.named = Rc::clone(&other.named);
        } else {
            other.named.iter().for_each(|(name, &value)| both.narrow_named(name, value, algebra));
        }
        append(&mut both.families, &other.families);
        other.required.iter().for_each(|name| both.require(name));
        append(&mut both.implies, &other.implies);
        both.min = both.min.max(other.min);
        both.max = match (both.max, other.max) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        append(&mut both.witnesses, &other.witnesses);
        append(&mut both.evaluated, &other.evaluated);
        both.openness = both.openness.join(other.openness);
        both
    }

    /// The ways to break it.
    pub fn complement(&self, algebra: &mut Algebra<'_>) -> Result<Vec<Self>> {
        let mut ways = Vec::new();
        for (name, &value) in self.named.iter().filter(|(_, value)| **value != FormulaId::ANY) {
            let mut way = ObjectShape::any();
            let other = algebra.formulas.not(value);
            way.narrow_named(name, other, algebra);
            way.require(name);
            ways.push(way);
        }
        for (keys, value) in self.families.iter().filter(|(_, value)| *value != FormulaId::ANY) {
            let value = algebra.formulas.not(*value);
            let witnesses = vec![Witness { keys: keys.clone(), value }];
            ways.push(ObjectShape { witnesses, ..ObjectShape::any() });
        }
        for name in self.required.iter() {
            ways.push(ObjectShape::without(name, algebra));
        }
        for (first, second) in &self.implies {
            let mut way = ObjectShape::without(second, algebra);
            way.require(first);
            ways.push(way);
        }
        if self.min > 0 {
            ways.push(ObjectShape { max: Some(self.min - 1), ..ObjectShape::any() });
        }
        if let Some(max) = self.max {
            let min = max.checked_add(1).ok_or_else(|| Error::unsupported("a count beyond 32 bits"))?;
            ways.push(ObjectShape { min, ..ObjectShape::any() });
        }
        for witness in &self.witnesses {
            let value = algebra.formulas.not(witness.value);
            ways.push(ObjectShape { families: vec![(witness.keys.clone(), value)], ..ObjectShape::any() });
        }
        Ok(ways)
    }

    /// Objects without a key.
    pub fn without(name: &Rc<str>, algebra: &mut Algebra<'_>) -> Self {
        let mut shape = ObjectShape::any();
        shape.narrow_named(name, FormulaId::NEVER, algebra);
        shape
    }
}

fn append<T: Clone + PartialEq>(list: &mut Vec<T>, more: &[T]) {
    for item in more {
        if !list.contains(item) {
            list.push(item.clone());
        }
    }
}
