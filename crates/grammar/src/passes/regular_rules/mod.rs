//! Recursive rules that match a regular language become automata.
//!
//! `a ::= [a-z]+ a? [a-z]* a?` looks like a language with a stack, and is `[a-z]+`. The engine would carry the stacks of all
//! the ways to read a text, whose number grows with it. So each strongly connected component of rules that call each other is
//! solved as a system of equations over regular languages (Kleene's iteration): what its rules match where calls match
//! nothing, then where calls match that, and so on. Each round is a subset of what the rules match. When a round adds nothing,
//! the languages are a solution of the equations, and no solution is smaller than what the rules match: so they are equal.
//!
//! A round follows calls that are the last of their rule without an end, and the next one those that are the first, so that
//! what recurses at one end is whole after one round (Mohri and Nederhof's strongly regular grammars). Where there is no end
//! of rounds, or the automata grow beyond a bound, the rules stay as they are.

mod languages;
mod layout;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use self::languages::{Component, Languages};
use self::layout::{Followed, languages_of_rules};
use super::analysis::rule_references;
use super::graph::strong_components;
use super::rewrite::Rewriter;
use crate::error::{ErrorKind, Result};
use crate::ir::{Automaton, Builder, Expr, ExprId, Grammar};
use crate::limits::Budget;
use crate::regular::Dfa;

/// How many rounds are made for a component.
const ROUNDS: usize = 8;

/// How many states the automata of a round may have.
const STATES: usize = 2_000;

/// How many units of work the rounds of a component may take.
const TICKS: u32 = 1 << 19;

/// `grammar` with the recursive rules that are regular as automata.
pub fn replace(grammar: Grammar, budget: &Budget) -> Result<Grammar> {
    Ok(replaced(&grammar, budget)?.unwrap_or(grammar))
}

pub(super) fn replaced(grammar: &Grammar, budget: &Budget) -> Result<Option<Grammar>> {
    let named = holding_rules(grammar);
    if !named.contains(&true) {
        return Ok(None);
    }
    let graph = rule_references(grammar, |id| named[id.index()]);
    let components = strong_components(&graph);
    if components.circles(&graph).next().is_none() {
        return Ok(None);
    }
    let mut languages = Languages::new(grammar)?;
    let mut is_changed = false;
    for rules in components.iter() {
        let Some(component) = languages.recursive(&graph, rules) else { continue };
        if let Some(found) = solve(&component, budget)? {
            languages.define(rules, found);
            is_changed = true;
        }
    }
    if is_changed { rewrite(&languages, &named, budget).map(Some) } else { Ok(None) }
}

/// Which expressions name a rule, or are made of such that do.
fn holding_rules(grammar: &Grammar) -> Vec<bool> {
    let mut named: Vec<bool> = Vec::with_capacity(grammar.exprs().len());
    for (_, expr) in grammar.exprs() {
        let is_named = expr.names_rules() || expr.children().iter().any(|child| named[child.index()]);
        named.push(is_named);
    }
    named
}

/// The languages of the rules of a component, if they are found to be regular.
fn solve(component: &Component<'_>, budget: &Budget) -> Result<Option<Vec<Dfa>>> {
    let attempt = budget.attempt(STATES);
    let mut known = nothing(component, &attempt)?;
    for round in 0..ROUNDS {
        let followed = if round % 2 == 0 { Followed::Last } else { Followed::First };
        let found = match languages_of_rules(component, &known, followed, &attempt) {
            Err(error) if error.kind() == ErrorKind::Limit => {
                budget.check()?;
                return Ok(None);
            }
            found => found?,
        };
        if found == known {
            return Ok(Some(known));
        }
        if attempt.ticks() > TICKS {
            return Ok(None);
        }
        known = found;
    }
    Ok(None)
}

/// The empty language for each rule.
fn nothing(component: &Component<'_>, budget: &Budget) -> Result<Vec<Dfa>> {
    let empty = crate::regular::DfaBuilder::new().finish(budget)?;
    Ok(vec![empty; component.bodies().len()])
}

/// The grammar with automata in the place of rules whose languages were found.
fn rewrite(languages: &Languages<'_>, named: &[bool], budget: &Budget) -> Result<Grammar> {
    let grammar = languages.grammar;
    let mut copy = Rewriter::within(grammar, budget, |id| !named[id.index()]);
    let automata: Vec<Option<ExprId>> = grammar
        .rules()
        .map(|(id, rule)| {
            let language = languages.of_rules[id.index()].as_ref()?;
            Some(automaton(&mut copy.builder, &rule.name, language))
        })
        .collect();
    for (id, rule) in grammar.rules() {
        let body = match automata[id.index()] {
            Some(automaton) => automaton,
            None => copy.copy(rule.body, budget, &mut |_, _, expr| match expr {
                Expr::Rule(callee) => Ok(automata[callee.index()]),
                _ => Ok(None),
            })?,
        };
        copy.define(id, body);
    }
    copy.finish()
}

fn automaton(builder: &mut Builder, rule: &str, language: &Dfa) -> ExprId {
    let source = format!("rule {rule}").into();
    builder.automaton(Automaton { source, dfa: Arc::new(language.clone()).into() })
}
