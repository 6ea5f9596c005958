//! Forced text: what a state must read next, where that is one text.
//!
//! Most keys, and all punctuation, are literals, perhaps in their JSON spellings. A walk of tokens goes along such a text
//! byte by byte and needs no state for any place in it, which is most of what there is to a mask in a key.

use super::arena::{Arena, Term, TerminalId};
use super::json_text::{SHORT, stands_for_itself};

/// A text that must come.
pub(crate) struct ForcedText<'a> {
    /// The text, not empty. If it is spelled it may begin inside of a code point, and ends at the end of one.
    pub(crate) bytes: &'a [u8],
    /// Whether code points may be written as escapes of JSON.
    pub(crate) is_spelled: bool,
    /// What is left after it.
    pub(crate) then: TerminalId,
}

impl ForcedText<'_> {
    /// Whether the byte at a place may be written as it is.
    pub(crate) fn is_raw(&self, place: usize) -> bool {
        !self.is_spelled || stands_for_itself(self.bytes[place])
    }

    /// The bytes that it may begin with.
    pub(crate) fn first_bytes(&self) -> impl Iterator<Item = u8> {
        let raw = self.is_raw(0).then(|| self.bytes[0]);
        let escape = self.escapable(0).is_some().then_some(b'\\');
        raw.into_iter().chain(escape)
    }

    /// The code point at a place, if it may be written as an escape there.
    pub(crate) fn escapable(&self, place: usize) -> Option<char> {
        if self.is_spelled { first_char(&self.bytes[place..]) } else { None }
    }
}

/// The code point that a text begins with; none if it begins inside of one.
pub(super) fn first_char(bytes: &[u8]) -> Option<char> {
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
pub(crate) fn short_escapes(c: char) -> impl Iterator<Item = u8> {
    SHORT.iter().filter(move |&&(_, meant)| char::from(meant) == c).map(|&(written, _)| written)
}

/// A literal, from some place on.
struct Rest {
    literal: u32,
    offset: u32,
    /// For one that is spelled, how many bytes of its first code point are still to come after the first was read.
    pending: Option<u8>,
}

impl Arena {
    /// The text that must come next in a state, if there is one.
    pub(crate) fn forced_text(&self, id: TerminalId) -> Option<ForcedText<'_>> {
        let (rest, then) = self.forced(id)?;
        let bytes = &self.literals.get(rest.literal).bytes[rest.offset as usize..];
        Some(ForcedText { bytes, is_spelled: rest.pending.is_some(), then })
    }

    fn forced(&self, id: TerminalId) -> Option<(Rest, TerminalId)> {
        if !self.entry(id).is_forced {
            return None;
        }
        let (head, then) = match *self.term(id) {
            Term::Concat(head, tail) => (head, tail),
            _ => (id, TerminalId::EMPTY),
        };
        let (literal, pending) = match *self.term(head) {
            Term::JsonText { inner, pending } => (inner, Some(pending)),
            _ => (head, None),
        };
        let Term::Literal { literal, offset } = *self.term(literal) else { return None };
        Some((Rest { literal, offset, pending }, then))
    }

    /// What is left after `byte`, where that is quickly told.
    pub(super) fn forced_next(&self, id: TerminalId, byte: u8) -> Option<TerminalId> {
        let (rest, then) = self.forced(id)?;
        let first = self.literals.get(rest.literal).bytes[rest.offset as usize];
        let Some(pending) = rest.pending else {
            let left = || self.concat(self.literal_rest(rest.literal, rest.offset), then);
            return Some(if byte == first { left() } else { TerminalId::NEVER });
        };
        if byte == b'\\' {
            return None;
        }
        if byte != first || !stands_for_itself(byte) {
            return Some(TerminalId::NEVER);
        }
        let pending = match byte {
            0x80..0xC0 => pending.saturating_sub(1),
            0xC0..0xE0 => 1,
            0xE0..0xF0 => 2,
            0xF0.. => 3,
            _ => 0,
        };
        Some(self.concat(self.json_text(self.literal_rest(rest.literal, rest.offset), pending), then))
    }
}
