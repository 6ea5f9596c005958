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
        if let Some(track) = &self.track {
            return track.distance(track.after(state.position, member));
        }
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

    /// Whether the counters of `state` are no longer below their least: nothing is needed for their sake any more.
    pub fn has_enough(&self, state: &State) -> bool {
        if let Some(track) = &self.track {
            return track.distance(state.position) == 0;
        }
        (0..self.bounds.len()).all(|at| !self.bounds.is_below(&state.amounts, at))
    }

    /// The entries that must still come, each with the variants that it may have, if these are all that `state` needs and
    /// each may come whatever the others are. None if there is more to it: counters that are below their least, entries that
    /// ask for others, or variants of which not all may be left to choose from.
    pub fn needed_entries(&self, state: &State) -> Option<impl Iterator<Item = u32>> {
        // Counters that have enough and no upper bound leave all choices.
        let leaves_all = self.bounds.only_least();
        let has_choice = |entry: usize| !leaves_all && self.entries[entry].choices.len() > 1;
        let is_plain = self.order != Order::Sequence
            && self.track.is_none()
            && self.satisfiable
            && self.implications.is_empty()
            && self.has_enough(state);
        let is_needed = |&entry: &usize| self.required[entry] && self.is_needed(state, entry as u32);
        let mut needed = (0..self.entries.len()).filter(is_needed);
        let is_plain = is_plain && !needed.any(has_choice);
        let all = (0..self.entries.len()).filter(move |entry| is_needed(entry));
        is_plain.then_some(all.map(|entry| entry as u32))
    }

    /// The nodes that may come after what separates two members, where an automaton runs beside the list: by the number
    /// of what separates them.
    pub fn separated(&self, state: &State) -> Option<impl Iterator<Item = State>> {
        let track = self.track.as_ref()?;
        let nodes = track.separated(state.position);
        Some(nodes.iter().map(|&position| state.at_node(position)))
    }

    /// The node that a list stands at beside which an automaton runs.
    pub fn track_node(&self, state: &State) -> Option<u32> {
        self.track.as_ref().map(|_| state.position)
    }

    /// How many members are missing there, at least, until the list may end; nought where there is no such automaton.
    pub fn track_distance(&self, state: &State) -> u32 {
        self.track.as_ref().map_or(0, |track| track.distance(state.position))
    }

    /// The variants that an entry may have.
    pub fn variants(&self, entry: u32) -> impl Iterator<Item = u32> {
        self.entries[entry as usize].choices.iter().map(|choice| choice.variant)
    }

    /// What a list may need at most.
    pub fn most_needed(&self) -> MostNeeded {
        if let Some(track) = &self.track {
            return MostNeeded { entries: vec![true; self.entries.len()], more: track.most_distance() };
        }
        let mut entries = self.required.to_vec();
        if self.order == Order::Sequence {
            entries.fill(true);
        }
        self.implications.asked().for_each(|entry| entries[entry as usize] = true);
        MostNeeded { entries, more: self.bounds.least_members() }
    }
}
