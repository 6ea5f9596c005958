//! Which of several conditions a value bears out at once.
//!
//! The members of a list are counted by what they are, and a member may be counted by several counters. So it is written in
//! one way for each choice of conditions that some value bears out, and for no others. The ways have no value in common
//! wherever that can be said exactly: what can be read in two ways is read in both, and lists within lists would multiply
//! that.
//!
//! There are twice as many choices with each condition more. But where there are many conditions, they mostly come from
//! alternatives that are taken out of each other, and such conditions nearly all hold together: then few of the choices have a
//! value. They are found by dividing the values by one condition after the other.

use smallvec::{SmallVec, smallvec};

use super::super::values::formula::FormulaId;
use super::Emitter;
use crate::error::Result;

/// A value may be written in so many ways.
const MAX_CHOICES: usize = 64;

/// A condition on a value, and what counts the values that bear it out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Condition {
    /// The values that bear it out.
    pub(super) value: FormulaId,
    /// The counter.
    pub(super) counter: u32,
    /// Whether the counter has an upper bound, so that nobody may bear it out uncounted.
    pub(super) is_bounded: bool,
}

/// The values that bear out some conditions.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    /// The values.
    pub(super) value: FormulaId,
    /// The counters of the conditions.
    pub(super) counters: SmallVec<[u32; 4]>,
}

/// All that values may bear out.
pub(super) type Choices = SmallVec<[Choice; 2]>;

impl Emitter<'_> {
    /// The choices that the values of `value` have, each of them counted by the first counter too; nothing if they are too many.
    pub(super) fn choices(
        &mut self,
        value: FormulaId,
        conditions: impl IntoIterator<Item = Condition>,
    ) -> Result<Option<Choices>> {
        let mut choices = Choices::new();
        if !self.expander.is_hollow(value)? {
            choices.push(Choice { value, counters: smallvec![0] });
        }
        for condition in conditions {
            for at in 0..choices.len() {
                if let Some(other) = self.divide(&mut choices[at], condition)? {
                    choices.push(other);
                }
            }
            if choices.len() > MAX_CHOICES {
                return Ok(None);
            }
        }
        Ok(Some(choices))
    }

    /// Leaves those values of a choice that bear out a condition, if there are any, and gives the others.
    fn divide(&mut self, choice: &mut Choice, condition: Condition) -> Result<Option<Choice>> {
        let within = self.expander.algebra.formulas.and(choice.value, condition.value);
        if self.expander.is_hollow(within)? {
            return Ok(None);
        }
        let is_certain = self.expander.is_certain(condition.value);
        let formulas = &mut self.expander.algebra.formulas;
        let others = formulas.not(condition.value);
        let beyond = formulas.and(choice.value, others);
        let rest = if is_certain || condition.is_bounded {
            (!self.expander.is_hollow(beyond)?).then(|| Choice { value: beyond, ..choice.clone() })
        } else {
            // Whoever is in doubt is not counted, and not lost.
            (beyond != FormulaId::NEVER).then(|| choice.clone())
        };
        // Where there are surely no others, the formula need not say so.
        if rest.is_some() || !(is_certain || beyond == FormulaId::NEVER) {
            choice.value = within;
        }
        choice.counters.push(condition.counter);
        Ok(rest)
    }
}
