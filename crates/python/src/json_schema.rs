//! JSON Schema from Python: schemas in all their forms, the options, and the report of what was enforced.
//!
//! A schema that is a `str` is taken as it is. What else may stand for one (a dict, a bool, a model of Pydantic) is
//! recognised in `tokenstile.json_schema`, so that this file need not know the libraries.

use std::ffi::CString;
use std::sync::Arc;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyMapping, PyString};
use serde_json::Value;
use tokenstile_grammar::frontends::json_schema::keywords::MISSPELLED;
use tokenstile_grammar::frontends::json_schema::{
    self as front_end, Finding, Formats, OnUnsupported, Options, Outcome, Spelling,
};

use crate::arguments;
use crate::errors::{self, Source};
use crate::limits::{CompileLimits, interruptible};
use crate::report::Report;
use crate::spelling;

const OUTCOMES: [Outcome; 5] =
    [Outcome::Exact, Outcome::Annotation, Outcome::Narrowed, Outcome::Widened, Outcome::Refused];

/// The widest indentation; more is a mistake, and would only make grammars large.
const MAX_INDENT: i64 = 100;

/// How many findings a warning spells out.
const FINDINGS_IN_A_WARNING: usize = 5;

/// The keyword arguments that all functions on schemas share, as they come from Python.
pub(crate) struct Arguments<'a, 'py> {
    pub(crate) any_whitespace: bool,
    pub(crate) indent: Option<i64>,
    pub(crate) separators: Option<(String, String)>,
    pub(crate) strict_mode: bool,
    pub(crate) max_whitespace_cnt: Option<i64>,
    pub(crate) any_order: Option<bool>,
    pub(crate) formats: &'a str,
    pub(crate) on_unsupported: &'a str,
    pub(crate) registry: Option<&'a Bound<'py, PyAny>>,
    pub(crate) spelling: Option<Spelling>,
}

impl Arguments<'_, '_> {
    /// The options of the core, checked.
    pub(crate) fn options(self, py: Python<'_>) -> PyResult<Options> {
        Ok(Options {
            any_whitespace: self.any_whitespace,
            indent: self.indent.map(|indent| count(py, "indent", indent, 0, MAX_INDENT)).transpose()?,
            separators: self.separators.map(|pair| separators(py, pair)).transpose()?,
            strict_mode: self.strict_mode,
            max_whitespace: self
                .max_whitespace_cnt
                .map(|most| count(py, "max_whitespace_cnt", most, 1, u32::MAX.into()))
                .transpose()?,
            any_order: self.any_order.unwrap_or(!self.strict_mode),
            formats: match self.formats {
                "assert" => Formats::Assert,
                "annotate" => Formats::Annotate,
                other => return Err(choice(py, "formats", "\"assert\" or \"annotate\"", other)),
            },
            on_unsupported: match self.on_unsupported {
                "error" => OnUnsupported::Refuse,
                "warn" => OnUnsupported::Warn,
                other => return Err(choice(py, "on_unsupported", "\"error\" or \"warn\"", other)),
            },
            registry: self.registry.map_or_else(|| Ok(Vec::new()), registry)?,
            spelling: spelling::chosen(py, self.spelling)?,
            ..Options::default()
        })
    }
}

/// What would become of each keyword of a schema, without making a grammar of it.
///
/// A keyword that cannot be enforced is a finding here and not an error, so that all of them are listed. A schema that
/// is malformed or allows nothing raises ``JSONSchemaError``, as it does elsewhere. The arguments are those of
/// ``Grammar.from_json_schema``.
#[pyfunction]
#[pyo3(
    signature = (
        schema, *, strict_mode = true, any_order = None, formats = "assert", on_unsupported = "error",
        registry = None, spelling = None, limits = None
    ),
    text_signature = "(schema, *, strict_mode=True, any_order=None, formats='assert', on_unsupported='error', registry=None, spelling=None, limits=None)"
)]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub(crate) fn check_schema<'py>(
    schema: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = arguments::strict_mode)] strict_mode: bool,
    #[pyo3(from_py_with = arguments::any_order)] any_order: Option<bool>,
    #[pyo3(from_py_with = arguments::formats)] formats: &str,
    #[pyo3(from_py_with = arguments::on_unsupported)] on_unsupported: &str,
    registry: Option<&Bound<'py, PyAny>>,
    #[pyo3(from_py_with = spelling::spelling)] spelling: Option<Spelling>,
    limits: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyList>> {
    let py = schema.py();
    let text = text_of(schema)?;
    let arguments = Arguments {
        any_whitespace: true,
        indent: None,
        separators: None,
        strict_mode,
        max_whitespace_cnt: None,
        any_order,
        formats,
        on_unsupported,
        registry,
        spelling,
    };
    let options = arguments.options(py)?;
    let limits = CompileLimits::from_python(limits)?.grammar;
    let report = interruptible(py, limits, |budget| front_end::check(&text, &options, budget))?;
    let report = report.map_err(|error| errors::grammar(py, &error, Source::JsonSchema))?;
    warn_of_names(py, &report)?;
    to_python(py, report)
}

/// Warns of names that look like keywords with a typing error, if there are any.
fn warn_of_names(py: Python<'_>, findings: &[Finding]) -> PyResult<()> {
    let named = findings.iter().filter(|finding| finding.note.starts_with(MISSPELLED));
    let lines: Vec<_> = named
        .take(FINDINGS_IN_A_WARNING)
        .map(|at| format!("at {:?}: {}: {}", at.pointer, at.keyword, at.note))
        .collect();
    if lines.is_empty() {
        return Ok(());
    }
    let category = py.import("tokenstile.schema_report")?.getattr("SchemaWarning")?;
    PyErr::warn(py, &category, &CString::new(lines.join("; ").replace('\0', " "))?, 1)
}

