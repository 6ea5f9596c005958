//! What the automaton reads between two of its states, told apart by what it is.
//!
//! A part that is met in one state and left in another reads what the part and the automaton read between these states. In
//! `.{0,100}` that depends on how far the states are apart, and not on where they are. So pairs of states between which the
//! same is read are one *way*, and for each part and each way there is one rule, where there would be one for each pair.
//!
//! That two ways are the same is seen by their shape: the states on the way, numbered in the order in which they are met.

use std::sync::Arc;

use hashbrown::HashMap;

use crate::error::Result;
use crate::limits::Budget;
use crate::regular::{Dfa, StateId};

/// The number of a way.
pub(super) type Way = u32;

/// For each state on a way whether it is the end, and its edges to others on the way.
type Shape = Vec<(bool, Vec<(u8, u8, u32)>)>;

/// The ways of an automaton.
pub(super) struct Ways {
    dfa: Arc<Dfa>,
    /// The states that lead to a state.
    before: Vec<Vec<StateId>>,
    /// Which states lead to a state, near or far, for those that were asked for.
    leading: HashMap<StateId, Arc<[bool]>>,
    known: HashMap<(StateId, StateId), Way>,
    shapes: HashMap<Shape, Way>,
}

impl Ways {
    pub(super) fn new(dfa: Arc<Dfa>) -> Self {
        let mut before = vec![Vec::new(); dfa.len()];
        for state in 0..dfa.len() as StateId {
            dfa.edges(state).iter().for_each(|edge| before[edge.2 as usize].push(state));
        }
        Ways { dfa, before, leading: HashMap::new(), known: HashMap::new(), shapes: HashMap::new() }
    }

    /// The way between two states.
    pub(super) fn between(&mut self, from: StateId, to: StateId, budget: &Budget) -> Result<Way> {
        if let Some(&known) = self.known.get(&(from, to)) {
            return Ok(known);
        }
        let shape = self.shape(from, to, budget)?;
        let next = self.shapes.len() as Way;
        let way = *self.shapes.entry(shape).or_insert(next);
        self.known.insert((from, to), way);
        Ok(way)
    }

    fn shape(&mut self, from: StateId, to: StateId, budget: &Budget) -> Result<Shape> {
        let leads = self.leading_to(to);
        let mut numbers: HashMap<StateId, u32> = HashMap::from([(from, 0)]);
        let mut states = vec![from];
        let mut shape = Shape::new();
        while shape.len() < states.len() {
            budget.tick()?;
            let state = states[shape.len()];
            let mut edges = Vec::new();
            for &(low, high, target) in self.dfa.edges(state) {
                if leads[target as usize] {
                    let number = *numbers.entry(target).or_insert_with(|| {
                        states.push(target);
                        states.len() as u32 - 1
                    });
                    edges.push((low, high, number));
                }
            }
            shape.push((state == to, edges));
        }
        Ok(shape)
    }

    fn leading_to(&mut self, to: StateId) -> Arc<[bool]> {
        if let Some(known) = self.leading.get(&to) {
            return Arc::clone(known);
        }
        let mut leads = vec![false; self.dfa.len()];
        let mut open = vec![to];
        leads[to as usize] = true;
        while let Some(state) = open.pop() {
            for &from in &self.before[state as usize] {
                if !std::mem::replace(&mut leads[from as usize], true) {
                    open.push(from);
                }
            }
        }
        let leads: Arc<[bool]> = leads.into();
        self.leading.insert(to, Arc::clone(&leads));
        leads
    }
}
