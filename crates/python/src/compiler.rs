//! `GrammarCompiler`: grammars to compiled grammars, through a bounded cache.
//!
//! Compilers without a `cache_limit_bytes` of their own share one cache, bounded for the whole process; the keys hold
//! the number of the compiler, so that each sees and clears only its own entries. A compiler with a limit of its own
//! has a cache of its own.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Instant;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use tokenstile_engine::compiler::{CompileCache, Weigh};
use tokenstile_engine::limits::set_process_cache_bytes;
use tokenstile_engine::{CompiledGrammar as Compiled, vocab::Vocab};
use tokenstile_grammar::frontends::json_schema::{self as front_end, Lowered, Spelling};
use tokenstile_grammar::frontends::{ebnf, regex, structural_tag as tags};
use tokenstile_grammar::{Budget, CancelFlag, Error, Grammar as Ir, Result};

use crate::arguments;
use crate::compiled::{CompiledGrammar, vocab_of};
use crate::detached::detached;
use crate::errors::{self, Source};
use crate::grammar::Grammar;
use crate::json_schema::{self, Arguments};
use crate::lark::{self, NamedGrammar};
use crate::limits::{CancelToken, CompileLimits, cancellable};
use crate::permits::Permits;
use crate::report::{Embedding, Report, Schema};
use crate::spelling;
use crate::structural_tag;

/// What all compilers without a limit of their own may hold together, at first.
const DEFAULT_PROCESS_LIMIT: usize = 2 << 30;

static PROCESS_CACHE: LazyLock<Arc<Cache>> = LazyLock::new(|| Arc::new(Cache::new(DEFAULT_PROCESS_LIMIT)));
static NEXT_COMPILER: AtomicU64 = AtomicU64::new(0);

type Cache = CompileCache<Key, Built>;

/// What a compilation gives: the grammar, and the report of the schema that it came from.
#[derive(Debug)]
struct Built {
    compiled: Arc<Compiled>,
    report: Report,
}

impl Weigh for Built {
    fn weigh(&self) -> usize {
        self.compiled.weigh() + self.report.memory_bytes()
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    compiler: u64,
    work: Work,
}

impl Weigh for Key {
    fn weigh(&self) -> usize {
        /// What an entry of the cache takes besides, in its table and in what is allocated for it.
        const AN_ENTRY: usize = 2 * size_of::<Key>() + size_of::<Built>() + 256;
        AN_ENTRY + self.work.memory_bytes()
    }
}

/// What is to be compiled, which is also the key that it is cached by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Work {
    Ebnf {
        text: Arc<str>,
        root: Arc<str>,
    },
    Regex(Arc<str>),
    Lark {
        text: Arc<str>,
        named: Arc<[NamedGrammar]>,
        spelling: Spelling,
    },
    JsonSchema {
        text: Arc<str>,
        options: Arc<front_end::Options>,
    },
    StructuralTag {
        text: Arc<str>,
        spelling: Spelling,
    },
    BuiltinJson(Spelling),
    /// A parsed grammar, by its printed form.
    Grammar(Arc<str>),
}

impl Work {
    /// The memory of its texts.
    fn memory_bytes(&self) -> usize {
        match self {
            Work::Ebnf { text, root } => text.len() + root.len(),
            Work::Regex(text) | Work::Grammar(text) | Work::StructuralTag { text, .. } => text.len(),
            Work::Lark { text, named, .. } => {
                text.len() + named.iter().map(NamedGrammar::memory_bytes).sum::<usize>()
            }
            Work::JsonSchema { text, .. } => text.len() + size_of::<front_end::Options>(),
            Work::BuiltinJson(_) => 0,
        }
    }

    fn source(&self) -> Source {
        match self {
            Work::Ebnf { .. } => Source::Ebnf,
            Work::Regex(_) => Source::Regex,
            Work::Lark { .. } => Source::Lark,
            Work::JsonSchema { .. } => Source::JsonSchema,
            Work::StructuralTag { .. } => Source::StructuralTag,
            Work::BuiltinJson(_) | Work::Grammar(_) => Source::Grammar,
        }
    }

    /// What is wrong with it, where its grammar does not compile.
    fn explained(&self, error: Error, budget: &Budget) -> Error {
        match self {
            Work::JsonSchema { text, options } => front_end::explained(error, text, options, budget),
            _ => error,
        }
    }
}

#[derive(Debug, Default)]
struct Counters {
    requests: AtomicU64,
    compilations: AtomicU64,
    failures: AtomicU64,
    nanoseconds: AtomicU64,
}

