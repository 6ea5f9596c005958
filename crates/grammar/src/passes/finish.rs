//! The last pass: what nobody reaches goes away, chains of jumps are cut short, and rules are ranked.

use super::analysis::strong_components;
use super::build::Draft;
use super::left_recursion::left_calls;
use super::stars;
use crate::error::Result;
use crate::limits::Budget;
use crate::machine::{Label, List, ListId, Machine, MachineRule, MachineRuleId, Node, NodeId};

/// The machine of `draft`.
pub fn finish(mut draft: Draft, budget: &Budget) -> Result<Machine> {
    mark_accepting(&mut draft, budget)?;
    shorten_jumps(&mut draft);
    let mut kept = Kept::default();
    kept.reach(&draft, budget)?;
    let mut nodes: Vec<Node> = Vec::with_capacity(kept.nodes.len());
    for &old in &kept.nodes {
        let mut node = std::mem::take(&mut draft.nodes[old.0 as usize]);
        node.retarget(|target| kept.node_ids[&target]);
        for edge in &mut node.edges {
            if let Label::Call(rule) = &mut edge.label {
                *rule = kept.rule_ids[rule];
            }
        }
        if let Some(counter) = &mut node.counter {
            counter.rule = kept.rule_ids[&counter.rule];
        }
        if let Some(list) = &mut node.list {
            list.list = kept.list_ids[&list.list];
        }
        nodes.push(node);
    }
    let mut rules: Vec<MachineRule> = Vec::with_capacity(kept.rules.len());
    for &old in &kept.rules {
        let rule = &draft.rules[old.0 as usize];
        rules.push(MachineRule { name: rule.name.clone(), start: kept.node_ids[&rule.start], rank: 0 });
    }
    let lists = kept.lists(&mut draft.lists);
    rank(&nodes, &lists, &mut rules, budget)?;
    stars::mark(&mut nodes, &rules, budget)?;
    let has_temperatures = nodes.iter().any(|node| node.temperature.is_some());
    Ok(Machine {
        exprs: draft.exprs,
        token_sets: draft.token_sets,
        lists,
        nodes,
        rules,
        root: kept.rule_ids[&draft.root],
        accepts_empty: draft.accepts_empty,
        has_temperatures,
    })
}

/// Marks the nodes from which the end of their rule is reached by jumps alone.
fn mark_accepting(draft: &mut Draft, budget: &Budget) -> Result<()> {
    let mut sources: Vec<Vec<u32>> = vec![Vec::new(); draft.nodes.len()];
    for (at, node) in draft.nodes.iter().enumerate() {
        for target in node.jumps.iter().copied().chain(node.next()) {
            sources[target.0 as usize].push(at as u32);
        }
    }
    let mut stack: Vec<(u32, bool)> = draft.rules.iter().map(|rule| (rule.end.0, true)).collect();
    while let Some((at, passable)) = stack.pop() {
        budget.tick()?;
        let node = &mut draft.nodes[at as usize];
        if std::mem::replace(&mut node.accepting, true) || !passable {
            continue;
        }
        for &source in &sources[at as usize] {
            // A counter or a list that must match something first accepts only later, which its frame decides; what
            // jumps to it does not accept.
            let source_node = &draft.nodes[source as usize];
            let passable = source_node.next().is_none() || source_node.skip(&draft.lists).is_some();
            stack.push((source, passable));
        }
    }
    Ok(())
}

/// Lets every step to a node that only jumps on lead to where it jumps.
fn shorten_jumps(draft: &mut Draft) {
    let nodes = &draft.nodes;
    let ends: hashbrown::HashSet<NodeId> = draft.rules.iter().map(|rule| rule.end).collect();
    let only_jump = |id: NodeId| {
        let node = &nodes[id.0 as usize];
        let plain = node.edges.is_empty() && node.next().is_none() && !ends.contains(&id);
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
        let mut seen = hashbrown::HashSet::new();
        node.jumps.retain(|&jump| seen.insert(jump));
        let mut seen = hashbrown::HashSet::new();
        node.edges.retain(|edge| seen.insert(edge.clone()));
    }
}

/// What is reached from the root, in the order in which it is found.
#[derive(Default)]
struct Kept {
    nodes: Vec<NodeId>,
    node_ids: hashbrown::HashMap<NodeId, NodeId>,
    rules: Vec<MachineRuleId>,
    rule_ids: hashbrown::HashMap<MachineRuleId, MachineRuleId>,
    lists: Vec<ListId>,
    list_ids: hashbrown::HashMap<ListId, ListId>,
}

impl Kept {
    fn reach(&mut self, draft: &Draft, budget: &Budget) -> Result<()> {
        let mut stack = Vec::new();
        self.rule(draft.root, draft, &mut stack);
        while let Some(id) = stack.pop() {
            budget.tick()?;
            if self.node_ids.contains_key(&id) {
                continue;
            }
            self.node_ids.insert(id, NodeId(self.nodes.len() as u32));
            self.nodes.push(id);
            let node = &draft.nodes[id.0 as usize];
            stack.extend(node.successors());
            if let Some(list) =
                node.list.map(|list| list.list).filter(|list| !self.list_ids.contains_key(list))
            {
                self.list_ids.insert(list, ListId(self.lists.len() as u32));
                self.lists.push(list);
            }
            for rule in node.calls(&draft.lists) {
                self.rule(rule, draft, &mut stack);
            }
        }
        Ok(())
    }

    /// The lists that are reached, with the new numbers of the rules that they call.
    fn lists(&self, all: &mut [List]) -> Vec<List> {
        let mut lists: Vec<List> = self.lists.iter().map(|id| all[id.0 as usize].clone()).collect();
        lists.iter_mut().for_each(|list| list.retarget(|rule| self.rule_ids[&rule]));
        lists
    }

    fn rule(&mut self, rule: MachineRuleId, draft: &Draft, stack: &mut Vec<NodeId>) {
        if !self.rule_ids.contains_key(&rule) {
            self.rule_ids.insert(rule, MachineRuleId(self.rules.len() as u32));
            self.rules.push(rule);
            stack.push(draft.rules[rule.0 as usize].start);
        }
    }
}

/// Orders the rules so that a call in first position goes up in rank.
fn rank(nodes: &[Node], lists: &[List], rules: &mut [MachineRule], budget: &Budget) -> Result<()> {
    let graph =
        rules.iter().map(|rule| left_calls(nodes, lists, rule.start, budget)).collect::<Result<Vec<_>>>()?;
    let order = strong_components(&graph);
    let count = order.len() as u32;
    for (at, component) in order.iter().enumerate() {
        debug_assert_eq!(component.len(), 1, "left recursion survived its pass");
        for &rule in component {
            rules[rule as usize].rank = count - 1 - at as u32;
        }
    }
    Ok(())
}
