//! States from which nearly every byte leads to one that is free: any text goes on from there.
//!
//! A string that may not be one of some words is any string after the first byte that none of the words has at its place. So
//! what such a state does with a token is what the free state does with it, but for the few tokens along the words.

use smallvec::SmallVec;

use super::arena::{Arena, Row, Term, TerminalId};

/// So many bytes are most of those that a text is made of.
const MANY_BYTES: usize = 64;

/// Bytes after which two states differ, with the states there.
pub(crate) type Differences = SmallVec<[(u8, TerminalId, TerminalId); 16]>;

impl Arena {
    /// The free state that most bytes lead to, if it is another: any text goes on from it.
    pub(crate) fn freed(&self, id: TerminalId) -> Option<TerminalId> {
        self.mostly_next(id).filter(|&free| free != id && self.is_free(free))
    }

    /// Whether any text comes first, perhaps in the spellings of JSON.
    fn is_free(&self, id: TerminalId) -> bool {
        let first = match self.term(id) {
            &Term::Concat(head, _) => head,
            _ => id,
        };
        match *self.term(first) {
            Term::JsonText { inner, pending: 0, .. } => inner == self.any_text(),
            _ => first == self.any_text(),
        }
    }

    /// The state that many bytes lead to.
    fn mostly_next(&self, id: TerminalId) -> Option<TerminalId> {
        let row = self.row(id);
        let width = |&(low, high, _): &(u8, u8, TerminalId)| usize::from(high - low) + 1;
        let widest = row.iter().max_by_key(|piece| width(piece))?.2;
        let all = row.iter().filter(|piece| piece.2 == widest).map(width).sum::<usize>();
        (all >= MANY_BYTES).then_some(widest)
    }

    /// The bytes after which two states differ; nothing if they are many.
    pub(crate) fn differences(&self, one: TerminalId, other: TerminalId) -> Option<Differences> {
        let (one, other) = (self.row(one), self.row(other));
        let mut differences = Differences::new();
        let mut low = 0;
        loop {
            let ((first, end), (second, other_end)) = (piece_at(one, low), piece_at(other, low));
            let high = end.min(other_end);
            if first != second {
                if usize::from(high - low) + differences.len() >= MANY_BYTES {
                    return None;
                }
                differences.extend((low..=high).map(|byte| (byte, first, second)));
            }
            match high.checked_add(1) {
                Some(next) => low = next,
                None => return Some(differences),
            }
        }
    }
}

/// Where `byte` leads, and the last byte for which that is known to be so as well.
fn piece_at(row: &Row, byte: u8) -> (TerminalId, u8) {
    let at = row.partition_point(|piece| piece.1 < byte);
    match row.get(at) {
        Some(&(low, high, target)) if low <= byte => (target, high),
        Some(&(low, ..)) => (TerminalId::NEVER, low - 1),
        None => (TerminalId::NEVER, u8::MAX),
    }
}
