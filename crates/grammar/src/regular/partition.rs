//! Partition refinement: which states of an automaton are equivalent.
//!
//! This is the algorithm of Valmari and Lehtinen for partial automata: blocks of states and bundles of transitions
//! refine each other, and of every split only the smaller half is looked at again. It costs `O(m log n)` for `m`
//! transitions, whatever the alphabet, where the simpler rounds of Moore's algorithm would cost a pass over all
//! states for each byte of a long literal.
//!
//! Labels are bare numbers, so that automata over bytes, over symbols and over annotated letters all use it.

use crate::error::Result;
use crate::limits::Budget;

/// One transition of the automaton that is refined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Transition {
    pub(crate) from: u32,
    pub(crate) label: u32,
    pub(crate) to: u32,
}

/// For each state the number of its class of equivalent states: those of one colour, as all are that they lead to by the
/// same labels.
///
/// The automaton must be deterministic, and each of its states must mean something: where colours say which states accept,
/// each must be able to reach an accepting one.
pub(crate) fn equivalence_classes<C: Copy + Into<u32>>(
    colours: &[C],
    transitions: &[Transition],
    budget: &Budget,
) -> Result<Vec<u32>> {
    let mut blocks = Partition::by_key(colours.len(), |state| colours[state].into());
    let mut bundles = Partition::by_key(transitions.len(), |at| transitions[at].label);
    let incoming = Incoming::new(colours.len(), transitions);
    let (mut next_block, mut next_bundle) = (1, 0);
    while next_bundle < bundles.len() {
        for &at in bundles.set(next_bundle) {
            budget.tick()?;
            blocks.mark(transitions[at as usize].from);
        }
        blocks.split();
        next_bundle += 1;
        while next_block < blocks.len() {
            for &state in blocks.set(next_block) {
                budget.tick()?;
                incoming.of(state).iter().for_each(|&at| bundles.mark(at));
            }
            bundles.split();
            next_block += 1;
        }
    }
    Ok(blocks.places.iter().map(|place| place.set).collect())
}

/// The transitions into each state.
struct Incoming {
    starts: Vec<u32>,
    transitions: Vec<u32>,
}

impl Incoming {
    fn new(states: usize, transitions: &[Transition]) -> Self {
        let mut starts = vec![0_u32; states + 1];
        for transition in transitions {
            starts[transition.to as usize + 1] += 1;
        }
        for at in 0..states {
            starts[at + 1] += starts[at];
        }
        let mut free = starts.clone();
        let mut sorted = vec![0; transitions.len()];
        for (at, transition) in transitions.iter().enumerate() {
            let slot = &mut free[transition.to as usize];
            sorted[*slot as usize] = at as u32;
            *slot += 1;
        }
        Incoming { starts, transitions: sorted }
    }

    fn of(&self, state: u32) -> &[u32] {
        let state = state as usize;
        &self.transitions[self.starts[state] as usize..self.starts[state + 1] as usize]
    }
}

/// Disjoint sets over `0..n`, each a slice of one array, whose marked elements stand at the front of their set.
struct Partition {
    elements: Vec<u32>,
    /// For each element, where it stands and in which set.
    places: Vec<Place>,
    sets: Vec<Set>,
    touched: Vec<u32>,
}

#[derive(Clone, Copy, Default)]
struct Place {
    location: u32,
    set: u32,
}

#[derive(Clone, Copy)]
struct Set {
    first: u32,
    end: u32,
    marked: u32,
}

impl Partition {
    /// The elements with equal keys together.
    fn by_key(count: usize, key: impl Fn(usize) -> u32) -> Self {
        let elements = sorted_by_key(count, &key);
        let mut places = vec![Place::default(); count];
        let mut sets: Vec<Set> = Vec::new();
        let mut previous = None;
        for (location, &element) in (0..).zip(&elements) {
            let key = Some(key(element as usize));
            if key != previous {
                sets.push(Set { first: location, end: location, marked: 0 });
                previous = key;
            }
            let set = sets.len() - 1;
            sets[set].end = location + 1;
            places[element as usize] = Place { location, set: set as u32 };
        }
        Partition { elements, places, sets, touched: Vec::new() }
    }

