//! Arrays of which no two items are equal.
//!
//! While such an array is read there is a frame for it on the stack, which says what the array was so far: a [`ledger`]. The
//! steps of bytes know nothing of it. Before a byte is read the frames are given what the array is with that byte, and
//! stacks in which an item turns out to be equal to one before it are dropped. So all that is known of configurations, of
//! their tops and of their masks is shared with arrays that may have equal items: masks are made for the configuration
//! with its ledgers [forgotten](Generation::forgetful), and the few tokens that may make two items equal are then read one
//! by one.
//!
//! *No dead ends.* An item under way may be such that all ways to complete it are taken: `{"a": true` where there is
//! nothing to add, and `[{"a": true}, ...`. Whether there is another way is looked for along the items before, see
//! [`search`]. The search ends after so many steps, and believes that there is then: with ten keys of one value each that
//! come in any order a dead end is possible. Between items there always is another way: an array whose items may run out
//! is no such rule, see `frontends/json_schema/emit/endless.rs` of the grammar crate.
//!
//! - [`pieces`]: the values, hash-consed, with [`number`].
//! - [`ledger`]: reading an array; [`seen`]: the items that it has had; [`rivals`]: those that the one under way is like.
//! - [`ahead`]: whether an item is sure to be able to differ, and [`search`]: whether it can still differ.
//! - [`crossing`]: the tokens that may make items equal.
//! - [`settling`]: the way to where nothing that has to come may be equal to something before, for budgets.

mod ahead;
mod crossing;
mod ledger;
mod number;
mod pieces;
mod rivals;
mod search;
mod seen;
mod settling;

use std::sync::Arc;

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::sets::SetId;
use super::symbol::{Symbol, SymbolKind};
use crate::carry::{Carrier, Way, Work};
use crate::generation::Generation;
use ahead::Position;
use ledger::{Ledger, Outcome, Standing};
use pieces::{PieceId, Pieces};

pub(crate) use crossing::Crossing;
pub(crate) use pieces::Copies;

/// What a frame carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Entry(u32);

impl Entry {
    /// The array has not begun.
    const NEW: Self = Entry(0);
    /// Of the array nothing is known, and its items are not compared.
    const FORGOTTEN: Self = Entry(u32::MAX);

    fn of(ledger: PieceId) -> Self {
        Entry(ledger.0 + 1)
    }

    fn piece(self) -> Option<PieceId> {
        (self != Entry::NEW && self != Entry::FORGOTTEN).then(|| PieceId(self.0 - 1))
    }
}

/// What is known of the sets of a generation.
#[derive(Default)]
pub(crate) struct Distinct {
    pieces: Pieces,
    /// What the frames of a set carry, each once, but for what is forgotten.
    entries: Mutex<FxHashMap<SetId, Arc<[Entry]>>>,
    /// The same set where all is forgotten.
    forgetful: Mutex<FxHashMap<SetId, SetId>>,
    /// Whether the items under way can still differ from all before.
    can_differ: Mutex<FxHashMap<SetId, bool>>,
    /// Whether there is a text or number without end ahead of where all is forgotten.
    endless_ahead: Mutex<FxHashMap<(SetId, Position), bool>>,
}

impl Distinct {
    /// The memory that they take.
    pub(crate) fn memory_bytes(&self) -> usize {
        const AN_ENTRY: usize = 24;
        let sets = self.entries.lock().len()
            + self.forgetful.lock().len()
            + self.can_differ.lock().len()
            + self.endless_ahead.lock().len();
        self.pieces.memory_bytes() + sets * AN_ENTRY
    }

    fn ledger(&self, entry: Entry) -> Ledger {
        entry.piece().map_or(Ledger::NEW, |piece| self.pieces.ledger(piece))
    }

    /// What a frame carries after a byte; none if two items are equal, or it is no array.
    fn after(&self, entry: Entry, byte: u8) -> Option<Entry> {
        match self.pieces.read(self.ledger(entry), byte) {
            Outcome::Goes(ledger) => Some(Entry::of(ledger)),
            Outcome::Equal | Outcome::Misfit => None,
        }
    }

    /// The same after some bytes.
    fn after_all(&self, entry: Entry, bytes: &[u8]) -> Option<Entry> {
        bytes.iter().try_fold(entry, |entry, &byte| self.after(entry, byte))
    }
}

