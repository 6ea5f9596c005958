//! What follows where a rule has had its tokens.
//!
//! A rule that ends only with some marker has a second way out: [`TokenSet::spent`] stands behind the texts after which it
//! may close without it. No token and no byte leads on from there, so the way stays shut while text is read, and opens
//! between two tokens, for the stacks on which the tokens of a rule have run out.
//!
//! [`TokenSet::spent`]: tokenstile_grammar::ir::TokenSet::spent

use rustc_hash::FxHashMap;

use super::close::Closer;
use super::sets::{Item, Items, SetId};
use super::symbol::{Symbol, SymbolKind};
use crate::generation::Generation;

impl Generation {
    /// Whether a symbol waits for tokens to be spent.
    pub(super) fn is_spent_mark(&self, symbol: Symbol) -> bool {
        match symbol.kind() {
            SymbolKind::Token(set) => self.machine().token_sets[set as usize].is_spent(),
            _ => false,
        }
    }

    /// Where the text goes on from `config` because rules have had their tokens after so many; [`SetId::DEAD`] if none has
    /// that could close here.
    pub(super) fn behind_spent(&self, config: SetId, tokens: u32) -> SetId {
        let mut closer = None;
        for &(symbol, rest) in self.sets().items(config) {
            if self.is_spent_mark(symbol) {
                let overdue = self.overdue_stacks(rest, tokens);
                if overdue != SetId::DEAD {
                    closer.get_or_insert_with(|| Closer::new(self)).pop(overdue);
                }
            }
        }
        closer.map_or(SetId::DEAD, Closer::finish)
    }

    /// Whether a rule that is all there is can end in a configuration, also because it has had its tokens.
    pub(crate) fn can_close(&self, config: SetId) -> bool {
        let sets = self.sets();
        let closes = |&(symbol, rest): &Item| self.is_spent_mark(symbol) && sets.ends(self.after(rest));
        sets.ends(config) || sets.items(config).iter().any(closes)
    }

    /// The stacks of a set on which a rule has had its tokens.
    fn overdue_stacks(&self, set: SetId, tokens: u32) -> SetId {
        let is_early = |at| (self.deadline(at) > tokens).then_some(SetId::DEAD);
        let overdue = |at: SetId, known: &FxHashMap<SetId, SetId>| {
            let of_item = |&(symbol, rest): &Item| {
                (symbol, if self.deadline_of(symbol) <= tokens { rest } else { known[&rest] })
            };
            let items = self.sets().items(at).iter().map(of_item);
            let items: Items = items.filter(|item| item.1 != SetId::DEAD).collect();
            self.intern_items(items, false, 0)
        };
        self.fold(set, &mut FxHashMap::default(), is_early, overdue)
    }
}
