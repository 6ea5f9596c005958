//! `BatchGrammarMatcher`: many matchers in one call.
//!
//! Who does the work is in [`batch_work`](crate::batch_work).

#![expect(unsafe_code, reason = "writes temperatures into foreign arrays")]

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString, PyTuple};
use tokenstile_engine::Matcher;

use crate::arguments;
use crate::batch_masks::Masks;
use crate::batch_work::{Threads, work_all};
use crate::draft_tree::open_temperatures;
use crate::errors;
use crate::matcher::{self, GrammarMatcher};

/// The most threads that "auto" stands for.
const MOST_AUTOMATIC_THREADS: usize = 8;

/// Does for many matchers in one call what `GrammarMatcher` does for one.
///
/// ``max_threads`` is how many threads a batch is shared between, the calling one included; ``"auto"`` is one for each
/// core, eight at most.
#[pyclass(frozen, subclass, dict, weakref, module = "tokenstile")]
pub(crate) struct BatchGrammarMatcher {
    threads: Threads,
}

#[pymethods]
impl BatchGrammarMatcher {
    #[new]
    #[pyo3(signature = (max_threads = None), text_signature = "(max_threads='auto')")]
    fn new(py: Python<'_>, max_threads: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let is_auto = |value: &Bound<'_, PyAny>| value.cast::<PyString>().is_ok_and(|text| text == "auto");
        let threads = match max_threads {
            Some(value) if !is_auto(value) => {
                let message = || errors::argument(py, "max_threads must be \"auto\" or a positive number");
                value.extract::<usize>().ok().filter(|&threads| threads > 0).ok_or_else(message)?
            }
            _ => std::thread::available_parallelism().map_or(1, usize::from).min(MOST_AUTOMATIC_THREADS),
        };
        Ok(BatchGrammarMatcher { threads: Threads::new(threads) })
    }

    /// What it takes, ``__new__`` has taken: classes that inherit from it may call this as they would call any other.
    #[pyo3(signature = (*_arguments, **_options))]
    #[expect(clippy::unused_self, reason = "a method of Python")]
    fn __init__(&self, _arguments: &Bound<'_, PyTuple>, _options: Option<&Bound<'_, PyDict>>) {}

