//! States that read spaces and then something else.

use super::arena::{Arena, Term, TerminalId};
use super::automata::WHITE;

/// A state that takes spaces apart from what comes behind them.
pub(crate) struct Spaced {
    /// The spaces, any number of them.
    pub(crate) spaces: TerminalId,
    /// What comes behind them: it begins with none of them, and is not empty.
    pub(crate) then: TerminalId,
}

impl Arena {
    /// How `id` reads spaces, or any other bytes without end, before something else; if that is what it does, and only a few
    /// bytes can follow them.
    pub(crate) fn spaced(&self, id: TerminalId) -> Option<Spaced> {
        const MOST_BYTES: usize = 24;
        let &Term::Concat(spaces, then) = self.term(id) else { return None };
        if self.is_nullable(then) {
            return None;
        }
        let begun = self.row(then);
        let is_apart = match *self.term(spaces) {
            Term::Repeat { body, min: 0, max: Term::UNBOUNDED } => {
                let before = self.row(body);
                if !before.iter().all(|&(_, high, next)| high < 0x80 && next == TerminalId::EMPTY) {
                    return None;
                }
                let is_apart = |&(low, high, _): &(u8, u8, TerminalId)| {
                    before.iter().all(|&(from, to, _)| high < from || to < low)
                };
                begun.iter().all(is_apart)
            }
            Term::Dfa { dfa, .. } if self.automata.get(dfa).is_white => {
                begun.iter().all(|&(low, high, _)| !WHITE.iter().any(|&space| low <= space && space <= high))
            }
            _ => return None,
        };
        let count: usize = begun.iter().map(|&(low, high, _)| usize::from(high - low) + 1).sum();
        (count <= MOST_BYTES && is_apart).then_some(Spaced { spaces, then })
    }
}
