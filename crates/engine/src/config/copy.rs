//! Copying a set to another generation, its rests already copied.

use super::sets::{Items, SetId};
use super::symbol::{Symbol, SymbolKind};
use crate::carry::{Carrier, Way, Work};

impl Carrier {
    /// The copy of one set whose rests have been carried over. None if there was not enough work left for it.
    pub(crate) fn carry_set(&mut self, way: Way<'_>, id: SetId, work: &mut Work) -> Option<SetId> {
        let Way { from, to } = way;
        if let Some([low, high]) = from.sets().halves(id) {
            return Some(to.sets().put_together(self.known(low)?, self.known(high)?));
        }
        let mut items = Items::new();
        for &(symbol, rest) in from.sets().items(id) {
            let symbol = match symbol.kind() {
                SymbolKind::Terminal(state) => {
                    Symbol::terminal(to.terminals().carry(from.terminals(), state, &mut self.terminals))
                }
                SymbolKind::Frame(node, place) if from.machine().node(node).list.is_some() => {
                    let carry = |keys| to.terminals().carry_exclusion(from.terminals(), keys);
                    Symbol::frame(node, to.lists().carry(from.lists(), place, carry))
                }
                SymbolKind::Frame(node, entry) if from.machine().node(node).distinct_items => {
                    Symbol::frame(node, self.carry_entry(way, entry, work)?)
                }
                _ => symbol,
            };
            // The stack knows that it was.
            items.push((symbol, self.known(rest)?));
        }
        Some(to.intern_items(items, from.sets().ends(id), from.sets().holes(id)))
    }
}
