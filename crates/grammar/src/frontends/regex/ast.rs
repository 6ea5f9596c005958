//! A pattern as a tree, before it is known how to compile it.
//!
//! Nodes are hash-consed, and children come before their parents, so passes are loops over numbers instead of
//! recursion. Groups, names and laziness are gone here: they do not change which strings match. `\b` and the
//! anchors of single lines are gone too: they are lookarounds of one code point.

use hashbrown::HashTable;
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::hash::BuildHasher;

use crate::error::{Error, Result};
use crate::limits::Budget;
use crate::regular::CharSet;

/// The number of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct NodeId(u32);

impl NodeId {
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A piece of a pattern.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Node {
    /// Matches nowhere.
    Never,
    /// Matches the empty string.
    Empty,
    /// This text, never empty.
    Text(Box<str>),
    /// One code point of the set, which has at least two.
    Class(CharSet),
    /// One after the other.
    Seq(Box<[NodeId]>),
    /// Any one of these.
    Alt(Box<[NodeId]>),
    /// Between `min` and `max` times.
    Repeat { body: NodeId, min: u32, max: Option<u32> },
    /// The start of the string.
    Start,
    /// The end of the string.
    End,
    /// Whether `body` matches before or after this place.
    Look { behind: bool, negated: bool, body: NodeId },
}

impl Node {
    pub(super) fn children(&self) -> &[NodeId] {
        match self {
            Node::Seq(items) | Node::Alt(items) => items,
            Node::Repeat { body, .. } | Node::Look { body, .. } => std::slice::from_ref(body),
            _ => &[],
        }
    }
}

/// All nodes of a pattern.
#[derive(Debug, Default)]
pub(super) struct Ast {
    nodes: Vec<Node>,
    index: HashTable<u32>,
    /// For each node, whether an anchor or a lookaround is in it.
    asserts: Vec<bool>,
    /// Where each lookaround first stands in the pattern.
    places: FxHashMap<NodeId, usize>,
}

impl Ast {
    pub(super) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// Whether an anchor or a lookaround is in the node.
    pub(super) fn asserts(&self, id: NodeId) -> bool {
        self.asserts[id.index()]
    }

    /// Where a lookaround first stands in the pattern.
    pub(super) fn place(&self, id: NodeId) -> usize {
        self.places.get(&id).copied().unwrap_or(0)
    }

    /// The nodes that `root` is made of, children first.
    pub(super) fn reachable(&self, root: NodeId) -> Vec<NodeId> {
        let mut needed = vec![false; root.index() + 1];
        needed[root.index()] = true;
        for at in (0..=root.index()).rev() {
            if needed[at] {
                self.nodes[at].children().iter().for_each(|child| needed[child.index()] = true);
            }
        }
        (0..=root.0).filter(|&at| needed[at as usize]).map(NodeId).collect()
    }

    /// Fails when there are more nodes than a grammar may have expressions.
    pub(super) fn check(&self, budget: &Budget) -> Result<()> {
        let limit = budget.limits().max_exprs;
        if self.nodes.len() > limit {
            return Err(Error::limit("the number of expressions", limit, "max_exprs"));
        }
        budget.tick()
    }

    fn intern(&mut self, node: Node) -> NodeId {
        let hash = FxBuildHasher.hash_one(&node);
        if let Some(&at) = self.index.find(hash, |&at| self.nodes[at as usize] == node) {
            return NodeId(at);
        }
        let at = self.nodes.len() as u32;
        let asserts = match &node {
            Node::Start | Node::End | Node::Look { .. } => true,
            node => node.children().iter().any(|child| self.asserts[child.index()]),
        };
        self.nodes.push(node);
        self.asserts.push(asserts);
        let nodes = &self.nodes;
        self.index.insert_unique(hash, at, |&at| FxBuildHasher.hash_one(&nodes[at as usize]));
        NodeId(at)
    }

    pub(super) fn never(&mut self) -> NodeId {
        self.intern(Node::Never)
    }

    pub(super) fn empty(&mut self) -> NodeId {
        self.intern(Node::Empty)
    }

    pub(super) fn start(&mut self) -> NodeId {
        self.intern(Node::Start)
    }

    pub(super) fn end(&mut self) -> NodeId {
        self.intern(Node::End)
    }

    pub(super) fn text(&mut self, text: &str) -> NodeId {
        if text.is_empty() { self.empty() } else { self.intern(Node::Text(text.into())) }
    }

    pub(super) fn class(&mut self, set: CharSet) -> NodeId {
        match set.ranges() {
            [] => self.never(),
            &[(low, high)] if low == high => self.text(low.encode_utf8(&mut [0; 4])),
            _ => self.intern(Node::Class(set)),
        }
    }

    /// Any text at all.
    pub(super) fn anything(&mut self) -> NodeId {
        let any = self.class(CharSet::any());
        self.repeat(any, 0, None)
    }

    pub(super) fn seq(&mut self, mut items: Vec<NodeId>) -> NodeId {
        if let Some(&never) = items.iter().find(|&&item| *self.node(item) == Node::Never) {
            return never;
        }
        items.retain(|&item| *self.node(item) != Node::Empty);
        match items[..] {
            [] => self.empty(),
            [item] => item,
            _ => self.intern(Node::Seq(items.into())),
        }
    }

    pub(super) fn alt(&mut self, mut items: Vec<NodeId>) -> NodeId {
        items.retain(|&item| *self.node(item) != Node::Never);
        match items[..] {
            [] => self.never(),
            [item] => item,
            _ => self.intern(Node::Alt(items.into())),
        }
    }

    pub(super) fn repeat(&mut self, body: NodeId, min: u32, max: Option<u32>) -> NodeId {
        match (self.node(body), min, max) {
            (_, 1, Some(1)) | (Node::Empty, _, _) => body,
            (_, _, Some(0)) | (Node::Never, 0, _) => self.empty(),
            (Node::Never, _, _) => body,
            _ => self.intern(Node::Repeat { body, min, max }),
        }
    }

    pub(super) fn look(&mut self, behind: bool, negated: bool, body: NodeId, place: usize) -> NodeId {
        match (self.node(body), negated) {
            (Node::Empty, false) | (Node::Never, true) => return self.empty(),
            (Node::Empty, true) | (Node::Never, false) => return self.never(),
            _ => {}
        }
        let id = self.intern(Node::Look { behind, negated, body });
        self.places.entry(id).or_insert(place);
        id
    }

    /// The set of a node that always matches exactly one code point.
    pub(super) fn single(&self, id: NodeId) -> Option<CharSet> {
        match self.node(id) {
            Node::Class(set) => Some(set.clone()),
            Node::Text(text) => {
                let mut chars = text.chars();
                let only = chars.next()?;
                chars.next().is_none().then(|| CharSet::new([(only, only)]))
            }
            _ => None,
        }
    }
}
