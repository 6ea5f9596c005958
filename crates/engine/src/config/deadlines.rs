//! Rules that may take so many tokens.
//!
//! While such a rule is read there is a frame for it on the stack, which says after how many tokens the rule began. Bytes
//! know nothing of tokens, so a rule that is entered gets a frame that says nothing yet, and after each token these are
//! given the number of tokens so far. Where a rule began that many tokens ago, the stacks in which it goes on are dropped,
//! so that it ends; unless no other stack is left, because it cannot end here. Then it goes on until it can. Of rules that
//! cannot all end, those end that began last.
//!
//! A rule that could only end with a marker closes without it where it has another way out, see [`super::spent`].
//!
//! A matcher with a budget says which stacks it can still complete. A rule that could only end where too many tokens would
//! be needed goes on as well: the budget comes first.
//!
//! That a frame says when and not how much is left makes a configuration stay the same while tokens are read. Masks do
//! not depend on it, see [`super::truncate`]. Nor does what it takes to complete a text, see [`Generation::timeless`].

use std::collections::BTreeSet;

use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHashSet};

use super::sets::{Item, SetId};
use super::symbol::{Symbol, SymbolKind};
use crate::generation::Generation;

/// What a frame says of a rule that was entered since the last token.
const JUST_NOW: u32 = 0;

/// How many rules are made to end at once, at most.
const MOST_AT_ONCE: usize = 64;

/// The number of tokens after which no rule has to end.
const NEVER: u32 = u32::MAX;

/// What is known of the sets of a generation.
#[derive(Default)]
pub(crate) struct Deadlines {
    /// The number of tokens after which a rule in a set has to end; 0 if one was entered just now.
    least: Mutex<FxHashMap<SetId, u32>>,
    /// The same set where no frame says when its rule began.
    timeless: Mutex<FxHashMap<SetId, SetId>>,
}

impl Deadlines {
    /// The memory that they take.
    pub(crate) fn memory_bytes(&self) -> usize {
        const AN_ENTRY: usize = 16;
        (self.least.lock().len() + self.timeless.lock().len()) * AN_ENTRY
    }
}

fn frame_since(symbol: Symbol, began: u32) -> Symbol {
    match symbol.kind() {
        SymbolKind::Frame(node, _) => Symbol::frame(node, began),
        _ => symbol,
    }
}

/// What became of a configuration.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settled {
    pub(crate) config: SetId,
    /// Whether rules closed that end only where their tokens have run out.
    pub(crate) closed: bool,
}

impl Generation {
    /// The configuration after so many tokens, where `config` was reached by the bytes of the last. `may` says of a set of
    /// some of its stacks whether the others may be dropped, where it is told whether there may be such among these as only
    /// go on from where those of the set may end: they are in rules that were entered just now.
    pub(crate) fn settle(&self, config: SetId, tokens: u32, may: impl Fn(SetId, bool) -> bool) -> Settled {
        if !self.machine().counts_tokens || self.deadline(config) > tokens {
            return Settled { config, closed: false };
        }
        let began = tokens.saturating_add(1);
        let (settled, closed) = self.with_closed(self.with_beginnings(config, began), tokens);
        let overdue = self.overdue(settled, tokens);
        let entered_just_now = overdue.last().is_some_and(|last| last.0 == began);
        let mut overdue: Vec<Symbol> = overdue.into_iter().map(|(_, frame)| frame).collect();
        // Others are below these, and can end when these have.
        overdue.drain(..overdue.len().saturating_sub(MOST_AT_ONCE));
        let common = self.common(settled, tokens, &overdue);
        let mut number = 0;
        overdue.retain(|_| {
            number += 1;
            common >> (number - 1) & 1 == 0
        });
        let is_left = |config| !entered_just_now || self.goes_on(config);
        let config = self.without_frames(settled, tokens, &overdue, |config| {
            is_left(config) && may(config, entered_just_now)
        });
        Settled { config, closed }
    }

    /// The same configuration where the frames of rules that were entered just now say when they began.
    fn with_beginnings(&self, config: SetId, began: u32) -> SetId {
        let entered = |symbol| match self.counted_frame(symbol) {
            Some((_, JUST_NOW)) => Some(frame_since(symbol, began)),
            _ => Some(symbol),
        };
        let is_settled = |set| self.deadline(set) > JUST_NOW;
        self.rewrite(config, &mut FxHashMap::default(), is_settled, entered)
    }

    /// The same configuration with what follows the rules that close here because they have had their tokens, and whether
    /// there are any.
    fn with_closed(&self, config: SetId, tokens: u32) -> (SetId, bool) {
        let (mut config, mut closed) = (config, false);
        // What follows may be a rule that may have no tokens at all.
        loop {
            let behind = self.behind_spent(config, tokens);
            let more = self.with_beginnings(behind, tokens.saturating_add(1));
            let union = self.sets().union(config, more);
            if union == config {
                return (config, closed);
            }
            (config, closed) = (union, true);
        }
    }

