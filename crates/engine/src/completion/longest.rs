//! The most tokens that an output can take.
//!
//! A text has no more tokens than bytes, so the longest text in bytes says it: exactly where each byte is a token too, as it
//! is in nearly all vocabularies, and as a bound elsewhere. A token that the grammar names is one. A rule with `max_tokens`
//! has no more than these and what it may need to come to where it can end.
//!
//! What leads back to itself and reads something on the way has no end. Lists of members take each entry once; which of
//! them may come together is asked of their conditions, as far as there are few states, and else all are reckoned with.

use std::cell::RefCell;

use rustc_hash::FxHashMap;
use tokenstile_grammar::machine::{
    Counter, Edge, Label, List, ListId, Machine, MachineRuleId, MemberValue, Node, NodeId,
};
use tokenstile_grammar::members::{Member, Slot, State};
use tokenstile_grammar::passes::graph::{Graph, is_circle, strong_components};

use crate::config::SetId;
use crate::generation::Generation;
use crate::terminal::{Longest, TerminalId};
use crate::vocab::TokenId;

/// So many tokens at most; none if there is no bound, or if none is known.
type Most = Option<u64>;

/// Lists with more states than this are reckoned with all of their entries.
const MOST_STATES: usize = 4_096;

/// Rules with more configurations than this have no known way to their end.
const MOST_CONFIGS: usize = 4_096;

fn add(one: Most, other: Most) -> Most {
    Some(one?.saturating_add(other?))
}

fn either(one: Most, other: Most) -> Most {
    Some(one?.max(other?))
}

/// The most tokens of a whole text, without the one that stops.
pub(crate) fn most_tokens(generation: &Generation) -> Most {
    let spelled = spelled_bytes(generation);
    let machine = generation.machine();
    let solver =
        Solver { generation, machine, spelled: &spelled, terminals: RefCell::new(Longest::new(&spelled)) };
    solver.solve(machine.rule(machine.root).start)
}

/// The bytes that are in any token.
fn spelled_bytes(generation: &Generation) -> [bool; 256] {
    let tokens = generation.tokens();
    let mut spelled = [false; 256];
    for token in 0..tokens.len() as u32 {
        tokens.token_bytes(TokenId(token)).iter().for_each(|&byte| spelled[usize::from(byte)] = true);
    }
    spelled
}

struct Solver<'g> {
    generation: &'g Generation,
    machine: &'g Machine,
    spelled: &'g [bool; 256],
    terminals: RefCell<Longest<'g>>,
}

