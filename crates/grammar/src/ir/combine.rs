//! Grammars from grammars: one after the other, any one of them, what is in both, and the like.
//!
//! The parts are copied into one grammar, so there is no seam at run time: the engine sees one machine. Whether a
//! conjunction or a complement is regular enough is seen when the grammar is compiled.

use std::sync::Arc;

use super::builder::Builder;
use super::expr::{Automaton, Expr, ExprId, RuleId, TagDispatch, TokenTagDispatch};
use super::grammar::{Grammar, RuleOptions};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::{Budget, Limits};
use crate::regular::FreeText;

/// The language of `parts`, one after the other.
pub fn concat(parts: &[Grammar], limits: &Limits) -> Result<Grammar> {
    combine(parts, limits, Builder::seq)
}

/// The language of any one of `parts`.
pub fn union(parts: &[Grammar], limits: &Limits) -> Result<Grammar> {
    combine(parts, limits, Builder::alt)
}

/// What is in all of `parts`, of which one at most may be other than regular.
pub fn intersect(parts: &[Grammar], limits: &Limits) -> Result<Grammar> {
    combine(parts, limits, Builder::and)
}

/// What is in `part` and not in `excluded`, which must be regular.
pub fn exclude(part: &Grammar, excluded: &Grammar, limits: &Limits) -> Result<Grammar> {
    combine(&[part.clone(), excluded.clone()], limits, |builder, roots| {
        let other = builder.not(roots[1]);
        builder.and([roots[0], other])
    })
}

/// `part`, between `min` and `max` times.
pub fn repeat(part: &Grammar, min: u32, max: Option<u32>, limits: &Limits) -> Result<Grammar> {
    combine(std::slice::from_ref(part), limits, |builder, roots| builder.repeat(roots[0], min, max))
}

/// `part`, then text up to the first `stop`, which is the end.
pub fn then_until(part: &Grammar, stop: &str, budget: &Budget) -> Result<Grammar> {
    if stop.is_empty() {
        return Err(Error::new(ErrorKind::Invalid, "the text that ends the free text is empty"));
    }
    let free = FreeText::new(&[stop], budget)?;
    let dfa = Arc::new(free.dfa(&free.spoiled_by(stop, budget)?, budget)?);
    let text = Automaton { source: free.source(stop).into(), dfa: dfa.into() };
    combine(std::slice::from_ref(part), budget.limits(), |builder, roots| {
        let (text, stop) = (builder.automaton(text), builder.bytes(stop));
        builder.seq([roots[0], text, stop])
    })
}

fn combine(
    parts: &[Grammar],
    limits: &Limits,
    join: impl FnOnce(&mut Builder, Vec<ExprId>) -> ExprId,
) -> Result<Grammar> {
    let mut builder = Builder::new(limits);
    let root = builder.declare("root");
    let mut names = Names::default();
    names.fresh("root");
    let mut roots = Vec::with_capacity(parts.len());
    for part in parts {
        let part_root = copy_into(&mut builder, part, &mut names)?;
        roots.push(builder.rule(part_root));
    }
    let body = join(&mut builder, roots);
    builder.define(root, body, RuleOptions::default());
    builder.finish(root)
}

/// Copies the rules of `part` under names that are still free, and gives its root's new id.
pub(crate) fn copy_into(builder: &mut Builder, part: &Grammar, names: &mut Names) -> Result<RuleId> {
    let rules: Vec<RuleId> = part.rules().map(|(_, rule)| builder.declare(names.fresh(&rule.name))).collect();
    let mut exprs: Vec<ExprId> = Vec::with_capacity(part.exprs().len());
    for (_, expr) in part.exprs() {
        let copied = copy_expr(builder, expr, &exprs, &rules);
        exprs.push(copied);
        builder.check()?;
    }
    for (id, rule) in part.rules() {
        builder.define(rules[id.index()], exprs[rule.body.index()], rule.options.clone());
    }
    Ok(rules[part.root().index()])
}

/// Interns `expr` in `builder`, its children replaced through `exprs` and its rules through `rules`.
pub(crate) fn copy_expr(builder: &mut Builder, expr: &Expr, exprs: &[ExprId], rules: &[RuleId]) -> ExprId {
    let all = |ids| copies(ids, exprs);
    match expr {
        Expr::Never => builder.never(),
        Expr::Empty => builder.empty(),
        Expr::Bytes(bytes) => builder.bytes(bytes),
        Expr::Marker(text) => builder.marker(text),
        Expr::Class(set) => builder.class(set.clone()),
        Expr::Seq(items) => builder.seq(all(items)),
        Expr::Alt(items) => builder.alt(all(items)),
        Expr::Repeat { body, min, max } => builder.repeat(exprs[body.index()], *min, *max),
        Expr::And(items) => builder.and(all(items)),
        Expr::Not(item) => builder.not(exprs[item.index()]),
        Expr::Automaton(automaton) => builder.automaton(automaton.clone()),
        Expr::JsonText { text, escapes } => builder.json_text(exprs[text.index()], *escapes),
        Expr::AtMost { body, most } => builder.at_most(exprs[body.index()], *most),
        Expr::Members { layout, parts } => builder.members_like(layout, all(parts).collect()),
        Expr::Tagged { text, parts, repeats } => builder.tagged(text, all(parts).collect(), *repeats),
        Expr::Rule(rule) => builder.rule(rules[rule.index()]),
        Expr::Token(set) => builder.token(set.clone()),
        Expr::TagDispatch(dispatch) => builder.tag_dispatch(TagDispatch {
            tags: dispatch.tags.iter().map(|(tag, rule)| (tag.clone(), rules[rule.index()])).collect(),
            ..(*Arc::clone(dispatch)).clone()
        }),
        Expr::TokenTagDispatch(dispatch) => builder.token_tag_dispatch(TokenTagDispatch {
            tags: dispatch.tags.iter().map(|&(token, rule)| (token, rules[rule.index()])).collect(),
            ..(*Arc::clone(dispatch)).clone()
        }),
    }
}

fn copies<'c>(ids: &'c [ExprId], exprs: &'c [ExprId]) -> impl Iterator<Item = ExprId> + 'c {
    ids.iter().map(|id| exprs[id.index()])
}

/// The names that are taken, and for each stem the number to try next.
#[derive(Debug, Default)]
pub(crate) struct Names {
    taken: hashbrown::HashSet<String>,
    next: hashbrown::HashMap<String, u32>,
}

impl Names {
    /// `name` if it is free, else its stem with the first number that makes it so.
    pub(crate) fn fresh(&mut self, name: &str) -> String {
        if self.taken.insert(name.to_owned()) {
            return name.to_owned();
        }
        let digits = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let stem = digits.strip_suffix('_').filter(|stem| !stem.is_empty() && digits.len() < name.len());
        let stem = stem.unwrap_or(name);
        let next = self.next.entry(stem.to_owned()).or_insert(1);
        loop {
            let candidate = format!("{stem}_{next}");
            *next += 1;
            if self.taken.insert(candidate.clone()) {
                return candidate;
            }
        }
    }
}
