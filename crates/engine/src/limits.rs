//! Limits on what masks may cost in memory.
//!
//! A grammar's tables are a cache: when they are full they are dropped and filled again by what is needed, as RE2 does
//! with its lazy automata. So a limit never makes a matcher fail, it only makes it slower.

use crate::store::account::Account;
use crate::store::sync::AtomicUsize;

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

/// What each of the things that the grammars of one vocabulary share may take, which are tables, masks and parts of
/// masks: an eighth of the whole.
pub(crate) fn shared_tables() -> usize {
    PROCESS.limit() / 8
}

/// What the tables of all grammars together may take before each drops its own; 2 GiB unless set.
pub fn set_process_cache_bytes(limit: usize) {
    PROCESS.set_limit(limit);
}

/// The limit of [`set_process_cache_bytes`], and what is in use.
pub fn process_cache_bytes() -> (usize, usize) {
    (PROCESS.limit(), PROCESS.used())
}
