//! Tries of tokens, flat.
//!
//! Nodes lie in depth-first order, so a subtree is a range of nodes and its tokens are a range of tokens. A node
//! knows the end of its subtree: stepping over a child that does not fit is one addition. Nodes with many children
//! also have a table from byte to child, for walks that follow few bytes.
//!
//! Invariants:
//!
//! 1. Node 0 is the root. The children of node `n` are `n + 1`, then the end of that one's subtree, and so on up to
//!    the end of `n`'s subtree, in the order of their bytes.
//! 2. The tokens of node `n` alone are `first_token(n)..first_token(n + 1)`, those of its subtree
//!    `first_token(n)..first_token(end(n))`. A sentinel node closes the list.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The number of a node in its trie.
pub(crate) type NodeIndex = u32;

/// A node with at least this many children has a table.
const FANOUT: usize = 24;

#[derive(Clone, Copy, Debug)]
struct TrieNode {
    end: NodeIndex,
    first_token: u32,
    /// The number of the node's table plus one, or 0.
    table: u32,
    byte: u8,
}

/// A trie whose nodes hold token ids.
#[derive(Debug)]
pub(crate) struct Trie {
    nodes: Box<[TrieNode]>,
    tokens: Box<[u32]>,
    tables: Box<[[NodeIndex; 256]]>,
    number: u64,
    heights: OnceLock<Box<[u8]>>,
    reaches: OnceLock<Box<[u8; 256]>>,
    /// Whether a token is at several nodes.
    has_repeats: OnceLock<bool>,
}

impl Trie {
    /// The root of every trie.
    pub(crate) const ROOT: NodeIndex = 0;

