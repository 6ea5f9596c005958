//! The spelling of JSON values, as an argument and as the default of the process.
//!
//! Callers that name none get the default: that of the environment variable [`VARIABLE`], if it is set, until
//! [`set_default_spelling`] sets another. What is compiled is kept by the spelling that it was compiled with, so that a new
//! default changes nothing that was there before.

use std::sync::Mutex;

use pyo3::prelude::*;
use pyo3::types::PyString;
use tokenstile_grammar::frontends::json_schema::Spelling;

use crate::errors;

/// The environment variable that sets the default.
const VARIABLE: &str = "TOKENSTILE_SPELLING";

static DEFAULT: Mutex<Option<Spelling>> = Mutex::new(None);

/// Reads the argument `spelling`; `None` is the default.
pub(crate) fn spelling(object: &Bound<'_, PyAny>) -> PyResult<Option<Spelling>> {
    if object.is_none() {
        return Ok(None);
    }
    let py = object.py();
    let Ok(name) = object.cast::<PyString>() else {
        let found = errors::type_name(object);
        return Err(errors::argument(py, format!("spelling must be a str, not {found}")));
    };
    named(py, "spelling", name.to_str()?).map(Some)
}

/// The spelling that was asked for, or the default.
pub(crate) fn chosen(py: Python<'_>, given: Option<Spelling>) -> PyResult<Spelling> {
    if let Some(given) = given {
        return Ok(given);
    }
    let mut default = DEFAULT.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(known) = *default {
        return Ok(known);
    }
    let found = match std::env::var(VARIABLE) {
        Ok(name) if !name.is_empty() => named(py, VARIABLE, &name)?,
        _ => Spelling::Canonical,
    };
    *default = Some(found);
    Ok(found)
}

fn named(py: Python<'_>, what: &str, name: &str) -> PyResult<Spelling> {
    Spelling::find(name)
        .ok_or_else(|| errors::argument(py, format!("{what} must be \"canonical\" or \"any\", not {name:?}")))
}

/// The spelling of JSON values where a caller names none: ``"canonical"`` or ``"any"``.
///
/// It is that of the environment variable ``TOKENSTILE_SPELLING`` until it is set.
#[pyfunction]
pub(crate) fn get_default_spelling(py: Python<'_>) -> PyResult<&'static str> {
    chosen(py, None).map(Spelling::name)
}

/// Sets the spelling of JSON values for callers that name none, in this process.
#[pyfunction]
pub(crate) fn set_default_spelling(spelling: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = spelling.py();
    let Some(spelling) = self::spelling(spelling)? else {
        return Err(errors::argument(py, "spelling must be a str, not NoneType"));
    };
    *DEFAULT.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(spelling);
    Ok(())
}
