//! From the outline to the machine.
//!
//! A value is written in place where it is a member of an object, behind the texts that come before it, so that the key, the
//! colon and an opening bracket are one terminal. As an item of an array, or as one of several ways to write a value, a
//! container is a rule that is called. So nothing is written in place twice in a row, and recursion ends. Nothing recurses
//! here either: what is to join two nodes is noted, and done later.

use std::sync::Arc;

use smallvec::{SmallVec, smallvec};

use super::super::Ready;
use super::super::build::{Draft, DraftRule, Part, Parts};
use super::super::edge_bytes::Side;
use super::facts::Facts;
use super::{Array, Joints, Object, Outline, ValueId, Way, Ways};
use crate::error::Result;
use crate::ir::members::Order;
use crate::ir::{Builder, Escapes, Expr, ExprId, Exprs};
use crate::limits::Budget;
use crate::machine::{
    Counter, Edge, Label, ListId, ListUse, Machine, MachineRule, MachineRuleId, MemberValue, Node, NodeId,
};
use crate::regular::ByteSet;

/// The outline while it is being lowered.
pub(super) struct Lowering<'b> {
    pub(super) builder: Builder,
    joints: Vec<Joints>,
    /// The bytes that may stand before a key, and after one.
    pub(super) before_keys: ByteSet,
    pub(super) after_keys: ByteSet,
    pub(super) order: Order,
    pub(super) escapes: Escapes,
    values: Vec<Ways>,
    levels: Vec<u8>,
    pub(super) objects: Vec<Object>,
    arrays: Vec<Array>,
    ready: Option<Arc<Ready>>,
    /// The rule of any container, if it is named.
    any_container: Option<MachineRuleId>,
    facts: Facts,
    pub(super) draft: Draft,
    /// The ranks of the rules, by number.
    ranks: Vec<u32>,
    /// How each value is written as a member, once somebody has asked.
    members: Vec<Option<MemberValue>>,
    /// The rules of the values of others, in the same way.
    others: Vec<Option<MachineRuleId>>,
    object_rules: Vec<Option<MachineRuleId>>,
    array_rules: Vec<Option<MachineRuleId>>,
    /// What is still to join two nodes.
    pending: Vec<(Piece, NodeId, NodeId)>,
    pub(super) budget: &'b Budget,
}

/// A piece of a sequence that is no terminal.
#[derive(Clone, Copy)]
enum Piece {
    /// A text that is not one terminal.
    Text(ExprId),
    /// Any of the ways to write a value.
    Choice(ValueId),
    /// The members of an object, without its brackets.
    Members(u32),
    /// The items of an array, without its brackets.
    Items(u32),
    /// A container, by calling its rule.
    Call(Way),
}

/// An item of a sequence.
#[derive(Clone, Copy)]
enum Item {
    Text(ExprId),
    Piece(Piece),
}

type Items = SmallVec<[Item; 16]>;

/// How many nodes and rules there is room for at first; most outlines have about so many.
const EXPECTED_NODES: usize = 32;
const EXPECTED_RULES: usize = 8;
/// Rules that begin with a call come before all rules that they may begin with.
const CALLS_FIRST: u32 = 0;
const READS_FIRST: u32 = 1;

impl Outline {
    /// The machine; `None` if the passes have to make it.
    pub(crate) fn lower(self, budget: &Budget) -> Result<Option<Machine>> {
        if !self.is_plainly_productive() {
            return Ok(None);
        }
        let mut lowering = Lowering::new(self, budget);
        if !lowering.is_settled() {
            return Ok(None);
        }
        lowering.run()?;
        lowering.builder.check()?;
        lowering.finish().map(Some)
    }
}

