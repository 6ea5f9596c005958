//! Rivals: what the item under way is still like, and may turn out to be equal to.
//!
//! Arrays and objects are looked at one by one as long as there are few. Otherwise what is read is compared with the sorted
//! forms of items, and within an item with their [facts](super::seen). That may keep rivals that are none, because
//! facts of several items may come together in none; but none is missed.

use super::ledger::Ledger;
use super::number;
use super::pieces::{Piece, PieceId, Pieces};
use crate::store::runs::{Parts, Runs};

/// What the item under way is still like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Rivals {
    /// None of the items.
    None,
    /// These, which are arrays or objects.
    Few(PieceId),
    /// Some of the forms of items; within arrays and objects, some of their facts. If a text is being read, these are known.
    Like(PieceId),
}

impl Rivals {
    /// Some of the forms, or of the facts.
    pub(super) const LIKE: Self = Rivals::Like(PieceId::NONE);

    fn if_any(is_any: bool) -> Self {
        if is_any { Self::LIKE } else { Rivals::None }
    }
}

impl Pieces {
    /// What a text or key that has just begun is like.
    pub(super) fn parts_of_text(&self, ledger: Ledger, is_key: bool) -> Rivals {
        let is_outer = |open| matches!(*self.get(open), Piece::OpenObject { below: PieceId::NONE, .. });
        let place = if is_key { is_outer(ledger.open).then(String::new) } else { self.place(ledger.open) };
        let (Some(mut place), Some(forms)) = (place, self.forms(ledger)) else { return Rivals::LIKE };
        place.push('"');
        self.parts(forms.beginning_with(&place), place.len())
    }

    /// What a text is like after more bytes of it.
    pub(super) fn parts_after(&self, ledger: Ledger, parts: PieceId, bytes: &[u8]) -> Rivals {
        let (Some(Piece::Parts(parts, depth)), Some(forms)) = (self.opened(parts), self.forms(ledger)) else {
            return Rivals::LIKE;
        };
        let (mut parts, mut depth) = (parts.clone(), *depth as usize);
        for &byte in bytes {
            let escaped = matches!(byte, b'"' | b'\\').then_some(b'\\');
            for byte in escaped.into_iter().chain([byte]) {
                parts = forms.narrow(&parts, depth, byte);
                depth += 1;
            }
        }
        self.parts(parts, depth)
    }

    pub(super) fn parts(&self, parts: Parts, depth: usize) -> Rivals {
        if parts.is_empty() {
            return Rivals::None;
        }
        Rivals::Like(self.intern(&Piece::Parts(parts, depth as u32)))
    }

    /// The forms that the item under way is compared with, or within it the facts.
    pub(super) fn forms(&self, ledger: Ledger) -> Option<&Runs> {
        let seen = self.seen(ledger.seen)?;
        Some(if ledger.open == PieceId::NONE { &seen.items } else { &seen.facts })
    }

    /// What a value is like for which `is_like` says so of the forms, or facts, and how they begin.
    pub(super) fn rivals_like(&self, ledger: Ledger, is_like: impl Fn(&Runs, &str) -> bool) -> Rivals {
        let Some(forms) = self.forms(ledger) else { return Rivals::None };
        // Of what is deep within an item nothing is known until that is whole.
        self.place(ledger.open).map_or(Rivals::LIKE, |place| Rivals::if_any(is_like(forms, &place)))
    }

    /// What a value is like that begins with a byte.
    pub(super) fn rivals_of_kind(&self, ledger: Ledger, byte: u8, fits: impl Fn(&Piece) -> bool) -> Rivals {
        if ledger.open != PieceId::NONE {
            match ledger.rivals {
                Rivals::None => return Rivals::None,
                Rivals::Few(_) => return self.rivals_whose_value(ledger, fits),
                Rivals::Like(_) => {}
            }
        } else if byte != b'"'
            && let Some(few) = self.seen(ledger.seen).and_then(|seen| seen.containers.as_ref())
        {
            return self.few_of(few.iter().copied().filter(|&one| fits(self.get(one))).collect());
        }
        let first = char::from(byte);
        self.rivals_like(ledger, |forms, place| forms.has_beginning(&format!("{place}{first}")))
    }

