//! The costs of the nodes of a machine, and how much one token can add to the cost of a text.
//!
//! The cost of a node is that of the cheapest way to the end of its rule. Costs start unknown and come down until nothing
//! changes any more; lists are looked at last in each round, because their ways are the dearest to find.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use tokenstile_grammar::machine::{Edge, Label, Machine, MachineRuleId, Node, NodeId};

use super::Parts;
use super::differing::Differing;
use super::growth::{Growth, growth, needs_keys};
use crate::config::{PartCosts, PlaceCosts};
use crate::generation::Generation;
use crate::interrupt;
use crate::terminal::{NO_END, Shortest, Speller};
use crate::vocab::TokenId;

/// What is known of a machine's costs, for one vocabulary and one choice of stop tokens.
pub(crate) struct NodeCosts {
    /// By node, before any count.
    pub(crate) nodes: Box<[u32]>,
    /// By rule.
    pub(crate) rules: Box<[u32]>,
    /// By token set.
    pub(crate) token_sets: Box<[u32]>,
    /// By node: whether all that goes on there waits for tokens to be spent. Such a way is one beside others, and costs nothing.
    pub(crate) shut: Box<[bool]>,
    /// By list: whether it may need keys that are unlike those before them.
    pub(crate) needs_keys: Box<[bool]>,
    /// What is added for arrays whose items must differ.
    pub(super) differing: Differing,
    /// How much tokens can add; nothing if nobody asks.
    growth: Growth,
}

/// How often all lists are looked at again before it is given up.
const MOST_ROUNDS: usize = 64;

impl NodeCosts {
    /// The costs of the machine of `generation`.
    pub(crate) fn new(generation: &Generation, speller: Speller<'_>) -> Self {
        let differing = Differing::of(generation);
        let (mut costs, mut shortest) = Self::solve(generation, speller, differing);
        costs.growth = growth(generation, &costs, &mut shortest);
        costs
    }

    /// The same for those who do not ask what a token can add.
    pub(super) fn without_growth(generation: &Generation, speller: Speller<'_>) -> Self {
        Self::solve(generation, speller, Differing::default()).0
    }

    fn solve(generation: &Generation, speller: Speller<'_>, differing: Differing) -> (Self, Shortest) {
        let mut shortest = Shortest::new(&speller);
        let mut solver = Solver::new(generation, &mut shortest, speller, differing);
        solver.solve();
        (solver.costs, shortest)
    }

    /// How much a token of at most so many bytes can add to the greatest cost of a configuration.
    pub(crate) fn growth(&self, bytes: usize) -> u32 {
        let growth = &self.growth.by_bytes;
        let last = growth.len() - 1;
        // Reading twice as much adds at most as much again.
        let times = bytes.div_ceil(last.max(1)).max(1) as u32;
        growth[bytes.min(last)].saturating_mul(times).min(NO_END)
    }

    /// Whether it is known how much tokens can add.
    pub(super) fn has_growth(&self) -> bool {
        !self.growth.by_bytes.is_empty()
    }

    /// What may be left of a frame after any token that begins in it, or ends what is above it.
    pub(super) fn frame_after_token(
        &self,
        generation: &Generation,
        id: NodeId,
        count: u32,
        parts: &mut impl PartCosts,
        places: &mut PlaceCosts,
    ) -> u32 {
        let entered = self.growth.nodes[id.0 as usize];
        let Some(list) = generation.machine().node(id).list.as_ref() else { return entered };
        let Some(needed) = generation.sum_of_needed(list.list, count, parts, places) else { return entered };
        // All that is needed is still to come at most, and a member that has been begun.
        let inside = needed.saturating_add(self.growth.members[list.list.0 as usize]);
        let next = list.next.0 as usize;
        let behind = self.growth.nodes[next];
        inside.saturating_add(self.nodes[next]).max(behind).min(entered)
    }

