//! Runs of neighbouring chunks of a text, as an automaton.
//!
//! A suffix automaton over the chunks as letters has at most two states for each chunk and spells exactly the runs,
//! from its start to any of its states. Its edges are then spelt out in bytes. Chunks may begin alike, which is why
//! the result goes through an [`Nfa`]; the edges of one state share a trie, so the sets that arise there are small.

use rustc_hash::FxHashMap;

use super::dfa::Dfa;
use super::nfa::{Nfa, NfaStateId};
use crate::error::Result;
use crate::limits::Budget;

/// The concatenations of any number of neighbours among `chunks`, none of them too.
pub fn substring<T: AsRef<str>>(chunks: &[T], budget: &Budget) -> Result<Dfa> {
    let chunks: Vec<&str> = chunks.iter().map(AsRef::as_ref).filter(|chunk| !chunk.is_empty()).collect();
    let mut letters: FxHashMap<&str, u32> = FxHashMap::default();
    let mut texts: Vec<&str> = Vec::new();
    let mut automaton = SuffixAutomaton::new();
    for chunk in chunks {
        budget.check_states(automaton.states.len())?;
        let letter = *letters.entry(chunk).or_insert_with(|| {
            texts.push(chunk);
            texts.len() as u32 - 1
        });
        automaton.push(letter);
    }
    spell(&automaton, &texts, budget)
}

fn spell(automaton: &SuffixAutomaton, texts: &[&str], budget: &Budget) -> Result<Dfa> {
    let mut nfa = Nfa::new(budget);
    let end = nfa.add_state()?;
    let states: Vec<NfaStateId> = automaton.states.iter().map(|_| nfa.add_state()).collect::<Result<_>>()?;
    for (from, state) in states.iter().zip(&automaton.states) {
        nfa.add_empty(*from, end);
        let mut trie: FxHashMap<(NfaStateId, u8), NfaStateId> = FxHashMap::default();
        for (&letter, &target) in &state.next {
            let Some((&last, before)) = texts[letter as usize].as_bytes().split_last() else { continue };
            let mut at = *from;
            for &byte in before {
                let step = (at, byte);
                if let Some(&known) = trie.get(&step) {
                    at = known;
                    continue;
                }
                at = nfa.add_state()?;
                nfa.add_range(step.0, byte, byte, at);
                trie.insert(step, at);
            }
            nfa.add_range(at, last, last, states[target as usize]);
        }
    }
    nfa.determinize(states[0], end)
}

/// The classic online construction: a state is a set of runs that end at the same places.
struct SuffixAutomaton {
    states: Vec<SuffixState>,
    last: usize,
}

#[derive(Clone, Default)]
struct SuffixState {
    /// The length of the longest run of the state.
    length: usize,
    /// The state of the longest suffix that ends at more places.
    link: Option<usize>,
    next: FxHashMap<u32, u32>,
}

impl SuffixAutomaton {
    fn new() -> Self {
        SuffixAutomaton { states: vec![SuffixState::default()], last: 0 }
    }

    fn add(&mut self, state: SuffixState) -> usize {
        self.states.push(state);
        self.states.len() - 1
    }

    /// Reads one more letter.
    fn push(&mut self, letter: u32) {
        let length = self.states[self.last].length + 1;
        let fresh = self.add(SuffixState { length, ..SuffixState::default() });
        let mut at = Some(self.last);
        self.last = fresh;
        while let Some(state) = at.filter(|&state| !self.states[state].next.contains_key(&letter)) {
            self.states[state].next.insert(letter, fresh as u32);
            at = self.states[state].link;
        }
        let link = at.map_or(0, |state| self.split(state, letter));
        self.states[fresh].link = Some(link);
    }

    /// The state that `letter` leads to from `from`, with only the runs that are one longer than those of `from`.
    fn split(&mut self, from: usize, letter: u32) -> usize {
        let target = self.states[from].next[&letter] as usize;
        let length = self.states[from].length + 1;
        if self.states[target].length == length {
            return target;
        }
        let copy = self.add(SuffixState { length, ..self.states[target].clone() });
        self.states[target].link = Some(copy);
        let mut at = Some(from);
        while let Some(state) =
            at.filter(|&state| self.states[state].next.get(&letter) == Some(&(target as u32)))
        {
            self.states[state].next.insert(letter, copy as u32);
            at = self.states[state].link;
        }
        copy
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn runs(chunks: &[String]) -> hashbrown::HashSet<String> {
        let mut runs = hashbrown::HashSet::from([String::new()]);
        for from in 0..chunks.len() {
            for to in from..chunks.len() {
                runs.insert(chunks[from..=to].concat());
            }
        }
        runs
    }

    /// All strings of the automaton, which is finite.
    fn language(dfa: &Dfa) -> hashbrown::HashSet<String> {
        let mut found = hashbrown::HashSet::new();
        let mut open = vec![(Dfa::START, Vec::new())];
        while let Some((state, text)) = open.pop() {
            if dfa.is_accepting(state) {
                found.insert(String::from_utf8(text.clone()).unwrap());
            }
            for &(low, high, target) in dfa.edges(state) {
                for byte in low..=high {
                    open.push((target, [&text[..], &[byte]].concat()));
                }
            }
        }
        found
    }

    proptest! {
        #[test]
        fn accepts_the_runs_and_nothing_else(chunks in prop::collection::vec("[abé]{1,3}", 0..7)) {
            let dfa = substring(&chunks, &Budget::default()).unwrap();
            prop_assert_eq!(language(&dfa), runs(&chunks));
        }
    }

    #[test]
    fn a_long_text_of_words_is_quick() {
        let words: Vec<String> =
            (0..5_000_u32).map(|at| format!("{} ", at.wrapping_mul(2_654_435_761) % 700)).collect();
        let started = std::time::Instant::now();
        let dfa = substring(&words, &Budget::default()).unwrap();
        assert!(dfa.matches(words[100..200].concat().as_bytes()));
        assert!(!dfa.matches(b"701 "));
        assert!(started.elapsed().as_secs() < 5, "took {:?}", started.elapsed());
    }
}
