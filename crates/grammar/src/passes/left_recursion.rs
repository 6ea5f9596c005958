//! Calls in first position that come back become loops.
//!
//! Take the rules that can call each other before anything is consumed: `A -> B x | p`, `B -> A y | q`. Read the
//! left edge of a derivation from the bottom up: it starts with the base of some rule of the circle (`p` or `q`),
//! and each time a rule is complete, whoever called it in first position goes on after the call. So the language of
//! `A` is an automaton: enter the base of any rule of the circle; at the end of a rule, go on behind each call of it
//! in first position; and stop at the end of `A`. It is linear in the circle for each rule that is called from
//! elsewhere, and hidden left recursion (behind something that may be empty) needs nothing more, because jumps
//! already stand beside calls that may be empty.
//!
//! A counted repeat in first position that comes back to its own rule has no such form, because its frame would have
//! to be there before its first item; it is written out, which the limit on nodes bounds. A list of members without
//! keys that comes back so is refused.

use super::build::Draft;
use super::graph::{Graph, strong_components};
use super::marks::Marks;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Budget;
use crate::machine::{Counter, Edge, Label, List, ListUse, MachineRuleId, Node, NodeId};

/// How many copies of its body a counted repeat that recurses on the left may have.
const MAX_COPIES: u32 = 256;

/// `draft` without left recursion.
pub fn eliminate(mut draft: Draft, budget: &Budget) -> Result<Draft> {
    let (mut found, mut ranks) = circles(&draft, budget)?;
    while !found.is_empty() && expand_counters(&mut draft, &found, budget)? {
        (found, ranks) = circles(&draft, budget)?;
    }
    if found.is_empty() {
        draft.ranks = Some(ranks);
        return Ok(draft);
    }
    check_framed(&draft, &found)?;
    let mut circle_of = vec![None; draft.rules.len()];
    for (at, circle) in found.iter().enumerate() {
        circle.iter().for_each(|rule| circle_of[rule.0 as usize] = Some(at));
    }
    // Only what is called from the root, in any place but first in its own circle, needs an automaton of its own.
    let mut merged = Vec::new();
    let mut seen = vec![false; draft.rules.len()];
    let mut stack = vec![draft.root];
    while let Some(rule) = stack.pop() {
        if std::mem::replace(&mut seen[rule.0 as usize], true) {
            continue;
        }
        let start = match circle_of[rule.0 as usize] {
            Some(circle) => {
                let (start, end) = Merger::merge(&mut draft, rule, &found[circle], budget)?;
                merged.push((rule, start, end));
                start
            }
            None => draft.rules[rule.0 as usize].start,
        };
        stack.extend(calls(&draft, start, budget)?);
    }
    for (rule, start, end) in merged {
        let slot = &mut draft.rules[rule.0 as usize];
        (slot.start, slot.end) = (start, end);
    }
    Ok(draft)
}

/// Fails if the tokens of a rule that recurses on the left are counted, or its items compared: in a loop, there is no frame
/// that could.
fn check_framed(draft: &Draft, circles: &[Vec<MachineRuleId>]) -> Result<()> {
    for &rule in circles.iter().flatten() {
        let end = &draft.nodes[draft.ends_of(rule).1.0 as usize];
        let option = match (end.max_tokens, end.distinct_items) {
            (Some(_), _) => "max_tokens",
            (None, true) => "distinct_items",
            (None, false) => continue,
        };
        let name = &draft.rules[rule.0 as usize].name;
        return Err(Error::unsupported(format!(
            "the option `{option}` of rule `{name}` cannot be enforced: the rule calls itself before anything is read"
        )));
    }
    Ok(())
}

/// The rules that are called anywhere in the automaton that starts at `start`.
fn calls(draft: &Draft, start: NodeId, budget: &Budget) -> Result<Vec<MachineRuleId>> {
    let mut calls = Vec::new();
    let mut seen: hashbrown::HashSet<NodeId> = hashbrown::HashSet::from([start]);
    let mut stack = vec![start];
    while let Some(id) = stack.pop() {
        budget.tick()?;
        let node = &draft.nodes[id.0 as usize];
        calls.extend(node.calls(&draft.lists, &draft.tagged));
        stack.extend(node.successors().filter(|&next| seen.insert(next)));
    }
    Ok(calls)
}

