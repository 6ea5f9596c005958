//! Conjunctions of a context-free language with regular ones become rules.
//!
//! `e & r`, where `e` recurses and `r` is regular, is context-free again. An automaton for `r` runs beside the
//! derivation: for each part of `e` and each state in which the automaton may meet it there is a set of states in which
//! the part may leave it, and for each such pair a rule. `e & r` is then any way from the start of the automaton to one
//! of its ends. Only pairs that are met are made, and all of them can be completed, so no dead ends come in here.
//!
//! Two things keep that small. A part that is regular is not taken apart: for each pair it is one automaton. And once
//! the automaton is in the state from which every text is fine, it has nothing to say any more, and the part stays as it
//! is. So `e & ~"x"` costs a few rules around the beginning, and not a copy of the grammar.
//!
//! At most one operand may be context-free, no conjunction may hold itself, and tokens are refused, for an automaton that
//! reads bytes does not see them.
//!
//! Reading order: this file finds the conjunctions, `product` makes the rules, `leaves` the automata of regular parts,
//! `unfold` writes plain lists of members as rules, `lists` goes through the places of all others, of which `tracked` leaves
//! those to the engine whose keys must differ, `spelled` reads keys beside the automaton, `scarce` finds those of which
//! there are few, `still` leaves lists
//! alone that the automaton does not move, `ways` tells which pairs of states are alike, `free_state` finds the state that has nothing to say.

use hashbrown::{HashMap, HashSet};

mod free_state;
mod leaves;
mod lists;
mod product;
mod scarce;
mod spelled;
mod still;
mod tracked;
mod unfold;
mod ways;

use super::analysis::rule_references;
use super::booleans::in_rule;
use super::graph::{Graph, is_circle, strong_components};
use super::linear;
use super::rewrite::Rewriter;
use super::trim;
use crate::error::{Error, Result};
use crate::ir::{Builder, Expr, ExprId, Grammar, Names, RuleId, RuleOptions};
use crate::limits::Budget;
use lists::{MOST_WORDS, Words, too_many_words};
use product::Product;

/// `grammar` with conjunctions of regular languages only.
pub fn lower(grammar: Grammar, budget: &Budget) -> Result<Grammar> {
    Ok(lowered(&grammar, budget)?.unwrap_or(grammar))
}

pub(super) fn lowered(grammar: &Grammar, budget: &Budget) -> Result<Option<Grammar>> {
    if !grammar.exprs().any(|(_, expr)| matches!(expr, Expr::And(_))) || mixed(grammar, budget)?.is_empty() {
        return Ok(None);
    }
    // What recurses at one end only is regular after all.
    let mut grammar = linear::unroll(unfold::unfold(grammar.clone(), false, budget)?, budget)?;
    let (mut round, mut has_lists) = (0, true);
    while let Some(innermost) = find_innermost(&grammar, &mixed(&grammar, budget)?)? {
        if has_lists && count_sides(&grammar, innermost, budget)? > 1 {
            grammar = linear::unroll(unfold::unfold(grammar, true, budget)?, budget)?;
            has_lists = false;
            continue;
        }
        // What was only part of this conjunction is no one's concern any more.
        grammar = trim::trim(lower_one(&grammar, innermost, round, budget)?, budget)?;
        round += 1;
    }
    // Both sides together may have no text at all.
    trim::trim(grammar, budget).map(Some)
}

/// `grammar` with a rule in place of one conjunction.
fn lower_one(grammar: &Grammar, conjunction: ExprId, round: usize, budget: &Budget) -> Result<Grammar> {
    let root = grammar.root();
    let mut names = Names::default();
    grammar.rules().for_each(|(_, rule)| drop(names.fresh(&rule.name)));
    let regular = regular_exprs(grammar, budget)?;
    let mut builder = Builder::extend(grammar.clone(), budget.limits());
    let product = multiply(grammar, &regular, conjunction, round, budget, |product| {
        product.build(&mut builder, &mut names)
    });
    let both = product.map_err(|error| in_rule(&error, &owner_of(grammar, conjunction)))?;
    let grown = builder.finish(root)?;
    let mut copy = Rewriter::new(&grown, budget, |_| true);
    let both = copy.rules[both.index()];
    for (id, rule) in grown.rules() {
        let body = copy.copy(rule.body, budget, &mut |builder, id, _| {
            Ok((id == conjunction).then(|| builder.rule(both)))
        })?;
        copy.define(id, body);
    }
    copy.finish()
}

