//! The keys of a list's entries as a tree over their texts.
//!
//! Keys with a common beginning are read together until they part, so that what may be read at the start of a key is
//! one thing for each way on, and not one for each key. The keys are numbered in the order of their texts, their
//! *rank*; those below a node are a range of ranks, so that whether one of them may come is a look into a sorted list.

use crate::ir::Escapes;
use crate::regular::ByteSet;

/// A node of the tree: the keys that begin with a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyNode {
    /// What is read to come here from the node above; empty for the root.
    pub text: Box<str>,
    /// The ranks of the keys here and below.
    pub ranks: std::ops::Range<u32>,
    /// Whether a key ends here: that of the first rank.
    pub ends: bool,
    /// The nodes below, in the order of their texts.
    pub below: Vec<u32>,
    /// The bytes that may come next, if all keys may, as a JSON string.
    pub next_bytes: ByteSet,
}

/// The tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyTree {
    /// The nodes, parents first; the root is the first, and there is none without keys.
    pub nodes: Vec<KeyNode>,
    /// The entry of each rank.
    pub entries: Vec<u32>,
    /// The rank of each entry.
    pub ranks: Vec<Option<u32>>,
}

impl KeyTree {
    /// The tree of some entries' keys, no two of which are equal.
    pub fn new<'k>(keys: impl Iterator<Item = Option<&'k str>>, escapes: Escapes) -> Self {
        let all: Vec<Option<&str>> = keys.collect();
        let mut sorted: Vec<(&str, u32)> =
            (0..).zip(&all).filter_map(|(entry, key)| key.map(|key| (key, entry))).collect();
        sorted.sort_unstable();
        let mut tree = KeyTree {
            nodes: Vec::new(),
            entries: sorted.iter().map(|&(_, entry)| entry).collect(),
            ranks: vec![None; all.len()],
        };
        for (rank, &(_, entry)) in (0..).zip(&sorted) {
            tree.ranks[entry as usize] = Some(rank);
        }
        if !sorted.is_empty() {
            tree.grow(&sorted, escapes);
        }
        tree
    }

    fn grow(&mut self, sorted: &[(&str, u32)], escapes: Escapes) {
        // A node to be made: its keys, how much of them is read before it and at it, and the node above.
        let mut stack = vec![(0..sorted.len(), 0, 0, None::<usize>)];
        let mut groups: Vec<std::ops::Range<usize>> = Vec::new();
        self.nodes.reserve(sorted.len() + 1);
        while let Some((keys, before, depth, above)) = stack.pop() {
            let first = sorted[keys.start].0;
            let ends = first.len() == depth;
            let longer = keys.start + usize::from(ends)..keys.end;
            let next = |&(key, _): &(&str, u32)| key[depth..].chars().next();
            groups.clear();
            for group in sorted[longer.clone()].chunk_by(|a, b| next(a) == next(b)) {
                let start = groups.last().map_or(longer.start, |group| group.end);
                groups.push(start..start + group.len());
            }
            let first_chars = groups.iter().filter_map(|group| sorted[group.start].0[depth..].chars().next());
            let at = self.nodes.len();
            self.nodes.push(KeyNode {
                text: first[before..depth].into(),
                ranks: keys.start as u32..keys.end as u32,
                ends,
                below: Vec::with_capacity(groups.len()),
                next_bytes: next_bytes(ends, first_chars, escapes),
            });
            if let Some(above) = above {
                self.nodes[above].below.push(at as u32);
            }
            // The last on the stack is made first.
            for group in groups.drain(..).rev() {
                let (first, last) = (sorted[group.start].0, sorted[group.end - 1].0);
                let shared = if group.len() == 1 { first.len() } else { shared_length(first, last) };
                stack.push((group, depth, shared, Some(at)));
            }
        }
    }
}

/// The bytes that may come next where a text may end, or go on with one of these characters.
fn next_bytes(ends: bool, first_chars: impl Iterator<Item = char>, escapes: Escapes) -> ByteSet {
    let mut bytes = ByteSet::NONE;
    if ends {
        bytes.add(b'"');
    }
    for c in first_chars {
        bytes.add(c.encode_utf8(&mut [0; 4]).as_bytes()[0]);
        if escapes.escapes(c) {
            bytes.add(b'\\');
        }
    }
    bytes
}

/// How many bytes two texts share at their beginning, in whole code points.
fn shared_length(a: &str, b: &str) -> usize {
    let mut length = a.bytes().zip(b.bytes()).take_while(|(x, y)| x == y).count();
    while !a.is_char_boundary(length) {
        length -= 1;
    }
    length
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_part_between_code_points() {
        // The two letters share their first byte.
        let tree = KeyTree::new(["aé", "aè", "b"].map(Some).into_iter(), Escapes::Any);
        let texts: Vec<&str> = tree.nodes.iter().map(|node| &*node.text).collect();
        assert_eq!(texts, ["", "a", "è", "é", "b"]);
        assert_eq!(tree.entries, [1, 0, 2]);
        assert_eq!(
            (shared_length("aé", "aè"), shared_length("ab", "abc"), shared_length("", "a")),
            (1, 2, 0)
        );
    }
}