/// The nodes that a rule may be in before it has consumed anything. It is asked for one rule at a time while the draft
/// grows, so what is set up for it is no larger than what it finds.
fn left_region(draft: &Draft, rule: MachineRuleId, budget: &Budget) -> Result<Vec<NodeId>> {
    let start = draft.rules[rule.0 as usize].start;
    let mut seen: hashbrown::HashSet<NodeId> = hashbrown::HashSet::from([start]);
    let mut region = vec![start];
    let mut at = 0;
    while let Some(&id) = region.get(at) {
        budget.tick()?;
        let node = &draft.nodes[id.0 as usize];
        let next = node.jumps.iter().copied().chain(node.skip(&draft.lists));
        region.extend(next.filter(|&next| seen.insert(next)));
        at += 1;
    }
    Ok(region)
}

/// Looks for the nodes that are reached without consuming anything.
struct Regions<'d> {
    nodes: &'d [Node],
    lists: &'d [List],
    seen: Marks,
    /// What was found last.
    region: Vec<NodeId>,
}

impl<'d> Regions<'d> {
    fn new(nodes: &'d [Node], lists: &'d [List]) -> Self {
        Regions { nodes, lists, seen: Marks::new(nodes.len()), region: Vec::new() }
    }

    fn find(&mut self, start: NodeId, budget: &Budget) -> Result<()> {
        let Regions { nodes, lists, seen, region } = self;
        seen.clear(0);
        seen.insert(start.0 as usize);
        region.clear();
        region.push(start);
        let mut at = 0;
        while let Some(&id) = region.get(at) {
            budget.tick()?;
            let node = &nodes[id.0 as usize];
            let next = node.jumps.iter().copied().chain(node.skip(lists));
            region.extend(next.filter(|next| seen.insert(next.0 as usize)));
            at += 1;
        }
        Ok(())
    }
}

/// The rules that each of some rules, known by their starts, can call before it has consumed anything.
pub(super) fn left_calls(
    nodes: &[Node],
    lists: &[List],
    starts: impl Iterator<Item = NodeId>,
    budget: &Budget,
) -> Result<Graph> {
    let mut regions = Regions::new(nodes, lists);
    let mut all = Graph::default();
    for start in starts {
        regions.find(start, budget)?;
        let calls = regions.region.iter().flat_map(|id| nodes[id.0 as usize].left_calls(lists));
        all.push(calls.map(|rule| rule.0));
    }
    Ok(all)
}

/// The circles of rules that call each other in first position, and the ranks of all rules.
fn circles(draft: &Draft, budget: &Budget) -> Result<(Vec<Vec<MachineRuleId>>, Vec<u32>)> {
    let starts = draft.rules.iter().map(|rule| rule.start);
    let graph = left_calls(&draft.nodes, &draft.lists, starts, budget)?;
    let rules = |circle: &[u32]| circle.iter().copied().map(MachineRuleId).collect();
    let components = strong_components(&graph);
    Ok((components.circles(&graph).map(rules).collect(), components.ranks()))
}

/// Writes out the counted repeats that stand on the left edge of a circle. Whether there was one.
fn expand_counters(draft: &mut Draft, circles: &[Vec<MachineRuleId>], budget: &Budget) -> Result<bool> {
    let mut found = Vec::new();
    for circle in circles {
        let members: hashbrown::HashSet<MachineRuleId> = circle.iter().copied().collect();
        for &rule in circle {
            for id in left_region(draft, rule, budget)? {
                let counter = draft.nodes[id.0 as usize].counter;
                found.extend(
                    counter.filter(|counter| members.contains(&counter.rule)).map(|counter| (id, counter)),
                );
            }
        }
    }
    for &(id, counter) in &found {
        if draft.nodes[id.0 as usize].counter.is_some() {
            write_out(draft, id, counter, budget)?;
        }
    }
    Ok(!found.is_empty())
}

fn write_out(draft: &mut Draft, id: NodeId, counter: Counter, budget: &Budget) -> Result<()> {
    let unbounded = counter.max == Counter::UNBOUNDED;
    let copies = if unbounded { counter.min.max(1) } else { counter.max };
    if copies > MAX_COPIES {
        let message = format!(
            "a repeat of more than {MAX_COPIES} that begins with its own rule {:?} (left recursion through a count)",
            draft.rules[counter.rule.0 as usize].name
        );
        return Err(Error::new(ErrorKind::Unsupported, message));
    }
    let temperature = draft.nodes[id.0 as usize].temperature;
    draft.node_mut(id).counter = None;
    let mut at = id;
    for count in 0..copies {
        if count >= counter.min {
            draft.jump(at, counter.next);
        }
        let next = draft.add_node(temperature, budget)?;
        draft.node_mut(at).edges.push(Edge { label: Label::Call(counter.rule), target: next });
        if unbounded && count + 1 == copies {
            draft.jump(next, at);
        }
        at = next;
    }
    draft.jump(at, counter.next);
    Ok(())
}

