//! Forks: a child process has the memory of its parent and one of its threads.
//!
//! A lock that another thread held at that moment is never released in the child, and a value that another thread was making
//! is never there. So no thread may be in the middle of anything when the process is forked. All work without the GIL is
//! counted ([`Active`]), and `os.fork` waits until there is none (`os.register_at_fork`): what is under way is stopped as it
//! would be for a signal, waits for the fork, and is done again. Work with the GIL cannot be under way, because the thread that
//! forks has it.
//!
//! A handler of a signal runs in the middle of work and may fork. That work goes on in both processes, by the same thread.
//!
//! Some work cannot be stopped: reading a tokenizer, saving a file. Should a fork have to wait too long for that, it goes
//! ahead, and in the child every call that would work without the GIL is an error.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use pyo3::types::PyDict;
use pyo3::wrap_pyfunction;

use crate::errors;

/// How often it is looked at whether others have stopped, or a fork is over.
const BETWEEN_LOOKS: Duration = Duration::from_micros(200);

/// How long a fork waits.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// The work under way without the GIL.
static ACTIVE: AtomicUsize = AtomicUsize::new(0);
/// The forks that wait for others to stop, or are being done.
static FORKS: AtomicUsize = AtomicUsize::new(0);
/// Whether this is the child of a process in which others had not stopped.
static IS_BROKEN: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// The work under way in this thread: more than one if a handler of a signal has begun another.
    static OWN: Cell<usize> = const { Cell::new(0) };
}

/// Work under way without the GIL.
pub(crate) struct Active(());

impl Active {
    /// Begins work, once no fork is under way. For threads without the GIL.
    pub(crate) fn begin() -> Self {
        loop {
            // Both are written before the other is read, so that one of the two threads sees the other.
            ACTIVE.fetch_add(1, Ordering::SeqCst);
            if FORKS.load(Ordering::SeqCst) == 0 || OWN.get() > 0 {
                break;
            }
            ACTIVE.fetch_sub(1, Ordering::SeqCst);
            std::thread::sleep(BETWEEN_LOOKS);
        }
        OWN.set(OWN.get() + 1);
        Active(())
    }
}

impl Drop for Active {
    fn drop(&mut self) {
        OWN.set(OWN.get() - 1);
        ACTIVE.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Whether work under way is to stop for a fork. What a handler of a signal has begun in the middle of other work is not.
pub(crate) fn is_pending() -> bool {
    FORKS.load(Ordering::Relaxed) > 0 && OWN.get() <= 1
}

/// Fails if it is not known what state things are in.
pub(crate) fn check(py: Python<'_>) -> PyResult<()> {
    if !IS_BROKEN.load(Ordering::Relaxed) {
        return Ok(());
    }
    let message = "this process was forked while other threads were at work in tokenstile and could not stop; what they held is \
                   lost here. Fork before threads are started, or start processes with \"spawn\"";
    Err(errors::raise(py, "TokenstileError", message))
}

/// Waits until nobody else is at work. Called before ``os.fork``.
#[pyfunction]
#[expect(clippy::disallowed_methods, reason = "it waits for the work that is counted, and is none")]
fn before_fork(py: Python<'_>) {
    FORKS.fetch_add(1, Ordering::SeqCst);
    let others_work = || ACTIVE.load(Ordering::SeqCst) > OWN.get();
    if others_work() {
        // Not counted as work itself.
        py.detach(|| {
            let started = Instant::now();
            while others_work() && started.elapsed() < LONGEST_WAIT {
                std::thread::sleep(BETWEEN_LOOKS);
            }
        });
    }
}

/// Lets others go on. Called in the parent after ``os.fork``.
#[pyfunction]
fn after_fork_in_parent() {
    FORKS.fetch_sub(1, Ordering::SeqCst);
}

/// Forgets the others. Called in the child after ``os.fork``.
#[pyfunction]
fn after_fork_in_child() {
    if ACTIVE.swap(OWN.get(), Ordering::SeqCst) > OWN.get() {
        IS_BROKEN.store(true, Ordering::SeqCst);
    }
    FORKS.store(0, Ordering::SeqCst);
}

/// Has ``os.fork`` call these, where there is such a thing.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let Some(register) = py.import("os")?.getattr_opt("register_at_fork")? else { return Ok(()) };
    let hooks = PyDict::new(py);
    hooks.set_item("before", wrap_pyfunction!(before_fork, module)?)?;
    hooks.set_item("after_in_parent", wrap_pyfunction!(after_fork_in_parent, module)?)?;
    hooks.set_item("after_in_child", wrap_pyfunction!(after_fork_in_child, module)?)?;
    register.call((), Some(&hooks))?;
    Ok(())
}
