//! Limits and cancellation, from Python to the core.

use std::rc::Rc;
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use tokenstile_engine::EngineLimits;
use tokenstile_engine::interrupt::{Interrupt, Interrupted};
use tokenstile_grammar::{Budget, CancelFlag, Limits};

use crate::detached::Stops;
use crate::errors;

/// Stops what runs in another thread: a compilation, or a call of a matcher.
///
/// Pass one to a ``compile_*`` method or to a ``GrammarMatcher``, and call ``cancel()`` from elsewhere: what is under way ends
/// soon after with ``CancelledError``. A token that was cancelled stays so.
#[pyclass(frozen, module = "tokenstile")]
#[derive(Default)]
pub(crate) struct CancelToken {
    pub(crate) flag: CancelFlag,
}

#[pymethods]
impl CancelToken {
    #[new]
    fn new() -> Self {
        CancelToken::default()
    }

    /// Ask the compilations and the matchers that watch this token to stop.
    fn cancel(&self) {
        self.flag.cancel();
    }

    /// Whether ``cancel()`` was called.
    #[getter]
    fn cancelled(&self) -> bool {
        self.flag.is_cancelled()
    }

    fn __repr__(&self) -> String {
        format!("CancelToken(cancelled={})", if self.flag.is_cancelled() { "True" } else { "False" })
    }
}

/// The limits of one compiler.
#[derive(Clone, Debug, Default)]
pub(crate) struct CompileLimits {
    pub(crate) grammar: Limits,
    pub(crate) engine: EngineLimits,
}

impl CompileLimits {
    /// Reads a `tokenstile.Limits`, or the defaults for none.
    pub(crate) fn from_python(limits: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let Some(limits) = limits else { return Ok(CompileLimits::default()) };
        let py = limits.py();
        if !limits.is_instance(&py.import("tokenstile.limits")?.getattr("Limits")?)? {
            let name = errors::type_name(limits);
            return Err(errors::argument(py, format!("limits must be a Limits, not {name}")));
        }
        let size = |name: &str| -> PyResult<usize> { limits.getattr(name)?.extract() };
        let seconds: f64 = limits.getattr("max_compile_time")?.extract()?;
        Ok(CompileLimits {
            grammar: Limits {
                max_source_bytes: size("max_source_bytes")?,
                max_rules: size("max_rules")?,
                max_exprs: size("max_exprs")?,
                max_depth: size("max_depth")?,
                max_states: size("max_states")?,
                max_nodes: size("max_nodes")?,
                max_compile_time: duration(py, "max_compile_time", seconds)?,
            },
            engine: EngineLimits { cache_bytes: size("max_cache_bytes")? },
        })
    }

    /// The same limits with at most `timeout` seconds for a compilation.
    pub(crate) fn with_timeout(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Limits> {
        let mut limits = self.grammar.clone();
        if let Some(seconds) = timeout {
            limits.max_compile_time = limits.max_compile_time.min(duration(py, "timeout", seconds)?);
        }
        Ok(limits)
    }
}

/// Does work that no compiler does, without the GIL, until Python has a signal to handle.
pub(crate) fn interruptible<T: Send>(
    py: Python<'_>,
    limits: Limits,
    work: impl FnMut(&Budget) -> T + Send,
) -> PyResult<T> {
    cancellable(py, limits, CancelFlag::default(), work)
}

/// The same, also until `cancel` is set. What a handler of a signal raised, such as `KeyboardInterrupt`, is the error.
pub(crate) fn cancellable<T: Send>(
    py: Python<'_>,
    limits: Limits,
    cancel: CancelFlag,
    mut work: impl FnMut(&Budget) -> T + Send,
) -> PyResult<T> {
    let started = Instant::now();
    // The budget sees to its time and to its flag itself, and says so in its errors.
    Stops::default().run(py, move |watch| {
        let max_compile_time = limits.max_compile_time.saturating_sub(started.elapsed());
        let limits = Limits { max_compile_time, ..limits.clone() };
        let asked = Rc::clone(watch);
        let done = work(&Budget::new(limits, cancel.clone()).watched(move || asked.is_due()));
        // An error that the watch has caused may look like another by now.
        if watch.has_stopped() { Err(Interrupted) } else { Ok(done) }
    })
}

pub(crate) fn duration(py: Python<'_>, name: &str, seconds: f64) -> PyResult<Duration> {
    if seconds == f64::INFINITY {
        return Ok(Duration::MAX);
    }
    let invalid = |_| errors::argument(py, format!("{name} must be a number of seconds, not {seconds}"));
    Duration::try_from_secs_f64(seconds).map_err(invalid)
}
