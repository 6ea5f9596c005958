//! Expressions become automata of terminals, calls and tokens.
//!
//! A construction after Thompson: each expression joins two nodes. Jumps are kept, so the result is linear in the
//! grammar; the engine follows them when it closes a configuration. Nothing recurses: an expression notes which nodes
//! its parts are to join, and they are done later, in any order.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};

use super::analysis::nullable;
use super::key_languages::KeyLanguages;
use super::lists::conditions;
use super::ready::Ready;
use super::shape::{Shape, is_wide_terminal, shapes};
use super::trim::reach;
use crate::error::{Error, Result};
use crate::ir::members::Layout;
use crate::ir::{Builder, Expr, ExprId, Exprs, Grammar, Rule, RuleId, TokenSet};
use crate::limits::Budget;
use crate::machine::{Counter, Edge, Label, List, ListId, MachineRuleId, MemberValue, Node, NodeId, Tagged};
use crate::members::Conditions;

/// The machine while it is being made.
pub struct Draft {
    pub(super) nodes: Vec<Node>,
    pub(super) rules: Vec<DraftRule>,
    pub(super) root: MachineRuleId,
    pub(super) accepts_empty: bool,
    pub(super) token_sets: Vec<TokenSet>,
    pub(super) lists: Vec<List>,
    pub(super) tagged: Vec<Tagged>,
    pub(super) exprs: Exprs,
    /// The ranks of the rules, if none of them had to be rewritten since they were looked at.
    pub(super) ranks: Option<Vec<u32>>,
    /// The rule whose machine is known; its two nodes are joined by nothing yet.
    pub(super) ready: Option<(MachineRuleId, Arc<Ready>)>,
}

/// A rule of the machine while it is being made.
#[derive(Clone, Debug)]
pub(super) struct DraftRule {
    pub(super) name: String,
    pub(super) start: NodeId,
    pub(super) end: NodeId,
    pub(super) temperature: Option<f32>,
}

impl Draft {
    pub(super) fn add_node(&mut self, temperature: Option<f32>, budget: &Budget) -> Result<NodeId> {
        budget.check_nodes(self.nodes.len())?;
        self.nodes.push(Node { temperature, ..Node::default() });
        Ok(NodeId(self.nodes.len() as u32 - 1))
    }

    pub(super) fn node_mut(&mut self, id: NodeId) -> &mut Node {
        &mut self.nodes[id.0 as usize]
    }

    /// The start and the end of a rule.
    pub(super) fn ends_of(&self, rule: MachineRuleId) -> (NodeId, NodeId) {
        let rule = &self.rules[rule.0 as usize];
        (rule.start, rule.end)
    }

    pub(super) fn jump(&mut self, from: NodeId, to: NodeId) {
        if from != to {
            self.node_mut(from).jumps.push(to);
        }
    }
}

/// The draft of `grammar`.
pub fn build(grammar: &Grammar, budget: &Budget) -> Result<Draft> {
    let is_ready = |rule: RuleId| grammar.ready().is_some_and(|(ready, _)| *ready == rule);
    let (reachable, used) = reach(grammar, |_| true, |rule| !is_ready(rule));
    let ready = grammar.ready().filter(|(rule, _)| reachable[rule.index()]);
    let languages = KeyLanguages::new(grammar);
    let conditions = all_conditions(&languages, &used, budget)?;
    let empty_list =
        |id: ExprId| conditions.get(&id).is_some_and(|conditions| conditions.may_end(&conditions.start()));
    let nullable = nullable(grammar, empty_list)?;
    let accepts_empty = nullable[grammar.rule(grammar.root()).body.index()];
    let mut work = Work {
        grammar,
        shapes: shapes(grammar),
        nullable,
        terminals: match ready {
            Some((_, ready)) => ready.terminals(budget.limits()),
            None => Builder::new(budget.limits()),
        },
        draft: Draft {
            nodes: Vec::new(),
            rules: Vec::new(),
            root: MachineRuleId(grammar.root().0),
            accepts_empty,
            token_sets: Vec::new(),
            lists: Vec::new(),
            tagged: Vec::new(),
            exprs: Exprs::default(),
            ranks: None,
            ready: ready.map(|(rule, ready)| (MachineRuleId(rule.0), Arc::clone(ready))),
        },
        languages,
        conditions,
        lists: FxHashMap::default(),
        values: FxHashMap::default(),
        copied: vec![None; grammar.exprs().len()],
        open: Vec::new(),
        repeats: FxHashMap::default(),
        tagged: FxHashMap::default(),
        token_sets: FxHashMap::default(),
        pending: Vec::new(),
        temperature: None,
        budget,
    };
    for (_, rule) in grammar.rules() {
        work.declare(rule.name.clone(), rule.options.temperature)?;
    }
    for (id, rule) in grammar.rules().filter(|(id, _)| reachable[id.index()] && !is_ready(*id)) {
        let target = work.framed(MachineRuleId(id.0), rule)?;
        work.define(target, rule.body);
        work.run()?;
    }
    let mut draft = work.draft;
    draft.exprs = work.terminals.into_exprs();
    Ok(draft)
}