/// Compiles grammars for one tokenizer, and keeps the results.
///
/// The same grammar asked for twice is compiled once, also when two threads ask at the same time. Compiling releases
/// the GIL. ``cache_limit_bytes=-1`` is not unlimited, as it is in XGrammar: such compilers share one bound for the
/// whole process, ``get_cache_limit_bytes()``. A grammar is compiled on the thread that asks for it, because compiling is
/// lazy and has little work to share out; ``max_threads`` is how many threads may compile at once, and others wait.
///
/// Every ``compile_*`` method takes a ``timeout`` in seconds, which ends in ``LimitExceededError``, and a
/// ``CancelToken``, which ends in ``CancelledError``.
#[pyclass(frozen, subclass, dict, weakref, module = "tokenstile")]
pub(crate) struct GrammarCompiler {
    tokenizer_info: Py<PyAny>,
    vocab: Arc<Vocab>,
    cache: Option<Arc<Cache>>,
    cache_limit_bytes: i64,
    number: u64,
    limits: CompileLimits,
    permits: Permits,
    counters: Counters,
}

/// How long a caller is ready to wait for a compilation.
struct Patience<'py> {
    timeout: Option<f64>,
    cancel: Option<Bound<'py, CancelToken>>,
}

#[pymethods]
impl GrammarCompiler {
    #[new]
    #[pyo3(
        signature = (tokenizer_info, *, max_threads = 8, cache_enabled = true, cache_limit_bytes = -1, limits = None),
        text_signature = "(tokenizer_info, *, max_threads=8, cache_enabled=True, cache_limit_bytes=-1, limits=None)"
    )]
    fn new(
        tokenizer_info: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = arguments::max_threads)] max_threads: i64,
        #[pyo3(from_py_with = arguments::cache_enabled)] cache_enabled: bool,
        #[pyo3(from_py_with = arguments::cache_limit_bytes)] cache_limit_bytes: i64,
        limits: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let py = tokenizer_info.py();
        let vocab = vocab_of(tokenizer_info)?;
        let cache = match (cache_enabled, cache_limit_bytes) {
            (_, ..-1) => {
                let message = format!("cache_limit_bytes must be -1 or more, not {cache_limit_bytes}");
                return Err(errors::argument(py, message));
            }
            (false, _) => None,
            (true, -1) => Some(Arc::clone(&PROCESS_CACHE)),
            (true, bytes) => Some(Arc::new(Cache::new(usize::try_from(bytes)?))),
        };
        Ok(GrammarCompiler {
            tokenizer_info: tokenizer_info.clone().unbind(),
            vocab,
            cache,
            cache_limit_bytes,
            number: NEXT_COMPILER.fetch_add(1, Ordering::Relaxed),
            limits: CompileLimits::from_python(limits)?,
            permits: Permits::new(max_threads),
            counters: Counters::default(),
        })
    }

    /// What it takes, ``__new__`` has taken: classes that inherit from it may call this as they would call any other.
    #[pyo3(signature = (*_arguments, **_options))]
    #[expect(clippy::unused_self, reason = "a method of Python")]
    fn __init__(&self, _arguments: &Bound<'_, PyTuple>, _options: Option<&Bound<'_, PyDict>>) {}

    /// Compile a grammar, given as EBNF or as a ``Grammar``.
    #[pyo3(signature = (grammar, *, root_rule_name = "root", timeout = None, cancel = None))]
    fn compile_grammar(
        &self,
        grammar: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = arguments::root_rule_name)] root_rule_name: &str,
        #[pyo3(from_py_with = arguments::timeout)] timeout: Option<f64>,
        cancel: Option<Bound<'_, CancelToken>>,
    ) -> PyResult<CompiledGrammar> {
        let py = grammar.py();
        let patience = Patience { timeout, cancel };
        if let Ok(grammar) = grammar.cast::<Grammar>() {
            let grammar = grammar.get();
            let text = detached(py, || Arc::clone(grammar.text()))?;
            return self.compile(py, Work::Grammar(text), Some(grammar), patience);
        }
        let Ok(text) = grammar.cast::<PyString>() else {
            let name = errors::type_name(grammar);
            return Err(errors::argument(py, format!("the grammar must be a str or a Grammar, not {name}")));
        };
        let work = Work::Ebnf { text: text.to_str()?.into(), root: root_rule_name.into() };
        self.compile(py, work, None, patience)
    }

    /// Compile the strings that a regular expression matches as a whole.
    #[pyo3(signature = (regex, *, timeout = None, cancel = None))]
    fn compile_regex(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = arguments::regex)] regex: &str,
        #[pyo3(from_py_with = arguments::timeout)] timeout: Option<f64>,
        cancel: Option<Bound<'_, CancelToken>>,
    ) -> PyResult<CompiledGrammar> {
        self.compile(py, Work::Regex(regex.into()), None, Patience { timeout, cancel })
    }

    /// Compile a Lark text, with the tokens of this compiler's tokenizer. See ``Grammar.from_lark``.
    #[pyo3(signature = (lark_string, *, named_grammars = None, spelling = None, timeout = None, cancel = None))]
    fn compile_lark(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = arguments::lark_string)] lark_string: &str,
        named_grammars: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = spelling::spelling)] spelling: Option<Spelling>,
        #[pyo3(from_py_with = arguments::timeout)] timeout: Option<f64>,
        cancel: Option<Bound<'_, CancelToken>>,
    ) -> PyResult<CompiledGrammar> {
        let named = lark::named_grammars(named_grammars)?.into();
        let spelling = spelling::chosen(py, spelling)?;
        let work = Work::Lark { text: lark_string.into(), named, spelling };
        self.compile(py, work, None, Patience { timeout, cancel })
    }

    /// Compile the JSON texts of the values that a JSON Schema allows.
    ///
    /// The arguments are those of ``Grammar.from_json_schema``. What became of each keyword is in the ``grammar.report``
    /// of what is returned.
    #[pyo3(
        signature = (
            schema, *, any_whitespace = true, indent = None, separators = None, strict_mode = true,
            max_whitespace_cnt = None, any_order = None, formats = "assert", on_unsupported = "error",
            registry = None, spelling = None, timeout = None, cancel = None
        ),
        text_signature = "($self, schema, *, any_whitespace=True, indent=None, separators=None, strict_mode=True, max_whitespace_cnt=None, any_order=None, formats='assert', on_unsupported='error', registry=None, spelling=None, timeout=None, cancel=None)"
    )]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn compile_json_schema(
        &self,
        schema: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = arguments::any_whitespace)] any_whitespace: bool,
        #[pyo3(from_py_with = arguments::indent)] indent: Option<i64>,
        #[pyo3(from_py_with = arguments::separators)] separators: Option<(String, String)>,
        #[pyo3(from_py_with = arguments::strict_mode)] strict_mode: bool,
        #[pyo3(from_py_with = arguments::max_whitespace_cnt)] max_whitespace_cnt: Option<i64>,
        #[pyo3(from_py_with = arguments::any_order)] any_order: Option<bool>,
        #[pyo3(from_py_with = arguments::formats)] formats: &str,
        #[pyo3(from_py_with = arguments::on_unsupported)] on_unsupported: &str,
        registry: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = spelling::spelling)] spelling: Option<Spelling>,
        #[pyo3(from_py_with = arguments::timeout)] timeout: Option<f64>,
        cancel: Option<Bound<'_, CancelToken>>,
    ) -> PyResult<CompiledGrammar> {
        let py = schema.py();
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
        let (text, options) = (json_schema::text_of(schema)?, arguments.options(py)?);
        let work = Work::JsonSchema { text, options: Arc::new(options) };
        let compiled = self.compile(py, work, None, Patience { timeout, cancel })?;
        json_schema::warn_of_widening(py, &compiled.report)?;
        Ok(compiled)
    }

    /// Compile what a structural tag describes.
    ///
    /// The arguments are those of ``Grammar.from_structural_tag``: one ``structural_tag``, or ``tags`` and ``triggers``.
    /// Tokens that the tag names by their text are found in the tokenizer of this compiler.
    #[pyo3(
        signature = (*args, spelling = None, timeout = None, cancel = None, **kwargs),
        text_signature = "($self, *args, spelling=None, timeout=None, cancel=None, **kwargs)"
    )]
    fn compile_structural_tag(
        &self,
        py: Python<'_>,
        args: &Bound<'_, PyTuple>,
        #[pyo3(from_py_with = spelling::spelling)] spelling: Option<Spelling>,
        #[pyo3(from_py_with = arguments::timeout)] timeout: Option<f64>,
        cancel: Option<Bound<'_, CancelToken>>,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<CompiledGrammar> {
        let text = structural_tag::text_of(py, args, kwargs)?;
        let work = Work::StructuralTag { text: text.into(), spelling: spelling::chosen(py, spelling)? };
        self.compile(py, work, None, Patience { timeout, cancel })
    }

    /// Compile standard JSON whose root is an object or an array.
    #[pyo3(signature = (*, spelling = None, timeout = None, cancel = None))]
    fn compile_builtin_json_grammar(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = spelling::spelling)] spelling: Option<Spelling>,
        #[pyo3(from_py_with = arguments::timeout)] timeout: Option<f64>,
        cancel: Option<Bound<'_, CancelToken>>,
    ) -> PyResult<CompiledGrammar> {
        let work = Work::BuiltinJson(spelling::chosen(py, spelling)?);
        self.compile(py, work, None, Patience { timeout, cancel })
    }

    /// Forget what this compiler has compiled. Grammars that are in use live on.
    fn clear_cache(&self, py: Python<'_>) -> PyResult<()> {
        match &self.cache {
            Some(cache) => detached(py, || cache.clear(|key| key.compiler == self.number)),
            None => Ok(()),
        }
    }

    /// The bytes that the cached grammars of this compiler hold now.
    fn get_cache_size_bytes(&self) -> usize {
        self.cache.as_ref().map_or(0, |cache| cache.size_bytes(|key| key.compiler == self.number))
    }

    /// The limit that was asked for; -1 is the one that all such compilers of the process share.
    #[getter]
    fn cache_limit_bytes(&self) -> i64 {
        self.cache_limit_bytes
    }

    /// The tokenizer that it compiles for.
    #[getter]
    fn tokenizer_info(&self, py: Python<'_>) -> Py<PyAny> {
        self.tokenizer_info.clone_ref(py)
    }

    /// Counters since the compiler was made, and what its cache holds.
    ///
    /// ``requests`` calls of ``compile_*`` methods, of which ``compilations`` did the work (the others were answered
    /// from the cache or waited for another thread) and ``failures`` raised; ``compile_seconds`` in all;
    /// ``cache_entries`` and ``cache_bytes`` of this compiler; ``cache_limit_bytes`` and ``cache_evictions`` of the
    /// cache, which may be shared.
    fn get_stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let stats = PyDict::new(py);
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        stats.set_item("requests", get(&self.counters.requests))?;
        stats.set_item("compilations", get(&self.counters.compilations))?;
        stats.set_item("failures", get(&self.counters.failures))?;
        #[expect(clippy::cast_precision_loss, reason = "seconds for people to read")]
        stats.set_item("compile_seconds", get(&self.counters.nanoseconds) as f64 / 1e9)?;
        let entries = self.cache.as_ref().map_or(0, |cache| cache.count(|key| key.compiler == self.number));
        stats.set_item("cache_entries", entries)?;
        stats.set_item("cache_bytes", self.get_cache_size_bytes())?;
        stats.set_item("cache_limit_bytes", self.cache.as_ref().map_or(0, |cache| cache.limit_bytes()))?;
        stats
            .set_item("cache_evictions", self.cache.as_ref().map_or(0, |cache| cache.counters().evictions))?;
        Ok(stats)
    }

    fn __repr__(&self) -> String {
        let size = self.vocab.len();
        format!("<GrammarCompiler for {size} tokens, {} bytes cached>", self.get_cache_size_bytes())
    }
}

