//! Automata with choice, and the subset construction that removes it.
//!
//! A [`Nfa`] is a scratch pad: add states, connect them with byte ranges, literals, classes, whole automata and empty
//! steps, then ask for the minimal [`Dfa`] between two of them. Every state counts against the budget.
//!
//! A text that was searched for and found may go on in any way. What else was being searched for does not matter then, so
//! sets of states are cut short there: otherwise there would be as many as there are sets of unfinished searches.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::builder::DfaBuilder;
use super::byte_set::ByteSet;
use super::charset::CharSet;
use super::dfa::{Dfa, StateId};
use crate::error::Result;
use crate::limits::Budget;

/// The number of a state of an [`Nfa`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NfaStateId(u32);

impl NfaStateId {
    fn index(self) -> usize {
        self.0 as usize
    }
}

#[derive(Debug, Default)]
struct NfaState {
    edges: Vec<(u8, u8, NfaStateId)>,
    empty: Vec<NfaStateId>,
}

/// An automaton with choice and empty steps.
#[derive(Debug)]
pub struct Nfa<'b> {
    states: Vec<NfaState>,
    classes: FxHashMap<CharSet, Rc<Dfa>>,
    budget: &'b Budget,
}

impl<'b> Nfa<'b> {
    /// How many members all sets of the subset construction may have together, for each state that is allowed.
    const MEMBERS_A_STATE: usize = 64;

    /// No states yet.
    pub fn new(budget: &'b Budget) -> Self {
        Nfa { states: Vec::new(), classes: FxHashMap::default(), budget }
    }

    /// Adds a state.
    pub fn add_state(&mut self) -> Result<NfaStateId> {
        self.budget.check_states(self.states.len() + 1)?;
        self.states.push(NfaState::default());
        Ok(NfaStateId(self.states.len() as u32 - 1))
    }

    /// A step that reads nothing.
    pub fn add_empty(&mut self, from: NfaStateId, to: NfaStateId) {
        self.states[from.index()].empty.push(to);
    }

    /// A step by one byte of `low..=high`.
    pub fn add_range(&mut self, from: NfaStateId, low: u8, high: u8, to: NfaStateId) {
        self.states[from.index()].edges.push((low, high, to));
    }

    /// A way by these bytes.
    pub fn add_literal(&mut self, from: NfaStateId, bytes: &[u8], to: NfaStateId) -> Result<()> {
        let Some((&last, before)) = bytes.split_last() else {
            self.add_empty(from, to);
            return Ok(());
        };
        let mut at = from;
        for &byte in before {
            let next = self.add_state()?;
            self.add_range(at, byte, byte, next);
            at = next;
        }
        self.add_range(at, last, last, to);
        Ok(())
    }

    /// A way by one code point of `set`.
    pub fn add_class(&mut self, from: NfaStateId, set: &CharSet, to: NfaStateId) -> Result<()> {
        if set.ranges().iter().all(|&(_, high)| high.is_ascii()) {
            for &(low, high) in set.ranges() {
                self.add_range(from, low as u8, high as u8, to);
            }
            return Ok(());
        }
        let dfa = if let Some(dfa) = self.classes.get(set) {
            Rc::clone(dfa)
        } else {
            let dfa = Rc::new(Dfa::from_charset(set, self.budget)?);
            self.classes.insert(set.clone(), Rc::clone(&dfa));
            dfa
        };
        // No edge comes back to the start, and the only accepting state has no edge: they are `from` and `to`.
        self.add_copy(&dfa, |state| match state {
            Dfa::START => Some(from),
            state if dfa.is_accepting(state) => Some(to),
            _ => None,
        })?;
        Ok(())
    }

    /// A way by any string of `dfa`.
    pub fn add_dfa(&mut self, from: NfaStateId, dfa: &Dfa, to: NfaStateId) -> Result<()> {
        if dfa.is_empty() {
            return Ok(());
        }
        let names = self.add_copy(dfa, |_| None)?;
        self.add_empty(from, names[Dfa::START as usize]);
        for (state, &name) in names.iter().enumerate() {
            if dfa.is_accepting(state as StateId) {
                self.add_empty(name, to);
            }
        }
        Ok(())
    }

