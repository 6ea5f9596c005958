//! Structural tags from Python: in all their forms to one JSON text, and tokens by name.
//!
//! What may stand for a structural tag is recognised in `tokenstile.structural_tag_text`, so that this file need not know
//! Pydantic.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use tokenstile_engine::vocab::Vocab;

/// The JSON text of the structural tag that a function was called with.
pub(crate) fn text_of(
    py: Python<'_>,
    args: &Bound<'_, PyTuple>,
    kwargs: Option<&Bound<'_, PyDict>>,
) -> PyResult<String> {
    let read = py.import("tokenstile.structural_tag_text")?.getattr("structural_tag_text")?;
    read.call(args, kwargs)?.extract()
}

/// The first token of that text; tokens without a text are not to be found.
pub(crate) fn find_token(vocab: &Vocab, text: &str) -> Option<u32> {
    if text.is_empty() {
        return None;
    }
    vocab.table().texts().find(|(_, own)| *own == text.as_bytes()).map(|(id, _)| id.0)
}
