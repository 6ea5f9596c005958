//! Regular parts beside the automaton: where they leave it, and what they read on the way.

use std::rc::Rc;
use std::sync::Arc;

use hashbrown::{HashMap, HashSet};

use crate::error::Result;
use crate::ir::{Expr, ExprId, Grammar};
use crate::limits::Budget;
use crate::regular::{Dfa, DfaBuilder, StateId, determinize};

/// A state of a part and one of the automaton.
type Pair = (StateId, StateId);

/// The automata of regular parts.
pub(super) struct Leaves<'g> {
    grammar: &'g Grammar,
    /// What runs beside them.
    dfa: Arc<Dfa>,
    budget: &'g Budget,
    known: HashMap<ExprId, Rc<Dfa>>,
}

impl<'g> Leaves<'g> {
    pub(super) fn new(grammar: &'g Grammar, dfa: Arc<Dfa>, budget: &'g Budget) -> Self {
        Leaves { grammar, dfa, budget, known: HashMap::new() }
    }

    fn leaf(&mut self, id: ExprId) -> Result<Rc<Dfa>> {
        if let Some(dfa) = self.known.get(&id) {
            return Ok(Rc::clone(dfa));
        }
        let dfa = Rc::new(match self.grammar.expr(id) {
            Expr::JsonText { text, escapes } => {
                let texts = determinize(self.grammar, *text, self.budget)?;
                texts.intersection(Dfa::any_text(), self.budget)?.json_spellings(*escapes, self.budget)?
            }
            _ => determinize(self.grammar, id, self.budget)?,
        });
        self.known.insert(id, Rc::clone(&dfa));
        Ok(dfa)
    }

    /// The pairs of states that a part and the automaton can be in together, from `state` on; the first is the start.
    fn pairs(&self, leaf: &Dfa, state: StateId) -> Result<Vec<Pair>> {
        if leaf.is_empty() {
            return Ok(Vec::new());
        }
        let mut seen: HashSet<Pair> = HashSet::from([(Dfa::START, state)]);
        let mut pairs = vec![(Dfa::START, state)];
        let mut at = 0;
        while at < pairs.len() {
            self.budget.check_states(pairs.len())?;
            let (one, other) = pairs[at];
            for (_, _, targets) in common_edges(leaf.edges(one), self.dfa.edges(other)) {
                if seen.insert(targets) {
                    pairs.push(targets);
                }
            }
            at += 1;
        }
        Ok(pairs)
    }

    /// The states in which a part leaves the automaton that it meets in `state`.
    pub(super) fn ends(&mut self, id: ExprId, state: StateId) -> Result<Vec<StateId>> {
        let leaf = self.leaf(id)?;
        let pairs = self.pairs(&leaf, state)?;
        let ends = pairs.into_iter().filter(|pair| leaf.is_accepting(pair.0)).map(|pair| pair.1);
        let mut ends: Vec<StateId> = ends.collect();
        ends.sort_unstable();
        ends.dedup();
        Ok(ends)
    }

    /// What a part reads between two states.
    pub(super) fn between(&mut self, id: ExprId, from: StateId, to: StateId) -> Result<Dfa> {
        let leaf = self.leaf(id)?;
        let pairs = self.pairs(&leaf, from)?;
        let numbers: HashMap<Pair, StateId> = pairs.iter().copied().zip(0..).collect();
        let mut builder = DfaBuilder::new();
        for &(one, other) in &pairs {
            builder.add_state(leaf.is_accepting(one) && other == to);
        }
        for (&(one, other), at) in pairs.iter().zip(0..) {
            for (low, high, targets) in common_edges(leaf.edges(one), self.dfa.edges(other)) {
                builder.add_edge(at, low, high, numbers[&targets]);
            }
        }
        builder.finish(self.budget)
    }
}

/// The byte ranges on which both sides go on, and where to.
fn common_edges(left: &[(u8, u8, StateId)], right: &[(u8, u8, StateId)]) -> Vec<(u8, u8, Pair)> {
    let mut common = Vec::new();
    let (mut one, mut other) = (0, 0);
    while one < left.len() && other < right.len() {
        let ((low, high, to), (other_low, other_high, other_to)) = (left[one], right[other]);
        let (from, until) = (low.max(other_low), high.min(other_high));
        if from <= until {
            common.push((from, until, (to, other_to)));
        }
        if high <= other_high {
            one += 1;
        } else {
            other += 1;
        }
    }
    common
}
