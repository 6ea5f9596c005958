//! Conjunctions and complements become automata.
//!
//! They are determinised here, ahead of time and within the limit on states, so that the engine never meets a state
//! that cannot reach an end.
//!
//! The text of a JSON text mostly stays as it is. It becomes an automaton too where the engine could not read it: where a
//! rule that is too large to be inlined stands in it, and where it holds bytes that are not UTF-8 by themselves. Such
//! bytes may be the halves of a code point; words that are not text as a whole have no JSON spelling and are left out.

use std::sync::Arc;

use super::rewrite::Rewriter;
use crate::error::{Error, Result};
use crate::ir::{Automaton, Builder, Expr, ExprId, Grammar};
use crate::limits::Budget;
use crate::regular::{self, Dfa};

/// Whether there is anything for [`determinize`] to do.
pub fn concerns(grammar: &Grammar) -> bool {
    let unready = unready_texts(grammar);
    grammar.exprs().any(|(_, expr)| match expr {
        Expr::And(_) | Expr::Not(_) => true,
        Expr::JsonText(text) => unready[text.index()],
        _ => false,
    })
}

/// `grammar` without [`Expr::And`] and [`Expr::Not`], and with [`Expr::JsonText`] of regular UTF-8 alone.
pub fn determinize(grammar: Grammar, budget: &Budget) -> Result<Grammar> {
    if !concerns(&grammar) {
        return Ok(grammar);
    }
    let unready = unready_texts(&grammar);
    let mut copy = Rewriter::new(&grammar, budget, |_| true);
    for (id, rule) in grammar.rules() {
        let name = &rule.name;
        let body = copy.copy(rule.body, budget, &mut |builder, id, expr| match expr {
            Expr::And(_) | Expr::Not(_) => {
                let dfa = regular::determinize(&grammar, id, budget);
                Ok(Some(automaton(builder, id, dfa.map_err(|error| in_rule(&error, name))?)))
            }
            Expr::JsonText(text) if unready[text.index()] => {
                let dfa = regular::determinize(&grammar, *text, budget);
                let dfa =
                    dfa.map_err(|error| in_rule(&error, name))?.intersection(Dfa::any_text(), budget)?;
                let text = automaton(builder, id, dfa);
                Ok(Some(builder.json_text(text)))
            }
            _ => Ok(None),
        })?;
        copy.define(id, body);
    }
    copy.finish()
}

fn automaton(builder: &mut Builder, id: ExprId, dfa: Dfa) -> ExprId {
    let source = format!("automaton {}", id.index()).into();
    builder.automaton(Automaton { source, dfa: Arc::new(dfa) })
}

/// Which expressions hold a rule, or bytes that are not UTF-8.
fn unready_texts(grammar: &Grammar) -> Vec<bool> {
    let mut unready: Vec<bool> = Vec::with_capacity(grammar.exprs().len());
    for (_, expr) in grammar.exprs() {
        let itself = match expr {
            Expr::Bytes(bytes) => std::str::from_utf8(bytes).is_err(),
            Expr::Rule(_) => true,
            _ => false,
        };
        unready.push(itself || expr.children().iter().any(|child| unready[child.index()]));
    }
    unready
}

/// `error` with the name of the rule that it was found in.
pub(super) fn in_rule(error: &Error, rule: &str) -> Error {
    let named =
        Error::new(error.kind(), format!("in rule {rule:?}: {}", error.message())).at(error.place().clone());
    match error.help() {
        Some(help) => named.with_help(help),
        None => named,
    }
}