impl Solver<'_> {
    fn solve(&self, root: NodeId) -> Most {
        let nodes = &self.machine.nodes;
        let graph: Graph = nodes.iter().map(|node| self.depends(node)).collect();
        let mut known: Vec<Most> = vec![Some(0); nodes.len()];
        for part in strong_components(&graph).iter() {
            let is_circle = is_circle(&graph, part);
            let inside = |node: NodeId| is_circle && part.contains(&node.0);
            let values: Vec<Most> = part.iter().map(|&at| self.node(&nodes[at as usize], &known)).collect();
            let grows = is_circle && part.iter().any(|&at| self.reads(&nodes[at as usize], &inside, &known));
            let most = if grows { None } else { values.into_iter().fold(Some(0), either) };
            part.iter().for_each(|&at| known[at as usize] = most);
        }
        known[root.0 as usize]
    }

    fn start(&self, rule: MachineRuleId) -> NodeId {
        self.machine.rule(rule).start
    }

    /// The nodes that a node's length depends on.
    fn depends(&self, node: &Node) -> Vec<u32> {
        let calls = node.calls(&self.machine.lists, &self.machine.tagged).map(|rule| self.start(rule));
        node.successors().chain(calls).map(|node| node.0).collect()
    }

    /// Whether something is read on a way from a node back into its own circle.
    fn reads(&self, node: &Node, inside: &impl Fn(NodeId) -> bool, known: &[Most]) -> bool {
        let some = |most: Most| most != Some(0);
        let of = |node: NodeId| known[node.0 as usize];
        let by_edge = |edge: &Edge| {
            let own = inside(edge.target) && some(self.label(edge, known));
            let called =
                matches!(edge.label, Label::Call(rule) if inside(self.start(rule)) && some(of(edge.target)));
            own || called || matches!(edge.label, Label::Tagged(_))
        };
        let counted = node.counter.is_some_and(|counter| {
            let start = self.start(counter.rule);
            inside(start) && (counter.max > 1 || some(of(counter.next)))
                || inside(counter.next) && some(of(start))
        });
        // A list around a value that is the list again has brackets somewhere.
        let listed = node.list.is_some_and(|at| {
            let list = self.machine.list(at.list);
            list.calls().any(|rule| inside(self.start(rule))) || inside(at.next)
        });
        node.edges.iter().any(by_edge) || counted || listed
    }

    /// What an edge reads.
    fn label(&self, edge: &Edge, known: &[Most]) -> Most {
        match edge.label {
            Label::Terminal(expr) => self.terminal(self.generation.terminal(expr)),
            Label::Call(rule) => {
                let start = self.start(rule);
                let most = known[start.0 as usize];
                match self.machine.node(edge.target).max_tokens {
                    Some(tokens) if most.is_none_or(|most| most > u64::from(tokens)) => {
                        let bound =
                            self.way_out(rule, tokens > 0).map(|way| way.saturating_add(tokens.into()));
                        most.into_iter().chain(bound).min()
                    }
                    _ => most,
                }
            }
            Label::Token(set) => Some(u64::from(!self.machine.token_sets[set as usize].is_spent())),
            Label::Tagged(_) => None,
        }
    }

    fn terminal(&self, state: TerminalId) -> Most {
        self.terminals.borrow_mut().bytes(self.generation.terminals(), state)
    }

    fn node(&self, node: &Node, known: &[Most]) -> Most {
        let of = |node: NodeId| known[node.0 as usize];
        if let Some(counter) = &node.counter {
            let one = of(self.start(counter.rule));
            let all = match (one, counter.max) {
                (Some(0), _) => Some(0),
                (_, Counter::UNBOUNDED) => None,
                (one, max) => one.map(|one| one.saturating_mul(max.into())),
            };
            return add(all, of(counter.next));
        }
        if let Some(at) = &node.list {
            return add(self.list(at.list, known), of(at.next));
        }
        let jumps = node.jumps.iter().map(|&jump| of(jump)).fold(Some(0), either);
        node.edges
            .iter()
            .fold(jumps, |most, edge| either(most, add(self.label(edge, known), of(edge.target))))
    }

    /// The most that a list takes.
    fn list(&self, id: ListId, known: &[Most]) -> Most {
        let list = self.machine.list(id);
        let members = Members::new(self, list, known);
        members.along_states(list).unwrap_or_else(|| members.all(list))
    }

    /// How many tokens a rule may go on for after any of its texts before it can end; with `has_begun` not after the empty one.
    fn way_out(&self, rule: MachineRuleId, has_begun: bool) -> Most {
        let generation = self.generation;
        let start = generation.start_of_rule(rule);
        let (mut numbers, mut configs) = (FxHashMap::from_iter([(start, 0_u32)]), vec![start]);
        let mut graph = Graph::default();
        let mut at = 0;
        while let Some(&config) = configs.get(at) {
            at += 1;
            if generation.named_tokens(config).next().is_some() || configs.len() > MOST_CONFIGS {
                return None;
            }
            let mut row = Vec::new();
            for (low, high) in generation.alike_ranges(config, (0, u8::MAX)) {
                let Some(byte) = (low..=high).find(|&byte| self.spelled[usize::from(byte)]) else { continue };
                let next = generation.step_with_alike(config, byte);
                if next != SetId::DEAD {
                    row.push(*numbers.entry(next).or_insert_with(|| {
                        configs.push(next);
                        configs.len() as u32 - 1
                    }));
                }
            }
            graph.push(row);
        }
        let can_end: Vec<bool> = configs.iter().map(|&config| generation.can_close(config)).collect();
        // Only ways that never come to an end count, so those that do lead nowhere.
        let stuck: Graph = (0..graph.count() as u32)
            .map(|at| if can_end[at as usize] { Vec::new() } else { graph.of(at).to_vec() })
            .collect();
        let mut ways = vec![0_u64; configs.len()];
        for part in strong_components(&stuck).iter() {
            if is_circle(&stuck, part) {
                return None;
            }
            let at = part[0];
            let next = stuck.of(at).iter().map(|&next| ways[next as usize] + 1).max();
            ways[at as usize] = next.unwrap_or(0);
        }
        Some(ways.into_iter().skip(usize::from(has_begun)).max().unwrap_or(0))
    }
}