    /// The trie of `tokens`, which are sorted by their bytes; tokens without bytes are left out.
    pub(crate) fn from_sorted<'a>(tokens: impl Iterator<Item = (&'a [u8], u32)>) -> Self {
        let mut draft = Draft::new();
        let mut path: &[u8] = &[];
        for (bytes, token) in tokens.filter(|(bytes, _)| !bytes.is_empty()) {
            let shared = path.iter().zip(bytes).take_while(|(a, b)| a == b).count();
            draft.close_to(shared);
            bytes[shared..].iter().for_each(|&byte| draft.open(byte));
            draft.tokens.push(token);
            path = bytes;
        }
        Trie { has_repeats: OnceLock::from(false), ..draft.finish() }
    }

    /// One trie of what lies under each of `roots`, nodes of `self`, as though they were one node.
    pub(crate) fn merged(&self, roots: &[NodeIndex]) -> Self {
        let mut draft = Draft::new();
        // Each frame is the children of a merged node that are still to be done, last one first.
        let mut frames: Vec<Vec<(u8, Vec<NodeIndex>)>> = Vec::new();
        frames.push(self.enter_merged(roots, &mut draft));
        while let Some(frame) = frames.last_mut() {
            if let Some((byte, group)) = frame.pop() {
                draft.close_to(frames.len() - 1);
                draft.open(byte);
                let children = self.enter_merged(&group, &mut draft);
                frames.push(children);
            } else {
                frames.pop();
            }
        }
        draft.finish()
    }

    /// Adds the tokens of `group` to the open node, and gives its children by byte, last one first.
    fn enter_merged(&self, group: &[NodeIndex], draft: &mut Draft) -> Vec<(u8, Vec<NodeIndex>)> {
        let mut children: Vec<(u8, NodeIndex)> = Vec::new();
        for &node in group {
            draft.tokens.extend_from_slice(self.tokens_of(node));
            children.extend(self.children(node).map(|child| (self.byte(child), child)));
        }
        children.sort_by_key(|&(byte, _)| std::cmp::Reverse(byte));
        children
            .chunk_by(|a, b| a.0 == b.0)
            .map(|chunk| (chunk[0].0, chunk.iter().map(|c| c.1).collect()))
            .collect()
    }

    /// The trie's own number; no other trie of the process has it.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// The byte on the way to `node`.
    #[inline]
    pub(crate) fn byte(&self, node: NodeIndex) -> u8 {
        self.nodes[node as usize].byte
    }

    /// The end of `node`'s subtree.
    #[inline]
    pub(crate) fn end(&self, node: NodeIndex) -> NodeIndex {
        self.nodes[node as usize].end
    }

    /// Whether `node` has no children.
    #[inline]
    pub(crate) fn is_leaf(&self, node: NodeIndex) -> bool {
        self.end(node) == node + 1
    }

    /// The children of `node`.
    pub(crate) fn children(&self, node: NodeIndex) -> impl Iterator<Item = NodeIndex> + '_ {
        let end = self.end(node);
        let first = Some(node + 1).filter(|&child| child < end);
        std::iter::successors(first, move |&child| Some(self.end(child)).filter(|&next| next < end))
    }

    /// Whether a child of `node` is found without looking at others.
    #[inline]
    pub(crate) fn finds_children(&self, node: NodeIndex) -> bool {
        self.nodes[node as usize].table != 0
    }

    /// The child of `node` on `byte`.
    pub(crate) fn child(&self, node: NodeIndex, byte: u8) -> Option<NodeIndex> {
        match self.nodes[node as usize].table {
            0 => self.children(node).take_while(|&c| self.byte(c) <= byte).find(|&c| self.byte(c) == byte),
            table => Some(self.tables[table as usize - 1][usize::from(byte)]).filter(|&child| child != 0),
        }
    }

    /// The tokens that end at `node`.
    #[inline]
    pub(crate) fn tokens_of(&self, node: NodeIndex) -> &[u32] {
        &self.tokens[self.token_range_of(node)]
    }

    /// The positions, in [`Trie::tokens`], of the tokens that end at `node`.
    #[inline]
    pub(crate) fn token_range_of(&self, node: NodeIndex) -> std::ops::Range<usize> {
        let node = node as usize;
        self.nodes[node].first_token as usize..self.nodes[node + 1].first_token as usize
    }

    /// The positions, in [`Trie::tokens`], of the tokens in `node`'s subtree.
    pub(crate) fn token_range(&self, node: NodeIndex) -> std::ops::Range<usize> {
        let end = self.nodes[node as usize].end as usize;
        self.nodes[node as usize].first_token as usize..self.nodes[end].first_token as usize
    }

    /// Whether a token is at several nodes: of a trie that was merged, because a token may leave a terminal at several
    /// places.
    pub(crate) fn has_repeats(&self) -> bool {
        *self.has_repeats.get_or_init(|| {
            let mut tokens = self.tokens.to_vec();
            tokens.sort_unstable();
            tokens.windows(2).any(|pair| pair[0] == pair[1])
        })
    }

    /// All tokens, in the order of nodes.
    pub(crate) fn tokens(&self) -> &[u32] {
        &self.tokens
    }

    /// How many bytes follow at most below `node`.
    pub(crate) fn height(&self, node: NodeIndex) -> u32 {
        match self.heights()[node as usize] {
            u8::MAX => u32::MAX,
            height => u32::from(height),
        }
    }

    /// For each node how many bytes follow at most, no more than a byte can tell.
    pub(crate) fn heights(&self) -> &[u8] {
        self.heights.get_or_init(|| {
            let mut heights = vec![0_u8; self.nodes.len()];
            for node in (0..self.end(Self::ROOT)).rev() {
                let above = self.children(node).map(|child| heights[child as usize].saturating_add(1)).max();
                heights[node as usize] = above.unwrap_or(0);
            }
            heights.into()
        })
    }

    /// By byte: how many bytes there are at most from where it stands in a token to the token's end, itself included.
    pub(crate) fn reaches(&self) -> &[u8; 256] {
        self.reaches.get_or_init(|| {
            let (heights, mut reaches) = (self.heights(), Box::new([0; 256]));
            for node in 1..self.end(Self::ROOT) {
                let reach: &mut u8 = &mut reaches[usize::from(self.byte(node))];
                *reach = heights[node as usize].saturating_add(1).max(*reach);
            }
            reaches
        })
    }

    /// The memory that the trie takes.
    pub(crate) fn memory_bytes(&self) -> usize {
        size_of_val(&*self.nodes) + size_of_val(&*self.tokens) + size_of_val(&*self.tables)
    }
}

