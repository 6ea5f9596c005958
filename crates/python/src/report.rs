//! What became of the keywords of a schema, written down when somebody asks.
//!
//! To write it takes a tenth of the time of a compilation, and a server never asks. So a grammar keeps the schema that it
//! came from, and the schema is read again for its report: it says the same the second time. Only where keywords may be
//! left out is it written at once, because the caller is warned of that.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use pyo3::prelude::*;
use tokenstile_engine::vocab::Vocab;
use tokenstile_grammar::frontends::json_schema::{
    self as front_end, Embedded, Finding, Lowered, OnUnsupported, Options, Spelling,
};
use tokenstile_grammar::frontends::structural_tag as tags;
use tokenstile_grammar::{Budget, Grammar as Ir, Limits, Result};

use crate::errors::{self, Source};
use crate::lark::{self, NamedGrammar};
use crate::limits::interruptible;
use crate::schemas::Schemas;
use crate::structural_tag;

/// What the built-in grammar of JSON has.
const ANY_CONTAINER: &str = r#"{"type": ["object", "array"]}"#;

/// What became of each keyword of a schema, or of the schemas in another text; empty for grammars that came from elsewhere.
#[derive(Clone, Debug, Default)]
pub(crate) struct Report(Option<Arc<Content>>);

#[derive(Debug)]
enum Content {
    Written(front_end::Report),
    Unwritten {
        schema: Schema,
        report: OnceLock<front_end::Report>,
    },
    /// There is no report of several schemas together; but it is known which they are.
    Combined(Schemas),
    Embedded {
        text: Embedding,
        limits: Limits,
        findings: OnceLock<Vec<Finding>>,
    },
}

/// A text of another kind, in which schemas stand.
#[derive(Debug)]
pub(crate) enum Embedding {
    /// A structural tag.
    Tag { text: Arc<str>, spelling: Spelling, vocab: Option<Arc<Vocab>> },
    /// A Lark text.
    Lark { text: Arc<str>, named: Arc<[NamedGrammar]>, spelling: Spelling, vocab: Option<Arc<Vocab>> },
    /// The built-in grammar of JSON, which has no schema; of it the spelling is told.
    Json(Spelling),
}

impl Embedding {
    /// What became of the keywords of its schemas, and what their spelling gives up.
    fn findings(&self, budget: &Budget) -> Result<Vec<Finding>> {
        let schemas = match self {
            Embedding::Tag { text, spelling, vocab } => {
                let find =
                    |token: &str| vocab.as_deref().and_then(|vocab| structural_tag::find_token(vocab, token));
                let count = vocab.as_deref().map_or(0, Vocab::len);
                let tokens = vocab.is_some().then_some(tags::Tokens { find: &find, count });
                tags::schemas(text, *spelling, tokens, budget)?
            }
            Embedding::Lark { text, named, spelling, vocab } => {
                lark::schemas(text, named, *spelling, vocab.as_deref(), budget)?
            }
            Embedding::Json(spelling) => {
                let options = Options { spelling: *spelling, strict_mode: false, ..Options::default() };
                let schema = Embedded { place: String::new(), schema: ANY_CONTAINER.to_owned(), options };
                let is_spelling = |finding: &Finding| finding.keyword == "spelling";
                return Ok(schema.findings(budget)?.into_iter().filter(is_spelling).collect());
            }
        };
        let each = schemas.iter().map(|schema| schema.findings(budget));
        Ok(each.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
    }

    fn memory_bytes(&self) -> usize {
        match self {
            Embedding::Tag { text, .. } | Embedding::Lark { text, .. } => text.len(),
            Embedding::Json(_) => 0,
        }
    }
}

/// What a report is written from, and a grammar that was not needed at first.
#[derive(Debug)]
pub(crate) struct Schema {
    text: Arc<str>,
    options: Arc<Options>,
    limits: Limits,
}

/// The limits for what was within all limits before. And it is no matter how long it takes: whoever waits can interrupt it.
fn unbounded(budget: &Budget) -> Limits {
    Limits {
        max_rules: usize::MAX,
        max_exprs: usize::MAX,
        max_states: usize::MAX,
        max_compile_time: Duration::MAX,
        ..budget.limits().clone()
    }
}

impl Schema {
    /// A schema that was compiled within a budget.
    pub(crate) fn new(text: &Arc<str>, options: &Arc<Options>, budget: &Budget) -> Self {
        Schema { text: Arc::clone(text), options: Arc::clone(options), limits: unbounded(budget) }
    }

    /// The grammar of the schema.
    pub(crate) fn grammar(&self, budget: &Budget) -> Result<Ir> {
        let budget = budget.with_limits(self.limits.clone());
        front_end::grammar(&self.text, &self.options, &budget)
    }
}

impl Report {
    /// The report of these findings.
    pub(crate) fn of(findings: Vec<Finding>) -> Self {
        Report::written(findings.into())
    }

