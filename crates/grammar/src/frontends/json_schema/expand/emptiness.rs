//! Whether a formula admits anything.
//!
//! Conjunctions and complements make shapes that no value has: a key that must be there and has no value, a member that
//! must bear out what no key allows. They are dropped as soon as that is known, so that branches do not multiply for
//! nothing. It is looked for to some depth and with some fuel; what is not decided then counts as inhabited, and the
//! grammar is trimmed later in any case.

use std::rc::Rc;

use super::super::values::arrays::ArrayShape;
use super::super::values::formula::{Formula, FormulaId};
use super::super::values::keys::Keys;
use super::super::values::objects::{ObjectShape, Witness};
use super::super::values::{self, ValueSet};
use super::Expander;
use crate::error::{Error, ErrorKind, Result};

/// Emptiness is looked for so deep into containers; what lies deeper counts as inhabited.
pub(super) const EMPTINESS_DEPTH: usize = 6;

/// So many formulas of a conversion are looked into; after that they count as inhabited.
pub(super) const EMPTINESS_FUEL: usize = 20_000;

/// What became of a condition that some member must bear out.
enum Settled {
    /// A member that is there in any case does.
    Borne,
    /// No member can.
    Impossible,
    /// Only the member of this key can, with this value.
    Key(Rc<str>, FormulaId),
    /// Nobody knows yet.
    Open(Witness),
}