impl GrammarCompiler {
    fn compile(
        &self,
        py: Python<'_>,
        work: Work,
        parsed: Option<&Grammar>,
        patience: Patience<'_>,
    ) -> PyResult<CompiledGrammar> {
        let limits = self.limits.with_timeout(py, patience.timeout)?;
        let cancel = patience.cancel.map_or_else(CancelFlag::default, |token| token.get().flag.clone());
        let source = work.source();
        self.counters.requests.fetch_add(1, Ordering::Relaxed);
        let key = Key { compiler: self.number, work };
        let result = cancellable(py, limits, cancel, |budget| match &self.cache {
            None => self.compile_now(&key.work, parsed, budget),
            Some(cache) => cache.get_or_compile(&key, budget, || self.compile_now(&key.work, parsed, budget)),
        })?;
        match result {
            Ok(built) => {
                // Grammars that print alike share what is compiled, and each has its own report.
                let report = parsed.map_or(&built.report, |grammar| &grammar.report).clone();
                Ok(CompiledGrammar::new(
                    Arc::clone(&built.compiled),
                    self.tokenizer_info.clone_ref(py),
                    report,
                ))
            }
            Err(error) => {
                self.counters.failures.fetch_add(1, Ordering::Relaxed);
                Err(errors::grammar(py, &error, source))
            }
        }
    }

