//! A fan: what may be read in a configuration, by first byte.
//!
//! Walking tokens on from where a terminal ended asks, for many bytes, which of a configuration's terminals take the
//! byte. A configuration may have dozens; turned around, by byte, the answer is a short list.

use crate::config::{SetId, SymbolKind};
use crate::generation::Generation;
use crate::terminal::TerminalId;

/// For each byte, the states that it leads to and the stacks under them.
pub(crate) struct Fan {
    /// Where each byte's list starts in `targets`; the next one's start is its end.
    starts: Box<[u32; 257]>,
    targets: Box<[(TerminalId, SetId)]>,
    /// The states themselves.
    pub(super) states: Box<[(TerminalId, SetId)]>,
}

impl Fan {
    /// The fan of a configuration.
    pub(super) fn new(generation: &Generation, config: SetId) -> Self {
        let terminals = generation.terminals();
        let states: Vec<(TerminalId, SetId)> = generation
            .sets()
            .items(config)
            .iter()
            .filter_map(|&(symbol, below)| match symbol.kind() {
                SymbolKind::Terminal(state) => Some((terminals.saturate(state), below)),
                _ => None,
            })
            .collect();
        let mut counts = [0u32; 257];
        for &(state, _) in &states {
            for &(low, high, _) in terminals.row(state) {
                (low..=high).for_each(|byte| counts[usize::from(byte)] += 1);
            }
        }
        let mut starts = Box::new([0; 257]);
        let mut total = 0;
        for (start, count) in starts.iter_mut().zip(counts) {
            *start = total;
            total += count;
        }
        let mut free = *starts;
        let mut targets = vec![(TerminalId::NEVER, SetId::DEAD); total as usize];
        for &(state, below) in &states {
            for &(low, high, next) in terminals.row(state) {
                for byte in low..=high {
                    let place = &mut free[usize::from(byte)];
                    targets[*place as usize] = (next, below);
                    *place += 1;
                }
            }
        }
        Fan { starts, targets: targets.into(), states: states.into() }
    }

    /// The states that `byte` leads to, and the stacks under them.
    #[inline]
    pub(super) fn get(&self, byte: u8) -> &[(TerminalId, SetId)] {
        let byte = usize::from(byte);
        &self.targets[self.starts[byte] as usize..self.starts[byte + 1] as usize]
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        size_of_val(&*self.starts) + size_of_val(&*self.targets) + size_of_val(&*self.states)
    }
}