/// How many operands of a conjunction are not regular, lists of members among them.
fn count_sides(grammar: &Grammar, conjunction: ExprId, budget: &Budget) -> Result<usize> {
    let regular = regular_exprs(grammar, budget)?;
    Ok(operands(grammar, conjunction).0.iter().filter(|operand| !regular[operand.index()]).count())
}

/// Explores the product of a conjunction, until no more words of its lists have to be told apart, and builds it.
fn multiply<T>(
    grammar: &Grammar,
    regular: &[bool],
    conjunction: ExprId,
    round: usize,
    budget: &Budget,
    build: impl FnOnce(Product<'_>) -> Result<T>,
) -> Result<T> {
    let mut words: HashMap<ExprId, Words> = HashMap::new();
    loop {
        let mut product = Product::new(grammar, regular, conjunction, &words, round, budget)?;
        product.explore()?;
        let scarce = product.scarce_words()?;
        if scarce.is_empty() {
            return build(product);
        }
        drop(product);
        for (list, word) in scarce {
            let words = words.entry(list).or_default();
            words.push(word);
            if words.len() > MOST_WORDS {
                return Err(too_many_words());
            }
        }
    }
}

/// The name of a rule that holds the expression, for messages.
fn owner_of(grammar: &Grammar, wanted: ExprId) -> String {
    let holds = |body: ExprId| {
        let (mut seen, mut open) = (HashSet::new(), vec![body]);
        while let Some(id) = open.pop() {
            if id == wanted {
                return true;
            }
            if seen.insert(id) {
                open.extend(grammar.expr(id).children());
            }
        }
        false
    };
    let owner = grammar.rules().find(|(_, rule)| holds(rule.body));
    owner.map_or_else(String::new, |(_, rule)| rule.name.clone())
}

/// Which expressions are regular text without options, rules followed.
fn regular_exprs(grammar: &Grammar, budget: &Budget) -> Result<Vec<bool>> {
    let graph = rule_references(grammar, |_| true);
    let mut rules = vec![false; graph.count()];
    let mut known: Vec<Option<bool>> = vec![None; grammar.exprs().len()];
    for component in strong_components(&graph).iter() {
        for &rule in component {
            // The rules of a circle stay irregular: they are not known when they are met.
            let id = RuleId(rule);
            let regular = classify(grammar, grammar.rule(id).body, &rules, &mut known, budget)?;
            let recurses = graph.of(rule).contains(&rule);
            rules[rule as usize] = regular && !recurses && grammar.rule(id).options == RuleOptions::default();
        }
    }
    Ok(known.into_iter().map(|known| known.unwrap_or(false)).collect())
}

fn classify(
    grammar: &Grammar,
    root: ExprId,
    rules: &[bool],
    known: &mut [Option<bool>],
    budget: &Budget,
) -> Result<bool> {
    let mut open = vec![(root, false)];
    while let Some((id, children_done)) = open.pop() {
        budget.tick()?;
        if known[id.index()].is_some() {
            continue;
        }
        let expr = grammar.expr(id);
        if !children_done {
            open.push((id, true));
            open.extend(expr.children().iter().map(|&child| (child, false)));
            continue;
        }
        let children = expr.children().iter().all(|child| known[child.index()] == Some(true));
        known[id.index()] = Some(match expr {
            Expr::Rule(rule) => rules[rule.index()],
            Expr::Token(_)
            | Expr::TagDispatch(_)
            | Expr::TokenTagDispatch(_)
            | Expr::Members { .. }
            | Expr::JsonText { .. } => false,
            _ => children,
        });
    }
    Ok(known[root.index()] == Some(true))
}

/// The conjunctions with an operand that is not regular.
fn mixed(grammar: &Grammar, budget: &Budget) -> Result<Vec<ExprId>> {
    let regular = regular_exprs(grammar, budget)?;
    let is_mixed = |(id, expr): (ExprId, &Expr)| match expr {
        Expr::And(items) if items.iter().any(|item| !regular[item.index()]) => Some(id),
        _ => None,
    };
    // Expressions that no rule holds any more are no one's concern.
    let held = held_exprs(grammar);
    Ok(grammar.exprs().filter_map(is_mixed).filter(|id| held[id.index()]).collect())
}

fn held_exprs(grammar: &Grammar) -> Vec<bool> {
    let mut held = vec![false; grammar.exprs().len()];
    grammar.rules().for_each(|(_, rule)| held[rule.body.index()] = true);
    for at in (0..held.len()).rev() {
        if held[at] {
            for child in grammar.expr(ExprId(at as u32)).children() {
                held[child.index()] = true;
            }
        }
    }
    held
}

/// The operands of a conjunction, with those of conjunctions that are operands themselves.
fn operands(grammar: &Grammar, conjunction: ExprId) -> (Vec<ExprId>, Vec<ExprId>) {
    let (mut found, mut absorbed) = (Vec::new(), Vec::new());
    let mut open: Vec<ExprId> = grammar.expr(conjunction).children().to_vec();
    let mut seen: HashSet<ExprId> = HashSet::from([conjunction]);
    while let Some(id) = open.pop() {
        let mut at = id;
        let mut steps = 0;
        while let Expr::Rule(rule) = grammar.expr(at)
            && grammar.rule(*rule).options == RuleOptions::default()
            && steps < grammar.rules().len()
        {
            at = grammar.rule(*rule).body;
            steps += 1;
        }
        if matches!(grammar.expr(at), Expr::And(_)) && seen.insert(at) {
            absorbed.push(at);
            open.extend(grammar.expr(at).children());
        } else {
            found.push(id);
        }
    }
    found.sort_unstable();
    found.dedup();
    (found, absorbed)
}

/// A conjunction whose operands hold no other one, if there is any.
fn find_innermost(grammar: &Grammar, conjunctions: &[ExprId]) -> Result<Option<ExprId>> {
    let numbers: HashMap<ExprId, u32> = conjunctions.iter().copied().zip(0..).collect();
    let below = |conjunction: ExprId| {
        let mut seen: HashSet<ExprId> = HashSet::new();
        let mut open = operands(grammar, conjunction).0;
        let mut found = Vec::new();
        while let Some(id) = open.pop() {
            if !seen.insert(id) {
                continue;
            }
            if let Some(&number) = numbers.get(&id) {
                found.push(number);
                continue;
            }
            let expr = grammar.expr(id);
            open.extend(expr.children());
            open.extend(expr.rules().iter().map(|&rule| grammar.rule(rule).body));
        }
        found
    };
    let graph: Graph = conjunctions.iter().map(|&id| below(id)).collect();
    // The first part is one that leads nowhere else. Of two conjunctions, one an operand of the other, both are lowered at
    // once.
    let absorbed: HashSet<ExprId> =
        conjunctions.iter().flat_map(|&conjunction| operands(grammar, conjunction).1).collect();
    let components = strong_components(&graph);
    let is_whole = |component: &&[u32]| {
        component.iter().all(|&at| graph.of(at).is_empty() && !absorbed.contains(&conjunctions[at as usize]))
    };
    let whole = components.iter().find(is_whole);
    let Some(component) = whole.or_else(|| components.iter().next()) else { return Ok(None) };
    let conjunction = conjunctions[component[0] as usize];
    if is_circle(&graph, component) {
        let owner = owner_of(grammar, conjunction);
        let message = "a conjunction whose operand recurses to the conjunction itself is not context-free";
        return Err(Error::unsupported(format!("in rule {owner:?}: {message}")));
    }
    Ok(Some(conjunction))
}

#[cfg(test)]
mod tests;
