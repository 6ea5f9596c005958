//! Sets that are nearly always tiny.
//!
//! Closing a configuration keeps track of a few nodes and sets, thousands of times a second, and of very many of them for
//! very ambiguous grammars. So the first few lie side by side and are looked through, and only beyond that is there a
//! hash table.

use std::hash::Hash;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;

/// With more keys than this there is a hash table.
const FEW: usize = 8;

/// A map that remembers the order of insertion.
pub(crate) struct SmallMap<K, V> {
    entries: SmallVec<[(K, V); FEW]>,
    index: HashMap<K, usize, FxBuildHasher>,
}

impl<K: Copy + Eq + Hash, V: Copy> SmallMap<K, V> {
    pub(crate) fn new() -> Self {
        SmallMap { entries: SmallVec::new(), index: HashMap::with_hasher(FxBuildHasher) }
    }

    /// The value of `key`, which is `first` if it was not there before; and whether it was.
    pub(crate) fn entry(&mut self, key: K, first: V) -> (&mut V, bool) {
        let found = if self.entries.len() <= FEW {
            self.entries.iter().position(|entry| entry.0 == key)
        } else {
            self.index.get(&key).copied()
        };
        let at = found.unwrap_or(self.entries.len());
        if found.is_none() {
            self.entries.push((key, first));
            match self.entries.len() {
                ..=FEW => {}
                len if len == FEW + 1 => self.index.extend(self.entries.iter().map(|entry| entry.0).zip(0..)),
                _ => {
                    self.index.insert(key, at);
                }
            }
        }
        (&mut self.entries[at].1, found.is_some())
    }

    /// Whether `key` is new, which it then is no more.
    pub(crate) fn insert(&mut self, key: K, value: V) -> bool {
        !self.entry(key, value).1
    }

    /// The keys and values.
    pub(crate) fn entries(&self) -> &[(K, V)] {
        &self.entries
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_was_put_in() {
        let mut map: SmallMap<u32, u32> = SmallMap::new();
        for round in 0..2 {
            for key in 0..40 {
                let (value, was_there) = map.entry(key * 3, key);
                assert_eq!((*value, was_there), (key + round, round == 1), "{key}");
                *value += 1;
            }
        }
        assert_eq!(map.entries().len(), 40);
        assert!(map.insert(1, 0));
        assert!(!map.insert(1, 0));
    }
}
