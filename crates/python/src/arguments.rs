//! Arguments that XGrammar takes in more than one form, and numbers of any size.
//!
//! These stand in `from_py_with`; `PyO3` adds the name of the argument to an error.

use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyString};

use crate::errors;

/// A flag: a bool, or an integer.
pub(crate) fn flag(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    if let Ok(flag) = object.extract() {
        return Ok(flag);
    }
    let number = integer(object)?.ok_or_else(|| wrong(object, "a bool"))?;
    Ok(number != 0)
}

/// A flag that may be left open.
pub(crate) fn flag_or_none(object: &Bound<'_, PyAny>) -> PyResult<Option<bool>> {
    if object.is_none() { Ok(None) } else { flag(object).map(Some) }
}

/// A number, or the nearest to it that can be counted with.
pub(crate) fn number(object: &Bound<'_, PyAny>) -> PyResult<i64> {
    integer(object)?.ok_or_else(|| wrong(object, "an int"))
}

/// A number that may be left out.
pub(crate) fn number_or_none(object: &Bound<'_, PyAny>) -> PyResult<Option<i64>> {
    if object.is_none() { Ok(None) } else { number(object).map(Some) }
}

/// The number of a row.
pub(crate) fn row(object: &Bound<'_, PyAny>) -> PyResult<isize> {
    let row = number(object)?;
    Ok(isize::try_from(row).unwrap_or(if row < 0 { isize::MIN } else { isize::MAX }))
}

/// A temperature that may be left out.
pub(crate) fn temperature(object: &Bound<'_, PyAny>) -> PyResult<Option<f32>> {
    if object.is_none() {
        return Ok(None);
    }
    object.extract().map(Some).map_err(|_| wrong(object, "a number"))
}

/// A text.
pub(crate) fn text<'a>(object: &'a Bound<'_, PyAny>) -> PyResult<&'a str> {
    object.cast::<PyString>().map_err(|_| wrong(object, "a str"))?.to_str()
}

/// The items of a list or of whatever else can be gone through; `what` says of what.
pub(crate) fn items<'py>(object: &Bound<'py, PyAny>, what: &str) -> PyResult<Bound<'py, PyIterator>> {
    object.try_iter().map_err(|_| wrong(object, what))
}

/// A number with a fraction.
pub(crate) fn real(object: &Bound<'_, PyAny>) -> PyResult<f64> {
    object.extract().map_err(|_| wrong(object, "a number"))
}

/// A number with a fraction that may be left out.
pub(crate) fn real_or_none(object: &Bound<'_, PyAny>) -> PyResult<Option<f64>> {
    if object.is_none() { Ok(None) } else { real(object).map(Some) }
}

/// Two separators, in a tuple or in a list.
pub(crate) fn separators(object: &Bound<'_, PyAny>) -> PyResult<Option<(String, String)>> {
    if object.is_none() {
        return Ok(None);
    }
    let pair: Option<[String; 2]> = object.extract().ok();
    let [item, key] = pair.ok_or_else(|| wrong(object, "two strings"))?;
    Ok(Some((item, key)))
}

/// An integer, or the nearest to it of those that fit; nothing for what is none.
pub(crate) fn integer(object: &Bound<'_, PyAny>) -> PyResult<Option<i64>> {
    match object.extract::<i64>() {
        Ok(number) => Ok(Some(number)),
        Err(error) if error.is_instance_of::<PyOverflowError>(object.py()) => {
            Ok(Some(if object.lt(0)? { i64::MIN } else { i64::MAX }))
        }
        Err(_) => Ok(None),
    }
}

fn wrong(object: &Bound<'_, PyAny>, wanted: &str) -> PyErr {
    let found = errors::type_name(object);
    errors::argument(object.py(), format!("the argument must be {wanted}, not {found}"))
}
