//! Tables that most grammars never fill, made when they are first asked for.
//!
//! An empty table of many threads has its shards and buckets in place and takes most of a kilobyte. A generation has over a
//! dozen, and the memory of a new one is fresh: clearing it took longer than some of the passes. So those tables that are
//! not read at every step stand behind a pointer, which is set by whoever needs it first.

use std::ops::Deref;

use crate::store::sync::OnceLock;

/// A table that is made when it is first asked for.
pub(crate) struct Seldom<T>(OnceLock<Box<T>>);

impl<T> Default for Seldom<T> {
    fn default() -> Self {
        Seldom(OnceLock::new())
    }
}

impl<T> Seldom<T> {
    /// The table, if anybody has asked for it.
    pub(crate) fn made(&self) -> Option<&T> {
        self.0.get().map(|table| &**table)
    }

    /// What the table takes by itself, without what is in it.
    pub(crate) fn bytes(&self) -> usize {
        self.made().map_or(0, size_of_val)
    }
}

impl<T: Default> Deref for Seldom<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.0.get_or_init(Box::default)
    }
}
