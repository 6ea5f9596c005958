//! And, or, not and minus on automata.
//!
//! Each is a walk over pairs of states, then minimisation. A missing state stands for a side that has failed, so the
//! walk never needs an explicit dead state. Complement is within UTF-8: all valid text minus the language.

use std::hash::Hasher;
use std::sync::Arc;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use smallvec::SmallVec;

use super::builder::DfaBuilder;
use super::dfa::{Dfa, StateId};
use crate::error::Result;
use crate::limits::Budget;

/// How two languages combine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    And,
    Or,
    Minus,
}

/// A state of each side, [`FAILED`] once that side has failed.
type Pair = (StateId, StateId);

/// The edges of a state, as [`Dfa::edges`] has them.
type Edges<'d> = &'d [(u8, u8, StateId)];

/// No state: no automaton has so many.
const FAILED: StateId = StateId::MAX;

impl Operation {
    fn accepts(self, left: bool, right: bool) -> bool {
        match self {
            Operation::And => left && right,
            Operation::Or => left || right,
            Operation::Minus => left && !right,
        }
    }

    /// Whether a pair can still matter.
    fn is_alive(self, (left, right): Pair) -> bool {
        match self {
            Operation::And => left != FAILED && right != FAILED,
            Operation::Or => left != FAILED || right != FAILED,
            Operation::Minus => left != FAILED,
        }
    }
}

impl Dfa {
    /// The strings in both languages.
    pub fn intersection(&self, other: &Dfa, budget: &Budget) -> Result<Dfa> {
        product(self, other, Operation::And, budget)
    }

    /// The strings in either language.
    pub fn union(&self, other: &Dfa, budget: &Budget) -> Result<Dfa> {
        product(self, other, Operation::Or, budget)
    }

    /// The strings in this language and not in the other.
    pub fn difference(&self, other: &Dfa, budget: &Budget) -> Result<Dfa> {
        product(self, other, Operation::Minus, budget)
    }

    /// The valid UTF-8 that is not in the language.
    pub fn complement(&self, budget: &Budget) -> Result<Dfa> {
        Dfa::any_text().difference(self, budget)
    }

    /// Whether all strings of the language are valid UTF-8.
    pub fn is_text(&self, budget: &Budget) -> Result<bool> {
        let text = Dfa::any_text();
        let mut seen: FxHashSet<(StateId, StateId)> = FxHashSet::default();
        let mut stack: Vec<(StateId, StateId)> = Vec::new();
        if !self.is_empty() {
            stack.push((Self::START, Self::START));
        }
        while let Some((state, at)) = stack.pop() {
            budget.tick()?;
            // Every state goes on to an end, so that what text does not have is in some string.
            if self.is_accepting(state) && !text.is_accepting(at) {
                return Ok(false);
            }
            for &(low, high, to) in self.edges(state) {
                let mut byte = u16::from(low);
                while byte <= u16::from(high) {
                    let edges = text.edges(at);
                    let edge = edges.partition_point(|edge| u16::from(edge.1) < byte);
                    match edges.get(edge) {
                        Some(&(first, last, next)) if u16::from(first) <= byte => {
                            if seen.insert((to, next)) {
                                stack.push((to, next));
                            }
                            byte = u16::from(last) + 1;
                        }
                        _ => return Ok(false),
                    }
                }
            }
        }
        Ok(true)
    }

    fn start(&self) -> StateId {
        if self.is_empty() { FAILED } else { Self::START }
    }
}

fn product(left: &Dfa, right: &Dfa, operation: Operation, budget: &Budget) -> Result<Dfa> {
    let mut pairs: Vec<Pair> = Vec::new();
    let mut numbers: FxHashMap<u64, StateId> = FxHashMap::default();
    let mut builder = DfaBuilder::new();
    let mut visit = |pair: Pair, pairs: &mut Vec<Pair>, builder: &mut DfaBuilder| {
        let key = u64::from(pair.0) << 32 | u64::from(pair.1);
        *numbers.entry(key).or_insert_with(|| {
            pairs.push(pair);
            let left = pair.0 != FAILED && left.is_accepting(pair.0);
            let right = pair.1 != FAILED && right.is_accepting(pair.1);
            builder.add_state(operation.accepts(left, right))
        })
    };
    let start = (left.start(), right.start());
    if operation.is_alive(start) {
        visit(start, &mut pairs, &mut builder);
    }
    let mut at = 0;
    while at < pairs.len() {
        budget.check_states(pairs.len())?;
        let (one, other) = pairs[at];
        merge_edges(edges_of(left, one), edges_of(right, other), |low, high, pair| {
            if operation.is_alive(pair) {
                let to = visit(pair, &mut pairs, &mut builder);
                builder.add_edge(at as StateId, low, high, to);
            }
        });
        at += 1;
    }
    builder.finish(budget)
}

