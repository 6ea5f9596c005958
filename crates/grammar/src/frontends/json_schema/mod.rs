//! JSON Schema: the interface that the bindings are written against.
//!
//! A placeholder until the front end is merged: every schema but `true` is refused.

use crate::error::{Error, ErrorKind, Place, Result};
use crate::frontends::ebnf;
use crate::ir::Grammar;
use crate::limits::Budget;

/// Whether `format` is enforced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Formats {
    /// Known formats are enforced.
    #[default]
    Assert,
    /// Formats are annotations.
    Annotate,
}

/// What becomes of a keyword that cannot be enforced exactly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OnUnsupported {
    /// The schema is refused.
    #[default]
    Refuse,
    /// The keyword is dropped, and the report says so.
    Warn,
}

/// How a schema is read and how its values are written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Options {
    /// Any white space between tokens.
    pub any_whitespace: bool,
    /// Line breaks and this many spaces for each level.
    pub indent: Option<u32>,
    /// What stands between members, and between a key and its value.
    pub separators: Option<(String, String)>,
    /// Members that are not declared are forbidden.
    pub strict_mode: bool,
    /// The most white space in one place.
    pub max_whitespace: Option<u32>,
    /// Keys in any order.
    pub any_order: bool,
    /// Whether `format` is enforced.
    pub formats: Formats,
    /// What becomes of a keyword that cannot be enforced exactly.
    pub on_unsupported: OnUnsupported,
    /// Documents that references may lead to, by URI.
    pub registry: Vec<(String, String)>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            any_whitespace: true,
            indent: None,
            separators: None,
            strict_mode: true,
            max_whitespace: None,
            any_order: false,
            formats: Formats::Assert,
            on_unsupported: OnUnsupported::Refuse,
            registry: Vec::new(),
        }
    }
}

/// What became of a keyword.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Enforced exactly.
    Exact,
    /// Says nothing about which values are valid.
    Annotation,
    /// Fewer texts than the keyword allows.
    Narrowed,
    /// More values than the keyword allows.
    Widened,
    /// Refused.
    Refused,
}

/// What became of one keyword of a schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The JSON Pointer of the keyword.
    pub pointer: String,
    /// The keyword.
    pub keyword: String,
    /// What became of it.
    pub outcome: Outcome,
    /// More about it, for people.
    pub note: String,
}

/// A schema as a grammar.
#[derive(Clone, Debug)]
pub struct Converted {
    /// The grammar.
    pub grammar: Grammar,
    /// What became of each keyword.
    pub report: Vec<Finding>,
}

/// The grammar of a schema.
pub fn parse(schema: &str, options: &Options, budget: &Budget) -> Result<Converted> {
    let report = check(schema, options, budget)?;
    match report.iter().find(|finding| finding.outcome == Outcome::Refused) {
        Some(refused) => {
            Err(Error::unsupported(refused.note.clone()).at(Place::Pointer(refused.pointer.clone())))
        }
        None => Ok(Converted { grammar: ebnf::builtin_json(), report }),
    }
}

/// What would become of each keyword of a schema.
pub fn check(schema: &str, options: &Options, budget: &Budget) -> Result<Vec<Finding>> {
    budget.check_source(schema)?;
    let outcome = match schema.trim() {
        "" => {
            return Err(
                Error::new(ErrorKind::Syntax, "the schema is not JSON").at(Place::Pointer(String::new()))
            );
        }
        "true" => Outcome::Exact,
        _ if options.on_unsupported == OnUnsupported::Warn => Outcome::Widened,
        _ => Outcome::Refused,
    };
    let note = "JSON Schema is not there yet".to_owned();
    Ok(vec![Finding { pointer: String::new(), keyword: String::new(), outcome, note }])
}
