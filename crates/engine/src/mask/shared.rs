//! The token tables that all grammars of a vocabulary share.
//!
//! Keyed by the fingerprint of a terminal's state, so a JSON string has one table in the process however many schemas
//! have one. Bounded in bytes: when full, the tables that were asked for least recently go. Whoever holds a table
//! keeps it.

use std::hash::Hash;
use std::sync::Arc;

use hashbrown::HashMap;
use parking_lot::Mutex;

use super::compute::{KeptMask, KeptPart};
use super::table::TerminalTable;
use crate::config::SetId;
use crate::content::Content;
use crate::limits::PROCESS;
use crate::seldom::Seldom;
use crate::terminal::TerminalId;
use crate::vocab::trie::NodeIndex;

/// What a table is for: a state, by its fingerprint, and a subtree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TableKey {
    pub(super) state: u128,
    /// The number of the trie plus one; 0 is all tokens, whatever trie is walked for them.
    pub(super) trie: u64,
    pub(super) node: NodeIndex,
}

/// What part of a mask is for: a state on top of a stack, by their fingerprints, and a subtree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PartKey {
    pub(super) state: u128,
    pub(super) rest: Content,
    /// The number of the trie.
    pub(super) trie: u64,
    pub(super) node: NodeIndex,
}

/// The tables of states.
pub(crate) type SharedTables = Shared<TableKey, TerminalTable>;
/// The masks of states on top of stacks.
pub(crate) type SharedParts = Shared<PartKey, KeptPart>;
/// The masks of tops of configurations.
pub(crate) type SharedMasks = Shared<Content, KeptMask>;

/// What grammars share has a size.
pub(crate) trait Weigh {
    /// The memory that it takes.
    fn memory_bytes(&self) -> usize;
}

/// What grammars share, by what it is for.
pub(crate) struct Shared<K, V>(Mutex<State<K, V>>);

struct State<K, V> {
    values: HashMap<K, (Arc<V>, u64)>,
    bytes: usize,
    clock: u64,
}

impl<K, V> Default for Shared<K, V> {
    fn default() -> Self {
        Shared(Mutex::new(State { values: HashMap::new(), bytes: 0, clock: 0 }))
    }
}

impl<K: Eq + Hash, V: Weigh> Shared<K, V> {
    /// The value of `key`, made by `make` if there is none. Others may make it at the same time; one is kept.
    pub(super) fn get_or_make(&self, key: K, make: impl FnOnce() -> Arc<V>) -> Arc<V> {
        if let Some(value) = self.get(&key) {
            return value;
        }
        let value = make();
        let mut state = self.0.lock();
        state.clock += 1;
        let clock = state.clock;
        if let Some((known, _)) = state.values.get(&key) {
            return Arc::clone(known);
        }
        state.bytes += value.memory_bytes();
        state.values.insert(key, (Arc::clone(&value), clock));
        if state.bytes > PROCESS.shared_tables() {
            state.evict();
        }
        value
    }

    fn get(&self, key: &K) -> Option<Arc<V>> {
        let mut state = self.0.lock();
        state.clock += 1;
        let clock = state.clock;
        let (value, used) = state.values.get_mut(key)?;
        *used = clock;
        Some(Arc::clone(value))
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.0.lock().bytes
    }
}

impl<K: Eq + Hash, V: Weigh> State<K, V> {
    /// Drops the half that was asked for least recently.
    fn evict(&mut self) {
        let mut uses: Vec<u64> = self.values.values().map(|(_, used)| *used).collect();
        let middle = uses.len() / 2;
        let (_, &mut median, _) = uses.select_nth_unstable(middle);
        self.values.retain(|_, (_, used)| *used > median);
        self.bytes = self.values.values().map(|(value, _)| value.memory_bytes()).sum();
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
