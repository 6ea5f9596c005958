//! JSON values that were read, and those that are being read, hash-consed: equal values have one number.
//!
//! What is under way is made of links to what came before, so that reading a byte adds one link and copies nothing. Nothing here
//! recurses however deep a value is.

use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use rustc_hash::FxHashSet;
use siphasher::sip128::Hasher128;

use super::ledger::Ledger;
use super::seen::Seen;
use crate::carry::Work;
use crate::interner::Interner;
use crate::store::fingerprint::fingerprint_hasher;
use crate::store::numbers::Numbers;
use crate::store::runs::{Parts, Runs};

/// The number of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct PieceId(pub(super) u32);

impl PieceId {
    /// Nothing: the end of a chain.
    pub(super) const NONE: Self = PieceId(u32::MAX);
}

/// What tells a value apart: a fingerprint, which equal values have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Print(pub(super) u128);

/// A value, a part of one, or what is known of an array.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Piece {
    /// `null`, `true`, `false`, or a number in its normal form.
    Bare(Box<str>),
    /// A string, or a key.
    Text(Box<str>),
    Array {
        items: Box<[PieceId]>,
        print: Print,
    },
    /// Keys and values, by the numbers of the keys.
    Object {
        members: Box<[(PieceId, PieceId)]>,
        print: Print,
    },
    /// The items that an array has had.
    Seen(Seen),
    /// What a text under way is still like, and how many bytes of that were read.
    Parts(Parts, u32),
    /// Values in any order.
    Some(Box<[PieceId]>),
    /// A text under way: its last byte, what came before, and its length.
    Byte {
        before: PieceId,
        byte: u8,
        length: u32,
    },
    /// Items: the last, those before it, and how many they are.
    Item {
        before: PieceId,
        value: PieceId,
        count: u32,
    },
    /// An array that is open inside of what is open `below`, and its items.
    OpenArray {
        below: PieceId,
        items: PieceId,
    },
    /// An object that is open, its members as an object, so that their order is forgotten, and the key whose value comes next.
    OpenObject {
        below: PieceId,
        members: PieceId,
        key: PieceId,
    },
    Ledger(Ledger),
}

impl Piece {
    /// The pieces that it is made of, changed by `change`.
    fn map(&self, mut change: impl FnMut(PieceId) -> PieceId) -> Piece {
        match *self {
            Piece::Bare(_) | Piece::Text(_) | Piece::Parts(..) => self.clone(),
            Piece::Array { ref items, print } => {
                Piece::Array { items: items.iter().map(|&item| change(item)).collect(), print }
            }
            Piece::Seen(ref seen) => {
                let containers = seen.containers.as_ref();
                let containers = containers.map(|all| all.iter().map(|&one| change(one)).collect());
                Piece::Seen(Seen { containers, ..seen.clone() })
            }
            Piece::Some(ref values) => Piece::Some(values.iter().map(|&value| change(value)).collect()),
            Piece::Object { ref members, print } => {
                let mut members: Vec<_> =
                    members.iter().map(|&(key, value)| (change(key), change(value))).collect();
                members.sort_unstable();
                Piece::Object { members: members.into(), print }
            }
            Piece::Byte { before, byte, length } => Piece::Byte { before: change(before), byte, length },
            Piece::Item { before, value, count } => {
                Piece::Item { before: change(before), value: change(value), count }
            }
            Piece::OpenArray { below, items } => {
                Piece::OpenArray { below: change(below), items: change(items) }
            }
            Piece::OpenObject { below, members, key } => {
                Piece::OpenObject { below: change(below), members: change(members), key: change(key) }
            }
            Piece::Ledger(ledger) => Piece::Ledger(ledger.map(change)),
        }
    }
}

impl Piece {
    /// How many pieces it is made of, where these may be many.
    fn parts(&self) -> usize {
        match self {
            Piece::Array { items, .. } | Piece::Some(items) => items.len(),
            Piece::Object { members, .. } => 2 * members.len(),
            _ => 0,
        }
    }
}

/// All pieces of a generation.
#[derive(Default)]
pub(crate) struct Pieces {
    interner: Interner<Piece>,
    /// What pieces have besides themselves, in bytes.
    more: AtomicUsize,
    /// The runs that are in sets, by their sums.
    runs: Mutex<FxHashSet<u128>>,
}

impl Pieces {
    pub(super) fn get(&self, id: PieceId) -> &Piece {
        self.interner.get(id.0)
    }

    pub(super) fn intern(&self, piece: &Piece) -> PieceId {
        let (id, is_new) = self.interner.intern(piece, |known| known == piece, || piece.clone());
        if is_new {
            let more = match piece {
                Piece::Bare(text) | Piece::Text(text) => text.len(),
                Piece::Array { items: ids, .. } | Piece::Some(ids) => size_of_val(&**ids),
                Piece::Object { members, .. } => size_of_val(&**members),
                Piece::Seen(seen) => self.new_bytes(&seen.items) + self.new_bytes(&seen.facts),
                _ => 0,
            };
            self.more.fetch_add(more, Ordering::Relaxed);
        }
        PieceId(id)
    }

    /// What a set takes, without the runs that others have as well.
    fn new_bytes(&self, set: &Runs) -> usize {
        let mut known = self.runs.lock();
        set.runs().iter().filter(|run| known.insert(run.whole_sum())).map(|run| run.memory_bytes()).sum()
    }

