//! A fan: the terminals that may be read in a configuration, and the bytes that any of them takes.
//!
//! Walking tokens on from where a terminal ended asks, for many bytes, which of a configuration's terminals take the
//! byte. Most bytes are taken by none, which the set of bytes tells at once.

use crate::config::{SetId, SymbolKind};
use crate::generation::Generation;
use crate::terminal::{Arena, TerminalId};

/// The states of a configuration's terminals, saturated, and the stacks under them.
pub(crate) struct Fan {
    pub(super) states: Box<[(TerminalId, SetId)]>,
    bytes: [u64; 4],
}

impl Fan {
    /// The fan of a configuration.
    pub(super) fn new(generation: &Generation, config: SetId) -> Self {
        let terminals = generation.terminals();
        let mut bytes = [0; 4];
        let mut states = Vec::new();
        for &(symbol, below) in generation.sets().items(config) {
            let SymbolKind::Terminal(state) = symbol.kind() else { continue };
            let state = terminals.saturate(state);
            let mut add = |byte: u8| bytes[usize::from(byte) / 64] |= 1 << (byte % 64);
            if terminals.has_forced_texts(state) {
                terminals.forced_texts(state).for_each(|text| text.first_bytes().for_each(&mut add));
            } else {
                for &(low, high, _) in terminals.row(state) {
                    (low..=high).for_each(&mut add);
                }
            }
            states.push((state, below));
        }
        Fan { states: states.into(), bytes }
    }

    /// The states that `byte` leads to, and the stacks under them.
    #[inline]
    pub(super) fn get<'f>(
        &'f self,
        terminals: &'f Arena,
        byte: u8,
    ) -> impl Iterator<Item = (TerminalId, SetId)> + 'f {
        let taken = self.bytes[usize::from(byte) / 64] >> (byte % 64) & 1 == 1;
        let states = if taken { &*self.states } else { &[] };
        let next = move |&(state, below): &(TerminalId, SetId)| (terminals.next_dense(state, byte), below);
        states.iter().map(next).filter(|&(state, _)| state != TerminalId::NEVER)
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        size_of::<Self>() + size_of_val(&*self.states)
    }
}