    /// The cost of a frame.
    pub(super) fn frame(
        &self,
        generation: &Generation,
        id: NodeId,
        count: u32,
        parts: &mut impl PartCosts,
        places: &mut PlaceCosts,
    ) -> u32 {
        let node = generation.machine().node(id);
        if let Some(counter) = &node.counter {
            let left = counter.min.saturating_sub(count);
            let items = self.rules[counter.rule.0 as usize].saturating_mul(left).min(NO_END);
            return (items + self.nodes[counter.next.0 as usize]).min(NO_END);
        }
        if let Some(list) = &node.list {
            let members = generation.list_cost(list.list, count, list.nonempty, parts, places);
            return (members + self.nodes[list.next.0 as usize]).min(NO_END);
        }
        self.nodes[id.0 as usize]
    }
}

struct Solver<'s> {
    generation: &'s Generation,
    shortest: &'s mut Shortest,
    speller: Speller<'s>,
    costs: NodeCosts,
    /// The nodes that one step leads from, by node; and the nodes that call a rule, by rule.
    before: Vec<Vec<NodeId>>,
    callers: Vec<Vec<NodeId>>,
    /// The rules that start at a node.
    starts: Vec<Vec<MachineRuleId>>,
    /// What lists were found to cost at least.
    floors: FxHashMap<NodeId, u32>,
    waiting: VecDeque<NodeId>,
    lists_waiting: VecDeque<NodeId>,
    is_waiting: Vec<bool>,
}

impl<'s> Solver<'s> {
    fn new(
        generation: &'s Generation,
        shortest: &'s mut Shortest,
        speller: Speller<'s>,
        differing: Differing,
    ) -> Self {
        let machine = generation.machine();
        let count = machine.nodes.len();
        let token_sets = token_set_costs(generation, &speller);
        let costs = NodeCosts {
            nodes: vec![NO_END; count].into(),
            rules: vec![NO_END; machine.rules.len()].into(),
            token_sets,
            shut: machine.nodes.iter().map(|node| is_shut(machine, node)).collect(),
            needs_keys: machine.lists.iter().map(needs_keys).collect(),
            differing,
            growth: Growth::default(),
        };
        let mut solver = Solver {
            generation,
            shortest,
            speller,
            costs,
            before: vec![Vec::new(); count],
            callers: vec![Vec::new(); machine.rules.len()],
            starts: vec![Vec::new(); count],
            floors: FxHashMap::default(),
            waiting: VecDeque::new(),
            lists_waiting: VecDeque::new(),
            is_waiting: vec![false; count],
        };
        for (id, node) in (0..).map(NodeId).zip(&machine.nodes) {
            node.successors().for_each(|next| solver.before[next.0 as usize].push(id));
            node.calls(&machine.lists, &machine.tagged)
                .for_each(|rule| solver.callers[rule.0 as usize].push(id));
            solver.wait(machine, id);
        }
        for (id, rule) in (0..).map(MachineRuleId).zip(&machine.rules) {
            solver.starts[rule.start.0 as usize].push(id);
        }
        solver
    }

    fn wait(&mut self, machine: &Machine, node: NodeId) {
        if !std::mem::replace(&mut self.is_waiting[node.0 as usize], true) {
            let is_list = machine.node(node).list.is_some();
            let queue = if is_list { &mut self.lists_waiting } else { &mut self.waiting };
            queue.push_back(node);
        }
    }

    fn solve(&mut self) {
        let machine = self.generation.machine();
        for _ in 0..MOST_ROUNDS {
            self.settle(machine);
            // The way through a list is chosen by what its members cost, so it may have become dearer since it was found.
            let lists = (0..machine.nodes.len() as u32).map(NodeId);
            let lists: Vec<NodeId> = lists.filter(|&id| machine.node(id).list.is_some()).collect();
            let mut is_settled = true;
            for id in lists {
                let cost = self.compute(id);
                if cost > self.costs.nodes[id.0 as usize] {
                    self.floors.insert(id, cost);
                    is_settled = false;
                }
            }
            if is_settled {
                return;
            }
            self.costs.nodes.fill(NO_END);
            self.costs.rules.fill(NO_END);
            (0..machine.nodes.len() as u32).for_each(|id| self.wait(machine, NodeId(id)));
        }
        self.costs.nodes.fill(NO_END);
        self.costs.rules.fill(NO_END);
    }

