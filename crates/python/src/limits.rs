//! Limits and cancellation, from Python to the core.

use std::time::Duration;

use pyo3::prelude::*;
use tokenstile_engine::EngineLimits;
use tokenstile_grammar::{Budget, CancelFlag, Limits};

use crate::errors;

/// Stops a compilation that runs in another thread.
///
/// Pass one to a ``compile_*`` method, and call ``cancel()`` from elsewhere: the compilation ends soon after with
/// ``CancelledError``. A token that was cancelled stays so.
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

    /// Ask the compilations that watch this token to stop.
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
                max_compile_time: duration(limits.py(), "max_compile_time", seconds)?,
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

/// A budget of the default limits, for work that no compiler does.
pub(crate) fn budget(limits: Limits) -> Budget {
    Budget::new(limits, CancelFlag::default())
}

fn duration(py: Python<'_>, name: &str, seconds: f64) -> PyResult<Duration> {
    if seconds == f64::INFINITY {
        return Ok(Duration::MAX);
    }
    let invalid = |_| errors::argument(py, format!("{name} must be a number of seconds, not {seconds}"));
    Duration::try_from_secs_f64(seconds).map_err(invalid)
}