/// The conditions of all lists that are used.
fn all_conditions(
    languages: &KeyLanguages<'_>,
    used: &[bool],
    budget: &Budget,
) -> Result<FxHashMap<ExprId, Arc<Conditions>>> {
    let mut all = FxHashMap::default();
    // Lists without others, whose keys would matter, have the conditions of their layout. Tools written as tags have no
    // keys at all, and often the same layout.
    let mut by_layout: FxHashMap<(&Layout, usize), Arc<Conditions>> = FxHashMap::default();
    for (id, expr) in languages.grammar.exprs().filter(|(id, _)| used[id.index()]) {
        let Expr::Members { layout, parts } = expr else { continue };
        let key = (&**layout, parts.len());
        let found = match by_layout.get(&key).filter(|_| layout.others.is_empty()) {
            Some(known) => Arc::clone(known),
            None => Arc::new(conditions(languages, layout, parts, &|_| true, budget)?),
        };
        by_layout.insert(key, Arc::clone(&found));
        all.insert(id, found);
    }
    Ok(all)
}

pub(super) struct Work<'g> {
    pub(super) grammar: &'g Grammar,
    pub(super) shapes: Vec<Shape>,
    pub(super) nullable: Vec<bool>,
    /// The expressions of the terminals.
    pub(super) terminals: Builder,
    pub(super) draft: Draft,
    pub(super) languages: KeyLanguages<'g>,
    pub(super) conditions: FxHashMap<ExprId, Arc<Conditions>>,
    /// The lists that were made, by expression and the bits of the temperature.
    pub(super) lists: FxHashMap<(ExprId, Option<u32>), ListId>,
    /// The values of members with keys, in the same way.
    pub(super) values: FxHashMap<(ExprId, Option<u32>), MemberValue>,
    /// The terminal that an expression was copied to, by expression.
    copied: Vec<Option<ExprId>>,
    /// What is still to be copied, and whether its children were.
    open: Vec<(ExprId, bool)>,
    /// The rule made for the body of a counted repeat in a rule of some temperature, by its bits.
    repeats: FxHashMap<(ExprId, Option<u32>), MachineRuleId>,
    /// The texts with tags that were made, in the same way.
    tagged: FxHashMap<(ExprId, Option<u32>), u32>,
    /// The number of an expression's token set.
    token_sets: FxHashMap<ExprId, u32>,
    /// The expressions that are still to join two nodes.
    pending: Vec<(ExprId, NodeId, NodeId)>,
    /// The temperature of the rule that is being done.
    pub(super) temperature: Option<f32>,
    pub(super) budget: &'g Budget,
}

