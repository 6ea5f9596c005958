//! What many hold together, and the share of each.
//!
//! Invariant: what is used is never less than the shares of those that have not left, and never more than what all that ever
//! had a share held at once. So a sum is not below zero for a moment, which would read as more than any limit.

use super::sync::{AtomicUsize, Ordering};

/// What is used, and what may be.
pub(crate) struct Account {
    pub(crate) used: AtomicUsize,
    pub(crate) limit: AtomicUsize,
}

impl Account {
    pub(crate) fn add(&self, bytes: usize) {
        self.used.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn remove(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    pub(crate) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    pub(crate) fn limit(&self) -> usize {
        self.limit.load(Ordering::Relaxed)
    }

    pub(crate) fn set_limit(&self, limit: usize) {
        self.limit.store(limit, Ordering::Relaxed);
    }

    pub(crate) fn is_over(&self) -> bool {
        self.used() > self.limit()
    }
}

/// What one of them holds, as far as the account knows.
#[derive(Default)]
pub(crate) struct Share(AtomicUsize);

impl Share {
    /// The bytes that the account knows of.
    pub(crate) fn bytes(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// Notes that it holds so many bytes. Of several threads that do, each adds what it saw beyond the others.
    pub(crate) fn grow_to(&self, bytes: usize, account: &Account) {
        let before = self.0.fetch_max(bytes, Ordering::Relaxed);
        account.add(bytes.saturating_sub(before));
    }

    /// Takes it out of the account.
    pub(crate) fn leave(&mut self, account: &Account) {
        account.remove(std::mem::take(self).bytes());
    }
}
