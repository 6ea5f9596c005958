//! The way to where an array can be completed without a look at the items before.
//!
//! What it takes to complete a text is known without regard to what items are (see `crate::completion`). That holds where
//! arrays are *settled*: the item under way differs from all before whatever comes, or there is none and none has to come. From
//! where they are not, the nearest such place is looked for byte by byte. So what is left of the way after its first byte is the
//! way from there, or one that is as short.

use std::collections::VecDeque;

use rustc_hash::FxHashSet;

use crate::config::SetId;
use crate::generation::Generation;
use crate::interrupt;

/// How many steps are made before it is given up.
const MOST_STEPS: usize = 6_000;

impl Generation {
    /// Whether all arrays whose items are compared are settled.
    pub(crate) fn is_settled(&self, config: SetId) -> bool {
        !self.machine().compares_items
            || self.entries(config).iter().all(|&entry| self.distinct().ledger(entry).is_settled())
    }

    /// The configuration after a byte, also where it is not known that all items that must differ can.
    pub(crate) fn step_comparing(&self, config: SetId, byte: u8) -> SetId {
        self.step(self.before_byte(config, byte), byte)
    }

    /// The first byte on the way to where all arrays are settled.
    pub(crate) fn way_to_settle(&self, config: SetId) -> Option<u8> {
        let mut seen: FxHashSet<SetId> = FxHashSet::from_iter([config]);
        let mut queue: VecDeque<(SetId, Option<u8>)> = VecDeque::from([(config, None)]);
        let mut steps = 0;
        while let Some((at, first)) = queue.pop_front() {
            interrupt::poll(1);
            for byte in self.bytes_to_settle(at) {
                steps += 1;
                let next = self.step_comparing(at, byte);
                if steps > MOST_STEPS {
                    return None;
                }
                if next == SetId::DEAD || !seen.insert(next) {
                    continue;
                }
                let first = first.unwrap_or(byte);
                if self.is_settled(next) {
                    return Some(first);
                }
                queue.push_back((next, Some(first)));
            }
        }
        None
    }

    /// The bytes that may come, without spaces where anything else may. Digits come first: of what may be an item, numbers are
    /// the shortest.
    fn bytes_to_settle(&self, config: SetId) -> Vec<u8> {
        let mut all: Vec<u8> = self.bytes_ahead(config).collect();
        all.sort_by_key(|byte| !byte.is_ascii_digit());
        let is_space = |byte: &u8| byte.is_ascii_whitespace();
        if all.iter().all(is_space) {
            return all;
        }
        all.into_iter().filter(|byte| !is_space(byte)).collect()
    }
}
