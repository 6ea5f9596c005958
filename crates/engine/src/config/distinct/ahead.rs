//! A text or number ahead of which there is no end, within the item under way.
//!
//! An item with such a text or number can differ from any finite number of items, whatever these are. So what is found here of
//! the stacks without what they carry holds for all items that get to the same place, while a [`search`](super::search) along
//! the rivals holds for these rivals alone. What is not found may be there all the same.

use std::collections::VecDeque;

use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::ledger::{Ledger, Standing};
use crate::config::{SetId, SymbolKind};
use crate::generation::Generation;
use crate::interrupt;
use crate::terminal::{Escaped, TerminalId};

/// How many places are looked at.
const MOST_PLACES: usize = 300;

/// Where in JSON something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Position {
    within: Within,
    /// Whether the innermost container that is open inside of the item under way is an object; none if there is none.
    in_object: Option<bool>,
}

/// What is being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Within {
    /// A string or a key.
    Text,
    /// What was read of an escape in one.
    Escape(Escaped),
    /// A number that is another one with each digit.
    Number,
    /// A word, or what stands between values.
    Other,
}

/// A place on the way.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Place {
    config: SetId,
    within: Within,
    /// Whether the containers that are open are objects: the innermost one of the beginning, and those opened on the way.
    in_objects: SmallVec<[bool; 8]>,
}

impl Place {
    /// The place after a byte that leads to `config`, unless the way leaves the container it began in, goes on to another item
    /// of an array, or writes a value in one of several ways.
    fn after(&self, byte: u8, config: SetId) -> Option<Self> {
        let mut next = Place { config, ..self.clone() };
        let innermost = self.in_objects.last().copied();
        match (self.within, byte) {
            (Within::Escape(read), _) => {
                // Of the digits a few do that begin or end no pair, and those of the second half of one.
                let is_enough = !read.takes_digit() || b"04cd".contains(&byte);
                let read = if read.takes(byte) && is_enough { read.with(byte) } else { return None };
                next.within = if read.decoded().is_some() { Within::Text } else { Within::Escape(read) };
            }
            // A text that is an item has to go on by itself.
            (Within::Text, b'\\' | 0x80..) => return None,
            (Within::Text, _) if innermost.is_none() => return None,
            (Within::Text, b'"') => next.within = Within::Other,
            (Within::Text, _) | (Within::Number, b'1'..=b'9') => {}
            (_, b'}' | b']') => {
                next.within = Within::Other;
                next.in_objects.pop();
                if next.in_objects.is_empty() {
                    return None;
                }
            }
            (_, b',') if innermost == Some(true) => next.within = Within::Other,
            (Within::Number, _) | (_, b',' | b'0') => return None,
            (Within::Other, b'"') => next.within = Within::Text,
            (Within::Other, b'-' | b'1'..=b'9') => next.within = Within::Number,
            (Within::Other, b'{' | b'[') => next.in_objects.push(byte == b'{'),
            (Within::Other, _) => {}
        }
        Some(next)
    }
}

impl Generation {
    /// Whether the items under way of ledgers are sure to be able to differ, at a place without what the stacks carry.
    pub(super) fn is_endless_ahead(&self, plain: SetId, ledgers: impl Iterator<Item = Ledger>) -> bool {
        let pieces = &self.distinct().pieces;
        let mut innermost: Option<(usize, Ledger)> = None;
        for ledger in ledgers {
            match ledger.standing() {
                Standing::Free => {}
                // What comes next may be equal to an item.
                Standing::Between => return false,
                Standing::Rivalled => {
                    let depth = pieces.depth(ledger);
                    if innermost.is_none_or(|(least, _)| depth < least) {
                        innermost = Some((depth, ledger));
                    }
                }
            }
        }
        let Some((_, ledger)) = innermost else { return true };
        let Some(within) = pieces.within(ledger) else { return false };
        let key = (plain, Position { within, in_object: pieces.is_in_object(ledger) });
        if let Some(&known) = self.distinct().endless_ahead.lock().get(&key) {
            return known;
        }
        let found = self.find_endless(plain, key.1);
        self.distinct().endless_ahead.lock().insert(key, found);
        found
    }

    fn find_endless(&self, plain: SetId, Position { within, in_object }: Position) -> bool {
        let start = Place { config: plain, within, in_objects: in_object.into_iter().collect() };
        let mut seen: FxHashSet<Place> = FxHashSet::default();
        let mut queue = VecDeque::from([start]);
        // It may be near, or at the end of a long key: what is nearest is looked at in turns with what is farthest.
        let mut is_nearest = false;
        while let Some(at) = if is_nearest { queue.pop_front() } else { queue.pop_back() } {
            interrupt::poll(1);
            is_nearest = !is_nearest;
            if self.goes_on_anyhow(at.config, at.within) {
                return true;
            }
            for byte in self.next_bytes(&at) {
                let config = self.step(at.config, byte);
                let next = if config == SetId::DEAD { None } else { at.after(byte, config) };
                if let Some(next) = next
                    && seen.insert(next.clone())
                {
                    if seen.len() > MOST_PLACES {
                        return false;
                    }
                    queue.push_back(next);
                }
            }
        }
        false
    }

    /// The bytes that may come, without spaces between values where anything else may come.
    fn next_bytes(&self, at: &Place) -> SmallVec<[u8; 128]> {
        let bytes: SmallVec<[u8; 128]> = self.bytes_ahead(at.config).collect();
        let is_space = |byte: &u8| at.within == Within::Other && byte.is_ascii_whitespace();
        if bytes.iter().all(is_space) {
            return bytes;
        }
        bytes.into_iter().filter(|byte| !is_space(byte)).collect()
    }

    /// The bytes that may come.
    pub(super) fn bytes_ahead(&self, config: SetId) -> impl Iterator<Item = u8> {
        let mut may_come = [false; 256];
        for &(symbol, _) in self.sets().items(config) {
            let SymbolKind::Terminal(state) = symbol.kind() else { continue };
            for &(low, high, _) in &**self.terminals().row(state) {
                may_come[usize::from(low)..=usize::from(high)].fill(true);
            }
        }
        (0..=u8::MAX).filter(move |&byte| may_come[usize::from(byte)])
    }

    /// Whether a text or number goes on without end with letters or digits of any kind, so that it cannot but differ from
    /// finitely many.
    pub(super) fn goes_on_anyhow(&self, plain: SetId, within: Within) -> bool {
        let [one, other] = match within {
            Within::Text => *b"ab",
            Within::Number => *b"12",
            Within::Escape(_) | Within::Other => return false,
        };
        let terminals = self.terminals();
        self.sets().items(plain).iter().any(|&(symbol, _)| {
            let SymbolKind::Terminal(state) = symbol.kind() else { return false };
            // Finitely many keys are excluded, if any, and to remember them makes other states of the same text.
            let next = terminals.step(terminals.key_as_text(state), one);
            next != TerminalId::NEVER
                && terminals.step(next, one) == next
                && terminals.step(next, other) == next
        })
    }
}
