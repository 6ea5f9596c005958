//! Shapes of objects.
//!
//! A shape is a conjunction: for every key what its value is, which keys must be there, how many there are, which key
//! asks for which, and that some key of a set has some value. A set of objects is a union of shapes. The complement of
//! a shape is the union of the ways to break it, and each of those is a shape again.

use std::rc::Rc;

use super::Algebra;
use super::formula::FormulaId;
use super::keys::{Keys, NameMap, NameSet, Region};
use super::texts::{TextSet, in_doubt};
use crate::error::{Error, Result};

/// That some member is one of these: its key of a set, and its value of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Witness(pub Vec<(Keys, FormulaId)>);

impl Witness {
    /// The sets of keys that it speaks of.
    pub fn keys(&self) -> impl Iterator<Item = &Keys> {
        self.0.iter().map(|(keys, _)| keys)
    }

    fn is_same(&self, other: &Self) -> bool {
        let mut pairs = self.0.iter().zip(&other.0);
        self.0.len() == other.0.len() && pairs.all(|(one, other)| is_same_member(one, other))
    }

    /// The values that a member with a named key must have to bear it out.
    pub fn value_of(&self, name: &str, algebra: &mut Algebra<'_>) -> Result<FormulaId> {
        let mut value = FormulaId::NEVER;
        for (keys, candidate) in &self.0 {
            if keys.has_name(name, &mut algebra.languages)? {
                value = algebra.formulas.or(value, *candidate);
            }
        }
        Ok(value)
    }

    /// The same for the keys of a region.
    pub fn value_in(&self, region: &Region, algebra: &mut Algebra<'_>) -> FormulaId {
        let values = self.0.iter().filter(|(keys, _)| keys.has_region(region)).map(|(_, value)| *value);
        algebra.formulas.or_all(values)
    }
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
    pub named: Rc<NameMap<FormulaId>>,
    /// The values of all keys of a set.
    pub families: Vec<(Keys, FormulaId)>,
    /// The keys that must be there.
    pub required: Rc<NameSet>,
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
    /// The texts that keys must be, where those are fewer than are meant: formats that are narrower here than their definition.
    pub narrowed_keys: Vec<TextSet>,
    /// Orders in which the keys come, where schemas are combined that have them: those that are listed come so, and all
    /// others after them.
    pub orders: Vec<Rc<NameSet>>,
}

impl ObjectShape {
    /// Any object.
    pub fn any() -> Self {
        ObjectShape::default()
    }

    /// How many conditions it has.
    pub fn parts(&self) -> usize {
        let named = self.named.len() + self.required.len();
        named + self.families.len() + self.implies.len() + self.witnesses.len() + self.evaluated.len()
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
        !self.evaluated.is_empty() || self.openness != Openness::default() || !self.orders.is_empty()
    }

    /// Whether it asks for keys, perhaps because of others. In strict mode that makes them known.
    pub fn asks_for_keys(&self) -> bool {
        !self.required.is_empty() || !self.implies.is_empty()
    }

    /// Whether those that must be there are all that there is room for, as in a constant.
    pub fn has_just_its_required_keys(&self) -> bool {
        self.max.is_some_and(|max| max as usize <= self.required.len())
    }

    /// The same without the members that are known by their values, and without keys that ask for others.
    #[must_use]
    pub fn without_relations(&self) -> Self {
        ObjectShape { witnesses: Vec::new(), implies: Vec::new(), ..self.clone() }
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
    #[must_use]
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
        append(&mut both.narrowed_keys, &other.narrowed_keys);
        // Of two lists with the same names each says something.
        for order in &other.orders {
            if !both.orders.iter().any(|known| known.iter().eq(order.iter())) {
                both.orders.push(Rc::clone(order));
            }
        }
        both
    }

    /// Whether `other` plainly has every object that it has, in the same order of keys: what `other` asks for, it asks for.
    pub fn is_within(&self, other: &Self) -> bool {
        let is_written = |(_, value): &(&Rc<str>, &FormulaId)| **value != FormulaId::NEVER;
        let is_spared = |name: &Rc<str>| self.named.get(name) == Some(&FormulaId::NEVER);
        let own = self.named.iter().filter(is_written);
        let others = other.named.iter().filter(|(name, _)| !is_spared(name));
        let is_known = |name: &Rc<str>| other.required.contains(name) || other.named.contains_key(name);
        self.min >= other.min
            && other.max.is_none_or(|most| self.max.is_some_and(|max| max <= most))
            && own.eq(others)
            && self.required.iter().filter(|name| other.required.contains(*name)).eq(other.required.iter())
            && self.required.iter().all(is_known)
            && has_all(&self.families, &other.families, is_same_member)
            && has_all(&self.implies, &other.implies, PartialEq::eq)
            && has_all(&self.witnesses, &other.witnesses, Witness::is_same)
            && self.evaluated == other.evaluated
            && self.openness == other.openness
            && self.narrowed_keys == other.narrowed_keys
            && self.has_orders_of(other)
    }

    /// Whether its keys come in the same orders.
    fn has_orders_of(&self, other: &Self) -> bool {
        let mut pairs = self.orders.iter().zip(&other.orders);
        self.orders.len() == other.orders.len() && pairs.all(|(one, other)| one.iter().eq(other.iter()))
    }

