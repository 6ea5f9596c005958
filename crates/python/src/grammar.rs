//! `Grammar`: a parsed grammar, of whatever front end.

use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use tokenstile_engine::vocab::Vocab;
use tokenstile_grammar::frontends::json_schema::Spelling;
use tokenstile_grammar::frontends::{ebnf, json_schema as front_end, regex, structural_tag as tags};
use tokenstile_grammar::{Budget, ErrorKind, Grammar as Ir, ir, passes};

use crate::acceptor::Acceptor;
use crate::arguments;
use crate::body::{Body, Join};
use crate::compiled::vocab_of;
use crate::detached::detached;
use crate::errors::{self, Source};
use crate::json_schema::{self, Arguments};
use crate::lark;
use crate::limits::{CompileLimits, interruptible};
use crate::matcher::bytes_of;
use crate::report::{Embedding, Report};
use crate::schemas::Schemas;
use crate::serialize;
use crate::spelling;
use crate::structural_tag;

/// A grammar, parsed and checked, that knows no vocabulary yet.
///
/// Made by the static methods; ``str(grammar)`` is EBNF that parses back to the same language. Grammars are
/// immutable, compare by what they print, and can be pickled.
#[pyclass(frozen, subclass, dict, weakref, module = "tokenstile")]
pub(crate) struct Grammar {
    body: Body,
    pub(crate) report: Report,
    text: OnceLock<Arc<str>>,
    acceptor: Acceptor,
}

impl Grammar {
    pub(crate) fn new(ir: Ir) -> Self {
        Grammar::with_report(ir, Report::default())
    }

    /// A grammar that came from a schema.
    pub(crate) fn with_report(ir: Ir, report: Report) -> Self {
        Grammar { body: Body::whole(ir), report, text: OnceLock::new(), acceptor: Acceptor::default() }
    }

    /// The grammar itself.
    pub(crate) fn ir(&self) -> &Arc<Ir> {
        self.body.get()
    }

    /// The printed form. Grammars that print alike are the same language.
    pub(crate) fn text(&self) -> &Arc<str> {
        self.text.get_or_init(|| self.ir().to_string().into())
    }
}

#[pymethods]
impl Grammar {
    /// Parse an EBNF text.
    ///
    /// ``tokenizer_info`` is needed where a token is given by its text, as in ``Token("<|im_end|>")``. A compiler has one:
    /// ``GrammarCompiler.compile_grammar`` finds the tokens of a grammar that it is given as text.
    ///
    /// Raises ``EBNFError`` with the line, the column and a caret if it is wrong, and ``LimitExceededError`` if it is
    /// larger than ``limits`` allow.
    #[staticmethod]
    #[pyo3(signature = (ebnf_string, *, root_rule_name = "root", tokenizer_info = None, limits = None))]
    fn from_ebnf(
        py: Python<'_>,
        #[pyo3(from_py_with = arguments::ebnf_string)] ebnf_string: &str,
        #[pyo3(from_py_with = arguments::root_rule_name)] root_rule_name: &str,
        tokenizer_info: Option<&Bound<'_, PyAny>>,
        limits: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let limits = CompileLimits::from_python(limits)?.grammar;
        let vocab = tokenizer_info.map(vocab_of).transpose()?;
        let parsed = interruptible(py, limits.clone(), |budget| match &vocab {
            None => ebnf::parse(ebnf_string, root_rule_name, &limits, budget),
            Some(vocab) => {
                let find = |text: &str| structural_tag::find_token(vocab, text);
                ebnf::parse_with_tokens(ebnf_string, root_rule_name, Some(&find), &limits, budget)
            }
        })?;
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
        #[pyo3(from_py_with = arguments::regex_string)] regex_string: &str,
        #[pyo3(from_py_with = arguments::print_converted_ebnf)] print_converted_ebnf: bool,
        limits: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let limits = CompileLimits::from_python(limits)?.grammar;
        let parsed = interruptible(py, limits.clone(), |budget| {
            regex::to_grammar(regex_string, &regex::Syntax::default(), &limits, budget)
        })?;
        let grammar = parsed.map(Grammar::new).map_err(|error| errors::grammar(py, &error, Source::Regex))?;
        grammar.print_if(py, print_converted_ebnf)
    }

