//! Lists of members as nodes.
//!
//! The position of such a node is a number for a [`Spot`]: what the list has had so far, and what comes next. The
//! numbers are given out as spots are met. What may come in a state is decided by
//! [`Conditions`], which are checked against all lists of small layouts elsewhere.

use std::sync::{Arc, Mutex};

use rustc_hash::FxHashMap;
use tokenstile_grammar::ir::members::{Layout, Part};
use tokenstile_grammar::members::{Conditions, Slot, State};
use tokenstile_grammar::{Budget, Result};

use super::node::{At, NodeId};

/// Where a list stands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Spot {
    /// Before the first member.
    Start(State),
    /// After a separator.
    Before(State),
    /// After a key, the value of which is this node; the state counts the member.
    Value(NodeId, State),
    /// After a member.
    After(State),
}

#[derive(Debug, Default)]
struct Spots {
    all: Vec<Spot>,
    numbers: FxHashMap<Spot, At>,
}

/// A list of members.
#[derive(Debug)]
pub(super) struct ListNode {
    pub(super) layout: Arc<Layout>,
    /// The nodes of the parts.
    pub(super) parts: Box<[NodeId]>,
    /// The nodes of the keys of the entries, with their quotes.
    pub(super) keys: Box<[Option<NodeId>]>,
    /// The same of the others.
    pub(super) other_keys: Box<[Option<NodeId>]>,
    /// How many keys there are for the others.
    pub(super) capacities: Box<[Option<u32>]>,
    conditions: Option<Conditions>,
    spots: Mutex<Spots>,
}

impl ListNode {
    pub(super) fn new(
        layout: Arc<Layout>,
        parts: Box<[NodeId]>,
        keys: Box<[Option<NodeId>]>,
        other_keys: Box<[Option<NodeId>]>,
        capacities: Box<[Option<u32>]>,
    ) -> Self {
        let (conditions, spots) = (None, Mutex::default());
        ListNode { layout, parts, keys, other_keys, capacities, conditions, spots }
    }

    /// Finds the conditions, given which nodes generate something, and whether they can be met.
    pub(super) fn settle(&mut self, productive: &[bool], budget: &Budget) -> Result<bool> {
        let is_keys = |part: Part| self.layout.others.iter().any(|others| others.keys == Some(part));
        let is_live = |part: Part| is_keys(part) || productive[self.parts[part as usize].index()];
        let conditions = Conditions::new(&self.layout, &self.capacities, &is_live, budget)?;
        let satisfiable = conditions.is_satisfiable();
        self.spots = Mutex::default();
        self.number(Spot::Start(conditions.start()));
        self.conditions = Some(conditions);
        Ok(satisfiable)
    }

    /// Whether the separator, or a member without a key, is among the nodes that can be empty.
    pub(super) fn may_be_empty(&self, nullable: &[bool]) -> bool {
        let layout = &self.layout;
        let entries = layout.entries.iter().filter(|entry| entry.key.is_none()).map(|entry| &entry.variants);
        let others =
            layout.others.iter().filter(|others| others.keys.is_none()).map(|others| &others.variants);
        let values = entries.chain(others).flatten().map(|variant| variant.value);
        values.chain([layout.separator]).any(|part| nullable[self.parts[part as usize].index()])
    }

    /// Whether the separator is among the nodes that generate something.
    pub(super) fn separates(&self, productive: &[bool]) -> bool {
        productive[self.parts[self.layout.separator as usize].index()]
    }

    /// Whether the list may end at `at`.
    pub(super) fn is_end(&self, at: At) -> bool {
        match self.spot(at) {
            Spot::Start(state) | Spot::After(state) => self.conditions().may_end(&state),
            Spot::Before(_) | Spot::Value(..) => false,
        }
    }

    /// The nodes that can be called from `at`, each with the position after it has ended.
    pub(super) fn calls(&self, at: At) -> Vec<(NodeId, At)> {
        match self.spot(at) {
            Spot::Start(state) | Spot::Before(state) => self.members(&state),
            Spot::Value(value, state) => vec![(value, self.number(Spot::After(state)))],
            Spot::After(state) if self.conditions().allowed(&state).is_empty() => Vec::new(),
            Spot::After(state) => {
                let separator = self.parts[self.layout.separator as usize];
                vec![(separator, self.number(Spot::Before(state)))]
            }
        }
    }

    /// The keys, or the values where there are none, of the members that may come.
    fn members(&self, state: &State) -> Vec<(NodeId, At)> {
        let mut calls = Vec::new();
        for member in self.conditions().allowed(state) {
            let (key, variants) = match member.slot {
                Slot::Entry(at) => (self.keys[at as usize], &self.layout.entries[at as usize].variants),
                Slot::Others(at) => (self.other_keys[at as usize], &self.layout.others[at as usize].variants),
            };
            let value = self.parts[variants[member.variant as usize].value as usize];
            let next = self.conditions().take(state, member);
            calls.push(match key {
                Some(key) => (key, self.number(Spot::Value(value, next))),
                None => (value, self.number(Spot::After(next))),
            });
        }
        calls
    }

    /// The positions that were met.
    pub(super) fn positions(&self) -> std::ops::Range<At> {
        0..self.spots.lock().expect("nothing panics while it is held").all.len() as At
    }

    fn conditions(&self) -> &Conditions {
        self.conditions.as_ref().expect("they are found before the node is used")
    }

    fn spot(&self, at: At) -> Spot {
        self.spots.lock().expect("nothing panics while it is held").all[at as usize].clone()
    }

    fn number(&self, spot: Spot) -> At {
        let mut spots = self.spots.lock().expect("nothing panics while it is held");
        if let Some(&known) = spots.numbers.get(&spot) {
            return known;
        }
        let at = spots.all.len() as At;
        spots.all.push(spot.clone());
        spots.numbers.insert(spot, at);
        at
    }
}
