//! Hash-consing for many threads: equal values get one number.
//!
//! Values are only ever appended, so a number stays valid as long as the interner lives and reading one takes no
//! lock. Interning takes the lock of one of a few shards, chosen by hash.
//!
//! Interners of one kind may have their first values in common ([`Beginning`]): values that each of them would make anew, and
//! that are looked up without a lock.

use std::hash::{BuildHasher, Hash};

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

use crate::store::sync::{GrowingList, Mutex};

const SHARDS: usize = 8;

/// The first values of some interners, to which nothing is added any more.
pub(crate) struct Beginning<T> {
    values: Box<[T]>,
    index: HashTable<(u64, u32)>,
}

impl<T> Beginning<T> {
    /// How many values there are.
    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    /// The value `id`.
    pub(crate) fn get(&self, id: u32) -> &T {
        &self.values[id as usize]
    }

    /// The number of the value whose key has this hash, if it is one of them.
    fn find(&self, hash: u64, same: impl Fn(&T) -> bool) -> Option<u32> {
        let is_same = |&(other, id): &(u64, u32)| other == hash && same(self.get(id));
        self.index.find(hash, is_same).map(|&(_, id)| id)
    }

    /// The number of the value whose key is `key`, if it is one of them.
    pub(crate) fn number_of<K: Hash + ?Sized>(&self, key: &K, same: impl Fn(&T) -> bool) -> Option<u32> {
        self.find(FxBuildHasher.hash_one(key), same)
    }

    /// The values, by number.
    #[cfg(test)]
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.values.iter()
    }
}

/// An append-only set of values, numbered from 0.
pub(crate) struct Interner<T: 'static> {
    beginning: Option<&'static Beginning<T>>,
    /// How many values are in the beginning.
    first: u32,
    values: GrowingList<T>,
    shards: [Mutex<HashTable<(u64, u32)>>; SHARDS],
    hasher: FxBuildHasher,
}

impl<T: 'static> Default for Interner<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: 'static> Interner<T> {
    pub(crate) fn new() -> Self {
        Self::after(None)
    }

    /// An interner whose first values are known.
    pub(crate) fn after(beginning: Option<&'static Beginning<T>>) -> Self {
        Interner {
            beginning,
            first: beginning.map_or(0, |beginning| beginning.len() as u32),
            values: GrowingList::new(),
            shards: std::array::from_fn(|_| Mutex::new(HashTable::new())),
            hasher: FxBuildHasher,
        }
    }

    /// Its values, as what others begin with. It has no beginning itself.
    pub(crate) fn into_beginning(self) -> Beginning<T> {
        debug_assert!(self.beginning.is_none());
        let mut index = HashTable::new();
        for (hash, id) in self.shards.into_iter().flat_map(Mutex::into_inner) {
            index.insert_unique(hash, (hash, id), |&(hash, _)| hash);
        }
        Beginning { values: self.values.into_iter().collect(), index }
    }

    /// The value `id`.
    #[inline]
    pub(crate) fn get(&self, id: u32) -> &T {
        match self.beginning {
            Some(beginning) if id < self.first => &beginning.values[id as usize],
            _ => &self.values[(id - self.first) as usize],
        }
    }

    /// How many values there are, without the first ones that it has in common with others.
    pub(crate) fn len(&self) -> usize {
        self.values.count()
    }

    /// What is set aside for values to come, in bytes: room is made for many at once, and most grammars have few.
    pub(crate) fn spare_bytes(&self) -> usize {
        /// The values that the first part of the list has room for.
        const FIRST: usize = 32;
        /// What a shard takes once it has an entry.
        const A_SHARD: usize = 84;
        match self.len() {
            0 => 0,
            len => FIRST.saturating_sub(len) * size_of::<(T, bool)>() + len.min(SHARDS) * A_SHARD,
        }
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
        if let Some(id) = self.beginning.and_then(|beginning| beginning.find(hash, &same)) {
            return (id, false);
        }
        let mut shard = self.shards[(hash >> 61) as usize % SHARDS].lock();
        let found = shard.find(hash, |&(other, id)| other == hash && same(self.get(id)));
        if let Some(&(_, id)) = found {
            return (id, false);
        }
        let id = self.first + self.values.push(make()) as u32;
        shard.insert_unique(hash, (hash, id), |&(hash, _)| hash);
        (id, true)
    }
}
