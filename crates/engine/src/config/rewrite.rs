//! A set with other frames on its stacks.

use rustc_hash::FxHashMap;

use super::sets::{Item, Items, SetId};
use super::symbol::Symbol;
use crate::generation::Generation;

impl Generation {
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
        let mut stack = vec![set];
        while let Some(&at) = stack.last() {
            let waiting = stack.len();
            if !done.contains_key(&at) {
                if stays(at) {
                    done.insert(at, at);
                } else {
                    let rests = sets.items(at).iter().map(|item| item.1);
                    stack.extend(rests.filter(|rest| !done.contains_key(rest)));
                }
                if stack.len() == waiting && !done.contains_key(&at) {
                    let changed = |&(symbol, rest): &Item| Some((change(symbol)?, done[&rest]));
                    let items: Items = sets
                        .items(at)
                        .iter()
                        .filter_map(changed)
                        .filter(|item| item.1 != SetId::DEAD)
                        .collect();
                    done.insert(at, self.intern_items(items, sets.ends(at), sets.holes(at)));
                }
            }
            if stack.len() == waiting {
                stack.pop();
            }
        }
        done[&set]
    }
}
