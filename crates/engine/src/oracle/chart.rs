//! The chart: Earley's sets, one after each byte.
//!
//! An item is a node, a position in it, and the set in which the node was called. A set is closed under calling (a
//! node that may be called is an item at its start) and returning (a node that ended moves whoever called it). A call
//! that can match nothing moves its caller at once, so that nodes which end where they began need no second look.
//! Repeats are the exception: an empty round is no round.

use std::marker::PhantomData;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::node::{At, NodeId, Nodes, START};
use crate::interrupt;

/// The number of a set in its chart.
pub(super) type SetId = u32;

/// A node under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Item {
    pub(super) node: NodeId,
    pub(super) at: At,
    /// The set in which the node was called.
    pub(super) origin: SetId,
}

/// All that may be under way after a prefix of the text.
#[derive(Debug, Default)]
pub(super) struct Set {
    /// The items in the order in which they were found.
    pub(super) items: Vec<Item>,
    members: FxHashSet<Item>,
    /// For each node that was called here, its callers and their positions once it has ended.
    pub(super) callers: FxHashMap<NodeId, Vec<(Item, At)>>,
    /// For each node that ended here, the items that say so.
    pub(super) ended: FxHashMap<NodeId, Vec<Item>>,
    /// How many bytes stand before this set.
    pub(super) offset: usize,
    /// How many items there are in all sets up to this one.
    items_so_far: usize,
}

impl Set {
    fn add(&mut self, item: Item) {
        if self.members.insert(item) {
            self.items.push(item);
        }
    }

    pub(super) fn contains(&self, item: &Item) -> bool {
        self.members.contains(item)
    }
}

/// A parse under way: the sets so far and the bytes between them. Cheap enough to clone: sets are shared.
#[derive(Clone, Debug)]
pub struct OracleState<'a> {
    pub(super) nodes: Arc<Nodes>,
    pub(super) root: NodeId,
    pub(super) sets: Vec<Arc<Set>>,
    pub(super) text: Vec<u8>,
    oracle: PhantomData<&'a ()>,
}

