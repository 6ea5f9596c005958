//! Reading within terminals: as long as none of them may have ended, what lies under them stays.
//!
//! A configuration is a number so that what is found out about it is found out once. A completion passes hundreds of them
//! about which nobody asks, and nearly all of these are the same stacks with a terminal each that is a byte further on.

use smallvec::SmallVec;

use super::sets::SetId;
use super::symbol::{Symbol, SymbolKind};
use crate::generation::Generation;
use crate::terminal::TerminalId;

/// The terminals of a configuration, and what lies under each.
pub(crate) type Tops = SmallVec<[(TerminalId, SetId); 4]>;

impl Generation {
    /// The terminals of a configuration, if it is nothing else: no end, no tokens, no text with tags.
    pub(crate) fn tops(&self, config: SetId) -> Option<Tops> {
        let sets = self.sets();
        let top = |&(symbol, rest): &(Symbol, SetId)| match symbol.kind() {
            SymbolKind::Terminal(state) if self.terminals().tagged_text(state).is_none() => {
                Some((state, rest))
            }
            _ => None,
        };
        let is_whole = !sets.ends(config) && sets.holes(config) == 0;
        is_whole.then(|| sets.items(config).iter().map(top).collect())?
    }

    /// The same after a byte, where keys do not remember their texts; none if a terminal may have ended then, or if two come
    /// to the same state.
    pub(crate) fn tops_after(&self, tops: &Tops, byte: u8) -> Option<Tops> {
        let terminals = self.terminals();
        let mut after = Tops::new();
        for &(state, rest) in tops {
            let next = terminals.step(state, byte);
            if next == TerminalId::NEVER {
                continue;
            }
            if terminals.is_nullable(next) || terminals.is_finished(next) {
                return None;
            }
            let next = if self.remembers_keys() { terminals.without_text(next) } else { next };
            if after.iter().any(|&(other, _)| other == next) {
                return None;
            }
            after.push((next, rest));
        }
        Some(after).filter(|after| !after.is_empty())
    }

    /// The configuration of some terminals.
    pub(crate) fn config_of_tops(&self, tops: &Tops) -> SetId {
        let items = tops.iter().map(|&(state, rest)| (Symbol::terminal(state), rest)).collect();
        self.intern_items(items, false, 0)
    }
}
