//! Stopping work that is under way: for a signal, a deadline, a cancellation.
//!
//! A mask or a token that no table answers is work, and whoever asked may not want to wait for it. So the loops that do the
//! work [`poll`]: they count units of it, a step of a configuration or a node of a trie, and after so many ask the
//! [`Interrupt`] that [`run`] was given. If that is due the stack is unwound up to `run`, which says so.
//!
//! 1. Tables are made from values that are complete: what a loop has made so far is dropped, or was added before as a whole.
//!    So tables are never wrong after an interrupt, and what they have is not made again.
//! 2. Locks are released on the way, and cells that are made once stay empty.
//! 3. Where nobody has asked for interrupts, a poll is a subtraction.
//!
//! The functions in between need not return a `Result`. Steps are the most frequent calls of all, a thousand places make
//! them, and none of these could do anything about an interrupt but pass it on. It is what `rust-analyzer` does for the same
//! reason. In a program that is built to abort where it would unwind nothing can be interrupted, and `run` only does the work.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;

/// Somebody who is asked from time to time whether work should stop.
pub trait Interrupt {
    /// Whether the work should stop now.
    fn is_due(&self) -> bool;
}

/// The work was stopped before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the work was interrupted")]
pub struct Interrupted;

/// How many units of work pass between two questions. A unit takes 10 ns to 20 us.
const UNITS_A_LOOK: usize = 512;

thread_local! {
    /// Whom this thread asks.
    static CURRENT: RefCell<Option<Rc<dyn Interrupt>>> = const { RefCell::new(None) };
    /// The units of work before the next question.
    static LEFT: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// Asks nobody any more when it is dropped, but those who were asked before.
struct Asked(Option<Rc<dyn Interrupt>>);

impl Drop for Asked {
    fn drop(&mut self) {
        LEFT.set(if self.0.is_some() { UNITS_A_LOOK } else { usize::MAX });
        CURRENT.set(self.0.take());
    }
}

/// Does `work` until `interrupt` is due.
///
/// What `work` changes is as it is in the middle of it after that: tables of this crate are safe, anything else is for the
/// caller to see to.
pub fn run<T>(interrupt: Rc<dyn Interrupt>, work: impl FnOnce() -> T) -> Result<T, Interrupted> {
    let asked = Asked(CURRENT.replace(Some(interrupt)));
    LEFT.set(UNITS_A_LOOK);
    let result = catch_unwind(AssertUnwindSafe(work));
    drop(asked);
    result.map_err(|payload| match payload.downcast::<Interrupted>() {
        Ok(interrupted) => *interrupted,
        Err(panic) => resume_unwind(panic),
    })
}

/// Takes note of so many units of work, and stops it if an interrupt is due.
#[inline]
pub(crate) fn poll(units: usize) {
    match LEFT.get().checked_sub(units) {
        Some(left) => LEFT.set(left),
        None => ask(),
    }
}

#[cold]
fn ask() {
    let current = CURRENT.with_borrow(Option::clone);
    LEFT.set(if current.is_some() { UNITS_A_LOOK } else { usize::MAX });
    let is_due = |current: Rc<dyn Interrupt>| !std::thread::panicking() && current.is_due();
    if cfg!(panic = "unwind") && current.is_some_and(is_due) {
        resume_unwind(Box::new(Interrupted));
    }
}

#[cfg(test)]
mod tests {
    use std::panic::panic_any;

    use super::*;

    /// Is due when it was asked so often.
    struct After(Cell<usize>);

    impl Interrupt for After {
        fn is_due(&self) -> bool {
            self.0.set(self.0.get().saturating_sub(1));
            self.0.get() == 0
        }
    }

    fn after(questions: usize) -> Rc<dyn Interrupt> {
        Rc::new(After(Cell::new(questions)))
    }

    #[test]
    fn work_stops_when_it_is_due_and_not_before() {
        let done = Cell::new(0);
        let work = || {
            for _ in 0..UNITS_A_LOOK * 3 {
                poll(1);
                done.set(done.get() + 1);
            }
        };
        assert_eq!(run(after(2), work), Err(Interrupted));
        assert!((UNITS_A_LOOK..UNITS_A_LOOK * 3).contains(&done.get()), "{}", done.get());
        assert_eq!(run(after(9), work), Ok(()));
    }

    #[test]
    fn nobody_is_asked_outside() {
        assert_eq!(run(after(1), || poll(UNITS_A_LOOK + 1)), Err(Interrupted));
        poll(usize::MAX);
        poll(1);
    }

    #[test]
    fn those_outside_are_asked_again() {
        let inner = || run(after(usize::MAX), || poll(UNITS_A_LOOK + 1));
        let work = || {
            assert_eq!(inner(), Ok(()));
            poll(UNITS_A_LOOK + 1);
        };
        assert_eq!(run(after(1), work), Err(Interrupted));
    }

    #[test]
    fn panics_stay_panics() {
        let caught = catch_unwind(|| run(after(1), || panic_any("boom")));
        assert_eq!(caught.unwrap_err().downcast_ref(), Some(&"boom"));
    }
}
