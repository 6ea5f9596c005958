//! The token tables that all grammars of a vocabulary share.
//!
//! Keyed by the fingerprint of a terminal's state, so a JSON string has one table in the process however many schemas
//! have one. Bounded in bytes: when full, the tables that were asked for least recently go. Whoever holds a table
//! keeps it.

use std::sync::Arc;

use hashbrown::HashMap;
use parking_lot::Mutex;

use super::table::TerminalTable;
use crate::terminal::TerminalId;
use crate::vocab::trie::NodeIndex;

/// What all tables of a vocabulary may take together.
const MAX_BYTES: usize = 256 << 20;

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
    pub(super) fn get_or_make(&self, key: TableKey, make: impl FnOnce() -> TerminalTable) -> Arc<TerminalTable> {
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
        if state.bytes > MAX_BYTES {
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

/// The tables of one generation that are for subtrees, by the numbers that they have there.
#[derive(Default)]
pub(crate) struct SubtreeTables {
    tables: boxcar::Vec<Arc<TerminalTable>>,
    index: Mutex<HashMap<(u64, NodeIndex, TerminalId), usize>>,
}

impl SubtreeTables {
    /// The table of `key`, made by `make` if there is none.
    pub(super) fn get_or_make(
        &self,
        key: (u64, NodeIndex, TerminalId),
        make: impl FnOnce() -> Arc<TerminalTable>,
    ) -> &TerminalTable {
        let known = self.index.lock().get(&key).copied();
        let at = known.unwrap_or_else(|| {
            let at = self.tables.push(make());
            self.index.lock().insert(key, at);
            at
        });
        &self.tables[at]
    }

    /// The memory of the list; the tables themselves are shared.
    pub(crate) fn memory_bytes(&self) -> usize {
        const AN_ENTRY: usize = 64;
        self.tables.count() * AN_ENTRY
    }
}
