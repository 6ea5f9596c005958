//! `GrammarMatcher`: one request's place in a grammar.
//!
//! The class is immutable for Python and its state is behind a lock, so that it is safe from several threads with and
//! without the GIL. Two rules keep the lock from meeting the GIL: a thread that must wait for the lock lets go of the GIL
//! first, and whoever works with the GIL asks for nothing that somebody without it may be making. Who works without the GIL
//! may take it for a moment, for signals: so their handlers can use every matcher but the one whose call they interrupt.
//!
//! PERF: what tables answer takes less time than it takes to release the GIL and get it back, so such calls keep it. All others
//! release it, and write what they made into foreign memory when they have it again, after another look at that memory.

#![expect(unsafe_code, reason = "hands rows of foreign bitmasks to the engine")]

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use pyo3::exceptions::PyDeprecationWarning;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString, PyTuple};
use tokenstile_engine::interrupt::{Interrupt, Interrupted, run};
use tokenstile_engine::{Decided, Matcher, MatcherOptions};

use crate::arguments;
use crate::buffer::mask::MaskArray;
use crate::capture::Capture;
use crate::compiled::CompiledGrammar;
use crate::detached::{Stops, Watch, detached};
use crate::draft_tree::{Targets, Tree};
use crate::errors;
use crate::limits::{CancelToken, duration};

/// How long a thread waits for a matcher that another one uses before it looks at signals again.
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

thread_local! {
    /// The matchers that this thread works with, by their addresses.
    static IN_USE: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
    /// The row that this thread filled last, to be filled again.
    static ROW: Cell<Vec<u32>> = const { Cell::new(Vec::new()) };
}

/// Follows one output through a grammar, token by token, and says which tokens can come next.
///
/// ``override_stop_tokens`` replaces the tokenizer's stop tokens. With ``terminate_without_stop_token`` the matcher is
/// terminated as soon as the grammar is complete, and takes no stop token. ``max_rollback_tokens`` is accepted and
/// ignored: any number of tokens can be rolled back. ``default_temperature`` is what ``temperature`` says where the
/// grammar says nothing.
///
/// With ``max_tokens`` the output is complete within so many tokens, whatever is sampled: near the end the masks leave only
/// tokens after which it can still be completed. The stop token that ends the output counts, unless
/// ``terminate_without_stop_token``. A number that is too small raises ``TokenBudgetError``, which says what is enough.
///
/// ``on_capture`` is called with a `Capture` as soon as it is certain, while tokens and strings are accepted.
///
/// Calls that take long let other threads run, and end with the exception of a signal's handler, such as
/// ``KeyboardInterrupt``. With ``max_mask_time`` each call that fills a mask or accepts something takes at most about so many
/// seconds and then raises ``MaskTimeoutError``; ``cancel`` is a ``CancelToken`` that ends them with ``CancelledError``.
/// However a call was ended, no row is written and the matcher is where it was, and the same call again goes on from the work
/// that is done.
#[pyclass(frozen, subclass, dict, weakref, module = "tokenstile")]
pub(crate) struct GrammarMatcher {
    matcher: Mutex<Matcher>,
    compiled_grammar: Py<CompiledGrammar>,
    words: usize,
    on_capture: Option<Py<PyAny>>,
    stops: Stops,
}

