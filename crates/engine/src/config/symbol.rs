//! What stands on a stack.

use tokenstile_grammar::machine::NodeId;

use crate::terminal::TerminalId;

/// A symbol, packed: a frame, a terminal's state, or a set of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Symbol(u64);

/// A symbol, unpacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SymbolKind {
    /// A position to go on from, with the count of a counter node or the place of a list node.
    Frame(NodeId, u32),
    /// A state of a terminal that is being read.
    Terminal(TerminalId),
    /// One token of this set is read.
    Token(u32),
}

const TAG: u32 = 62;

impl Symbol {
    pub(crate) fn frame(node: NodeId, count: u32) -> Self {
        debug_assert!(node.0 >> 30 == 0);
        Symbol(u64::from(node.0) << 32 | u64::from(count))
    }

    pub(crate) fn terminal(id: TerminalId) -> Self {
        Symbol(1 << TAG | u64::from(id.0))
    }

    pub(crate) fn token(set: u32) -> Self {
        Symbol(2 << TAG | u64::from(set))
    }

    pub(crate) fn kind(self) -> SymbolKind {
        match self.0 >> TAG {
            0 => SymbolKind::Frame(NodeId((self.0 >> 32) as u32), self.0 as u32),
            1 => SymbolKind::Terminal(TerminalId(self.0 as u32)),
            _ => SymbolKind::Token(self.0 as u32),
        }
    }
}
