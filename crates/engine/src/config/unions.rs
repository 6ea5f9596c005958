//! Unions of sets.
//!
//! Where two sets have a symbol in common, what lies under it is united in turn, so that a symbol occurs once in a set and equal
//! sets of stacks are one number. Sets share what lies below, so their unions do as well: each is found once and remembered.
//!
//! In most grammars that takes a few steps. In some that are ambiguous there is a set for each place at which a rule may have
//! begun, and unions of these for nearly as many subsets as places have. So the work of a union is bounded, and what is left
//! of it then is put off, see [`put_off`](super::put_off): nearly nobody looks so far down. Each union that is too much halves what the
//! next may take, so that such a grammar soon does without.

use hashbrown::HashMap;
use parking_lot::Mutex;
use smallvec::SmallVec;

use super::sets::{Item, Items, SetDraft, SetId, Sets};
use super::symbol::Symbol;
use crate::interrupt;
use crate::seldom::Seldom;
use crate::store::sync::{AtomicU32, Ordering};

/// The unions of pairs of sets.
type Pairs = Mutex<HashMap<(SetId, SetId), SetId>>;

/// The unions that are known.
pub(super) struct Unions {
    known: Seldom<[Pairs; 16]>,
    /// How many pairs of sets may be looked at for one union.
    most_pairs: AtomicU32,
}

/// How many pairs of sets may be looked at for a union where none was too much so far.
const MOST_PAIRS: u32 = 1 << 10;

impl Unions {
    /// No union is known. Whether unions may be put off.
    pub(super) fn new(may_put_off: bool) -> Self {
        let most_pairs = if may_put_off { MOST_PAIRS } else { u32::MAX };
        Unions { known: Seldom::default(), most_pairs: AtomicU32::new(most_pairs) }
    }

    fn of(&self, a: SetId, b: SetId) -> &Pairs {
        &self.known[(a.0 ^ b.0.rotate_left(3)) as usize % self.known.len()]
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
        let most = self.unions.most_pairs.load(Ordering::Relaxed);
        if most == 0 {
            return self.put_together(a, b);
        }
        let (mut pairs, mut stack) = (0, vec![(a, b)]);
        while let Some(&(a, b)) = stack.last() {
            interrupt::poll(1 + self.items(a).len());
            let waiting = stack.len();
            let mut draft = SetDraft {
                items: Items::new(),
                ends: self.ends(a) || self.ends(b),
                holes: self.holes(a) | self.holes(b),
            };
            for (symbol, left, right) in zip_sorted(self.items(a), self.items(b)) {
                match self.known_union(left, right) {
                    Some(rest) => draft.items.push((symbol, rest)),
                    None if pairs >= most => draft.items.push((symbol, self.put_together(left, right))),
                    None => stack.push((left, right)),
                }
            }
            if stack.len() == waiting {
                self.remember_union(a, b, self.intern(&draft));
                stack.pop();
            }
            pairs += 1;
        }
        if pairs > most {
            self.unions.most_pairs.store(most / 2, Ordering::Relaxed);
        }
        self.known_union(a, b).unwrap_or(SetId::DEAD)
    }

    /// How many pairs of sets may be looked at for a union by now.
    pub(crate) fn most_pairs(&self) -> u32 {
        self.unions.most_pairs.load(Ordering::Relaxed)
    }

    /// Lets all unions be put off.
    #[cfg(test)]
    pub(crate) fn put_all_off(&self) {
        self.unions.most_pairs.store(0, Ordering::Relaxed);
    }

    /// Goes on where the sets of another generation are, which has looked at as many pairs.
    pub(crate) fn go_on_from(&self, others: &Sets) {
        self.unions.most_pairs.fetch_min(others.most_pairs(), Ordering::Relaxed);
    }

    pub(super) fn remember_union(&self, a: SetId, b: SetId, union: SetId) {
        self.unions.of(a, b).lock().insert((a, b), union);
        self.note_bytes(A_UNION);
    }

    /// The sets on which rules return: what each of these pushes is put together, and nothing is looked for below.
    pub(super) fn returns(&self, all: SmallVec<[SetId; 2]>, merge: impl FnOnce(Items) -> SetId) -> SetId {
        if self.most_pairs() > 0 || all.len() < 2 {
            return self.union_all(all);
        }
        let (mut pushed, mut others) = (Items::new(), SmallVec::new());
        for set in all {
            match self.items(set) {
                [item] if !self.ends(set) && self.holes(set) == 0 && self.put_off(set).is_none() => {
                    pushed.push(*item);
                }
                _ => others.push(set),
            }
        }
        if !pushed.is_empty() {
            others.push(merge(pushed));
        }
        self.union_all(others)
    }

    pub(super) fn known_union(&self, a: SetId, b: SetId) -> Option<SetId> {
        simple_union(a, b).or_else(|| self.unions.of(a, b).lock().get(&(a, b)).copied())
    }
}

pub(super) fn simple_union(a: SetId, b: SetId) -> Option<SetId> {
    match (a, b) {
        _ if a == b => Some(a),
        (SetId::DEAD, other) | (other, SetId::DEAD) => Some(other),
        _ => None,
    }
}

/// The symbols of two sorted lists, with the rests of each; a missing one is `DEAD`.
pub(super) fn zip_sorted<'a>(
    a: &'a [Item],
    b: &'a [Item],
) -> impl Iterator<Item = (Symbol, SetId, SetId)> + 'a {
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
