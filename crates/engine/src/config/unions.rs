//! Unions of sets.
//!
//! Where two sets have a symbol in common, what lies under it is united in turn, so that a symbol occurs once in a set and equal
//! sets of stacks are one number. Sets share what lies below, so their unions do as well: each is found once and remembered.

use hashbrown::HashMap;
use parking_lot::Mutex;
use smallvec::SmallVec;

use super::sets::{Item, Items, SetDraft, SetId, Sets};
use super::symbol::Symbol;
use crate::seldom::Seldom;

/// The unions of pairs of sets.
type Pairs = Mutex<HashMap<(SetId, SetId), SetId>>;

/// The unions that are known.
#[derive(Default)]
pub(super) struct Unions(Seldom<[Pairs; 16]>);

impl Unions {
    fn of(&self, a: SetId, b: SetId) -> &Pairs {
        &self.0[(a.0 ^ b.0.rotate_left(3)) as usize % self.0.len()]
    }
}

/// What a union takes that is known, with what a hash table leaves free.
const A_UNION: usize = 24;

impl Sets {
    /// The stacks that are in any of the sets.
    pub(super) fn union_all(&self, mut all: SmallVec<[SetId; 2]>) -> SetId {
        all.sort_unstable();
        all.dedup();
        // In pairs, then pairs of these: one after the other would make as many sets, each larger than the last.
        while all.len() > 1 {
            all = all.chunks(2).map(|pair| self.union(pair[0], pair[pair.len() - 1])).collect();
        }
        all.first().copied().unwrap_or(SetId::DEAD)
    }

    /// The stacks that are in either set.
    pub(crate) fn union(&self, a: SetId, b: SetId) -> SetId {
        if let Some(simple) = simple_union(a, b) {
            return simple;
        }
        let mut stack = vec![(a, b)];
        while let Some(&(a, b)) = stack.last() {
            let waiting = stack.len();
            let mut draft = SetDraft {
                items: Items::new(),
                ends: self.ends(a) || self.ends(b),
                holes: self.holes(a) | self.holes(b),
            };
            for (symbol, left, right) in zip_sorted(self.items(a), self.items(b)) {
                match self.known_union(left, right) {
                    Some(rest) => draft.items.push((symbol, rest)),
                    None => stack.push((left, right)),
                }
            }
            if stack.len() == waiting {
                let union = self.intern(&draft);
                self.unions.of(a, b).lock().insert((a, b), union);
                self.note_bytes(A_UNION);
                stack.pop();
            }
        }
        self.known_union(a, b).unwrap_or(SetId::DEAD)
    }

    fn known_union(&self, a: SetId, b: SetId) -> Option<SetId> {
        simple_union(a, b).or_else(|| self.unions.of(a, b).lock().get(&(a, b)).copied())
    }
}

fn simple_union(a: SetId, b: SetId) -> Option<SetId> {
    match (a, b) {
        _ if a == b => Some(a),
        (SetId::DEAD, other) | (other, SetId::DEAD) => Some(other),
        _ => None,
    }
}

/// The symbols of two sorted lists, with the rests of each; a missing one is `DEAD`.
fn zip_sorted<'a>(a: &'a [Item], b: &'a [Item]) -> impl Iterator<Item = (Symbol, SetId, SetId)> + 'a {
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    std::iter::from_fn(move || {
        let symbol = match (a.peek(), b.peek()) {
            (Some(left), Some(right)) => left.0.min(right.0),
            (Some(item), None) | (None, Some(item)) => item.0,
            (None, None) => return None,
        };
        let left = a.next_if(|item| item.0 == symbol).map_or(SetId::DEAD, |item| item.1);
        let right = b.next_if(|item| item.0 == symbol).map_or(SetId::DEAD, |item| item.1);
        Some((symbol, left, right))
    })
}
