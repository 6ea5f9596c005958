//! Formulas: what a value has to satisfy, said by name.
//!
//! The schema of a property or an item is not expanded where it is mentioned. It stays a name, and what algebra does to
//! it (an intersection of two shapes intersects the properties that both have) is written down as a formula over
//! names. A formula is expanded, one level deep, when somebody needs to know. As formulas are interned and kept in a
//! normal form, a recursive schema meets the same formulas again, and the expansion ends.

use std::collections::BTreeSet;
use std::rc::Rc;

use rustc_hash::{FxBuildHasher, FxHashMap};
use smallvec::SmallVec;

use super::super::documents::Located;

/// The number of a formula.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FormulaId(u32);

impl FormulaId {
    /// Any value.
    pub const ANY: FormulaId = FormulaId(0);
    /// No value.
    pub const NEVER: FormulaId = FormulaId(1);
}

/// The number of a JSON value that a schema names in `const` or `enum`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConstantId(pub(crate) u32);

/// A set of values, by name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Formula {
    /// Any value.
    Any,
    /// No value.
    Never,
    /// What a schema admits.
    Schema(Located),
    /// One value.
    Constant(ConstantId),
    /// In all of these, sorted, at least two.
    And(Box<[FormulaId]>),
    /// In any of these, sorted, at least two.
    Or(Box<[FormulaId]>),
    /// Not in this.
    Not(FormulaId),
    /// What this is in one of the schemas that are combined, by its number: closed as that one is, with its order of keys.
    Operand(FormulaId, u32),
}

/// The items of a conjunction or a disjunction.
type Flat = SmallVec<[FormulaId; 8]>;

/// All formulas of one conversion.
#[derive(Debug)]
pub struct Formulas {
    all: Vec<Formula>,
    index: FxHashMap<Formula, FormulaId>,
    /// The string of each formula that is known to admit one string and nothing else.
    texts: FxHashMap<FormulaId, Rc<BTreeSet<Box<str>>>>,
}

/// There is room for so many at first; most schemas have no more.
const EXPECTED: usize = 28;

impl Default for Formulas {
    fn default() -> Self {
        Formulas::new()
    }
}

impl Formulas {
    /// The two constants alone.
    pub fn new() -> Self {
        let (all, index) =
            (Vec::with_capacity(EXPECTED), FxHashMap::with_capacity_and_hasher(EXPECTED, FxBuildHasher));
        let mut formulas = Formulas { all, index, texts: FxHashMap::default() };
        formulas.intern(Formula::Any);
        formulas.intern(Formula::Never);
        formulas
    }

    /// The formula `id`.
    pub fn get(&self, id: FormulaId) -> &Formula {
        &self.all[id.0 as usize]
    }

    /// The number of a formula that is in normal form.
    pub fn intern(&mut self, formula: Formula) -> FormulaId {
        if let Some(&id) = self.index.get(&formula) {
            return id;
        }
        let id = FormulaId(self.all.len() as u32);
        self.all.push(formula.clone());
        self.index.insert(formula, id);
        id
    }

    /// The conjunction of these items, which are sorted and several, if there is one already.
    pub fn known_conjunction(&self, items: &[FormulaId]) -> Option<FormulaId> {
        self.index.get(&Formula::And(items.into())).copied()
    }

    /// Notes that a formula admits just the one string of a set.
    pub fn note_text(&mut self, id: FormulaId, text: &Rc<BTreeSet<Box<str>>>) {
        self.texts.insert(id, Rc::clone(text));
    }

    /// Both.
    pub fn and(&mut self, left: FormulaId, right: FormulaId) -> FormulaId {
        match (left, right) {
            (FormulaId::ANY, other) | (other, FormulaId::ANY) => other,
            (FormulaId::NEVER, _) | (_, FormulaId::NEVER) => FormulaId::NEVER,
            _ if left == right => left,
            _ => self.and_all([left, right]),
        }
    }

