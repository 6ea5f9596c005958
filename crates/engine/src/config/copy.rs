//! Copying a set to another generation, its rests already copied.

use super::sets::{Items, SetId};
use super::symbol::{Symbol, SymbolKind};
use crate::carry::Carrier;

impl Carrier<'_> {
    /// The copy of one set whose rests have been carried over.
    pub(crate) fn carry_set(&mut self, id: SetId) -> SetId {
        let (from, to) = (self.from, self.to);
        if let Some(halves) = from.sets().halves(id) {
            let [low, high] = halves.map(|set| self.sets[&set]);
            return to.sets().put_together(low, high);
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
                    Symbol::frame(node, self.carry_entry(entry))
                }
                _ => symbol,
            };
            items.push((symbol, self.sets[&rest]));
        }
        to.intern_items(items, from.sets().ends(id), from.sets().holes(id))
    }
}