impl<'b> Lowering<'b> {
    fn new(outline: Outline, budget: &'b Budget) -> Self {
        let draft = Draft {
            nodes: Vec::with_capacity(EXPECTED_NODES),
            rules: Vec::with_capacity(EXPECTED_RULES),
            root: MachineRuleId(0),
            accepts_empty: false,
            token_sets: Vec::new(),
            lists: Vec::with_capacity(outline.objects.len()),
            tagged: Vec::new(),
            exprs: Exprs::default(),
            ranks: None,
            ready: None,
        };
        let Outline { builder, facts, joints, order, escapes, values, levels, objects, arrays, ready } =
            outline;
        Lowering {
            members: vec![None; values.len()],
            others: vec![None; values.len()],
            object_rules: vec![None; objects.len()],
            array_rules: vec![None; arrays.len()],
            builder,
            joints,
            before_keys: ByteSet::ALL,
            after_keys: ByteSet::ALL,
            order,
            escapes,
            values,
            levels,
            objects,
            arrays,
            ready,
            any_container: None,
            facts,
            draft,
            ranks: Vec::new(),
            pending: Vec::new(),
            budget,
        }
    }

    /// The machine. All nodes and rules were made because something leads to them, so that none has to go away.
    fn finish(mut self) -> Result<Machine> {
        self.mark_accepting();
        let rules = self.draft.rules.into_iter().zip(self.ranks);
        let rule = |(rule, rank): (DraftRule, u32)| MachineRule { name: rule.name, start: rule.start, rank };
        let mut machine = Machine {
            exprs: self.builder.into_exprs(),
            token_sets: Vec::new(),
            lists: self.draft.lists,
            tagged: Vec::new(),
            nodes: self.draft.nodes,
            rules: rules.map(rule).collect(),
            root: self.draft.root,
            accepts_empty: false,
            has_temperatures: false,
            counts_tokens: false,
            compares_items: false,
            block: None,
        };
        if let Some((rule, ready)) = self.any_container.zip(self.ready) {
            ready.link(&mut machine, rule, self.budget)?;
        }
        Ok(machine)
    }

    /// Marks the nodes from which the end of their rule is reached by jumps alone: the ends, and those before white space that
    /// may be missing. No list stands at the end of a rule, because a bracket closes it.
    fn mark_accepting(&mut self) {
        for rule in &self.draft.rules {
            self.draft.nodes[rule.end.0 as usize].accepting = true;
        }
        loop {
            let is_before_end = |node: &Node| {
                let is_accepting = |jump: &NodeId| self.draft.nodes[jump.0 as usize].accepting;
                !node.accepting && node.jumps.iter().any(is_accepting)
            };
            let found: SmallVec<[usize; 16]> =
                (0..self.draft.nodes.len()).filter(|&at| is_before_end(&self.draft.nodes[at])).collect();
            if found.is_empty() {
                return;
            }
            found.into_iter().for_each(|at| self.draft.nodes[at].accepting = true);
        }
    }

    /// Whether the engine reads all texts as they are.
    fn is_settled(&mut self) -> bool {
        let Lowering { values, objects, facts, builder, .. } = self;
        let texts = values.iter().flatten().filter_map(|way| match way {
            Way::Text(text) => Some(*text),
            _ => None,
        });
        let keys = objects.iter().flat_map(|object| &object.others).map(|family| family.keys);
        texts.chain(keys).all(|text| facts.is_settled(builder, text))
    }

    fn run(&mut self) -> Result<()> {
        let root = self.declare("root", CALLS_FIRST)?;
        if self.ready.is_some() {
            self.any_container = Some(self.declare("any", READS_FIRST)?);
        }
        // The bytes are the same however deep it is.
        if let Some(&Joints { comma, colon, .. }) = self.joints.last() {
            self.before_keys = self.facts.edge_bytes(&self.builder, comma, Side::Last);
            self.after_keys = self.facts.edge_bytes(&self.builder, colon, Side::First);
        }
        let mut items = Items::new();
        self.push_value(&mut items, ValueId(0));
        self.lay_rule(root, &items)?;
        self.join_all()?;
        // Lists come to be while others are made.
        while self.draft.lists.len() < self.objects.len() {
            self.make_list(self.draft.lists.len())?;
            self.join_all()?;
        }
        Ok(())
    }

