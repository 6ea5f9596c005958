//! Work without the GIL, and what stops it.
//!
//! Whatever may take long is done without the GIL, so that other threads can run, and asks from time to time whether to go on:
//! for a signal that Python has to handle (only the main thread handles any, and it needs the GIL for that), for a deadline,
//! for a cancellation, for a fork ([`fork`]). This is the one place that lets go of the GIL.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use tokenstile_engine::interrupt::{Interrupt, Interrupted};
use tokenstile_grammar::CancelFlag;

use crate::errors;
use crate::fork::{self, Active};

/// How long Python is left waiting before it is asked again whether it has a signal to handle. To ask takes a microsecond, and
/// a wait for the GIL if other threads have it.
const BETWEEN_SIGNALS: Duration = Duration::from_millis(20);

/// Does work that cannot be stopped, or is done soon, without the GIL.
#[expect(clippy::disallowed_methods, reason = "the one place, with `before_fork`")]
pub(crate) fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    fork::check(py)?;
    Ok(py.detach(|| {
        let _active = Active::begin();
        work()
    }))
}

/// What stops a call besides signals and forks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stops {
    /// How long the call may take.
    pub(crate) time: Option<Duration>,
    /// What may be cancelled from elsewhere.
    pub(crate) cancel: Option<CancelFlag>,
}

/// Why work was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    Signal,
    Expired,
    Cancelled,
    Fork,
}

/// Why work was stopped, with what there is to say.
pub(crate) struct Stopped {
    reason: Reason,
    raised: Option<PyErr>,
    time: Option<Duration>,
}

impl Stopped {
    /// The exception; none for a fork, after which the work is done again.
    pub(crate) fn into_result(self, py: Python<'_>) -> PyResult<()> {
        match self.reason {
            Reason::Signal => self.raised.map_or(Ok(()), Err),
            Reason::Expired => {
                let message = format!(
                    "the call took longer than max_mask_time, {:?}; the same call again goes on from the work that is done",
                    self.time.unwrap_or_default()
                );
                Err(errors::raise(py, "MaskTimeoutError", message))
            }
            Reason::Cancelled => Err(errors::raise(py, "CancelledError", "the call was cancelled")),
            Reason::Fork => Ok(()),
        }
    }
}

thread_local! {
    /// When this thread last looked at signals, or began a call.
    static LOOKED: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Looks at what may stop a call, as one thread does the work of it.
pub(crate) struct Watch {
    time: Option<Duration>,
    deadline: Option<Instant>,
    cancel: Option<CancelFlag>,
    /// Whether this is a thread that handles signals, once that is known.
    is_main: Cell<Option<bool>>,
    raised: RefCell<Option<PyErr>>,
    reason: Cell<Option<Reason>>,
}

impl Watch {
    /// Begins a call of which this thread does the first part.
    pub(crate) fn begin() {
        LOOKED.set(Some(Instant::now()));
    }

    /// A watch over what begins now.
    pub(crate) fn new(stops: &Stops) -> Self {
        Watch {
            time: stops.time,
            // What is beyond the end of the clock is no deadline.
            deadline: stops.time.and_then(|time| Instant::now().checked_add(time)),
            cancel: stops.cancel.clone(),
            is_main: Cell::new(None),
            raised: RefCell::new(None),
            reason: Cell::new(None),
        }
    }

    /// A watch over signals alone.
    pub(crate) fn for_signals() -> Self {
        Watch::new(&Stops::default())
    }

    /// The same where it is known whether this may be a thread that handles signals.
    pub(crate) fn with_signals(self, may_be_main: bool) -> Self {
        self.is_main.set(if may_be_main { None } else { Some(false) });
        self
    }

    /// Whether there was a reason to stop.
    pub(crate) fn has_stopped(&self) -> bool {
        self.reason.get().is_some()
    }

    /// The reason to stop, if there was one.
    pub(crate) fn stopped(&self) -> Option<Stopped> {
        let raised = self.raised.take();
        self.reason.get().map(|reason| Stopped { reason, raised, time: self.time })
    }

    /// Whether there is a reason to stop.
    pub(crate) fn is_due_now(&self) -> bool {
        if self.reason.get().is_none() {
            self.reason.set(self.look());
        }
        self.has_stopped()
    }

    fn look(&self) -> Option<Reason> {
        if self.cancel.as_ref().is_some_and(CancelFlag::is_cancelled) {
            return Some(Reason::Cancelled);
        }
        if fork::is_pending() {
            return Some(Reason::Fork);
        }
        let now = Instant::now();
        if self.deadline.is_some_and(|deadline| now >= deadline) {
            return Some(Reason::Expired);
        }
        let is_time = LOOKED.get().is_none_or(|looked| now.duration_since(looked) >= BETWEEN_SIGNALS);
        (is_time && self.is_main.get() != Some(false) && self.has_signal()).then_some(Reason::Signal)
    }

    /// Whether a handler of a signal has raised an exception.
    fn has_signal(&self) -> bool {
        let raised = Python::attach(|py| {
            // To ask which thread this is runs code of Python, which may handle signals too.
            let is_main =
                py.check_signals().and_then(|()| self.is_main.get().map_or_else(|| is_main_thread(py), Ok));
            is_main.map(|is_main| self.is_main.set(Some(is_main))).err()
        });
        LOOKED.set(Some(Instant::now()));
        let has_raised = raised.is_some();
        self.raised.replace(raised);
        has_raised
    }
}

impl Interrupt for Watch {
    fn is_due(&self) -> bool {
        self.is_due_now()
    }
}

fn is_main_thread(py: Python<'_>) -> PyResult<bool> {
    let threading = py.import("threading")?;
    let main = threading.call_method0("main_thread")?.getattr("ident")?;
    threading.call_method0("get_ident")?.eq(main)
}

impl Stops {
    /// Does `work` without the GIL until there is a reason to stop, which becomes the exception. It is done again if the reason
    /// is a fork.
    pub(crate) fn run<T: Send>(
        &self,
        py: Python<'_>,
        mut work: impl FnMut(&Rc<Watch>) -> Result<T, Interrupted> + Send,
    ) -> PyResult<T> {
        loop {
            let (result, stopped) = detached(py, || {
                Watch::begin();
                let watch = Rc::new(Watch::new(self));
                let result = work(&watch);
                (result, watch.stopped())
            })?;
            match (result, stopped) {
                (Ok(done), _) => return Ok(done),
                (Err(Interrupted), Some(stopped)) => stopped.into_result(py)?,
                (Err(Interrupted), None) => {}
            }
        }
    }
}
