//! Rebuilding a grammar with some of its expressions replaced: what the passes on expressions share.

use std::sync::Arc;

use crate::error::Result;
use crate::ir::{Builder, Expr, ExprId, Grammar, RuleId, copy_expr};
use crate::limits::{Budget, Limits};

/// What may stand for an expression, if not its copy.
pub(super) type Replace<'r> = dyn FnMut(&mut Builder, ExprId, &Expr) -> Result<Option<ExprId>> + 'r;

/// What stands for a rule that is dropped.
const DROPPED: RuleId = RuleId(u32::MAX);

/// A grammar that is being copied, expression by expression.
pub(super) struct Rewriter<'g> {
    pub(super) grammar: &'g Grammar,
    pub(super) builder: Builder,
    /// The new rules, by old rule. Rules that are dropped keep a placeholder that nobody names.
    pub(super) rules: Vec<RuleId>,
    /// The new expressions, by old expression; meaningful where `done` says so.
    exprs: Vec<ExprId>,
    done: Vec<bool>,
    /// What is still to be copied, and whether its children were.
    open: Vec<(ExprId, bool)>,
}

impl<'g> Rewriter<'g> {
    /// Starts a copy of `grammar` with the rules for which `keep` says so.
    pub(super) fn new(grammar: &'g Grammar, budget: &Budget, keep: impl Fn(RuleId) -> bool) -> Self {
        let mut builder = Builder::new(budget.limits());
        let never = builder.never();
        let mut rules = Vec::with_capacity(grammar.rules().len());
        for (id, rule) in grammar.rules() {
            rules.push(if keep(id) { builder.declare(&rule.name) } else { DROPPED });
        }
        let count = grammar.exprs().len();
        Rewriter {
            grammar,
            builder,
            rules,
            exprs: vec![never; count],
            done: vec![false; count],
            open: Vec::new(),
        }
    }

    /// Starts a copy of `grammar` that goes on from it: expressions and rules keep their numbers, and those expressions
    /// for which `is_final` says so are not looked at. Expressions that nobody names any more stay.
    pub(super) fn within(grammar: &'g Grammar, budget: &Budget, is_final: impl Fn(ExprId) -> bool) -> Self {
        // What is replaced does not count.
        let limits = budget.limits();
        let max_exprs = limits.max_exprs.saturating_add(grammar.exprs().len());
        let builder = Builder::extend(grammar.clone(), &Limits { max_exprs, ..limits.clone() });
        let rules = grammar.rules().map(|(id, _)| id).collect();
        let exprs: Vec<ExprId> = grammar.exprs().map(|(id, _)| id).collect();
        let done = exprs.iter().map(|&id| is_final(id)).collect();
        Rewriter { grammar, builder, rules, exprs, done, open: Vec::new() }
    }

    /// The new expression of `root`. `replace` may give one for an expression before its children are looked at.
    pub(super) fn copy(
        &mut self,
        root: ExprId,
        budget: &Budget,
        replace: &mut Replace<'_>,
    ) -> Result<ExprId> {
        let grammar = self.grammar;
        self.open.clear();
        self.open.push((root, false));
        while let Some((id, children_done)) = self.open.pop() {
            if self.done[id.index()] {
                continue;
            }
            budget.tick()?;
            let expr = grammar.expr(id);
            if !children_done {
                if let Some(new) = replace(&mut self.builder, id, expr)? {
                    self.set(id, new);
                    continue;
                }
                if !expr.children().is_empty() {
                    self.open.push((id, true));
                    self.open.extend(expr.children().iter().map(|&child| (child, false)));
                    continue;
                }
            }
            let new = copy_expr(&mut self.builder, expr, &self.exprs, &self.rules);
            self.builder.check()?;
            self.set(id, new);
        }
        Ok(self.exprs[root.index()])
    }

    fn set(&mut self, old: ExprId, new: ExprId) {
        self.exprs[old.index()] = new;
        self.done[old.index()] = true;
    }

    /// Gives the copy of `old` its body, with the options that `old` has.
    pub(super) fn define(&mut self, old: RuleId, body: ExprId) {
        let options = self.grammar.rule(old).options.clone();
        self.builder.define(self.rules[old.index()], body, options);
    }

    /// Says of the copy of a rule that its machine is known, if it is. The copy must mean the same.
    pub(super) fn keep_ready(&mut self) {
        let is_kept = |rule: &RuleId| self.rules[rule.index()] != DROPPED;
        if let Some((rule, ready)) = self.grammar.ready().filter(|(rule, _)| is_kept(rule)) {
            self.builder.set_ready(self.rules[rule.index()], Arc::clone(ready));
        }
    }

    /// The finished copy.
    pub(super) fn finish(self) -> Result<Grammar> {
        let root = self.rules[self.grammar.root().index()];
        self.builder.finish(root)
    }
}