    fn join_all(&mut self) -> Result<()> {
        while let Some((piece, from, to)) = self.pending.pop() {
            self.budget.tick()?;
            self.join(piece, from, to)?;
        }
        Ok(())
    }

    pub(super) fn declare(&mut self, name: &str, rank: u32) -> Result<MachineRuleId> {
        let (start, end) = (self.node()?, self.node()?);
        self.draft.rules.push(DraftRule { name: name.to_owned(), start, end, temperature: None });
        self.ranks.push(rank);
        Ok(MachineRuleId(self.draft.rules.len() as u32 - 1))
    }

    fn node(&mut self) -> Result<NodeId> {
        self.draft.add_node(None, self.budget)
    }

    /// Lets a rule match `items`.
    fn lay_rule(&mut self, rule: MachineRuleId, items: &[Item]) -> Result<()> {
        let (start, end) = self.draft.ends_of(rule);
        let parts = self.gather(items);
        self.lay(&parts, start, end)
    }

    /// Adds a text, item by item if it is a sequence.
    fn push_text(&self, items: &mut Items, text: ExprId) {
        match self.builder.expr(text) {
            Expr::Seq(parts) => items.extend(parts.iter().map(|&part| Item::Text(part))),
            Expr::Empty => {}
            _ => items.push(Item::Text(text)),
        }
    }

    /// Adds a value, in place if there is one way to write it.
    fn push_value(&mut self, items: &mut Items, value: ValueId) {
        match *self.values[value.index()] {
            [Way::Text(text)] => self.push_text(items, text),
            [container @ (Way::Object(_) | Way::Array(_))] => self.push_container(items, container),
            _ => items.push(Item::Piece(Piece::Choice(value))),
        }
    }

    /// Adds an object or an array with its brackets.
    fn push_container(&mut self, items: &mut Items, container: Way) {
        let (open, inner, joints, close) = match container {
            Way::Object(object) => {
                let level = self.objects[object as usize].level;
                ("{", Piece::Members(object), self.joints_at(level), "}")
            }
            Way::Array(array) => {
                let joints = self.joints_of(self.arrays[array as usize].item);
                ("[", Piece::Items(array), joints, "]")
            }
            Way::Text(_) | Way::AnyContainer => return,
        };
        let (open, close) = (self.builder.bytes(open), self.builder.bytes(close));
        items.push(Item::Text(open));
        self.push_text(items, joints.space);
        items.extend([Item::Piece(inner), Item::Text(close)]);
    }

    /// What stands between values that lie so deep.
    pub(super) fn joints_at(&self, level: u8) -> Joints {
        self.joints[usize::from(level)]
    }

    /// What stands around a value in a list.
    fn joints_of(&self, value: ValueId) -> Joints {
        self.joints_at(self.levels[value.index()])
    }

    /// How a value is written as a member with a key, from the closing quote of the key on.
    pub(super) fn member(&mut self, value: ValueId) -> Result<MemberValue> {
        if let Some(known) = self.members[value.index()] {
            return Ok(known);
        }
        let quote = self.builder.bytes("\"");
        let mut items: Items = smallvec![Item::Text(quote)];
        let joints = self.joints_of(value);
        self.push_text(&mut items, joints.colon);
        self.push_value(&mut items, value);
        self.push_text(&mut items, joints.space);
        let mut parts = self.gather(&items);
        let rest = parts.split_off(1);
        let head = match parts.pop() {
            Some(Part::Terminal { items, .. }) => self.builder.seq(items.into_iter().map(|(item, _)| item)),
            _ => quote,
        };
        let rule = if rest.is_empty() {
            None
        } else {
            let rule = self.declare("member", CALLS_FIRST)?;
            let (start, end) = self.draft.ends_of(rule);
            self.lay(&rest, start, end)?;
            Some(rule)
        };
        let member = MemberValue { head: Some(head), rule };
        self.members[value.index()] = Some(member);
        Ok(member)
    }