    /// All of them.
    pub fn and_all(&mut self, items: impl IntoIterator<Item = FormulaId>) -> FormulaId {
        let mut flat = Flat::new();
        for item in items {
            match self.get(item) {
                Formula::Any => {}
                Formula::And(children) => flat.extend_from_slice(children),
                _ => flat.push(item),
            }
        }
        // Alternatives are mostly told apart by a string. One string is no other, and need not be told so.
        if let Some(text) = flat.iter().find_map(|item| self.texts.get(item)) {
            let differs = |item: &FormulaId| self.texts.get(item).is_some_and(|other| other != text);
            if flat.iter().any(differs) {
                return FormulaId::NEVER;
            }
            flat.retain(|item| !matches!(self.get(*item), Formula::Not(inner) if differs(inner)));
        }
        self.joined(flat, FormulaId::ANY, FormulaId::NEVER, Formula::And)
    }

    /// Either.
    pub fn or(&mut self, left: FormulaId, right: FormulaId) -> FormulaId {
        match (left, right) {
            (FormulaId::NEVER, other) | (other, FormulaId::NEVER) => other,
            (FormulaId::ANY, _) | (_, FormulaId::ANY) => FormulaId::ANY,
            _ if left == right => left,
            _ => self.or_all([left, right]),
        }
    }

    /// Any of them.
    pub fn or_all(&mut self, items: impl IntoIterator<Item = FormulaId>) -> FormulaId {
        let mut flat = Flat::new();
        for item in items {
            match self.get(item) {
                Formula::Never => {}
                Formula::Or(children) => flat.extend_from_slice(children),
                _ => flat.push(item),
            }
        }
        self.joined(flat, FormulaId::NEVER, FormulaId::ANY, Formula::Or)
    }

    /// `neutral` for nothing, `absorbing` where it or a contradiction is among the items, else the node of them all.
    fn joined(
        &mut self,
        mut flat: Flat,
        neutral: FormulaId,
        absorbing: FormulaId,
        node: fn(Box<[FormulaId]>) -> Formula,
    ) -> FormulaId {
        flat.sort_unstable();
        flat.dedup();
        let opposes = |id: &FormulaId| match self.get(*id) {
            Formula::Not(inner) => flat.binary_search(inner).is_ok(),
            _ => *id == absorbing,
        };
        if flat.iter().any(opposes) {
            return absorbing;
        }
        match flat.as_slice() {
            [] => neutral,
            &[one] => one,
            items => self.intern(node(items.into())),
        }
    }

    /// What a formula is in one of the schemas that are combined.
    pub fn operand(&mut self, item: FormulaId, operand: u32) -> FormulaId {
        match self.get(item) {
            Formula::Any | Formula::Never | Formula::Operand(..) => item,
            _ => self.intern(Formula::Operand(item, operand)),
        }
    }

    /// The rest.
    pub fn not(&mut self, item: FormulaId) -> FormulaId {
        match self.get(item) {
            Formula::Any => FormulaId::NEVER,
            Formula::Never => FormulaId::ANY,
            Formula::Not(inner) => *inner,
            _ => self.intern(Formula::Not(item)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_is_no_other() {
        let mut formulas = Formulas::new();
        let [one, again, other, open] =
            [0, 1, 2, 3].map(|number| formulas.intern(Formula::Constant(ConstantId(number))));
        for (id, text) in [(one, "a"), (again, "a"), (other, "b")] {
            formulas.note_text(id, &Rc::new(BTreeSet::from([text.into()])));
        }
        let [not_again, not_other, not_open] = [again, other, open].map(|id| formulas.not(id));
        assert_eq!(formulas.and(one, other), FormulaId::NEVER);
        assert_eq!(formulas.and_all([open, one, other]), FormulaId::NEVER);
        assert_eq!(formulas.and(one, not_other), one);
        for unknown in [again, not_again, open, not_open] {
            let both = formulas.and_all([one, unknown, not_other]);
            assert_eq!(*formulas.get(both), Formula::And([one, unknown].into()));
        }
        let neither = formulas.and(not_again, not_other);
        assert_eq!(*formulas.get(neither), Formula::And([not_again, not_other].into()));
    }
}
