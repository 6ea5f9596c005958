//! `CompiledGrammar`: a grammar bound to a vocabulary, with the tables that all its matchers share.

use std::hash::{Hash, Hasher};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use pyo3::exceptions::PyOSError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tokenstile_engine::vocab::Vocab;
use tokenstile_engine::{CompiledGrammar as Compiled, EngineLimits, Stats};
use tokenstile_grammar::{Grammar as Ir, Limits};

use crate::arguments;
use crate::detached::detached;
use crate::errors::{self, Source};
use crate::grammar::Grammar;
use crate::limits::interruptible;
use crate::report::Report;
use crate::serialize;
use crate::tokenizer_info::TokenizerInfo;

/// A grammar compiled for a tokenizer. Made by `GrammarCompiler`.
///
/// Its tables are filled while matchers use it, are shared by all of them and bounded in size. Any number of threads
/// can use it at once.
#[pyclass(frozen, subclass, dict, weakref, module = "tokenstile")]
pub(crate) struct CompiledGrammar {
    pub(crate) compiled: Arc<Compiled>,
    pub(crate) tokenizer_info: Py<PyAny>,
    pub(crate) report: Report,
    text: OnceLock<Arc<str>>,
}

impl CompiledGrammar {
    pub(crate) fn new(compiled: Arc<Compiled>, tokenizer_info: Py<PyAny>, report: Report) -> Self {
        CompiledGrammar { compiled, tokenizer_info, report, text: OnceLock::new() }
    }

    /// The printed grammar.
    fn text(&self, py: Python<'_>) -> PyResult<&Arc<str>> {
        if self.text.get().is_none() {
            let made = self.ask_grammar(py, |grammar| grammar.to_string().into())?;
            let _ = self.text.set(made);
        }
        Ok(self.text.get().expect("set above, and never taken"))
    }

    /// What `ask` tells of the grammar, which may have to be made for it.
    fn ask_grammar<T: Send>(&self, py: Python<'_>, ask: impl Fn(&Ir) -> T + Send + Sync) -> PyResult<T> {
        let answer = interruptible(py, Limits::default(), |budget| self.compiled.grammar(budget).map(&ask))?;
        answer.map_err(|error| errors::grammar(py, &error, Source::JsonSchema))
    }
}

#[pymethods]
impl CompiledGrammar {
    /// The grammar that was compiled.
    #[getter]
    fn grammar(&self, py: Python<'_>) -> PyResult<Grammar> {
        Ok(Grammar::with_report(self.ask_grammar(py, Ir::clone)?, self.report.clone()))
    }

    /// The tokenizer that it was compiled for.
    #[getter]
    fn tokenizer_info(&self, py: Python<'_>) -> Py<PyAny> {
        self.tokenizer_info.clone_ref(py)
    }

    /// The bytes that it holds now, its tables included; it grows while it is used, up to a bound.
    #[getter]
    fn memory_size_bytes(&self) -> usize {
        self.compiled.memory_bytes()
    }

    /// The tokens that are enough for an output, with the stop token that ends it: the least ``max_tokens`` that a
    /// ``GrammarMatcher`` takes. Mostly no output takes fewer. ``TokenBudgetError`` where no number is enough as far as is known.
    fn shortest_output(&self, py: Python<'_>) -> PyResult<u32> {
        let compiled = Arc::clone(&self.compiled);
        detached(py, || compiled.shortest_output())?.map_err(|error| errors::token_budget(py, &error))
    }

    /// The tokens that no output takes more of, with the stop token that ends it: a ``max_tokens`` for the worst case. ``None``
    /// if there is no bound, or none is known.
    fn longest_output(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        detached(py, || self.compiled.longest_output())
    }

    /// The grammar and its tokenizer's metadata as a JSON text, for ``deserialize_json``.
    fn serialize_json(&self, py: Python<'_>) -> PyResult<String> {
        let metadata = metadata_of(self.tokenizer_info.bind(py))?;
        serialize::compiled_to_json(py, self.text(py)?, &self.report, &metadata)
    }

    /// The compiled grammar of a text that ``serialize_json`` made, for the same tokenizer.
    ///
    /// Raises ``InvalidJSONError``, ``DeserializeVersionError``, or ``DeserializeFormatError`` if the text is something
    /// else or the tokenizer is another.
    #[staticmethod]
    fn deserialize_json(
        py: Python<'_>,
        #[pyo3(from_py_with = arguments::json_str)] json_str: &str,
        tokenizer_info: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let vocab = vocab_of(tokenizer_info)?;
        let grammar = serialize::compiled_from_json(py, json_str, &metadata_of(tokenizer_info)?)?;
        let compiled = interruptible(py, Limits::default(), |budget| {
            Compiled::new(Ir::clone(grammar.ir()), Arc::clone(&vocab), EngineLimits::default(), budget)
        })?;
        let compiled = compiled.map_err(|error| errors::grammar(py, &error, Source::Serialized))?;
        let report = grammar.report.clone();
        Ok(CompiledGrammar::new(compiled, tokenizer_info.clone().unbind(), report))
    }

