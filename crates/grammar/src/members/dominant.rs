//! What may come where more members never hurt.
//!
//! If no counter has an upper bound, and each candidate has a choice that adds all that any of its choices adds, then what the
//! members to come can add is one sum: that of all these choices. So whether a list can be completed after a member is
//! a comparison for each counter, and no sets of sums are put together. Members of an object that must break one
//! of several conditions are like that: `oneOf` of objects has dozens of them.

use super::conditions::{Candidate, Choice, Conditions, Member, Plan, Slot, State};
use crate::ir::members::Order;

/// What can be added without end.
const ENDLESS: u32 = u32::MAX;

impl Conditions {
    /// The same as [`Conditions::allowed`] for a list in any order, if it is such a list.
    pub(super) fn allowed_by_dominant(&self, state: &State) -> Option<Vec<Member>> {
        let is_such = self.order == Order::Any
            && self.satisfiable
            && matches!(self.plan, Plan::Classes)
            && self.bounds.only_least();
        if !is_such {
            return None;
        }
        let mut most = vec![0_u32; self.bounds.len()];
        let mut add = |counters: &[u32], times: u32| {
            for &counter in counters {
                let sum = &mut most[counter as usize];
                *sum = sum.saturating_add(times);
            }
        };
        let is_left = |entry: u32| !self.is_taken(state, entry);
        for (_, candidate) in (0..).zip(&self.entries).filter(|(entry, _)| is_left(*entry)) {
            add(dominant(candidate)?, 1);
        }
        let supply_of = |supply: Option<(u32, u32)>| {
            supply.map_or(ENDLESS, |(at, supply)| supply.saturating_sub(state.used[at as usize]))
        };
        for family in &self.families {
            add(dominant(&family.candidate)?, supply_of(family.supply));
        }
        let lacking: Vec<u32> = (0..most.len()).map(|at| self.bounds.lacking(&state.amounts, at)).collect();
        let mut allowed = Vec::new();
        let mut add_choices = |slot: Slot, candidate: &Candidate, is_endless: bool| {
            let best = dominant(candidate).unwrap_or_default();
            // What the others add must be enough for what is lacking behind the choice.
            let fits = |choice: &&Choice| {
                let is_met = |(at, (&lacking, &most)): (u32, (&u32, &u32))| {
                    let own = u32::from(choice.counters.contains(&at));
                    let gone = u32::from(most != ENDLESS && !is_endless && best.contains(&at));
                    lacking.saturating_sub(own) <= most - gone
                };
                (0..).zip(lacking.iter().zip(&most)).all(is_met)
            };
            let members = candidate.choices.iter().filter(fits);
            allowed.extend(members.map(|choice| Member { slot, variant: choice.variant }));
        };
        for (entry, candidate) in (0..).zip(&self.entries).filter(|(entry, _)| is_left(*entry)) {
            add_choices(Slot::Entry(entry), candidate, false);
        }
        for (others, family) in (0..).zip(&self.families).filter(|(_, family)| supply_of(family.supply) > 0) {
            add_choices(Slot::Others(others), &family.candidate, family.supply.is_none());
        }
        Some(allowed)
    }
}

/// The counters of the choice that adds all that any choice of a candidate adds; none if there is no such choice.
fn dominant(candidate: &Candidate) -> Option<&[u32]> {
    let most = candidate.choices.iter().max_by_key(|choice| choice.counters.len());
    let most = most.map_or(&[][..], |choice| &choice.counters);
    let holds_all = |choice: &Choice| choice.counters.iter().all(|counter| most.contains(counter));
    candidate.choices.iter().all(holds_all).then_some(most)
}