    fn compile_now(&self, work: &Work, parsed: Option<&Grammar>, budget: &Budget) -> Result<Arc<Built>> {
        let _permit = self.permits.acquire(budget)?;
        let started = Instant::now();
        self.counters.compilations.fetch_add(1, Ordering::Relaxed);
        let built = self.lowered(work, parsed, budget).and_then(|(lowered, report)| {
            let (vocab, limits) = (Arc::clone(&self.vocab), self.limits.engine);
            let compiled = match (lowered, work) {
                (Lowered::Machine(machine), Work::JsonSchema { text, options }) => {
                    let schema = Schema::new(text, options, budget);
                    Compiled::of_machine(*machine, move |budget| schema.grammar(budget), vocab, limits)
                }
                (Lowered::Machine(_), _) => Err(Error::unsupported("only schemas are lowered at once")),
                (Lowered::Grammar(grammar), _) => Compiled::new(grammar, vocab, limits, budget),
            };
            let compiled = compiled.map_err(|error| work.explained(error, budget))?;
            Ok(Arc::new(Built { compiled, report }))
        });
        let elapsed = u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.counters.nanoseconds.fetch_add(elapsed, Ordering::Relaxed);
        built
    }

    fn lowered(&self, work: &Work, parsed: Option<&Grammar>, budget: &Budget) -> Result<(Lowered, Report)> {
        budget.check()?;
        let grammar = match (work, parsed) {
            (_, Some(grammar)) => Ok(Ir::clone(grammar.ir())),
            (Work::JsonSchema { text, options }, _) => return Report::with_lowered(text, options, budget),
            (Work::Ebnf { text, root }, _) => {
                let token_id = |text: &str| self.find_token(text);
                ebnf::parse_with_tokens(text, root, Some(&token_id), budget.limits(), budget)
            }
            (Work::Regex(pattern), _) => {
                regex::to_grammar(pattern, &regex::Syntax::default(), budget.limits(), budget)
            }
            (Work::Lark { text, named, spelling }, _) => {
                lark::parse(text, named, *spelling, Some(&self.vocab), budget)
            }
            (Work::StructuralTag { text, spelling }, _) => {
                let token_id = |text: &str| self.find_token(text);
                let tokens = tags::Tokens { find: &token_id, count: self.vocab.len() };
                tags::parse(text, *spelling, Some(tokens), budget)
            }
            (Work::BuiltinJson(spelling), _) => Ok(ebnf::builtin_json(*spelling)),
            (Work::Grammar(text), None) => ebnf::parse(text, "root", budget.limits(), budget),
        };
        Ok((Lowered::Grammar(grammar?), self.report(work, budget)))
    }
}