    /// The same configuration where no frame says when its rule began. Both read the same, and are completed alike.
    pub(crate) fn timeless(&self, config: SetId) -> SetId {
        if !self.machine().counts_tokens {
            return config;
        }
        let forget = |symbol| self.counted_frame(symbol).map_or(symbol, |_| frame_since(symbol, JUST_NOW));
        let is_timeless = |set| self.deadline(set) == NEVER;
        let known = &mut self.deadlines().timeless.lock();
        self.rewrite(config, known, is_timeless, |symbol| Some(forget(symbol)))
    }

    /// The stacks without any of these frames, if they may do; otherwise without those that began last.
    fn without_frames(
        &self,
        config: SetId,
        tokens: u32,
        frames: &[Symbol],
        may: impl Fn(SetId) -> bool,
    ) -> SetId {
        if frames.is_empty() {
            return config;
        }
        let without = |config: SetId, frames: &[Symbol]| {
            let keep = |symbol| (!frames.contains(&symbol)).then_some(symbol);
            let is_early = |set| self.deadline(set) > tokens;
            let left = self.rewrite(config, &mut FxHashMap::default(), is_early, keep);
            (left != SetId::DEAD && (left == config || may(left))).then_some(left)
        };
        if let Some(all) = without(config, frames) {
            return all;
        }
        frames.iter().rev().fold(config, |left, &frame| without(left, &[frame]).unwrap_or(left))
    }

    /// Whether a text may end, or anything can be read: not if all terminals have nothing left but to end.
    fn goes_on(&self, config: SetId) -> bool {
        let reads = |symbol: Symbol| match symbol.kind() {
            SymbolKind::Terminal(state) => !self.terminals().row(state).is_empty(),
            SymbolKind::Token(_) => !self.is_spent_mark(symbol),
            SymbolKind::Frame(..) => true,
        };
        self.sets().ends(config) || self.sets().items(config).iter().any(|item| reads(item.0))
    }

    /// Which of the frames are on every stack of a set, as bits.
    fn common(&self, set: SetId, tokens: u32, frames: &[Symbol]) -> u64 {
        let bit = |symbol: Symbol| match frames.iter().position(|&frame| frame == symbol) {
            Some(at) => 1_u64 << at,
            None => 0,
        };
        let in_all = |at: SetId, known: &FxHashMap<SetId, u64>| {
            let of_item = |&(symbol, rest): &Item| bit(symbol) | known[&rest];
            let in_items = self.sets().items(at).iter().map(of_item).fold(u64::MAX, |all, item| all & item);
            if self.sets().ends(at) { 0 } else { in_items }
        };
        let is_early = |at| (self.deadline(at) > tokens).then_some(0);
        self.fold(set, &mut FxHashMap::default(), is_early, in_all)
    }

    /// The frame of a rule whose tokens are counted: how many there may be, and what the frame says.
    fn counted_frame(&self, symbol: Symbol) -> Option<(u32, u32)> {
        match symbol.kind() {
            SymbolKind::Frame(node, began) => Some((self.machine().node(node).max_tokens?, began)),
            _ => None,
        }
    }

    /// The number of tokens after which the rule of a frame has to end.
    pub(super) fn deadline_of(&self, symbol: Symbol) -> u32 {
        match self.counted_frame(symbol) {
            None => NEVER,
            Some((_, JUST_NOW)) => 0,
            Some((most, began)) => (began - 1).saturating_add(most),
        }
    }

    /// The least of the deadlines in a set.
    pub(super) fn deadline(&self, set: SetId) -> u32 {
        let least = |at: SetId, known: &FxHashMap<SetId, u32>| {
            let of_item = |&(symbol, rest): &Item| self.deadline_of(symbol).min(known[&rest]);
            self.sets().items(at).iter().map(of_item).min().unwrap_or(NEVER)
        };
        self.fold(set, &mut self.deadlines().least.lock(), |_| None, least)
    }

    /// The frames whose deadline is not after `tokens`, by when they began.
    fn overdue(&self, set: SetId, tokens: u32) -> BTreeSet<(u32, Symbol)> {
        let mut found = BTreeSet::new();
        let mut seen: FxHashSet<SetId> = FxHashSet::from_iter([set]);
        let mut stack = vec![set];
        while let Some(at) = stack.pop() {
            for &(symbol, rest) in self.sets().items(at) {
                if let Some((_, began)) = self.counted_frame(symbol)
                    && self.deadline_of(symbol) <= tokens
                {
                    found.insert((began, symbol));
                }
                if self.deadline(rest) <= tokens && seen.insert(rest) {
                    stack.push(rest);
                }
            }
        }
        found
    }
}
