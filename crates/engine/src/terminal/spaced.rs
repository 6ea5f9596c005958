//! States that read spaces and then something else.

use super::arena::{Arena, Row, Term, TerminalId};

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
        let &Term::Repeat { body, min: 0, max: Term::UNBOUNDED } = self.term(spaces) else { return None };
        let is_one_byte =
            |row: &Row| row.iter().all(|&(_, high, next)| high < 0x80 && next == TerminalId::EMPTY);
        if self.is_nullable(then) || !is_one_byte(self.row(body)) {
            return None;
        }
        let (before, begun) = (self.row(body), self.row(then));
        let is_apart = |&(low, high, _): &(u8, u8, TerminalId)| {
            before.iter().all(|&(from, to, _)| high < from || to < low)
        };
        let count: usize = begun.iter().map(|&(low, high, _)| usize::from(high - low) + 1).sum();
        (count <= MOST_BYTES && begun.iter().all(is_apart)).then_some(Spaced { spaces, then })
    }
}