impl OracleState<'_> {
    pub(super) fn new(nodes: &Arc<Nodes>, root: NodeId) -> Self {
        let nodes = Arc::clone(nodes);
        let mut state = OracleState { nodes, root, sets: Vec::new(), text: Vec::new(), oracle: PhantomData };
        state.push_set(vec![Item { node: root, at: START, origin: 0 }]);
        state
    }

    /// Whether some sentence starts with the text so far.
    pub fn is_alive(&self) -> bool {
        !self.last().items.is_empty()
    }

    /// Whether the text so far is a sentence.
    pub fn is_complete(&self) -> bool {
        let ended = self.last().ended.get(&self.root);
        ended.is_some_and(|items| items.iter().any(|item| item.origin == 0))
    }

    /// How many items the chart holds: what its memory and the time spent on it grow with. Most grammars give each
    /// byte a bounded number of them; right recursion and ambiguity give more with each byte.
    pub fn item_count(&self) -> usize {
        self.sets.last().map_or(0, |set| set.items_so_far)
    }

    /// Reads one byte. A dead state stays dead.
    pub fn advance_byte(&mut self, byte: u8) {
        let seeds = self.after_byte(byte);
        self.text.push(byte);
        self.push_set(seeds);
    }

    /// Reads bytes that do not count as a token.
    pub fn advance_bytes(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.advance_byte(byte);
        }
    }

    /// Reads a token: by its bytes, or as a whole where the grammar names it, or both. A token without bytes can
    /// only be read as a whole.
    pub fn advance_token(&mut self, bytes: &[u8], token: u32) {
        let mut seeds = self.after_token(bytes, token);
        if let Some((&last, rest)) = bytes.split_last() {
            self.advance_bytes(rest);
            seeds.extend(self.after_byte(last));
            self.text.push(last);
        }
        self.push_set(seeds);
    }

    /// Reads a special token, which has a text and no bytes: only where the grammar names it.
    pub fn advance_special(&mut self, text: &[u8], token: u32) {
        let seeds = self.after_token(text, token);
        self.text.extend_from_slice(text);
        self.push_set(seeds);
    }

    /// Whether the state would be alive after a special token.
    pub fn would_accept_special(&self, text: &[u8], token: u32) -> bool {
        !self.after_token(text, token).is_empty()
    }

    /// Whether the state would be alive after a token. It is left as it was.
    pub fn would_accept(&mut self, bytes: &[u8], token: u32) -> bool {
        !self.after_token(bytes, token).is_empty() || self.would_read(bytes)
    }

    /// Whether some token may be read as a whole.
    pub(super) fn takes_token(&self) -> bool {
        self.last().items.iter().any(|item| self.nodes.takes_token(item.node, item.at))
    }

    /// Whether the state would be alive after these bytes, which are no token that is read as a whole.
    pub(super) fn would_read(&mut self, bytes: &[u8]) -> bool {
        let Some((&last, rest)) = bytes.split_last() else { return false };
        let (sets, text) = (self.sets.len(), self.text.len());
        let reads = |byte: &u8| {
            self.advance_byte(*byte);
            self.is_alive()
        };
        let alive = rest.iter().all(reads) && !self.after_byte(last).is_empty();
        self.sets.truncate(sets);
        self.text.truncate(text);
        alive
    }

    /// The longest text that must come next, whatever is to follow. It ends where the text so far is a sentence,
    /// where two different bytes are possible, and where a token may be read as a whole.
    pub fn jump_forward(&self) -> Vec<u8> {
        let mut state = self.clone();
        while let Some(byte) = state.forced_byte() {
            state.advance_byte(byte);
        }
        state.text.split_off(self.text.len())
    }

    fn forced_byte(&self) -> Option<u8> {
        let awaits_token = |item: &Item| self.nodes.awaits_token(item.node, item.at);
        if self.is_complete() || self.last().items.iter().any(awaits_token) {
            return None;
        }
        let mut possible = (0..=u8::MAX).filter(|&byte| !self.after_byte(byte).is_empty());
        possible.next().filter(|_| possible.next().is_none())
    }

    fn last(&self) -> &Set {
        self.sets.last().expect("a chart starts with one set")
    }

    fn after_byte(&self, byte: u8) -> Vec<Item> {
        self.moved(|nodes, node, at| nodes.after_byte(node, at, byte))
    }

    fn after_token(&self, bytes: &[u8], token: u32) -> Vec<Item> {
        self.moved(|nodes, node, at| nodes.after_token(node, at, bytes, token))
    }

    fn moved(&self, step: impl Fn(&Nodes, NodeId, At) -> Option<At>) -> Vec<Item> {
        let moved = |item: &Item| step(&self.nodes, item.node, item.at).map(|at| Item { at, ..*item });
        self.last().items.iter().filter_map(moved).collect()
    }

    /// Closes `seeds` under calling and returning, and makes them the last set.
    fn push_set(&mut self, seeds: Vec<Item>) {
        self.push_closed(seeds, false);
    }

    /// Goes on behind spent tokens as well: here rules that count theirs have had them.
    pub fn spend_tokens(&mut self) {
        if let Some(last) = self.sets.pop() {
            self.push_closed(last.items.clone(), true);
        }
    }

    fn push_closed(&mut self, seeds: Vec<Item>, is_spent: bool) {
        let here = self.sets.len() as SetId;
        let mut set = Set { offset: self.text.len(), ..Set::default() };
        for item in seeds {
            set.add(item);
        }
        let mut next = 0;
        while let Some(&item) = set.items.get(next) {
            interrupt::poll(1);
            next += 1;
            if is_spent && item.at == START && self.nodes.is_spent(item.node) {
                set.add(Item { at: 1, ..item });
            }
            if self.nodes.is_end(item.node, item.at) {
                self.end(&mut set, item, here);
                if is_spent && item.origin == here {
                    self.end_at_once(&mut set, item.node);
                }
            }
            self.call(&mut set, item, here);
            if is_spent {
                self.pass_at_once(&mut set, item, here);
            }
        }
        set.items_so_far = self.item_count() + set.items.len();
        self.sets.push(Arc::new(set));
    }

    fn end(&self, set: &mut Set, item: Item, here: SetId) {
        set.ended.entry(item.node).or_default().push(item);
        if item.origin != here {
            let callers = self.sets[item.origin as usize].callers.get(&item.node);
            for &(caller, after) in callers.into_iter().flatten() {
                set.add(Item { at: after, ..caller });
            }
        }
    }

    /// Moves those who called a node that ended where it began.
    fn end_at_once(&self, set: &mut Set, node: NodeId) {
        let callers = set.callers.get(&node).cloned().unwrap_or_default();
        for (caller, after) in callers.into_iter().filter(|(caller, _)| !self.nodes.is_repeat(caller.node)) {
            set.add(Item { at: after, ..caller });
        }
    }

    /// Moves an item whose call had ended before it was made.
    fn pass_at_once(&self, set: &mut Set, item: Item, here: SetId) {
        if self.nodes.is_repeat(item.node) {
            return;
        }
        for (callee, after) in self.nodes.calls(item.node, item.at) {
            let ended = set.ended.get(&callee).into_iter().flatten();
            if ended.into_iter().any(|ended| ended.origin == here) {
                set.add(Item { at: after, ..item });
            }
        }
    }

    fn call(&self, set: &mut Set, item: Item, here: SetId) {
        for (callee, after) in self.nodes.calls(item.node, item.at) {
            set.callers.entry(callee).or_default().push((item, after));
            set.add(Item { node: callee, at: START, origin: here });
            if self.nodes.is_nullable(callee) && !self.nodes.is_repeat(item.node) {
                set.add(Item { at: after, ..item });
            }
        }
    }
}
