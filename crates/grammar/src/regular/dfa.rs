//! Deterministic automata over bytes, built ahead of time.
//!
//! Invariants:
//!
//! 1. Every state is reachable from the start and can reach an accepting state, so a missing transition is the only
//!    way to fail, and it is final. The empty language has no state at all.
//! 2. The automaton is minimal and its states are numbered in breadth-first order from the start, which is 0. So
//!    equal languages have equal automata.

use std::hash::{Hash, Hasher};
use std::sync::OnceLock;

use smallvec::SmallVec;

use super::ByteSet;

/// The number of a state.
pub type StateId = u32;

/// A minimal automaton over bytes.
#[derive(Clone, Debug)]
pub struct Dfa {
    /// For each state, its transitions as `(low, high, target)`, sorted, with equal neighbours joined.
    states: Box<[State]>,
    /// See [`Dfa::fingerprint`].
    fingerprint: OnceLock<u128>,
    /// See [`Dfa::most_ways`].
    most_ways: OnceLock<u32>,
    /// See [`Dfa::edge_bytes`].
    edge_bytes: OnceLock<(ByteSet, ByteSet)>,
}

impl PartialEq for Dfa {
    fn eq(&self, other: &Self) -> bool {
        self.states == other.states
    }
}

impl Eq for Dfa {}

impl Hash for Dfa {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.states.hash(state);
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct State {
    pub(super) accepting: bool,
    pub(super) edges: Box<[(u8, u8, StateId)]>,
}

/// The states of an automaton that is known to be minimal, in their order: for code that finds no state twice, and comes to
/// all of them breadth first.
#[derive(Debug, Default)]
pub(crate) struct MinimalStates(Vec<State>);

impl MinimalStates {
    /// How many states were added.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Adds a state with its edges, which are sorted.
    pub(crate) fn push(&mut self, accepting: bool, edges: &[(u8, u8, StateId)]) {
        let mut joined: SmallVec<[(u8, u8, StateId); 16]> = SmallVec::new();
        for &(low, high, target) in edges {
            match joined.last_mut() {
                Some(last) if last.2 == target && last.1.checked_add(1) == Some(low) => last.1 = high,
                _ => joined.push((low, high, target)),
            }
        }
        self.0.push(State { accepting, edges: (&*joined).into() });
    }

    /// The automaton.
    pub(crate) fn finish(self) -> Dfa {
        Dfa::from_states(self.0)
    }
}

impl Dfa {
    /// The state to start from.
    pub const START: StateId = 0;

    pub(super) fn from_states(states: Vec<State>) -> Self {
        Dfa {
            states: states.into(),
            fingerprint: OnceLock::new(),
            most_ways: OnceLock::new(),
            edge_bytes: OnceLock::new(),
        }
    }

    /// The empty language.
    pub(super) fn empty() -> Self {
        Self::from_states(Vec::new())
    }

    /// The fingerprint that `compute` makes of it, made once: some automata live as long as the process, and go into a
    /// thousand grammars. Callers have one way to make fingerprints between them.
    pub fn fingerprint(&self, compute: impl FnOnce(&Self) -> u128) -> u128 {
        *self.fingerprint.get_or_init(|| compute(self))
    }

    /// The bytes that a string of the language may begin with, and those that it may end with.
    pub(crate) fn edge_bytes(&self) -> &(ByteSet, ByteSet) {
        self.edge_bytes.get_or_init(|| {
            let (mut first, mut last) = (ByteSet::NONE, ByteSet::NONE);
            for (at, state) in self.states.iter().enumerate() {
                for &(low, high, target) in &state.edges {
                    if at == Self::START as usize {
                        first.add_range(low, high);
                    }
                    if self.is_accepting(target) {
                        last.add_range(low, high);
                    }
                }
            }
            (first, last)
        })
    }

    /// How many bytes there are that go on from a state, at most.
    pub(crate) fn most_ways(&self) -> u32 {
        let ways = |state: &State| state.edges.iter().map(|&(low, high, _)| u32::from(high - low) + 1).sum();
        *self.most_ways.get_or_init(|| self.states.iter().map(ways).max().unwrap_or(0))
    }

