//! Conjunctions and complements become automata.
//!
//! They are determinised here, ahead of time and within the limit on states, so that the engine never meets a state
//! that cannot reach an end.

use std::sync::Arc;

use super::rewrite::Rewriter;
use crate::error::{Error, Result};
use crate::ir::{Automaton, Expr, Grammar};
use crate::limits::Budget;
use crate::regular;

/// `grammar` without [`Expr::And`] and [`Expr::Not`].
pub fn determinize(grammar: Grammar, budget: &Budget) -> Result<Grammar> {
    if !grammar.exprs().any(|(_, expr)| matches!(expr, Expr::And(_) | Expr::Not(_))) {
        return Ok(grammar);
    }
    let mut copy = Rewriter::new(&grammar, budget, |_| true);
    for (id, rule) in grammar.rules() {
        let name = &rule.name;
        let body = copy.copy(rule.body, budget, &mut |builder, id, expr| match expr {
            Expr::And(_) | Expr::Not(_) => {
                let dfa =
                    regular::determinize(&grammar, id, budget).map_err(|error| in_rule(&error, name))?;
                let source = format!("automaton {}", id.index()).into();
                Ok(Some(builder.automaton(Automaton { source, dfa: Arc::new(dfa) })))
            }
            _ => Ok(None),
        })?;
        copy.define(id, body);
    }
    copy.finish()
}

fn in_rule(error: &Error, rule: &str) -> Error {
    let named =
        Error::new(error.kind(), format!("in rule {rule:?}: {}", error.message())).at(error.place().clone());
    match error.help() {
        Some(help) => named.with_help(help),
        None => named,
    }
}