/// Makes the automaton of one rule of a circle.
struct Merger<'d> {
    draft: &'d mut Draft,
    copies: hashbrown::HashMap<NodeId, NodeId>,
    temperature: Option<f32>,
}

impl Merger<'_> {
    /// The start and the end of the automaton of `target`.
    fn merge(
        draft: &mut Draft,
        target: MachineRuleId,
        circle: &[MachineRuleId],
        budget: &Budget,
    ) -> Result<(NodeId, NodeId)> {
        let temperature = draft.rules[target.0 as usize].temperature;
        let start = draft.add_node(temperature, budget)?;
        let mut merger = Merger { draft, copies: hashbrown::HashMap::new(), temperature };
        let members: hashbrown::HashSet<MachineRuleId> = circle.iter().copied().collect();
        for &rule in circle {
            merger.enter_base(start, rule, &members, budget)?;
        }
        let end = merger.draft.rules[target.0 as usize].end;
        let hub = merger.copy(end, budget)?;
        let end = merger.draft.add_node(temperature, budget)?;
        merger.draft.jump(hub, end);
        Ok((start, end))
    }

    /// Lets `start` enter `rule` by everything but calls of the circle, and lets the end of a rule go on behind the
    /// calls of it.
    fn enter_base(
        &mut self,
        start: NodeId,
        rule: MachineRuleId,
        members: &hashbrown::HashSet<MachineRuleId>,
        budget: &Budget,
    ) -> Result<()> {
        let region = left_region(self.draft, rule, budget)?;
        for id in region {
            let node = self.draft.nodes[id.0 as usize].clone();
            if let Some(counter) = node.counter {
                // After the first item the count is at least one, so asking for one changes nothing later, and it
                // keeps the way past the repeat, which is in the region itself, out of this copy.
                let next = self.copy(counter.next, budget)?;
                let copy = self.draft.add_node(self.temperature, budget)?;
                self.draft.node_mut(copy).counter =
                    Some(Counter { min: counter.min.max(1), next, ..counter });
                self.draft.jump(start, copy);
            }
            if let Some(list) = node.list {
                // The way past an empty list is in the region too.
                if self.draft.lists[list.list.0 as usize].left_calls().any(|rule| members.contains(&rule)) {
                    return Err(Error::unsupported(
                        "a member without a key begins with the list that it is a member of",
                    ));
                }
                let next = self.copy(list.next, budget)?;
                let copy = self.draft.add_node(self.temperature, budget)?;
                self.draft.node_mut(copy).list = Some(ListUse { next, nonempty: true, ..list });
                self.draft.jump(start, copy);
            }
            for edge in node.edges {
                let target = self.copy(edge.target, budget)?;
                match edge.label {
                    Label::Call(called) if members.contains(&called) => {
                        let end = self.draft.rules[called.0 as usize].end;
                        let hub = self.copy(end, budget)?;
                        self.draft.jump(hub, target);
                    }
                    label => self.draft.node_mut(start).edges.push(Edge { label, target }),
                }
            }
        }
        Ok(())
    }

    /// The copy of `root`, with all that can be reached from it.
    fn copy(&mut self, root: NodeId, budget: &Budget) -> Result<NodeId> {
        let first = self.draft.nodes.len();
        let mut stack = vec![root];
        while let Some(id) = stack.pop() {
            if self.copies.contains_key(&id) {
                continue;
            }
            budget.check_nodes(self.draft.nodes.len())?;
            let node = self.draft.nodes[id.0 as usize].clone();
            stack.extend(node.successors());
            self.copies.insert(id, NodeId(self.draft.nodes.len() as u32));
            self.draft.nodes.push(node);
        }
        for node in &mut self.draft.nodes[first..] {
            node.retarget(|target| self.copies[&target]);
        }
        Ok(self.copies[&root])
    }
}
