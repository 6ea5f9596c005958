//! Facts about expressions that several passes need: which match something, which match the empty string, which
//! rules they name.
//!
//! All of them run in time linear in the grammar, without recursion. Only lists of members are looked at more than once,
//! whenever nothing else is left to do.

use std::cell::RefCell;

use smallvec::SmallVec;

use super::graph::Graph;
use super::key_languages::KeyLanguages;
use super::lists::{conditions, is_plainly_satisfiable, is_plainly_unsatisfiable};
use crate::error::{ErrorKind, Result};
use crate::ir::{Expr, ExprId, Grammar};
use crate::limits::Budget;
use crate::regular::Lengths;

/// Which expressions can match something at all, by expression.
pub fn productive(grammar: &Grammar, budget: &Budget) -> Result<Vec<bool>> {
    let languages = KeyLanguages::new(grammar);
    if let Some(all) = plainly_productive(&languages) {
        return Ok(all);
    }
    let list = |id: ExprId, live: &[bool]| -> Result<bool> {
        match grammar.expr(id) {
            Expr::Members { layout, parts } => {
                let is_live = |part: ExprId| live[part.index()];
                if is_plainly_unsatisfiable(layout, parts, &is_live) {
                    return Ok(false);
                }
                Ok(is_plainly_satisfiable(&languages, layout, parts, &is_live)
                    || conditions(&languages, layout, parts, &is_live, budget)?.is_satisfiable())
            }
            _ => Ok(false),
        }
    };
    // What cannot be decided of a list now may be plain when more of its parts are known to match something.
    let undecided: RefCell<Vec<ExprId>> = RefCell::default();
    let so_far = |id: ExprId, live: &[bool]| match list(id, live) {
        Err(error) if error.kind() == ErrorKind::Unsupported => {
            undecided.borrow_mut().push(id);
            Ok(false)
        }
        decided => decided,
    };
    let live = least_fixpoint(grammar, |expr| !matches!(expr, Expr::Never), so_far)?;
    for id in undecided.into_inner().into_iter().filter(|id| !live[id.index()]) {
        list(id, &live)?;
    }
    Ok(live)
}

/// The same where every expression can but the one that says that nothing does, and two looks at each of them show it. That
/// is so for nearly every grammar: only what stands in a rule before the rules that it names has to be looked at again.
fn plainly_productive(languages: &KeyLanguages<'_>) -> Option<Vec<bool>> {
    let grammar = languages.grammar;
    let mut live = vec![false; grammar.exprs().len()];
    let mut lengths = Lengths::default();
    for _ in 0..2 {
        let mut are_all = true;
        for (id, expr) in grammar.exprs() {
            let is_live = |part: ExprId| live[part.index()];
            let is_shown = live[id.index()]
                || match expr {
                    Expr::Never => false,
                    Expr::Seq(items) | Expr::And(items) => items.iter().all(|&item| is_live(item)),
                    Expr::Alt(items) => items.iter().any(|&item| is_live(item)),
                    Expr::JsonText { text, .. } => is_live(*text),
                    Expr::AtMost { body, most } => is_live(*body) && !lengths.exceed(grammar, *body, *most),
                    Expr::Repeat { body, min, .. } => *min == 0 || is_live(*body),
                    Expr::Rule(rule) => is_live(grammar.rule(*rule).body),
                    Expr::Members { layout, parts } => {
                        is_plainly_satisfiable(languages, layout, parts, &is_live)
                    }
                    _ => true,
                };
            live[id.index()] = is_shown;
            are_all &= is_shown || matches!(expr, Expr::Never);
        }
        if are_all {
            return Some(live);
        }
    }
    None
}

/// Which expressions can match the empty string, by expression, where `list` tells it of lists.
pub fn nullable(grammar: &Grammar, list: impl Fn(ExprId) -> bool) -> Result<Vec<bool>> {
    let leaf = |expr: &Expr| match expr {
        Expr::Empty | Expr::TagDispatch(_) | Expr::TokenTagDispatch(_) => true,
        Expr::Automaton(automaton) => automaton.is_nullable(),
        _ => false,
    };
    least_fixpoint(grammar, leaf, |id, _| Ok(list(id)))
}