    /// The strings of a Lark text, starting from its rule ``start``.
    ///
    /// Lark's own syntax and llguidance's dialect of it. ``tokenizer_info`` is needed where a token is given by its text,
    /// ``<|name|>``; ``named_grammars`` has what ``@name`` stands for: a ``Grammar``, or another Lark text.
    ///
    /// Raises ``LarkError`` with the line, the column and a caret if it is wrong, and ``UnsupportedFeatureError`` for
    /// what cannot be enforced exactly.
    #[staticmethod]
    #[pyo3(signature = (lark_string, *, tokenizer_info = None, named_grammars = None, spelling = None, limits = None))]
    fn from_lark(
        py: Python<'_>,
        #[pyo3(from_py_with = arguments::lark_string)] lark_string: &str,
        tokenizer_info: Option<&Bound<'_, PyAny>>,
        named_grammars: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = spelling::spelling)] spelling: Option<Spelling>,
        limits: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let limits = CompileLimits::from_python(limits)?.grammar;
        let vocab = tokenizer_info.map(vocab_of).transpose()?;
        let named = lark::named_grammars(named_grammars)?;
        let spelling = spelling::chosen(py, spelling)?;
        let parsed = interruptible(py, limits, |budget| {
            let parsed = lark::parse(lark_string, &named, spelling, vocab.as_deref(), budget)?;
            let text = Embedding::Lark {
                text: lark_string.into(),
                named: named.clone().into(),
                spelling,
                vocab: vocab.clone(),
            };
            Ok((parsed, Report::embedded(text, budget)))
        })?;
        let (parsed, report) = parsed.map_err(|error| errors::grammar(py, &error, Source::Lark))?;
        Ok(Grammar::with_report(parsed, report))
    }

    /// The JSON texts of the values that a JSON Schema allows.
    ///
    /// The schema is a JSON text, a dict, a bool, a model class of Pydantic or a ``TypeAdapter``. Arguments that
    /// XGrammar has mean what they mean there:
    ///
    /// ``any_whitespace`` allows white space between all tokens, and ``max_whitespace_cnt`` bounds it in each place;
    /// without it the text is laid out by ``indent`` and ``separators``, as ``json.dumps`` does. ``strict_mode`` forbids
    /// properties and items that the schema does not declare, unless it says otherwise. ``any_order`` allows keys in
    /// any order; by default they come in the order of the schema in strict mode, and in any order without it.
    /// ``print_converted_ebnf`` also prints the grammar.
    ///
    /// ``spelling="canonical"`` writes values as ``json.dumps`` and ``JSON.stringify`` do: no escapes but those that are
    /// needed, whole numbers as digits, and between tokens nothing, a space, or a line break with its indentation.
    /// ``spelling="any"`` takes all that JSON has. The default is that of the process, see ``get_default_spelling``.
    ///
    /// ``formats="annotate"`` does not enforce ``format``. ``on_unsupported="warn"`` drops what cannot be enforced, says
    /// so in the ``report``, and warns. ``registry`` maps URIs to schemas that references may lead to; nothing is ever
    /// fetched.
    ///
    /// Raises ``JSONSchemaError`` with the JSON Pointer of the place if the schema is malformed or allows nothing, and
    /// ``UnsupportedFeatureError`` for what cannot be enforced exactly.
    #[staticmethod]
    #[pyo3(
        signature = (
            schema, *, any_whitespace = true, indent = None, separators = None, strict_mode = true,
            max_whitespace_cnt = None, print_converted_ebnf = false, any_order = None, formats = "assert",
            on_unsupported = "error", registry = None, spelling = None, limits = None
        ),
        text_signature = "(schema, *, any_whitespace=True, indent=None, separators=None, strict_mode=True, max_whitespace_cnt=None, print_converted_ebnf=False, any_order=None, formats='assert', on_unsupported='error', registry=None, spelling=None, limits=None)"
    )]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn from_json_schema(
        schema: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = arguments::any_whitespace)] any_whitespace: bool,
        #[pyo3(from_py_with = arguments::indent)] indent: Option<i64>,
        #[pyo3(from_py_with = arguments::separators)] separators: Option<(String, String)>,
        #[pyo3(from_py_with = arguments::strict_mode)] strict_mode: bool,
        #[pyo3(from_py_with = arguments::max_whitespace_cnt)] max_whitespace_cnt: Option<i64>,
        #[pyo3(from_py_with = arguments::print_converted_ebnf)] print_converted_ebnf: bool,
        #[pyo3(from_py_with = arguments::any_order)] any_order: Option<bool>,
        #[pyo3(from_py_with = arguments::formats)] formats: &str,
        #[pyo3(from_py_with = arguments::on_unsupported)] on_unsupported: &str,
        registry: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = spelling::spelling)] spelling: Option<Spelling>,
        limits: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let py = schema.py();
        let text = json_schema::text_of(schema)?;
        let arguments = Arguments {
            any_whitespace,
            indent,
            separators,
            strict_mode,
            max_whitespace_cnt,
            any_order,
            formats,
            on_unsupported,
            registry,
            spelling,
        };
        let options = Arc::new(arguments.options(py)?);
        let limits = CompileLimits::from_python(limits)?.grammar;
        let converted = interruptible(py, limits, |budget| {
            let (grammar, report) = Report::with_grammar(&text, &options, budget)?;
            front_end::check_inhabited(&grammar, &text, &options, budget)?;
            Ok((grammar, report))
        })?;
        let (grammar, report) = converted.map_err(|error| errors::grammar(py, &error, Source::JsonSchema))?;
        json_schema::warn_of_widening(py, &report)?;
        Grammar::with_report(grammar, report).print_if(py, print_converted_ebnf)
    }

    /// What a structural tag describes.
    ///
    /// Called with one argument, ``structural_tag``: a ``StructuralTag``, a dict or a JSON text. Called with two, ``tags``
    /// and ``triggers``, it takes the older form: a list of ``StructuralTagItem`` and a list of strings.
    ///
    /// Tokens that the tag names by their text are found in ``tokenizer_info``; XGrammar does so in
    /// ``GrammarCompiler.compile_structural_tag`` alone.
    ///
    /// Raises ``InvalidJSONError`` for what is not JSON, ``InvalidStructuralTagError`` with the ``path`` of the place for
    /// what is no structural tag, and ``TypeError`` for arguments of other kinds.
    #[staticmethod]
    #[pyo3(
        signature = (*args, tokenizer_info = None, spelling = None, limits = None, **kwargs),
        text_signature = "(*args, tokenizer_info=None, spelling=None, limits=None, **kwargs)"
    )]
    fn from_structural_tag(
        py: Python<'_>,
        args: &Bound<'_, PyTuple>,
        tokenizer_info: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = spelling::spelling)] spelling: Option<Spelling>,
        limits: Option<&Bound<'_, PyAny>>,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let text = structural_tag::text_of(py, args, kwargs)?;
        let spelling = spelling::chosen(py, spelling)?;
        let limits = CompileLimits::from_python(limits)?.grammar;
        let vocab = tokenizer_info.map(vocab_of).transpose()?;
        let parsed = interruptible(py, limits, |budget| {
            let find =
                |text: &str| vocab.as_deref().and_then(|vocab| structural_tag::find_token(vocab, text));
            let count = vocab.as_deref().map_or(0, Vocab::len);
            let tokens = vocab.is_some().then_some(tags::Tokens { find: &find, count });
            let parsed = tags::parse(&text, spelling, tokens, budget)?;
            let text = Embedding::Tag { text: text.as_str().into(), spelling, vocab: vocab.clone() };
            Ok((parsed, Report::embedded(text, budget)))
        })?;
        let (parsed, report) = parsed.map_err(|error| errors::grammar(py, &error, Source::StructuralTag))?;
        Ok(Grammar::with_report(parsed, report))
    }

    /// Standard JSON whose root is an object or an array.
    #[staticmethod]
    #[pyo3(signature = (*, spelling = None))]
    fn builtin_json_grammar(
        py: Python<'_>,
        #[pyo3(from_py_with = spelling::spelling)] spelling: Option<Spelling>,
    ) -> PyResult<Self> {
        let spelling = spelling::chosen(py, spelling)?;
        let report = Report::embedded(Embedding::Json(spelling), &Budget::default());
        Ok(Grammar::with_report(ebnf::builtin_json(spelling), report))
    }

    /// The strings of the grammars, one after the other.
    #[staticmethod]
    #[pyo3(signature = (*grammars, limits = None))]
    fn concat(grammars: &Bound<'_, PyTuple>, limits: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        combine(grammars, limits, ir::concat)
    }

    /// The strings of any one of the grammars.
    #[staticmethod]
    #[pyo3(signature = (*grammars, limits = None))]
    fn union(grammars: &Bound<'_, PyTuple>, limits: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        combine(grammars, limits, ir::union)
    }

    /// The strings that all of the grammars have. One of them at most may be other than regular; those that came from JSON
    /// Schemas are put together by their values first, each closed by its own options, and are one.
    ///
    /// Raises ``UnsupportedFeatureError`` if two others of them recurse, if one holds what a regular language cannot be
    /// compared with, such as tokens, or if schemas are written in different ways; and ``GrammarError`` if no string is
    /// left. What both have can be far larger than either: ``LimitExceededError`` says that it does not fit into ``limits``.
    #[staticmethod]
    #[pyo3(signature = (*grammars, limits = None))]
    fn intersect(grammars: &Bound<'_, PyTuple>, limits: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let py = grammars.py();
        if grammars.is_empty() {
            return Err(errors::argument(py, "intersect needs at least one grammar"));
        }
        let (mut schemas, mut others) = (Vec::new(), Vec::new());
        for grammar in grammars {
            match grammar_of(&grammar)?.get().report.schemas() {
                Some(found) => schemas.push(found),
                None => others.push(grammar.clone()),
            }
        }
        if schemas.len() < 2 {
            return combine(grammars, limits, ir::intersect)?.checked(py, limits);
        }
        match Self::of_schemas(py, Schemas::intersect(&schemas), limits)? {
            Ok(both) if others.is_empty() => both.checked(py, limits),
            Ok(both) => {
                others.push(Bound::new(py, both)?.into_any());
                combine(&PyTuple::new(py, others)?, limits, ir::intersect)?.checked(py, limits)
            }
            Err(error) => {
                Self::unless(py, &error, || combine(grammars, limits, ir::intersect)?.checked(py, limits))
            }
        }
    }

    /// The strings of this grammar that ``other`` does not have. It must be regular, or both must have come from JSON
    /// Schemas: then the values of the other are taken away, however they are written.
    #[pyo3(signature = (other, *, limits = None))]
    fn exclude(&self, other: &Bound<'_, PyAny>, limits: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let excluded = grammar_of(other)?.get();
        let py = other.py();
        let (Some(own), Some(others)) = (self.report.schemas(), excluded.report.schemas()) else {
            return self.without(py, excluded, limits);
        };
        match Self::of_schemas(py, own.exclude(&others), limits)? {
            Ok(rest) => rest.checked(py, limits),
            Err(error) => Self::unless(py, &error, || self.without(py, excluded, limits)),
        }
    }

    /// The JSON texts of the values that satisfy all of the schemas, as one ``allOf`` over them: what they leave open is
    /// closed once, for all of them together, in strict mode. Each keeps its own draft and base URI.
    ///
    /// The arguments are those of ``from_json_schema``, for all schemas.
    ///
    /// Raises what that does; the pointers of errors begin with ``all_of/`` and the number of the schema.
    #[staticmethod]
    #[pyo3(
        signature = (
            schemas, *, any_whitespace = true, indent = None, separators = None, strict_mode = true,
            max_whitespace_cnt = None, any_order = None, formats = "assert", registry = None, spelling = None,
            limits = None
        ),
        text_signature = "(schemas, *, any_whitespace=True, indent=None, separators=None, strict_mode=True, max_whitespace_cnt=None, any_order=None, formats='assert', registry=None, spelling=None, limits=None)"
    )]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn all_of(
        schemas: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = arguments::any_whitespace)] any_whitespace: bool,
        #[pyo3(from_py_with = arguments::indent)] indent: Option<i64>,
        #[pyo3(from_py_with = arguments::separators)] separators: Option<(String, String)>,
        #[pyo3(from_py_with = arguments::strict_mode)] strict_mode: bool,
        #[pyo3(from_py_with = arguments::max_whitespace_cnt)] max_whitespace_cnt: Option<i64>,
        #[pyo3(from_py_with = arguments::any_order)] any_order: Option<bool>,
        #[pyo3(from_py_with = arguments::formats)] formats: &str,
        registry: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = spelling::spelling)] spelling: Option<Spelling>,
        limits: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let py = schemas.py();
        if !schemas.is_instance_of::<PyList>() && !schemas.is_instance_of::<PyTuple>() {
            let name = errors::type_name(schemas);
            return Err(errors::argument(py, format!("schemas must be a list of schemas, not {name}")));
        }
        let mut texts = Vec::new();
        for schema in schemas.try_iter()? {
            texts.push(json_schema::text_of(&schema?)?);
        }
        if texts.is_empty() {
            return Err(errors::argument(py, "all_of needs at least one schema"));
        }
        let arguments = Arguments {
            any_whitespace,
            indent,
            separators,
            strict_mode,
            max_whitespace_cnt,
            any_order,
            formats,
            on_unsupported: "error",
            registry,
            spelling,
        };
        let options = Arc::new(arguments.options(py)?);
        let limits = CompileLimits::from_python(limits)?.grammar;
        let grammar = interruptible(py, limits, |budget| {
            let texts: Vec<&str> = texts.iter().map(|text| &**text).collect();
            front_end::all_of(&texts, &options, budget)
        })?;
        let grammar = grammar.map_err(|error| errors::grammar(py, &error, Source::JsonSchema))?;
        Ok(Grammar::with_report(grammar, Report::combined(Schemas::joint(&texts, &options))))
    }

    /// The strings of this grammar, each followed by one of ``others``, one after the other: the same as ``concat``.
    #[pyo3(signature = (*others, limits = None))]
    fn then(&self, others: &Bound<'_, PyTuple>, limits: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let py = others.py();
        let copy = Bound::new(py, Grammar::new(Ir::clone(self.ir())))?.into_any();
        let all: Vec<Bound<'_, PyAny>> = std::iter::once(copy).chain(others.iter()).collect();
        combine(&PyTuple::new(py, all)?, limits, ir::concat)
    }

    /// The strings of this grammar, and the empty string.
    #[pyo3(signature = (*, limits = None))]
    fn optional(&self, py: Python<'_>, limits: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        self.repeat(py, 0, Some(1), limits)
    }
    /// The strings of this grammar one after the other, ``min`` to ``max`` times, without an upper bound if ``max`` is
    /// ``None``.
    #[pyo3(signature = (min = 0, max = None, *, limits = None))]
    fn repeat(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = arguments::min)] min: i64,
        #[pyo3(from_py_with = arguments::max)] max: Option<i64>,
        limits: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let (Ok(min), Ok(max)) = (u32::try_from(min), max.map(u32::try_from).transpose()) else {
            return Err(errors::argument(py, "min and max must be between 0 and 4294967295"));
        };
        if max.is_some_and(|max| max < min) {
            return Err(errors::argument(py, "max must not be less than min"));
        }
        let limits = CompileLimits::from_python(limits)?.grammar;
        from_result(py, detached(py, || ir::repeat(self.ir(), min, max, &limits))?)
    }

    /// The strings of this grammar, each followed by any text up to the first ``stop``, which is the end.
    #[pyo3(signature = (stop, *, limits = None))]
    fn then_until(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = arguments::stop)] stop: &str,
        limits: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let limits = CompileLimits::from_python(limits)?.grammar;
        let made = interruptible(py, limits, |budget| ir::then_until(self.ir(), stop, budget))?;
        from_result(py, made)
    }

    fn __add__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        Self::operator(other, |both| self.joined(both, Join::Concat, Grammar::concat))
    }

    fn __or__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        Self::operator(other, |both| self.joined(both, Join::Union, Grammar::union))
    }

    fn __and__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        Self::operator(other, |other| Grammar::intersect(&self.before(other)?, None))
    }

    fn __sub__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let py = other.py();
        if other.cast::<Grammar>().is_err() {
            return Ok(py.NotImplemented());
        }
        Ok(Py::new(py, self.exclude(other, None)?)?.into_any())
    }

    /// Tell whether a whole text is one of this grammar's.
    ///
    /// The text is a ``str``, or the ``bytes`` of one. The grammar is compiled when this is first asked, and kept for the
    /// next time. Raises ``InvalidArgumentError`` for a grammar that names tokens, which a text does not have, and what
    /// compiling the grammar raises.
    ///
    /// >>> Grammar.from_regex("[0-9]+").accepts("42")
    /// True
    fn accepts(&self, text: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.acceptor.accepts(text.py(), self.ir(), bytes_of(text)?)
    }

    /// For a grammar that came from a JSON Schema: what became of each keyword. Empty for all others.
    #[getter]
    fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        json_schema::to_python(py, self.report.findings(py)?)
    }

    /// The grammar as a JSON text, for ``deserialize_json``.
    fn serialize_json(&self, py: Python<'_>) -> PyResult<String> {
        serialize::grammar_to_json(py, self.text(), &self.report)
    }

    /// The grammar of a text that ``serialize_json`` made.
    ///
    /// Raises ``InvalidJSONError``, ``DeserializeFormatError`` or ``DeserializeVersionError``.
    #[staticmethod]
    fn deserialize_json(
        py: Python<'_>,
        #[pyo3(from_py_with = arguments::json_string)] json_string: &str,
    ) -> PyResult<Self> {
        serialize::grammar_from_json(py, json_string)
    }

    pub(crate) fn __str__(&self) -> &str {
        self.text()
    }

    fn __repr__(&self) -> String {
        format!("<Grammar of {} rules>", self.ir().rules().len())
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
        Ok((restore, (self.serialize_json(py)?,)))
    }
}

