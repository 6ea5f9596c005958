//! Building a [`Dfa`] by hand: states and byte ranges in, the minimal automaton out.
//!
//! For code that knows its automaton (Aho-Corasick, a suffix automaton, a product). Where the construction is not
//! deterministic, use [`super::Nfa`].

use super::dfa::{Dfa, StateId};
use super::minimize::{minimal, numbered};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Budget;

/// Collects states and edges; the first state is the start.
#[derive(Clone, Debug, Default)]
pub struct DfaBuilder {
    accepting: Vec<bool>,
    /// In one list, because most automata come state by state, and then it is in order.
    edges: Vec<Edge>,
}

/// The bytes `low..=high` lead from one state to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Edge {
    pub(super) from: StateId,
    pub(super) low: u8,
    pub(super) high: u8,
    pub(super) to: StateId,
}

/// A state with more edges than this counts for several, because it takes as long to make.
const EDGES_OF_A_STATE: usize = 6;

impl DfaBuilder {
    /// No state yet, which is the empty language.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a state. The first one is the start.
    pub fn add_state(&mut self, accepting: bool) -> StateId {
        self.accepting.push(accepting);
        self.accepting.len() as StateId - 1
    }

    /// How many states were added.
    pub fn len(&self) -> usize {
        self.accepting.len()
    }

    /// Whether no state was added.
    pub fn is_empty(&self) -> bool {
        self.accepting.is_empty()
    }

    /// Says whether a string that ends in `state` is in the language.
    pub fn set_accepting(&mut self, state: StateId, accepting: bool) {
        self.accepting[state as usize] = accepting;
    }

    /// The bytes `low..=high` lead from one state to the other. The ranges that leave a state must not overlap.
    pub fn add_edge(&mut self, from: StateId, low: u8, high: u8, to: StateId) {
        match self.edges.last_mut() {
            Some(last) if last.from == from && last.to == to && last.high.checked_add(1) == Some(low) => {
                last.high = high;
            }
            _ => self.edges.push(Edge { from, low, high, to }),
        }
    }

    /// The minimal automaton of the same language: unreachable and dead states go, equivalent ones merge.
    pub fn finish(self, budget: &Budget) -> Result<Dfa> {
        minimal(&self.into_rows(budget)?, budget)
    }

    /// The same for states of which no two are equivalent and none is dead: only unreachable ones go.
    pub(super) fn finish_distinct(self, budget: &Budget) -> Result<Dfa> {
        let rows = self.into_rows(budget)?;
        let ways = |state: u32| rows.of(state as usize).iter().map(|edge| (edge.low, edge.high, edge.to));
        let row = |state: u32| (rows.accepting[state as usize], ways(state));
        Ok(if rows.accepting.is_empty() { Dfa::empty() } else { numbered(rows.accepting.len(), 0, row) })
    }

    pub(super) fn into_rows(mut self, budget: &Budget) -> Result<Rows> {
        budget.count_states(self.len().max(self.edges.len() / EDGES_OF_A_STATE))?;
        budget.check_states(self.len())?;
        if !self.edges.is_sorted() {
            self.edges.sort_unstable();
        }
        if self.edges.windows(2).any(|pair| pair[0].from == pair[1].from && pair[0].high >= pair[1].low) {
            return Err(Error::new(ErrorKind::Invalid, "two edges of one state overlap"));
        }
        Ok(Rows::new(self.accepting, self.edges))
    }
}

/// An automaton whose edges are sorted.
pub(super) struct Rows {
    pub(super) accepting: Vec<bool>,
    pub(super) edges: Vec<Edge>,
    /// Where the edges of each state begin, and where all of them end.
    pub(super) starts: Vec<u32>,
}

impl Rows {
    fn new(accepting: Vec<bool>, edges: Vec<Edge>) -> Self {
        let mut starts = Vec::with_capacity(accepting.len() + 1);
        for (at, edge) in edges.iter().enumerate() {
            while starts.len() <= edge.from as usize {
                starts.push(at as u32);
            }
        }
        starts.resize(accepting.len() + 1, edges.len() as u32);
        Rows { accepting, edges, starts }
    }

    pub(super) fn of(&self, state: usize) -> &[Edge] {
        &self.edges[self.starts[state] as usize..self.starts[state + 1] as usize]
    }
}

/// For each state, whether it lies on a path from state 0 to an accepting state; `targets` gives the ways on.
pub(crate) fn useful_states<T: Iterator<Item = u32>>(
    accepting: &[bool],
    targets: impl Fn(usize) -> T,
) -> Vec<bool> {
    let sources = Sources::new(accepting.len(), &targets);
    let first = if accepting.is_empty() { Vec::new() } else { vec![0] };
    let reachable = flood(accepting.len(), first, targets);
    let ends = (0..accepting.len() as u32).filter(|&at| accepting[at as usize]).collect();
    let productive = flood(accepting.len(), ends, |state| sources.of(state).iter().copied());
    reachable.into_iter().zip(productive).map(|(reachable, productive)| reachable && productive).collect()
}