/// The least set of expressions that holds the leaves for which `leaf` says so, sequences and conjunctions of
/// members, alternatives with a member, repeats of members or of nothing, free text with tags, JSON texts and short texts of a member, rules whose body is
/// a member, and the lists for which `list` says so, given the members so far.
fn least_fixpoint(
    grammar: &Grammar,
    leaf: impl Fn(&Expr) -> bool,
    list: impl Fn(ExprId, &[bool]) -> Result<bool>,
) -> Result<Vec<bool>> {
    let count = grammar.exprs().len();
    let parents = Parents::new(grammar);
    let mut missing: Vec<usize> = vec![0; count];
    let mut queue: Vec<ExprId> = Vec::new();
    // The lists of which something has changed since they were looked at.
    let mut lists: Vec<ExprId> = Vec::new();
    let is_list = |id: ExprId| matches!(grammar.expr(id), Expr::Members { .. });
    let mut lengths = Lengths::default();
    for (id, expr) in grammar.exprs() {
        missing[id.index()] = match expr {
            Expr::Members { .. } => {
                lists.push(id);
                usize::MAX
            }
            Expr::Seq(items) | Expr::And(items) => items.len(),
            Expr::Repeat { min: 0, .. } | Expr::Not(_) | Expr::Tagged { .. } => 0,
            Expr::AtMost { body, most } if lengths.exceed(grammar, *body, *most) => usize::MAX,
            Expr::Alt(_)
            | Expr::Repeat { .. }
            | Expr::JsonText { .. }
            | Expr::AtMost { .. }
            | Expr::Rule(_) => 1,
            other => usize::from(!leaf(other)),
        };
        if missing[id.index()] == 0 {
            queue.push(id);
        }
    }
    let mut member = vec![false; count];
    queue.iter().for_each(|id| member[id.index()] = true);
    let mut changed: Vec<bool> = (0..count).map(|at| is_list(ExprId(at as u32))).collect();
    loop {
        let Some(id) = queue.pop() else {
            for id in std::mem::take(&mut lists) {
                changed[id.index()] = false;
                if !member[id.index()] && list(id, &member)? {
                    member[id.index()] = true;
                    queue.push(id);
                }
            }
            if queue.is_empty() {
                return Ok(member);
            }
            continue;
        };
        for &parent in parents.of(id) {
            if is_list(parent) {
                if !std::mem::replace(&mut changed[parent.index()], true) {
                    lists.push(parent);
                }
                continue;
            }
            let left = &mut missing[parent.index()];
            *left = left.saturating_sub(1);
            if *left == 0 && !std::mem::replace(&mut member[parent.index()], true) {
                queue.push(parent);
            }
        }
    }
}

/// Where each expression stands: in which expressions, and, for the body of a rule, in which mentions of the rule.
struct Parents {
    /// Where the parents of an expression begin.
    starts: Vec<u32>,
    parents: Vec<ExprId>,
}

impl Parents {
    fn new(grammar: &Grammar) -> Self {
        let mut starts = vec![0_u32; grammar.exprs().len() + 1];
        Self::each(grammar, |child, _| starts[child.index() + 1] += 1);
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        let mut next = starts.clone();
        let mut parents = vec![ExprId(0); sum as usize];
        Self::each(grammar, |child, parent| {
            let place = &mut next[child.index()];
            parents[*place as usize] = parent;
            *place += 1;
        });
        Parents { starts, parents }
    }

    fn each(grammar: &Grammar, mut pair: impl FnMut(ExprId, ExprId)) {
        for (id, expr) in grammar.exprs() {
            expr.children().iter().for_each(|&child| pair(child, id));
            if let Expr::Rule(rule) = expr {
                pair(grammar.rule(*rule).body, id);
            }
        }
    }

    fn of(&self, id: ExprId) -> &[ExprId] {
        &self.parents[self.starts[id.index()] as usize..self.starts[id.index() + 1] as usize]
    }
}

/// The rules that each rule names, where `may_name` is not said of expressions that name none, nor are made of such.
pub fn rule_references(grammar: &Grammar, may_name: impl Fn(ExprId) -> bool) -> Graph {
    let mut seen = vec![u32::MAX; grammar.exprs().len()];
    let mut stack = Vec::new();
    let mut references = Graph::default();
    for (id, rule) in grammar.rules() {
        let mut named: SmallVec<[u32; 8]> = SmallVec::new();
        stack.push(rule.body);
        while let Some(expr) = stack.pop() {
            if std::mem::replace(&mut seen[expr.index()], id.0) != id.0 {
                named.extend(grammar.expr(expr).rules().iter().map(|rule| rule.0));
                stack.extend(grammar.expr(expr).children().iter().filter(|child| may_name(**child)));
            }
        }
        references.push(named);
    }
    references
}
