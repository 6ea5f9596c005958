//! The longest text of a state, in bytes.
//!
//! A sequence adds, alternatives take the most, a repeat multiplies, and so it is for their spellings in JSON: a string of up
//! to ten thousand characters costs no more than one of two. Anything else is looked at byte by byte, and there a way that
//! comes back to itself is a text without end.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::arena::{Arena, Term, TerminalId};

/// The bytes of a longest text; none if there is no end of them, or if there is too much to look at.
pub(crate) type Bytes = Option<u64>;

/// States beyond this number are not looked at.
const MOST_STATES: usize = 1 << 16;

/// What is known of the longest texts of states.
pub(crate) struct Longest<'v> {
    /// Whether any token holds a byte: what no token holds is in no text.
    spelled: &'v [bool; 256],
    known: FxHashMap<TerminalId, Known>,
}

#[derive(Clone, Copy)]
enum Known {
    /// Its parts are being looked at.
    Open,
    Done(Bytes),
}

/// What the longest text of a state is made of.
enum Parts {
    /// All of them, one after the other, each so many times.
    Sum(SmallVec<[(TerminalId, u64); 2]>),
    /// One of them, behind so many bytes; the text may also end.
    Either(SmallVec<[TerminalId; 8]>, u64),
    Unknown,
}

impl<'v> Longest<'v> {
    pub(crate) fn new(spelled: &'v [bool; 256]) -> Self {
        Longest { spelled, known: FxHashMap::default() }
    }

    /// The bytes of the longest text of a state.
    pub(crate) fn bytes(&mut self, arena: &Arena, id: TerminalId) -> Bytes {
        let mut stack = vec![(id, self.parts(arena, id))];
        while let Some((at, parts)) = stack.last() {
            self.known.entry(*at).or_insert(Known::Open);
            match self.first_unknown(parts) {
                Some(next) if self.known.len() < MOST_STATES => stack.push((next, self.parts(arena, next))),
                _ => {
                    let bytes = self.sum(parts);
                    self.known.insert(*at, Known::Done(bytes));
                    stack.pop();
                }
            }
        }
        self.of(id)
    }

    fn first_unknown(&self, parts: &Parts) -> Option<TerminalId> {
        let is_unknown = |id: &TerminalId| !self.known.contains_key(id);
        match parts {
            Parts::Sum(parts) => parts.iter().map(|part| part.0).find(is_unknown),
            Parts::Either(parts, _) => parts.iter().copied().find(is_unknown),
            Parts::Unknown => None,
        }
    }

    /// What is known of a state; one that is still open leads back to itself.
    fn of(&self, id: TerminalId) -> Bytes {
        match self.known.get(&id) {
            Some(Known::Done(bytes)) => *bytes,
            _ => None,
        }
    }

    fn sum(&self, parts: &Parts) -> Bytes {
        match parts {
            Parts::Sum(parts) => parts.iter().try_fold(0_u64, |sum, &(part, times)| {
                Some(sum.saturating_add(self.of(part)?.saturating_mul(times)))
            }),
            Parts::Either(parts, before) => parts
                .iter()
                .try_fold(0, |most: u64, &part| Some(most.max(self.of(part)?.saturating_add(*before)))),
            Parts::Unknown => None,
        }
    }

    fn parts(&self, arena: &Arena, id: TerminalId) -> Parts {
        match *arena.term(id) {
            Term::Concat(first, second) => Parts::Sum([(first, 1), (second, 1)].into_iter().collect()),
            Term::Alt(ref parts) => Parts::Either(parts.iter().copied().collect(), 0),
            Term::Repeat { max: Term::UNBOUNDED, .. } | Term::Tagged { .. } => Parts::Unknown,
            Term::Repeat { body, max, .. } => Parts::Sum([(body, u64::from(max))].into_iter().collect()),
            Term::JsonText { inner, pending: 0, escapes } => {
                let spelled = |part| arena.json_text(part, 0, escapes);
                match *arena.term(inner) {
                    Term::Concat(first, second) => {
                        Parts::Sum([(spelled(first), 1), (spelled(second), 1)].into_iter().collect())
                    }
                    Term::Alt(ref parts) => {
                        Parts::Either(parts.iter().map(|&part| spelled(part)).collect(), 0)
                    }
                    Term::Repeat { max: Term::UNBOUNDED, .. } => Parts::Unknown,
                    Term::Repeat { body, max, .. } => {
                        Parts::Sum([(spelled(body), u64::from(max))].into_iter().collect())
                    }
                    _ => self.steps(arena, id),
                }
            }
            _ => self.steps(arena, id),
        }
    }

    /// What any byte leads to.
    fn steps(&self, arena: &Arena, id: TerminalId) -> Parts {
        let is_spelled = |low: u8, high: u8| (low..=high).any(|byte| self.spelled[usize::from(byte)]);
        let row = arena.row(id).iter().filter(|&&(low, high, _)| is_spelled(low, high));
        Parts::Either(row.map(|&(_, _, next)| next).filter(|&next| next != TerminalId::NEVER).collect(), 1)
    }
}
