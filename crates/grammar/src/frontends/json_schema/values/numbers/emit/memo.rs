//! The expressions of sets of numbers that were met before, in this process.
//!
//! Schemas ask for few sets: all numbers, all integers, those from zero or one on, percentages, ports. To find the digits
//! of their bounds takes longer than everything else that is done for a number.

use std::sync::{Arc, LazyLock};

use hashbrown::HashMap;
use parking_lot::Mutex;

use super::super::condition::Condition;
use super::super::decimal::Decimal;
use super::super::interval::Cut;
use super::{Forms, NumberSet};
use crate::error::Result;
use crate::ir::{Automaton, Builder, ExprId, Fragment, RuleOptions};
use crate::limits::Budget;
use crate::regular::determinize;

/// So many sets are remembered. When there are more, all are forgotten.
const MAX_SETS: usize = 1_000;

/// A set of more pieces than this is not remembered.
const MAX_PIECES: usize = 8;

/// A set whose expression takes more than this is not remembered.
const MAX_BYTES: usize = 64 << 10;

type Known = HashMap<(NumberSet, Forms), Arc<Fragment>>;

static KNOWN: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);

/// The JSON spellings of the numbers of a set.
pub fn emit(set: &NumberSet, forms: Forms, builder: &mut Builder, budget: &Budget) -> Result<ExprId> {
    if set.pieces().len() > MAX_PIECES {
        return super::compute(set, forms, builder, budget);
    }
    let key = (set.clone(), forms);
    let known = KNOWN.lock().get(&key).cloned();
    if let Some(known) = known {
        return known.copy_into(builder, budget);
    }
    let fragment = Arc::new(make(set, forms, budget)?);
    if fragment.memory_bytes() <= MAX_BYTES {
        let mut all = KNOWN.lock();
        if all.len() >= MAX_SETS {
            all.clear();
        }
        all.insert(key, Arc::clone(&fragment));
    }
    fragment.copy_into(builder, budget)
}

/// The expression of a set, by itself.
fn make(set: &NumberSet, forms: Forms, budget: &Budget) -> Result<Fragment> {
    let mut own = Builder::new(budget.limits());
    let rule = own.declare("root");
    let expr = super::compute(set, forms, &mut own, budget)?;
    if forms.canonical || !is_common(set) {
        return Ok(Fragment::new(&own, expr));
    }
    own.define(rule, expr, RuleOptions::default());
    let grammar = own.finish(rule)?;
    let dfa = Arc::new(determinize(&grammar, expr, budget)?);
    let text = grammar.to_string();
    let source = format!("({})", text.trim_start_matches("root ::= ").trim_end()).into();
    let mut own = Builder::new(budget.limits());
    let automaton = own.automaton(Automaton { source, dfa: dfa.into() });
    Ok(Fragment::new(&own, automaton))
}

/// Whether nearly every schema asks for the set: whole or all numbers without bounds, or from zero or one on.
///
/// As one automaton it is one expression for all passes, where the spellings of an integer are forty.
fn is_common(set: &NumberSet) -> bool {
    let is_low = |cut: &Cut| {
        let bounds = [Decimal::zero(), Decimal::from(1)];
        *cut == Cut::Start || bounds.into_iter().any(|bound| *cut == Cut::below(bound))
    };
    let one = Decimal::from(1);
    let is_step = |condition: &Condition| condition.is_anything() || condition.single_step() == Some(&one);
    matches!(set.pieces(), [piece]
        if piece.interval.high == Cut::End && is_low(&piece.interval.low) && is_step(&piece.condition))
}
