//! JSON Schema, drafts 4 to 2020-12.
//!
//! A schema is a set of JSON values. It is read as one, in an algebra that is closed under intersection, union and
//! complement, and the set is then written down as a grammar. No keyword is a special case of another's code, siblings
//! are always conjoined, and what cannot be exact is refused with its place and the reason.
//!
//! ```text
//!  text -> documents (drafts, $ref) -> formulas over schemas -> sets of values -> expressions
//!          documents/                  values/formula.rs        values/, keywords/,  emit/
//!                                                               expand.rs, formats/
//! ```
//!
//! Reading order: `documents`, `values`, `expand`, `keywords`, `formats`, `emit`, `diagnosis`.

#[doc(hidden)]
pub mod admits;
mod combine;
mod diagnosis;
pub mod documents;
mod embedded;
mod emit;
mod expand;
pub mod formats;
pub mod keywords;
mod report;
mod spelling;
mod style;
pub mod values;

use diagnosis::Case;
use documents::{Document, Documents, Draft};
use expand::Expander;
use values::languages::Known;

use crate::error::{Error, ErrorKind, Place, Result};
use crate::ir::{Builder, ExprId, Grammar};
use crate::limits::Budget;
use crate::machine::Machine;
use crate::passes::trim::{GENERATES_NOTHING, matches_nothing};

pub use combine::{Combination, SchemaText, all_of, combine};
pub use embedded::Embedded;
pub use report::{Finding, Outcome, Report};
pub use spelling::Spelling;
pub use style::Style;

/// Whether formats are enforced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Formats {
    /// A string of a known format is of that format.
    #[default]
    Assert,
    /// Formats say nothing.
    Annotate,
}

/// What happens to a keyword that cannot be enforced exactly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OnUnsupported {
    /// The schema is refused.
    #[default]
    Refuse,
    /// The keyword is left out, and the report says so.
    Warn,
}

/// How a schema is read and how its values are written.
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own that callers name")]
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Options {
    /// Any white space between the tokens of JSON; else just what `indent` and `separators` say.
    pub any_whitespace: bool,
    /// The width of the indentation, where white space is not free; `None` is one line.
    pub indent: Option<u32>,
    /// What stands between items, and between key and value, where white space is not free.
    pub separators: Option<(String, String)>,
    /// Whether what a schema leaves open is closed; see `keywords/strict.rs`.
    pub strict_mode: bool,
    /// The most white space at one place, where it is free. `None` is what printers write in canonical spelling, and no bound
    /// in any other.
    pub max_whitespace: Option<u32>,
    /// Whether the keys of an object may come in any order.
    pub any_order: bool,
    /// Whether formats are enforced.
    pub formats: Formats,
    /// What happens to what cannot be exact.
    pub on_unsupported: OnUnsupported,
    /// Whether `oneOf` is read as `anyOf`, because somebody says that its branches have nothing in common.
    pub coerce_one_of: bool,
    /// Documents that references may name: address and JSON text.
    pub registry: Vec<(String, String)>,
    /// Which of the texts of a value are written.
    pub spelling: Spelling,
    /// How values are written.
    pub style: Style,
    /// Strings that no key and no string of the value may hold.
    pub excludes: Vec<String>,
    /// What stands between the tokens of JSON, by patterns.
    pub patterns: Patterns,
}

/// Regular expressions for what stands between the tokens of JSON, where texts and counts do not say it: llguidance's
/// way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Patterns {
    /// White space: it may stand once between two tokens. Comes before `any_whitespace`.
    pub whitespace: Option<String>,
    /// What stands between items, with free white space around it.
    pub item_separator: Option<String>,
    /// What stands between key and value, the same.
    pub key_separator: Option<String>,
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
            coerce_one_of: false,
            registry: Vec::new(),
            spelling: Spelling::default(),
            style: Style::Json,
            excludes: Vec::new(),
            patterns: Patterns::default(),
        }
    }
}

/// A grammar and what became of the keywords of its schema.
#[derive(Clone, Debug)]
pub struct Converted {
    /// The grammar.
    pub grammar: Grammar,
    /// What became of each keyword.
    pub report: Report,
}

