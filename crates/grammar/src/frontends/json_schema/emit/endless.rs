//! Whether there is no end of values.
//!
//! Items that the engine compares must never run out: wherever an array may go on there has to be an item that was not
//! there yet. That is so where items have no end of values, and where they have few, if there may not be more items than
//! these. What is not certain here is refused.

use super::super::values::ValueSet;
use super::super::values::arrays::ArrayShape;
use super::super::values::formula::FormulaId;
use super::super::values::objects::{ObjectShape, Witness};
use super::Emitter;
use crate::error::Result;

/// So deep into values it is looked for.
const DEPTH: usize = 6;

/// So many numbers are counted one by one.
const MOST_LISTED: usize = 10_000;

/// A key that no schema speaks of.
const UNHEARD_OF: &str = "\u{e000}";

/// How many items can differ from each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Room {
    /// Any number.
    Endless,
    /// So many.
    AtMost(u32),
    /// That is not known.
    Unknown,
}

impl Emitter<'_> {
    /// Whether items that differ from all before can come wherever an item can.
    pub(super) fn room_to_differ(&mut self, shape: &ArrayShape) -> Result<Room> {
        // Where two are to be counted that are equal, nobody notices that they cannot come.
        if shape.contains.iter().any(|count| count.min > 1 || count.max.is_some()) {
            return Ok(Room::Unknown);
        }
        let has_rest = shape.max.is_none_or(|max| max as usize > shape.prefix.len());
        if has_rest && !self.is_endless(shape.rest, DEPTH)? {
            let is_uniform = shape.prefix.is_empty() && shape.contains.is_empty();
            let count = if is_uniform { self.scalar_count(shape.rest)? } else { None };
            return Ok(match count.map(u32::try_from) {
                Some(Ok(count)) => Room::AtMost(count),
                Some(Err(_)) => Room::Endless,
                None => Room::Unknown,
            });
        }
        for (place, &item) in shape.prefix.iter().enumerate() {
            if self.is_endless(item, DEPTH)? {
                continue;
            }
            // If there are more values than items before that may be such, one is left.
            let alike = self.count_alike(item, &shape.prefix[..place])?;
            let has_room = alike == 0 || self.scalar_count(item)?.is_some_and(|count| count > alike);
            if !has_room {
                return Ok(Room::Unknown);
            }
        }
        Ok(Room::Endless)
    }

    /// How many of the items before may be equal to an item.
    fn count_alike(&mut self, item: FormulaId, before: &[FormulaId]) -> Result<u64> {
        let mut count = 0;
        for &other in before {
            let both = self.expander.algebra.formulas.and(item, other);
            let set = self.set_of(both)?;
            count += u64::from(!self.expander.is_nothing(&set)?);
        }
        Ok(count)
    }

    /// How many values there are that are neither arrays nor objects, where there are no others.
    fn scalar_count(&mut self, formula: FormulaId) -> Result<Option<u64>> {
        let set = self.set_of(formula)?;
        if !set.arrays.is_empty() || !set.objects.is_empty() {
            return Ok(None);
        }
        let Some(texts) = set.texts.count(&mut self.expander.algebra.languages)? else { return Ok(None) };
        let words = [set.null, set.truth, set.falsity].into_iter().filter(|&there| there).count();
        let listed = || set.numbers.listed(MOST_LISTED).map(|numbers| numbers.len() as u64);
        let numbers = set.numbers.count().or_else(listed);
        Ok(numbers.map(|numbers| numbers.saturating_add(texts).saturating_add(words as u64)))
    }

    fn is_endless(&mut self, formula: FormulaId, depth: usize) -> Result<bool> {
        if depth == 0 {
            return Ok(false);
        }
        let set = self.set_of(formula)?;
        Ok(self.has_endless_scalars(&set)? || self.has_endless_containers(&set, depth - 1)?)
    }

    fn has_endless_scalars(&mut self, set: &ValueSet) -> Result<bool> {
        Ok(set.numbers.is_endless() || set.texts.is_endless(&mut self.expander.algebra.languages)?)
    }

    fn has_endless_containers(&mut self, set: &ValueSet, depth: usize) -> Result<bool> {
        for shape in &set.objects {
            if self.is_endless_object(shape, depth)? {
                return Ok(true);
            }
        }
        for shape in &set.arrays {
            if self.is_endless_array(shape, depth)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether some member that may be there has no end of values, and all that must be there have some.
    fn is_endless_object(&mut self, shape: &ObjectShape, depth: usize) -> Result<bool> {
        if !self.is_certain_object(shape, depth)? {
            return Ok(false);
        }
        let has_room = shape.max.is_none_or(|max| max as usize > shape.required.len());
        let asks = |name: &str| shape.implies.iter().any(|(first, _)| **first == *name);
        let mut names: Vec<&str> = shape.named.iter().map(|(name, _)| &**name).collect();
        names.extend(shape.required.iter().map(|name| &**name));
        names.push(UNHEARD_OF);
        for name in names {
            let may_come = shape.required.contains(name) || (has_room && !asks(name));
            // Of a key in doubt nothing is known.
            if may_come
                && let Ok(value) = shape.value_of(name, &mut self.expander.algebra)
                && self.is_endless(value, depth)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether there may be any number of items, or one that has no end of values.
    fn is_endless_array(&mut self, shape: &ArrayShape, depth: usize) -> Result<bool> {
        if shape.repeats || !shape.contains.is_empty() || shape.max == Some(0) {
            return Ok(false);
        }
        if shape.max.is_none() && !shape.unique && shape.prefix.is_empty() {
            return Ok(self.is_certain(shape.rest, depth)? || self.is_endless(shape.rest, depth)?);
        }
        Ok(shape.min <= 1 && self.is_endless(shape.item(0), depth)?)
    }

    /// Whether there is a value for certain.
    fn is_certain(&mut self, formula: FormulaId, depth: usize) -> Result<bool> {
        let set = self.set_of(formula)?;
        if set.null || set.truth || set.falsity || !set.numbers.is_empty() {
            return Ok(true);
        }
        if !set.texts.writes_nothing(&mut self.expander.algebra.languages)? {
            return Ok(true);
        }
        let Some(depth) = depth.checked_sub(1) else { return Ok(false) };
        for shape in &set.arrays {
            if self.is_certain_array(shape, depth)? {
                return Ok(true);
            }
        }
        for shape in &set.objects {
            if self.is_certain_object(shape, depth)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether there is an array for certain that has as few items as may be.
    fn is_certain_array(&mut self, shape: &ArrayShape, depth: usize) -> Result<bool> {
        let (least, named) = (shape.min as usize, shape.prefix.len());
        if shape.repeats
            || shape
                .contains
                .iter()
                .any(|count| count.min > 0 || count.max.is_some_and(|max| max < shape.min))
            || shape.max.is_some_and(|max| max < shape.min)
        {
            return Ok(false);
        }
        if shape.unique && least > 1 {
            return Ok(named == 0 && self.is_endless(shape.rest, depth)?);
        }
        let rest = (least > named).then_some(shape.rest);
        for item in shape.prefix.iter().copied().take(least).chain(rest) {
            if !self.is_certain(item, depth)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether there is an object for certain that has the keys that must be there, and no more others than it takes.
    fn is_certain_object(&mut self, shape: &ObjectShape, depth: usize) -> Result<bool> {
        let count = shape.required.len();
        let is_complete = shape
            .implies
            .iter()
            .all(|(first, second)| !shape.required.contains(&**first) || shape.required.contains(&**second));
        let most = shape.max.map_or(usize::MAX, |max| max as usize);
        if !is_complete || count.max(shape.min as usize) > most {
            return Ok(false);
        }
        for witness in &shape.witnesses {
            if !self.is_borne(shape, witness, depth)? {
                return Ok(false);
            }
        }
        for name in shape.required.iter() {
            if !self.is_certain_member(shape, name, depth)? {
                return Ok(false);
            }
        }
        let mut missing = (shape.min as usize).saturating_sub(count);
        if missing == 0 || self.is_certain_member(shape, UNHEARD_OF, depth)? {
            return Ok(true);
        }
        let asks = |name: &str| shape.implies.iter().any(|(first, _)| **first == *name);
        for (name, _) in
            shape.named.iter().filter(|(name, _)| !shape.required.contains(&**name) && !asks(name))
        {
            missing -= usize::from(self.is_certain_member(shape, name, depth)?);
            if missing == 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a key that must be there bears a witness, or one can that no schema speaks of.
    fn is_borne(&mut self, shape: &ObjectShape, witness: &Witness, depth: usize) -> Result<bool> {
        let algebra = &mut self.expander.algebra;
        for name in shape.required.iter() {
            if witness.value_of(name, algebra)? == FormulaId::ANY {
                return Ok(true);
            }
        }
        if shape.max.is_some() {
            return Ok(false);
        }
        let asked = witness.value_of(UNHEARD_OF, algebra)?;
        let Ok(there) = shape.value_of(UNHEARD_OF, algebra) else { return Ok(false) };
        let both = algebra.formulas.and(there, asked);
        self.is_certain(both, depth)
    }

    /// Whether there is a value for certain for a key. Of a key in doubt nothing is known.
    fn is_certain_member(&mut self, shape: &ObjectShape, name: &str, depth: usize) -> Result<bool> {
        let Ok(value) = shape.value_of(name, &mut self.expander.algebra) else { return Ok(false) };
        self.is_certain(value, depth)
    }
}