    /// Copies the states of `dfa`, each under the name that `known` has for it or a new one.
    fn add_copy(
        &mut self,
        dfa: &Dfa,
        known: impl Fn(StateId) -> Option<NfaStateId>,
    ) -> Result<Vec<NfaStateId>> {
        let mut names = Vec::with_capacity(dfa.len());
        for state in 0..dfa.len() as StateId {
            names.push(known(state).map_or_else(|| self.add_state(), Ok)?);
        }
        for (state, &name) in names.iter().enumerate() {
            for &(low, high, target) in dfa.edges(state as StateId) {
                self.add_range(name, low, high, names[target as usize]);
            }
        }
        Ok(names)
    }

    /// The minimal automaton of the strings that lead from one state to the other.
    pub fn determinize(&self, start: NfaStateId, end: NfaStateId) -> Result<Dfa> {
        let mut subsets =
            Subsets { nfa: self, end, numbers: FxHashMap::default(), sets: Vec::new(), members: 0 };
        let mut builder = DfaBuilder::new();
        let mut closure = Closure::new(self, end)?;
        let mut outgoing = Outgoing::default();
        subsets.intern(closure.of(self, &[start], end)?, &mut builder)?;
        let mut at = 0;
        while at < subsets.sets.len() {
            outgoing.fill(self, &subsets.sets[at])?;
            for (low, high, targets) in outgoing.ways() {
                let closed = closure.of(self, targets, end)?;
                let to = subsets.intern(closed, &mut builder)?;
                builder.add_edge(at as StateId, low, high, to);
            }
            at += 1;
        }
        builder.finish(self.budget)
    }

    /// The states that every step of the automaton leaves as they are.
    fn unmoved(&self) -> Vec<NfaStateId> {
        let set_of = |edges: &mut dyn Iterator<Item = &(u8, u8, NfaStateId)>| {
            edges.fold(ByteSet::NONE, |mut set, &(low, high, _)| {
                set.add_range(low, high);
                set
            })
        };
        let all = set_of(&mut self.states.iter().flat_map(|state| &state.edges));
        let is_unmoved = |&(at, state): &(u32, &NfaState)| {
            let mut around = state.edges.iter().filter(|edge| edge.2 == NfaStateId(at)).peekable();
            around.peek().is_some() && set_of(&mut around).contains_all(&all)
        };
        (0..).zip(&self.states).filter(is_unmoved).map(|(at, _)| NfaStateId(at)).collect()
    }
}

/// Where a set leads: disjoint byte ranges, each with its targets.
#[derive(Default)]
struct Outgoing {
    /// Where the ranges begin; the last ends where nothing begins.
    starts: Vec<u16>,
    /// The targets of each range. There may be more lists than ranges: lists are used again.
    targets: Vec<Vec<NfaStateId>>,
}

impl Outgoing {
    fn fill(&mut self, nfa: &Nfa<'_>, set: &[NfaStateId]) -> Result<()> {
        let edges = || set.iter().flat_map(|state| &nfa.states[state.index()].edges);
        // A bit for each place where a range begins, or where nothing does after one has ended.
        let mut cuts = [0_u64; 5];
        for &(low, high, _) in edges() {
            for cut in [usize::from(low), usize::from(high) + 1] {
                cuts[cut / 64] |= 1 << (cut % 64);
            }
        }
        self.starts.clear();
        for (first, mut word) in (0..).step_by(64).zip(cuts) {
            while word != 0 {
                self.starts.push(first + word.trailing_zeros() as u16);
                word &= word - 1;
            }
        }
        self.targets.iter_mut().for_each(Vec::clear);
        if self.targets.len() < self.starts.len() {
            self.targets.resize(self.starts.len(), Vec::new());
        }
        for &(low, high, to) in edges() {
            nfa.budget.tick()?;
            let first = self.starts.partition_point(|&start| start < u16::from(low));
            let ranges = self.starts[first..].iter().take_while(|&&start| start <= u16::from(high)).count();
            self.targets[first..first + ranges].iter_mut().for_each(|targets| targets.push(to));
        }
        Ok(())
    }

