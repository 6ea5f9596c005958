//! Sets of JSON numbers, and the texts that spell them.
//!
//! `minimum`, `maximum` and their exclusive forms are intervals, `multipleOf` is a grid of equal steps through zero, and
//! `type: integer` is the grid of step one. A [`NumberSet`] is closed under intersection, union and complement of these,
//! exactly: a number is what its text says, `0.1` is a tenth, and nothing here ever rounds.
//!
//! A set is a set of values, in which `1`, `1.0` and `10e-1` are one. Which of the spellings of a value are accepted is
//! the business of [`emit`]; see there for what can be regular and what cannot.
//!
//! Reading order: [`Decimal`], a number; `steps`, the arithmetic of grids; `condition`, boolean combinations of grids;
//! `interval`, pieces of the line; [`NumberSet`], conditions on pieces of the line; [`emit`], sets as expressions;
//! `text`, which lets the printer print what became an automaton.

mod condition;
mod decimal;
mod emit;
mod interval;
mod set;
mod steps;
mod text;

#[cfg(test)]
mod tests;

pub use decimal::Decimal;
pub use emit::{Forms, emit};
pub use set::NumberSet;
pub(crate) use text::float_text;

use crate::error::Result;
use crate::ir::{Automaton, Builder, RuleOptions};
use crate::limits::Budget;

/// The rule of all numbers in canonical spelling, as EBNF text under this name.
pub(crate) fn canonical_rule(name: &str, budget: &Budget) -> Result<String> {
    let mut builder = Builder::new(budget.limits());
    let rule = builder.declare("root");
    let forms = Forms { canonical: true, ..Forms::default() };
    let body = emit(&NumberSet::all(), forms, &mut builder, budget)?;
    builder.define(rule, body, RuleOptions::default());
    Ok(builder.finish(rule)?.to_string().replacen("root", name, 1))
}

/// The automaton that `text` describes: plain decimal spellings without a sign; with a point only if `points`.
pub(crate) fn decimals(text: &str, points: bool, budget: &Budget) -> Result<Automaton> {
    emit::automaton(&set::Piece::parse(text)?, points, budget)
}
