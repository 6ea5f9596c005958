//! Values by keys, made when they are first asked for and kept as long as the memo is.
//!
//! Making one takes long and asks for others, so no lock is held meanwhile. Two threads may make the same value at once; then
//! each has its own, both are right, and whoever asks later gets one of them.

use std::convert::Infallible;
use std::hash::Hash;

use hashbrown::HashMap;

use super::sync::{Arc, GrowingList, Mutex};
use crate::seldom::Seldom;

/// What is known by key.
pub(crate) struct Memo<K, V> {
    values: Seldom<GrowingList<Arc<V>>>,
    index: Mutex<HashMap<K, usize>>,
}

impl<K, V> Default for Memo<K, V> {
    fn default() -> Self {
        Memo { values: Seldom::default(), index: Mutex::default() }
    }
}

impl<K: Eq + Hash, V> Memo<K, V> {
    /// The value of `key`, made by `make` if there is none. The lock is not held meanwhile.
    pub(crate) fn get_or_make(&self, key: K, make: impl FnOnce() -> Arc<V>) -> &Arc<V> {
        let Ok(value) = self.get_or_try_make(key, || Ok::<_, Infallible>(make()));
        value
    }

    /// The same where it may be that there is none to keep.
    pub(crate) fn get_or_try_make<E>(
        &self,
        key: K,
        make: impl FnOnce() -> Result<Arc<V>, E>,
    ) -> Result<&Arc<V>, E> {
        let known = self.index.lock().get(&key).copied();
        if let Some(at) = known {
            return Ok(&self.values[at]);
        }
        let at = self.values.push(make()?);
        self.index.lock().insert(key, at);
        Ok(&self.values[at])
    }

    /// The memory of the list alone.
    pub(crate) fn memory_bytes(&self) -> usize {
        const AN_ENTRY: usize = 80;
        self.values.made().map_or(0, GrowingList::count) * AN_ENTRY
    }
}
