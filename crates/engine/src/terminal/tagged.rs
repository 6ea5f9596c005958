//! Free text with tags: a terminal that says at which tag it has ended.
//!
//! It stands alone on its stack and is part of no other term, so where it may end its state knows how: as free text, or
//! with a tag. What follows the tag then goes on top of the stack (see [`Generation::below`](crate::generation::Generation)).

use super::arena::{Arena, Term, TerminalId};

impl Arena {
    /// The state that a text with tags starts in.
    pub(crate) fn tagged_start(&self, text: u32) -> TerminalId {
        self.tagged_state(text, 0)
    }

    pub(super) fn tagged_state(&self, text: u32, state: u32) -> TerminalId {
        self.intern(&Term::Tagged { text, state })
    }

    /// The text and the number of the tag that has just been read.
    #[inline]
    pub(crate) fn tag(&self, id: TerminalId) -> Option<(u32, u32)> {
        match *self.term(id) {
            Term::Tagged { text, state } => Some((text, self.tagged[text as usize].text.tag(state)?)),
            _ => None,
        }
    }

    /// The text that a state belongs to, if it is one with tags.
    pub(crate) fn tagged_text(&self, id: TerminalId) -> Option<u32> {
        match *self.term(id) {
            Term::Tagged { text, .. } => Some(text),
            _ => None,
        }
    }
}
