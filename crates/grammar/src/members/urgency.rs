//! Which member brings a list nearer to where it may end.

use super::conditions::{Conditions, Member, Slot, State};
use crate::ir::members::Order;

/// What a list may need at most, whatever it has had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MostNeeded {
    /// Whether each entry may be needed.
    pub entries: Vec<bool>,
    /// How many members may be needed besides, of any kind.
    pub more: u32,
}

impl Conditions {
    /// How much `member` is needed in `state`: entries that must come are first, then what adds most to counters that are
    /// below their least, then all others. Going on with the least number comes to an end of the list.
    pub fn urgency(&self, state: &State, member: Member) -> u32 {
        if let Slot::Entry(entry) = member.slot
            && self.is_needed(state, entry)
        {
            return 0;
        }
        let candidate = match member.slot {
            Slot::Entry(entry) => &self.entries[entry as usize],
            Slot::Others(others) => &self.families[others as usize].candidate,
        };
        let choice = candidate.choices.iter().find(|choice| choice.variant == member.variant);
        let counters = choice.map(|choice| &*choice.counters).unwrap_or_default();
        let adds = counters.iter().filter(|&&counter| self.bounds.is_below(&state.amounts, counter as usize));
        1 + self.bounds.len() as u32 - adds.count() as u32
    }

    /// What a list may need at most.
    pub fn most_needed(&self) -> MostNeeded {
        let mut entries = self.required.to_vec();
        if self.order == Order::Sequence {
            entries.fill(true);
        }
        self.implications.asked().for_each(|entry| entries[entry as usize] = true);
        MostNeeded { entries, more: self.bounds.least_members() }
    }
}