    /// Fill the masks of all matchers: matcher ``i`` into row ``indices[i]``, or row ``i`` without ``indices``.
    #[pyo3(signature = (matchers, bitmask, indices = None, debug_print = false))]
    fn batch_fill_next_token_bitmask(
        &self,
        matchers: &Bound<'_, PyAny>,
        bitmask: &Bound<'_, PyAny>,
        indices: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = arguments::debug_print)] debug_print: bool,
    ) -> PyResult<()> {
        let py = bitmask.py();
        let matchers = collect(matchers)?;
        let indices = rows_of(indices, matchers.len())?;
        check_length(py, "indices", indices.len(), matchers.len())?;
        let Some(first) = matchers.first() else { return Ok(()) };
        let words = first.get().words();
        if matchers.iter().any(|matcher| matcher.get().words() != words) {
            return Err(errors::bitmask(py, "the matchers have vocabularies of different sizes"));
        }
        let alone = matchers.iter().map(Bound::get).collect();
        Masks { matchers: alone, indices, words }.fill(bitmask, &self.threads)?;
        if debug_print {
            print_debug(py, "batch_fill_next_token_bitmask", &matchers, |_| "filled")?;
        }
        Ok(())
    }

    /// Write the temperature of each matcher into a float32 array, -1 where there is none.
    #[staticmethod]
    #[pyo3(signature = (matchers, temperatures, indices = None))]
    fn batch_fill_temperature(
        matchers: &Bound<'_, PyAny>,
        temperatures: &Bound<'_, PyAny>,
        indices: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let py = temperatures.py();
        let matchers = collect(matchers)?;
        let indices = rows_of(indices, matchers.len())?;
        check_length(py, "indices", indices.len(), matchers.len())?;
        if let Some(index) = indices.iter().find(|&&index| index < 0) {
            return Err(errors::argument(py, format!("indices must not be negative, not {index}")));
        }
        let highest = indices.iter().max().map_or(0, |&index| index.unsigned_abs().saturating_add(1));
        let array = open_temperatures(temperatures, highest)?;
        for (matcher, index) in matchers.iter().zip(indices) {
            let value = matcher.get().lock(py)?.temperature().unwrap_or(-1.0);
            let target = array.layout.pointer.wrapping_offset(index * array.layout.strides[0]);
            // SAFETY: `index` is below `highest`, and the array was checked to have so many elements.
            unsafe { target.cast::<f32>().write_unaligned(value) };
        }
        Ok(())
    }

    /// Let each matcher take its token; returns which of them fit.
    ///
    /// ``tokens`` is a list, or an array of one dimension in the memory of the CPU.
    #[staticmethod]
    #[pyo3(signature = (matchers, tokens, debug_print = false))]
    fn batch_accept_token(
        matchers: &Bound<'_, PyAny>,
        tokens: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = arguments::debug_print)] debug_print: bool,
    ) -> PyResult<Vec<bool>> {
        let py = tokens.py();
        let matchers = collect(matchers)?;
        let tokens = token_ids(tokens)?;
        check_length(py, "tokens", tokens.len(), matchers.len())?;
        let alone: Vec<&GrammarMatcher> = matchers.iter().map(Bound::get).collect();
        let known = |(matcher, &token): (&&GrammarMatcher, &Option<u32>)| match token {
            Some(token) => matcher.try_lock().and_then(|mut matcher| matcher.accept_known_token(token)),
            None => Some(false),
        };
        let done = alone.iter().zip(&tokens).map(known).collect();
        let accepted = accept_all(py, &alone, done, |at, matcher| {
            tokens[at].is_some_and(|token| matcher.accept_token(token))
        })?;
        if debug_print {
            print_debug(py, "batch_accept_token", &matchers, |at| matcher::verdict(accepted[at]))?;
        }
        Ok(accepted)
    }

    /// Let each matcher take its string; returns which of them fit.
    #[staticmethod]
    #[pyo3(signature = (matchers, strings, debug_print = false))]
    fn batch_accept_string(
        matchers: &Bound<'_, PyAny>,
        strings: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = arguments::debug_print)] debug_print: bool,
    ) -> PyResult<Vec<bool>> {
        let py = strings.py();
        if strings.is_instance_of::<PyString>() || strings.is_instance_of::<PyBytes>() {
            return Err(errors::argument(
                py,
                "strings must be a list with a string for each matcher, not one string",
            ));
        }
        let matchers = collect(matchers)?;
        let strings =
            arguments::items(strings, "strings", "a list of strings")?.collect::<PyResult<Vec<_>>>()?;
        check_length(py, "strings", strings.len(), matchers.len())?;
        let alone: Vec<&GrammarMatcher> = matchers.iter().map(Bound::get).collect();
        let texts = strings.iter().map(matcher::bytes_of).collect::<PyResult<Vec<&[u8]>>>()?;
        let done = vec![None; alone.len()];
        let accepted = accept_all(py, &alone, done, |at, matcher| matcher.accept_bytes(texts[at]))?;
        if debug_print {
            print_debug(py, "batch_accept_string", &matchers, |at| matcher::verdict(accepted[at]))?;
        }
        Ok(accepted)
    }

    /// Take back the last steps of each matcher: the same number for all, or one for each.
    ///
    /// If one of them has not taken so many steps, none is changed.
    #[staticmethod]
    #[pyo3(signature = (matchers, num_tokens = None), text_signature = "(matchers, num_tokens=1)")]
    fn batch_rollback(matchers: &Bound<'_, PyAny>, num_tokens: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let py = matchers.py();
        let matchers = collect(matchers)?;
        let counts = match num_tokens {
            None => vec![1; matchers.len()],
            Some(count) => match count.extract::<i64>() {
                Ok(count) => vec![count; matchers.len()],
                Err(_) => count.extract::<Vec<i64>>().map_err(|_| {
                    let kind = errors::type_name(count);
                    errors::argument(py, format!("num_tokens must be an int or a list of them, not {kind}"))
                })?,
            },
        };
        check_length(py, "num_tokens", counts.len(), matchers.len())?;
        let invalid =
            |count: i64| errors::argument(py, format!("num_tokens must not be negative, not {count}"));
        let counts: Vec<usize> = counts
            .into_iter()
            .map(|count| usize::try_from(count).map_err(|_| invalid(count)))
            .collect::<PyResult<_>>()?;
        for (at, (matcher, &count)) in matchers.iter().zip(&counts).enumerate() {
            let steps = matcher.get().lock(py)?.history_len();
            if count > steps {
                let message =
                    format!("matcher {at} has taken {steps} steps, of which {count} cannot be rolled back");
                return Err(errors::matcher(py, message));
            }
        }
        for (matcher, count) in matchers.iter().zip(counts) {
            let result = matcher.get().lock(py)?.rollback(count);
            result.map_err(|error| errors::matcher(py, error.to_string()))?;
        }
        Ok(())
    }

    fn __repr__(&self) -> String {
        format!("BatchGrammarMatcher(max_threads={})", self.threads.count())
    }
}