    /// Write it to a file, for ``load``. The file is complete or not there: it is moved into place at the end.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let text = self.serialize_json(py)?;
        let mut part = path.clone().into_os_string();
        part.push(format!(".{}.part", std::process::id()));
        let part = PathBuf::from(part);
        let write = || std::fs::write(&part, text).and_then(|()| std::fs::rename(&part, &path));
        let written = detached(py, write)?;
        written.map_err(|error| {
            let _ = std::fs::remove_file(&part);
            PyOSError::new_err((error.raw_os_error(), error.to_string(), path))
        })
    }

    /// Read what ``save`` wrote, for the same tokenizer. Raises as ``deserialize_json`` does, and ``OSError``.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf, tokenizer_info: &Bound<'_, PyAny>) -> PyResult<Self> {
        let bytes = detached(py, || std::fs::read(&path))?;
        let bytes =
            bytes.map_err(|error| PyOSError::new_err((error.raw_os_error(), error.to_string(), path)))?;
        let text = String::from_utf8(bytes)
            .map_err(|_| errors::raise(py, "InvalidJSONError", "the file is not a text in UTF-8"))?;
        Self::deserialize_json(py, &text, tokenizer_info)
    }

    /// Numbers about it: the ``rules`` and ``nodes`` of its machine, the ``sets`` of stacks and ``terminal_states`` that
    /// were met, the ``masks`` that are kept, how often full tables were dropped (``evictions``), and ``cache_bytes``.
    fn get_stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let Stats { rules, nodes, sets, terminal_states, masks, evictions, cache_bytes } =
            self.compiled.stats();
        let stats = PyDict::new(py);
        stats.set_item("rules", rules)?;
        stats.set_item("nodes", nodes)?;
        stats.set_item("sets", sets)?;
        stats.set_item("terminal_states", terminal_states)?;
        stats.set_item("masks", masks)?;
        stats.set_item("evictions", evictions)?;
        stats.set_item("cache_bytes", cache_bytes)?;
        Ok(stats)
    }

    fn __repr__(&self) -> String {
        let rules = self.compiled.stats().rules;
        format!("<CompiledGrammar of {rules} rules, {} bytes>", self.compiled.memory_bytes())
    }

    /// Equal are grammars that print alike, for tokenizers that are equal.
    fn __eq__(&self, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        let py = other.py();
        let Ok(other) = other.cast::<CompiledGrammar>() else { return Ok(false) };
        let other = other.get();
        if Arc::ptr_eq(&self.compiled, &other.compiled) {
            return Ok(true);
        }
        Ok(self.tokenizer_info.bind(py).eq(&other.tokenizer_info)? && self.text(py)? == other.text(py)?)
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<u64> {
        let mut hasher = std::hash::DefaultHasher::new();
        self.text(py)?.hash(&mut hasher);
        Ok(hasher.finish())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py, (String, Py<PyAny>)>> {
        let restore = py.import("tokenstile._core")?.getattr("_restore_compiled_grammar")?;
        Ok((restore, (self.serialize_json(py)?, self.tokenizer_info.clone_ref(py))))
    }
}

/// Reads a pickled compiled grammar.
#[pyfunction(name = "_restore_compiled_grammar")]
pub(crate) fn restore_compiled_grammar(
    py: Python<'_>,
    json_str: &str,
    tokenizer_info: &Bound<'_, PyAny>,
) -> PyResult<CompiledGrammar> {
    CompiledGrammar::deserialize_json(py, json_str, tokenizer_info)
}

/// The vocabulary of a `tokenstile.TokenizerInfo`, which wraps the class of the same name of this module.
pub(crate) fn vocab_of(tokenizer_info: &Bound<'_, PyAny>) -> PyResult<Arc<Vocab>> {
    let py = tokenizer_info.py();
    let handle = tokenizer_info.getattr(intern!(py, "_handle")).ok();
    let handle = handle.and_then(|handle| handle.cast_into::<TokenizerInfo>().ok());
    handle.map(|handle| Arc::clone(&handle.get().vocab)).ok_or_else(|| {
        let name = errors::type_name(tokenizer_info);
        errors::argument(py, format!("tokenizer_info must be a TokenizerInfo, not {name}"))
    })
}

/// What pickle makes an object from: a function, and what to call it with.
type Reduced<'py, Arguments> = (Bound<'py, PyAny>, Arguments);

/// The metadata by which a tokenizer is recognised, the fingerprint of its tokens among it.
fn metadata_of(tokenizer_info: &Bound<'_, PyAny>) -> PyResult<String> {
    let metadata: String = tokenizer_info.call_method0("dump_metadata")?.extract()?;
    let fingerprint: String = tokenizer_info.getattr("fingerprint")?.extract()?;
    let open = metadata.strip_suffix('}').unwrap_or(&metadata);
    Ok(format!("{open},\"fingerprint\":\"{fingerprint}\"}}"))
}
