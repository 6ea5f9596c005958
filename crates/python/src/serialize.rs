//! Grammars and compiled grammars as JSON texts, and back.
//!
//! The form is the printed grammar with a version. Tables are not in it: they are filled lazily, so that reading a
//! grammar back costs what parsing it costs. A compiled grammar also names its vocabulary by its metadata, and is only
//! read back with a tokenizer of the same. The report of a grammar that came from a schema goes with it.

use pyo3::prelude::*;
use serde_json::{Value, json};
use tokenstile_grammar::Limits;
use tokenstile_grammar::frontends::ebnf;

use crate::errors::{self, Source};
use crate::grammar::Grammar;
use crate::json_schema;
use crate::limits::interruptible;
use crate::report::Report;

/// The version that serialized objects carry. It changes with the form, not with the release.
pub(crate) const VERSION: &str = "tokenstile-v1";

/// The text for a grammar that prints as `ebnf`.
pub(crate) fn grammar_to_json(py: Python<'_>, ebnf: &str, report: &Report) -> PyResult<String> {
    Ok(grammar_value(py, ebnf, report)?.to_string())
}

fn grammar_value(py: Python<'_>, ebnf: &str, report: &Report) -> PyResult<Value> {
    let mut value = json!({ "__VERSION__": VERSION, "ebnf": ebnf, "root": "root" });
    let findings = report.findings(py)?;
    if !findings.is_empty() {
        value["report"] = json_schema::to_json(&findings);
    }
    Ok(value)
}

/// The grammar of a text of [`grammar_to_json`].
pub(crate) fn grammar_from_json(py: Python<'_>, text: &str) -> PyResult<Grammar> {
    grammar_from_value(py, &parse(py, text)?)
}

/// The text for a compiled grammar: the grammar and its tokenizer's metadata.
pub(crate) fn compiled_to_json(
    py: Python<'_>,
    ebnf: &str,
    report: &Report,
    metadata: &str,
) -> PyResult<String> {
    let (grammar, metadata) = (grammar_value(py, ebnf, report)?, parse(py, metadata)?);
    let value = json!({ "__VERSION__": VERSION, "grammar": grammar, "tokenizer_metadata": metadata });
    Ok(value.to_string())
}

/// The grammar in a text of [`compiled_to_json`], provided that the tokenizer has the same metadata.
pub(crate) fn compiled_from_json(py: Python<'_>, text: &str, metadata: &str) -> PyResult<Grammar> {
    let value = parse(py, text)?;
    check_version(py, &value)?;
    let (Some(grammar), Some(found)) = (value.get("grammar"), value.get("tokenizer_metadata")) else {
        return Err(errors::raise(
            py,
            "DeserializeFormatError",
            "the text is not a serialized CompiledGrammar",
        ));
    };
    let expected = parse(py, metadata)?;
    if *found != expected {
        let message = format!("the grammar was compiled for another tokenizer: {found}, not {expected}");
        return Err(errors::raise(py, "DeserializeFormatError", message));
    }
    grammar_from_value(py, grammar)
}

fn grammar_from_value(py: Python<'_>, value: &Value) -> PyResult<Grammar> {
    check_version(py, value)?;
    let text_of = |name: &str| value.get(name).and_then(Value::as_str);
    let (Some(text), Some(root)) = (text_of("ebnf"), text_of("root")) else {
        return Err(errors::raise(py, "DeserializeFormatError", "the text is not a serialized Grammar"));
    };
    let report = match value.get("report") {
        None => Some(Report::default()),
        Some(report) => json_schema::from_json(report),
    };
    let Some(report) = report else {
        return Err(errors::raise(py, "DeserializeFormatError", "the report of the grammar cannot be read"));
    };
    let limits = Limits::default();
    let parsed = interruptible(py, limits.clone(), |budget| ebnf::parse(text, root, &limits, budget))?;
    let parsed = parsed.map_err(|error| errors::grammar(py, &error, Source::Serialized))?;
    Ok(Grammar::with_report(parsed, report))
}

fn check_version(py: Python<'_>, value: &Value) -> PyResult<()> {
    match value.get("__VERSION__").and_then(Value::as_str) {
        Some(VERSION) => Ok(()),
        Some(found) => {
            let message = format!("the text has the version {found:?}, and this release reads {VERSION:?}");
            Err(errors::raise(py, "DeserializeVersionError", message))
        }
        None => Err(errors::raise(py, "DeserializeFormatError", "the text has no \"__VERSION__\"")),
    }
}

fn parse(py: Python<'_>, text: &str) -> PyResult<Value> {
    serde_json::from_str(text)
        .map_err(|error| errors::raise(py, "InvalidJSONError", format!("the text is not JSON: {error}")))
}
