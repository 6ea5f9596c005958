//! JSON values that were read, and those that are being read, hash-consed: equal values have one number.
//!
//! What is under way is made of links to what came before, so that reading a byte adds one link and copies nothing. Pieces
//! only refer to pieces that were made before them, so they are carried over in the order of their numbers, and nothing
//! here recurses however deep a value is.

use std::sync::atomic::{AtomicUsize, Ordering};

use rustc_hash::{FxHashMap, FxHashSet};

use super::ledger::Ledger;
use crate::interner::Interner;

/// The number of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct PieceId(pub(super) u32);

impl PieceId {
    /// Nothing: the end of a chain.
    pub(super) const NONE: Self = PieceId(u32::MAX);
}

/// A value, a part of one, or what is known of an array.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Piece {
    /// `null`, `true`, `false`, or a number in its normal form.
    Bare(Box<str>),
    /// A string, or a key.
    Text(Box<str>),
    Array(Box<[PieceId]>),
    /// Keys and values, by the numbers of the keys.
    Object(Box<[(PieceId, PieceId)]>),
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
            Piece::Bare(_) | Piece::Text(_) => self.clone(),
            Piece::Array(ref items) => Piece::Array(items.iter().map(|&item| change(item)).collect()),
            Piece::Some(ref values) => Piece::Some(values.iter().map(|&value| change(value)).collect()),
            Piece::Object(ref members) => {
                let mut members: Vec<_> =
                    members.iter().map(|&(key, value)| (change(key), change(value))).collect();
                members.sort_unstable();
                Piece::Object(members.into())
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

/// All pieces of a generation.
#[derive(Default)]
pub(crate) struct Pieces {
    interner: Interner<Piece>,
    /// What pieces have besides themselves, in bytes.
    more: AtomicUsize,
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
                Piece::Array(ids) | Piece::Some(ids) => size_of_val(&**ids),
                Piece::Object(members) => size_of_val(&**members),
                _ => 0,
            };
            self.more.fetch_add(more, Ordering::Relaxed);
        }
        PieceId(id)
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

    /// The members with one more.
    pub(super) fn with_member(&self, members: PieceId, key: PieceId, value: PieceId) -> PieceId {
        let mut all = self.members(members).to_vec();
        let place = all.partition_point(|member| member.0 < key);
        all.insert(place, (key, value));
        self.intern(&Piece::Object(all.into()))
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
                Piece::Object(members) => members,
                _ => &[],
            },
        }
    }

    /// The number that a piece of `from` has here, with all that it is made of. `copies` are those that have one already.
    pub(super) fn carry(&self, from: &Pieces, root: PieceId, copies: &mut Copies) -> PieceId {
        if let Some(&copy) = copies.get(&root) {
            return copy;
        }
        let mut needed = vec![root];
        let mut seen: FxHashSet<PieceId> = FxHashSet::from_iter([root]);
        let mut at = 0;
        while let Some(&id) = needed.get(at) {
            from.get(id).map(|child| {
                if child != PieceId::NONE && !copies.contains_key(&child) && seen.insert(child) {
                    needed.push(child);
                }
                child
            });
            at += 1;
        }
        // What a piece is made of was made before it.
        needed.sort_unstable();
        for id in needed {
            let copy = self.intern(&from.get(id).map(|child| copies.get(&child).copied().unwrap_or(child)));
            copies.insert(id, copy);
        }
        copies[&root]
    }
}

/// The numbers that pieces have in another generation.
pub(crate) type Copies = FxHashMap<PieceId, PieceId>;
