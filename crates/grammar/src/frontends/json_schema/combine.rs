//! Several schemas in one grammar.
//!
//! There are two meanings. [`all_of`] is one `allOf` across documents: the values that satisfy all of the schemas, and what
//! they leave open together is closed once. [`combine`] is about the texts of grammars that schemas have become: each is
//! closed by itself, and keeps its order of keys. What both share is that the values are put together by the algebra, and
//! written once.

use super::documents::{Document, Documents, Draft};
use super::expand::{Expander, Operand};
use super::values::formula::FormulaId;
use super::{OnUnsupported, Options, Purpose, Spelling, Style, emit, registry};
use crate::error::{Error, ErrorKind, Place, Result};
use crate::ir::{Builder, Grammar};
use crate::limits::Budget;
use crate::passes::trim::matches_nothing;

/// A schema and how it is read and written.
#[derive(Clone, Copy, Debug)]
pub struct SchemaText<'s> {
    /// Its JSON.
    pub text: &'s str,
    /// How it is read and written.
    pub options: &'s Options,
}

/// What is made of schemas, which are named by number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Combination {
    /// What satisfies all of these, closed together.
    Schemas(Vec<u32>),
    /// What is in all of these.
    All(Vec<Combination>),
    /// What is in the first and not in the second.
    Except(Box<Combination>, Box<Combination>),
}

/// The grammar of what satisfies all of the schemas: one `allOf` across documents, each with its own draft and base address.
pub fn all_of(schemas: &[&str], options: &Options, budget: &Budget) -> Result<Grammar> {
    let documents = parse_all(schemas.iter().copied(), budget)?;
    let registry = registry(options, budget)?;
    let mut documents = Documents::of_all(&documents, &registry, Draft::default(), budget)?;
    let starts = documents.starts()?;
    let mut expander = Expander::new(documents, options, Builder::new(budget.limits()), budget);
    expander.purpose = Purpose::Grammar;
    let formulas: Vec<FormulaId> = starts.into_iter().map(|start| expander.formula_of(start)).collect();
    let formula = expander.algebra.formulas.and_all(formulas);
    let (grammar, _) = emit::emit(expander, formula)?;
    match matches_nothing(&grammar, budget) {
        Ok(true) => Err(Error::new(ErrorKind::Invalid, "no value satisfies all of the schemas")),
        Err(error) if matches!(error.kind(), ErrorKind::Limit | ErrorKind::Cancelled) => Err(error),
        // What cannot be decided is for compiling to refuse.
        _ => Ok(grammar),
    }
}

/// The grammar of a combination of the grammars that schemas have become.
pub fn combine(schemas: &[SchemaText<'_>], combination: &Combination, budget: &Budget) -> Result<Grammar> {
    let options = common_options(schemas)?;
    let documents = parse_all(schemas.iter().map(|schema| schema.text), budget)?;
    let registry = registry(&options, budget)?;
    let mut documents = Documents::of_all(&documents, &registry, Draft::default(), budget)?;
    let starts = documents.starts()?;
    let mut expander = Expander::new(documents, &options, Builder::new(budget.limits()), budget);
    let is_strict = schemas.iter().any(|schema| schema.options.strict_mode);
    expander.purpose = Purpose::Grammar;
    expander.tracks_evaluated |= is_strict;
    (expander.algebra.closes, expander.algebra.orders) = (is_strict, !options.any_order);
    let formulas: Vec<FormulaId> = starts.into_iter().map(|start| expander.formula_of(start)).collect();
    let formula = Combiner { schemas, formulas, expander: &mut expander }.formula(combination, true)?;
    emit::emit(expander, formula).map(|(grammar, _)| grammar).map_err(|error| match error.kind() {
        ErrorKind::Invalid => told(&error),
        _ => error,
    })
}

/// An error of a combination that has no text.
fn told(error: &Error) -> Error {
    let why = error.message();
    let told = Error::new(ErrorKind::Invalid, format!("nothing is in all of the grammars: {why}"));
    match error.place() {
        Place::Nowhere => told,
        place => told.at(place.clone()),
    }
}

fn parse_all<'s>(texts: impl Iterator<Item = &'s str>, budget: &Budget) -> Result<Vec<Document<'s>>> {
    let read = |text| {
        budget.check_source(text)?;
        Document::parse(text, budget)
    };
    texts.map(read).collect()
}

struct Combiner<'c, 's, 'e, 'b> {
    schemas: &'c [SchemaText<'s>],
    formulas: Vec<FormulaId>,
    expander: &'e mut Expander<'b>,
}