impl Generation {
    /// What the frame of an array whose items are compared carries.
    fn entry(&self, symbol: Symbol) -> Option<Entry> {
        match symbol.kind() {
            SymbolKind::Frame(node, entry) if self.machine().node(node).distinct_items => Some(Entry(entry)),
            _ => None,
        }
    }

    /// What the frames of a set carry, each once, but for what is forgotten.
    fn entries(&self, set: SetId) -> Arc<[Entry]> {
        let all = |at: SetId, known: &FxHashMap<SetId, Arc<[Entry]>>| {
            let entry = |symbol| self.entry(symbol).filter(|&entry| entry != Entry::FORGOTTEN);
            let items = self.sets().items(at);
            if let &[(symbol, rest)] = items
                && entry(symbol).is_none()
            {
                return Arc::clone(&known[&rest]);
            }
            let mut entries: SmallVec<[Entry; 8]> = SmallVec::new();
            for &(symbol, rest) in items {
                entries.extend(entry(symbol));
                entries.extend_from_slice(&known[&rest]);
            }
            entries.sort_unstable();
            entries.dedup();
            entries.as_slice().into()
        };
        self.fold(set, &mut self.distinct().entries.lock(), |_| None, all)
    }

    /// The stacks of `set` with other entries, without those that have an entry for which there is none.
    fn with_entries(
        &self,
        set: SetId,
        done: &mut FxHashMap<SetId, SetId>,
        change: impl Fn(Entry) -> Option<Entry>,
    ) -> SetId {
        let is_same = |set| self.entries(set).is_empty();
        self.rewrite(set, done, is_same, |symbol| match (self.entry(symbol), symbol.kind()) {
            (Some(entry), SymbolKind::Frame(node, _)) if entry != Entry::FORGOTTEN => {
                Some(Symbol::frame(node, change(entry)?.0))
            }
            _ => Some(symbol),
        })
    }

    /// The configuration whose frames know that `byte` comes, and have no two items that are equal then.
    #[inline]
    pub(super) fn before_byte(&self, config: SetId, byte: u8) -> SetId {
        if self.machine().compares_items { self.compare_items(config, byte) } else { config }
    }

    fn compare_items(&self, config: SetId, byte: u8) -> SetId {
        let before = self.entries(config);
        let after: SmallVec<[Option<Entry>; 8]> =
            before.iter().map(|&entry| self.distinct().after(entry, byte)).collect();
        if before.iter().zip(&after).all(|(&before, &after)| Some(before) == after) {
            return config;
        }
        self.with_entries(config, &mut FxHashMap::default(), |entry| {
            before.binary_search(&entry).ok().and_then(|at| after[at])
        })
    }

    /// The configuration that reads the same, and compares no items. None if `config` compares none.
    pub(crate) fn forgetful(&self, config: SetId) -> Option<SetId> {
        if !self.machine().compares_items || self.entries(config).is_empty() {
            return None;
        }
        let mut known = self.distinct().forgetful.lock();
        Some(self.with_entries(config, &mut known, |_| Some(Entry::FORGOTTEN)))
    }

    /// Whether there is a stack of which no item under way may turn out to be equal to one before.
    fn has_free_stack(&self, config: SetId) -> bool {
        let mut seen: SmallVec<[SetId; 16]> = SmallVec::from_slice(&[config]);
        let mut at = 0;
        while let Some(&set) = seen.get(at) {
            if self.sets().ends(set) {
                return true;
            }
            for &(symbol, rest) in self.sets().items(set) {
                let entry = self.entry(symbol).filter(|&entry| entry != Entry::FORGOTTEN);
                let standing = entry.map(|entry| self.distinct().ledger(entry).standing());
                if standing != Some(Standing::Rivalled) && !seen.contains(&rest) {
                    seen.push(rest);
                }
            }
            at += 1;
        }
        false
    }
}

/// The frame of an array of which nothing is known.
pub(super) fn forgotten(node: tokenstile_grammar::machine::NodeId) -> Symbol {
    Symbol::frame(node, Entry::FORGOTTEN.0)
}

impl Carrier {
    /// The entry of a frame in the other generation. None if there was not enough work left for it.
    pub(super) fn carry_entry(&mut self, way: Way<'_>, entry: u32, work: &mut Work) -> Option<u32> {
        let (from, to) = (&way.from.distinct().pieces, &way.to.distinct().pieces);
        let entry = Entry(entry);
        let Some(piece) = entry.piece() else { return Some(entry.0) };
        Some(Entry::of(to.carry(from, piece, &mut self.pieces, work)?).0)
    }
}
