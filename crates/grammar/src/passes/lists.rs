//! The conditions of the lists in a grammar.
//!
//! Whether a list can be completed depends on which of its parts match something, and on how many keys there are for
//! the others. Both are facts about the grammar, gathered here for the passes and for the oracle.

use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result};
use crate::ir::members::{Count, Entry, Layout, Order};
use crate::ir::{Expr, ExprId, Grammar};
use crate::limits::Budget;
use crate::members::{Conditions, capacity};
use crate::regular::{Dfa, determinize};

/// The conditions of a list of `grammar` with those parts that match something, as `is_live` says.
pub fn conditions(
    grammar: &Grammar,
    layout: &Layout,
    parts: &[ExprId],
    is_live: &dyn Fn(ExprId) -> bool,
    budget: &Budget,
) -> Result<Conditions> {
    layout.check(parts.len())?;
    if !is_live(parts[layout.separator as usize]) {
        let message = "the separator of a list of members matches nothing";
        return Err(Error::new(ErrorKind::Invalid, message));
    }
    let mut capacities = Vec::with_capacity(layout.others.len());
    for others in &layout.others {
        budget.tick()?;
        capacities.push(match others.keys.map(|keys| parts[keys as usize]) {
            Some(keys) if !is_live(keys) => Some(0),
            Some(keys) if !is_endless(grammar, keys) => {
                capacity(&*language(grammar, keys, budget)?, layout.keys())
            }
            _ => None,
        });
    }
    Conditions::new(layout, &capacities, &|part| is_live(parts[part as usize]), budget)
}

/// Whether some list meets the conditions, where that is plain: the list of all entries that can be there, each written
/// in the first way that it can be.
pub(super) fn is_plainly_satisfiable(
    layout: &Layout,
    parts: &[ExprId],
    is_live: &dyn Fn(ExprId) -> bool,
) -> bool {
    let is_live = |part: u32| parts.get(part as usize).is_some_and(|&part| is_live(part));
    let written = |entry: &Entry| entry.variants.iter().position(|variant| is_live(variant.value));
    let chosen: Vec<Option<usize>> = layout.entries.iter().map(written).collect();
    let is_there = |entry: u32| chosen.get(entry as usize).is_some_and(Option::is_some);
    layout.order != Order::Sequence
        && is_live(layout.separator)
        && layout.entries.iter().zip(&chosen).all(|(entry, chosen)| !entry.required || chosen.is_some())
        && layout.implies.iter().all(|&(first, second)| !is_there(first) || is_there(second))
        && counts_are_met(layout, &chosen)
}

/// Whether no list meets the conditions, where that is plain: an entry that must be there cannot be.
pub(super) fn is_plainly_unsatisfiable(
    layout: &Layout,
    parts: &[ExprId],
    is_live: &dyn Fn(ExprId) -> bool,
) -> bool {
    let is_live = |part: u32| parts.get(part as usize).is_some_and(|&part| is_live(part));
    let is_there = |entry: &Entry| entry.variants.iter().any(|variant| is_live(variant.value));
    layout.entries.iter().any(|entry| entry.required && !is_there(entry))
}

/// Whether the list of those entries that are chosen, each in the way that is chosen, has as many members as it should.
fn counts_are_met(layout: &Layout, chosen: &[Option<usize>]) -> bool {
    let mut counts = vec![0_u32; layout.counters.len()];
    for (entry, chosen) in layout.entries.iter().zip(chosen) {
        for &counter in chosen.iter().flat_map(|&way| &entry.variants[way].counters) {
            let Some(count) = counts.get_mut(counter as usize) else { return false };
            *count += 1;
        }
    }
    let is_met =
        |(count, bounds): (&u32, &Count)| *count >= bounds.min && bounds.max.is_none_or(|max| *count <= max);
    counts.iter().zip(&layout.counters).all(is_met)
}

/// Whether an expression is plainly without end, and every beginning of its texts too. That others are not so plain does
/// not say that they end.
pub(super) fn is_endless(grammar: &Grammar, expr: ExprId) -> bool {
    match grammar.expr(expr) {
        Expr::Repeat { body, max: None, .. } => matches!(grammar.expr(*body), Expr::Class(_)),
        _ => false,
    }
}

/// The texts of a regular expression.
pub fn language(grammar: &Grammar, expr: ExprId, budget: &Budget) -> Result<Arc<Dfa>> {
    let dfa = match grammar.expr(expr) {
        Expr::Automaton(automaton) => Arc::clone(automaton.dfa.get()),
        _ => Arc::new(determinize(grammar, expr, budget)?),
    };
    if dfa.is_text(budget)? { Ok(dfa) } else { Ok(Arc::new(dfa.intersection(Dfa::any_text(), budget)?)) }
}