    fn ways(&self) -> impl Iterator<Item = (u8, u8, &[NfaStateId])> {
        let ranges = self.starts.windows(2).map(|pair| (pair[0] as u8, (pair[1] - 1) as u8));
        let ways = ranges.zip(&self.targets).filter(|(_, targets)| !targets.is_empty());
        ways.map(|((low, high), targets)| (low, high, targets.as_slice()))
    }
}

/// The sets that the subset construction has met.
struct Subsets<'n, 'b> {
    nfa: &'n Nfa<'b>,
    end: NfaStateId,
    numbers: FxHashMap<Rc<[NfaStateId]>, StateId>,
    sets: Vec<Rc<[NfaStateId]>>,
    members: usize,
}

impl Subsets<'_, '_> {
    fn intern(&mut self, set: &[NfaStateId], builder: &mut DfaBuilder) -> Result<StateId> {
        if let Some(&number) = self.numbers.get(set) {
            return Ok(number);
        }
        self.members += set.len();
        let budget = self.nfa.budget;
        budget.check_states((self.sets.len() + 1).max(self.members / Nfa::MEMBERS_A_STATE))?;
        let number = builder.add_state(set.binary_search(&self.end).is_ok());
        let set: Rc<[NfaStateId]> = set.into();
        self.sets.push(Rc::clone(&set));
        self.numbers.insert(set, number);
        Ok(number)
    }
}

/// Scratch space for following empty steps.
struct Closure {
    /// The round in which each state was last seen.
    seen: Vec<u32>,
    round: u32,
    open: Vec<NfaStateId>,
    found: Vec<NfaStateId>,
    /// Whether every word leads from a state to the end, as far as that is easily seen.
    is_boundless: Vec<bool>,
    /// What is found from such states, which are all alike.
    boundless: Vec<NfaStateId>,
}

impl Closure {
    fn new(nfa: &Nfa<'_>, end: NfaStateId) -> Result<Self> {
        let count = nfa.states.len();
        let mut closure = Closure {
            seen: vec![0; count],
            round: 0,
            open: Vec::new(),
            found: Vec::new(),
            is_boundless: vec![false; count],
            boundless: Vec::new(),
        };
        for state in nfa.unmoved() {
            let found = closure.of(nfa, &[state], end)?;
            if found.contains(&end) {
                closure.boundless = found.to_vec();
                closure.is_boundless[state.index()] = true;
            }
        }
        Ok(closure)
    }

