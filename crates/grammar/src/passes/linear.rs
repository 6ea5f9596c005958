//! Rules that recurse only at one end become loops.
//!
//! `chars ::= [^"] chars | ""` is `[^"]*`, and `list ::= list "," item | item` is `item ("," item)*`. Recognition
//! needs no tree, so nothing is lost, and what was recursive may now be regular and become a terminal.

use super::marks::Marks;
use super::rewrite::Rewriter;
use crate::error::Result;
use crate::ir::{Builder, Expr, ExprId, Grammar};
use crate::limits::Budget;

/// `grammar` with such rules rewritten.
pub fn unroll(grammar: Grammar, budget: &Budget) -> Result<Grammar> {
    Ok(unrolled(&grammar, budget)?.unwrap_or(grammar))
}

pub(super) fn unrolled(grammar: &Grammar, budget: &Budget) -> Result<Option<Grammar>> {
    let calls = calls(grammar);
    let seen = Marks::new(grammar.exprs().len());
    let mut search = Search { grammar, seen, open: Vec::new(), budget };
    let mut shapes = Vec::with_capacity(grammar.rules().len());
    for ((_, rule), call) in grammar.rules().zip(calls) {
        shapes.push(call.map(|call| Shape::of(&mut search, rule.body, call)).transpose()?.flatten());
    }
    if shapes.iter().all(Option::is_none) {
        return Ok(None);
    }
    let mut copy = Rewriter::new(grammar, budget, |_| true);
    for (id, rule) in grammar.rules() {
        let shape = shapes[id.index()].take();
        let plain = |copy: &mut Rewriter<'_>, expr| copy.copy(expr, budget, &mut |_, _, _| Ok(None));
        let body = match shape {
            None => plain(&mut copy, rule.body)?,
            Some(shape) => {
                let mut steps = Vec::new();
                for step in shape.steps {
                    let items =
                        step.iter().map(|&item| plain(&mut copy, item)).collect::<Result<Vec<_>>>()?;
                    steps.push(copy.builder.seq(items));
                }
                let ends = shape.ends.iter().map(|&end| plain(&mut copy, end)).collect::<Result<Vec<_>>>()?;
                looped(&mut copy.builder, steps, ends, shape.side)
            }
        };
        copy.define(id, body);
    }
    copy.finish().map(Some)
}

fn looped(builder: &mut Builder, steps: Vec<ExprId>, ends: Vec<ExprId>, side: Side) -> ExprId {
    let step = builder.alt(steps);
    let step = builder.repeat(step, 0, None);
    let end = builder.alt(ends);
    match side {
        Side::Right => builder.seq([step, end]),
        Side::Left => builder.seq([end, step]),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Left,
    Right,
}

/// A rule as `(steps) itself | ends` or `itself (steps) | ends`.
struct Shape {
    side: Side,
    steps: Vec<Vec<ExprId>>,
    ends: Vec<ExprId>,
}

impl Shape {
    /// The shape of the rule with this body, which `itself` calls.
    fn of(search: &mut Search<'_>, body: ExprId, itself: ExprId) -> Result<Option<Self>> {
        if !search.holds(body, itself)? {
            return Ok(None);
        }
        let grammar = search.grammar;
        let mut alternatives = Vec::new();
        let mut nothing = false;
        flatten(grammar, body, &mut alternatives, &mut nothing);
        for side in [Side::Right, Side::Left] {
            if let Some(shape) = Self::on_side(search, itself, &alternatives, side)? {
                return Ok(shape.with_empty(grammar, nothing));
            }
        }
        Ok(None)
    }

    fn on_side(
        search: &mut Search<'_>,
        itself: ExprId,
        alternatives: &[ExprId],
        side: Side,
    ) -> Result<Option<Self>> {
        let grammar = search.grammar;
        let mut shape = Shape { side, steps: Vec::new(), ends: Vec::new() };
        for &alternative in alternatives {
            let items = match grammar.expr(alternative) {
                Expr::Seq(items) => items.as_ref(),
                _ => std::slice::from_ref(&alternative),
            };
            let rest = match side {
                Side::Right if items.last() == Some(&itself) => Some(&items[..items.len() - 1]),
                Side::Left if items.first() == Some(&itself) => Some(&items[1..]),
                _ => None,
            };
            for &item in rest.unwrap_or(items) {
                if search.holds(item, itself)? {
                    return Ok(None);
                }
            }
            match rest {
                Some([]) => {}
                Some(rest) => shape.steps.push(rest.to_vec()),
                None => shape.ends.push(alternative),
            }
        }
        Ok(Some(shape))
    }

    /// Adds the empty string to the ends, where the grammar has an expression for it.
    fn with_empty(mut self, grammar: &Grammar, nothing: bool) -> Option<Self> {
        if nothing {
            let empty = grammar.exprs().find(|(_, expr)| **expr == Expr::Empty)?.0;
            self.ends.push(empty);
        }
        Some(self)
    }
}

/// The alternatives of `expr`; an optional group counts as its content and nothing.
fn flatten(grammar: &Grammar, expr: ExprId, alternatives: &mut Vec<ExprId>, nothing: &mut bool) {
    let mut stack = vec![expr];
    while let Some(id) = stack.pop() {
        match grammar.expr(id) {
            Expr::Alt(items) => stack.extend(items.iter().rev()),
            Expr::Repeat { body, min: 0, max: Some(1) } => {
                *nothing = true;
                stack.push(*body);
            }
            _ => alternatives.push(id),
        }
    }
}

/// The expression that calls each rule, where there is one.
fn calls(grammar: &Grammar) -> Vec<Option<ExprId>> {
    let mut calls = vec![None; grammar.rules().len()];
    for (id, expr) in grammar.exprs() {
        if let Expr::Rule(rule) = expr {
            calls[rule.index()] = Some(id);
        }
    }
    calls
}

/// Looks for expressions in others.
struct Search<'g> {
    grammar: &'g Grammar,
    seen: Marks,
    /// What is still to be looked into.
    open: Vec<ExprId>,
    budget: &'g Budget,
}

impl Search<'_> {
    /// Whether `wanted` is `root` or stands in it.
    fn holds(&mut self, root: ExprId, wanted: ExprId) -> Result<bool> {
        self.seen.clear(0);
        self.open.clear();
        self.open.push(root);
        while let Some(id) = self.open.pop() {
            self.budget.tick()?;
            if id == wanted {
                return Ok(true);
            }
            // Children have smaller numbers.
            let children = self.grammar.expr(id).children().iter().filter(|child| **child >= wanted);
            self.open.extend(children.filter(|child| self.seen.insert(child.index())));
        }
        Ok(false)
    }
}
