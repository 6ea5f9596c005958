//! The last pass: what nobody reaches goes away, chains of jumps are cut short, and rules are ranked.

use super::build::Draft;
use super::graph::strong_components;
use super::left_recursion::left_calls;
use super::stars;
use crate::error::Result;
use crate::limits::Budget;
use crate::machine::{List, ListId, Machine, MachineRule, MachineRuleId, Node, NodeId, Tagged};
use crate::repeats::drop_repeats;

/// The machine of `draft`.
pub fn finish(mut draft: Draft, budget: &Budget) -> Result<Machine> {
    mark_accepting(&mut draft, budget)?;
    shorten_jumps(&mut draft);
    let mut kept = Kept::new(&draft);
    kept.reach(&draft, budget)?;
    let mut nodes: Vec<Node> = Vec::with_capacity(kept.nodes.len());
    for &old in &kept.nodes {
        let mut node = std::mem::take(&mut draft.nodes[old.0 as usize]);
        let list_id = |list: ListId| ListId(kept.list_ids[list.0 as usize]);
        node.renumber(|node| kept.node_id(node), |rule| kept.rule_id(rule), list_id);
        nodes.push(node);
    }
    let mut rules: Vec<MachineRule> = Vec::with_capacity(kept.rules.len());
    for &old in &kept.rules {
        let rule = &mut draft.rules[old.0 as usize];
        let name = std::mem::take(&mut rule.name);
        rules.push(MachineRule { name, start: kept.node_id(rule.start), rank: 0 });
    }
    let lists = kept.lists(draft.lists);
    let tagged = draft.tagged.into_iter().map(|tagged| kept.tagged(tagged)).collect();
    match &draft.ranks {
        Some(ranks) => {
            let known = kept.rules.iter().map(|old| ranks[old.0 as usize]);
            rules.iter_mut().zip(known).for_each(|(rule, rank)| rule.rank = rank);
        }
        None => rank(&nodes, &lists, &mut rules, budget)?,
    }
    stars::mark(&mut nodes, &rules, budget)?;
    let has_temperatures = nodes.iter().any(|node| node.temperature.is_some());
    let counts_tokens = nodes.iter().any(|node| node.max_tokens.is_some());
    let compares_items = nodes.iter().any(|node| node.distinct_items);
    let mut machine = Machine {
        exprs: draft.exprs,
        token_sets: draft.token_sets,
        lists,
        tagged,
        nodes,
        rules,
        root: kept.rule_id(draft.root),
        accepts_empty: draft.accepts_empty,
        has_temperatures,
        counts_tokens,
        compares_items,
        block: None,
    };
    if let Some((rule, ready)) = draft.ready {
        ready.link(&mut machine, kept.rule_id(rule), budget)?;
    }
    Ok(machine)
}

/// Marks the nodes from which the end of their rule is reached by jumps alone.
fn mark_accepting(draft: &mut Draft, budget: &Budget) -> Result<()> {
    let sources = Sources::new(&draft.nodes);
    let mut stack: Vec<(u32, bool)> = draft.rules.iter().map(|rule| (rule.end.0, true)).collect();
    while let Some((at, passable)) = stack.pop() {
        budget.tick()?;
        let node = &mut draft.nodes[at as usize];
        if std::mem::replace(&mut node.accepting, true) || !passable {
            continue;
        }
        for &source in sources.of(at) {
            // A counter or a list that must match something first accepts only later, which its frame decides; what
            // jumps to it does not accept.
            let source_node = &draft.nodes[source as usize];
            let passable = source_node.next().is_none() || source_node.skip(&draft.lists).is_some();
            stack.push((source, passable));
        }
    }
    Ok(())
}

/// From where each node is reached without consuming anything.
struct Sources {
    /// Where the sources of a node begin.
    starts: Vec<u32>,
    sources: Vec<u32>,
}

impl Sources {
    fn new(nodes: &[Node]) -> Self {
        let mut starts = vec![0_u32; nodes.len() + 1];
        Self::each(nodes, |_, target| starts[target.0 as usize + 1] += 1);
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        let mut next = starts.clone();
        let mut sources = vec![0; sum as usize];
        Self::each(nodes, |source, target| {
            let place = &mut next[target.0 as usize];
            sources[*place as usize] = source;
            *place += 1;
        });
        Sources { starts, sources }
    }

    fn each(nodes: &[Node], mut pair: impl FnMut(u32, NodeId)) {
        for (at, node) in (0..).zip(nodes) {
            node.jumps.iter().copied().chain(node.next()).for_each(|target| pair(at, target));
        }
    }

    fn of(&self, node: u32) -> &[u32] {
        &self.sources[self.starts[node as usize] as usize..self.starts[node as usize + 1] as usize]
    }
}

