//! What a list takes where all that it needs are certain keys.
//!
//! The way through such a list is the same members whatever the order, so what it takes is what they take together: a sum
//! over the entries that are left, and not a walk through the places between them, of which there is one for each set of
//! keys that the list has had. The parts of a key are those of the key tree. Where some keys are gone several of them may
//! be read as one terminal, which takes no more than they do; so what is found at a place is never more than this sum.
//!
//! It is left to the walk where members have no keys, where counters ask for members, where entries ask for others, and
//! where nothing is needed but something has been begun that has to come.

use std::sync::Arc;

use tokenstile_grammar::machine::ListId;
use tokenstile_grammar::members::{Member, Slot};

use super::{Among, Next, PartCosts, PlaceCosts, Planner};
use crate::config::lists::{Finder, Phase, Place};
use crate::generation::Generation;
use crate::terminal::NO_END;

/// What the members of a list take, in tokens.
pub(super) struct MemberCosts {
    /// The quote before the first key.
    quote: u32,
    /// The separator and the quote before each other key.
    opening: u32,
    /// The key tree's texts up to each of its nodes.
    texts: Box<[u32]>,
    entries: Box<[EntryCosts]>,
}

/// What an entry takes.
struct EntryCosts {
    /// The node at which its key ends.
    node: u32,
    /// What follows the key, by variant.
    values: Box<[u32]>,
    /// The key and the cheapest value.
    least: u32,
}

impl MemberCosts {
    /// How many numbers there are.
    pub(super) fn len(&self) -> usize {
        self.texts.len() + self.entries.iter().map(|entry| 2 + entry.values.len()).sum::<usize>()
    }

    /// What it takes to read a member from a node of the key tree on.
    fn read_from(&self, node: u32, entry: u32, variant: u32) -> u32 {
        let EntryCosts { node: end, values, .. } = &self.entries[entry as usize];
        let key = match (self.texts[*end as usize], self.texts[node as usize]) {
            (NO_END.., _) => NO_END,
            (end, before) => end - before,
        };
        (key + values[variant as usize]).min(NO_END)
    }
}

impl Generation {
    /// What it takes to complete a list from a place, if that is a sum over certain keys.
    pub(super) fn sum_of_members(
        &self,
        list: ListId,
        at: u32,
        costs: &mut impl PartCosts,
        known: &mut PlaceCosts,
    ) -> Option<u32> {
        let Place { state, phase } = self.lists().place(at).place;
        let members = self.known_member_costs(list, costs, known)?;
        let conditions = &self.machine().list(list).conditions;
        let needed = || conditions.needed_entries(&self.lists().state(state).had.state);
        let sum = |from: Option<u32>| {
            let (mut sum, mut count) = (0_u32, 0_u32);
            for entry in needed()?.filter(|&entry| Some(entry) != from) {
                sum = (sum + members.entries[entry as usize].least).min(NO_END);
                count += 1;
            }
            Some((sum, count))
        };
        let openings = |count: u32| members.opening.saturating_mul(count);
        let total = match phase {
            Phase::After => {
                let (sum, count) = sum(None)?;
                sum.saturating_add(openings(count))
            }
            Phase::Start | Phase::Quoted => {
                let (sum, count) = sum(None)?;
                let others = match (phase, count) {
                    (Phase::Start, 0) => return Some(0),
                    (_, 0) => return None,
                    _ => openings(count - 1),
                };
                let quote = if phase == Phase::Start { members.quote } else { 0 };
                sum.saturating_add(others).saturating_add(quote)
            }
            Phase::Key(node) => {
                let _ = needed()?;
                let planner = Planner { generation: self, finder: Finder::new(self, state), state };
                let Member { slot: Slot::Entry(entry), variant } =
                    planner.choose(Among::Below(node), costs)?
                else {
                    return None;
                };
                let (sum, count) = sum(Some(entry))?;
                let own = members.read_from(node, entry, variant);
                sum.saturating_add(openings(count)).saturating_add(own)
            }
            _ => return None,
        };
        Some(total.min(NO_END))
    }

