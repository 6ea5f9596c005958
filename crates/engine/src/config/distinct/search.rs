//! Whether an item can still differ from all before it.
//!
//! It can if there is a way on that none of its rivals goes. That is looked for byte by byte, the shortest ways first, along
//! the rivals alone: at the first byte that none of them has, it is found. Of several ways to write a text one is enough, so
//! escapes of what need not be escaped are passed over. Numbers can be written without end, as zeros behind the point; but
//! where zeros get to the same place of the grammar again and again, what follows is different sooner or later, if it
//! ever is; and an exponent of nought tells nothing. There is no other way to go on without end along rivals, of which each
//! has an end.

use std::collections::VecDeque;

use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::Entry;
use super::ledger::{Ledger, Standing};
use crate::config::SetId;
use crate::generation::Generation;
use crate::interrupt;

/// How many zeros in a row are looked at that lead to the same place: what they lead to is a matter of scale.
const MORE_ZEROS: usize = 4;

/// How many steps are made before an item is believed to be able to differ.
const MOST_STEPS: usize = 20_000;

impl Generation {
    /// Whether some stack can be completed such that its items differ.
    #[inline]
    pub(crate) fn can_differ(&self, config: SetId) -> bool {
        !self.machine().compares_items || config == SetId::DEAD || self.find_difference(config)
    }

    fn find_difference(&self, config: SetId) -> bool {
        if self.rivalled(config).is_empty() {
            return true;
        }
        if let Some(&known) = self.distinct().can_differ.lock().get(&config) {
            return known;
        }
        let found = self.is_different_ahead(config) || self.search_difference(config);
        self.distinct().can_differ.lock().insert(config, found);
        found
    }

    /// Whether there is a text or number ahead that can be written in no end of ways.
    fn is_different_ahead(&self, config: SetId) -> bool {
        let plain = self.forgetful(config).unwrap_or(config);
        self.is_endless_ahead(plain, self.entries(config).iter().map(|&entry| self.distinct().ledger(entry)))
    }

    /// The ledgers whose item under way may turn out to be equal to one before.
    fn rivalled(&self, config: SetId) -> SmallVec<[Ledger; 2]> {
        let ledgers = |entry: &Entry| self.distinct().ledger(*entry);
        let is_rivalled = |ledger: &Ledger| ledger.standing() == Standing::Rivalled;
        self.entries(config).iter().map(ledgers).filter(is_rivalled).collect()
    }

    fn search_difference(&self, config: SetId) -> bool {
        if self.has_free_stack(config) {
            return true;
        }
        let mut seen: FxHashSet<SetId> = FxHashSet::from_iter([config]);
        // An escape that was begun has to be ended, whatever it is of.
        let mut queue = VecDeque::from([(config, true, 0)]);
        let mut steps = 0;
        while let Some((at, is_begun, zeros)) = queue.pop_front() {
            interrupt::poll(1);
            let ledgers = self.rivalled(at);
            // All of them read the same bytes, and those that have begun are in the same text or number.
            let Some(&ledger) = ledgers.first() else { return true };
            let within = self.distinct().pieces.within(ledger);
            let plain = self.forgetful(at).unwrap_or(at);
            if within.is_some_and(|within| self.goes_on_anyhow(plain, within)) {
                return true;
            }
            let is_begun = is_begun && ledger.is_in_escape();
            for byte in self.telling_bytes(at, &ledgers, is_begun) {
                steps += 1;
                let next = self.step(self.before_byte(at, byte), byte);
                if steps > MOST_STEPS {
                    return true;
                }
                if next == SetId::DEAD || !seen.insert(next) {
                    continue;
                }
                if self.has_free_stack(next) {
                    return true;
                }
                let is_same_place = ledger.is_in_bare() && self.forgetful(next).unwrap_or(next) == plain;
                if is_same_place && within.is_none() {
                    continue;
                }
                let zeros = if is_same_place && byte == b'0' { zeros + 1 } else { 0 };
                if zeros > MORE_ZEROS {
                    continue;
                }
                if is_begun || ledger.is_in_bare() {
                    // How an escape or a number goes on tells more than how else it could.
                    queue.push_front((next, is_begun, zeros));
                } else {
                    queue.push_back((next, is_begun, zeros));
                }
            }
        }
        false
    }

    /// The bytes that may come, without those that only write the same value in another way. In a text, one is enough of
    /// those that no rival has.
    fn telling_bytes(&self, config: SetId, ledgers: &[Ledger], is_begun: bool) -> Vec<u8> {
        let all = self.bytes_ahead(config);
        let pieces = &self.distinct().pieces;
        if ledgers[0].is_in_text() {
            let rivals: Vec<_> = ledgers.iter().filter_map(|&ledger| pieces.rival_bytes(ledger)).collect();
            let is_free = |byte: &u8| {
                rivals.len() == ledgers.len() && rivals.iter().all(|bytes| bytes.binary_search(byte).is_err())
            };
            let (free, others): (Vec<u8>, Vec<u8>) =
                all.filter(|&byte| is_begun || ledgers[0].is_plain_with(byte)).partition(is_free);
            return free.into_iter().take(1).chain(others).collect();
        }
        if ledgers[0].is_in_bare() {
            // The end, or another digit, tells most numbers apart. What comes last is looked into first.
            let mut bytes: Vec<u8> = all.collect();
            bytes.sort_by_key(|byte| match byte {
                b',' | b']' | b'}' => 0,
                b'1'..=b'9' => 2,
                _ => 1,
            });
            return bytes;
        }
        // Where the layout is fixed, a line break tells an array with items from an empty one.
        let is_space = |byte: &u8| matches!(byte, b' ' | b'\n' | b'\r' | b'\t');
        let (spaces, others): (Vec<u8>, Vec<u8>) = all.partition(is_space);
        others.into_iter().chain(spaces).collect()
    }
}