/// Lets every step to a node that only jumps on lead to where it jumps.
fn shorten_jumps(draft: &mut Draft) {
    let nodes = &draft.nodes;
    let mut ends = vec![false; nodes.len()];
    draft.rules.iter().for_each(|rule| ends[rule.end.0 as usize] = true);
    let only_jump = |id: NodeId| {
        let node = &nodes[id.0 as usize];
        let plain = node.edges.is_empty() && node.next().is_none() && !ends[id.0 as usize];
        if plain && node.jumps.len() == 1 { Some(node.jumps[0]) } else { None }
    };
    let target = |id: NodeId| {
        let mut at = id;
        // A circle of jumps ends the search; any of its nodes is as good as another.
        for _ in 0..64 {
            match only_jump(at) {
                Some(next) => at = next,
                None => break,
            }
        }
        at
    };
    let targets: Vec<NodeId> = (0..nodes.len() as u32).map(|id| target(NodeId(id))).collect();
    for node in &mut draft.nodes {
        node.retarget(|id| targets[id.0 as usize]);
        drop_repeats(&mut node.jumps);
        drop_repeats(&mut node.edges);
    }
}

/// What is reached from the root, in the order in which it is found, and the new numbers by the old ones.
struct Kept {
    nodes: Vec<NodeId>,
    node_ids: Vec<u32>,
    rules: Vec<MachineRuleId>,
    rule_ids: Vec<u32>,
    lists: Vec<ListId>,
    list_ids: Vec<u32>,
}

/// The number of what was not found yet.
const NONE: u32 = u32::MAX;

impl Kept {
    fn new(draft: &Draft) -> Self {
        Kept {
            nodes: Vec::with_capacity(draft.nodes.len()),
            node_ids: vec![NONE; draft.nodes.len()],
            rules: Vec::new(),
            rule_ids: vec![NONE; draft.rules.len()],
            lists: Vec::new(),
            list_ids: vec![NONE; draft.lists.len()],
        }
    }

    fn node_id(&self, old: NodeId) -> NodeId {
        NodeId(self.node_ids[old.0 as usize])
    }

    fn rule_id(&self, old: MachineRuleId) -> MachineRuleId {
        MachineRuleId(self.rule_ids[old.0 as usize])
    }

    fn reach(&mut self, draft: &Draft, budget: &Budget) -> Result<()> {
        let mut stack = Vec::new();
        self.rule(draft.root, draft, &mut stack);
        while let Some(id) = stack.pop() {
            budget.tick()?;
            if self.node_ids[id.0 as usize] != NONE {
                continue;
            }
            self.node_ids[id.0 as usize] = self.nodes.len() as u32;
            self.nodes.push(id);
            let node = &draft.nodes[id.0 as usize];
            stack.extend(node.successors());
            if let Some(list) = node.list.map(|list| list.list)
                && self.list_ids[list.0 as usize] == NONE
            {
                self.list_ids[list.0 as usize] = self.lists.len() as u32;
                self.lists.push(list);
            }
            for rule in node.calls(&draft.lists, &draft.tagged) {
                self.rule(rule, draft, &mut stack);
            }
        }
        Ok(())
    }

    /// The lists that are reached, with the new numbers of the rules that they call.
    fn lists(&self, all: Vec<List>) -> Vec<List> {
        let mut lists: Vec<(u32, List)> =
            self.list_ids.iter().copied().zip(all).filter(|(id, _)| *id != NONE).collect();
        lists.sort_unstable_by_key(|(id, _)| *id);
        let retarget = |(_, mut list): (u32, List)| {
            list.retarget(|rule| self.rule_id(rule));
            list
        };
        lists.into_iter().map(retarget).collect()
    }

    /// A text with tags, with the new numbers of the rules that it calls; without them if nobody reads it.
    fn tagged(&self, mut tagged: Tagged) -> Tagged {
        if tagged.calls().any(|rule| self.rule_ids[rule.0 as usize] == NONE) {
            tagged.rules.fill(None);
            tagged.again = None;
        }
        tagged.retarget(|rule| self.rule_id(rule));
        tagged
    }

    fn rule(&mut self, rule: MachineRuleId, draft: &Draft, stack: &mut Vec<NodeId>) {
        if self.rule_ids[rule.0 as usize] == NONE {
            self.rule_ids[rule.0 as usize] = self.rules.len() as u32;
            self.rules.push(rule);
            stack.push(draft.rules[rule.0 as usize].start);
        }
    }
}

/// Orders the rules so that a call in first position goes up in rank.
fn rank(nodes: &[Node], lists: &[List], rules: &mut [MachineRule], budget: &Budget) -> Result<()> {
    let graph = left_calls(nodes, lists, rules.iter().map(|rule| rule.start), budget)?;
    let order = strong_components(&graph);
    debug_assert!(order.circles(&graph).next().is_none(), "left recursion survived its pass");
    rules.iter_mut().zip(order.ranks()).for_each(|(rule, rank)| rule.rank = rank);
    Ok(())
}