    /// The place after the next whole member on the way to the end of a list, and what that member takes; the end, if the list
    /// `may_end` and does. None if the member is one of others, or if members have no keys.
    pub(super) fn next_by_members(
        &self,
        list: ListId,
        at: u32,
        may_end: bool,
        costs: &mut impl PartCosts,
        known: &mut PlaceCosts,
    ) -> Option<Next> {
        let Place { state, phase } = self.lists().place(at).place;
        let members = self.known_member_costs(list, costs, known)?;
        let among = match phase {
            Phase::Start | Phase::After if may_end && self.allowed(state).may_end => return Some(Next::End),
            Phase::Start | Phase::After | Phase::Before | Phase::Quoted => Among::All,
            Phase::Key(node) => Among::Below(node),
            Phase::OtherKey { .. } | Phase::Cut(_) => return None,
        };
        let planner = Planner { generation: self, finder: Finder::new(self, state), state };
        let member = planner.choose(among, costs)?;
        let Slot::Entry(entry) = member.slot else { return None };
        let (before, node) = match phase {
            Phase::After => (members.opening, 0),
            Phase::Start | Phase::Before => (members.quote, 0),
            Phase::Key(node) => (0, node),
            _ => (0, 0),
        };
        let cost = before.saturating_add(members.read_from(node, entry, member.variant)).min(NO_END);
        let after = planner.finder.after(member, planner.finder.had.seen);
        let next = self.lists().intern_place(Place { state: after, phase: Phase::After });
        Some(Next::After(cost, next))
    }

    /// What all entries take together that are needed at a place of a list, each of them whole, if that is all that is
    /// needed there.
    pub(crate) fn sum_of_needed(
        &self,
        list: ListId,
        place: u32,
        costs: &mut impl PartCosts,
        known: &mut PlaceCosts,
    ) -> Option<u32> {
        let place = if place == 0 { self.list_start(list) } else { place };
        let members = self.known_member_costs(list, costs, known)?;
        let Place { state, phase } = self.lists().place(place).place;
        if let Phase::Cut(_) = phase {
            return None;
        }
        let needed =
            self.machine().list(list).conditions.needed_entries(&self.lists().state(state).had.state)?;
        let whole = |entry: u32| members.entries[entry as usize].least.saturating_add(members.opening);
        Some(needed.fold(0_u32, |sum, entry| sum.saturating_add(whole(entry))).min(NO_END))
    }

    fn known_member_costs(
        &self,
        list: ListId,
        costs: &mut impl PartCosts,
        known: &mut PlaceCosts,
    ) -> Option<Arc<MemberCosts>> {
        if let Some(members) = known.members.get(&list) {
            return members.clone();
        }
        let members = self.member_costs(list, costs).map(Arc::new);
        known.members.insert(list, members.clone());
        members
    }

    /// What the members of a list take; none if some have no keys.
    fn member_costs(&self, id: ListId, costs: &mut impl PartCosts) -> Option<MemberCosts> {
        let list = self.machine().list(id);
        let has_keys = list.keys.ranks.iter().all(Option::is_some)
            && list.others.iter().all(|others| others.keys.is_some());
        if !has_keys {
            return None;
        }
        let (quote, separator) = (self.terminal(list.quote), self.terminal(list.separator));
        let opening = self.terminals().concat(separator, quote);
        let mut texts = vec![0; list.keys.nodes.len()];
        let mut ends = vec![0; list.entries.len()];
        // Parents come first.
        for (at, node) in (0..).zip(&list.keys.nodes) {
            for &below in &node.below {
                let text = self.terminal(list.key_texts[below as usize]);
                texts[below as usize] = (texts[at as usize] + costs.terminal(self, text)).min(NO_END);
            }
            if node.ends {
                ends[list.keys.entries[node.ranks.start as usize] as usize] = at;
            }
        }
        let entry = |(entry, &node): (u32, &u32)| {
            let variants = &list.entries[entry as usize];
            let values: Box<[u32]> = variants
                .iter()
                .map(|value| {
                    let head = value.head.map_or(0, |head| costs.terminal(self, self.terminal(head)));
                    (head + value.rule.map_or(0, |rule| costs.rule(rule))).min(NO_END)
                })
                .collect();
            // The one that is chosen: the cheapest by its rule, of several the first.
            let mut rule = |variant: u32| variants[variant as usize].rule.map_or(0, |rule| costs.rule(rule));
            let chosen = list.conditions.variants(entry).min_by_key(|&variant| (rule(variant), variant));
            let value = chosen.map_or(NO_END, |variant| values[variant as usize]);
            EntryCosts { node, values, least: (texts[node as usize] + value).min(NO_END) }
        };
        let entries = (0..).zip(&ends).map(entry).collect();
        Some(MemberCosts {
            quote: costs.terminal(self, quote),
            opening: costs.terminal(self, opening),
            texts: texts.into(),
            entries,
        })
    }
}
