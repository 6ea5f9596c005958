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
    pub(super) ranges: Ranges,
}

/// Positions in the order of shapes.
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
    /// As a part of masks, where `in_shapes` is all tokens in the order of shapes, and `words` the width of a row.
    pub(super) fn into_part(mut self, in_shapes: &[u32], words: usize) -> Part {
        for range in &self.ranges.0 {
            self.tokens.extend_from_slice(&in_shapes[range.start as usize..range.end as usize]);
        }
        Part::to_share(words, self.base.as_ref(), self.tokens)
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
            stay.ranges.add(range);
        }
        assert_eq!(stay.ranges.0.len(), 3);
        let part = stay.into_part(&in_shapes, 8);
        let held: Vec<u32> = (0..256).filter(|&token| part.contains(token)).collect();
        assert_eq!(held, [7, 102, 103, 104, 105, 109, 110, 111, 115, 116, 117, 118, 119]);
    }
}