impl Work<'_> {
    pub(super) fn declare(&mut self, name: String, temperature: Option<f32>) -> Result<MachineRuleId> {
        let start = self.draft.add_node(temperature, self.budget)?;
        let end = self.draft.add_node(temperature, self.budget)?;
        self.draft.rules.push(DraftRule { name, start, end, temperature });
        Ok(MachineRuleId(self.draft.rules.len() as u32 - 1))
    }

    /// The rule that gets the body: itself, or where its tokens are counted or its items compared another that it calls.
    fn framed(&mut self, id: MachineRuleId, rule: &Rule) -> Result<MachineRuleId> {
        if !rule.options.needs_frame() {
            return Ok(id);
        }
        let (start, end) = self.draft.ends_of(id);
        let inner = self.declare(rule.name.clone(), rule.options.temperature)?;
        self.edge(start, Label::Call(inner), end);
        if self.nullable[rule.body.index()] {
            self.draft.jump(start, end);
        }
        let end = self.draft.node_mut(end);
        (end.max_tokens, end.distinct_items) = (rule.options.max_tokens, rule.options.distinct_items);
        Ok(inner)
    }

    /// Lets `body` be what `rule` matches.
    fn define(&mut self, rule: MachineRuleId, body: ExprId) {
        let DraftRule { start, end, temperature, .. } = self.draft.rules[rule.0 as usize];
        self.temperature = temperature;
        self.pending.push((body, start, end));
    }

    /// Does what is pending, all of it parts of one rule.
    fn run(&mut self) -> Result<()> {
        while let Some((id, from, to)) = self.pending.pop() {
            self.expr(id, from, to)?;
        }
        Ok(())
    }

    pub(super) fn node(&mut self) -> Result<NodeId> {
        self.draft.add_node(self.temperature, self.budget)
    }

    fn edge(&mut self, from: NodeId, label: Label, target: NodeId) {
        self.draft.node_mut(from).edges.push(Edge { label, target });
    }

    /// Joins `from` and `to` by `id`.
    fn expr(&mut self, id: ExprId, from: NodeId, to: NodeId) -> Result<()> {
        self.budget.tick()?;
        if self.shapes[id.index()].is_narrow()
            || is_wide_terminal(self.grammar.expr(id), self.shapes[id.index()])
        {
            return self.terminal(&[id], from, to);
        }
        let grammar = self.grammar;
        match grammar.expr(id) {
            Expr::Seq(items) => self.sequence(items, from, to),
            Expr::Alt(items) => self.alternatives(items, from, to),
            Expr::Repeat { body, min, max } => self.repeat(*body, *min, *max, from, to),
            Expr::Rule(rule) => {
                self.edge(from, Label::Call(MachineRuleId(rule.0)), to);
                if self.nullable[id.index()] {
                    self.draft.jump(from, to);
                }
                Ok(())
            }
            Expr::Token(set) => {
                let sets = &mut self.draft.token_sets;
                let at = *self.token_sets.entry(id).or_insert_with(|| {
                    sets.push(set.clone());
                    sets.len() as u32 - 1
                });
                self.edge(from, Label::Token(at), to);
                Ok(())
            }
            Expr::Members { .. } => self.list(id, from, to),
            Expr::Tagged { .. } => {
                let text = self.tagged(id)?;
                self.edge(from, Label::Tagged(text), to);
                self.draft.jump(from, to);
                Ok(())
            }
            other => Err(Error::unsupported(format!("an expression survived its pass: {other:?}"))),
        }
    }

    /// A terminal that is the sequence of `items`.
    fn terminal(&mut self, items: &[ExprId], from: NodeId, to: NodeId) -> Result<()> {
        let copies = items.iter().map(|&item| self.copy(item)).collect::<Result<SmallVec<[_; 8]>>>()?;
        let nullable = items.iter().all(|item| self.nullable[item.index()]);
        self.terminal_edge(copies, nullable, from, to);
        Ok(())
    }

    fn terminal_edge(
        &mut self,
        copies: impl IntoIterator<Item = ExprId>,
        nullable: bool,
        from: NodeId,
        to: NodeId,
    ) {
        let terminal = self.terminals.seq(copies);
        if *self.terminals.expr(terminal) != Expr::Empty {
            self.edge(from, Label::Terminal(terminal), to);
        }
        if nullable {
            self.draft.jump(from, to);
        }
    }

    /// `id` among the expressions of the terminals.
    pub(super) fn copy(&mut self, id: ExprId) -> Result<ExprId> {
        if let Some(copy) = self.copied[id.index()] {
            return Ok(copy);
        }
        let grammar = self.grammar;
        self.open.push((id, false));
        while let Some((id, children_done)) = self.open.pop() {
            if self.copied[id.index()].is_some() {
                continue;
            }
            self.budget.tick()?;
            let expr = grammar.expr(id);
            if !children_done && !expr.children().is_empty() {
                self.open.push((id, true));
                self.open.extend(expr.children().iter().map(|&child| (child, false)));
                continue;
            }
            let children: SmallVec<[ExprId; 16]> =
                expr.children().iter().filter_map(|c| self.copied[c.index()]).collect();
            let copy = match expr {
                Expr::Seq(_) => self.terminals.seq(children),
                Expr::Alt(_) => self.terminals.alt(children),
                Expr::Repeat { min, max, .. } => self.terminals.repeat(children[0], *min, *max),
                Expr::Bytes(bytes) => self.terminals.bytes(bytes),
                Expr::Class(set) => self.terminals.class(set.clone()),
                Expr::Automaton(automaton) => self.terminals.automaton(automaton.clone()),
                Expr::JsonText { escapes, .. } => self.terminals.json_text(children[0], *escapes),
                Expr::AtMost { most, .. } => self.terminals.at_most(children[0], *most),
                _ => self.terminals.empty(),
            };
            self.terminals.check()?;
            self.copied[id.index()] = Some(copy);
        }
        Ok(self.copied[id.index()].unwrap_or_else(|| self.terminals.empty()))
    }

    /// A sequence: runs of narrow items are one terminal each, and a wide loop takes the delimiter on either side.
    fn sequence(&mut self, items: &[ExprId], from: NodeId, to: NodeId) -> Result<()> {
        let parts = self.gather(None, items)?;
        self.lay(&parts, from, to)
    }

    /// The parts of a sequence, perhaps behind a terminal that was copied already.
    pub(super) fn gather(&mut self, before: Option<ExprId>, items: &[ExprId]) -> Result<Vec<Part>> {
        let mut parts: Parts = Parts::default();
        if let Some(before) = before {
            parts.narrow(&mut self.terminals, before, false);
        }
        for (at, &item) in items.iter().enumerate() {
            if is_wide_terminal(self.grammar.expr(item), self.shapes[item.index()]) {
                let next = items.get(at + 1).map(|&next| self.grammar.expr(next));
                let delimiter = match next {
                    Some(Expr::Bytes(bytes)) => Some(bytes[0]),
                    _ => None,
                };
                let copy = self.copy(item)?;
                parts.wide(&mut self.terminals, copy, self.nullable[item.index()], delimiter);
            } else if self.shapes[item.index()].is_narrow() {
                let copy = self.copy(item)?;
                parts.narrow(&mut self.terminals, copy, self.nullable[item.index()]);
            } else {
                parts.other(item);
            }
        }
        Ok(parts.done())
    }

    /// Joins `from` and `to` by the parts of a sequence.
    pub(super) fn lay(&mut self, parts: &[Part], from: NodeId, to: NodeId) -> Result<()> {
        let mut at = from;
        for (index, part) in parts.iter().enumerate() {
            let next = if index + 1 == parts.len() { to } else { self.node()? };
            match part {
                Part::Terminal { items, .. } => {
                    let nullable = items.iter().all(|&(_, nullable)| nullable);
                    self.terminal_edge(items.iter().map(|&(item, _)| item), nullable, at, next);
                }
                Part::Other(item) => self.pending.push((*item, at, next)),
            }
            at = next;
        }
        if parts.is_empty() {
            self.draft.jump(from, to);
        }
        Ok(())
    }

    /// Alternatives: the narrow ones are one terminal together.
    fn alternatives(&mut self, items: &[ExprId], from: NodeId, to: NodeId) -> Result<()> {
        let mut narrow = Vec::new();
        let mut nullable = false;
        for &item in items {
            if self.shapes[item.index()].is_narrow() {
                narrow.push(self.copy(item)?);
                nullable |= self.nullable[item.index()];
            } else {
                self.pending.push((item, from, to));
            }
        }
        if !narrow.is_empty() {
            let together = self.terminals.alt(narrow);
            self.terminal_edge([together], nullable, from, to);
        }
        Ok(())
    }

    fn repeat(&mut self, body: ExprId, min: u32, max: Option<u32>, from: NodeId, to: NodeId) -> Result<()> {
        let nullable = self.nullable[body.index()];
        let min = if nullable { 0 } else { min };
        match (min, max) {
            (0, Some(1)) => {
                self.pending.push((body, from, to));
                self.draft.jump(from, to);
            }
            (0 | 1, None) => {
                let (first, last) = (self.node()?, self.node()?);
                self.draft.jump(from, first);
                self.pending.push((body, first, last));
                self.draft.jump(last, first);
                self.draft.jump(last, to);
                if min == 0 {
                    self.draft.jump(from, to);
                }
            }
            _ => {
                let rule = self.repeated_rule(body)?;
                let node = self.node()?;
                let max = max.unwrap_or(Counter::UNBOUNDED);
                self.draft.node_mut(node).counter = Some(Counter { rule, min, max, next: to });
                self.draft.jump(from, node);
            }
        }
        Ok(())
    }

    /// The number of a text with tags.
    fn tagged(&mut self, id: ExprId) -> Result<u32> {
        let key = (id, self.temperature.map(f32::to_bits));
        if let Some(&known) = self.tagged.get(&key) {
            return Ok(known);
        }
        let grammar = self.grammar;
        let Expr::Tagged { text, parts, repeats } = grammar.expr(id) else {
            return Err(Error::unsupported("a text with tags is none"));
        };
        let is_dead = |tag: usize| *grammar.expr(parts[tag]) == Expr::Never;
        let text = Arc::new(text.without(is_dead, self.budget)?);
        let mut rules = Vec::with_capacity(parts.len());
        for (tag, &part) in parts.iter().enumerate() {
            rules.push(if is_dead(tag) { None } else { Some(self.repeated_rule(part)?) });
        }
        let number = self.draft.tagged.len() as u32;
        self.tagged.insert(key, number);
        let again = if *repeats {
            Some(self.declare(format!("again {}", id.index()), self.temperature)?)
        } else {
            None
        };
        if let Some(again) = again {
            self.define(again, id);
        }
        self.draft.tagged.push(Tagged { text, rules: rules.into(), again });
        Ok(number)
    }

    /// A rule whose body is `body`.
    pub(super) fn repeated_rule(&mut self, body: ExprId) -> Result<MachineRuleId> {
        if let Expr::Rule(rule) = self.grammar.expr(body) {
            return Ok(MachineRuleId(rule.0));
        }
        let key = (body, self.temperature.map(f32::to_bits));
        if let Some(&rule) = self.repeats.get(&key) {
            return Ok(rule);
        }
        let rule = self.declare(format!("repeated {}", body.index()), self.temperature)?;
        self.repeats.insert(key, rule);
        self.define(rule, body);
        Ok(rule)
    }
}