#[pymethods]
impl GrammarMatcher {
    #[new]
    #[pyo3(signature = (
        compiled_grammar,
        *,
        override_stop_tokens = None,
        terminate_without_stop_token = false,
        max_rollback_tokens = -1,
        default_temperature = None,
        max_tokens = None,
        on_capture = None,
        max_mask_time = None,
        cancel = None,
    ), text_signature = "(compiled_grammar, *, override_stop_tokens=None, terminate_without_stop_token=False, \
        max_rollback_tokens=-1, default_temperature=None, max_tokens=None, on_capture=None, max_mask_time=None, \
        cancel=None)")]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn new(
        compiled_grammar: &Bound<'_, PyAny>,
        override_stop_tokens: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = arguments::terminate_without_stop_token)] terminate_without_stop_token: bool,
        #[pyo3(from_py_with = arguments::max_rollback_tokens)] max_rollback_tokens: i64,
        #[pyo3(from_py_with = arguments::default_temperature)] default_temperature: Option<f32>,
        max_tokens: Option<&Bound<'_, PyAny>>,
        on_capture: Option<Py<PyAny>>,
        #[pyo3(from_py_with = arguments::max_mask_time)] max_mask_time: Option<f64>,
        cancel: Option<Bound<'_, CancelToken>>,
    ) -> PyResult<Self> {
        let py = compiled_grammar.py();
        let compiled_grammar = compiled_grammar.cast::<CompiledGrammar>().map_err(|_| {
            let name = errors::type_name(compiled_grammar);
            errors::argument(py, format!("compiled_grammar must be a CompiledGrammar, not {name}"))
        })?;
        if max_rollback_tokens != -1 {
            let message = c"max_rollback_tokens is ignored: any number of tokens can be rolled back";
            PyErr::warn(py, &py.get_type::<PyDeprecationWarning>(), message, 1)?;
        }
        if default_temperature.is_some_and(|value| !value.is_finite() || value < 0.0) {
            return Err(errors::argument(py, "default_temperature must be finite and not negative"));
        }
        let compiled = &compiled_grammar.get().compiled;
        let size = compiled.vocab().len();
        let options = MatcherOptions {
            stop_tokens: override_stop_tokens.map(|tokens| stop_tokens(tokens, size)).transpose()?,
            terminate_without_stop_token,
            default_temperature,
            max_tokens: max_tokens.map(|count| token_count("max_tokens", count)).transpose()?,
        };
        let time = max_mask_time.map(|seconds| duration(py, "max_mask_time", seconds)).transpose()?;
        let stops = Stops { time, cancel: cancel.map(|token| token.get().flag.clone()) };
        // Costs are found for the whole grammar at once, which takes time for a large one.
        let make = || Matcher::with_budget(Arc::clone(compiled), options.clone());
        let until_cancelled = Stops { time: None, cancel: stops.cancel.clone() };
        let matcher = until_cancelled.run(py, |watch| run(Rc::clone(watch) as Rc<dyn Interrupt>, make))?;
        let mut matcher = matcher.map_err(|error| errors::token_budget(py, &error))?;
        if let Some(callback) = on_capture.as_ref() {
            if !callback.bind(py).is_callable() {
                return Err(errors::argument(py, "on_capture must be callable"));
            }
            let watch_captures = |matcher: &mut Matcher| matcher.watch_captures();
            let watched = until_cancelled.run(py, |watch| {
                matcher.interruptible(Rc::clone(watch) as Rc<dyn Interrupt>, watch_captures)
            })?;
            watched.map_err(|error| errors::grammar(py, &error, errors::Source::Grammar))?;
        }
        Ok(GrammarMatcher {
            matcher: Mutex::new(matcher),
            compiled_grammar: compiled_grammar.clone().unbind(),
            words: size.div_ceil(32),
            on_capture,
            stops,
        })
    }

    /// What it takes, ``__new__`` has taken: classes that inherit from it may call this as they would call any other.
    #[pyo3(signature = (*_arguments, **_options))]
    #[expect(clippy::unused_self, reason = "a method of Python")]
    fn __init__(&self, _arguments: &Bound<'_, PyTuple>, _options: Option<&Bound<'_, PyDict>>) {}

    /// Take a token. Returns whether it fits; if not, nothing has changed.
    ///
    /// A stop token fits when the grammar is complete, and terminates the matcher.
    #[pyo3(signature = (token_id, *, debug_print = false))]
    fn accept_token(
        &self,
        token_id: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = arguments::debug_print)] debug_print: bool,
    ) -> PyResult<bool> {
        let py = token_id.py();
        let accepted = match token_id_of(token_id)? {
            Some(token) => self.accept(py, token)?,
            None => false,
        };
        self.report_captures(py)?;
        if debug_print {
            self.print_debug(py, &format!("accept_token({token_id}): {}", verdict(accepted)))?;
        }
        Ok(accepted)
    }

    /// Take a string as one step. Returns whether all of it fits; if not, nothing has changed.
    ///
    /// With ``max_tokens`` it counts for ``token_count`` tokens, or for as few as can spell it.
    #[pyo3(signature = (input_str, *, debug_print = false, token_count = None))]
    fn accept_string(
        &self,
        input_str: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = arguments::debug_print)] debug_print: bool,
        token_count: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<bool> {
        let bytes = bytes_of(input_str)?;
        let py = input_str.py();
        let count = token_count.map(|count| self::token_count("token_count", count)).transpose()?;
        let accepted = self.work(py, |matcher| matcher.accept_bytes_as(bytes, count))?;
        self.report_captures(py)?;
        if debug_print {
            self.print_debug(py, &format!("accept_string({}): {}", input_str.repr()?, verdict(accepted)))?;
        }
        Ok(accepted)
    }

    /// Write the mask of the tokens that can come next into row ``index`` of ``bitmask``.
    ///
    /// Bit ``t % 32`` of word ``t // 32`` is set if token ``t`` fits. The bitmask is an int32 array in the memory of the
    /// CPU, of shape ``(rows, ceil(vocab_size / 32))`` or one such row: numpy, torch, anything with the buffer protocol
    /// or ``DLPack``, with any strides. Returns whether the mask forbids anything; if not, applying it can be skipped.
    #[pyo3(signature = (bitmask, index = 0, *, debug_print = false))]
    fn fill_next_token_bitmask(
        &self,
        bitmask: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = arguments::index)] index: isize,
        #[pyo3(from_py_with = arguments::debug_print)] debug_print: bool,
    ) -> PyResult<bool> {
        let py = bitmask.py();
        let is_restricted = match self.fill_if_known(bitmask, index)? {
            Some(is_restricted) => is_restricted,
            None => self.fill(bitmask, index)?,
        };
        if debug_print {
            let what = if is_restricted { "some tokens are forbidden" } else { "all tokens are allowed" };
            self.print_debug(py, &format!("fill_next_token_bitmask: {what}"))?;
        }
        Ok(is_restricted)
    }

    /// Fill the masks of all nodes of a tree of draft tokens, and come back to where it was.
    ///
    /// The tree is three int64 arrays: the first child and the next sibling of each node (-1 for none), and its token.
    /// Node 0 is the root, whose token was accepted before. Row ``n`` of the bitmask becomes the mask after node ``n``,
    /// all zero if the node does not fit or ended the output. ``temperatures`` (float32) gets the temperature of each
    /// node, -1 where it has none or is not visited. Returns False if ``time_threshold`` seconds went by before the end.
    #[pyo3(signature = (
        retrieve_next_token,
        retrieve_next_sibling,
        draft_tokens,
        token_bitmask,
        time_threshold = -1.0,
        temperatures = None,
    ), text_signature = "($self, retrieve_next_token, retrieve_next_sibling, draft_tokens, token_bitmask, \
        time_threshold=-1.0, temperatures=None)")]
    fn traverse_draft_tree(
        &self,
        retrieve_next_token: &Bound<'_, PyAny>,
        retrieve_next_sibling: &Bound<'_, PyAny>,
        draft_tokens: &Bound<'_, PyAny>,
        token_bitmask: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = arguments::time_threshold)] time_threshold: f64,
        temperatures: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<bool> {
        let py = draft_tokens.py();
        let tree = Tree::read([retrieve_next_token, retrieve_next_sibling, draft_tokens])?;
        let open = || Targets::open(token_bitmask, temperatures, tree.len(), self.words);
        // An error is told before the work, and what is written is looked at again after it.
        drop(open()?);
        let found = tree.traverse(py, self, time_threshold)?;
        found.write(py, &open()?, tree.len())?;
        Ok(found.is_finished())
    }

    /// The longest string that every continuation begins with; it can be appended without asking the model.
    ///
    /// Use ``accept_string`` to take it. The string ends at a whole character.
    fn find_jump_forward_string(&self, py: Python<'_>) -> PyResult<String> {
        let forced = |matcher: &mut Matcher| (!matcher.is_stopped()).then(|| matcher.jump_forward());
        let bytes = self.work(py, forced)?.ok_or_else(|| terminated(py))?;
        let whole = match std::str::from_utf8(&bytes) {
            Ok(_) => bytes.len(),
            Err(error) => error.valid_up_to(),
        };
        Ok(String::from_utf8_lossy(&bytes[..whole]).into_owned())
    }

    /// How many tokens are decided here without the context, by the state of what is being read alone.
    ///
    /// ``taken`` fit whatever comes before and after, ``refused`` in no context, and ``open`` are decided by the context:
    /// they pass an end of what is being read. ``terminals`` has the same for each terminal, with the ``next_bytes`` that
    /// it takes and whether it ``may_end`` here. Control tokens count where the grammar names them; stop tokens, budgets
    /// and bounds of rules do not count. For people and statistics: it takes longer than a mask.
    fn count_decided_tokens<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let decided = self.work_untimed(py, |matcher| matcher.decided_tokens())?;
        let counts = dict_of_decided(py, &decided.tokens)?;
        let terminals = decided.terminals.iter().map(|terminal| {
            let counts = dict_of_decided(py, &terminal.tokens)?;
            counts.set_item("next_bytes", PyBytes::new(py, &terminal.next_bytes))?;
            counts.set_item("may_end", terminal.may_end)?;
            Ok(counts)
        });
        counts.set_item("terminals", terminals.collect::<PyResult<Vec<_>>>()?)?;
        Ok(counts)
    }

    /// Take back the last ``num_tokens`` steps. A step is a token or a string, a stop token too.
    #[pyo3(signature = (num_tokens = 1))]
    fn rollback(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = arguments::num_tokens)] num_tokens: i64,
    ) -> PyResult<()> {
        let Ok(steps) = usize::try_from(num_tokens) else {
            return Err(errors::argument(py, format!("num_tokens must not be negative, not {num_tokens}")));
        };
        let result = self.lock(py)?.rollback(steps);
        result.map_err(|error| errors::matcher(py, error.to_string()))
    }

    /// How many of ``token_ids``, from the first on, would be accepted one after the other. Nothing moves.
    fn validate_tokens(&self, token_ids: &Bound<'_, PyAny>) -> PyResult<usize> {
        let py = token_ids.py();
        let mut tokens = Vec::new();
        for token in token_ids.try_iter()? {
            let Some(token) = token_id_of(&token?)? else { break };
            tokens.push(token);
        }
        self.work(py, |matcher| matcher.validate_tokens(&tokens))
    }

    /// The texts that rules with the option ``capture`` have matched, with their names, in order of completion.
    ///
    /// With ``deduplicate`` the last text of each name and place is kept.
    #[pyo3(signature = (*, deduplicate = true))]
    fn get_captures<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = arguments::deduplicate)] deduplicate: bool,
    ) -> PyResult<Vec<(String, Bound<'py, PyBytes>)>> {
        let captures = self.work_untimed(py, |matcher| matcher.captures(deduplicate))?;
        let captures = captures.map_err(|error| errors::grammar(py, &error, errors::Source::Grammar))?;
        Ok(captures.into_iter().map(|(name, bytes)| (name, PyBytes::new(py, &bytes))).collect())
    }

    /// The captures with their places: what ``get_captures`` gives, and where it stands in the output.
    #[pyo3(signature = (*, deduplicate = true))]
    fn get_captures_with_spans(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = arguments::deduplicate)] deduplicate: bool,
    ) -> PyResult<Vec<Capture>> {
        let captures = self.work_untimed(py, |matcher| matcher.capture_spans(deduplicate))?;
        let captures = captures.map_err(|error| errors::grammar(py, &error, errors::Source::Grammar))?;
        Ok(captures.into_iter().map(Capture::from).collect())
    }

    /// How many tokens may still come, the stop token included; None without ``max_tokens``.
    #[getter]
    fn tokens_left(&self, py: Python<'_>) -> PyResult<Option<u32>> {
        Ok(self.lock(py)?.tokens_left())
    }

    /// How many tokens are enough to complete the output from here; None without ``max_tokens``.
    #[getter]
    fn tokens_needed(&self, py: Python<'_>) -> PyResult<Option<u32>> {
        self.work_untimed(py, |matcher| matcher.tokens_needed())
    }

    /// Whether ``max_tokens`` has cut free text off: any text could have gone on, and none of it was allowed any more. The
    /// output is a whole text of its grammar all the same.
    #[getter]
    fn is_cut_by_budget(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.lock(py)?.is_cut_by_budget())
    }

    /// Whether the output has ended: by a stop token, or by completion if ``terminate_without_stop_token``.
    fn is_terminated(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.lock(py)?.is_terminated())
    }

    /// Whether the output so far is complete, so that a stop token would fit.
    fn is_completed(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.lock(py)?.is_completed())
    }

    /// Go back to the beginning.
    fn reset(&self, py: Python<'_>) -> PyResult<()> {
        self.lock(py)?.reset();
        Ok(())
    }

    /// A second matcher at the same place, that moves on its own.
    fn fork(&self, py: Python<'_>) -> PyResult<Self> {
        let matcher = self.lock(py)?.fork();
        Ok(GrammarMatcher {
            matcher: Mutex::new(matcher),
            compiled_grammar: self.compiled_grammar.clone_ref(py),
            words: self.words,
            on_capture: self.on_capture.as_ref().map(|callback| callback.clone_ref(py)),
            stops: self.stops.clone(),
        })
    }

    /// Always -1: any number of tokens can be rolled back.
    #[getter]
    #[expect(clippy::unused_self, reason = "a property of the object for Python")]
    fn max_rollback_tokens(&self) -> i64 {
        -1
    }

    /// The sampling temperature that the grammar advises here, or the default one, or None.
    #[getter]
    fn temperature(&self, py: Python<'_>) -> PyResult<Option<f32>> {
        Ok(self.lock(py)?.temperature())
    }

    /// How many seconds a call may take, if that was said.
    #[getter]
    fn max_mask_time(&self) -> Option<f64> {
        self.stops.time.map(|time| time.as_secs_f64())
    }

    /// The tokens that end the output.
    #[getter]
    fn stop_token_ids(&self, py: Python<'_>) -> PyResult<Vec<u32>> {
        Ok(self.lock(py)?.stop_token_ids().to_vec())
    }

    /// The compiled grammar that it follows.
    #[getter]
    fn compiled_grammar(&self, py: Python<'_>) -> Py<CompiledGrammar> {
        self.compiled_grammar.clone_ref(py)
    }

    #[pyo3(name = "_debug_print_internal_state")]
    fn debug_state(&self, py: Python<'_>) -> PyResult<String> {
        let matcher = self.lock(py)?;
        Ok(format!(
            "steps: {}, completed: {}, terminated: {}",
            matcher.history_len(),
            matcher.is_completed(),
            matcher.is_terminated()
        ))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("<GrammarMatcher {}>", self.debug_state(py)?))
    }
}