impl Expander<'_> {
    /// Drops the shapes that cannot have a value because a part that they need has none.
    pub fn prune(&mut self, set: &mut ValueSet) -> Result<()> {
        self.prune_to(set, EMPTINESS_DEPTH)
    }

    fn prune_to(&mut self, set: &mut ValueSet, depth: usize) -> Result<()> {
        let mut objects = Vec::with_capacity(set.objects.len());
        for shape in std::mem::take(&mut set.objects) {
            objects.extend(self.settled_object(shape, depth)?);
        }
        set.objects = objects;
        let mut failure = None;
        set.arrays.retain(|shape| self.is_inhabited_array(shape, depth, &mut failure));
        failure.map_or(Ok(()), Err)
    }

    fn is_inhabited_array(&mut self, shape: &ArrayShape, depth: usize, failure: &mut Option<Error>) -> bool {
        let needed = shape.prefix.iter().copied().take(shape.min as usize);
        values::lively_array(shape) && self.all_inhabited(needed, depth, failure)
    }

    /// The shape with its witnesses settled as far as they can be, or nothing if it can have no value.
    pub(super) fn settled_object(
        &mut self,
        mut shape: ObjectShape,
        depth: usize,
    ) -> Result<Option<ObjectShape>> {
        if self.lacks_members(&shape, depth)? {
            return Ok(None);
        }
        let witnesses = std::mem::take(&mut shape.witnesses);
        for witness in witnesses {
            match self.settled_witness(&shape, witness, depth)? {
                Settled::Borne => {}
                Settled::Impossible => return Ok(None),
                Settled::Key(name, value) => {
                    shape.narrow_named(&name, value, &mut self.algebra);
                    shape.require(&name);
                }
                Settled::Open(witness) => shape.witnesses.push(witness),
            }
        }
        Ok(Some(shape))
    }

    /// Whether a shape has no value for a key that must be there, or too few keys.
    fn lacks_members(&mut self, shape: &ObjectShape, depth: usize) -> Result<bool> {
        for name in shape.required.iter() {
            let value = shape.value_of(name, &mut self.algebra)?;
            if self.is_empty_to(value, depth)? {
                return Ok(true);
            }
        }
        Ok(shape.min as usize > shape.required.len() && self.lacks_keys(shape)?)
    }

    /// Whether a shape that allows only named keys allows too few of them.
    fn lacks_keys(&mut self, shape: &ObjectShape) -> Result<bool> {
        let closing = shape.families.iter().find_map(|(keys, value)| match keys {
            Keys::Unlisted(list) if *value == FormulaId::NEVER && list.patterns.is_empty() => Some(list),
            _ => None,
        });
        let Some(list) = closing else { return Ok(false) };
        let mut allowed = 0;
        for name in &list.names {
            allowed += u32::from(shape.value_of(name, &mut self.algebra)? != FormulaId::NEVER);
        }
        Ok(allowed < shape.min)
    }

    fn settled_witness(&mut self, shape: &ObjectShape, witness: Witness, depth: usize) -> Result<Settled> {
        let mut open = Vec::new();
        for (keys, value) in witness.0 {
            let Some(name) = keys.as_name() else {
                open.push((keys, value));
                continue;
            };
            let there = shape.value_of(name, &mut self.algebra)?;
            let both = self.algebra.formulas.and(there, value);
            if self.is_empty_to(both, depth)? {
                continue;
            }
            let outside = self.algebra.formulas.not(value);
            let spared = self.algebra.formulas.and(there, outside);
            if shape.required.contains(name) && self.is_empty_to(spared, depth)? {
                return Ok(Settled::Borne);
            }
            open.push((keys, value));
        }
        Ok(match open.as_slice() {
            [] => Settled::Impossible,
            [(keys, value)] if keys.as_name().is_some() => {
                Settled::Key(keys.as_name().cloned().unwrap_or_default(), *value)
            }
            _ => Settled::Open(Witness(open)),
        })
    }

    fn all_inhabited(
        &mut self,
        formulas: impl Iterator<Item = FormulaId>,
        depth: usize,
        failure: &mut Option<Error>,
    ) -> bool {
        for formula in formulas {
            match self.is_empty_to(formula, depth) {
                Ok(true) => return false,
                Ok(false) => {}
                Err(error) => *failure = failure.take().or(Some(error)),
            }
        }
        true
    }

    /// Whether a formula is known to admit nothing. Only what algebra has put together is looked at: the schemas that
    /// somebody wrote are taken to mean something, and the grammar is trimmed later in any case.
    pub fn is_hollow(&mut self, id: FormulaId) -> Result<bool> {
        let joint =
            matches!(self.algebra.formulas.get(id), Formula::And(_) | Formula::Not(_) | Formula::Never);
        Ok(joint && self.is_empty_to(id, EMPTINESS_DEPTH)?)
    }

    pub(super) fn is_empty_to(&mut self, id: FormulaId, depth: usize) -> Result<bool> {
        if id == FormulaId::NEVER {
            return Ok(true);
        }
        if let Some(&empty) = self.empty.get(&id) {
            return Ok(empty);
        }
        if depth == 0 || self.open.contains(&id) {
            return Ok(false);
        }
        if self.fuel == 0 {
            return Ok(false);
        }
        self.fuel -= 1;
        // A formula that is being expanded further up cannot be looked into: it counts as inhabited, for now.
        let set = match self.expand(id) {
            Err(_) if std::mem::take(&mut self.circled) => return Ok(false),
            // Too large to look into is not too large to emit: who needs it will see.
            Err(error) if error.kind() == ErrorKind::Limit => {
                self.algebra.languages.budget.check()?;
                self.empty.insert(id, false);
                return Ok(false);
            }
            result => result?,
        };
        self.empty.insert(id, false);
        let empty = self.is_set_empty(&set, depth - 1)?;
        self.empty.insert(id, empty);
        Ok(empty)
    }

    fn is_set_empty(&mut self, set: &ValueSet, depth: usize) -> Result<bool> {
        if set.null || set.falsity || set.truth || !set.numbers.is_empty() {
            return Ok(false);
        }
        if !set.texts.is_empty(&mut self.algebra.languages)? {
            return Ok(false);
        }
        if set.arrays.is_empty() && set.objects.is_empty() {
            return Ok(true);
        }
        // As much is looked at as pruning would look at: what is found is remembered.
        let mut is_empty = true;
        for shape in &set.objects {
            is_empty &= match shape.witnesses.as_slice() {
                [] => self.lacks_members(shape, depth)?,
                _ => self.settled_object(shape.clone(), depth)?.is_none(),
            };
        }
        let mut failure = None;
        for shape in &set.arrays {
            is_empty &= !self.is_inhabited_array(shape, depth, &mut failure);
        }
        failure.map_or(Ok(is_empty), Err)
    }

    /// Whether a set is known to have no value.
    pub fn is_nothing(&mut self, set: &ValueSet) -> Result<bool> {
        self.is_set_empty(set, EMPTINESS_DEPTH)
    }
}
