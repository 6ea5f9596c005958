//! How many compilations of one compiler run at once.
//!
//! A compilation runs on the thread of its caller, and on no other: so `max_threads` bounds how many of the callers compile
//! at a time. Who has to wait does so without the GIL, and gives up when its time is over or it is cancelled.

use std::time::Duration;

use parking_lot::{Condvar, Mutex, MutexGuard};
use tokenstile_grammar::{Budget, Result};

/// How long to wait before looking at the clock and the cancel flag again.
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

/// Permits to compile.
#[derive(Debug)]
pub(crate) struct Permits {
    free: Mutex<usize>,
    freed: Condvar,
}

/// One permit, until it is dropped.
#[derive(Debug)]
pub(crate) struct Permit<'p>(&'p Permits);

impl Permits {
    /// So many permits, at least one.
    pub(crate) fn new(count: i64) -> Self {
        let count = usize::try_from(count).unwrap_or(1).max(1);
        Permits { free: Mutex::new(count), freed: Condvar::new() }
    }

    /// Waits for a permit, as long as the budget allows.
    pub(crate) fn acquire(&self, budget: &Budget) -> Result<Permit<'_>> {
        let mut free = self.free.lock();
        while *free == 0 {
            self.freed.wait_for(&mut free, BETWEEN_LOOKS);
            // To look may take the GIL, which nobody may wait for while holding a lock.
            MutexGuard::unlocked(&mut free, || budget.check())?;
        }
        *free -= 1;
        Ok(Permit(self))
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        *self.0.free.lock() += 1;
        self.0.freed.notify_one();
    }
}