    fn written(report: front_end::Report) -> Self {
        Report((!report.is_empty()).then(|| Arc::new(Content::Written(report))))
    }

    /// The grammar of a schema, and its report.
    pub(crate) fn with_grammar(
        text: &Arc<str>,
        options: &Arc<Options>,
        budget: &Budget,
    ) -> Result<(Ir, Self)> {
        if options.on_unsupported == OnUnsupported::Warn {
            return Report::with_findings(text, options, budget);
        }
        let grammar = front_end::grammar(text, options, budget)?;
        Ok((grammar, Report::unwritten(Schema::new(text, options, budget))))
    }

    /// What a schema becomes for whoever compiles it, and its report.
    pub(crate) fn with_lowered(
        text: &Arc<str>,
        options: &Arc<Options>,
        budget: &Budget,
    ) -> Result<(Lowered, Self)> {
        if options.on_unsupported == OnUnsupported::Warn {
            let (grammar, report) = Report::with_findings(text, options, budget)?;
            return Ok((Lowered::Grammar(grammar), report));
        }
        let lowered = front_end::lowered(text, options, budget)?;
        Ok((lowered, Report::unwritten(Schema::new(text, options, budget))))
    }

    fn with_findings(text: &str, options: &Options, budget: &Budget) -> Result<(Ir, Self)> {
        let converted = front_end::parse(text, options, budget)?;
        Ok((converted.grammar, Report::written(converted.report)))
    }

    /// The report of a text that was read within a budget, and holds schemas.
    pub(crate) fn embedded(text: Embedding, budget: &Budget) -> Self {
        let limits = unbounded(budget);
        Report(Some(Arc::new(Content::Embedded { text, limits, findings: OnceLock::new() })))
    }

    fn unwritten(schema: Schema) -> Self {
        Report(Some(Arc::new(Content::Unwritten { schema, report: OnceLock::new() })))
    }

    /// That of a grammar that was put together from schemas.
    pub(crate) fn combined(schemas: Schemas) -> Self {
        Report(Some(Arc::new(Content::Combined(schemas))))
    }

    /// The schemas that the grammar came from, if they are known.
    pub(crate) fn schemas(&self) -> Option<Schemas> {
        match self.0.as_deref()? {
            Content::Written(_) | Content::Embedded { .. } => None,
            Content::Unwritten { schema, .. } => {
                Some(Schemas::joint(std::slice::from_ref(&schema.text), &schema.options))
            }
            Content::Combined(schemas) => Some(schemas.clone()),
        }
    }

    /// What was left out, if it was asked to be.
    pub(crate) fn widened(&self) -> Option<&front_end::Report> {
        match self.0.as_deref()? {
            Content::Written(report) => report.is_widened().then_some(report),
            Content::Unwritten { .. } | Content::Combined(_) | Content::Embedded { .. } => None,
        }
    }

    /// What became of each keyword.
    pub(crate) fn findings(&self, py: Python<'_>) -> PyResult<Vec<Finding>> {
        match self.0.as_deref() {
            None | Some(Content::Combined(_)) => Ok(Vec::new()),
            Some(Content::Written(report)) => Ok(report.findings()),
            Some(Content::Unwritten { schema, report }) => {
                if let Some(report) = report.get() {
                    return Ok(report.findings());
                }
                let converted = interruptible(py, schema.limits.clone(), |budget| {
                    front_end::parse(&schema.text, &schema.options, budget)
                })?;
                let converted = converted.map_err(|error| errors::grammar(py, &error, Source::JsonSchema))?;
                Ok(report.get_or_init(|| converted.report).findings())
            }
            Some(Content::Embedded { text, limits, findings }) => {
                if let Some(findings) = findings.get() {
                    return Ok(findings.clone());
                }
                let found = interruptible(py, limits.clone(), |budget| text.findings(budget))?;
                let found = found.map_err(|error| errors::grammar(py, &error, Source::Grammar))?;
                Ok(findings.get_or_init(|| found).clone())
            }
        }
    }

    /// The memory that it takes.
    pub(crate) fn memory_bytes(&self) -> usize {
        match self.0.as_deref() {
            None => 0,
            Some(Content::Combined(schemas)) => schemas.memory_bytes(),
            Some(Content::Written(report)) => report.memory_bytes(),
            Some(Content::Unwritten { schema, report }) => {
                let registry = schema.options.registry.iter().map(|(uri, text)| uri.len() + text.len());
                let written = report.get().map_or(0, front_end::Report::memory_bytes);
                schema.text.len() + registry.sum::<usize>() + written
            }
            Some(Content::Embedded { text, findings, .. }) => {
                text.memory_bytes() + findings.get().map_or(0, |findings| size_of_val(&**findings))
            }
        }
    }
}
