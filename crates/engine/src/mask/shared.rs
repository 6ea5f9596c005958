//! What all grammars of a vocabulary share: token tables and parts of masks.
//!
//! Tables are keyed by the fingerprint of a terminal's state, so a JSON string has one table in the process however many
//! schemas have one. Parts are keyed by what the top of a stack means ([`Content`]). All are bounded in bytes: when
//! full, those that were asked for least recently go. Whoever holds one keeps it.
//!
//! Besides, the memos of a generation, by the numbers that things have there.

use std::convert::Infallible;
use std::hash::Hash;
use std::sync::Arc;

use hashbrown::HashMap;
use parking_lot::Mutex;

use super::compute::KeptPart;
use super::table::TerminalTable;
use super::tokens::Part;
use crate::config::SetId;
use crate::content::Content;
use crate::limits::SHARED;
use crate::store::memo::Memo;
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
/// What keys lose where a single subtree is excluded, by the number of the trie and the node.
pub(crate) type SharedLost = Shared<(u64, NodeIndex), Lost>;
/// The masks of plain strings on top of stacks, without the one subtree that a key loses.
pub(crate) type SharedKeyParts = Shared<(PartKey, NodeIndex), KeptPart>;

/// What grammars share, by what it is for.
pub(crate) struct Shared<K, V>(Mutex<State<K, V>>);

struct State<K, V> {
    values: HashMap<K, Kept<V>>,
    bytes: usize,
    clock: u64,
}

struct Kept<V> {
    value: Arc<V>,
    bytes: usize,
    /// When it was last asked for.
    used: u64,
}

impl<K, V> Default for Shared<K, V> {
    fn default() -> Self {
        Shared(Mutex::new(State { values: HashMap::new(), bytes: 0, clock: 0 }))
    }
}

impl<K, V> Drop for Shared<K, V> {
    fn drop(&mut self) {
        SHARED.note(self.0.get_mut().bytes, 0);
    }
}

impl<K: Eq + Hash, V> Shared<K, V> {
    /// The value of `key`, made by `make` if there is none; `bytes` tells its size. Others may make it at the same time; one
    /// is kept.
    pub(super) fn get_or_make(
        &self,
        key: K,
        bytes: impl FnOnce(&V) -> usize,
        make: impl FnOnce() -> Arc<V>,
    ) -> Arc<V> {
        let Ok(value) = self.get_or_try_make(key, bytes, || Ok::<_, Infallible>(make()));
        value
    }

    /// The same where it may be that there is none to keep.
    pub(super) fn get_or_try_make<E>(
        &self,
        key: K,
        bytes: impl FnOnce(&V) -> usize,
        make: impl FnOnce() -> Result<Arc<V>, E>,
    ) -> Result<Arc<V>, E> {
        if let Some(value) = self.0.lock().get(&key) {
            return Ok(value);
        }
        let value = make()?;
        let bytes = bytes(&value);
        let mut state = self.0.lock();
        if let Some(known) = state.get(&key) {
            return Ok(known);
        }
        // What is looked up by takes room as well.
        let bytes = bytes + size_of::<(K, Kept<V>)>() + size_of::<V>();
        let before = state.bytes;
        state.bytes += bytes;
        let used = state.clock;
        state.values.insert(key, Kept { value: Arc::clone(&value), bytes, used });
        if state.bytes > SHARED.limit() {
            state.evict();
        }
        SHARED.note(before, state.bytes);
        Ok(value)
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.0.lock().bytes
    }
}

impl<K: Eq + Hash, V> State<K, V> {
    fn get(&mut self, key: &K) -> Option<Arc<V>> {
        self.clock += 1;
        let kept = self.values.get_mut(key)?;
        kept.used = self.clock;
        Some(Arc::clone(&kept.value))
    }

    /// Drops the half that was asked for least recently.
    fn evict(&mut self) {
        let mut uses: Vec<u64> = self.values.values().map(|kept| kept.used).collect();
        let middle = uses.len() / 2;
        let (_, &mut median, _) = uses.select_nth_unstable(middle);
        self.values.retain(|_, kept| kept.used > median);
        self.bytes = self.values.values().map(|kept| kept.bytes).sum();
    }
}

/// What a key loses for what it excludes.
pub(crate) struct Lost {
    /// Sorted.
    pub(super) tokens: Box<[u32]>,
    /// The subtree that these are, if it is one.
    pub(super) node: Option<NodeIndex>,
}

/// What tells the losses of a generation apart.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct LostId(usize);

impl Lost {
    pub(super) fn memory_bytes(&self) -> usize {
        size_of_val(&*self.tokens)
    }

    pub(super) fn id(self: &Arc<Self>) -> LostId {
        LostId(Arc::as_ptr(self) as usize)
    }
}

/// The tables of states for subtrees.
pub(crate) type SubtreeTables = Memo<(u64, NodeIndex, TerminalId), TerminalTable>;
/// What a key loses for what it excludes, for subtrees.
pub(crate) type LostByKey = Memo<(u64, NodeIndex, TerminalId), Lost>;
/// What keys lose, by the nodes of a trie: most keys lose the same, a closing quote.
pub(crate) type LostByNodes = Memo<(u64, Box<[NodeIndex]>), Lost>;
/// The masks of plain strings on top of stacks without what a key loses, for subtrees.
pub(crate) type KeyMasks = Memo<(u64, NodeIndex, TerminalId, SetId, LostId), KeptPart>;
/// What stays in states whose bounds are far away, if that is known without a table.
pub(crate) type FarBounds = Memo<TerminalId, Option<Arc<Part>>>;
/// The masks of states on top of whole stacks.
pub(crate) type WholeMasks = Memo<(TerminalId, SetId), KeptPart>;
/// The masks of states on top of stacks, for subtrees.
pub(crate) type SubtreeMasks = Memo<(u64, NodeIndex, TerminalId, SetId), KeptPart>;