/// Where the ways to each state come from.
struct Sources {
    /// Where the sources of a state begin.
    starts: Vec<u32>,
    sources: Vec<u32>,
}

impl Sources {
    fn new<T: Iterator<Item = u32>>(states: usize, targets: &impl Fn(usize) -> T) -> Self {
        let mut starts = vec![0_u32; states + 1];
        (0..states).flat_map(targets).for_each(|to| starts[to as usize + 1] += 1);
        for at in 0..states {
            starts[at + 1] += starts[at];
        }
        let mut free = starts.clone();
        let mut sources = vec![0; starts[states] as usize];
        for from in 0..states {
            for to in targets(from) {
                let slot = &mut free[to as usize];
                sources[*slot as usize] = from as u32;
                *slot += 1;
            }
        }
        Sources { starts, sources }
    }

    fn of(&self, state: usize) -> &[u32] {
        &self.sources[self.starts[state] as usize..self.starts[state + 1] as usize]
    }
}

fn flood<T: Iterator<Item = u32>>(
    count: usize,
    mut open: Vec<u32>,
    neighbours: impl Fn(usize) -> T,
) -> Vec<bool> {
    let mut seen = vec![false; count];
    for &at in &open {
        seen[at as usize] = true;
    }
    while let Some(at) = open.pop() {
        for next in neighbours(at as usize) {
            if !std::mem::replace(&mut seen[next as usize], true) {
                open.push(next);
            }
        }
    }
    seen
}

/// For each byte the number of its class: bytes that lie in the same of `ranges` share one. Classes are intervals.
pub(super) fn byte_classes(ranges: impl Iterator<Item = (u8, u8)>) -> [u8; 256] {
    let mut starts = [false; 257];
    for (low, high) in ranges {
        starts[low as usize] = true;
        starts[high as usize + 1] = true;
    }
    let mut classes = [0; 256];
    for byte in 1..256 {
        classes[byte] = classes[byte - 1] + u8::from(starts[byte]);
    }
    classes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dead_and_unreachable_states_go() {
        let mut builder = DfaBuilder::new();
        let start = builder.add_state(false);
        let end = builder.add_state(true);
        let dead = builder.add_state(false);
        let lost = builder.add_state(true);
        builder.add_edge(start, b'a', b'a', end);
        builder.add_edge(start, b'b', b'b', dead);
        builder.add_edge(lost, b'a', b'a', end);
        let dfa = builder.finish(&Budget::default()).unwrap();
        assert_eq!(dfa.len(), 2);
        assert!(dfa.matches(b"a") && !dfa.matches(b"b"));
    }

    #[test]
    fn equal_languages_are_equal_automata() {
        // (ab)* once as two states and once unrolled to four, with the edges in another order.
        let build = |count: u32| {
            let mut builder = DfaBuilder::new();
            for at in 0..count {
                builder.add_state(at % 2 == 0);
            }
            for at in (0..count).rev() {
                let byte = if at % 2 == 0 { b'a' } else { b'b' };
                builder.add_edge(at, byte, byte, (at + 1) % count);
            }
            builder.finish(&Budget::default()).unwrap()
        };
        assert_eq!(build(2), build(4));
        assert_eq!(build(2).len(), 2);
    }

    #[test]
    fn neighbouring_ranges_join() {
        let mut builder = DfaBuilder::new();
        let start = builder.add_state(false);
        let (left, right) = (builder.add_state(true), builder.add_state(true));
        builder.add_edge(start, 0, 99, left);
        builder.add_edge(start, 100, 255, right);
        let dfa = builder.finish(&Budget::default()).unwrap();
        assert_eq!(dfa.edges(0), [(0, 255, 1)]);
    }

    #[test]
    fn overlapping_edges_are_refused() {
        let mut builder = DfaBuilder::new();
        let start = builder.add_state(true);
        builder.add_edge(start, 5, 9, start);
        builder.add_edge(start, 9, 10, start);
        assert_eq!(builder.finish(&Budget::default()).unwrap_err().kind(), ErrorKind::Invalid);
    }

    #[test]
    fn nothing_is_the_empty_language() {
        assert!(DfaBuilder::new().finish(&Budget::default()).unwrap().is_empty());
        let mut builder = DfaBuilder::new();
        builder.add_state(false);
        assert!(builder.finish(&Budget::default()).unwrap().is_empty());
    }

    #[test]
    fn a_long_chain_is_minimised_quickly() {
        let mut builder = DfaBuilder::new();
        let count = 100_000;
        for at in 0..=count {
            builder.add_state(at == count);
        }
        for at in 0..count {
            builder.add_edge(at, 0, 100, at + 1);
            builder.add_edge(at, 101, 200, at + 1);
        }
        let started = std::time::Instant::now();
        let dfa = builder.finish(&Budget::default()).unwrap();
        assert_eq!(dfa.len(), count as usize + 1);
        assert!(started.elapsed() < std::time::Duration::from_secs(120), "took {:?}", started.elapsed());
    }
}
