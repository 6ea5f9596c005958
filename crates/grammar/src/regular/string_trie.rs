//! Aho and Corasick's trie of a set of strings.
//!
//! A node is a beginning of one of the strings. A text is at the node that is the longest end of the text, and `fail`
//! leads from a node to the next shorter such end. Ways on are looked up along these links and never written out, so
//! the trie is linear in the length of the strings.
//!
//! Since each string is valid UTF-8, a node other than the root knows how far into a code point the text is.

use super::dfa::{Dfa, StateId};
use crate::error::Result;
use crate::limits::Budget;

/// The number of a node.
pub(super) type NodeId = u32;

/// The node of the empty string.
pub(super) const ROOT: NodeId = 0;

#[derive(Clone, Debug, Default)]
pub(super) struct Node {
    pub(super) depth: u32,
    /// The node of the longest proper end of this one.
    pub(super) fail: NodeId,
    /// The length of the longest string that ends here, 0 for none.
    pub(super) longest: u32,
    /// The number of that string.
    pub(super) string: u32,
    /// The state of UTF-8's automaton here.
    pub(super) inside: StateId,
    /// By byte.
    pub(super) children: Vec<(u8, NodeId)>,
}

/// The trie.
#[derive(Clone, Debug)]
pub(super) struct StringTrie {
    pub(super) nodes: Vec<Node>,
}

impl StringTrie {
    /// The trie of `strings`, all different and none of them empty.
    pub(super) fn new(strings: &[Box<str>], budget: &Budget) -> Result<Self> {
        let mut trie = StringTrie { nodes: vec![Node::default()] };
        for (number, string) in (0..).zip(strings) {
            let mut at = ROOT;
            for &byte in string.as_bytes() {
                at = trie.child_or_new(at, byte);
            }
            budget.check_states(trie.nodes.len())?;
            let node = &mut trie.nodes[at as usize];
            (node.longest, node.string) = (node.depth, number);
        }
        trie.link(budget)?;
        Ok(trie)
    }

    fn child_or_new(&mut self, at: NodeId, byte: u8) -> NodeId {
        let fresh = self.nodes.len() as NodeId;
        let parent = &mut self.nodes[at as usize];
        match parent.children.binary_search_by_key(&byte, |&(byte, _)| byte) {
            Ok(found) => parent.children[found].1,
            Err(place) => {
                parent.children.insert(place, (byte, fresh));
                let depth = parent.depth + 1;
                let inside = Dfa::any_text().next(parent.inside, byte).unwrap_or(Dfa::START);
                self.nodes.push(Node { depth, inside, ..Node::default() });
                fresh
            }
        }
    }

    /// Computes the failure links, in the order of depth.
    fn link(&mut self, budget: &Budget) -> Result<()> {
        for node in self.by_depth() {
            budget.tick()?;
            for (byte, child) in self.nodes[node as usize].children.clone() {
                let fail = if node == ROOT { ROOT } else { self.next(self.nodes[node as usize].fail, byte) };
                let Node { longest, string, .. } = self.nodes[fail as usize];
                let child = &mut self.nodes[child as usize];
                child.fail = fail;
                if child.longest == 0 {
                    (child.longest, child.string) = (longest, string);
                }
            }
        }
        Ok(())
    }

    /// Numbers of the nodes in the order of their depth.
    pub(super) fn by_depth(&self) -> Vec<NodeId> {
        let mut order = Vec::with_capacity(self.nodes.len());
        order.push(ROOT);
        let mut at = 0;
        while at < order.len() {
            order.extend(self.node(order[at]).children.iter().map(|&(_, child)| child));
            at += 1;
        }
        order
    }

    pub(super) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id as usize]
    }

    pub(super) fn child(&self, id: NodeId, byte: u8) -> Option<NodeId> {
        let children = &self.node(id).children;
        children.binary_search_by_key(&byte, |&(byte, _)| byte).ok().map(|at| children[at].1)
    }

    /// The node and its ends, longest first, the root last.
    pub(super) fn ends(&self, id: NodeId) -> impl Iterator<Item = NodeId> {
        std::iter::successors(Some(id), |&at| (at != ROOT).then(|| self.node(at).fail))
    }

    /// Where a byte leads.
    pub(super) fn next(&self, id: NodeId, byte: u8) -> NodeId {
        self.ends(id).find_map(|end| self.child(end, byte)).unwrap_or(ROOT)
    }

    /// Whether `text` holds one of the strings.
    pub(super) fn is_in(&self, text: &str) -> bool {
        let mut node = ROOT;
        text.bytes().any(|byte| {
            node = self.next(node, byte);
            self.node(node).longest > 0
        })
    }

    /// For each node whether it is an end of one of the strings, and not the whole of it.
    pub(super) fn proper_ends(&self) -> Vec<bool> {
        let mut found = vec![false; self.nodes.len()];
        for (id, _) in (0..).zip(&self.nodes).filter(|(_, node)| node.longest == node.depth) {
            for end in self.ends(id).skip(1) {
                // The ends of an end that was found were found with it.
                if end == ROOT || std::mem::replace(&mut found[end as usize], true) {
                    break;
                }
            }
        }
        found
    }

    /// The nodes at which a text must not end if `before` follows it, because one of `strings`, of which the trie is, would
    /// begin in the text and end within `before`; by node.
    ///
    /// Such a string is the end of the text and a beginning of `before`. So for each string the ends of it that begin
    /// `before` are found, after Knuth, Morris and Pratt, and what stands before them is spoiled.
    pub(super) fn spoiled_by(
        &self,
        strings: &[Box<str>],
        before: &str,
        budget: &Budget,
    ) -> Result<Vec<bool>> {
        let mut spoiled = vec![false; self.nodes.len()];
        if before.is_empty() {
            return Ok(spoiled);
        }
        let before = before.as_bytes();
        let borders = borders(before);
        let mut path = Vec::new();
        for string in strings {
            path.clear();
            path.push(ROOT);
            let mut matched = 0;
            for &byte in string.as_bytes() {
                budget.tick()?;
                matched = extend(&borders, before, matched, byte);
                path.extend(self.child(path[path.len() - 1], byte));
            }
            while matched > 0 {
                // What is left of the string is not empty, so that it begins in the text.
                if matched < string.len() {
                    spoiled[path[string.len() - matched] as usize] = true;
                }
                matched = borders[matched - 1];
            }
        }
        for node in self.by_depth() {
            spoiled[node as usize] |= node != ROOT && spoiled[self.node(node).fail as usize];
        }
        Ok(spoiled)
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.nodes.iter().map(|node| size_of::<Node>() + size_of_val(&*node.children)).sum()
    }
}

/// For each beginning of `text`, how long its longest proper end is that begins `text`.
fn borders(text: &[u8]) -> Vec<usize> {
    let mut borders = vec![0; text.len()];
    for at in 1..text.len() {
        borders[at] = extend(&borders, text, borders[at - 1], text[at]);
    }
    borders
}

/// How much of `text` has been read at the end after one more byte, if it was `matched`.
fn extend(borders: &[usize], text: &[u8], mut matched: usize, byte: u8) -> usize {
    loop {
        if matched < text.len() && text[matched] == byte {
            return matched + 1;
        }
        if matched == 0 {
            return 0;
        }
        matched = borders[matched - 1];
    }
}