/// A part of a sequence.
pub(super) enum Part<Other = ExprId> {
    /// Items with whether each can be empty.
    Terminal {
        items: SmallVec<[(ExprId, bool); 6]>,
        wide: bool,
    },
    Other(Other),
}

/// The parts of a sequence while they are being gathered.
pub(super) struct Parts<Other = ExprId> {
    parts: Vec<Part<Other>>,
    /// The next narrow item gives its first byte to the wide terminal before it.
    first_byte_taken: bool,
}

impl<Other> Default for Parts<Other> {
    fn default() -> Self {
        Parts { parts: Vec::new(), first_byte_taken: false }
    }
}

impl<Other> Parts<Other> {
    pub(super) fn narrow(&mut self, builder: &mut Builder, mut item: ExprId, nullable: bool) {
        if std::mem::take(&mut self.first_byte_taken)
            && let Expr::Bytes(bytes) = builder.expr(item)
        {
            let rest: SmallVec<[u8; 32]> = SmallVec::from_slice(&bytes[1..]);
            if rest.is_empty() {
                return;
            }
            item = builder.bytes(rest);
        }
        match self.parts.last_mut() {
            Some(Part::Terminal { items, wide: false }) => items.push((item, nullable)),
            _ => self.parts.push(Part::Terminal { items: smallvec![(item, nullable)], wide: false }),
        }
    }

