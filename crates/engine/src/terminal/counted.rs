//! States that count characters: a bounded repeat of one character, and something after it.
//!
//! A string of at most forty characters has forty states, which tell characters apart by nothing but their number. So such a
//! state is taken apart: the same without a bound, and what follows.

use tokenstile_grammar::ir::Escapes;

use super::arena::{Arena, Term, TerminalId};

/// A state that takes characters up to a bound.
pub(crate) struct Counted {
    /// The same state without the bound.
    pub(crate) endless: TerminalId,
    /// What comes after the characters; it is not empty.
    pub(crate) after: TerminalId,
}

/// A state that takes characters, at least and at most so many, and something after them.
pub(crate) struct Turns {
    /// The same state without bounds.
    pub(crate) endless: TerminalId,
    /// The characters alone, without bounds.
    pub(crate) text: TerminalId,
    /// What comes after the characters; it is not empty.
    pub(crate) after: TerminalId,
    pub(crate) min: u32,
    /// [`u32::MAX`] is no bound.
    pub(crate) max: u32,
}

/// A repeat of one character, perhaps spelled in JSON.
struct Repeated {
    body: TerminalId,
    spelled: Option<Escapes>,
    min: u32,
    max: u32,
}

impl Arena {
    /// How `id` counts characters, if that is what it does.
    pub(crate) fn counted(&self, id: TerminalId) -> Option<Counted> {
        let (repeated, after) = self.repeated(id).filter(|(repeated, _)| repeated.max != Term::UNBOUNDED)?;
        let endless = self.text_of(&repeated, repeated.min);
        Some(Counted { endless: self.concat(endless, after), after })
    }

    /// How `id` counts characters, if it has bounds of either kind.
    pub(crate) fn turns(&self, id: TerminalId) -> Option<Turns> {
        let (repeated, after) = self.repeated(id)?;
        let Repeated { min, max, .. } = repeated;
        if (min, max) == (0, Term::UNBOUNDED) {
            return None;
        }
        let text = self.text_of(&repeated, 0);
        Some(Turns { endless: self.concat(text, after), text, after, min, max })
    }

    /// At least `min` such characters.
    fn text_of(&self, repeated: &Repeated, min: u32) -> TerminalId {
        let text = self.repeat(repeated.body, min, Term::UNBOUNDED);
        match repeated.spelled {
            Some(escapes) => self.json_text(text, 0, escapes),
            None => text,
        }
    }

    /// The characters that `id` begins with, and what comes after them, which is not empty.
    fn repeated(&self, id: TerminalId) -> Option<(Repeated, TerminalId)> {
        let &Term::Concat(first, after) = self.term(id) else { return None };
        if self.is_nullable(after) {
            return None;
        }
        let (repeat, spelled) = match *self.term(first) {
            Term::JsonText { inner, pending: 0, escapes } => (inner, Some(escapes)),
            _ => (first, None),
        };
        let Term::Repeat { body, min, max } = *self.term(repeat) else { return None };
        self.is_one_character(body).then_some((Repeated { body, spelled, min, max }, after))
    }

    /// Whether every string of a state is one code point.
    pub(super) fn is_one_character(&self, id: TerminalId) -> bool {
        *self.entry(id).walked.one_character.get_or_init(|| {
            !self.is_nullable(id)
                && self.row(id).iter().all(|&(low, high, next)| match (low, high) {
                    (_, ..=0x7F) => next == TerminalId::EMPTY,
                    (0xC2.., ..=0xDF) => self.continues(next, 1),
                    (0xE0.., ..=0xEF) => self.continues(next, 2),
                    (0xF0.., ..=0xF4) => self.continues(next, 3),
                    _ => false,
                })
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
