//! Tables of what may stand behind spaces.
//!
//! In JSON any value may have spaces before it, and a vocabulary has hundreds of tokens that are nothing but spaces. All
//! values have these in common. So the table of spaces is made once, and that of a value behind them is the same row of
//! tokens with a few more: those that begin the value, with spaces before it or without.

use super::table::TerminalTable;
use super::tokens::Part;
use super::walk::{WalkStack, walk_terminal};
use crate::generation::Generation;
use crate::terminal::{Spaced, TerminalId};
use crate::vocab::trie::{NodeIndex, Trie};

impl Generation {
    /// How a state reads spaces, if few tokens go on behind them, so that they are quicker walked than a table is made. Not
    /// if one byte is all: there are few such states, and their tables are known.
    pub(super) fn thinly_spaced(&self, state: TerminalId) -> Option<Spaced> {
        let arena = self.terminals();
        let is_thin = |next: TerminalId| !arena.is_nullable(next) && arena.is_thin(next);
        arena.spaced(state).filter(|spaced| arena.row(spaced.then).iter().all(|&(_, _, next)| is_thin(next)))
    }

    /// The table of a state for all tokens, if it is one of spaces and what comes behind them.
    pub(super) fn spaced_table(&self, state: TerminalId) -> Option<TerminalTable> {
        let arena = self.terminals();
        let Spaced { spaces, then } = arena.spaced(state)?;
        let trie = self.tokens().index().trie();
        let all_spaces = self.table_for(trie, Trie::ROOT, spaces);
        let base = all_spaces.stay.as_row();
        let (mut tokens, mut ends) = (Vec::new(), Vec::new());
        if base.is_none() {
            tokens.extend(all_spaces.stay.tokens());
        }
        let mut stack = WalkStack::new();
        let mut on_tokens = |_: NodeIndex, found: &[u32]| tokens.extend_from_slice(found);
        let mut on_end = |node: NodeIndex, _: TerminalId| ends.push(node);
        for &node in all_spaces.ends().iter().chain([&Trie::ROOT]) {
            walk_terminal(arena, trie, node, then, &mut stack, &mut on_tokens, &mut on_end);
        }
        ends.sort_unstable();
        Some(TerminalTable::of(trie, Part::new(self.words(), base, tokens), ends))
    }
}
