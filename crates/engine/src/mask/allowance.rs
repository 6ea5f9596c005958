//! What making a mask by tables may cost.
//!
//! Following tokens from terminal to terminal is quick because what is found at one place serves others. In a grammar whose
//! terminals may end at every byte, on top of others that may too, there are as many stacks as ways to cut a token, and nothing
//! is found twice. Then reading all tokens byte by byte, where all stacks together are one number, is the better way
//! ([`by_configs`](super::by_configs)), and it takes no more steps than the trie has nodes. So the first way may take
//! about as much work as the second would. That bounds a mask by what steps cost, and not by a time: where configurations themselves
//! grow with each byte, steps are slow, and steps and tables cost different times, so a first mask can take some four times as
//! long as the second way alone.
//!
//! Work is counted, not timed, so that what is done does not depend on how busy the machine is.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::config::Sets;
use crate::interrupt;

/// The allowance of a mask is spent: what was found so far is not all, and nothing it led to may be kept.
pub(super) struct Spent;

/// What is left of the work that a mask may take, in steps: what looking at a node of a trie costs.
pub(super) struct Allowance {
    left: Cell<usize>,
    /// What the sets of stacks took when they were last looked at, in bytes.
    sets: Cell<usize>,
}

/// The time of a step makes so many bytes of sets.
const BYTES_A_STEP: usize = 8;

impl Allowance {
    pub(super) fn new(steps: usize, sets: &Sets) -> Self {
        Allowance { left: Cell::new(steps), sets: Cell::new(sets.memory_bytes()) }
    }

    /// Takes so many steps, and stops the walk if somebody wants it to.
    #[inline]
    pub(super) fn take(&self, steps: usize) {
        interrupt::poll(steps);
        self.left.set(self.left.get().saturating_sub(steps));
    }

    /// Takes what it was to make the sets that there are more than before.
    #[inline]
    pub(super) fn take_for(&self, sets: &Sets) {
        let bytes = sets.memory_bytes();
        self.take(bytes.saturating_sub(self.sets.replace(bytes)) / BYTES_A_STEP);
    }

    /// Whether nothing is left.
    #[inline]
    pub(super) fn is_spent(&self) -> bool {
        self.left.get() == 0
    }

    /// Fails if nothing is left.
    pub(super) fn check(&self) -> Result<(), Spent> {
        if self.is_spent() { Err(Spent) } else { Ok(()) }
    }
}

/// How often in a row the allowance was not enough.
#[derive(Default)]
pub(crate) struct Failures(AtomicU32);

/// An allowance is halved this often at most.
const MOST_HALVINGS: u32 = 6;

/// Steps that no allowance is below before it is halved: with a small vocabulary it is the configurations that cost.
const LEAST_STEPS: usize = 1 << 16;

impl Failures {
    /// The allowance for the next mask, where the trie has so many nodes. Where the tables were not enough for the masks
    /// before, they will hardly be for the next.
    pub(super) fn allowance(&self, nodes: usize, sets: &Sets) -> Allowance {
        let halvings = self.0.load(Ordering::Relaxed).min(MOST_HALVINGS);
        Allowance::new(nodes.max(LEAST_STEPS) >> halvings, sets)
    }

    /// Takes note of whether an allowance was enough.
    pub(super) fn note(&self, was_enough: bool) {
        let failures = self.0.load(Ordering::Relaxed);
        if was_enough && failures > 0 {
            self.0.store(failures / 2, Ordering::Relaxed);
        } else if !was_enough && failures < MOST_HALVINGS {
            self.0.store(failures + 1, Ordering::Relaxed);
        }
    }
}