impl Combiner<'_, '_, '_, '_> {
    /// The formula of a combination, whose schemas keep their order of keys if they are to.
    fn formula(&mut self, combination: &Combination, keeps_order: bool) -> Result<FormulaId> {
        match combination {
            Combination::Schemas(numbers) => {
                let Some(&first) = numbers.first() else { return Ok(FormulaId::ANY) };
                let options = self.schemas[first as usize].options;
                let is_ordered = keeps_order && !options.any_order;
                let operand = Operand { is_strict: options.strict_mode, is_ordered };
                let operands = &mut self.expander.operands;
                operands.push(operand);
                let at = operands.len() as u32 - 1;
                let formulas = numbers.iter().map(|&number| self.formulas[number as usize]);
                let formula = self.expander.algebra.formulas.and_all(formulas);
                Ok(self.expander.algebra.formulas.operand(formula, at))
            }
            Combination::All(all) => {
                let formulas: Vec<FormulaId> =
                    all.iter().map(|one| self.formula(one, keeps_order)).collect::<Result<_>>()?;
                Ok(self.expander.algebra.formulas.and_all(formulas))
            }
            Combination::Except(kept, excluded) => {
                let kept = self.formula(kept, keeps_order)?;
                let excluded = self.formula(excluded, false)?;
                let formulas = &mut self.expander.algebra.formulas;
                let excluded = formulas.not(excluded);
                Ok(formulas.and(kept, excluded))
            }
        }
    }
}

/// How what the schemas have in common is read and written.
fn common_options(schemas: &[SchemaText<'_>]) -> Result<Options> {
    let Some((first, rest)) = schemas.split_first() else {
        return Err(Error::new(ErrorKind::Invalid, "there is no schema"));
    };
    let mut common = first.options.clone();
    for schema in rest {
        let other = schema.options;
        common.any_order &= other.any_order;
        if common.spelling != other.spelling {
            common.spelling = Spelling::Canonical;
        }
        let layout = narrower(&common, other)?.clone();
        (common.any_whitespace, common.max_whitespace) = (layout.any_whitespace, layout.max_whitespace);
        (common.indent, common.separators) = (layout.indent, layout.separators);
        for (uri, text) in &other.registry {
            match common.registry.iter().find(|(known, _)| known == uri) {
                Some((_, known)) if known != text => {
                    let message =
                        format!("the registries of the schemas have different documents at {uri:?}");
                    return Err(Error::unsupported(message));
                }
                Some(_) => {}
                None => common.registry.push((uri.clone(), text.clone())),
            }
        }
        let readings = [&common, other].map(|options| {
            (
                options.formats,
                options.on_unsupported,
                options.coerce_one_of,
                &options.excludes,
                &options.patterns,
            )
        });
        if readings[0] != readings[1] || common.style != other.style {
            let message = "the schemas are read or written in different ways (formats, styles, or patterns of white space)";
            return Err(Error::unsupported(message).with_help("give the same options to both"));
        }
    }
    if common.on_unsupported == OnUnsupported::Warn || common.style != Style::Json {
        let message = "schemas of which something may be left out, or that are no JSON, cannot be combined by their values";
        return Err(Error::unsupported(message));
    }
    // Each is closed by itself.
    common.strict_mode = false;
    Ok(common)
}

/// Of two ways to lay out JSON the one of which all texts are laid out in the other way too.
fn narrower<'o>(one: &'o Options, other: &'o Options) -> Result<&'o Options> {
    let layouts = [one, other]
        .map(|options| (options.any_whitespace, options.indent, &options.separators, options.max_whitespace));
    let is_free = |options: &Options| options.any_whitespace && options.max_whitespace.is_none();
    // On one line, with a space or none behind separators: that is free white space too.
    let is_plain = |options: &Options| {
        let blank = |text: &str| {
            text.trim_start_matches([',', ':']).trim_end_matches(' ').is_empty() && text.len() <= 2
        };
        let separators = options.separators.as_ref();
        !options.any_whitespace
            && options.indent.is_none()
            && separators.is_none_or(|(item, key)| blank(item) && blank(key))
    };
    // Where all white space is free in one of them, it is so whatever bounds the other has.
    let is_unbounded = |options: &Options| is_free(options) && options.spelling == Spelling::Any;
    if layouts[0] == layouts[1] || is_plain(one) && is_free(other) || is_unbounded(other) {
        return Ok(one);
    }
    if is_plain(other) && is_free(one) || is_unbounded(one) {
        return Ok(other);
    }
    let message =
        "the schemas are laid out with different white space, so the texts that are in both are few or none";
    Err(Error::unsupported(message)
        .with_help("give the same any_whitespace, max_whitespace_cnt, indent and separators to both"))
}