impl Grammar {
    /// Prints the grammar with Python's `print` if asked to, and gives it back.
    fn print_if(self, py: Python<'_>, asked: bool) -> PyResult<Self> {
        if asked {
            py.import("builtins")?.call_method1("print", (self.__str__(),))?;
        }
        Ok(self)
    }
}

impl Grammar {
    /// The grammar that schemas become together, or why they do not.
    fn of_schemas(
        py: Python<'_>,
        schemas: Schemas,
        limits: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<tokenstile_grammar::Result<Self>> {
        let limits = CompileLimits::from_python(limits)?.grammar;
        let made = interruptible(py, limits, |budget| schemas.grammar(budget))?;
        Ok(made.map(|grammar| Grammar::with_report(grammar, Report::combined(schemas))))
    }

    /// What is made of the grammars as texts, where their schemas cannot be put together; the error of the schemas, if that
    /// cannot be either.
    fn unless(
        py: Python<'_>,
        error: &tokenstile_grammar::Error,
        otherwise: impl FnOnce() -> PyResult<Self>,
    ) -> PyResult<Self> {
        let raised = errors::grammar(py, error, Source::Grammar);
        if error.kind() != ErrorKind::Unsupported {
            return Err(raised);
        }
        otherwise()
            .map_err(|other| if other.is_instance_of::<PyKeyboardInterrupt>(py) { other } else { raised })
    }

    /// The strings of this grammar that another, which must be regular, does not have.
    fn without(&self, py: Python<'_>, other: &Self, limits: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let sizes = CompileLimits::from_python(limits)?.grammar;
        let (own, other) = (self.ir(), other.ir());
        from_result(py, detached(py, || ir::exclude(own, other, &sizes))?)?.checked(py, limits)
    }

    /// The grammar, unless it has a conjunction that cannot be compiled.
    fn checked(self, py: Python<'_>, limits: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let limits = CompileLimits::from_python(limits)?.grammar;
        let checked = interruptible(py, limits, |budget| passes::compile(self.ir(), budget).map(drop))?;
        checked.map_err(|error| errors::grammar(py, &error, Source::Grammar))?;
        Ok(self)
    }

    /// What an operator makes of two grammars.
    fn operator<'py>(
        other: &Bound<'py, PyAny>,
        join: impl FnOnce(&Bound<'py, Grammar>) -> PyResult<Self>,
    ) -> PyResult<Py<PyAny>> {
        let py = other.py();
        let Ok(other) = other.cast::<Grammar>() else { return Ok(py.NotImplemented()) };
        Ok(Py::new(py, join(other)?)?.into_any())
    }

    /// This and another, put together when somebody looks, or at once if that may fail.
    fn joined(
        &self,
        other: &Bound<'_, Grammar>,
        join: Join,
        at_once: fn(&Bound<'_, PyTuple>, Option<&Bound<'_, PyAny>>) -> PyResult<Self>,
    ) -> PyResult<Self> {
        match self.body.joined(join, &other.get().body) {
            Some(body) => Ok(Grammar {
                body,
                report: Report::default(),
                text: OnceLock::new(),
                acceptor: Acceptor::default(),
            }),
            None => at_once(&self.before(other)?, None),
        }
    }

    /// This and another, as arguments.
    fn before<'py>(&self, other: &Bound<'py, Grammar>) -> PyResult<Bound<'py, PyTuple>> {
        let py = other.py();
        let copy = Py::new(py, Grammar::with_report(Ir::clone(self.ir()), self.report.clone()))?;
        PyTuple::new(py, [copy.bind(py).as_any(), other.as_any()])
    }
}