/// The first of the shortest texts that are in all of `inside` and in none of `outside`. No automaton is made.
pub fn shortest_text(inside: &[Arc<Dfa>], outside: &[Arc<Dfa>], budget: &Budget) -> Result<Option<Vec<u8>>> {
    let automata = inside.iter().chain(outside).map(|dfa| &**dfa);
    let search = Search {
        automata: std::iter::once(Dfa::any_text()).chain(automata).collect(),
        needed: inside.len() + 1,
    };
    search.run(budget)
}

/// A search for a text, breadth first.
struct Search<'d> {
    automata: Vec<&'d Dfa>,
    /// The text is to be in so many of them, which come first, and not in the others.
    needed: usize,
}

impl Search<'_> {
    fn run(&self, budget: &Budget) -> Result<Option<Vec<u8>>> {
        let width = self.automata.len();
        // The states that were reached, of all automata each time; the place before each, and the byte that leads from there.
        let mut reached: Vec<StateId> = self.automata.iter().map(|dfa| dfa.start()).collect();
        let mut before: Vec<(u32, u8)> = vec![(0, 0)];
        let mut seen: HashTable<u32> = HashTable::new();
        if !self.is_alive(&reached) {
            return Ok(None);
        }
        seen.insert_unique(hash_of(&reached), 0, |_| 0);
        let mut next = Vec::with_capacity(width);
        let mut at = 0;
        while at < before.len() {
            budget.check_states(before.len())?;
            if self.accepts(&reached[at * width..][..width]) {
                return Ok(Some(way_to(&before, at)));
            }
            let mut rest: SmallVec<[Edges<'_>; 8]> = self
                .automata
                .iter()
                .zip(&reached[at * width..])
                .map(|(dfa, &state)| edges_of(dfa, state))
                .collect();
            let mut low = 0;
            while low < 256 {
                let end = next_states(&mut rest, low, &mut next);
                if self.is_alive(&next) {
                    let tuple = |place: &u32| &reached[*place as usize * width..][..width];
                    let entry = seen.entry(
                        hash_of(&next),
                        |place| tuple(place) == next,
                        |place| hash_of(tuple(place)),
                    );
                    if let Entry::Vacant(slot) = entry {
                        slot.insert(before.len() as u32);
                        reached.extend_from_slice(&next);
                        before.push((at as u32, low as u8));
                    }
                }
                low = end;
            }
            at += 1;
        }
        Ok(None)
    }

    fn is_alive(&self, states: &[StateId]) -> bool {
        states[..self.needed].iter().all(|&state| state != FAILED)
    }

    fn accepts(&self, states: &[StateId]) -> bool {
        let accepts = |(dfa, &state): (&&Dfa, &StateId)| state != FAILED && dfa.is_accepting(state);
        let mut accepts = self.automata.iter().zip(states).map(accepts);
        accepts.by_ref().take(self.needed).all(|accepts| accepts) && !accepts.any(|accepts| accepts)
    }
}