    /// Whether it asks for the same keys as `other`, now and once witnesses are settled. That lists them where objects are
    /// closed, and gives them a place where keys have an order.
    pub fn names_as(&self, other: &Self) -> bool {
        self.required == other.required && self.implies == other.implies && self.witnesses == other.witnesses
    }

    /// The ways to break it.
    pub fn complement(&self, algebra: &mut Algebra<'_>) -> Result<Vec<Self>> {
        if !self.narrowed_keys.is_empty() {
            return Err(Error::unsupported(
                "the complement of keys of a format that is narrower here than its definition",
            ));
        }
        let mut ways = Vec::new();
        let named = self.named.iter().map(|(name, value)| (Keys::named(name), *value));
        let breaches: Vec<(Keys, FormulaId)> = named
            .chain(self.families.iter().cloned())
            .filter(|(_, value)| *value != FormulaId::ANY)
            .map(|(keys, value)| (keys, algebra.formulas.not(value)))
            .collect();
        if !breaches.is_empty() {
            ways.push(ObjectShape { witnesses: vec![Witness(breaches)], ..ObjectShape::any() });
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
            let none = witness.0.iter().map(|(keys, value)| (keys.clone(), algebra.formulas.not(*value)));
            ways.push(ObjectShape { families: none.collect(), ..ObjectShape::any() });
        }
        Ok(ways)
    }

    /// What the value of a named key is.
    pub fn value_of(&self, name: &str, algebra: &mut Algebra<'_>) -> Result<FormulaId> {
        for keys in &self.narrowed_keys {
            if keys.is_in_doubt(name, &mut algebra.languages)? {
                return Err(in_doubt("key", name));
            }
        }
        let mut value = self.named.get(name).copied().unwrap_or(FormulaId::ANY);
        for (keys, family) in &self.families {
            if keys.has_name(name, &mut algebra.languages)? {
                value = algebra.formulas.and(value, *family);
            }
        }
        Ok(value)
    }

    /// Objects without a key.
    pub fn without(name: &Rc<str>, algebra: &mut Algebra<'_>) -> Self {
        let mut shape = ObjectShape::any();
        shape.narrow_named(name, FormulaId::NEVER, algebra);
        shape
    }
}

/// Whether `some` are all in a list. Most are not, which `is_same` should tell fast.
fn has_all<T>(list: &[T], some: &[T], is_same: impl Fn(&T, &T) -> bool) -> bool {
    list.len() >= some.len() && some.iter().all(|item| list.iter().any(|other| is_same(item, other)))
}

/// Whether two sets of members are the same. The values are compared first, which are numbers.
fn is_same_member((keys, value): &(Keys, FormulaId), (other_keys, other): &(Keys, FormulaId)) -> bool {
    value == other && keys == other_keys
}

fn append<T: Clone + PartialEq>(list: &mut Vec<T>, more: &[T]) {
    for item in more {
        if !list.contains(item) {
            list.push(item.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::formula::{ConstantId, Formula, Formulas};
    use super::*;

    fn shape(named: &[(&str, FormulaId)], required: &[&str]) -> ObjectShape {
        ObjectShape {
            named: Rc::new(named.iter().map(|&(name, value)| (Rc::from(name), value)).collect()),
            required: Rc::new(required.iter().map(|&name| Rc::from(name)).collect()),
            ..ObjectShape::any()
        }
    }

    #[test]
    fn what_asks_for_more_is_within() {
        let mut formulas = Formulas::new();
        let one = formulas.intern(Formula::Constant(ConstantId(0)));
        let plain = shape(&[("a", one), ("b", one)], &[]);
        let asking = shape(&[("a", one), ("b", one)], &["a"]);
        assert!(asking.is_within(&plain) && !plain.is_within(&asking));
        let counted = ObjectShape { min: 1, max: Some(3), ..plain.clone() };
        assert!(counted.is_within(&plain) && !plain.is_within(&counted));
        let borne = ObjectShape { witnesses: vec![Witness(vec![(Keys::all(), one)])], ..plain.clone() };
        assert!(borne.is_within(&plain) && !plain.is_within(&borne));
        let evaluated = ObjectShape { evaluated: vec![Keys::all()], ..plain.clone() };
        assert!(!evaluated.is_within(&plain) && !plain.is_within(&evaluated));
    }

    #[test]
    fn keys_that_cannot_be_written_do_not_matter() {
        let mut formulas = Formulas::new();
        let one = formulas.intern(Formula::Constant(ConstantId(0)));
        let without = shape(&[("c", FormulaId::NEVER), ("a", one)], &[]);
        assert!(without.is_within(&shape(&[("a", one)], &[])));
        assert!(without.is_within(&shape(&[("a", one), ("c", one)], &[])));
        assert!(!shape(&[("a", one)], &[]).is_within(&without));
    }

    #[test]
    fn the_order_of_keys_is_kept() {
        let mut formulas = Formulas::new();
        let one = formulas.intern(Formula::Constant(ConstantId(0)));
        let (ab, ba) = (shape(&[("a", one), ("b", one)], &[]), shape(&[("b", one), ("a", one)], &[]));
        assert!(!ab.is_within(&ba) && !ba.is_within(&ab));
        // The others come after the declared ones.
        assert!(!ab.is_within(&shape(&[("b", one)], &[])));
        // Keys that nobody declares come in the order in which they are required.
        assert!(!shape(&[], &["x", "y"]).is_within(&shape(&[], &["y"])));
        assert!(!shape(&[], &["x", "y"]).is_within(&shape(&[], &["y", "x"])));
    }
}
