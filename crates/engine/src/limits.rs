//! Limits on what masks may cost in memory.
//!
//! A grammar's tables are a cache: when they are full they are dropped and filled again by what is needed, as RE2 does
//! with its lazy automata. So a limit never makes a matcher fail, it only makes it slower.

use parking_lot::Mutex;

use crate::store::account::Account;
use crate::store::sync::{AtomicUsize, Ordering};

/// Limits of one compiled grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineLimits {
    /// What the tables of the grammar may take, in bytes, before they are dropped.
    pub cache_bytes: usize,
}

impl Default for EngineLimits {
    fn default() -> Self {
        EngineLimits { cache_bytes: 128 << 20 }
    }
}

/// What the tables of all grammars in the process take, and what they may.
pub(crate) static PROCESS: Account = Account { used: AtomicUsize::new(0), limit: AtomicUsize::new(2 << 30) };

/// What grammars share, and the caches that it counts in.
pub(crate) struct SharedAccount {
    used: AtomicUsize,
    /// The bounds of the caches of compiled grammars that there are.
    caches: Mutex<Vec<usize>>,
    /// The least of them.
    least: AtomicUsize,
}

/// What the grammars of all vocabularies share.
pub(crate) static SHARED: SharedAccount = SharedAccount {
    used: AtomicUsize::new(0),
    caches: Mutex::new(Vec::new()),
    least: AtomicUsize::new(usize::MAX),
};

impl SharedAccount {
    /// What each of the things may take that the grammars of a vocabulary share, however low limits are. There are four.
    const LEAST: usize = 4 << 20;

    /// What each of the things that the grammars of one vocabulary share may take, which are tables, masks and parts of
    /// masks: an eighth of the lowest limit that there is.
    pub(crate) fn limit(&self) -> usize {
        (PROCESS.limit().min(self.least.load(Ordering::Relaxed)) / 8).max(Self::LEAST)
    }

    /// Notes that one of them takes `now`, where it took `before`.
    pub(crate) fn note(&self, before: usize, now: usize) {
        self.used.fetch_add(now.wrapping_sub(before), Ordering::Relaxed);
    }

    /// What counts of it within the bounds of caches: all but what may always be there.
    pub(crate) fn counted(&self) -> usize {
        self.used.load(Ordering::Relaxed).saturating_sub(4 * Self::LEAST)
    }

    /// Notes the bound of a cache of compiled grammars, instead of the one that it had; there is none before it is made, and
    /// after it is dropped.
    pub(crate) fn note_cache(&self, before: Option<usize>, now: Option<usize>) {
        let mut caches = self.caches.lock();
        if let Some(at) = caches.iter().position(|&limit| Some(limit) == before) {
            caches.swap_remove(at);
        }
        caches.extend(now);
        self.least.store(caches.iter().copied().min().unwrap_or(usize::MAX), Ordering::Relaxed);
    }
}

/// What the tables of all grammars together may take before each drops its own; 2 GiB unless set.
pub fn set_process_cache_bytes(limit: usize) {
    PROCESS.set_limit(limit);
}

/// The limit of [`set_process_cache_bytes`], and what is in use.
pub fn process_cache_bytes() -> (usize, usize) {
    (PROCESS.limit(), PROCESS.used())
}