    pub(super) fn memory_bytes(&self) -> usize {
        const A_PIECE: usize = size_of::<Piece>() + 24;
        self.interner.len() * A_PIECE + self.more.load(Ordering::Relaxed)
    }

    /// A text with one more byte.
    pub(super) fn with_byte(&self, before: PieceId, byte: u8) -> PieceId {
        self.intern(&Piece::Byte { before, byte, length: self.length(before) + 1 })
    }

    /// How many bytes a text under way has.
    pub(super) fn length(&self, text: PieceId) -> u32 {
        match text {
            PieceId::NONE => 0,
            _ => match *self.get(text) {
                Piece::Byte { length, .. } => length,
                _ => 0,
            },
        }
    }

    /// A text under way. Only whole texts are UTF-8 for certain.
    pub(super) fn text(&self, text: PieceId) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.length(text) as usize);
        let mut at = text;
        while at != PieceId::NONE
            && let Piece::Byte { before, byte, .. } = *self.get(at)
        {
            bytes.push(byte);
            at = before;
        }
        bytes.reverse();
        bytes
    }

    /// How many items a chain has.
    pub(super) fn count(&self, chain: PieceId) -> usize {
        match chain {
            PieceId::NONE => 0,
            _ => match *self.get(chain) {
                Piece::Item { count, .. } => count as usize,
                _ => 0,
            },
        }
    }

    pub(super) fn with_item(&self, before: PieceId, value: PieceId) -> PieceId {
        self.intern(&Piece::Item { before, value, count: self.count(before) as u32 + 1 })
    }

    /// The fingerprint of a value.
    fn print(&self, value: PieceId) -> u128 {
        let mut state = fingerprint_hasher();
        match self.get(value) {
            Piece::Array { print, .. } | Piece::Object { print, .. } => return print.0,
            Piece::Text(text) => (0u8, text).hash(&mut state),
            Piece::Bare(form) => (1u8, form).hash(&mut state),
            _ => {}
        }
        state.finish128().as_u128()
    }

    /// An array with these items.
    pub(super) fn array(&self, items: Box<[PieceId]>) -> Piece {
        let mut state = fingerprint_hasher();
        items.iter().for_each(|&item| state.write_u128(self.print(item)));
        (2u8, items.len()).hash(&mut state);
        Piece::Array { items, print: Print(state.finish128().as_u128()) }
    }

    /// An object with these members, which are sorted.
    pub(super) fn object(&self, members: Box<[(PieceId, PieceId)]>) -> Piece {
        let member = |&(key, value): &(PieceId, PieceId)| {
            let mut state = fingerprint_hasher();
            (3u8, self.print(key), self.print(value)).hash(&mut state);
            state.finish128().as_u128()
        };
        // Their order is that of their numbers.
        let print = members.iter().map(member).fold(members.len() as u128, u128::wrapping_add);
        Piece::Object { members, print: Print(print) }
    }

    /// The members with one more.
    pub(super) fn with_member(&self, members: PieceId, key: PieceId, value: PieceId) -> PieceId {
        let mut all = self.members(members).to_vec();
        let place = all.partition_point(|member| member.0 < key);
        all.insert(place, (key, value));
        self.intern(&self.object(all.into()))
    }

    /// The items of a chain, the last first.
    pub(super) fn items(&self, chain: PieceId) -> impl Iterator<Item = PieceId> + '_ {
        let mut at = chain;
        std::iter::from_fn(move || {
            if at == PieceId::NONE {
                return None;
            }
            let Piece::Item { before, value, .. } = *self.get(at) else { return None };
            at = before;
            Some(value)
        })
    }

    /// The members of an object, by their keys.
    pub(super) fn members(&self, members: PieceId) -> &[(PieceId, PieceId)] {
        match members {
            PieceId::NONE => &[],
            _ => match self.get(members) {
                Piece::Object { members, .. } => members,
                _ => &[],
            },
        }
    }

    /// The number that a piece of `from` has here, with all that it is made of. `copies` are those that have one already. None
    /// if there was not enough work left to find it.
    pub(super) fn carry(
        &self,
        from: &Pieces,
        root: PieceId,
        copies: &mut Copies,
        work: &mut Work,
    ) -> Option<PieceId> {
        loop {
            if let Some(copy) = copies.known(root) {
                return Some(copy);
            }
            let id = if let Some(&id) = copies.waiting.last() {
                id
            } else {
                copies.waiting.push(root);
                root
            };
            if copies.known(id).is_some() {
                copies.waiting.pop();
                continue;
            }
            let piece = from.get(id);
            if !work.take(1 + piece.parts() / 16) {
                return None;
            }
            let count = copies.waiting.len();
            let Copies { numbers, waiting } = copies;
            let copy = piece.map(|child| match child {
                PieceId::NONE => child,
                _ => numbers.get(child.0).map_or_else(
                    || {
                        waiting.push(child);
                        child
                    },
                    PieceId,
                ),
            });
            if waiting.len() == count {
                let copy = self.intern(&copy);
                numbers.set(id.0, copy.0);
                waiting.pop();
            }
        }
    }
}

/// The numbers that pieces have in another generation.
#[derive(Default)]
pub(crate) struct Copies {
    numbers: Numbers,
    /// The pieces that are being carried, each under those that it is made of.
    waiting: Vec<PieceId>,
}

impl Copies {
    fn known(&self, id: PieceId) -> Option<PieceId> {
        self.numbers.get(id.0).map(PieceId)
    }
}