    fn settle(&mut self, machine: &Machine) {
        while let Some(id) = self.waiting.pop_front().or_else(|| self.lists_waiting.pop_front()) {
            interrupt::poll(1);
            self.is_waiting[id.0 as usize] = false;
            let cost = self.compute(id);
            if cost >= self.costs.nodes[id.0 as usize] {
                continue;
            }
            self.costs.nodes[id.0 as usize] = cost;
            let mut dependents = std::mem::take(&mut self.before[id.0 as usize]);
            dependents.iter().for_each(|&node| self.wait(machine, node));
            self.before[id.0 as usize] = std::mem::take(&mut dependents);
            for rule in self.starts[id.0 as usize].clone() {
                self.costs.rules[rule.0 as usize] = cost;
                let callers = std::mem::take(&mut self.callers[rule.0 as usize]);
                callers.iter().for_each(|&node| self.wait(machine, node));
                self.callers[rule.0 as usize] = callers;
            }
        }
    }

    fn compute(&mut self, id: NodeId) -> u32 {
        let node = self.generation.machine().node(id);
        if node.next().is_some() {
            let rules = &self.costs.rules;
            let mut parts = Parts {
                shortest: &mut *self.shortest,
                speller: Speller { trie: self.speller.trie, barred: self.speller.barred },
                rules,
            };
            let cost = self.costs.frame(self.generation, id, 0, &mut parts, &mut PlaceCosts::default());
            return cost.max(self.floors.get(&id).copied().unwrap_or(0));
        }
        let mut cost = if node.accepting { 0 } else { NO_END };
        for edge in &node.edges {
            let own = match edge.label {
                Label::Terminal(expr) => {
                    let state = self.generation.terminal(expr);
                    self.shortest.tokens(self.generation.terminals(), &self.speller, state)
                }
                Label::Call(rule) => self.costs.rules[rule.0 as usize],
                Label::Token(set) => self.costs.token_sets[set as usize],
                // Free text may end before it began.
                Label::Tagged(_) => 0,
            };
            let extra = self.costs.differing.extra_behind(edge);
            cost = cost.min(own + extra + self.costs.nodes[edge.target.0 as usize]);
        }
        let jumps = node.jumps.iter().map(|jump| self.costs.nodes[jump.0 as usize]);
        jumps.fold(cost, u32::min).min(NO_END)
    }
}

/// Whether a node leads nowhere but to spent tokens.
fn is_shut(machine: &Machine, node: &Node) -> bool {
    let is_spent =
        |edge: &Edge| matches!(edge.label, Label::Token(set) if machine.token_sets[set as usize].is_spent());
    let is_plain = !node.accepting && node.jumps.is_empty() && node.next().is_none();
    is_plain && !node.edges.is_empty() && node.edges.iter().all(is_spent)
}

/// What a token of each set costs: one, if there is one that may be read there.
fn token_set_costs(generation: &Generation, speller: &Speller<'_>) -> Box<[u32]> {
    let tokens = generation.tokens();
    let cost = |set: &tokenstile_grammar::ir::TokenSet| {
        let is_taken =
            |token| generation.takes_token(set, TokenId(token)) && !speller.barred.contains(&token);
        let may_come = if set.negated { (0..tokens.len() as u32).any(is_taken) } else { !set.is_spent() };
        if may_come { 1 } else { NO_END }
    };
    generation.machine().token_sets.iter().map(cost).collect()
}