    /// The states that can be reached by empty steps and matter: those with edges, and `end`. Sorted. One from which every
    /// word leads to the end stands for all the others.
    fn of(&mut self, nfa: &Nfa<'_>, from: &[NfaStateId], end: NfaStateId) -> Result<&[NfaStateId]> {
        self.round += 1;
        self.open.extend_from_slice(from);
        self.found.clear();
        while let Some(state) = self.open.pop() {
            if std::mem::replace(&mut self.seen[state.index()], self.round) == self.round {
                continue;
            }
            nfa.budget.tick()?;
            if self.is_boundless[state.index()] {
                self.open.clear();
                return Ok(&self.boundless);
            }
            let body = &nfa.states[state.index()];
            self.open.extend(&body.empty);
            if !body.edges.is_empty() || state == end {
                self.found.push(state);
            }
        }
        self.found.sort_unstable();
        Ok(&self.found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CancelFlag, ErrorKind, Limits};

    #[test]
    fn choice_is_removed() {
        // (a|ab)(c|bcd) over literals.
        let budget = Budget::default();
        let mut nfa = Nfa::new(&budget);
        let [start, middle, end] = std::array::from_fn(|_| nfa.add_state().unwrap());
        for literal in ["a", "ab"] {
            nfa.add_literal(start, literal.as_bytes(), middle).unwrap();
        }
        for literal in ["c", "bcd"] {
            nfa.add_literal(middle, literal.as_bytes(), end).unwrap();
        }
        let dfa = nfa.determinize(start, end).unwrap();
        for text in ["ac", "abc", "abcd", "abbcd"] {
            assert!(dfa.matches(text.as_bytes()), "{text}");
        }
        for text in ["", "a", "abb", "abbc", "acd"] {
            assert!(!dfa.matches(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn an_end_with_empty_steps_accepts() {
        let budget = Budget::default();
        let mut nfa = Nfa::new(&budget);
        let [start, end] = std::array::from_fn(|_| nfa.add_state().unwrap());
        nfa.add_class(start, &CharSet::new([('x', 'é')]), end).unwrap();
        nfa.add_empty(end, start);
        let dfa = nfa.determinize(start, end).unwrap();
        assert!(dfa.matches("xéy".as_bytes()) && !dfa.matches(b"") && !dfa.matches(b"xa"));
    }

    #[test]
    fn a_copied_automaton_keeps_its_loops_to_itself() {
        // a* then b*, where the start of each has a loop.
        let budget = Budget::default();
        let star = |byte: u8| {
            let mut builder = DfaBuilder::new();
            let start = builder.add_state(true);
            builder.add_edge(start, byte, byte, start);
            builder.finish(&budget).unwrap()
        };
        let mut nfa = Nfa::new(&budget);
        let [start, middle, end] = std::array::from_fn(|_| nfa.add_state().unwrap());
        nfa.add_dfa(start, &star(b'a'), middle).unwrap();
        nfa.add_dfa(middle, &star(b'b'), end).unwrap();
        let dfa = nfa.determinize(start, end).unwrap();
        assert!(dfa.matches(b"") && dfa.matches(b"aabb") && !dfa.matches(b"aba"));
    }

    #[test]
    fn what_was_found_ends_all_searches() {
        // Any of the letters twice: sets of letters that were seen once are many, but after the end there is one.
        let budget = Budget::new(Limits { max_states: 2_000, ..Limits::default() }, CancelFlag::default());
        let mut nfa = Nfa::new(&budget);
        let [start, end] = std::array::from_fn(|_| nfa.add_state().unwrap());
        nfa.add_range(start, b'a', b'z', start);
        for letter in b'a'..=b'i' {
            let [once, twice] = std::array::from_fn(|_| nfa.add_state().unwrap());
            nfa.add_range(start, letter, letter, once);
            nfa.add_range(once, b'a', b'z', once);
            nfa.add_range(once, letter, letter, twice);
            nfa.add_range(twice, b'a', b'm', twice);
            nfa.add_range(twice, b'n', b'z', twice);
            nfa.add_empty(twice, end);
        }
        let dfa = nfa.determinize(start, end).unwrap();
        assert_eq!(dfa.len(), 512 + 1);
        assert!(dfa.matches(b"zabczbq") && !dfa.matches(b"zabczq") && !dfa.matches(b"abA"));
    }

    #[test]
    fn an_end_that_some_steps_leave_is_not_for_good() {
        let budget = Budget::default();
        let mut nfa = Nfa::new(&budget);
        let [start, end] = std::array::from_fn(|_| nfa.add_state().unwrap());
        nfa.add_range(start, b'a', b'b', end);
        nfa.add_range(end, b'a', b'a', end);
        let dfa = nfa.determinize(start, end).unwrap();
        assert!(dfa.matches(b"baa") && !dfa.matches(b"bab"));
    }

    #[test]
    fn an_exponential_automaton_meets_the_limit() {
        // (a|b)*a(a|b){n} needs 2^n states.
        let budget = Budget::new(Limits { max_states: 1000, ..Limits::default() }, CancelFlag::default());
        let mut nfa = Nfa::new(&budget);
        let start = nfa.add_state().unwrap();
        nfa.add_range(start, b'a', b'b', start);
        let mut at = nfa.add_state().unwrap();
        nfa.add_range(start, b'a', b'a', at);
        for _ in 0..40 {
            let next = nfa.add_state().unwrap();
            nfa.add_range(at, b'a', b'b', next);
            at = next;
        }
        assert_eq!(nfa.determinize(start, at).unwrap_err().kind(), ErrorKind::Limit);
    }
}