/// Tries are numbered through the process, so that what is known of one can be kept under its number.
fn next_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// A trie while nodes are being added in depth-first order.
struct Draft {
    nodes: Vec<TrieNode>,
    tokens: Vec<u32>,
    open: Vec<NodeIndex>,
}

impl Draft {
    fn new() -> Self {
        let root = TrieNode { end: 0, first_token: 0, table: 0, byte: 0 };
        Draft { nodes: vec![root], tokens: Vec::new(), open: Vec::new() }
    }

    fn open(&mut self, byte: u8) {
        self.open.push(self.nodes.len() as NodeIndex);
        self.nodes.push(TrieNode { end: 0, first_token: self.tokens.len() as u32, table: 0, byte });
    }

    /// Closes nodes until `depth` below the root are open.
    fn close_to(&mut self, depth: usize) {
        while self.open.len() > depth {
            if let Some(node) = self.open.pop() {
                self.nodes[node as usize].end = self.nodes.len() as NodeIndex;
            }
        }
    }

    fn finish(mut self) -> Trie {
        self.close_to(0);
        let count = self.nodes.len() as NodeIndex;
        self.nodes[0].end = count;
        self.nodes.push(TrieNode { end: count, first_token: self.tokens.len() as u32, table: 0, byte: 0 });
        let mut trie = Trie {
            nodes: self.nodes.into(),
            tokens: self.tokens.into(),
            tables: Box::new([]),
            number: next_number(),
            heights: OnceLock::new(),
            reaches: OnceLock::new(),
            has_repeats: OnceLock::new(),
        };
        trie.add_tables();
        trie
    }
}

impl Trie {
    fn add_tables(&mut self) {
        let mut tables = Vec::new();
        for node in 0..self.nodes.len() as NodeIndex - 1 {
            if self.children(node).nth(FANOUT - 1).is_some() {
                let mut table = [0; 256];
                self.children(node).for_each(|child| table[usize::from(self.byte(child))] = child);
                tables.push(table);
                self.nodes[node as usize].table = tables.len() as u32;
            }
        }
        self.tables = tables.into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trie(tokens: &[&str]) -> Trie {
        let mut sorted: Vec<(&[u8], u32)> =
            tokens.iter().zip(0..).map(|(token, id)| (token.as_bytes(), id)).collect();
        sorted.sort();
        Trie::from_sorted(sorted.into_iter())
    }

    fn contents(trie: &Trie) -> Vec<(String, Vec<u32>)> {
        let mut found = Vec::new();
        let mut stack = vec![(Trie::ROOT, String::new())];
        while let Some((node, path)) = stack.pop() {
            if !trie.tokens_of(node).is_empty() {
                found.push((path.clone(), trie.tokens_of(node).to_vec()));
            }
            for child in trie.children(node) {
                assert_eq!(trie.child(node, trie.byte(child)), Some(child));
                stack.push((child, format!("{path}{}", trie.byte(child) as char)));
            }
        }
        found.sort();
        found
    }

    #[test]
    fn holds_tokens_at_their_bytes_duplicates_included() {
        let trie = trie(&["ab", "a", "", "abc", "b", "ab"]);
        let expected = [("a", vec![1]), ("ab", vec![0, 5]), ("abc", vec![3]), ("b", vec![4])];
        assert_eq!(contents(&trie), expected.map(|(path, tokens)| (path.to_owned(), tokens)));
        assert_eq!(trie.token_range(1), 0..4);
    }

    #[test]
    fn wide_nodes_find_their_children() {
        let tokens: Vec<String> = (0..60u8).map(|at| format!("x{}", (b'A' + at) as char)).collect();
        let trie = trie(&tokens.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(contents(&trie).len(), 60);
        assert_eq!(trie.child(1, b'!'), None);
    }

    #[test]
    fn merging_joins_subtrees() {
        let trie = trie(&["a(b", "c(b", "c(d", "a(", "a"]);
        let roots: Vec<NodeIndex> = trie.children(Trie::ROOT).collect();
        let expected = [("", vec![4]), ("(", vec![3]), ("(b", vec![0, 1]), ("(d", vec![2])];
        assert_eq!(contents(&trie.merged(&roots)), expected.map(|(path, tokens)| (path.to_owned(), tokens)));
    }
}
