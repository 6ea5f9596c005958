//! Conjunctions and complements become automata.
//!
//! They are determinised here, ahead of time and within the limit on states, so that the engine never meets a state
//! that cannot reach an end.
//!
//! The text of a JSON text and of a bounded text mostly stays as it is. It becomes an automaton too where the engine could not read it: where a
//! rule that is too large to be inlined stands in it, where bounds nest deep, and where it holds bytes that are not UTF-8 by themselves. Such
//! bytes may be the halves of a code point; words that are not text as a whole have no JSON spelling, nor a length, and
//! are left out.
//!
//! A bounded text stays what it is: the engine counts. Counting here would multiply the automaton by the bound.

use std::cell::Cell;
use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::rewrite::Rewriter;
use super::trim::trim;
use crate::error::{Error, Result};
use crate::ir::{Automaton, Builder, Expr, ExprId, Grammar};
use crate::limits::Budget;
use crate::regular::{self, Dfa, Lengths};

/// How deep bounded texts may nest; the engine recurses on it.
const DEEPEST: u32 = 4;

/// Whether there is anything for [`determinize`] to do.
pub fn concerns(grammar: &Grammar) -> bool {
    let texts = Texts::new(grammar);
    grammar.exprs().any(|(_, expr)| match expr {
        Expr::And(_) | Expr::Not(_) | Expr::AtMost { .. } => true,
        Expr::JsonText { text, .. } => texts.is_unready(*text),
        _ => false,
    })
}

/// `grammar` without [`Expr::And`] and [`Expr::Not`], and with [`Expr::JsonText`] and [`Expr::AtMost`] of regular UTF-8
/// alone, the latter with a text in it.
pub fn determinize(grammar: Grammar, budget: &Budget) -> Result<Grammar> {
    if concerns(&grammar) { determinize_all(&grammar, budget).map(|(ready, _)| ready) } else { Ok(grammar) }
}

/// The same, trimmed.
pub(super) fn determinized(grammar: &Grammar, budget: &Budget) -> Result<Option<Grammar>> {
    if !concerns(grammar) {
        return Ok(None);
    }
    let (ready, is_whole) = determinize_all(grammar, budget)?;
    if is_whole { Ok(Some(ready)) } else { trim(ready, budget).map(Some) }
}

/// The grammar, and whether no automaton turned out to be empty: then all that matched something still does, and there is
/// nothing to trim.
fn determinize_all(grammar: &Grammar, budget: &Budget) -> Result<(Grammar, bool)> {
    let is_whole = Cell::new(true);
    let automaton = |builder: &mut Builder, id: ExprId, dfa: Dfa| {
        is_whole.set(is_whole.get() && !dfa.is_empty());
        automaton(builder, id, dfa)
    };
    let texts = Texts::new(grammar);
    let mut copy = Rewriter::new(grammar, budget, |_| true);
    for (id, rule) in grammar.rules() {
        let name = &rule.name;
        let ahead =
            |id: ExprId| regular::determinize(grammar, id, budget).map_err(|error| in_rule(&error, name));
        let body = copy.copy(rule.body, budget, &mut |builder, id, expr| match expr {
            Expr::And(_) | Expr::Not(_) => Ok(Some(automaton(builder, id, ahead(id)?))),
            Expr::JsonText { text, escapes } if texts.is_unready(*text) => {
                let dfa = ahead(*text)?.intersection(Dfa::any_text(), budget)?;
                let text = automaton(builder, id, dfa);
                Ok(Some(builder.json_text(text, *escapes)))
            }
            Expr::AtMost { body, most } if texts.is_unready(*body) || texts.is_too_deep(*body) => {
                let dfa = ahead(*body)?.intersection(Dfa::any_text(), budget)?;
                let body = automaton(builder, id, dfa);
                Ok(Some(builder.at_most(body, *most)))
            }
            _ => Ok(None),
        })?;
        copy.define(id, body);
    }
    copy.keep_ready();
    let ready = copy.finish()?;
    Ok(match without_too_long(&ready, budget)? {
        Some(shorter) => (shorter, false),
        None => (ready, is_whole.get()),
    })
}

/// `grammar` without bounded texts all of which are too long, if there are any.
fn without_too_long(grammar: &Grammar, budget: &Budget) -> Result<Option<Grammar>> {
    let mut lengths = Lengths::default();
    let is_too_long = |(_, expr): &(ExprId, &Expr)| match expr {
        Expr::AtMost { body, most } => lengths.exceed(grammar, *body, *most),
        _ => false,
    };
    let too_long: FxHashSet<ExprId> = grammar.exprs().filter(is_too_long).map(|(id, _)| id).collect();
    if too_long.is_empty() {
        return Ok(None);
    }
    let mut copy = Rewriter::new(grammar, budget, |_| true);
    for (id, rule) in grammar.rules() {
        let body = copy.copy(rule.body, budget, &mut |builder, id, _| {
            Ok(too_long.contains(&id).then(|| builder.never()))
        })?;
        copy.define(id, body);
    }
    copy.finish().map(Some)
}

fn automaton(builder: &mut Builder, id: ExprId, dfa: Dfa) -> ExprId {
    let source = format!("automaton {}", id.index()).into();
    builder.automaton(Automaton { source, dfa: Arc::new(dfa).into() })
}

/// What is known of the texts of expressions, by expression.
struct Texts {
    /// Whether it holds a rule, or bytes that are not UTF-8.
    unready: Vec<bool>,
    /// How deep bounded texts nest in it.
    depth: Vec<u32>,
}

impl Texts {
    fn new(grammar: &Grammar) -> Self {
        let count = grammar.exprs().len();
        let mut texts = Texts { unready: Vec::with_capacity(count), depth: Vec::with_capacity(count) };
        for (_, expr) in grammar.exprs() {
            let itself = match expr {
                Expr::Bytes(bytes) => std::str::from_utf8(bytes).is_err(),
                Expr::Rule(_) | Expr::Tagged { .. } => true,
                _ => false,
            };
            let children = expr.children();
            texts.unready.push(itself || children.iter().any(|child| texts.is_unready(*child)));
            let below = children.iter().map(|child| texts.depth[child.index()]).max().unwrap_or(0);
            texts.depth.push(below + u32::from(matches!(expr, Expr::AtMost { .. })));
        }
        texts
    }

    fn is_unready(&self, id: ExprId) -> bool {
        self.unready[id.index()]
    }

    fn is_too_deep(&self, id: ExprId) -> bool {
        self.depth[id.index()] >= DEEPEST
    }
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