impl GrammarCompiler {
    /// The report of what was no schema by itself.
    fn report(&self, work: &Work, budget: &Budget) -> Report {
        let vocab = || Some(Arc::clone(&self.vocab));
        let text = match work {
            Work::Lark { text, named, spelling } => {
                let (text, named) = (Arc::clone(text), Arc::clone(named));
                Embedding::Lark { text, named, spelling: *spelling, vocab: vocab() }
            }
            Work::StructuralTag { text, spelling } => {
                Embedding::Tag { text: Arc::clone(text), spelling: *spelling, vocab: vocab() }
            }
            Work::BuiltinJson(spelling) => Embedding::Json(*spelling),
            _ => return Report::default(),
        };
        Report::embedded(text, budget)
    }

    /// The first token of that text.
    fn find_token(&self, text: &str) -> Option<u32> {
        structural_tag::find_token(&self.vocab, text)
    }
}

impl Drop for GrammarCompiler {
    fn drop(&mut self) {
        if let Some(cache) = &self.cache {
            cache.clear(|key| key.compiler == self.number);
        }
    }
}

/// What all compilers without a limit of their own may hold together, in bytes.
#[pyfunction]
pub(crate) fn get_cache_limit_bytes() -> usize {
    PROCESS_CACHE.limit_bytes()
}

/// Sets what all compilers without a limit of their own may hold together, in bytes.
///
/// The tables of all grammars of the process, cached or not, have the same bound: beyond it they are dropped and
/// filled anew.
#[pyfunction]
pub(crate) fn set_cache_limit_bytes(py: Python<'_>, limit: usize) -> PyResult<()> {
    detached(py, || {
        set_process_cache_bytes(limit);
        PROCESS_CACHE.set_limit_bytes(limit);
    })
}
