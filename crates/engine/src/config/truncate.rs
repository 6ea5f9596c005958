//! The top of a configuration.
//!
//! A mask can only look as far down the stack as a token reaches. So masks are computed for, and kept by, a
//! configuration that is cut off some frames down, where [`SetId::UNKNOWN`] stands for the rest; every configuration
//! with the same top shares the mask. Bounds that no token can reach are cut off in the same way, see
//! [`saturate`](crate::terminal).

use hashbrown::HashMap;

use super::sets::{Items, SetId};
use super::symbol::{Symbol, SymbolKind};
use crate::generation::Generation;

impl Generation {
    /// The top of `config`: its terminals and tokens, and `depth` frames under each.
    pub(crate) fn truncate(&self, config: SetId, depth: u32) -> SetId {
        let mut items = Items::new();
        let mut shared = HashMap::new();
        for &(symbol, rest) in self.sets().items(config) {
            let symbol = match symbol.kind() {
                SymbolKind::Terminal(state) => Symbol::terminal(self.terminals().saturate(state)),
                _ => symbol,
            };
            items.push((symbol, self.truncate_rest(rest, depth, &mut shared)));
        }
        self.intern_items(items, self.sets().ends(config), self.sets().is_unknown(config))
    }

    /// Depth is at most 64, so this may recurse. Sets with several items may be reached on
    /// many ways; `shared` has those that were done.
    fn truncate_rest(&self, rest: SetId, depth: u32, shared: &mut HashMap<(SetId, u32), SetId>) -> SetId {
        let sets = self.sets();
        let items = sets.items(rest);
        if items.is_empty() {
            return rest;
        }
        if depth == 0 {
            return SetId::UNKNOWN;
        }
        if let Some(&done) = shared.get(&(rest, depth)) {
            return done;
        }
        let truncated = items
            .iter()
            .map(|&(symbol, rest)| (self.saturate_frame(symbol), self.truncate_rest(rest, depth - 1, shared)))
            .collect();
        let result = self.intern_items(truncated, sets.ends(rest), sets.is_unknown(rest));
        if items.len() > 1 {
            shared.insert((rest, depth), result);
        }
        result
    }

    fn saturate_frame(&self, symbol: Symbol) -> Symbol {
        let SymbolKind::Frame(node, count) = symbol.kind() else { return symbol };
        let Some(counter) = self.machine().node(node).counter else { return symbol };
        let reach = self.longest_token();
        if counter.max - count <= reach {
            return symbol;
        }
        // No token reaches the upper bound. Nor the lower one, if it is as far away; past it, all counts are alike.
        let far_from_min = counter.min > reach && counter.min - count.min(counter.min) > reach;
        match count {
            _ if far_from_min => Symbol::frame(node, 0),
            _ if count >= counter.min => Symbol::frame(node, counter.min),
            _ => symbol,
        }
    }
}