/// The grammar of a schema.
pub fn parse(schema: &str, options: &Options, budget: &Budget) -> Result<Converted> {
    budget.check_source(schema)?;
    convert(&Document::parse(schema, budget)?, options, budget)
}

/// The grammar of a schema, where nobody asks what became of its keywords.
pub fn grammar(schema: &str, options: &Options, budget: &Budget) -> Result<Grammar> {
    budget.check_source(schema)?;
    Ok(convert_for(Purpose::Grammar, &Document::parse(schema, budget)?, options, budget)?.grammar)
}

/// What a schema is converted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Its grammar, and what became of its keywords.
    Report,
    /// Its grammar alone.
    Grammar,
    /// To be compiled at once: what compiling finds out does not have to be found before. See [`explained`].
    Machine,
}

/// What a schema becomes on the way to a machine.
#[derive(Debug)]
pub enum Lowered {
    /// The machine itself: of a schema that says nothing unusual.
    Machine(Box<Machine>),
    /// A grammar, which the passes lower.
    Grammar(Grammar),
}

/// A schema for whoever compiles it, and does not ask for its grammar nor for what became of its keywords.
pub fn lowered(schema: &str, options: &Options, budget: &Budget) -> Result<Lowered> {
    budget.check_source(schema)?;
    let document = Document::parse(schema, budget)?;
    if let Some(machine) = emit::machine(&document, options, budget)? {
        return Ok(Lowered::Machine(Box::new(machine)));
    }
    Ok(Lowered::Grammar(convert_for(Purpose::Machine, &document, options, budget)?.grammar))
}

/// The grammar of a schema that was read already.
pub fn convert(root: &Document<'_>, options: &Options, budget: &Budget) -> Result<Converted> {
    convert_for(Purpose::Report, root, options, budget)
}

fn convert_for(
    purpose: Purpose,
    root: &Document<'_>,
    options: &Options,
    budget: &Budget,
) -> Result<Converted> {
    let registry = registry(options, budget)?;
    let mut documents = Documents::new(root, &registry, Draft::default(), budget)?;
    let start = documents.start()?;
    let mut expander = Expander::new(documents, options, Builder::new(budget.limits()), budget);
    expander.purpose = purpose;
    let formula = expander.formula_of(start);
    let (grammar, expander) = emit::emit(expander, formula)
        .map_err(|error| Case { root, registry: &registry, options, budget }.explained(error))?;
    Ok(Converted { grammar, report: expander.into_report() })
}

/// The documents that references may name.
fn registry<'o>(options: &'o Options, budget: &Budget) -> Result<Vec<(String, Document<'o>)>> {
    let documents = options.registry.iter().map(|(uri, text)| {
        let document = Document::parse(text, budget);
        document.map(|document| (uri.clone(), document)).map_err(|error| {
            Error::new(error.kind(), format!("the registered document {uri:?}: {}", error.message()))
        })
    });
    documents.collect()
}

/// Fails if the grammar of a schema has no text, and says why.
///
/// A conversion finds out only what it comes across. Compiling finds the rest, see [`explained`]; this is for whoever
/// does not compile.
pub fn check_inhabited(grammar: &Grammar, schema: &str, options: &Options, budget: &Budget) -> Result<()> {
    match matches_nothing(grammar, budget) {
        Ok(true) => {
            let error = Error::new(ErrorKind::Invalid, GENERATES_NOTHING);
            Err(explained(error, schema, options, budget))
        }
        Err(error) if matches!(error.kind(), ErrorKind::Limit | ErrorKind::Cancelled) => Err(error),
        // What cannot be decided is for compiling to refuse.
        _ => Ok(()),
    }
}