/// The JSON text of anything that stands for a schema.
pub(crate) fn text_of(schema: &Bound<'_, PyAny>) -> PyResult<Arc<str>> {
    if let Ok(text) = schema.cast::<PyString>() {
        return Ok(text.to_str()?.into());
    }
    let module = schema.py().import("tokenstile.json_schema")?;
    let text = module.call_method1("schema_text", (schema,))?;
    Ok(text.cast::<PyString>()?.to_str()?.into())
}

/// The report as a list of `tokenstile.Finding`.
pub(crate) fn to_python(py: Python<'_>, report: Vec<Finding>) -> PyResult<Bound<'_, PyList>> {
    let list = PyList::empty(py);
    if report.is_empty() {
        return Ok(list);
    }
    let module = py.import("tokenstile.schema_report")?;
    let (finding_class, outcome_class) = (module.getattr("Finding")?, module.getattr("Outcome")?);
    for finding in report {
        let keywords = PyDict::new(py);
        keywords.set_item("pointer", &*finding.pointer)?;
        keywords.set_item("keyword", &*finding.keyword)?;
        keywords.set_item("outcome", outcome_class.call1((finding.outcome.name(),))?)?;
        keywords.set_item("note", &*finding.note)?;
        list.append(finding_class.call((), Some(&keywords))?)?;
    }
    Ok(list)
}

/// Warns of what was widened, if anything was.
pub(crate) fn warn_of_widening(py: Python<'_>, report: &Report) -> PyResult<()> {
    let Some(report) = report.widened() else { return Ok(()) };
    let is_widened = |finding: &Finding| finding.outcome == Outcome::Widened;
    let widened: Vec<Finding> = report.findings().into_iter().filter(is_widened).collect();
    let listed = widened.iter().take(FINDINGS_IN_A_WARNING);
    let mut lines: Vec<_> =
        listed.map(|at| format!("at {:?}: {}: {}", at.pointer, at.keyword, at.note)).collect();
    if widened.len() > lines.len() {
        lines.push(format!("and {} more", widened.len() - lines.len()));
    }
    let message = format!("the grammar allows more than the schema: {}", lines.join("; ")).replace('\0', " ");
    let category = py.import("tokenstile.schema_report")?.getattr("SchemaWarning")?;
    PyErr::warn(py, &category, &CString::new(message)?, 1)
}

/// The findings of a report as JSON, for serialized grammars.
pub(crate) fn to_json(findings: &[Finding]) -> Value {
    let row = |finding: &Finding| {
        let outcome = finding.outcome.name();
        Value::from(vec![&*finding.pointer, &*finding.keyword, outcome, &*finding.note])
    };
    findings.iter().map(row).collect()
}

/// The report of [`to_json`], or nothing if it is not one.
pub(crate) fn from_json(value: &Value) -> Option<Report> {
    let row = |row: &Value| {
        let [pointer, keyword, outcome, note] = row.as_array()?.as_slice() else { return None };
        let name = outcome.as_str()?;
        let outcome = OUTCOMES.into_iter().find(|outcome| outcome.name() == name)?;
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let (keyword, note) = (text(keyword)?.into(), text(note)?.into());
        Some(Finding { pointer: text(pointer)?.into(), keyword, outcome, note })
    };
    let findings: Option<Vec<Finding>> = value.as_array()?.iter().map(row).collect();
    Some(Report::of(findings?))
}

fn registry(registry: &Bound<'_, PyAny>) -> PyResult<Vec<(String, String)>> {
    let py = registry.py();
    let read;
    let registry = if registry.is_instance_of::<PyString>() || registry.hasattr(intern!(py, "__fspath__"))? {
        read = py.import("tokenstile.schema_folder")?.call_method1("read_schema_folder", (registry,))?;
        &read
    } else {
        registry
    };
    let Ok(mapping) = registry.cast::<PyMapping>() else {
        let name = errors::type_name(registry);
        let message = format!("registry must map URIs to schemas, or be the path of a folder, not {name}");
        return Err(errors::argument(py, message));
    };
    let mut documents = Vec::with_capacity(mapping.len()?);
    for item in mapping.items()? {
        let (uri, schema): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
        let uri = uri.extract::<String>().map_err(|_| {
            let name = errors::type_name(&uri);
            errors::argument(py, format!("the URIs of a registry must be str, not {name}"))
        })?;
        documents.push((uri, text_of(&schema)?.as_ref().into()));
    }
    documents.sort();
    Ok(documents)
}

/// Both separators, which must leave the text JSON.
fn separators(py: Python<'_>, (item, key): (String, String)) -> PyResult<(String, String)> {
    let is = |text: &str, sign: &str| text.trim_matches([' ', '\n', '\r', '\t']) == sign;
    if is(&item, ",") && is(&key, ":") {
        return Ok((item, key));
    }
    let message =
        format!("separators must be a comma and a colon with white space, not {item:?} and {key:?}");
    Err(errors::argument(py, message))
}

fn count(py: Python<'_>, name: &str, value: i64, least: i64, most: i64) -> PyResult<u32> {
    match u32::try_from(value) {
        Ok(count) if (least..=most).contains(&value) => Ok(count),
        _ => Err(errors::argument(py, format!("{name} must be between {least} and {most}, not {value}"))),
    }
}

fn choice(py: Python<'_>, name: &str, allowed: &str, given: &str) -> PyErr {
    errors::argument(py, format!("{name} must be {allowed}, not {given:?}"))
}
