//! What one call may take: processor time of its thread, and memory.
//!
//! The machine may be busy, so it is not the clock that counts. Memory is counted where it is asked for.

#![expect(unsafe_code, reason = "an allocator that counts, and a function of the C library")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Instrumented code with all its assertions takes so many times as long as a release build, roughly.
pub const SLOWDOWN: u32 = 10;

/// What one call may take.
#[derive(Clone, Copy, Debug)]
pub struct Allowance {
    /// What the call is, for the message.
    pub name: &'static str,
    /// Its processor time.
    pub time: Duration,
    /// By how many bytes the process may grow while it runs.
    pub bytes: usize,
}

/// The bytes in use, and the most that were since [`Allowance::check`] began.
static USED: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn grown(bytes: usize) {
    let used = USED.fetch_add(bytes, Ordering::Relaxed) + bytes;
    PEAK.fetch_max(used, Ordering::Relaxed);
}

// SAFETY: everything is done by the allocator of the system; only sizes are counted beside it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grown(layout.size());
        // SAFETY: the caller keeps to the contract, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        grown(layout.size());
        // SAFETY: as in `alloc`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        USED.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as in `alloc`.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // For a moment there may be both.
        grown(size);
        USED.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as in `alloc`.
        unsafe { System.realloc(block, layout, size) }
    }
}

/// The processor time of this thread.
fn thread_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a value of the type that is written.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    assert_eq!(failed, 0, "threads have clocks");
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

impl Allowance {
    /// An allowance in seconds of a release build, and in mebibytes.
    pub const fn new(name: &'static str, seconds: f64, mebibytes: usize) -> Self {
        let time = Duration::from_micros((seconds * 1e6) as u64 * SLOWDOWN as u64);
        Allowance { name, time, bytes: mebibytes << 20 }
    }

    /// The result of `call`; a finding if that takes more than it may.
    pub fn check<T>(&self, call: impl FnOnce() -> T) -> T {
        let before = USED.load(Ordering::Relaxed);
        PEAK.store(before, Ordering::Relaxed);
        let started = thread_time();
        let result = call();
        let took = thread_time() - started;
        let grew = PEAK.load(Ordering::Relaxed).saturating_sub(before);
        assert!(took <= self.time, "{} took {took:?} of {:?}", self.name, self.time);
        assert!(grew <= self.bytes, "{} took {grew} bytes of {}", self.name, self.bytes);
        result
    }
}
