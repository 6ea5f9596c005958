//! Inlining: regular rules, and rules that are called once, take their callers' place.
//!
//! Expressions are hash-consed, so putting a rule's body where its name stood copies a number. What can grow is the
//! flattened text of sequences and alternatives, so large rules that are called often stay calls: sizes add instead
//! of multiplying. Depth is bounded too, because later passes recurse on it.

use super::analysis::rule_references;
use super::graph::{is_circle, strong_components};
use super::rewrite::Rewriter;
use crate::error::Result;
use crate::ir::{Expr, ExprId, Grammar, RuleId};
use crate::limits::Budget;

/// A rule up to this size is inlined wherever it is called.
const SMALL: u64 = 64;
/// The size that all the copies of larger regular rules may have together.
const COPIES: u64 = 200_000;
/// The part of the nodes that a machine may have which copies may take: one in so many.
const COPIED_PART: u64 = 8;
/// The size that rules which are called once may have together, each with what was put into it. A row of such rules
/// is flattened anew for each of them.
const SINGLES: u64 = 4_000_000;
/// How deep the expressions may nest after inlining.
const DEPTH: u32 = 400;

/// `grammar` with such rules inlined; they stay defined, and trimming drops them.
pub fn inline(grammar: Grammar, budget: &Budget) -> Result<Grammar> {
    Ok(inlined(&grammar, budget)?.unwrap_or(grammar))
}