/// What the members of a list take, with their keys.
struct Members {
    /// By entry and variant.
    entries: Vec<Vec<Most>>,
    /// By family of others and variant.
    others: Vec<Vec<Most>>,
    separator: Most,
}

impl Members {
    fn new(solver: &Solver<'_>, list: &List, known: &[Most]) -> Self {
        let generation = solver.generation;
        let terminal = |expr| solver.terminal(generation.terminal(expr));
        let quote = terminal(list.quote);
        let mut texts = vec![quote; list.keys.nodes.len()];
        let mut keys = vec![Some(0); list.entries.len()];
        // Parents come first.
        for (at, node) in list.keys.nodes.iter().enumerate() {
            for &below in &node.below {
                texts[below as usize] = add(texts[at], terminal(list.key_texts[below as usize]));
            }
            if node.ends {
                keys[list.keys.entries[node.ranks.start as usize] as usize] = texts[at];
            }
        }
        let value = |key: Most, value: &MemberValue| {
            let rule = value.rule.map_or(Some(0), |rule| known[solver.start(rule).0 as usize]);
            add(key, add(value.head.map_or(Some(0), terminal), rule))
        };
        let entries = list.entries.iter().zip(&keys);
        let others = list.others.iter().map(|others| {
            // The quote that closes a key of others belongs to its texts or to the value.
            let key = others.keys.map_or(Some(0), |keys| add(add(quote, terminal(keys)), Some(1)));
            others.variants.iter().map(|one| value(key, one)).collect()
        });
        Members {
            entries: entries.map(|(all, &key)| all.iter().map(|one| value(key, one)).collect()).collect(),
            others: others.collect(),
            separator: terminal(list.separator),
        }
    }

    fn of(&self, member: Member) -> Most {
        let all = match member.slot {
            Slot::Entry(entry) => &self.entries[entry as usize],
            Slot::Others(others) => &self.others[others as usize],
        };
        all[member.variant as usize]
    }

    /// All entries, if nothing comes beside them.
    fn all(&self, list: &List) -> Most {
        if !list.others.is_empty() {
            return None;
        }
        let longest = self.entries.iter().map(|all| all.iter().copied().fold(Some(0), either));
        longest.map(|one| add(one, self.separator)).try_fold(0, |sum, one| add(Some(sum), one))
    }

    /// The longest way through the states of the list; none if these are too many.
    fn along_states(&self, list: &List) -> Option<Most> {
        // Entries that may come in any order are taken in one, before others: what they come to is the same.
        type Key = (State, u32);
        let conditions = &list.conditions;
        let start: Key = (conditions.start(), 0);
        let (mut numbers, mut states) = (FxHashMap::from_iter([(start.clone(), 0_u32)]), vec![start]);
        let (mut graph, mut weights) = (Graph::default(), Vec::new());
        let mut at = 0;
        while let Some((state, from)) = states.get(at).cloned() {
            at += 1;
            if states.len() > MOST_STATES {
                return None;
            }
            let mut row = Vec::new();
            for member in conditions.allowed(&state) {
                let next = match member.slot {
                    Slot::Entry(entry) if entry < from => continue,
                    Slot::Entry(entry) => entry + 1,
                    Slot::Others(_) => list.entries.len() as u32,
                };
                let key = (conditions.take(&state, member), next);
                let number = *numbers.entry(key.clone()).or_insert_with(|| {
                    states.push(key);
                    states.len() as u32 - 1
                });
                row.push((number, add(self.of(member), self.separator)));
            }
            graph.push(row.iter().map(|step| step.0));
            weights.push(row);
        }
        let mut longest: Vec<Most> = vec![Some(0); states.len()];
        for part in strong_components(&graph).iter() {
            let is_circle = is_circle(&graph, part);
            let steps = |at: u32| weights[at as usize].iter();
            let inside = |&&(next, weight): &&(u32, Most)| part.contains(&next) && weight != Some(0);
            let grows = is_circle && part.iter().any(|&at| steps(at).any(|step| inside(&step)));
            let of = |at: u32| {
                let mut lengths = steps(at).map(|&(next, weight)| add(weight, longest[next as usize]));
                lengths.try_fold(0, |most, length| either(Some(most), length))
            };
            let most = if grows { None } else { part.iter().map(|&at| of(at)).fold(Some(0), either) };
            part.iter().for_each(|&at| longest[at as usize] = most);
        }
        // There is no separator before the first.
        let all = longest[0];
        Some(all.map(|all| all.saturating_sub(self.separator.unwrap_or(0))))
    }
}