    /// The rule of a value after a key that has no name, from the colon on.
    pub(super) fn other(&mut self, value: ValueId) -> Result<MachineRuleId> {
        if let Some(known) = self.others[value.index()] {
            return Ok(known);
        }
        let rule = self.declare("other", READS_FIRST)?;
        self.others[value.index()] = Some(rule);
        let mut items = Items::new();
        let joints = self.joints_of(value);
        self.push_text(&mut items, joints.colon);
        self.push_value(&mut items, value);
        self.push_text(&mut items, joints.space);
        self.lay_rule(rule, &items)?;
        Ok(rule)
    }

    /// The parts of a sequence: runs of narrow texts are one terminal each, and a wide one takes the delimiter on either side.
    fn gather(&mut self, items: &[Item]) -> Vec<Part<Piece>> {
        let mut parts = Parts::default();
        for (at, item) in items.iter().enumerate() {
            let text = match *item {
                Item::Piece(piece) => {
                    parts.other(piece);
                    continue;
                }
                Item::Text(text) => text,
            };
            let nullable = self.facts.is_nullable(&self.builder, text);
            if self.facts.is_wide_terminal(&self.builder, text) {
                let delimiter = match items.get(at + 1) {
                    Some(Item::Text(next)) => match self.builder.expr(*next) {
                        Expr::Bytes(bytes) => Some(bytes[0]),
                        _ => None,
                    },
                    _ => None,
                };
                parts.wide(&mut self.builder, text, nullable, delimiter);
            } else if self.facts.is_narrow(&self.builder, text) {
                parts.narrow(&mut self.builder, text, nullable);
            } else {
                parts.other(Piece::Text(text));
            }
        }
        parts.done()
    }

    /// Joins `from` and `to` by the parts of a sequence.
    fn lay(&mut self, parts: &[Part<Piece>], from: NodeId, to: NodeId) -> Result<()> {
        let mut at = from;
        for (index, part) in parts.iter().enumerate() {
            let next = if index + 1 == parts.len() { to } else { self.node()? };
            match part {
                Part::Terminal { items, .. } => {
                    let nullable = items.iter().all(|&(_, nullable)| nullable);
                    let text = self.builder.seq(items.iter().map(|&(item, _)| item));
                    self.terminal(text, nullable, at, next);
                }
                Part::Other(piece) => self.pending.push((*piece, at, next)),
            }
            at = next;
        }
        if parts.is_empty() {
            self.draft.jump(from, to);
        }
        Ok(())
    }

    fn terminal(&mut self, text: ExprId, nullable: bool, from: NodeId, to: NodeId) {
        if *self.builder.expr(text) != Expr::Empty {
            self.edge(from, Label::Terminal(text), to);
        }
        if nullable {
            self.draft.jump(from, to);
        }
    }

    fn edge(&mut self, from: NodeId, label: Label, target: NodeId) {
        self.draft.node_mut(from).edges.push(Edge { label, target });
    }

    fn join(&mut self, piece: Piece, from: NodeId, to: NodeId) -> Result<()> {
        match piece {
            Piece::Text(text) => self.join_text(text, from, to),
            Piece::Choice(value) => {
                let ways = self.values[value.index()].clone();
                let mut texts: SmallVec<[ExprId; 8]> = SmallVec::new();
                for way in ways {
                    match way {
                        Way::Text(text) => texts.push(text),
                        container => self.pending.push((Piece::Call(container), from, to)),
                    }
                }
                self.join_alternatives(&texts, from, to);
                Ok(())
            }
            Piece::Members(object) => {
                let node = self.node()?;
                // A list has the number of its object.
                let list = ListUse { list: ListId(object), next: to, nonempty: false };
                self.draft.node_mut(node).list = Some(list);
                self.draft.jump(from, node);
                Ok(())
            }
            Piece::Items(array) => self.join_items(self.arrays[array as usize], from, to),
            Piece::Call(way) => {
                if let Some(rule) = self.container(way)? {
                    self.edge(from, Label::Call(rule), to);
                }
                Ok(())
            }
        }
    }