/// The states after byte `low`, given the edges that do not end before it; gives the first byte after which they are others.
fn next_states(rest: &mut [Edges<'_>], low: u16, next: &mut Vec<StateId>) -> u16 {
    next.clear();
    let mut end = 256;
    for edges in &*rest {
        let (to, until) = target_at(edges.first(), low);
        next.push(to);
        end = end.min(until);
    }
    for edges in rest {
        *edges = &edges[usize::from(edges.first().is_some_and(|edge| u16::from(edge.1) < end))..];
    }
    end
}

fn hash_of(states: &[StateId]) -> u64 {
    let mut hasher = FxHasher::default();
    states.iter().for_each(|&state| hasher.write_u32(state));
    hasher.finish()
}

/// The bytes that lead to a place, given the place before each.
fn way_to(before: &[(u32, u8)], mut at: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while at != 0 {
        bytes.push(before[at].1);
        at = before[at].0 as usize;
    }
    bytes.reverse();
    bytes
}

fn edges_of(dfa: &Dfa, state: StateId) -> &[(u8, u8, StateId)] {
    if state == FAILED { &[] } else { dfa.edges(state) }
}

/// Gives the edges of two states cut at each other's ends, with the target on each side.
fn merge_edges(
    mut left: &[(u8, u8, StateId)],
    mut right: &[(u8, u8, StateId)],
    mut give: impl FnMut(u8, u8, Pair),
) {
    let mut low = 0_u16;
    while !(left.is_empty() && right.is_empty()) {
        let (one, one_end) = target_at(left.first(), low);
        let (other, other_end) = target_at(right.first(), low);
        let end = one_end.min(other_end);
        if one != FAILED || other != FAILED {
            give(low as u8, (end - 1) as u8, (one, other));
        }
        if one != FAILED && one_end == end {
            left = &left[1..];
        }
        if other != FAILED && other_end == end {
            right = &right[1..];
        }
        low = end;
    }
}

/// The target of byte `low` and the first byte with another one, given the first edge that does not end before it.
fn target_at(edge: Option<&(u8, u8, StateId)>, low: u16) -> (StateId, u16) {
    match edge {
        None => (FAILED, 256),
        Some(&(first, _, _)) if u16::from(first) > low => (FAILED, u16::from(first)),
        Some(&(_, last, to)) => (to, u16::from(last) + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::regular::CharSet;

    fn class(ranges: &[(char, char)]) -> Dfa {
        Dfa::from_charset(&CharSet::new(ranges.iter().copied()), &Budget::default()).unwrap()
    }

    #[test]
    fn operations_on_classes() {
        let budget = Budget::default();
        let (left, right) = (class(&[('a', 'm'), ('é', '漢')]), class(&[('g', 'z'), ('à', 'ï')]));
        assert_eq!(left.intersection(&right, &budget).unwrap(), class(&[('g', 'm'), ('é', 'ï')]));
        assert_eq!(left.union(&right, &budget).unwrap(), class(&[('a', 'z'), ('à', '漢')]));
        assert_eq!(left.difference(&right, &budget).unwrap(), class(&[('a', 'f'), ('ð', '漢')]));
    }

    #[test]
    fn complement_of_nothing_is_all_text() {
        let budget = Budget::default();
        let nothing = class(&[]);
        assert_eq!(&nothing.complement(&budget).unwrap(), Dfa::any_text());
        assert!(Dfa::any_text().complement(&budget).unwrap().is_empty());
    }

    #[test]
    fn complement_keeps_to_utf8() {
        let not_a = class(&[('a', 'a')]).complement(&Budget::default()).unwrap();
        assert!(not_a.matches(b"") && not_a.matches(b"aa") && not_a.matches("é".as_bytes()));
        assert!(!not_a.matches(b"a") && !not_a.matches(b"\xff") && !not_a.matches(b"\xed\xa0\x80"));
    }

    #[test]
    fn the_shortest_text_is_found_where_there_is_one() {
        let budget = Budget::default();
        let pair = |set: &Dfa| {
            let mut nfa = crate::regular::Nfa::new(&budget);
            let [start, middle, end] = std::array::from_fn(|_| nfa.add_state().unwrap());
            nfa.add_dfa(start, set, middle).unwrap();
            nfa.add_dfa(middle, set, end).unwrap();
            Arc::new(nfa.determinize(start, end).unwrap())
        };
        let letters = pair(&class(&[('a', 'c'), ('é', 'é')]));
        let without_a = pair(&class(&[('b', 'z'), ('é', 'é')]));
        let find = |inside: &[&Arc<Dfa>], outside: &[&Arc<Dfa>]| {
            let list = |list: &[&Arc<Dfa>]| list.iter().map(|dfa| Arc::clone(dfa)).collect::<Vec<_>>();
            shortest_text(&list(inside), &list(outside), &budget).unwrap()
        };
        assert_eq!(find(&[], &[]), Some(Vec::new()));
        assert_eq!(find(&[&letters], &[]), Some(b"aa".to_vec()));
        assert_eq!(find(&[&letters, &without_a], &[]), Some(b"bb".to_vec()));
        assert_eq!(find(&[&without_a], &[&letters]), Some(b"bd".to_vec()));
        assert_eq!(find(&[&letters, &without_a], &[&letters]), None);
        assert_eq!(find(&[&Arc::new(class(&[]))], &[]), None);
    }

    #[test]
    fn text_is_told_from_bytes() {
        let budget = Budget::default();
        let bytes = |low, high| {
            let mut builder = DfaBuilder::new();
            let (start, end) = (builder.add_state(false), builder.add_state(true));
            builder.add_edge(start, low, high, end);
            builder.finish(&budget).unwrap()
        };
        assert!(class(&[('a', '漢')]).is_text(&budget).unwrap() && class(&[]).is_text(&budget).unwrap());
        assert!(Dfa::any_text().is_text(&budget).unwrap() && bytes(0, 0x7f).is_text(&budget).unwrap());
        assert!(!bytes(0, 0x80).is_text(&budget).unwrap() && !bytes(0xc3, 0xc3).is_text(&budget).unwrap());
    }

    #[test]
    fn the_limit_on_states_holds() {
        let limits = crate::Limits { max_states: 5, ..Default::default() };
        let budget = Budget::new(limits, crate::CancelFlag::default());
        let error = class(&[('a', 'a')]).complement(&budget).unwrap_err();
        assert_eq!(error.kind(), crate::ErrorKind::Limit);
    }
}
