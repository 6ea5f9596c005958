//! Going through a set from the bottom up: what is known of it, and the same set with other frames on its stacks.

use rustc_hash::FxHashMap;

use super::sets::{Item, Items, SetId};
use super::symbol::Symbol;
use crate::generation::Generation;
use crate::interrupt;

impl Generation {
    /// What a set is worth, where it is known what its rests are. `plain` is what a set is worth without looking at these;
    /// `known` are those that were looked at before.
    pub(super) fn fold<V: Clone>(
        &self,
        set: SetId,
        known: &mut FxHashMap<SetId, V>,
        plain: impl Fn(SetId) -> Option<V>,
        worth: impl Fn(SetId, &FxHashMap<SetId, V>) -> V,
    ) -> V {
        let mut stack = vec![set];
        while let Some(&at) = stack.last() {
            interrupt::poll(1);
            let waiting = stack.len();
            if !known.contains_key(&at) {
                if let Some(value) = plain(at) {
                    known.insert(at, value);
                } else {
                    let rests = self.sets().items(at).iter().map(|item| item.1);
                    stack.extend(rests.filter(|rest| !known.contains_key(rest)));
                    if stack.len() == waiting {
                        let value = worth(at, known);
                        known.insert(at, value);
                    }
                }
            }
            if stack.len() == waiting {
                stack.pop();
            }
        }
        known[&set].clone()
    }

    /// The stacks of a set with other symbols, without those that have a symbol for which there is none. Sets that `stay`
    /// are as they are. `done` are those that were rewritten before.
    pub(super) fn rewrite(
        &self,
        set: SetId,
        done: &mut FxHashMap<SetId, SetId>,
        stays: impl Fn(SetId) -> bool,
        change: impl Fn(Symbol) -> Option<Symbol>,
    ) -> SetId {
        let sets = self.sets();
        let rewritten = |at: SetId, done: &FxHashMap<SetId, SetId>| {
            let changed = |&(symbol, rest): &Item| Some((change(symbol)?, done[&rest]));
            let is_left = |item: &Item| item.1 != SetId::DEAD;
            let items: Items = sets.items(at).iter().filter_map(changed).filter(is_left).collect();
            self.intern_items(items, sets.ends(at), sets.holes(at))
        };
        self.fold(set, done, |at| stays(at).then_some(at), rewritten)
    }
}
