//! Lists of members as rules, where they are plain enough.
//!
//! A list goes beside an automaton place by place. But where two operands of a conjunction hold lists, one of them has to be an
//! automaton itself. A list whose members come in a fixed order, each on its own conditions, is an ordinary expression: for
//! each place a rule for what may follow. That is the object of a closed schema with its keys in order, and any array that
//! was not one already.
//!
//! Free text with a few tags is written as expressions too, for the same reason.

use std::sync::Arc;

use crate::error::Result;
use crate::ir::members::{Entry, Layout, Order, Variant};
use crate::ir::{Automaton, Builder, Expr, ExprId, Grammar, RuleId, RuleOptions, copy_expr};
use crate::limits::Budget;
use crate::regular::TagText;

/// Whether a list can be written as rules.
fn is_plain(layout: &Layout) -> bool {
    if !layout.track.is_empty() {
        return false;
    }
    let in_order = layout.order != Order::Any || (layout.entries.is_empty() && !layout.unique);
    in_order
        && layout.counters.is_empty()
        && layout.implies.is_empty()
        && (layout.others.is_empty() || !layout.unique)
}

/// `grammar` with free text that has few tags as expressions, and, if `lists` says so, with plain lists as rules.
pub(super) fn unfold(grammar: Grammar, lists: bool, budget: &Budget) -> Result<Grammar> {
    let concerns = |expr: &Expr| match expr {
        Expr::Members { layout, .. } => lists && is_plain(layout),
        Expr::Tagged { text, .. } => has_few_tags(text, budget),
        _ => false,
    };
    if !grammar.exprs().any(|(_, expr)| concerns(expr)) {
        return Ok(grammar);
    }
    let mut builder = Builder::new(budget.limits());
    let rules: Vec<RuleId> = grammar.rules().map(|(_, rule)| builder.declare(&rule.name)).collect();
    let mut exprs: Vec<ExprId> = Vec::with_capacity(grammar.exprs().len());
    for (_, expr) in grammar.exprs() {
        budget.tick()?;
        let copied = match expr {
            Expr::Members { layout, parts } if lists && is_plain(layout) => {
                let parts: Vec<ExprId> = parts.iter().map(|part| exprs[part.index()]).collect();
                List { layout, parts: &parts, builder: &mut builder }.write()
            }
            Expr::Tagged { text, parts, repeats } if has_few_tags(text, budget) => {
                let parts: Vec<ExprId> = parts.iter().map(|part| exprs[part.index()]).collect();
                write_tagged(&mut builder, text, &parts, *repeats, budget)?
            }
            other => copy_expr(&mut builder, other, &exprs, &rules),
        };
        exprs.push(copied);
        builder.check()?;
    }
    for (id, rule) in grammar.rules() {
        builder.define(rules[id.index()], exprs[rule.body.index()], rule.options.clone());
    }
    builder.finish(rules[grammar.root().index()])
}

/// Whether a text with tags can be written as expressions: each tag takes an automaton as large as all of them.
fn has_few_tags(text: &TagText, budget: &Budget) -> bool {
    text.len().saturating_mul(text.tags().len() + 1) <= budget.limits().max_states
}

/// A text with tags as expressions: for each tag the texts that end with it, and then what follows it.
fn write_tagged(
    builder: &mut Builder,
    text: &TagText,
    parts: &[ExprId],
    repeats: bool,
    budget: &Budget,
) -> Result<ExprId> {
    let automaton = |builder: &mut Builder, is_end: &dyn Fn(u32) -> bool, what: String| {
        let dfa = Arc::new(text.dfa(is_end, budget)?);
        let source = format!("{what} of {text:p}").into();
        Ok(builder.automaton(Automaton { source, dfa: dfa.into() }))
    };
    let plain = automaton(builder, &|state| text.is_end(state), "the text".to_owned())?;
    let mut units = Vec::with_capacity(parts.len());
    for (tag, &part) in (0..).zip(parts) {
        let before = automaton(builder, &|state| text.tag(state) == Some(tag), format!("tag {tag}"))?;
        units.push(builder.seq([before, part]));
    }
    let unit = builder.alt(units);
    if repeats {
        let many = builder.repeat(unit, 0, None);
        return Ok(builder.seq([many, plain]));
    }
    Ok(builder.alt([plain, unit]))
}

/// A list that is being written.
struct List<'l> {
    layout: &'l Layout,
    parts: &'l [ExprId],
    builder: &'l mut Builder,
}

impl List<'_> {
    /// The whole list, from its last place to its first.
    fn write(mut self) -> ExprId {
        let separator = self.parts[self.layout.separator as usize];
        let others: Vec<ExprId> = (0..self.layout.others.len()).map(|at| self.other(at)).collect();
        let other = self.builder.alt(others);
        let more = self.builder.seq([separator, other]);
        // What may follow a member, and what may come where none has come yet.
        let mut after = self.builder.repeat(more, 0, None);
        let some = self.builder.seq([other, after]);
        let mut first = self.builder.optional(some);
        let mut may_end = true;
        for entry in self.layout.entries.iter().rev() {
            let member = self.entry(entry);
            may_end &= !entry.required;
            let (written, begun) =
                (self.builder.seq([separator, member, after]), self.builder.seq([member, after]));
            let (mut follows, mut begins) = (vec![written], vec![begun]);
            match self.layout.order {
                Order::Sequence if may_end => {
                    let empty = self.builder.empty();
                    follows.push(empty);
                    begins.push(empty);
                }
                Order::Declared | Order::Any if !entry.required => {
                    follows.push(after);
                    begins.push(first);
                }
                _ => {}
            }
            after = self.rule(follows);
            first = self.rule(begins);
        }
        first
    }

    /// Alternatives as a rule of their own, since they are named more than once.
    fn rule(&mut self, alternatives: Vec<ExprId>) -> ExprId {
        let body = self.builder.alt(alternatives);
        let rule = self.builder.declare("members");
        self.builder.define(rule, body, RuleOptions::default());
        self.builder.rule(rule)
    }

    fn values(&mut self, variants: &[Variant]) -> ExprId {
        let values: Vec<ExprId> = variants.iter().map(|variant| self.parts[variant.value as usize]).collect();
        self.builder.alt(values)
    }

    fn quoted(&mut self, text: ExprId) -> ExprId {
        let (quote, text) = (self.builder.bytes("\""), self.builder.json_text(text, self.layout.escapes));
        self.builder.seq([quote, text, quote])
    }

    fn entry(&mut self, entry: &Entry) -> ExprId {
        let value = self.values(&entry.variants);
        match &entry.key {
            None => value,
            Some(key) => {
                let text = self.builder.bytes(key.as_bytes());
                let key = self.quoted(text);
                self.builder.seq([key, value])
            }
        }
    }

    /// A family of others; their keys are none of the entries'.
    fn other(&mut self, at: usize) -> ExprId {
        let others = &self.layout.others[at];
        let value = self.values(&others.variants);
        let Some(keys) = others.keys else { return value };
        let mut text = self.parts[keys as usize];
        let names: Vec<ExprId> = self
            .layout
            .entries
            .iter()
            .filter_map(|entry| entry.key.as_ref())
            .map(|key| self.builder.bytes(key.as_bytes()))
            .collect();
        if !names.is_empty() {
            let names = self.builder.alt(names);
            let not_named = self.builder.not(names);
            text = self.builder.and([text, not_named]);
        }
        let key = self.quoted(text);
        self.builder.seq([key, value])
    }
}
