//! `Grammar`: a parsed grammar, of whatever front end.

use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use tokenstile_grammar::frontends::{ebnf, regex};
use tokenstile_grammar::{Grammar as Ir, ir};

use crate::errors::{self, Source};
use crate::limits::{CompileLimits, budget};
use crate::serialize;

/// A grammar, parsed and checked, that knows no vocabulary yet.
///
/// Made by the static methods; ``str(grammar)`` is EBNF that parses back to the same language. Grammars are
/// immutable, compare by what they print, and can be pickled.
#[pyclass(frozen, module = "tokenstile")]
pub(crate) struct Grammar {
    pub(crate) ir: Arc<Ir>,
    text: OnceLock<Arc<str>>,
}

impl Grammar {
    pub(crate) fn new(ir: Ir) -> Self {
        Grammar { ir: Arc::new(ir), text: OnceLock::new() }
    }

    /// The printed form. Grammars that print alike are the same language.
    pub(crate) fn text(&self) -> &Arc<str> {
        self.text.get_or_init(|| self.ir.to_string().into())
    }
}

#[pymethods]
impl Grammar {
    /// Parse an EBNF text.
    ///
    /// Raises ``EBNFError`` with the line, the column and a caret if it is wrong, and ``LimitExceededError`` if it is
    /// larger than ``limits`` allow.
    #[staticmethod]
    #[pyo3(signature = (ebnf_string, *, root_rule_name = "root", limits = None))]
    fn from_ebnf(
        py: Python<'_>,
        ebnf_string: &str,
        root_rule_name: &str,
        limits: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let limits = CompileLimits::from_python(limits)?.grammar;
        let parsed = py.detach(|| ebnf::parse(ebnf_string, root_rule_name, &limits, &budget(limits.clone())));
        parsed.map(Grammar::new).map_err(|error| errors::grammar(py, &error, Source::Ebnf))
    }

    /// The strings that a regular expression matches as a whole.
    ///
    /// Raises ``RegexError`` if it is wrong, and ``UnsupportedFeatureError`` for what is not regular. With
    /// ``print_converted_ebnf`` the grammar is also printed.
    #[staticmethod]
    #[pyo3(signature = (regex_string, *, print_converted_ebnf = false, limits = None))]
    fn from_regex(
        py: Python<'_>,
        regex_string: &str,
        print_converted_ebnf: bool,
        limits: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let limits = CompileLimits::from_python(limits)?.grammar;
        let parsed = py.detach(|| {
            regex::to_grammar(regex_string, &regex::Syntax::default(), &limits, &budget(limits.clone()))
        });
        let grammar = parsed.map(Grammar::new).map_err(|error| errors::grammar(py, &error, Source::Regex))?;
        if print_converted_ebnf {
            py.import("builtins")?.call_method1("print", (grammar.__str__(),))?;
        }
        Ok(grammar)
    }

    /// Standard JSON whose root is an object or an array.
    #[staticmethod]
    fn builtin_json_grammar() -> Self {
        Grammar::new(ebnf::builtin_json())
    }

    /// The strings of the grammars, one after the other.
    #[staticmethod]
    #[pyo3(signature = (*grammars))]
    fn concat(grammars: &Bound<'_, PyTuple>) -> PyResult<Self> {
        combine(grammars, ir::concat)
    }

    /// The strings of any one of the grammars.
    #[staticmethod]
    #[pyo3(signature = (*grammars))]
    fn union(grammars: &Bound<'_, PyTuple>) -> PyResult<Self> {
        combine(grammars, ir::union)
    }

    /// The grammar as a JSON text, for ``deserialize_json``.
    fn serialize_json(&self) -> String {
        serialize::grammar_to_json(self.text())
    }

    /// The grammar of a text that ``serialize_json`` made.
    ///
    /// Raises ``InvalidJSONError``, ``DeserializeFormatError`` or ``DeserializeVersionError``.
    #[staticmethod]
    fn deserialize_json(py: Python<'_>, json_string: &str) -> PyResult<Self> {
        serialize::grammar_from_json(py, json_string)
    }

    pub(crate) fn __str__(&self) -> &str {
        self.text()
    }

    fn __repr__(&self) -> String {
        format!("<Grammar of {} rules>", self.ir.rules().len())
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Grammar>().is_ok_and(|other| self.text() == other.get().text())
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = std::hash::DefaultHasher::new();
        self.text().hash(&mut hasher);
        hasher.finish()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        let restore = py.import("tokenstile._core")?.getattr("_restore_grammar")?;
        Ok((restore, (self.serialize_json(),)))
    }
}

/// Reads a pickled grammar.
#[pyfunction(name = "_restore_grammar")]
pub(crate) fn restore_grammar(py: Python<'_>, json_string: &str) -> PyResult<Grammar> {
    Grammar::deserialize_json(py, json_string)
}

fn combine(
    grammars: &Bound<'_, PyTuple>,
    join: fn(&[Ir], &tokenstile_grammar::Limits) -> tokenstile_grammar::Result<Ir>,
) -> PyResult<Grammar> {
    let py = grammars.py();
    let mut parts = Vec::with_capacity(grammars.len());
    for grammar in grammars {
        let grammar = grammar.cast::<Grammar>().map_err(|_| {
            let name = errors::type_name(&grammar);
            errors::argument(py, format!("grammars are made of Grammar objects, not {name}"))
        })?;
        parts.push(Ir::clone(&grammar.get().ir));
    }
    let joined = py.detach(|| join(&parts, &tokenstile_grammar::Limits::default()));
    joined.map(Grammar::new).map_err(|error| errors::grammar(py, &error, Source::Grammar))
}