    pub(super) fn wide(
        &mut self,
        builder: &mut Builder,
        item: ExprId,
        nullable: bool,
        delimiter: Option<u8>,
    ) {
        let mut items = SmallVec::new();
        items.extend(self.take_delimiter(builder).map(|before| (before, false)));
        items.push((item, nullable));
        items.extend(delimiter.map(|byte| (builder.bytes([byte]), false)));
        self.first_byte_taken = delimiter.is_some();
        self.parts.push(Part::Terminal { items, wide: true });
    }

    /// Takes what delimits a wide loop on its left out of the narrow terminal before it: a class, or one byte.
    fn take_delimiter(&mut self, builder: &mut Builder) -> Option<ExprId> {
        let Some(Part::Terminal { items, wide: false }) = self.parts.last_mut() else { return None };
        let (last, _) = *items.last()?;
        let delimiter = match builder.expr(last).clone() {
            Expr::Class(_) => {
                items.pop();
                last
            }
            Expr::Bytes(bytes) => {
                items.pop();
                if bytes.len() > 1 {
                    items.push((builder.bytes(&bytes[..bytes.len() - 1]), false));
                }
                builder.bytes([bytes[bytes.len() - 1]])
            }
            _ => return None,
        };
        if items.is_empty() {
            self.parts.pop();
        }
        Some(delimiter)
    }

    pub(super) fn other(&mut self, item: Other) {
        self.parts.push(Part::Other(item));
    }

    pub(super) fn done(self) -> Vec<Part<Other>> {
        self.parts
    }
}