/// The row of each matcher: any iterable of integers, numpy and torch included; without one, the matchers' order.
fn rows_of(indices: Option<&Bound<'_, PyAny>>, count: usize) -> PyResult<Vec<isize>> {
    match indices {
        None => Ok((0..count.cast_signed()).collect()),
        Some(indices) => arguments::items(indices, "indices", "a list of rows")?
            .map(|index| arguments::row(&index?, "a row of indices"))
            .collect(),
    }
}

/// Writes a line for each matcher of a batch, if `debug_print` was asked for.
fn print_debug(
    py: Python<'_>,
    what: &str,
    matchers: &[Bound<'_, GrammarMatcher>],
    verdict: impl Fn(usize) -> &'static str,
) -> PyResult<()> {
    for (at, matcher) in matchers.iter().enumerate() {
        matcher.get().print_debug(py, &format!("{what}, matcher {at}: {}", verdict(at)))?;
    }
    Ok(())
}

impl BatchGrammarMatcher {
    pub(crate) fn threads(&self) -> &Threads {
        &self.threads
    }
}

/// Lets each matcher `accept` its own, if nothing is `done` yet: all of them or, where that is stopped, none.
fn accept_all(
    py: Python<'_>,
    matchers: &[&GrammarMatcher],
    mut done: Vec<Option<bool>>,
    accept: impl Fn(usize, &mut Matcher) -> bool + Sync,
) -> PyResult<Vec<bool>> {
    let result = work_all(py, None, matchers, &mut done, accept);
    if let Err(error) = result {
        for (matcher, _) in matchers.iter().zip(&done).filter(|(_, done)| **done == Some(true)) {
            matcher.lock(py)?.rollback(1).map_err(|error| errors::matcher(py, error.to_string()))?;
        }
        return Err(error);
    }
    matchers.iter().try_for_each(|matcher| matcher.report_captures(py))?;
    Ok(done.into_iter().map(Option::unwrap_or_default).collect())
}

/// The matchers of a sequence.
pub(crate) fn collect<'py>(matchers: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, GrammarMatcher>>> {
    let wrong = |object: &Bound<'py, PyAny>| {
        errors::argument(
            object.py(),
            format!("a GrammarMatcher was expected, not {}", errors::type_name(object)),
        )
    };
    arguments::items(matchers, "matchers", "a list of GrammarMatchers")?
        .map(|item| item?.cast_into().map_err(|error| wrong(&error.into_inner())))
        .collect()
}

/// The token ids in a list or an array, nothing for a number that no token can have.
///
/// PERF: going through a torch tensor item by item takes 4 us an item, which for a batch of 256 is longer than all else
/// together; its `tolist` takes 10 us.
fn token_ids(tokens: &Bound<'_, PyAny>) -> PyResult<Vec<Option<u32>>> {
    let to_list = tokens.getattr_opt(intern!(tokens.py(), "tolist"))?;
    let list = to_list.map_or_else(|| Ok(tokens.clone()), |method| method.call0())?;
    arguments::items(&list, "tokens", "a list of token ids")?
        .map(|token| matcher::token_id_of(&token?))
        .collect()
}

/// Fails if there are not as many entries as matchers.
pub(crate) fn check_length(py: Python<'_>, name: &str, found: usize, expected: usize) -> PyResult<()> {
    if found == expected {
        return Ok(());
    }
    Err(errors::argument(py, format!("{name} has {found} entries for {expected} matchers")))
}
