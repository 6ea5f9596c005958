//! The tokens that stay inside a terminal, as a walk finds them.

use std::ops::Range;
use std::sync::Arc;

use super::rows::Row;
use super::tokens::Part;

/// Tokens that stay.
#[derive(Default)]
pub(super) struct Stay {
    /// Many at once.
    pub(super) base: Option<Arc<Row>>,
    /// One by one.
    pub(super) tokens: Vec<u32>,
    /// By their positions in the trie of tokens,
    pub(super) in_trie: Ranges,
    /// and in the order of shapes.
    pub(super) in_shapes: Ranges,
}

/// Positions of tokens.
#[derive(Default)]
pub(super) struct Ranges(Vec<Range<u32>>);

impl Ranges {
    /// Adds a range that lies behind all others.
    #[inline]
    pub(super) fn add(&mut self, range: Range<u32>) {
        match self.0.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ if range.is_empty() => {}
            _ => self.0.push(range),
        }
    }
}

impl Stay {
    /// As a part of masks, where `in_trie` and `in_shapes` are all tokens in either order, and `words` the width of a row.
    pub(super) fn to_part(&self, in_trie: &[u32], in_shapes: &[u32], words: usize) -> Part {
        let in_trie = self.in_trie.0.iter().map(|range| &in_trie[range.start as usize..range.end as usize]);
        let in_shapes =
            self.in_shapes.0.iter().map(|range| &in_shapes[range.start as usize..range.end as usize]);
        Part::to_share(words, self.base.as_ref(), in_trie.chain(in_shapes).chain([&*self.tokens]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_holds_what_was_added() {
        let in_shapes: Vec<u32> = (100..120).collect();
        let mut stay = Stay { tokens: vec![7], ..Stay::default() };
        for range in [2..3, 3..6, 7..7, 9..12, 12..12, 15..20] {
            stay.in_shapes.add(range);
        }
        assert_eq!(stay.in_shapes.0.len(), 3);
        stay.in_trie.add(1..3);
        let part = stay.to_part(&[20, 21, 22, 23], &in_shapes, 8);
        let held: Vec<u32> = (0..256).filter(|&token| part.contains(token)).collect();
        assert_eq!(held, [7, 21, 22, 102, 103, 104, 105, 109, 110, 111, 115, 116, 117, 118, 119]);
    }
}
