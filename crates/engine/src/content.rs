//! What a stack means, whatever grammar it is of.
//!
//! The numbers of nodes, rules and states mean nothing outside of a generation. The *content* of a set of stacks is a
//! fingerprint of all that can be read from it: sets with the same content have the same masks, in any grammars of a
//! vocabulary. So what was found for the top of a stack in one schema serves all others, and much of schemas is the same
//! again and again: any value, an array of strings, a number before a comma.
//!
//! A frame stands for the graph of nodes that can be reached from its own. That graph is written down node by node in the
//! order in which they are reached, which depends on nothing else, and hashed; only nodes that many grammars have in a block
//! are told by their places in it. A list of members whose keys the schema
//! names has no content, nor has what leads to one: hardly any two schemas have the same, and it would be looked for in
//! vain. Neither has anything that counts tokens, or free text with tags.

use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use hashbrown::HashMap;
use parking_lot::Mutex;
use rustc_hash::{FxBuildHasher, FxHashMap};
use siphasher::sip128::{Hasher128, SipHasher13};
use tokenstile_grammar::ir::{Expr, ExprId};
use tokenstile_grammar::machine::{Label, List, Machine, Node, NodeId};

use crate::config::{Item, KnownCut, SetId, SymbolKind};
use crate::generation::Generation;
use crate::terminal::{automaton_fingerprint, fingerprint_hasher};

/// A graph with more nodes than this has no content.
const MOST_NODES: usize = 256;
/// A stack with more frames on top of each other than this has no content.
const MOST_FRAMES: u32 = 80;

/// Tells the number of a node in a block from others.
const IN_BLOCK: u32 = 1 << 31;

/// The fingerprint of what a set of stacks means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Content(u128);

impl Content {
    fn of(state: SipHasher13) -> Self {
        Content(state.finish128().as_u128())
    }
}

/// What is known of the contents of a generation; `None` is known to have none.
#[derive(Default)]
pub(crate) struct Contents {
    sets: Known<SetId, Option<Content>>,
    nodes: Known<NodeId, Option<Content>>,
    exprs: Known<ExprId, Content>,
    /// Those of the expressions that the machine shares with others.
    shared_exprs: OnceLock<SharedContents>,
    /// How many are known.
    count: AtomicUsize,
}

/// The contents of expressions, by number; `None` is known to have none.
type SharedContents = Arc<[Option<Content>]>;

/// The contents of expressions that many machines begin with. There are few such lists in a process, and they are made once.
fn shared_contents(exprs: &Arc<[Expr]>) -> SharedContents {
    static KNOWN: Mutex<Vec<(Arc<[Expr]>, SharedContents)>> = Mutex::new(Vec::new());
    const MOST_LISTS: usize = 16;
    let mut known = KNOWN.lock();
    if let Some((_, contents)) = known.iter().find(|(list, _)| Arc::ptr_eq(list, exprs)) {
        return Arc::clone(contents);
    }
    let mut contents: Vec<Option<Content>> = Vec::with_capacity(exprs.len());
    for expr in exprs.iter() {
        contents.push(hash_expr(expr, |child| contents[child.index()]));
    }
    let contents: SharedContents = contents.into();
    if known.len() < MOST_LISTS {
        known.push((Arc::clone(exprs), Arc::clone(&contents)));
    }
    contents
}

/// What is known, by number.
struct Known<K, V>(Mutex<HashMap<K, V, FxBuildHasher>>);

impl<K, V> Default for Known<K, V> {
    fn default() -> Self {
        Known(Mutex::new(HashMap::with_hasher(FxBuildHasher)))
    }
}

impl<K: Eq + Hash + Copy, V: Copy> Known<K, V> {
    fn get_or_make(&self, key: K, make: impl FnOnce() -> V) -> V {
        if let Some(known) = self.get(key) {
            return known;
        }
        let value = make();
        self.0.lock().insert(key, value);
        value
    }

    fn get(&self, key: K) -> Option<V> {
        self.0.lock().get(&key).copied()
    }
}

impl Contents {
    /// The memory that they take, roughly.
    pub(crate) fn memory_bytes(&self) -> usize {
        const ONE: usize = 64;
        self.count.load(Ordering::Relaxed) * ONE
    }

    fn note_one(&self) {
        self.count.fetch_add(1, Ordering::Relaxed);
    }
}

