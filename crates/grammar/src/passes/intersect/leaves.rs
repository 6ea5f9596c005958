//! Regular parts beside the automaton: where they leave it, and what they read on the way.

use std::rc::Rc;
use std::sync::Arc;

use hashbrown::{HashMap, HashSet};

use super::ways::Way;
use crate::error::Result;
use crate::ir::{Automaton, Builder, Escapes, Expr, ExprId, Grammar};
use crate::limits::Budget;
use crate::regular::{Dfa, DfaBuilder, Nfa, StateId, determinize};

/// A state of a part and one of the automaton.
type Pair = (StateId, StateId);

/// A regular part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Leaf {
    Expr(ExprId),
    /// One that was made for a key, by its number.
    Key(u32),
}

/// The states of an automaton, each with whether it accepts, in order.
type Content = Vec<(bool, Vec<(u8, u8, StateId)>)>;

/// The automata of regular parts.
pub(super) struct Leaves<'g> {
    grammar: &'g Grammar,
    /// What runs beside them.
    dfa: Arc<Dfa>,
    budget: &'g Budget,
    known: HashMap<ExprId, Rc<Dfa>>,
    keys: Vec<Rc<Dfa>>,
    /// The pairs that each part can be in from each state on.
    pairs: HashMap<(Leaf, StateId), Rc<[Pair]>>,
    /// The automata that became expressions: what the same is read by is one expression.
    made: HashMap<Content, u32>,
    /// The expressions of parts on their ways.
    expressed: HashMap<(Leaf, Way), ExprId>,
    /// Which of the conjunctions of a grammar is lowered.
    round: usize,
}

impl<'g> Leaves<'g> {
    pub(super) fn new(grammar: &'g Grammar, dfa: Arc<Dfa>, round: usize, budget: &'g Budget) -> Self {
        Leaves {
            grammar,
            dfa,
            budget,
            known: HashMap::new(),
            keys: Vec::new(),
            pairs: HashMap::new(),
            made: HashMap::new(),
            expressed: HashMap::new(),
            round,
        }
    }

    /// The leaf of JSON strings with these texts, with their quotes.
    pub(super) fn quoted(&mut self, texts: &Dfa, escapes: Escapes) -> Result<u32> {
        let spellings = texts.json_spellings(escapes, self.budget)?;
        let mut nfa = Nfa::new(self.budget);
        let [start, open, close, end] =
            [nfa.add_state()?, nfa.add_state()?, nfa.add_state()?, nfa.add_state()?];
        nfa.add_range(start, b'"', b'"', open);
        nfa.add_dfa(open, &spellings, close)?;
        nfa.add_range(close, b'"', b'"', end);
        self.keys.push(Rc::new(nfa.determinize(start, end)?));
        Ok(self.keys.len() as u32 - 1)
    }

    /// An automaton as an expression.
    pub(super) fn express(&mut self, dfa: Dfa, builder: &mut Builder) -> ExprId {
        let states = 0..dfa.len() as StateId;
        let content = states.map(|state| (dfa.is_accepting(state), dfa.edges(state).to_vec())).collect();
        let next = self.made.len() as u32;
        let number = *self.made.entry(content).or_insert(next);
        // What stands for an automaton in a grammar is its text.
        let source = format!("part {number} of conjunction {}", self.round).into();
        builder.automaton(Automaton { source, dfa: Arc::new(dfa).into() })
    }

    fn leaf(&mut self, leaf: Leaf) -> Result<Rc<Dfa>> {
        let id = match leaf {
            Leaf::Expr(id) => id,
            Leaf::Key(number) => return Ok(Rc::clone(&self.keys[number as usize])),
        };
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
    pub(super) fn ends(&mut self, id: Leaf, state: StateId) -> Result<Vec<StateId>> {
        let leaf = self.leaf(id)?;
        let pairs = self.pairs(&leaf, state)?;
        let ends = pairs.iter().copied().filter(|pair| leaf.is_accepting(pair.0)).map(|pair| pair.1);
        let mut ends: Vec<StateId> = ends.collect();
        ends.sort_unstable();
        ends.dedup();
        Ok(ends)
    }

    /// What a part reads between two states, on the way that these have between them.
    pub(super) fn on_way(
        &mut self,
        leaf: Leaf,
        (from, to): Pair,
        way: Way,
        builder: &mut Builder,
    ) -> Result<ExprId> {
        if let Some(&known) = self.expressed.get(&(leaf, way)) {
            return Ok(known);
        }
        let dfa = self.between(leaf, from, to)?;
        let expr = self.express(dfa, builder);
        self.expressed.insert((leaf, way), expr);
        Ok(expr)
    }

    fn between(&mut self, id: Leaf, from: StateId, to: StateId) -> Result<Dfa> {
        let leaf = self.leaf(id)?;
        let pairs = match self.pairs.get(&(id, from)) {
            Some(known) => Rc::clone(known),
            None => self.pairs(&leaf, from)?.into(),
        };
        self.pairs.insert((id, from), Rc::clone(&pairs));
        let numbers: HashMap<Pair, StateId> = pairs.iter().copied().zip(0..).collect();
        let mut builder = DfaBuilder::new();
        for &(one, other) in pairs.iter() {
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
pub(super) fn common_edges(left: &[(u8, u8, StateId)], right: &[(u8, u8, StateId)]) -> Vec<(u8, u8, Pair)> {
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