    /// A text that is a sequence or a choice with something wide in it.
    fn join_text(&mut self, text: ExprId, from: NodeId, to: NodeId) -> Result<()> {
        match self.builder.expr(text).clone() {
            Expr::Alt(texts) => {
                self.join_alternatives(&texts, from, to);
                Ok(())
            }
            Expr::Seq(texts) => {
                let items: Items = texts.iter().map(|&text| Item::Text(text)).collect();
                let parts = self.gather(&items);
                self.lay(&parts, from, to)
            }
            _ => {
                let nullable = self.facts.is_nullable(&self.builder, text);
                self.terminal(text, nullable, from, to);
                Ok(())
            }
        }
    }

    /// Alternatives: the narrow ones are one terminal together.
    fn join_alternatives(&mut self, texts: &[ExprId], from: NodeId, to: NodeId) {
        let mut flat: SmallVec<[ExprId; 8]> = SmallVec::new();
        for &text in texts {
            match self.builder.expr(text) {
                Expr::Alt(items) => flat.extend_from_slice(items),
                _ => flat.push(text),
            }
        }
        let mut narrow: SmallVec<[ExprId; 8]> = SmallVec::new();
        let mut nullable = false;
        for text in flat {
            if self.facts.is_narrow(&self.builder, text) {
                nullable |= self.facts.is_nullable(&self.builder, text);
                narrow.push(text);
            } else {
                self.pending.push((Piece::Text(text), from, to));
            }
        }
        if !narrow.is_empty() {
            let together = self.builder.alt(narrow);
            self.terminal(together, nullable, from, to);
        }
    }

    /// The items of an array between its brackets.
    fn join_items(&mut self, array: Array, from: NodeId, to: NodeId) -> Result<()> {
        if array.min == 0 {
            self.draft.jump(from, to);
        }
        if array.max == Some(0) {
            return Ok(());
        }
        let mut items = Items::new();
        match *self.values[array.item.index()] {
            [container @ (Way::Object(_) | Way::Array(_))] => items.push(Item::Piece(Piece::Call(container))),
            _ => self.push_value(&mut items, array.item),
        }
        let joints = self.joints_of(array.item);
        self.push_text(&mut items, joints.space);
        let after = self.node()?;
        let first = self.gather(&items);
        self.lay(&first, from, after)?;
        let (min, max) = (array.min.saturating_sub(1), array.max.map(|max| max - 1));
        match (min, max) {
            (_, Some(0)) => self.draft.jump(after, to),
            (0, None) => {
                let before = self.node()?;
                self.terminal(joints.comma, false, after, before);
                self.lay(&first, before, after)?;
                self.draft.jump(after, to);
            }
            _ => {
                let mut more = Items::new();
                self.push_text(&mut more, joints.comma);
                more.extend(items);
                let rule = self.declare("more", READS_FIRST)?;
                self.lay_rule(rule, &more)?;
                let counter = Counter { rule, min, max: max.unwrap_or(Counter::UNBOUNDED), next: to };
                self.draft.node_mut(after).counter = Some(counter);
            }
        }
        Ok(())
    }

    /// The rule of a container; none for a text.
    fn container(&mut self, way: Way) -> Result<Option<MachineRuleId>> {
        let known = match way {
            Way::Text(_) => return Ok(None),
            Way::AnyContainer => return Ok(self.any_container),
            Way::Object(object) => self.object_rules[object as usize],
            Way::Array(array) => self.array_rules[array as usize],
        };
        if known.is_some() {
            return Ok(known);
        }
        let mut items = Items::new();
        self.push_container(&mut items, way);
        let rule = self.declare("container", READS_FIRST)?;
        match way {
            Way::Object(object) => self.object_rules[object as usize] = Some(rule),
            Way::Array(array) => self.array_rules[array as usize] = Some(rule),
            Way::Text(_) | Way::AnyContainer => {}
        }
        self.lay_rule(rule, &items)?;
        Ok(Some(rule))
    }
}
