//! From errors of the core to exceptions of Python.
//!
//! The classes are written in Python (`tokenstile.exceptions`), where people can read their tree; this is the one place
//! that knows which class an error becomes.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tokenstile_engine::BudgetError;
use tokenstile_grammar::{Error, ErrorKind, Place};

/// Where a grammar came from, which decides the class of its errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Ebnf,
    Regex,
    Lark,
    JsonSchema,
    StructuralTag,
    /// Something already parsed.
    Grammar,
    /// A serialized object.
    Serialized,
}

/// The exception for `error`.
pub(crate) fn grammar(py: Python<'_>, error: &Error, source: Source) -> PyErr {
    // What is known only of a tag as a whole is said of the whole.
    let whole = (source == Source::StructuralTag).then(|| error.clone().at(Place::Path("format".to_owned())));
    let error = whole.as_ref().unwrap_or(error);
    let class = match (error.kind(), source) {
        (ErrorKind::Cancelled, _) => return raise(py, "CancelledError", error.to_string()),
        (ErrorKind::Limit, _) => "LimitExceededError",
        (_, Source::Serialized) => "DeserializeFormatError",
        (ErrorKind::Unsupported, _) => "UnsupportedFeatureError",
        (ErrorKind::Syntax | ErrorKind::Invalid, Source::Ebnf) => "EBNFError",
        (ErrorKind::Syntax | ErrorKind::Invalid, Source::Regex) => "RegexError",
        (ErrorKind::Syntax | ErrorKind::Invalid, Source::Lark) => "LarkError",
        (ErrorKind::Syntax | ErrorKind::Invalid, Source::JsonSchema) => "JSONSchemaError",
        (ErrorKind::Syntax, Source::StructuralTag) => "InvalidJSONError",
        (ErrorKind::Invalid, Source::StructuralTag) => "InvalidStructuralTagError",
        (ErrorKind::Syntax | ErrorKind::Invalid, Source::Grammar) => "GrammarError",
    };
    let details = || -> PyResult<PyErr> {
        let keywords = PyDict::new(py);
        keywords.set_item("message", error.message())?;
        keywords.set_item("help", error.help())?;
        match error.place() {
            Place::Nowhere => {}
            Place::Pointer(pointer) => keywords.set_item("pointer", pointer)?,
            Place::Path(path) => keywords.set_item("path", path)?,
            Place::Text { line, column, .. } => {
                keywords.set_item("line", line)?;
                keywords.set_item("column", column)?;
            }
        }
        let class = py.import("tokenstile.exceptions")?.getattr(class)?;
        Ok(PyErr::from_value(class.call((error.to_string(),), Some(&keywords))?))
    };
    details().unwrap_or_else(|failure| failure)
}

/// A buffer of the wrong type, shape or place.
pub(crate) fn bitmask(py: Python<'_>, message: impl Into<String>) -> PyErr {
    raise(py, "BitmaskError", message)
}

/// An argument of the wrong type or out of its range.
pub(crate) fn argument(py: Python<'_>, message: impl Into<String>) -> PyErr {
    raise(py, "InvalidArgumentError", message)
}

/// A call that the state of a matcher does not allow.
pub(crate) fn matcher(py: Python<'_>, message: impl Into<String>) -> PyErr {
    raise(py, "MatcherError", message)
}

/// A number of tokens that is too small for any output.
pub(crate) fn token_budget(py: Python<'_>, error: &BudgetError) -> PyErr {
    let details = || -> PyResult<PyErr> {
        let keywords = PyDict::new(py);
        match error {
            BudgetError::TooSmall { max_tokens, needed } => {
                keywords.set_item("max_tokens", max_tokens)?;
                keywords.set_item("tokens_needed", needed)?;
            }
            BudgetError::Repeats { pointer, .. } => keywords.set_item("pointer", pointer)?,
            BudgetError::Unspellable => {}
        }
        let class = py.import("tokenstile.exceptions")?.getattr("TokenBudgetError")?;
        Ok(PyErr::from_value(class.call((error.to_string(),), Some(&keywords))?))
    };
    details().unwrap_or_else(|failure| failure)
}

/// The exception `class` of `tokenstile.exceptions`.
pub(crate) fn raise(py: Python<'_>, class: &str, message: impl Into<String>) -> PyErr {
    let error = || -> PyResult<PyErr> {
        let class = py.import("tokenstile.exceptions")?.getattr(class)?;
        Ok(PyErr::from_value(class.call1((message.into(),))?))
    };
    error().unwrap_or_else(|failure| failure)
}

/// The name of an object's type, for messages.
pub(crate) fn type_name(object: &Bound<'_, PyAny>) -> String {
    object.get_type().name().map_or_else(|_| "an object".to_owned(), |name| name.to_string())
}
