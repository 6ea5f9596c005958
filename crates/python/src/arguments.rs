//! Arguments that XGrammar takes in more than one form, and numbers of any size.
//!
//! The functions by the names of arguments stand in `from_py_with`. Such a function is not told which argument it reads, and
//! `PyO3` adds the name to no errors but its own; so there is one for each.

use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyString};

use crate::errors;

macro_rules! named {
    ($($read:ident -> $type:ty: $($name:ident)*;)*) => {
        $($(
            pub(crate) fn $name(object: &Bound<'_, PyAny>) -> PyResult<$type> {
                $read(object, stringify!($name))
            }
        )*)*
    };
}

named! {
    flag -> bool: any_whitespace cache_enabled debug_print deduplicate print_converted_ebnf strict_mode
        terminate_without_stop_token;
    flag_or_none -> Option<bool>: any_order;
    number -> i64: cache_limit_bytes max_rollback_tokens max_threads min num_tokens;
    number_or_none -> Option<i64>: indent max max_whitespace_cnt;
    row -> isize: index;
    real -> f64: time_threshold;
    real_or_none -> Option<f64>: max_mask_time timeout;
    temperature -> Option<f32>: default_temperature;
    two_strings -> Option<(String, String)>: separators;
}

macro_rules! named_texts {
    ($($name:ident)*) => {
        $(
            pub(crate) fn $name<'a>(object: &'a Bound<'_, PyAny>) -> PyResult<&'a str> {
                read_text(object, stringify!($name))
            }
        )*
    };
}

named_texts! {
    ebnf_string formats json_str json_string lark_string metadata on_unsupported regex regex_string root_rule_name stop text
}

/// A flag: a bool, or an integer.
fn flag(object: &Bound<'_, PyAny>, name: &str) -> PyResult<bool> {
    if let Ok(flag) = object.extract() {
        return Ok(flag);
    }
    let number = integer(object)?.ok_or_else(|| wrong(object, name, "a bool"))?;
    Ok(number != 0)
}

/// A flag that may be left open.
fn flag_or_none(object: &Bound<'_, PyAny>, name: &str) -> PyResult<Option<bool>> {
    if object.is_none() { Ok(None) } else { flag(object, name).map(Some) }
}

/// A number, or the nearest to it that can be counted with.
fn number(object: &Bound<'_, PyAny>, name: &str) -> PyResult<i64> {
    integer(object)?.ok_or_else(|| wrong(object, name, "an int"))
}

/// A number that may be left out.
fn number_or_none(object: &Bound<'_, PyAny>, name: &str) -> PyResult<Option<i64>> {
    if object.is_none() { Ok(None) } else { number(object, name).map(Some) }
}

/// The number of a row.
pub(crate) fn row(object: &Bound<'_, PyAny>, name: &str) -> PyResult<isize> {
    let row = number(object, name)?;
    Ok(isize::try_from(row).unwrap_or(if row < 0 { isize::MIN } else { isize::MAX }))
}

/// A temperature that may be left out.
fn temperature(object: &Bound<'_, PyAny>, name: &str) -> PyResult<Option<f32>> {
    if object.is_none() {
        return Ok(None);
    }
    object.extract().map(Some).map_err(|_| wrong(object, name, "a number"))
}

/// A text.
fn read_text<'a>(object: &'a Bound<'_, PyAny>, name: &str) -> PyResult<&'a str> {
    object.cast::<PyString>().map_err(|_| wrong(object, name, "a str"))?.to_str()
}

/// The items of a list or of whatever else can be gone through; `what` says of what.
pub(crate) fn items<'py>(
    object: &Bound<'py, PyAny>,
    name: &str,
    what: &str,
) -> PyResult<Bound<'py, PyIterator>> {
    object.try_iter().map_err(|_| wrong(object, name, what))
}

/// A number with a fraction.
fn real(object: &Bound<'_, PyAny>, name: &str) -> PyResult<f64> {
    object.extract().map_err(|_| wrong(object, name, "a number"))
}

/// A number with a fraction that may be left out.
fn real_or_none(object: &Bound<'_, PyAny>, name: &str) -> PyResult<Option<f64>> {
    if object.is_none() { Ok(None) } else { real(object, name).map(Some) }
}

/// Two separators, in a tuple or in a list.
fn two_strings(object: &Bound<'_, PyAny>, name: &str) -> PyResult<Option<(String, String)>> {
    if object.is_none() {
        return Ok(None);
    }
    let pair: Option<[String; 2]> = object.extract().ok();
    let [item, key] = pair.ok_or_else(|| wrong(object, name, "two strings"))?;
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

fn wrong(object: &Bound<'_, PyAny>, name: &str, wanted: &str) -> PyErr {
    let found = errors::type_name(object);
    errors::argument(object.py(), format!("{name} must be {wanted}, not {found}"))
}
