//! States that count characters: a bounded repeat of one character, and something after it.
//!
//! A string of at most forty characters has forty states, which tell characters apart by nothing but their number. So such a
//! state is taken apart: the same without a bound, and what follows.

use super::arena::{Arena, Term, TerminalId};

/// A state that takes characters up to a bound.
pub(crate) struct Counted {
    /// The same state without the bound.
    pub(crate) endless: TerminalId,
    /// What comes after the characters; it is not empty.
    pub(crate) after: TerminalId,
}

impl Arena {
    /// How `id` counts characters, if that is what it does.
    pub(crate) fn counted(&self, id: TerminalId) -> Option<Counted> {
        let &Term::Concat(first, after) = self.term(id) else { return None };
        if self.is_nullable(after) {
            return None;
        }
        let (repeat, spelled) = match *self.term(first) {
            Term::JsonText { inner, pending: 0 } => (inner, true),
            _ => (first, false),
        };
        let Term::Repeat { body, min, max } = *self.term(repeat) else { return None };
        if max == Term::UNBOUNDED || !self.is_one_character(body) {
            return None;
        }
        let endless = self.repeat(body, min, Term::UNBOUNDED);
        let endless = if spelled { self.json_text(endless, 0) } else { endless };
        Some(Counted { endless: self.concat(endless, after), after })
    }

    /// Whether every string of a state is one code point.
    pub(super) fn is_one_character(&self, id: TerminalId) -> bool {
        !self.is_nullable(id)
            && self.row(id).iter().all(|&(low, high, next)| match (low, high) {
                (_, ..=0x7F) => next == TerminalId::EMPTY,
                (0xC2.., ..=0xDF) => self.continues(next, 1),
                (0xE0.., ..=0xEF) => self.continues(next, 2),
                (0xF0.., ..=0xF4) => self.continues(next, 3),
                _ => false,
            })
    }

    /// Whether every string of a state has just so many bytes.
    fn continues(&self, id: TerminalId, bytes: u32) -> bool {
        if bytes == 0 {
            return id == TerminalId::EMPTY;
        }
        !self.is_nullable(id) && self.row(id).iter().all(|&(_, _, next)| self.continues(next, bytes - 1))
    }
}
