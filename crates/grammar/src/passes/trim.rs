//! Trimming: what can match nothing and what nobody calls goes away.
//!
//! After this pass every expression matches something, so a prefix that the machine can read can always be
//! completed: there are no dead ends. A grammar whose root matches nothing is refused here.

use super::analysis::productive;
use super::rewrite::Rewriter;
use crate::error::{Error, ErrorKind, Result};
use crate::ir::{ExprId, Grammar, RuleId};
use crate::limits::Budget;

/// What the error says of a grammar that no text matches.
pub const GENERATES_NOTHING: &str = "the grammar generates nothing: no finite string matches it";

/// Whether `grammar`, whose conjunctions and complements are automata, has no text.
pub fn matches_nothing(grammar: &Grammar, budget: &Budget) -> Result<bool> {
    let productive = productive(grammar, budget)?;
    Ok(!productive[grammar.rule(grammar.root()).body.index()])
}

/// `grammar` without what is unproductive or unreachable.
pub fn trim(grammar: Grammar, budget: &Budget) -> Result<Grammar> {
    Ok(trimmed(&grammar, budget)?.unwrap_or(grammar))
}

pub(super) fn trimmed(grammar: &Grammar, budget: &Budget) -> Result<Option<Grammar>> {
    let productive = productive(grammar, budget)?;
    let root = grammar.rule(grammar.root());
    if !productive[root.body.index()] {
        return Err(empty_language(grammar, &productive));
    }
    let (reachable, visited) = reach(grammar, |id| productive[id.index()], |_| true);
    let is_whole = |id: ExprId| grammar.expr(id).children().iter().all(|child| productive[child.index()]);
    let kept = (0..).map(ExprId).zip(&visited).filter(|(_, visited)| **visited);
    let live = kept.filter(|&(id, _)| is_whole(id)).count();
    // What nobody mentions does no harm, unless it is much.
    let much = visited.len() / 2;
    if live == visited.iter().filter(|it| **it).count() && live >= much && reachable.iter().all(|&it| it) {
        return Ok(None);
    }
    let mut copy = Rewriter::new(grammar, budget, |rule| reachable[rule.index()]);
    for (id, rule) in grammar.rules().filter(|(id, _)| reachable[id.index()]) {
        let body = copy.copy(rule.body, budget, &mut |builder, id, _| {
            Ok((!productive[id.index()]).then(|| builder.never()))
        })?;
        copy.define(id, body);
    }
    copy.keep_ready();
    copy.finish().map(Some)
}

/// Which rules and expressions are reached from the root through the expressions for which `passable` says so, and the
/// bodies of the rules for which `is_open` does.
pub(super) fn reach(
    grammar: &Grammar,
    passable: impl Fn(ExprId) -> bool,
    is_open: impl Fn(RuleId) -> bool,
) -> (Vec<bool>, Vec<bool>) {
    let mut rules = vec![false; grammar.rules().len()];
    let mut exprs = vec![false; grammar.exprs().len()];
    let mut stack: Vec<ExprId> = vec![grammar.rule(grammar.root()).body];
    rules[grammar.root().index()] = true;
    while let Some(id) = stack.pop() {
        if !passable(id) || std::mem::replace(&mut exprs[id.index()], true) {
            continue;
        }
        let expr = grammar.expr(id);
        stack.extend(expr.children());
        if !expr.names_rules() {
            continue;
        }
        for rule in expr.rules() {
            if !std::mem::replace(&mut rules[rule.index()], true) && is_open(rule) {
                stack.push(grammar.rule(rule).body);
            }
        }
    }
    (rules, exprs)
}

fn empty_language(grammar: &Grammar, productive: &[bool]) -> Error {
    let dead: Vec<&str> = grammar
        .rules()
        .filter(|(_, rule)| !productive[rule.body.index()])
        .map(|(_, rule)| rule.name.as_str())
        .take(5)
        .collect();
    Error::new(ErrorKind::Invalid, GENERATES_NOTHING).with_help(format!(
        "these rules have no alternative that ends without recursion or an empty class: {}",
        dead.join(", ")
    ))
}