/// The grammar that an argument has to be.
fn grammar_of<'a, 'py>(argument: &'a Bound<'py, PyAny>) -> PyResult<&'a Bound<'py, Grammar>> {
    argument.cast::<Grammar>().map_err(|_| {
        let name = errors::type_name(argument);
        errors::argument(argument.py(), format!("grammars are made of Grammar objects, not {name}"))
    })
}

fn from_result(py: Python<'_>, result: tokenstile_grammar::Result<Ir>) -> PyResult<Grammar> {
    result.map(Grammar::new).map_err(|error| errors::grammar(py, &error, Source::Grammar))
}

/// The grammar after some of the passes, by name, for `tokenstile.testing`.
#[pyfunction(name = "_apply_passes")]
#[expect(clippy::needless_pass_by_value, reason = "what is taken from Python is owned")]
pub(crate) fn apply_passes(py: Python<'_>, grammar: &Grammar, names: Vec<String>) -> PyResult<Grammar> {
    let limits = tokenstile_grammar::Limits::default();
    let done = interruptible(py, limits, |budget| {
        names.iter().try_fold(Ir::clone(grammar.ir()), |current, name| {
            passes::apply(current, name, budget).unwrap_or_else(|| {
                let message = format!("there is no pass {name:?} to apply");
                Err(tokenstile_grammar::Error::new(ErrorKind::Invalid, message))
            })
        })
    })?;
    from_result(py, done)
}