/// An error of compiling the grammar of a schema: what contradicts what, if no value satisfies the schema, and where it is
/// that members cannot be decided.
pub fn explained(error: Error, schema: &str, options: &Options, budget: &Budget) -> Error {
    if *error.place() != Place::Nowhere {
        return error;
    }
    let (Ok(root), Ok(registry)) = (Document::parse(schema, budget), registry(options, budget)) else {
        return error;
    };
    match error.kind() {
        ErrorKind::Invalid => {
            let told = Case { root: &root, registry: &registry, options, budget }.diagnosed(error);
            // The rules of the grammar mean nothing to who wrote the schema.
            let is_of_grammar = *told.place() == Place::Nowhere && told.message() == GENERATES_NOTHING;
            if is_of_grammar { unwritable() } else { told }
        }
        // The same error has its place there. Another one would only say what was spent before.
        ErrorKind::Unsupported | ErrorKind::Limit if budget.check().is_ok() => {
            let budget = budget.attempt(usize::MAX);
            let again = convert_for(Purpose::Grammar, &root, options, &budget).err();
            let is_same = |again: &Error| (again.kind(), again.message()) == (error.kind(), error.message());
            again.filter(is_same).unwrap_or(error)
        }
        _ => error,
    }
}

/// Why the values of a schema cannot be written in the spelling that is asked for, if that is why.
pub(crate) fn unwritten(schema: &str, options: &Options, budget: &Budget) -> Option<Error> {
    let root = Document::parse(schema, budget).ok()?;
    let error = convert_for(Purpose::Grammar, &root, options, budget).err()?;
    (error.kind() == ErrorKind::Unsupported).then_some(error)
}

/// The error of a schema of which is not known why it has no value that can be written.
fn unwritable() -> Error {
    Error::new(ErrorKind::Invalid, "no value of the schema can be written").at(Place::Pointer(String::new()))
}

/// What schemas that go into one grammar share.
#[derive(Debug)]
pub(crate) struct Shared {
    /// Where all of it is built.
    pub(crate) builder: Builder,
    known: Known,
}

impl Shared {
    pub(crate) fn new(builder: Builder) -> Self {
        Shared { builder, known: Known::default() }
    }
}

/// The expression of a schema in a grammar that is being built. Its rules have names that others may have too. The options
/// have no registry.
pub(crate) fn convert_into(
    shared: &mut Shared,
    root: &Document<'_>,
    options: &Options,
    budget: &Budget,
) -> Result<ExprId> {
    let mut documents = Documents::new(root, &[], Draft::default(), budget)?;
    let start = documents.start()?;
    let builder = std::mem::replace(&mut shared.builder, Builder::lent());
    let mut expander = Expander::new(documents, options, builder, budget);
    expander.purpose = Purpose::Grammar;
    expander.algebra.languages.known = std::mem::take(&mut shared.known);
    let formula = expander.formula_of(start);
    let (expr, expander) = emit::emit_into(expander, formula)
        .map_err(|error| Case { root, registry: &[], options, budget }.explained(error))?;
    shared.builder = expander.algebra.languages.builder;
    shared.known = expander.algebra.languages.known;
    Ok(expr)
}

/// What would become of each keyword of a schema; a refusal is a finding and not an error.
pub fn check(schema: &str, options: &Options, budget: &Budget) -> Result<Vec<Finding>> {
    match parse(schema, options, budget) {
        Ok(converted) => {
            check_inhabited(&converted.grammar, schema, options, budget)?;
            Ok(converted.report.findings())
        }
        Err(error) if error.kind() == ErrorKind::Unsupported => {
            let lenient = Options { on_unsupported: OnUnsupported::Warn, ..options.clone() };
            let refused = |mut finding: Finding| {
                if finding.outcome == Outcome::Widened {
                    finding.outcome = Outcome::Refused;
                }
                finding
            };
            match parse(schema, &lenient, budget) {
                Ok(converted) => Ok(converted.report.findings().into_iter().map(refused).collect()),
                Err(_) => Ok(vec![refusal(&error)]),
            }
        }
        Err(error) => Err(error),
    }
}

fn refusal(error: &Error) -> Finding {
    let pointer = match error.place() {
        Place::Pointer(pointer) => pointer.clone(),
        _ => String::new(),
    };
    let (above, keyword) = pointer.rsplit_once('/').unwrap_or(("", ""));
    let note = match error.help() {
        Some(help) => format!("{}; {help}", error.message()),
        None => error.message().to_owned(),
    };
    Finding {
        pointer: above.into(),
        keyword: keyword.to_owned().into(),
        outcome: Outcome::Refused,
        note: note.into(),
    }
}
