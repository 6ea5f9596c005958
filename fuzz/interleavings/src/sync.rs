//! What the engine names from `store::sync`, made of loom's types.
//!
//! Locks and atomics are loom's own. Of [`OnceLock`] and [`GrowingList`] the libraries promise what is written here, and no
//! more: a value is there for whoever sees that it is, and not before.

use std::ops::Index;

use loom::cell::UnsafeCell;
pub(crate) use loom::sync::Arc;
use loom::sync::atomic::AtomicBool;
pub(crate) use loom::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// A lock that is never poisoned, as `parking_lot`'s.
#[derive(Default)]
pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Mutex(loom::sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> loom::sync::MutexGuard<'_, T> {
        self.0.lock().expect("no thread panicked")
    }

    pub(crate) fn into_inner(self) -> T {
        self.0.into_inner().expect("no thread panicked")
    }
}

/// A place that is written at most once, and then says so.
struct Place<T> {
    is_written: AtomicBool,
    value: UnsafeCell<Option<T>>,
}

impl<T> Place<T> {
    fn new() -> Self {
        Place { is_written: AtomicBool::new(false), value: UnsafeCell::new(None) }
    }

    fn get(&self) -> Option<&T> {
        if !self.is_written.load(Ordering::Acquire) {
            return None;
        }
        // SAFETY: it is written, and never again.
        self.value.with(|value| unsafe { (*value).as_ref() })
    }

    /// The caller sees to it that nobody else writes.
    fn write(&self, value: T) {
        // SAFETY: nobody else writes, and nobody reads before it is written.
        self.value.with_mut(|place| unsafe { *place = Some(value) });
        self.is_written.store(true, Ordering::Release);
    }
}

/// `std::sync::OnceLock`.
pub(crate) struct OnceLock<T> {
    place: Place<T>,
    writing: loom::sync::Mutex<()>,
}

impl<T> Default for OnceLock<T> {
    fn default() -> Self {
        OnceLock::new()
    }
}

impl<T> OnceLock<T> {
    pub(crate) fn new() -> Self {
        OnceLock { place: Place::new(), writing: loom::sync::Mutex::new(()) }
    }

    pub(crate) fn get(&self) -> Option<&T> {
        self.place.get()
    }

    pub(crate) fn get_or_init(&self, make: impl FnOnce() -> T) -> &T {
        if let Some(value) = self.get() {
            return value;
        }
        let writing = self.writing.lock().expect("no thread panicked");
        if self.get().is_none() {
            self.place.write(make());
        }
        drop(writing);
        self.get().expect("it is written")
    }
}

/// The most values of a list here.
const MOST: usize = 8;

/// `boxcar::Vec`: each value gets a place of its own, and is there once it is written.
pub(crate) struct GrowingList<T> {
    begun: AtomicUsize,
    written: AtomicUsize,
    places: [Place<T>; MOST],
}

impl<T> Default for GrowingList<T> {
    fn default() -> Self {
        GrowingList::new()
    }
}

impl<T> GrowingList<T> {
    pub(crate) fn new() -> Self {
        let (begun, written) = (AtomicUsize::new(0), AtomicUsize::new(0));
        GrowingList { begun, written, places: std::array::from_fn(|_| Place::new()) }
    }

    pub(crate) fn push(&self, value: T) -> usize {
        let at = self.begun.fetch_add(1, Ordering::Relaxed);
        self.places[at].write(value);
        self.written.fetch_add(1, Ordering::Release);
        at
    }

    pub(crate) fn count(&self) -> usize {
        self.written.load(Ordering::Acquire)
    }
}

impl<T> Index<usize> for GrowingList<T> {
    type Output = T;

    fn index(&self, at: usize) -> &T {
        self.places[at].get().expect("it is there")
    }
}

impl<T> IntoIterator for GrowingList<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        let written: Vec<T> = self.places.into_iter().filter_map(|place| place.value.into_inner()).collect();
        written.into_iter()
    }
}