impl Generation {
    /// The content of a set of stacks, if it has one.
    pub(crate) fn content(&self, set: SetId) -> Option<Content> {
        let is_in_key = |&(_, rest): &Item| self.key_bytes(rest).is_some();
        if self.sets().items(set).iter().any(is_in_key) {
            return None;
        }
        self.content_within(set, MOST_FRAMES)
    }

    fn content_within(&self, set: SetId, frames: u32) -> Option<Content> {
        self.contents().sets.get_or_make(set, || {
            self.contents().note_one();
            self.compute_content(set, frames)
        })
    }

    fn compute_content(&self, set: SetId, frames: u32) -> Option<Content> {
        let frames = frames.checked_sub(1)?;
        let items = self.sets().items(set);
        // What lies below is looked at first: where that has no content, nothing else need be hashed.
        let below: Option<Vec<Content>> =
            items.iter().map(|&(_, rest)| self.content_within(rest, frames)).collect();
        let mut contents: Vec<Content> = items
            .iter()
            .zip(below?)
            .map(|(item, below)| self.item_content(item, below))
            .collect::<Option<_>>()?;
        // Their order is that of their numbers.
        contents.sort_unstable();
        let mut state = fingerprint_hasher();
        (contents, self.sets().ends(set), self.sets().holes(set)).hash(&mut state);
        Some(Content::of(state))
    }

    fn item_content(&self, &(symbol, _): &Item, below: Content) -> Option<Content> {
        let mut state = fingerprint_hasher();
        below.hash(&mut state);
        match symbol.kind() {
            SymbolKind::Terminal(terminal) => {
                if self.terminals().plain(terminal).is_some() {
                    return None;
                }
                (0u8, self.terminals().fingerprint(terminal)).hash(&mut state);
            }
            SymbolKind::Token(set) => (1u8, &self.machine().token_sets[set as usize]).hash(&mut state),
            SymbolKind::Frame(node, 0) => (2u8, self.node_content(node)?).hash(&mut state),
            SymbolKind::Frame(node, count) => self.hash_frame(node, count, &mut state)?,
        }
        Some(Content::of(state))
    }

    /// A frame that carries a count, or the place of a list.
    fn hash_frame(&self, node: NodeId, count: u32, state: &mut SipHasher13) -> Option<()> {
        let Some(at) = self.machine().node(node).list else {
            (3u8, self.node_content(node)?, count).hash(state);
            return Some(());
        };
        match self.known_cut(at.list, count)? {
            KnownCut::After(phase) => {
                let list = self.machine().list(at.list);
                let [separator, quote] = [list.separator, list.quote].map(|expr| self.expr_content(expr));
                let accepting = self.machine().node(node).accepting;
                (4u8, phase, separator?, quote?, self.node_content(at.next)?, accepting).hash(state);
            }
            KnownCut::Value(None, hole) => (5u8, hole).hash(state),
            KnownCut::Value(Some(rule), hole) => {
                (6u8, self.node_content(self.machine().rule(rule).start)?, hole).hash(state);
            }
        }
        Some(())
    }

    /// The content of all that can be read from a node to the end of its rule.
    fn node_content(&self, node: NodeId) -> Option<Content> {
        self.contents().nodes.get_or_make(node, || {
            self.contents().note_one();
            let mut graph =
                Graph { generation: self, order: Vec::new(), numbers: FxHashMap::default(), block: None };
            let first = graph.number(node);
            graph.content(first)
        })
    }

    fn expr_content(&self, expr: ExprId) -> Option<Content> {
        let exprs = &self.contents().exprs;
        let shared = self.contents().shared_exprs.get_or_init(|| {
            self.machine().exprs.shared().map_or_else(|| Arc::new([]) as SharedContents, shared_contents)
        });
        if let Some(&content) = shared.get(expr.index()) {
            return content;
        }
        let is_missing = |id: &ExprId| id.index() >= shared.len() && exprs.get(*id).is_none();
        let mut stack = vec![expr];
        while let Some(&at) = stack.last() {
            if !is_missing(&at) {
                stack.pop();
                continue;
            }
            let waiting = stack.len();
            let children = self.machine().expr(at).children();
            stack.extend(children.iter().copied().filter(is_missing));
            if stack.len() == waiting {
                let known =
                    |child: &ExprId| shared.get(child.index()).copied().unwrap_or_else(|| exprs.get(*child));
                let content = hash_expr(self.machine().expr(at), known)?;
                exprs.get_or_make(at, || content);
                self.contents().note_one();
                stack.pop();
            }
        }
        exprs.get(expr)
    }
}

