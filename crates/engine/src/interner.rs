//! Hash-consing for many threads: equal values get one number.
//!
//! Values are only ever appended, so a number stays valid as long as the interner lives and reading one takes no
//! lock. Interning takes the lock of one of a few shards, chosen by hash.

use std::hash::{BuildHasher, Hash};

use hashbrown::HashTable;
use parking_lot::Mutex;
use rustc_hash::FxBuildHasher;

const SHARDS: usize = 8;

/// An append-only set of values, numbered from 0.
pub(crate) struct Interner<T> {
    values: boxcar::Vec<T>,
    shards: [Mutex<HashTable<(u64, u32)>>; SHARDS],
    hasher: FxBuildHasher,
}

impl<T> Default for Interner<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Interner<T> {
    pub(crate) fn new() -> Self {
        Interner {
            values: boxcar::Vec::new(),
            shards: std::array::from_fn(|_| Mutex::new(HashTable::new())),
            hasher: FxBuildHasher,
        }
    }

    /// The value `id`.
    #[inline]
    pub(crate) fn get(&self, id: u32) -> &T {
        &self.values[id as usize]
    }

    /// How many values there are.
    pub(crate) fn len(&self) -> usize {
        self.values.count()
    }

    /// The number of the value whose key is `key`, made by `make` if there is none yet. The flag says whether it
    /// was made.
    pub(crate) fn intern<K: Hash + ?Sized>(
        &self,
        key: &K,
        same: impl Fn(&T) -> bool,
        make: impl FnOnce() -> T,
    ) -> (u32, bool) {
        let hash = self.hasher.hash_one(key);
        let mut shard = self.shards[(hash >> 61) as usize % SHARDS].lock();
        let found = shard.find(hash, |&(other, id)| other == hash && same(&self.values[id as usize]));
        if let Some(&(_, id)) = found {
            return (id, false);
        }
        let id = self.values.push(make()) as u32;
        shard.insert_unique(hash, (hash, id), |&(hash, _)| hash);
        (id, true)
    }
}