/// The machine of a grammar as text, for `tokenstile.testing`.
#[pyfunction(name = "_machine_text")]
pub(crate) fn machine_text(py: Python<'_>, grammar: &Grammar) -> PyResult<String> {
    let limits = tokenstile_grammar::Limits::default();
    let text = interruptible(py, limits, |budget| {
        passes::compile(grammar.ir(), budget).map(|machine| machine.to_string())
    })?;
    text.map_err(|error| errors::grammar(py, &error, Source::Grammar))
}

/// Reads a pickled grammar.
#[pyfunction(name = "_restore_grammar")]
pub(crate) fn restore_grammar(py: Python<'_>, json_string: &str) -> PyResult<Grammar> {
    Grammar::deserialize_json(py, json_string)
}

fn combine(
    grammars: &Bound<'_, PyTuple>,
    limits: Option<&Bound<'_, PyAny>>,
    join: fn(&[Ir], &tokenstile_grammar::Limits) -> tokenstile_grammar::Result<Ir>,
) -> PyResult<Grammar> {
    let py = grammars.py();
    let limits = CompileLimits::from_python(limits)?.grammar;
    let mut parts = Vec::with_capacity(grammars.len());
    for grammar in grammars {
        parts.push(Ir::clone(grammar_of(&grammar)?.get().ir()));
    }
    from_result(py, detached(py, || join(&parts, &limits))?)
}
