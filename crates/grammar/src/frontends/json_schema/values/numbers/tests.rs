//! Emitted texts and the algebra, both against exact arithmetic.

mod algebra;
mod canonical;
mod decimals;
mod hostile;
mod known;
mod random;

use super::{Decimal, Forms, NumberSet, emit};
use crate::ir::{Builder, RuleOptions};
use crate::regular::{Dfa, determinize};
use crate::{Budget, Limits, Result};

fn decimal(text: &str) -> Decimal {
    Decimal::parse(text).unwrap()
}

fn all_of(sets: impl IntoIterator<Item = NumberSet>) -> NumberSet {
    let budget = Budget::default();
    sets.into_iter().fold(NumberSet::all(), |all, set| all.intersect(&set, &budget).unwrap())
}

/// `text` is a list of conditions: `int`, `%step`, `>=n`, `>n`, `<=n`, `<n`, `=n`, and `!` before one for its negation.
fn set(text: &str) -> NumberSet {
    all_of(text.split_whitespace().map(condition))
}

fn condition(text: &str) -> NumberSet {
    if let Some(rest) = text.strip_prefix('!') {
        return condition(rest).complement(&Budget::default()).unwrap();
    }
    let number = |prefix: &str| text.strip_prefix(prefix).map(decimal);
    if let Some(bound) = number(">=") {
        NumberSet::at_least(bound)
    } else if let Some(bound) = number("<=") {
        NumberSet::at_most(bound)
    } else if let Some(bound) = number(">") {
        NumberSet::more_than(bound)
    } else if let Some(bound) = number("<") {
        NumberSet::less_than(bound)
    } else if let Some(value) = number("=") {
        NumberSet::exactly(&value)
    } else if let Some(step) = number("%") {
        NumberSet::multiple_of(&step).unwrap()
    } else {
        assert_eq!(text, "int");
        NumberSet::integers()
    }
}

fn try_language(set: &NumberSet, forms: Forms) -> Result<Dfa> {
    let budget = Budget::default();
    let mut builder = Builder::new(&Limits::default());
    let expr = emit(set, forms, &mut builder, &budget)?;
    determinize(&builder, expr, &budget)
}

fn language(set: &NumberSet) -> Dfa {
    try_language(set, Forms::default()).unwrap()
}

/// The expression of a set as EBNF, and how many expressions were made for it.
fn printed(set: &NumberSet, forms: Forms) -> String {
    let mut builder = Builder::new(&Limits::default());
    let expr = emit(set, forms, &mut builder, &Budget::default()).unwrap();
    let root = builder.declare("root");
    builder.define(root, expr, RuleOptions::default());
    let text = builder.finish(root).unwrap().to_string();
    text.trim().strip_prefix("root ::= ").unwrap().to_owned()
}
