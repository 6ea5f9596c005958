//! Which tokens of a mask are decided without the context: by the states of the terminals alone, whatever is on the stack.
//!
//! A token that ends inside a terminal fits, because every stack can be completed. A token that can neither go on inside
//! nor pass an end of the terminal does not fit. Only a token that passes an end, and whose other bytes are for what
//! comes next, has to look at the stack. This is for people and for statistics: masks are computed elsewhere.

use super::rows::{has_bit, set_bit};
use crate::config::{SetId, SymbolKind};
use crate::generation::Generation;
use crate::terminal::{Arena, TerminalId};
use crate::vocab::trie::Trie;

/// How many tokens a terminal, or all of them together, decide.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decided {
    /// Tokens that fit whatever the context is.
    pub taken: usize,
    /// Tokens that fit in no context.
    pub refused: usize,
    /// Tokens that the context decides.
    pub open: usize,
}

impl Decided {
    fn new(tokens: usize, taken: &[u32], open: &[u32]) -> Self {
        let count = |row: &mut dyn Iterator<Item = u32>| row.map(|word| word.count_ones() as usize).sum();
        let taken_count: usize = count(&mut taken.iter().copied());
        let open_count: usize = count(&mut open.iter().zip(taken).map(|(open, taken)| open & !taken));
        Decided { taken: taken_count, refused: tokens - taken_count - open_count, open: open_count }
    }
}

/// What one of the terminals decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecidedByTerminal {
    /// The bytes that it takes next.
    pub next_bytes: Vec<u8>,
    /// Whether it may end here.
    pub may_end: bool,
    /// How many tokens it decides.
    pub tokens: Decided,
}

/// What is decided without the context in one place of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DecidedTokens {
    /// By all terminals together: a token that one of them takes fits, and one that is open for none does not.
    pub tokens: Decided,
    /// By each terminal.
    pub terminals: Vec<DecidedByTerminal>,
}

/// The bytes that a state takes next.
fn next_bytes(arena: &Arena, state: TerminalId) -> Vec<u8> {
    (0..=255).filter(|&byte| arena.step(state, byte) != TerminalId::NEVER).collect()
}

impl Generation {
    /// Which tokens of the mask of `config` are decided without the context. Tokens that are no text count only where they
    /// are named, and those are taken.
    pub(crate) fn decided_tokens(&self, config: SetId) -> DecidedTokens {
        let trie = self.tokens().index().trie();
        let (mut taken, mut open) = (vec![0; self.words()], vec![0; self.words()]);
        let text_count = trie.tokens().len();
        let (mut terminals, mut states, mut named) = (Vec::new(), Vec::new(), Vec::new());
        for &(symbol, _) in self.sets().items(config) {
            match symbol.kind() {
                SymbolKind::Terminal(state) => states.push(self.terminals().saturate(state)),
                SymbolKind::Token(set) => self.add_token_set(set, &mut named),
                SymbolKind::Frame(..) => {}
            }
        }
        states.sort_unstable();
        states.dedup();
        for state in states {
            let (own_taken, own_open) = self.decided_by(trie, state);
            terminals.push(DecidedByTerminal {
                next_bytes: next_bytes(self.terminals(), state),
                may_end: self.terminals().is_nullable(state),
                tokens: Decided::new(text_count, &own_taken, &own_open),
            });
            taken.iter_mut().zip(&own_taken).for_each(|(word, own)| *word |= own);
            open.iter_mut().zip(&own_open).for_each(|(word, own)| *word |= own);
        }
        let mut tokens = text_count;
        let is_text = |token: u32| !self.tokens().token_bytes(crate::vocab::TokenId(token)).is_empty();
        named.sort_unstable();
        named.dedup();
        for token in named {
            tokens += usize::from(!is_text(token));
            set_bit(&mut taken, token);
        }
        DecidedTokens { tokens: Decided::new(tokens, &taken, &open), terminals }
    }

    /// The tokens that end inside of a state, and those that pass an end of it, some of the former among them.
    fn decided_by(&self, trie: &Trie, state: TerminalId) -> (Vec<u32>, Vec<u32>) {
        let table = self.table(state);
        let taken = table.stay.in_one_row(self.words()).words().to_vec();
        let mut open = vec![0; self.words()];
        let tags = table.tags.iter().map(|&(_, node)| node);
        // Ends lie below each other, and what is below one is looked at once.
        let mut done = 0;
        let mut ends: Vec<_> = table.ends().iter().copied().chain(tags).collect();
        ends.sort_unstable();
        for end in ends {
            let range = trie.token_range(end);
            for &token in &trie.tokens()[range.start.max(done)..range.end.max(done)] {
                if !has_bit(&taken, token) {
                    set_bit(&mut open, token);
                }
            }
            done = done.max(range.end);
        }
        (taken, open)
    }
}
