//! Texts of at most so many code points.
//!
//! A term of text is wrapped together with the code points that may still come. What makes this exact is that a state may
//! go on if and only if the nearest end is no further away than that, and how far the nearest end is can be read off a
//! term: a sequence adds, alternatives take the least. So no product of the language and the count is ever made.
//!
//! A code point counts with its first byte.
//!
//! Invariants:
//!
//! 1. The words of the inner term are UTF-8, and no JSON text, key or end of a key is in it; the passes see to it.
//! 2. Bounds nest a few deep at most, so asking for a row recurses no deeper than that.

use smallvec::SmallVec;

use super::arena::{Arena, Items, Term, TerminalId};
use super::derive::Piece;

/// How far it is from a term to an end, in code points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Distance {
    /// To the nearest end.
    pub(super) nearest: u32,
    /// To the nearest end, from whichever state the term may come to. It may be too much, never too little.
    pub(super) worst: u32,
}

/// Whether the bytes of a range begin a code point.
fn leads(low: u8, high: u8) -> bool {
    !(0x80..0xC0).contains(&low) || !(0x80..0xC0).contains(&high)
}

impl Arena {
    /// The texts of `inner` with at most `left` code points.
    pub(super) fn bounded(&self, inner: TerminalId, left: u32) -> TerminalId {
        if inner == TerminalId::NEVER || self.distance(inner).nearest > left {
            return TerminalId::NEVER;
        }
        match *self.term(inner) {
            Term::Empty => inner,
            Term::Bounded { inner, left: less } => {
                self.intern(&Term::Bounded { inner, left: left.min(less) })
            }
            Term::Repeat { body, min, max } if self.is_one_character(body) => {
                self.repeat(body, min, max.min(left))
            }
            _ => self.intern(&Term::Bounded { inner, left }),
        }
    }

    /// The ways on from [`Term::Bounded`]; with `only`, that for this byte.
    pub(super) fn bounded_pieces(
        &self,
        inner: TerminalId,
        left: u32,
        only: Option<u8>,
    ) -> SmallVec<[Piece; 12]> {
        let within = |&(low, high, target): &Piece| {
            let left = left.checked_sub(u32::from(leads(low, high)))?;
            Some((low, high, self.bounded(target, left)))
        };
        match only {
            Some(byte) => within(&(byte, byte, self.step(inner, byte))).into_iter().collect(),
            None => self.row(inner).iter().filter_map(within).collect(),
        }
    }

    /// How far it is from a term of text to an end.
    pub(super) fn distance(&self, id: TerminalId) -> Distance {
        if let Some(known) = self.entry(id).known_distance() {
            return known;
        }
        let mut stack = vec![id];
        while let Some(&at) = stack.last() {
            let waiting = stack.len();
            let entry = self.entry(at);
            let missing = |child: &TerminalId| self.entry(*child).known_distance().is_none();
            if missing(&at) {
                stack.extend(self.children(at).into_iter().filter(missing));
            }
            if stack.len() == waiting {
                entry.walked.distance.get_or_init(|| self.compute_distance(&entry.term));
                stack.pop();
            }
        }
        self.known_distance(id)
    }

    fn known_distance(&self, id: TerminalId) -> Distance {
        self.entry(id).known_distance().unwrap_or(Distance { nearest: 0, worst: u32::MAX })
    }

    fn compute_distance(&self, term: &Term) -> Distance {
        let known = |id: TerminalId| self.known_distance(id);
        match term {
            Term::Never => Distance { nearest: u32::MAX, worst: 0 },
            Term::Empty => Distance { nearest: 0, worst: 0 },
            &Term::Literal { literal, offset } => {
                let bytes = &self.literals.get(literal).bytes[offset as usize..];
                let count = bytes.iter().filter(|&&byte| leads(byte, byte)).count() as u32;
                Distance { nearest: count, worst: count }
            }
            Term::Dispatch(row) => {
                let beyond = |&(low, high, target): &Piece| {
                    known(target).nearest.saturating_add(u32::from(leads(low, high)))
                };
                let nearest = row.iter().map(beyond).min().unwrap_or(u32::MAX);
                let worst = row.iter().map(|piece| known(piece.2).worst).max().unwrap_or(0);
                Distance { nearest, worst: worst.max(nearest) }
            }
            &Term::Concat(a, b) => {
                let (a, b) = (known(a), known(b));
                let worst = a.worst.saturating_add(b.nearest).max(b.worst);
                Distance { nearest: a.nearest.saturating_add(b.nearest), worst }
            }
            Term::Alt(items) => {
                let nearest = items.iter().map(|&item| known(item).nearest).min().unwrap_or(u32::MAX);
                let worst = items.iter().map(|&item| known(item).worst).max().unwrap_or(0);
                Distance { nearest, worst }
            }
            &Term::Repeat { body, min, .. } => {
                let body = known(body);
                let nearest = body.nearest.saturating_mul(min);
                Distance { nearest, worst: body.worst.saturating_add(nearest) }
            }
            // It stands alone, never under a bound.
            Term::Tagged { .. } => Distance { nearest: u32::MAX, worst: u32::MAX },
            &Term::Dfa { dfa, state } => {
                let automaton = self.automata.get(dfa);
                let distances = automaton.distances.get_or_init(|| automaton.dfa.distances().into());
                let worst = distances.iter().copied().max().unwrap_or(0);
                Distance { nearest: distances[state as usize], worst }
            }
            &Term::Bounded { inner, left } => {
                let inner = known(inner);
                Distance { nearest: inner.nearest, worst: inner.worst.min(left) }
            }
            // They stand in no bounded text.
            Term::JsonText { .. } | Term::JsonEscape { .. } | Term::Key(_) | Term::KeyRead(_) => {
                Distance { nearest: 0, worst: u32::MAX }
            }
        }
    }

    /// Of the same texts with several bounds, before the same tail, the greatest bound is all of them.
    pub(super) fn merge_bounded(&self, items: &mut Items) {
        let split = |id: TerminalId| match *self.term(id) {
            Term::Bounded { inner, left } => Some((inner, TerminalId::EMPTY, left)),
            Term::Concat(head, tail) => match *self.term(head) {
                Term::Bounded { inner, left } => Some((inner, tail, left)),
                _ => None,
            },
            _ => None,
        };
        let mut bounded: SmallVec<[_; 8]> = items.iter().filter_map(|&id| split(id)).collect();
        bounded.sort_unstable();
        if bounded.windows(2).all(|pair| (pair[0].0, pair[0].1) != (pair[1].0, pair[1].1)) {
            return;
        }
        items.retain(|id| split(*id).is_none());
        for group in bounded.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            let (inner, tail, left) = group[group.len() - 1];
            items.push(self.concat(self.bounded(inner, left), tail));
        }
        items.sort_unstable();
        items.dedup();
    }
}
