//! Rules that recurse only at one end become loops.
//!
//! `chars ::= [^"] chars | ""` is `[^"]*`, and `list ::= list "," item | item` is `item ("," item)*`. Recognition
//! needs no tree, so nothing is lost, and what was recursive may now be regular and become a terminal.

use super::rewrite::Rewriter;
use crate::error::Result;
use crate::ir::{Builder, Expr, ExprId, Grammar, RuleId};
use crate::limits::Budget;

/// `grammar` with such rules rewritten.
pub fn unroll(grammar: Grammar, budget: &Budget) -> Result<Grammar> {
    let mut shapes = Vec::with_capacity(grammar.rules().len());
    for (id, _) in grammar.rules() {
        shapes.push(Shape::of(&grammar, id, budget)?);
    }
    if shapes.iter().all(Option::is_none) {
        return Ok(grammar);
    }
    let mut copy = Rewriter::new(&grammar, budget, |_| true);
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
    copy.finish()
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
    fn of(grammar: &Grammar, rule: RuleId, budget: &Budget) -> Result<Option<Self>> {
        let body = grammar.rule(rule).body;
        let Some(itself) = self_reference(grammar, rule, body, budget)? else { return Ok(None) };
        let mut alternatives = Vec::new();
        let mut nothing = false;
        flatten(grammar, body, &mut alternatives, &mut nothing);
        for side in [Side::Right, Side::Left] {
            if let Some(shape) = Self::on_side(grammar, itself, &alternatives, side, budget)? {
                return Ok(shape.with_empty(grammar, nothing));
            }
        }
        Ok(None)
    }

    fn on_side(
        grammar: &Grammar,
        itself: ExprId,
        alternatives: &[ExprId],
        side: Side,
        budget: &Budget,
    ) -> Result<Option<Self>> {
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
                if contains(grammar, item, itself, budget)? {
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

/// The expression that calls `rule`, if `body` holds it.
fn self_reference(grammar: &Grammar, rule: RuleId, body: ExprId, budget: &Budget) -> Result<Option<ExprId>> {
    let mut found = None;
    walk(grammar, body, budget, &mut |id, expr| {
        if *expr == Expr::Rule(rule) {
            found = Some(id);
        }
    })?;
    Ok(found)
}

fn contains(grammar: &Grammar, root: ExprId, wanted: ExprId, budget: &Budget) -> Result<bool> {
    let mut found = false;
    walk(grammar, root, budget, &mut |id, _| found |= id == wanted)?;
    Ok(found)
}

fn walk(
    grammar: &Grammar,
    root: ExprId,
    budget: &Budget,
    visit: &mut dyn FnMut(ExprId, &Expr),
) -> Result<()> {
    let mut seen = hashbrown::HashSet::new();
    let mut stack = vec![root];
    while let Some(id) = stack.pop() {
        budget.tick()?;
        if seen.insert(id) {
            let expr = grammar.expr(id);
            visit(id, expr);
            stack.extend(expr.children());
        }
    }
    Ok(())
}