/// A verdict in words.
pub(crate) fn verdict(accepted: bool) -> &'static str {
    if accepted { "accepted" } else { "refused" }
}

fn dict_of_decided<'py>(py: Python<'py>, decided: &Decided) -> PyResult<Bound<'py, PyDict>> {
    let counts = PyDict::new(py);
    counts.set_item("taken", decided.taken)?;
    counts.set_item("refused", decided.refused)?;
    counts.set_item("open", decided.open)?;
    Ok(counts)
}

impl GrammarMatcher {
    /// Writes a line for `debug_print` to Python's standard error: what was done, and where the matcher stands now.
    pub(crate) fn print_debug(&self, py: Python<'_>, what: &str) -> PyResult<()> {
        let line = format!("tokenstile: {what}; {}\n", self.debug_state(py)?);
        py.import("sys")?.getattr("stderr")?.call_method1("write", (line,))?;
        Ok(())
    }

    /// The matcher, once nobody else uses it. What is done with it must not wait for anybody.
    #[inline]
    pub(crate) fn lock(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, Matcher>> {
        match self.matcher.try_lock() {
            Some(matcher) => Ok(matcher),
            None => self.wait(py),
        }
    }

    #[cold]
    fn wait(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, Matcher>> {
        self.check_use(py)?;
        loop {
            detached(py, || drop(self.matcher.try_lock_for(BETWEEN_LOOKS)))?;
            py.check_signals()?;
            if let Some(matcher) = self.matcher.try_lock() {
                return Ok(matcher);
            }
        }
    }

    /// Fails if this thread works with the matcher already, and would wait for itself.
    pub(crate) fn check_use(&self, py: Python<'_>) -> PyResult<()> {
        if IN_USE.with_borrow(|all| all.contains(&std::ptr::from_ref(self).addr())) {
            let message = "a handler of a signal cannot use the matcher whose call it interrupts";
            return Err(errors::matcher(py, message));
        }
        Ok(())
    }

    /// The matcher, if nobody else uses it.
    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, Matcher>> {
        self.matcher.try_lock()
    }

    /// Does `work` with the matcher, without the GIL, until there is a reason to stop. Then the matcher is as it was.
    pub(crate) fn work<T: Send>(
        &self,
        py: Python<'_>,
        mut work: impl FnMut(&mut Matcher) -> T + Send,
    ) -> PyResult<T> {
        self.check_use(py)?;
        self.stops.run(py, |watch| self.work_detached(watch, &mut work))
    }

    /// The same for what does not go on from the work that was done, and may therefore take as long as it takes.
    pub(crate) fn work_untimed<T: Send>(
        &self,
        py: Python<'_>,
        mut work: impl FnMut(&mut Matcher) -> T + Send,
    ) -> PyResult<T> {
        self.check_use(py)?;
        let stops = Stops { time: None, cancel: self.stops.cancel.clone() };
        stops.run(py, |watch| self.work_detached(watch, &mut work))
    }

    /// The same for threads that do not hold the GIL.
    pub(crate) fn work_detached<T>(
        &self,
        watch: &Rc<Watch>,
        work: impl FnOnce(&mut Matcher) -> T,
    ) -> Result<T, Interrupted> {
        let mut matcher = loop {
            match self.matcher.try_lock_for(BETWEEN_LOOKS) {
                Some(matcher) => break matcher,
                None if watch.is_due() => return Err(Interrupted),
                None => {}
            }
        };
        IN_USE.with_borrow_mut(|all| all.push(std::ptr::from_ref(self).addr()));
        let result = matcher.interruptible(Rc::clone(watch) as Rc<dyn Interrupt>, work);
        IN_USE.with_borrow_mut(Vec::pop);
        result
    }

    /// What stops its calls.
    pub(crate) fn stops(&self) -> &Stops {
        &self.stops
    }

    /// Whether its mask is known, and nobody is at work with it.
    pub(crate) fn knows_mask(&self) -> bool {
        self.try_lock().is_some_and(|matcher| matcher.knows_mask())
    }

    fn accept(&self, py: Python<'_>, token: u32) -> PyResult<bool> {
        let known = self.lock(py)?.accept_known_token(token);
        known.map_or_else(|| self.work(py, |matcher| matcher.accept_token(token)), Ok)
    }

    /// Fills a row with the mask if it is known.
    fn fill_if_known(&self, bitmask: &Bound<'_, PyAny>, index: isize) -> PyResult<Option<bool>> {
        let py = bitmask.py();
        let mask = MaskArray::open(bitmask, self.words)?;
        let row = mask.rows.get(py, index)?;
        // SAFETY: the mask is open until the end of the function, and the GIL is held; who else may use the row is the
        // caller's to see to, as with every function that writes into an array.
        unsafe { row.fill_if(|row| self.lock(py).map(|it| it.fill_known_mask(row)).transpose()) }.transpose()
    }

    /// Finds the mask, and then writes it into a row.
    fn fill(&self, bitmask: &Bound<'_, PyAny>, index: isize) -> PyResult<bool> {
        let py = bitmask.py();
        // PERF: a row of a large vocabulary is 16 KiB, which takes its time to get and to clear: the median of the masks along
        // 500 schemas of MaskBench falls from 1.34 to 1.26 us. A call that begins meanwhile gets a row of its own.
        let mut content = ROW.take();
        content.resize(self.words, 0);
        let filled =
            self.work(py, |matcher| (!matcher.is_stopped()).then(|| matcher.fill_mask(&mut content)));
        let written = filled.and_then(|filled| self.write_row(bitmask, index, filled, &content));
        ROW.set(content);
        written
    }

    /// Writes the content of a row that has been filled; an error if the matcher had been terminated.
    fn write_row(
        &self,
        bitmask: &Bound<'_, PyAny>,
        index: isize,
        is_restricted: Option<bool>,
        content: &[u32],
    ) -> PyResult<bool> {
        let py = bitmask.py();
        let is_restricted = is_restricted.ok_or_else(|| terminated(py))?;
        // What it looked like before may have changed since.
        let mask = MaskArray::open(bitmask, self.words)?;
        let row = mask.rows.get(py, index)?;
        // SAFETY: as above.
        unsafe { row.write(content) };
        Ok(is_restricted)
    }

    /// Calls ``on_capture`` with what has become certain. The matcher is not locked meanwhile: the callback may use it.
    pub(crate) fn report_captures(&self, py: Python<'_>) -> PyResult<()> {
        let Some(callback) = &self.on_capture else { return Ok(()) };
        let captures = self.work_untimed(py, Matcher::new_captures)?;
        for capture in captures.map_err(|error| errors::grammar(py, &error, errors::Source::Grammar))? {
            callback.call1(py, (Capture::from(capture),))?;
        }
        Ok(())
    }

    /// The words of a row of its masks.
    pub(crate) fn words(&self) -> usize {
        self.words
    }
}

/// The error of asking a matcher that has ended for what comes next.
pub(crate) fn terminated(py: Python<'_>) -> PyErr {
    errors::matcher(py, "the matcher was terminated by a stop token; nothing can follow")
}

/// A token id, or nothing for a number that no token can have.
pub(crate) fn token_id_of(token: &Bound<'_, PyAny>) -> PyResult<Option<u32>> {
    let Some(id) = arguments::integer(token)? else {
        let message = format!("a token id must be an int, not {}", errors::type_name(token));
        return Err(errors::argument(token.py(), message));
    };
    Ok(u32::try_from(id).ok())
}

/// A number of tokens, or an error that names the argument. More than can be counted are as many as can be.
fn token_count(name: &str, count: &Bound<'_, PyAny>) -> PyResult<u32> {
    let py = count.py();
    match arguments::integer(count)? {
        None => {
            let found = errors::type_name(count);
            Err(errors::argument(py, format!("{name} must be an int, not {found}")))
        }
        Some(number) if number < 0 => {
            Err(errors::argument(py, format!("{name} must not be negative, not {count}")))
        }
        Some(number) => Ok(u32::try_from(number).unwrap_or(u32::MAX)),
    }
}

/// The bytes of a string or a bytes object.
pub(crate) fn bytes_of<'a>(input: &'a Bound<'_, PyAny>) -> PyResult<&'a [u8]> {
    if let Ok(text) = input.cast::<PyString>() {
        return Ok(text.to_str()?.as_bytes());
    }
    if let Ok(bytes) = input.cast::<PyBytes>() {
        return Ok(bytes.as_bytes());
    }
    let name = errors::type_name(input);
    Err(errors::argument(input.py(), format!("the input must be str or bytes, not {name}")))
}

fn stop_tokens(tokens: &Bound<'_, PyAny>, vocab_size: usize) -> PyResult<Vec<u32>> {
    let py = tokens.py();
    let ids = match tokens.extract::<i64>() {
        Ok(id) => vec![id],
        Err(_) => tokens.extract::<Vec<i64>>().map_err(|_| {
            let found = errors::type_name(tokens);
            let message = format!("override_stop_tokens must be an int or a list of ints, not {found}");
            errors::argument(py, message)
        })?,
    };
    if ids.is_empty() {
        return Err(errors::argument(py, "override_stop_tokens must not be empty"));
    }
    let known = |id: i64| u32::try_from(id).ok().filter(|&id| (id as usize) < vocab_size);
    let check = |id| known(id).ok_or_else(|| errors::argument(py, format!("no token has the id {id}")));
    ids.into_iter().map(check).collect()
}
