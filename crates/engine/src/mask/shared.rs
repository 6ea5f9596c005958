//! The token tables that all grammars of a vocabulary share.
//!
//! Keyed by the fingerprint of a terminal's state, so a JSON string has one table in the process however many schemas
//! have one. Bounded in bytes: when full, the tables that were asked for least recently go. Whoever holds a table
//! keeps it.

use std::hash::Hash;
use std::sync::Arc;

use hashbrown::HashMap;
use parking_lot::Mutex;

use super::compute::KeptPart;
use super::table::TerminalTable;
use crate::config::SetId;
use crate::limits::PROCESS;
use crate::seldom::Seldom;
use crate::terminal::TerminalId;
use crate::vocab::trie::NodeIndex;

/// What a table is for: a state, by its fingerprint, and a subtree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct TableKey {
    pub(super) state: u128,
    /// The number of the trie plus one; 0 is all tokens, whatever trie is walked for them.
    pub(super) trie: u64,
    pub(super) node: NodeIndex,
}

/// Tables by what they are for.
#[derive(Default)]
pub(crate) struct SharedTables(Mutex<State>);

#[derive(Default)]
struct State {
    tables: HashMap<TableKey, (Arc<TerminalTable>, u64)>,
    bytes: usize,
    clock: u64,
}

impl SharedTables {
    /// The table of `key`, made by `make` if there is none. Others may make it at the same time; one is kept.
    pub(super) fn get_or_make(
        &self,
        key: TableKey,
        make: impl FnOnce() -> TerminalTable,
    ) -> Arc<TerminalTable> {
        if let Some(table) = self.get(key) {
            return table;
        }
        let table = Arc::new(make());
        let mut state = self.0.lock();
        state.clock += 1;
        let clock = state.clock;
        if let Some((known, _)) = state.tables.get(&key) {
            return Arc::clone(known);
        }
        state.bytes += table.memory_bytes();
        state.tables.insert(key, (Arc::clone(&table), clock));
        if state.bytes > PROCESS.shared_tables() {
            state.evict();
        }
        table
    }

    fn get(&self, key: TableKey) -> Option<Arc<TerminalTable>> {
        let mut state = self.0.lock();
        state.clock += 1;
        let clock = state.clock;
        let (table, used) = state.tables.get_mut(&key)?;
        *used = clock;
        Some(Arc::clone(table))
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.0.lock().bytes
    }
}

impl State {
    /// Drops the half that was asked for least recently.
    fn evict(&mut self) {
        let mut uses: Vec<u64> = self.tables.values().map(|(_, used)| *used).collect();
        let middle = uses.len() / 2;
        let (_, &mut median, _) = uses.select_nth_unstable(middle);
        self.tables.retain(|_, (_, used)| *used > median);
        self.bytes = self.tables.values().map(|(table, _)| table.memory_bytes()).sum();
    }
}

/// The tokens that a key loses for what it excludes: sorted.
pub(crate) struct Lost(pub(super) Box<[u32]>);

/// What tells the losses of a generation apart.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct LostId(usize);

impl Lost {
    pub(super) fn id(self: &Arc<Self>) -> LostId {
        LostId(Arc::as_ptr(self) as usize)
    }
}

/// What a generation knows of subtrees, by the numbers that things have there.
pub(crate) struct Memo<K, V> {
    values: Seldom<boxcar::Vec<Arc<V>>>,
    index: Mutex<HashMap<K, usize>>,
}

/// The tables of states for subtrees.
pub(crate) type SubtreeTables = Memo<(u64, NodeIndex, TerminalId), TerminalTable>;
/// What a key loses for what it excludes, for subtrees.
pub(crate) type LostByKey = Memo<(u64, NodeIndex, TerminalId), Lost>;
/// What keys lose, by the nodes of a trie: most keys lose the same, a closing quote.
pub(crate) type LostByNodes = Memo<(u64, Box<[NodeIndex]>), Lost>;
/// The masks of plain strings on top of stacks without what a key loses, for subtrees.
pub(crate) type KeyMasks = Memo<(u64, NodeIndex, TerminalId, SetId, LostId), KeptPart>;
/// The masks of states on top of stacks, for subtrees.
pub(crate) type SubtreeMasks = Memo<(u64, NodeIndex, TerminalId, SetId), KeptPart>;

impl<K, V> Default for Memo<K, V> {
    fn default() -> Self {
        Memo { values: Seldom::default(), index: Mutex::default() }
    }
}

impl<K: Eq + Hash, V> Memo<K, V> {
    /// The value of `key`, made by `make` if there is none. The lock is not held meanwhile.
    pub(super) fn get_or_make(&self, key: K, make: impl FnOnce() -> Arc<V>) -> &Arc<V> {
        let known = self.index.lock().get(&key).copied();
        let at = known.unwrap_or_else(|| {
            let at = self.values.push(make());
            self.index.lock().insert(key, at);
            at
        });
        &self.values[at]
    }

    /// The memory of the list alone.
    pub(crate) fn memory_bytes(&self) -> usize {
        const AN_ENTRY: usize = 80;
        self.values.made().map_or(0, boxcar::Vec::count) * AN_ENTRY
    }
}
