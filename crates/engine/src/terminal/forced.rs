//! Forced text: what a state must read next, where that is one text, or one of a few.
//!
//! Most keys, and all punctuation, are literals, perhaps in their JSON spellings, and so are the values of an `enum`. A walk of
//! tokens goes along such a text byte by byte and needs no state for any place in it, which is most of what there is to a mask
//! in a key or in one of a few words.

use tokenstile_grammar::ir::Escapes;

use super::arena::{Arena, Term, TerminalId};
use super::json_text::stands_for_itself;

/// A text that must come.
pub(crate) struct ForcedText<'a> {
    /// The text, not empty. If it is spelled it may begin inside of a code point, and ends at the end of one.
    pub(crate) bytes: &'a [u8],
    /// The escapes of JSON as which code points may be written, if it is spelled in JSON.
    pub(crate) escapes: Option<Escapes>,
    /// What is left after it.
    pub(crate) then: TerminalId,
}

impl ForcedText<'_> {
    /// Whether the byte at a place may be written as it is.
    pub(crate) fn is_raw(&self, place: usize) -> bool {
        self.escapes.is_none() || stands_for_itself(self.bytes[place])
    }

    /// The bytes that it may begin with.
    pub(crate) fn first_bytes(&self) -> impl Iterator<Item = u8> {
        let raw = self.is_raw(0).then(|| self.bytes[0]);
        let escape = self.escapable(0).is_some().then_some(b'\\');
        raw.into_iter().chain(escape)
    }

    /// The code point at a place, if it may be written as an escape there.
    pub(crate) fn escapable(&self, place: usize) -> Option<(char, Escapes)> {
        let escapes = self.escapes?;
        let c = first_char(&self.bytes[place..]).filter(|&c| escapes.escapes(c))?;
        Some((c, escapes))
    }
}

/// The code point that a text begins with; none if it begins inside of one.
pub(crate) fn first_char(bytes: &[u8]) -> Option<char> {
    let length = match bytes.first()? {
        ..0x80 => 1,
        0xC2..0xE0 => 2,
        0xE0..0xF0 => 3,
        0xF0..0xF5 => 4,
        _ => return None,
    };
    std::str::from_utf8(bytes.get(..length)?).ok()?.chars().next()
}

/// What follows the backslash of the short escapes of a code point.
pub(crate) fn short_escapes(c: char, escapes: Escapes) -> impl Iterator<Item = u8> {
    escapes.short().iter().filter(move |&&(_, meant)| char::from(meant) == c).map(|&(written, _)| written)
}

/// What a term is known to begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Begins {
    /// This or that.
    Anyhow,
    /// A text that must come.
    Text,
    /// One of a few texts, of which none begins with another.
    Texts,
}

/// More texts than this are not walked one by one.
const FEW_TEXTS: usize = 32;

/// Texts of which one must come, as literals from some place on.
struct Choice<'a> {
    first: TerminalId,
    others: &'a [TerminalId],
    /// For texts that are spelled, how many bytes of the first code point are still to come after the first was read, and the
    /// escapes.
    pending: Option<(u8, Escapes)>,
    then: TerminalId,
}

impl Choice<'_> {
    fn literals(&self) -> impl Iterator<Item = TerminalId> {
        std::iter::once(self.first).chain(self.others.iter().copied())
    }
}

impl Arena {
    /// What a new term begins with.
    pub(super) fn begins(&self, term: &Term) -> Begins {
        match term {
            Term::Literal { .. } => Begins::Text,
            Term::Alt(items) if self.are_apart(items) => Begins::Texts,
            Term::JsonText { inner, .. } => self.entry(*inner).begins_as_text(),
            Term::Concat(head, _) => self.entry(*head).begins,
            _ => Begins::Anyhow,
        }
    }

    /// Whether all are literals, not many, of which none begins with another.
    fn are_apart(&self, items: &[TerminalId]) -> bool {
        items.len() <= FEW_TEXTS
            && items.iter().enumerate().all(|(at, &item)| {
                let begins = |a: &[u8], b: &[u8]| a.iter().zip(b).all(|(a, b)| a == b);
                let is_apart = |text: &[u8]| {
                    items[..at]
                        .iter()
                        .all(|&other| self.literal_bytes(other).is_some_and(|other| !begins(text, other)))
                };
                self.literal_bytes(item).is_some_and(is_apart)
            })
    }

    pub(super) fn literal_bytes(&self, id: TerminalId) -> Option<&[u8]> {
        match *self.term(id) {
            Term::Literal { literal, offset } => Some(&self.literals.get(literal).bytes[offset as usize..]),
            _ => None,
        }
    }

    /// Whether one of a few texts must come next in a state.
    pub(crate) fn has_forced_texts(&self, id: TerminalId) -> bool {
        self.entry(id).begins != Begins::Anyhow
    }

    /// The texts of which one must come next in a state; none if they are not known. None of them begins with another.
    pub(crate) fn forced_texts(&self, id: TerminalId) -> impl Iterator<Item = ForcedText<'_>> {
        self.choice(id).into_iter().flat_map(move |choice| {
            let (escapes, then) = (choice.pending.map(|(_, escapes)| escapes), choice.then);
            let text = move |id| self.literal_bytes(id).map(|bytes| ForcedText { bytes, escapes, then });
            let others = choice.others.iter().copied();
            std::iter::once(choice.first).chain(others).filter_map(text)
        })
    }

    /// The text that must come next in a state, if there is one.
    pub(crate) fn forced_text(&self, id: TerminalId) -> Option<ForcedText<'_>> {
        if self.entry(id).begins == Begins::Text { self.forced_texts(id).next() } else { None }
    }

    fn choice(&self, id: TerminalId) -> Option<Choice<'_>> {
        if !self.has_forced_texts(id) {
            return None;
        }
        let (head, then) = match *self.term(id) {
            Term::Concat(head, tail) => (head, tail),
            _ => (id, TerminalId::EMPTY),
        };
        let (text, pending) = match *self.term(head) {
            Term::JsonText { inner, pending, escapes } => (inner, Some((pending, escapes))),
            _ => (head, None),
        };
        let (first, others) = match self.term(text) {
            Term::Alt(items) => (items[0], &items[1..]),
            _ => (text, &[][..]),
        };
        Some(Choice { first, others, pending, then })
    }

    /// What is left after `byte`, where that is quickly told.
    pub(super) fn forced_next(&self, id: TerminalId, byte: u8) -> Option<TerminalId> {
        let choice = self.choice(id)?;
        let Some((pending, escapes)) = choice.pending else {
            return Some(self.concat(self.rest_of_any(&choice, byte), choice.then));
        };
        if byte == b'\\' {
            return None;
        }
        if !stands_for_itself(byte) {
            return Some(TerminalId::NEVER);
        }
        let pending = match byte {
            0x80..0xC0 => pending.saturating_sub(1),
            0xC0..0xE0 => 1,
            0xE0..0xF0 => 2,
            0xF0.. => 3,
            _ => 0,
        };
        Some(self.concat(self.json_text(self.rest_of_any(&choice, byte), pending, escapes), choice.then))
    }

    /// What is left of the texts that begin with `byte`.
    fn rest_of_any(&self, choice: &Choice<'_>, byte: u8) -> TerminalId {
        let rest = |id: TerminalId| match *self.term(id) {
            Term::Literal { literal, offset }
                if self.literals.get(literal).bytes[offset as usize] == byte =>
            {
                Some(self.literal_rest(literal, offset))
            }
            _ => None,
        };
        self.alt(choice.literals().filter_map(rest))
    }
}