    /// Whether the language is empty; then there is no state.
    pub fn is_empty(&self) -> bool {
        self.states.is_empty()
    }

    /// How many states there are.
    pub fn len(&self) -> usize {
        self.states.len()
    }

    /// The memory that it takes.
    pub fn memory_bytes(&self) -> usize {
        self.states.iter().map(|state| size_of::<State>() + size_of_val(&*state.edges)).sum()
    }

    /// Whether the string read so far is in the language.
    pub fn is_accepting(&self, state: StateId) -> bool {
        self.states[state as usize].accepting
    }

    /// The ways on: `(low, high, target)`, sorted by byte.
    pub fn edges(&self, state: StateId) -> &[(u8, u8, StateId)] {
        &self.states[state as usize].edges
    }

    /// The state after `byte`, or `None` where no string of the language goes on so.
    pub fn next(&self, state: StateId, byte: u8) -> Option<StateId> {
        let edges = self.edges(state);
        let at = edges.partition_point(|&(_, high, _)| high < byte);
        edges.get(at).filter(|&&(low, _, _)| low <= byte).map(|&(_, _, target)| target)
    }

    /// How many strings the language has; `None` if there is no end of them. Cut off at the greatest number.
    pub fn count_words(&self) -> Option<u64> {
        // Every state lies on a way to an end, so a circle anywhere means no end of strings.
        let mut waiting: Vec<u32> = vec![0; self.len()];
        let targets = |state: &State| state.edges.iter().map(|edge| edge.2 as usize).collect::<Vec<_>>();
        self.states.iter().flat_map(targets).for_each(|target| waiting[target] += 1);
        let mut ways: Vec<u64> = vec![0; self.len()];
        let mut ready: Vec<usize> = (0..self.len()).filter(|&at| waiting[at] == 0).collect();
        ready.iter().for_each(|&at| ways[at] = 1);
        let (mut words, mut done) = (0u64, 0);
        while let Some(at) = ready.pop() {
            done += 1;
            let state = &self.states[at];
            words = words.saturating_add(if state.accepting { ways[at] } else { 0 });
            for &(low, high, target) in &state.edges {
                let target = target as usize;
                let bytes = u64::from(high - low) + 1;
                ways[target] = ways[target].saturating_add(ways[at].saturating_mul(bytes));
                waiting[target] -= 1;
                if waiting[target] == 0 {
                    ready.push(target);
                }
            }
        }
        (done == self.len()).then_some(words)
    }

    /// Whether at least `count` strings of the language have at most `longest` bytes.
    pub fn has_words(&self, count: u64, longest: u32) -> bool {
        if self.is_empty() {
            return count == 0;
        }
        let mut ways: Vec<u64> = vec![0; self.len()];
        ways[Self::START as usize] = 1;
        let mut words = 0_u64;
        for length in 0..=longest {
            let ends = self.states.iter().zip(&ways).filter(|(state, _)| state.accepting);
            words = ends.fold(words, |words, (_, &ways)| words.saturating_add(ways));
            if words >= count {
                return true;
            }
            if length < longest {
                let mut next: Vec<u64> = vec![0; self.len()];
                for (state, &ways) in self.states.iter().zip(&ways).filter(|(_, ways)| **ways > 0) {
                    for &(low, high, target) in &state.edges {
                        let more = ways.saturating_mul(u64::from(high - low) + 1);
                        let sum = &mut next[target as usize];
                        *sum = sum.saturating_add(more);
                    }
                }
                ways = next;
            }
        }
        false
    }

    /// Whether there is no end of strings from every state. All states can be reached and reach an end, so it is enough
    /// that each has a way on.
    pub fn goes_on_everywhere(&self) -> bool {
        self.states.iter().all(|state| !state.edges.is_empty())
    }

    /// Whether `text` is in the language.
    pub fn matches(&self, text: &[u8]) -> bool {
        let start = if self.is_empty() { None } else { Some(Self::START) };
        let end = text.iter().fold(start, |state, &byte| self.next(state?, byte));
        end.is_some_and(|state| self.is_accepting(state))
    }
}
