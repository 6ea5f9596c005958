//! Locks, atomics and lists that only grow: the one place that says whose.

pub(crate) use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};
pub(crate) use std::sync::{Arc, OnceLock};

pub(crate) use boxcar::Vec as GrowingList;
pub(crate) use parking_lot::Mutex;