    fn len(&self) -> usize {
        self.sets.len()
    }

    fn set(&self, set: usize) -> &[u32] {
        let Set { first, end, .. } = self.sets[set];
        &self.elements[first as usize..end as usize]
    }

    /// Marks an element that is not marked yet.
    fn mark(&mut self, element: u32) {
        let Place { location: here, set } = self.places[element as usize];
        let bounds = &mut self.sets[set as usize];
        if bounds.marked == 0 {
            self.touched.push(set);
        }
        let there = bounds.first + bounds.marked;
        bounds.marked += 1;
        if here != there {
            let other = std::mem::replace(&mut self.elements[there as usize], element);
            self.elements[here as usize] = other;
            self.places[other as usize].location = here;
            self.places[element as usize].location = there;
        }
    }

    /// Splits each set into its marked and its other elements; the smaller half becomes the new set.
    fn split(&mut self) {
        while let Some(set) = self.touched.pop() {
            let new = self.sets.len() as u32;
            let Set { first, end, marked } = &mut self.sets[set as usize];
            let middle = *first + std::mem::take(marked);
            if middle == *end {
                continue;
            }
            let split_off = if middle - *first <= *end - middle {
                let split_off = Set { first: *first, end: middle, marked: 0 };
                *first = middle;
                split_off
            } else {
                let split_off = Set { first: middle, end: *end, marked: 0 };
                *end = middle;
                split_off
            };
            self.sets.push(split_off);
            for &element in &self.elements[split_off.first as usize..split_off.end as usize] {
                self.places[element as usize].set = new;
            }
        }
    }
}

/// The numbers below `count` in the order of their keys. Small keys are counted rather than compared.
fn sorted_by_key(count: usize, key: &impl Fn(usize) -> u32) -> Vec<u32> {
    let greatest = (0..count).map(key).max().unwrap_or(0) as usize;
    if greatest > 2 * count {
        let mut elements: Vec<u32> = (0..count as u32).collect();
        elements.sort_by_key(|&at| key(at as usize));
        return elements;
    }
    let mut free = vec![0_u32; greatest + 2];
    (0..count).for_each(|at| free[key(at) as usize + 1] += 1);
    for at in 0..=greatest {
        free[at + 1] += free[at];
    }
    let mut elements = vec![0; count];
    for at in 0..count {
        let slot = &mut free[key(at) as usize];
        elements[*slot as usize] = at as u32;
        *slot += 1;
    }
    elements
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classes(accepting: &[bool], edges: &[(u32, u32, u32)]) -> Vec<u32> {
        let transitions: Vec<_> =
            edges.iter().map(|&(from, label, to)| Transition { from, label, to }).collect();
        equivalence_classes(accepting, &transitions, &Budget::default()).unwrap()
    }

    #[test]
    fn an_unrolled_loop_folds() {
        let found = classes(&[true; 3], &[(0, 7, 1), (1, 7, 2), (2, 7, 0)]);
        assert_eq!(found, [0, 0, 0]);
    }

    #[test]
    fn a_missing_transition_tells_states_apart() {
        let found = classes(&[true, true, true], &[(0, 1, 1), (1, 1, 2)]);
        assert_ne!(found[0], found[1]);
        assert_ne!(found[1], found[2]);
        assert_ne!(found[0], found[2]);
    }

    #[test]
    fn labels_tell_states_apart() {
        // 0 -a-> 3, 1 -b-> 3, 2 -a-> 3.
        let found = classes(&[false, false, false, true], &[(0, 0, 3), (1, 1, 3), (2, 0, 3)]);
        assert_eq!(found[0], found[2]);
        assert_ne!(found[0], found[1]);
    }

    #[test]
    fn nothing_has_no_classes() {
        assert_eq!(classes(&[], &[]), [] as [u32; 0]);
    }
}