pub(super) fn inlined(grammar: &Grammar, budget: &Budget) -> Result<Option<Grammar>> {
    let named = holding_rules(grammar);
    if !named.contains(&true) {
        return Ok(None);
    }
    let graph = rule_references(grammar, |id| named[id.index()]);
    let uses = count_uses(grammar);
    let places = count_places(grammar);
    let mut facts = Facts::new(grammar, &named);
    let mut inlined: Vec<Option<ExprId>> = vec![None; graph.count()];
    // Copies may not be what breaks the limit on the machine.
    let mut copies_left = COPIES.min(budget.limits().max_nodes as u64 / COPIED_PART);
    let mut singles_left = SINGLES.min(budget.limits().max_nodes as u64 / COPIED_PART);
    let mut copy = Rewriter::within(grammar, budget, |id| !named[id.index()]);
    // Callees come before their callers, so a body is final when it is put into another.
    for component in strong_components(&graph).iter() {
        let recursive = is_circle(&graph, component);
        for &rule in component {
            let id = RuleId(rule);
            if grammar.ready().is_some_and(|(ready, _)| *ready == id) {
                continue;
            }
            let body = grammar.rule(id).body;
            facts.compute(grammar, body, budget)?;
            let new = copy.copy(body, budget, &mut |_, _, expr| match expr {
                Expr::Rule(callee) => Ok(inlined[callee.index()]),
                _ => Ok(None),
            })?;
            copy.define(id, new);
            let fact = facts.of(body);
            let rule = grammar.rule(id);
            // An expression that names a rule once may itself stand in several places.
            let spread = fact.size.saturating_mul(places[id.index()].max(1));
            let single = uses[id.index()] <= 1 && spread <= singles_left;
            let cost = fact.size.saturating_mul(uses[id.index()]);
            let affordable = single || fact.size <= SMALL || (fact.regular && cost <= copies_left);
            let wanted = fact.regular || single;
            let is_plain = rule.options.temperature.is_none() && !rule.options.needs_frame();
            let may = !recursive && is_plain && fact.depth <= DEPTH;
            if may && wanted && affordable {
                if single {
                    singles_left -= spread;
                } else if fact.size > SMALL {
                    copies_left -= cost;
                }
                inlined[id.index()] = Some(new);
                facts.rules[id.index()] = Some(fact);
            }
        }
    }
    copy.finish().map(Some)
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

/// How often each rule is named, by rule; a shared expression counts once for each place that holds it.
fn count_uses(grammar: &Grammar) -> Vec<u64> {
    let mut places = vec![0u64; grammar.exprs().len()];
    for (_, expr) in grammar.exprs() {
        expr.children().iter().for_each(|child| places[child.index()] += 1);
    }
    grammar.rules().for_each(|(_, rule)| places[rule.body.index()] += 1);
    let mut uses = vec![0; grammar.rules().len()];
    for (id, expr) in grammar.exprs().filter(|(_, expr)| expr.names_rules()) {
        for rule in expr.rules() {
            uses[rule.index()] += places[id.index()].max(1);
        }
    }
    uses
}

/// In how many places each rule stands, by rule, with shared expressions written out.
fn count_places(grammar: &Grammar) -> Vec<u64> {
    let mut places = vec![0_u64; grammar.exprs().len()];
    grammar.rules().for_each(|(_, rule)| places[rule.body.index()] += 1);
    let mut of_rules = vec![0_u64; grammar.rules().len()];
    // Children come before their parents.
    for at in (0..places.len()).rev() {
        let expr = grammar.expr(ExprId(at as u32));
        for child in expr.children() {
            places[child.index()] = places[child.index()].saturating_add(places[at]);
        }
        if expr.names_rules() {
            for rule in expr.rules() {
                of_rules[rule.index()] = of_rules[rule.index()].saturating_add(places[at]);
            }
        }
    }
    of_rules
}

/// What decides about an expression: whether it is regular, and how large and deep it is once inlined.
#[derive(Clone, Copy, Default)]
struct Fact {
    regular: bool,
    size: u64,
    depth: u32,
}

struct Facts {
    exprs: Vec<Option<Fact>>,
    /// The facts of the rules that are inlined, by rule.
    rules: Vec<Option<Fact>>,
    /// What is still to be looked at, and whether its children were.
    open: Vec<(ExprId, bool)>,
}

impl Facts {
    /// The facts of all expressions that do not depend on what becomes of the rules, as `named` says.
    fn new(grammar: &Grammar, named: &[bool]) -> Self {
        let count = grammar.exprs().len();
        let rules = vec![None; grammar.rules().len()];
        let mut facts = Facts { exprs: Vec::with_capacity(count), rules, open: Vec::new() };
        for ((_, expr), &named) in grammar.exprs().zip(named) {
            let fact = (!named).then(|| facts.fact(expr));
            facts.exprs.push(fact);
        }
        facts
    }

    fn of(&self, expr: ExprId) -> Fact {
        self.exprs[expr.index()].unwrap_or_default()
    }

    fn compute(&mut self, grammar: &Grammar, root: ExprId, budget: &Budget) -> Result<()> {
        self.open.push((root, false));
        while let Some((id, children_done)) = self.open.pop() {
            if self.exprs[id.index()].is_some() {
                continue;
            }
            budget.tick()?;
            let expr = grammar.expr(id);
            if children_done || expr.children().is_empty() {
                self.exprs[id.index()] = Some(self.fact(expr));
            } else {
                self.open.push((id, true));
                self.open.extend(expr.children().iter().map(|&child| (child, false)));
            }
        }
        Ok(())
    }

    fn fact(&self, expr: &Expr) -> Fact {
        match expr {
            Expr::Token(_) | Expr::TagDispatch(_) | Expr::TokenTagDispatch(_) => {
                Fact { regular: false, size: 1, depth: 1 }
            }
            Expr::Rule(rule) => {
                self.rules[rule.index()].unwrap_or(Fact { regular: false, size: 1, depth: 1 })
            }
            Expr::Bytes(bytes) => Fact { regular: true, size: 1 + bytes.len() as u64 / 8, depth: 1 },
            _ => {
                let regular = !matches!(expr, Expr::Members { .. } | Expr::Tagged { .. });
                let mut all = Fact { regular, size: 1, depth: 1 };
                for &child in expr.children() {
                    let child = self.of(child);
                    all.regular &= child.regular;
                    all.size = all.size.saturating_add(child.size);
                    all.depth = all.depth.max(child.depth.saturating_add(1));
                }
                all
            }
        }
    }
}
