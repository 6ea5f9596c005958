//! Captures that are certain: spans that are in every parse of the text so far.
//!
//! A capture is certain if there is no parse without it. Whether there is one is found by going through the chart again from
//! the capture's end on, taking only what can be had without it: everything before its end can, and an item behind it can if
//! what brought it there can. If nothing is left in the last set, all parses go through the capture.

use rustc_hash::FxHashSet;
use tokenstile_grammar::{Budget, Result};

use super::captures::Capture;
use super::chart::{Item, OracleState, SetId};
use super::node::START;

/// A capture of the chart: its item and the set in which it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    set: SetId,
    item: Item,
}

/// A capture that is not certain yet, with what can be had without it.
#[derive(Clone, Debug)]
pub(crate) struct Waiting {
    pub(crate) ended: Ended,
    /// The items that can be had without it, for each set from that on in which it ended, as far as they were looked at.
    /// Sets do not change, so neither does this, and a text that goes on only adds to it.
    without: Vec<FxHashSet<Item>>,
}

impl Waiting {
    pub(crate) fn new(ended: Ended) -> Self {
        Waiting { ended, without: Vec::new() }
    }

    /// Forgets the sets that the chart has lost.
    pub(crate) fn go_back(&mut self, mark: Mark) {
        self.without.truncate(mark.sets.saturating_sub(self.ended.set as usize));
    }

    /// The first set that was not looked at.
    fn next(&self) -> SetId {
        self.ended.set + self.without.len() as SetId
    }

    fn has(&self, set: SetId, item: Item) -> bool {
        let at = (set as usize).checked_sub(self.ended.set as usize);
        at.and_then(|at| self.without.get(at)).is_some_and(|items| items.contains(&item))
    }

    fn add(&mut self, item: Item) {
        if let Some(items) = self.without.last_mut() {
            items.insert(item);
        }
    }
}

/// What a text can go on or be complete with.
pub(crate) struct Fronts(Vec<Item>);

/// Where a chart stood, to go back to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    sets: usize,
    bytes: usize,
}

impl OracleState<'_> {
    /// Where the chart stands.
    pub(crate) fn mark(&self) -> Mark {
        Mark { sets: self.sets.len(), bytes: self.text.len() }
    }

    /// Goes back to where the chart stood.
    pub(crate) fn go_back(&mut self, mark: Mark) {
        self.sets.truncate(mark.sets);
        self.text.truncate(mark.bytes);
    }

    /// The captures that ended since `mark`.
    pub(crate) fn ended_since(&self, mark: Mark) -> Vec<Ended> {
        let mut ended = Vec::new();
        for (set, items) in (0..).zip(&self.sets).skip(mark.sets) {
            for &item in &items.items {
                if self.nodes.is_end(item.node, item.at) && self.nodes.capture(item.node).is_some() {
                    ended.push(Ended { set, item });
                }
            }
        }
        ended
    }

    /// The captures of a span that ended.
    pub(crate) fn captures_of(&self, ended: Ended, budget: &Budget) -> Result<Vec<Capture>> {
        self.captures_at(ended.set, ended.item, budget)
    }

    /// The items of the last set that the text can go on or be complete with. All others are there for what they led to.
    pub(crate) fn fronts(&self) -> Fronts {
        let is_front = |item: &Item| {
            let is_whole = item.node == self.root && item.origin == 0;
            let reads = || self.nodes.reads(item.node, item.at);
            (is_whole && self.nodes.is_end(item.node, item.at))
                || self.nodes.awaits_token(item.node, item.at)
                || reads()
        };
        let last = self.sets.last();
        Fronts(last.map(|set| set.items.iter().copied().filter(is_front).collect()).unwrap_or_default())
    }

    /// Whether every parse of the text so far has the capture of `waiting`, where `fronts` are those of the chart. Only the
    /// sets that came since the last time are looked at.
    pub(crate) fn is_certain(&self, waiting: &mut Waiting, fronts: &Fronts, budget: &Budget) -> Result<bool> {
        let ended = waiting.ended;
        for set in waiting.next()..self.sets.len() as SetId {
            let items = &self.sets[set as usize].items;
            waiting.without.push(FxHashSet::default());
            let mut is_stable = false;
            while !is_stable {
                is_stable = true;
                for &item in items {
                    budget.tick()?;
                    let is_new = !waiting.has(set, item) && (set, item) != (ended.set, ended.item);
                    if is_new && self.can_do_without(set, item, waiting) {
                        waiting.add(item);
                        is_stable = false;
                    }
                }
            }
        }
        // Where none is left in some set there is none left behind it.
        let last = self.sets.len() as SetId - 1;
        Ok(fronts.0.iter().all(|&item| !waiting.has(last, item)))
    }

    /// Whether what brings an item to its position can be had without a capture.
    fn can_do_without(&self, set: SetId, item: Item, waiting: &Waiting) -> bool {
        let has = |set: SetId, item: Item| set < waiting.ended.set || waiting.has(set, item);
        let called = || {
            let callers = self.sets[item.origin as usize].callers.get(&item.node);
            let is_root = item.origin == 0 && item.node == self.root;
            is_root || callers.into_iter().flatten().any(|&(caller, _)| has(item.origin, caller))
        };
        if item.at == START && item.origin == set && called() {
            return true;
        }
        if self.nodes.is_spent(item.node) {
            return has(item.origin, Item { at: START, ..item });
        }
        if self.nodes.calls_into(item.node, item.at).is_empty() && !self.nodes.reads_and_calls(item.node) {
            // It has read bytes, or a token, since it began.
            return item.origin < set && has(item.origin, Item { at: START, ..item });
        }
        let all = |way: &[(SetId, Item)]| way.iter().all(|&(set, item)| has(set, item));
        self.ways_into(set, item).iter().any(|way| all(way))
    }
}
