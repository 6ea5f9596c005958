//! And, or, not and minus on automata.
//!
//! Each is a walk over pairs of states, then minimisation. A missing state stands for a side that has failed, so the
//! walk never needs an explicit dead state. Complement is within UTF-8: all valid text minus the language.

use rustc_hash::FxHashMap;

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

/// A state of each side, `None` once that side has failed.
type Pair = (Option<StateId>, Option<StateId>);

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
            Operation::And => left.is_some() && right.is_some(),
            Operation::Or => left.is_some() || right.is_some(),
            Operation::Minus => left.is_some(),
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

    fn start(&self) -> Option<StateId> {
        if self.is_empty() { None } else { Some(Self::START) }
    }
}

fn product(left: &Dfa, right: &Dfa, operation: Operation, budget: &Budget) -> Result<Dfa> {
    let mut pairs: Vec<Pair> = Vec::new();
    let mut numbers: FxHashMap<Pair, StateId> = FxHashMap::default();
    let mut builder = DfaBuilder::new();
    let mut visit = |pair: Pair, pairs: &mut Vec<Pair>, builder: &mut DfaBuilder| {
        *numbers.entry(pair).or_insert_with(|| {
            pairs.push(pair);
            let left = pair.0.is_some_and(|state| left.is_accepting(state));
            let right = pair.1.is_some_and(|state| right.is_accepting(state));
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
        for (low, high, pair) in merged_edges(edges_of(left, one), edges_of(right, other)) {
            if operation.is_alive(pair) {
                let to = visit(pair, &mut pairs, &mut builder);
                builder.add_edge(at as StateId, low, high, to);
            }
        }
        at += 1;
    }
    builder.finish(budget)
}

fn edges_of(dfa: &Dfa, state: Option<StateId>) -> &[(u8, u8, StateId)] {
    state.map_or(&[], |state| dfa.edges(state))
}

/// The edges of two states cut at each other's ends, with the target on each side.
fn merged_edges(left: &[(u8, u8, StateId)], right: &[(u8, u8, StateId)]) -> Vec<(u8, u8, Pair)> {
    let mut merged = Vec::with_capacity(left.len() + right.len());
    let (mut left, mut right) = (left.iter().copied().peekable(), right.iter().copied().peekable());
    let mut low = 0_u16;
    while low < 256 {
        while left.next_if(|edge| u16::from(edge.1) < low).is_some() {}
        while right.next_if(|edge| u16::from(edge.1) < low).is_some() {}
        let (one, one_end) = target_at(left.peek(), low);
        let (other, other_end) = target_at(right.peek(), low);
        let end = one_end.min(other_end);
        if one.is_some() || other.is_some() {
            merged.push((low as u8, (end - 1) as u8, (one, other)));
        }
        low = end;
    }
    merged
}

/// The target of byte `low` and the first byte with another one, given the first edge that does not end before it.
fn target_at(edge: Option<&(u8, u8, StateId)>, low: u16) -> (Option<StateId>, u16) {
    match edge {
        None => (None, 256),
        Some(&(first, _, _)) if u16::from(first) > low => (None, u16::from(first)),
        Some(&(_, last, to)) => (Some(to), u16::from(last) + 1),
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
    fn the_limit_on_states_holds() {
        let limits = crate::Limits { max_states: 5, ..Default::default() };
        let budget = Budget::new(limits, crate::CancelFlag::default());
        let error = class(&[('a', 'a')]).complement(&budget).unwrap_err();
        assert_eq!(error.kind(), crate::ErrorKind::Limit);
    }
}
