//! What it takes to complete arrays that must have several items of which none are equal.
//!
//! The sum of the parts of such an array takes the cheapest item again and again, which none may be equal to. So one text of
//! the array is found whose items differ, and its bytes, and what is set aside for any item that must differ, are added to
//! what it takes to begin the array. Of the items in the found text as many are always left as are still needed, since each
//! item that was read can be equal to one of them only. What was added is there to be spent within the array: on items that
//! have to be longer than the cheapest, and on ways out of those that begin like one before.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use tokenstile_grammar::machine::{Edge, Label, MachineRuleId, NodeId};

use super::{Completion, NodeCosts, Way};
use crate::budget::SET_ASIDE;
use crate::config::{SetId, SymbolKind};
use crate::generation::Generation;
use crate::terminal::{NO_END, Speller};

/// Texts of arrays that are longer than this are not looked for, in bytes.
const MOST_BYTES: usize = 2_048;

/// More frames than this are not looked at, and no more stacks.
const MOST_FRAMES: usize = 8;
const MOST_STACKS: usize = 4_096;

/// What is added for arrays whose items must differ.
#[derive(Default)]
pub(crate) struct Differing {
    /// By the node that their frame goes on at; [`NO_END`] if no text of the array is known.
    extra: FxHashMap<NodeId, u32>,
    /// The first rule of an array of which none is known.
    pub(crate) unknown: Option<MachineRuleId>,
}

impl Differing {
    /// Those of a machine.
    pub(super) fn of(generation: &Generation) -> Self {
        let mut differing = Differing::default();
        let machine = generation.machine();
        if !machine.compares_items {
            return differing;
        }
        let bytes = Arc::clone(generation.tokens().index().bytes());
        let nodes = NodeCosts::without_growth(generation, Speller { trie: &bytes, barred: &[] });
        let bytes = Completion::new(bytes, Box::default(), Arc::new(nodes));
        for rule in (0..machine.rules.len() as u32).map(MachineRuleId) {
            let edges = &machine.node(machine.rule(rule).start).edges;
            let arrays = edges.iter().map(|edge| edge.target);
            let arrays: Vec<NodeId> = arrays.filter(|&node| machine.node(node).distinct_items).collect();
            let extra = if arrays.is_empty() { Some(0) } else { text_of(generation, &bytes, rule) };
            if extra.is_none() && differing.unknown.is_none() {
                differing.unknown = Some(rule);
            }
            for node in arrays.into_iter().filter(|_| extra != Some(0)) {
                differing.extra.insert(node, extra.map_or(NO_END, |bytes| bytes + SET_ASIDE));
            }
        }
        differing
    }

    /// What is added to what it takes to go along an edge: something if it begins such an array.
    pub(super) fn extra_behind(&self, edge: &Edge) -> u32 {
        match edge.label {
            Label::Call(_) if self.is_some() => self.extra.get(&edge.target).copied().unwrap_or(0),
            _ => 0,
        }
    }

    /// What is added where a text begins in such arrays at once: the least of its stacks.
    pub(crate) fn extra_within(&self, generation: &Generation, config: SetId) -> u32 {
        if !self.is_some() {
            return 0;
        }
        let mut least = NO_END;
        // A text begins with few stacks, and few frames on each.
        let mut stack = vec![(config, 0_u32, 0_usize)];
        for _ in 0..MOST_STACKS {
            let Some((set, sum, depth)) = stack.pop() else { return least };
            if generation.sets().ends(set) || depth > MOST_FRAMES {
                least = least.min(sum);
            }
            for &(symbol, rest) in generation.sets().items(set).iter().take(MOST_FRAMES) {
                let extra = match symbol.kind() {
                    SymbolKind::Frame(node, _) => self.extra.get(&node).copied().unwrap_or(0),
                    _ => 0,
                };
                if sum < least && depth <= MOST_FRAMES {
                    stack.push((rest, (sum + extra).min(NO_END), depth + 1));
                }
            }
        }
        0
    }

    /// Whether any array must have items that differ.
    pub(crate) fn is_some(&self) -> bool {
        !self.extra.is_empty()
    }
}

/// The bytes of a text of an array whose items differ; nothing if its shortest text has no two items that could be equal. None
/// if no text is known.
fn text_of(generation: &Generation, bytes: &Completion, array: MachineRuleId) -> Option<u32> {
    let mut at = generation.start_of_rule(array);
    let mut is_settled = true;
    for read in 0..MOST_BYTES as u32 {
        if generation.sets().ends(at) {
            return Some(if is_settled { 0 } else { read });
        }
        let byte = if generation.is_settled(at) {
            match bytes.way_on(generation, at, &[])? {
                Way::Byte(byte) => byte,
                Way::Token(_) => return None,
            }
        } else {
            is_settled = false;
            generation.way_to_settle(at)?
        };
        at = generation.step_comparing(at, byte);
        if at == SetId::DEAD {
            return None;
        }
    }
    None
}