    /// The rivals with a word or number in this place that is like the one under way.
    pub(super) fn few_like_bare(&self, ledger: Ledger, text: PieceId, is_word: bool) -> Rivals {
        let bytes = self.text(text);
        let beginning = String::from_utf8_lossy(&bytes);
        let is_alike = |form: &str| {
            let is_form_of_word = form.starts_with(|first: char| first.is_ascii_alphabetic());
            match (is_word, is_form_of_word) {
                (true, true) => form.starts_with(&*beginning),
                (false, false) => number::may_become(&beginning, form),
                _ => false,
            }
        };
        self.rivals_whose_value(ledger, |value| matches!(value, Piece::Bare(form) if is_alike(form)))
    }

    /// The value in a rival that stands where the next one of the innermost level will.
    pub(super) fn counterpart(&self, levels: &[PieceId], rival: PieceId) -> Option<PieceId> {
        levels.iter().try_fold(rival, |at, &level| match (self.get(level), self.get(at)) {
            (&Piece::OpenArray { items, .. }, Piece::Array { items: all, .. }) => {
                all.get(self.count(items)).copied()
            }
            (&Piece::OpenObject { key, .. }, object) => member(object, key),
            _ => None,
        })
    }

    /// The rivals, if they are known one by one.
    pub(super) fn few(&self, rivals: Rivals) -> &[PieceId] {
        match rivals {
            Rivals::Few(all) => match self.get(all) {
                Piece::Some(all) => all,
                _ => &[],
            },
            _ => &[],
        }
    }

    pub(super) fn few_of(&self, rivals: Box<[PieceId]>) -> Rivals {
        if rivals.is_empty() { Rivals::None } else { Rivals::Few(self.intern(&Piece::Some(rivals))) }
    }

    /// Those of the rivals that stay, if these are known one by one; otherwise they all do.
    pub(super) fn rivals_that(&self, rivals: Rivals, stays: impl Fn(PieceId) -> bool) -> Rivals {
        let Rivals::Few(_) = rivals else { return rivals };
        let all = self.few(rivals);
        let left: Box<[PieceId]> = all.iter().copied().filter(|&rival| stays(rival)).collect();
        if left.len() == all.len() { rivals } else { self.few_of(left) }
    }

    /// The rivals whose counterpart of the value under way is such.
    pub(super) fn rivals_whose_value(&self, ledger: Ledger, is_such: impl Fn(&Piece) -> bool) -> Rivals {
        let levels = self.levels(ledger.open);
        self.rivals_that(ledger.rivals, |rival| {
            self.counterpart(&levels, rival).is_some_and(|value| is_such(self.get(value)))
        })
    }

    /// The rivals whose counterpart of the innermost array or object is such.
    pub(super) fn rivals_whose_container(&self, ledger: Ledger, is_such: impl Fn(&Piece) -> bool) -> Rivals {
        let levels = self.levels(ledger.open);
        let around = &levels[..levels.len().saturating_sub(1)];
        self.rivals_that(ledger.rivals, |rival| {
            self.counterpart(around, rival).is_some_and(|container| is_such(self.get(container)))
        })
    }

    /// The rivals that have a key which begins like this, and was not there yet.
    pub(super) fn rivals_with_key(&self, ledger: Ledger, beginning: &[u8]) -> Rivals {
        let had = match self.opened(ledger.open) {
            Some(&Piece::OpenObject { members, .. }) => members,
            _ => PieceId::NONE,
        };
        let begins = |key: PieceId| matches!(self.get(key), Piece::Text(text) if text.as_bytes().starts_with(beginning));
        let is_new = |key: PieceId| self.members(had).iter().all(|member| member.0 != key);
        self.rivals_whose_container(ledger, |container| match container {
            Piece::Object { members, .. } => members.iter().any(|&(key, _)| begins(key) && is_new(key)),
            _ => false,
        })
    }
}

/// The value of `key` in an object.
pub(super) fn member(object: &Piece, key: PieceId) -> Option<PieceId> {
    let Piece::Object { members, .. } = object else { return None };
    let at = members.binary_search_by_key(&key, |member| member.0).ok()?;
    Some(members[at].1)
}
