//! Texts of at most so many code points: an automaton and a count.
//!
//! A text may go on as long as the shortest way to an end, in code points, is within what is left.

use tokenstile_grammar::regular::{Dfa, determinize};
use tokenstile_grammar::{Budget, ExprId, Grammar, Result};

use super::node::At;

/// The texts of an automaton up to a length.
#[derive(Debug)]
pub(super) struct AtMost {
    texts: Dfa,
    /// The code points that each state of the automaton is away from an end.
    distances: Vec<u32>,
    most: u32,
}

fn pack(state: u32, read: u32) -> At {
    u64::from(read) << 32 | u64::from(state)
}

fn unpack(at: At) -> (u32, u32) {
    (at as u32, (at >> 32) as u32)
}

impl AtMost {
    pub(super) fn new(grammar: &Grammar, body: ExprId, most: u32, budget: &Budget) -> Result<Self> {
        let texts = determinize(grammar, body, budget)?.intersection(Dfa::any_text(), budget)?;
        let distances = texts.distances();
        Ok(AtMost { texts, distances, most })
    }

    /// Whether all texts are too long.
    pub(super) fn is_empty(&self) -> bool {
        self.distances.first().is_none_or(|&shortest| shortest > self.most)
    }

    /// Whether a text has ended here.
    pub(super) fn is_end(&self, at: At) -> bool {
        self.texts.is_accepting(unpack(at).0)
    }

    /// The position after `byte`.
    pub(super) fn after_byte(&self, at: At, byte: u8) -> Option<At> {
        let (state, read) = unpack(at);
        let state = self.texts.next(state, byte)?;
        let read = if (0x80..0xC0).contains(&byte) { read } else { read + 1 };
        let shortest = u64::from(read) + u64::from(self.distances[state as usize]);
        (shortest <= u64::from(self.most)).then(|| pack(state, read))
    }
}