/// The content of an expression whose parts are known.
fn hash_expr(expr: &Expr, known: impl Fn(&ExprId) -> Option<Content>) -> Option<Content> {
    let mut state = fingerprint_hasher();
    std::mem::discriminant(expr).hash(&mut state);
    match expr {
        Expr::Never | Expr::Empty | Expr::Seq(_) | Expr::Alt(_) => {}
        Expr::JsonText { escapes, .. } => escapes.hash(&mut state),
        Expr::Bytes(bytes) => bytes.hash(&mut state),
        Expr::Class(set) => set.hash(&mut state),
        Expr::Repeat { min, max, .. } => (min, max).hash(&mut state),
        Expr::AtMost { most, .. } => most.hash(&mut state),
        Expr::Automaton(automaton) => automaton_fingerprint(automaton.dfa.get()).hash(&mut state),
        // Terminals have none of these.
        _ => return None,
    }
    expr.children().iter().map(known).collect::<Option<Vec<Content>>>()?.hash(&mut state);
    Some(Content::of(state))
}

/// The nodes that can be reached from one.
struct Graph<'g> {
    generation: &'g Generation,
    /// In the order in which they were reached.
    order: Vec<NodeId>,
    numbers: FxHashMap<NodeId, u32>,
    /// The number of the block, if a node in it is reached.
    block: Option<u32>,
}

impl Graph<'_> {
    /// The content of all that is reached from the node with this number.
    fn content(mut self, first: u32) -> Option<Content> {
        let machine = self.generation.machine();
        let mut state = fingerprint_hasher();
        state.write_u32(first);
        let mut at = 0;
        while let Some(&node) = self.order.get(at) {
            if at > 0 && self.generation.contents().nodes.get(node) == Some(None) || at >= MOST_NODES {
                return None;
            }
            self.hash_node(machine, machine.node(node), &mut state)?;
            at += 1;
        }
        self.block.hash(&mut state);
        Some(Content::of(state))
    }

    fn number(&mut self, node: NodeId) -> u32 {
        if let Some(block) = &self.generation.machine().block
            && let Some(place) = block.place_of(node)
        {
            self.block = Some(block.number);
            return IN_BLOCK | place;
        }
        let next = self.order.len() as u32;
        *self.numbers.entry(node).or_insert_with(|| {
            self.order.push(node);
            next
        })
    }

    fn hash_node(&mut self, machine: &Machine, node: &Node, state: &mut SipHasher13) -> Option<()> {
        if node.max_tokens.is_some() || node.distinct_items {
            return None;
        }
        (node.accepting, node.star, node.edges.len(), node.jumps.len()).hash(state);
        for edge in &node.edges {
            match edge.label {
                Label::Terminal(expr) => (0u8, self.generation.expr_content(expr)?).hash(state),
                Label::Call(rule) => (1u8, self.number(machine.rule(rule).start)).hash(state),
                Label::Token(set) => (2u8, &machine.token_sets[set as usize]).hash(state),
                Label::Tagged(_) => return None,
            }
            state.write_u32(self.number(edge.target));
        }
        node.jumps.iter().for_each(|&jump| state.write_u32(self.number(jump)));
        if let Some(counter) = &node.counter {
            let (rule, next) = (self.number(machine.rule(counter.rule).start), self.number(counter.next));
            (3u8, rule, counter.min, counter.max, next).hash(state);
        }
        if let Some(at) = &node.list {
            self.hash_list(machine, machine.list(at.list), state)?;
            (at.nonempty, self.number(at.next)).hash(state);
        }
        Some(())
    }

    /// A list without entries.
    fn hash_list(&mut self, machine: &Machine, list: &List, state: &mut SipHasher13) -> Option<()> {
        if !list.entries.is_empty() || !list.track.is_empty() {
            return None;
        }
        (
            4u8,
            &list.conditions,
            list.nullable,
            list.unique,
            list.escapes,
            list.always_free,
            list.others.len(),
        )
            .hash(state);
        let mut hash_expr = |expr: Option<ExprId>| {
            expr.map(|expr| self.generation.expr_content(expr).ok_or(())).transpose().ok()?.hash(state);
            Some(())
        };
        [list.quote, list.separator].into_iter().try_for_each(|expr| hash_expr(Some(expr)))?;
        for others in &list.others {
            hash_expr(others.keys)?;
            others.variants.iter().try_for_each(|value| hash_expr(value.head))?;
        }
        for value in list.others.iter().flat_map(|others| &others.variants) {
            value.rule.map(|rule| self.number(machine.rule(rule).start)).hash(state);
        }
        Some(())
    }
}
