//! The conditions of the lists in a grammar.
//!
//! Whether a list can be completed depends on which of its parts match something, and on how many keys there are for
//! the others. Both are facts about the grammar, gathered here for the passes and for the oracle.

use std::cmp::Reverse;
use std::sync::Arc;

use super::key_languages::KeyLanguages;
use crate::error::{Error, ErrorKind, Result};
use crate::ir::members::{Count, Entry, Layout, Order, Others, Part, Variant};
use crate::ir::{Expr, ExprId, Grammar};
use crate::limits::Budget;
use crate::members::{Conditions, capacity};
use crate::regular::{Dfa, determinize};

/// The conditions of a list with those parts that match something, as `is_live` says.
pub(super) fn conditions(
    languages: &KeyLanguages<'_>,
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
            Some(keys) if !languages.are_endless(keys) && !languages.are_plenty(keys) => {
                capacity(&*languages.of(keys, budget)?, layout.keys())
            }
            _ => None,
        });
    }
    Conditions::new(layout, &capacities, &|part| is_live(parts[part as usize]), budget)
}

/// Whether some list meets the conditions, where that is plain: the list of all entries that can be there, each written so
/// that it counts for most of what is still missing.
pub(super) fn is_plainly_satisfiable(
    languages: &KeyLanguages<'_>,
    layout: &Layout,
    parts: &[ExprId],
    is_live: &dyn Fn(ExprId) -> bool,
) -> bool {
    let is_live = |part: u32| parts.get(part as usize).is_some_and(|&part| is_live(part));
    let has_texts = |part: u32| parts.get(part as usize).is_some_and(|&part| languages.are_some(part));
    let is_writable = |entry: &Entry| entry.variants.iter().any(|variant| is_live(variant.value));
    let is_there = |entry: u32| layout.entries.get(entry as usize).is_some_and(is_writable);
    layout.order != Order::Sequence
        && is_live(layout.separator)
        && layout.entries.iter().all(|entry| !entry.required || is_writable(entry))
        && layout.implies.iter().all(|&(first, second)| !is_there(first) || is_there(second))
        && counts_are_met(layout, &is_live, &has_texts)
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

/// Whether that list has as many members as it should, or has with one of each of the others.
fn counts_are_met(layout: &Layout, is_live: &dyn Fn(Part) -> bool, has_texts: &dyn Fn(Part) -> bool) -> bool {
    let bounds = &layout.counters;
    if bounds.is_empty() {
        return true;
    }
    let mut counts = vec![0_u32; bounds.len()];
    // Some key of the others is there for sure where no entry takes it from them.
    let has_keys = layout.entries.iter().any(|entry| entry.key.is_some());
    let is_there = |others: &&Others| others.keys.is_none_or(|keys| !has_keys && has_texts(keys));
    let entries = layout.entries.iter().map(|entry| (&entry.variants, true));
    let others = layout.others.iter().filter(is_there).map(|others| (&others.variants, false));
    for (variants, is_entry) in entries.chain(others) {
        let is_missing = |&&counter: &&u32| {
            let at = counter as usize;
            bounds.get(at).is_some_and(|bounds| counts[at] < bounds.min)
        };
        let gain = |variant: &&Variant| variant.counters.iter().filter(is_missing).count();
        let written = variants.iter().filter(|variant| is_live(variant.value));
        let written = written.min_by_key(|variant| Reverse(gain(variant)));
        let Some(written) = written.filter(|written| is_entry || gain(written) > 0) else { continue };
        for &counter in &written.counters {
            let Some(count) = counts.get_mut(counter as usize) else { return false };
            *count += 1;
        }
    }
    let is_met =
        |(count, bounds): (&u32, &Count)| *count >= bounds.min && bounds.max.is_none_or(|max| *count <= max);
    counts.iter().zip(bounds).all(is_met)
}

/// The texts of a regular expression.
pub fn language(grammar: &Grammar, expr: ExprId, budget: &Budget) -> Result<Arc<Dfa>> {
    let dfa = match grammar.expr(expr) {
        Expr::Automaton(automaton) => Arc::clone(automaton.dfa.get()),
        _ => Arc::new(determinize(grammar, expr, budget)?),
    };
    if dfa.is_text(budget)? { Ok(dfa) } else { Ok(Arc::new(dfa.intersection(Dfa::any_text(), budget)?)) }
}
