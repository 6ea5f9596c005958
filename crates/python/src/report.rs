//! What became of the keywords of a schema, written down when somebody asks.
//!
//! To write it takes a tenth of the time of a compilation, and a server never asks. So a grammar keeps the schema that it
//! came from, and the schema is read again for its report: it says the same the second time. Only where keywords may be
//! left out is it written at once, because the caller is warned of that.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use pyo3::prelude::*;
use tokenstile_grammar::frontends::json_schema::{
    self as front_end, Finding, Lowered, OnUnsupported, Options,
};
use tokenstile_grammar::{Budget, Grammar as Ir, Limits, Result};

use crate::errors::{self, Source};
use crate::limits::interruptible;
use crate::schemas::Schemas;

/// What became of each keyword of a schema; empty for grammars that came from elsewhere.
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
}

/// What a report is written from, and a grammar that was not needed at first.
#[derive(Debug)]
pub(crate) struct Schema {
    text: Arc<str>,
    options: Arc<Options>,
    limits: Limits,
}

impl Schema {
    /// A schema that was compiled within a budget.
    pub(crate) fn new(text: &Arc<str>, options: &Arc<Options>, budget: &Budget) -> Self {
        // What was compiled was within all limits. And it is no matter how long it takes: whoever waits can interrupt it.
        let limits = Limits {
            max_rules: usize::MAX,
            max_exprs: usize::MAX,
            max_states: usize::MAX,
            max_compile_time: Duration::MAX,
            ..budget.limits().clone()
        };
        Schema { text: Arc::clone(text), options: Arc::clone(options), limits }
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
            Content::Written(_) => None,
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
            Content::Unwritten { .. } | Content::Combined(_) => None,
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
        }
    }
}
