//! `Capture`: what a rule with the option `capture` matched, and where.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tokenstile_engine::CaptureSpan;

/// What a rule with the option ``capture`` matched: its name, the bytes, and where they stand in the output.
///
/// ``byte_span`` are offsets into the bytes of the output. ``token_span`` are numbers of steps, a token or a string each:
/// the bytes lie within those from the first number up to the second, which is not one of them.
#[pyclass(frozen, eq, hash, module = "tokenstile")]
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Capture {
    /// The name that the rule gives to its captures.
    #[pyo3(get)]
    name: String,
    /// Where it starts and ends in the bytes of the output.
    #[pyo3(get)]
    byte_span: (usize, usize),
    /// The steps in which it lies.
    #[pyo3(get)]
    token_span: (usize, usize),
    value: Vec<u8>,
}

impl From<CaptureSpan> for Capture {
    fn from(capture: CaptureSpan) -> Self {
        let span = |span: std::ops::Range<usize>| (span.start, span.end);
        Capture {
            name: capture.name,
            byte_span: span(capture.byte_span),
            token_span: span(capture.token_span),
            value: capture.bytes,
        }
    }
}

#[pymethods]
impl Capture {
    /// The bytes that were matched.
    #[getter]
    fn bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.value)
    }

    /// The same as a text; bytes that are no UTF-8 become the replacement character.
    #[getter]
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.value).into_owned()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let bytes = self.bytes(py).repr()?.to_string();
        let ((from, to), (first, last)) = (self.byte_span, self.token_span);
        let name = pyo3::types::PyString::new(py, &self.name).repr()?.to_string();
        Ok(format!("Capture({name}, {bytes}, byte_span=({from}, {to}), token_span=({first}, {last}))"))
    }
}
