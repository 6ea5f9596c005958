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

/// For each state the number of its class of equivalent states.
///
/// The automaton must be deterministic, and each of its states must be able to reach an accepting one.
pub(crate) fn equivalence_classes(
    accepting: &[bool],
    transitions: &[Transition],
    budget: &Budget,
) -> Result<Vec<u32>> {
    let mut blocks = Partition::whole(accepting.len());
    for (state, _) in accepting.iter().enumerate().filter(|&(_, &accepting)| accepting) {
        blocks.mark(state as u32);
    }
    blocks.split();
    let mut bundles = Partition::by_key(transitions.len(), |at| transitions[at].label);
    let incoming = Incoming::new(accepting.len(), transitions);
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
    Ok(blocks.set_of)
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
    location: Vec<u32>,
    set_of: Vec<u32>,
    bounds: Vec<(u32, u32)>,
    marked: Vec<u32>,
    touched: Vec<u32>,
}

impl Partition {
    /// One set of all elements, or none at all.
    fn whole(count: usize) -> Self {
        Self::by_key(count, |_| 0)
    }

    /// The elements with equal keys together.
    fn by_key(count: usize, key: impl Fn(usize) -> u32) -> Self {
        let elements = sorted_by_key(count, &key);
        let mut partition = Partition {
            location: vec![0; count],
            set_of: vec![0; count],
            bounds: Vec::new(),
            marked: Vec::new(),
            touched: Vec::new(),
            elements,
        };
        let mut previous = None;
        for place in 0..count {
            let element = partition.elements[place] as usize;
            let key = Some(key(element));
            if key != previous {
                partition.bounds.push((place as u32, place as u32));
                partition.marked.push(0);
                previous = key;
            }
            let set = partition.bounds.len() - 1;
            partition.bounds[set].1 = place as u32 + 1;
            partition.location[element] = place as u32;
            partition.set_of[element] = set as u32;
        }
        partition
    }

    fn len(&self) -> usize {
        self.bounds.len()
    }

    fn set(&self, set: usize) -> &[u32] {
        let (first, end) = self.bounds[set];
        &self.elements[first as usize..end as usize]
    }

    /// Marks an element that is not marked yet.
    fn mark(&mut self, element: u32) {
        let set = self.set_of[element as usize] as usize;
        if self.marked[set] == 0 {
            self.touched.push(set as u32);
        }
        let here = self.location[element as usize];
        let there = self.bounds[set].0 + self.marked[set];
        let other = self.elements[there as usize];
        self.elements.swap(here as usize, there as usize);
        self.location[other as usize] = here;
        self.location[element as usize] = there;
        self.marked[set] += 1;
    }

    /// Splits each set into its marked and its other elements; the smaller half becomes the new set.
    fn split(&mut self) {
        while let Some(set) = self.touched.pop() {
            let set = set as usize;
            let (first, end) = self.bounds[set];
            let middle = first + std::mem::take(&mut self.marked[set]);
            if middle == end {
                continue;
            }
            let (kept, split_off) = if middle - first <= end - middle {
                ((middle, end), (first, middle))
            } else {
                ((first, middle), (middle, end))
            };
            self.bounds[set] = kept;
            let new = self.bounds.len() as u32;
            self.bounds.push(split_off);
            self.marked.push(0);
            for place in split_off.0..split_off.1 {
                self.set_of[self.elements[place as usize] as usize] = new;
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
