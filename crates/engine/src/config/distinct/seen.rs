//! The items that an array has had, such that one more costs little however many there are.
//!
//! Each item has a *form*: a text that equal values have in common, and others do not. What an item under way is still like
//! is then found among the sorted forms. Forms of numbers and strings are those values themselves; arrays and objects have a
//! fingerprint in theirs, and besides each of their members is a *fact*: the form of an item's member behind its key
//! or its place. An item that has a member which is no fact is equal to none before it.
//!
//! While an array has had few arrays and objects these are also known one by one, which tells more: which of them have all
//! members that the item under way has.

use std::sync::Arc;

use super::pieces::{Piece, PieceId, Pieces};
use crate::store::runs::Runs;

/// How many arrays and objects are looked at one by one.
const FEW: usize = 64;

/// The items that an array has had.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Seen {
    /// The forms of all.
    pub(super) items: Runs,
    /// The members of those that are arrays or objects.
    pub(super) facts: Runs,
    /// Those that are arrays or objects, if they are few.
    pub(super) containers: Option<Box<[PieceId]>>,
}

impl Pieces {
    /// What was seen of an array.
    pub(super) fn seen(&self, seen: PieceId) -> Option<&Seen> {
        match seen {
            PieceId::NONE => None,
            _ => match self.get(seen) {
                Piece::Seen(seen) => Some(seen),
                _ => None,
            },
        }
    }

    /// The items with one more; none if it was there.
    pub(super) fn with_seen(&self, seen: PieceId, value: PieceId) -> Option<PieceId> {
        let none = Seen { containers: Some(Box::default()), ..Seen::default() };
        let before = self.seen(seen).unwrap_or(&none);
        let form = self.form(value);
        if before.items.holds(&form) {
            return None;
        }
        let mut after = before.clone();
        after.items = before.items.with([form.into()]);
        let facts = self.facts(value);
        if matches!(self.get(value), Piece::Array { .. } | Piece::Object { .. }) {
            after.facts = before.facts.with(facts);
            let few = before.containers.as_ref().filter(|all| all.len() < FEW);
            after.containers = few.map(|all| std::iter::once(value).chain(all.iter().copied()).collect());
        }
        Some(self.intern(&Piece::Seen(after)))
    }

    /// The form of a value.
    pub(super) fn form(&self, value: PieceId) -> String {
        match self.get(value) {
            Piece::Bare(form) => form.as_ref().to_owned(),
            Piece::Text(text) => text_form(text),
            Piece::Array { print, .. } => format!("[{:032x}", print.0),
            Piece::Object { print, .. } => format!("{{{:032x}", print.0),
            _ => String::new(),
        }
    }

    fn facts(&self, value: PieceId) -> Vec<Arc<str>> {
        match self.get(value) {
            Piece::Array { items, .. } => {
                (0..).zip(items).map(|(at, &item)| (item_place(at) + &self.form(item)).into()).collect()
            }
            Piece::Object { members, .. } => members
                .iter()
                .map(|&(key, value)| (self.member_place(key) + &self.form(value)).into())
                .collect(),
            _ => Vec::new(),
        }
    }

    /// How the facts of members with this key begin.
    pub(super) fn member_place(&self, key: PieceId) -> String {
        self.form(key) + ":"
    }

    /// How the forms, or the facts, begin that the value under way would have. None if it is too deep for that.
    pub(super) fn place(&self, open: PieceId) -> Option<String> {
        if open == PieceId::NONE {
            return Some(String::new());
        }
        match *self.get(open) {
            Piece::OpenArray { below: PieceId::NONE, items } => Some(item_place(self.count(items))),
            Piece::OpenObject { below: PieceId::NONE, key, .. } if key != PieceId::NONE => {
                Some(self.member_place(key))
            }
            _ => None,
        }
    }
}

/// How the facts of the items in this place of an array begin.
fn item_place(at: usize) -> String {
    format!("{at}:")
}

/// The form of a string. Quotes and what escapes them are escaped.
fn text_form(text: &str) -> String {
    let mut form = String::with_capacity(text.len() + 2);
    form.push('"');
    for c in text.chars() {
        if matches!(c, '"' | '\\') {
            form.push('\\');
        }
        form.push(c);
    }
    form.push('"');
    form
}

impl Runs {
    /// Whether there is a number among the forms that begin with `place` which a number that begins like this may turn out to
    /// be. See [`may_become`](super::number::may_become).
    pub(super) fn may_have_number(&self, place: &str, beginning: &str) -> bool {
        let (mantissa, has_exponent) = match beginning.split_once(['e', 'E']) {
            Some((mantissa, _)) => (mantissa, true),
            None => (beginning, false),
        };
        let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |rest| ("-", rest));
        let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
        let digits = digits.trim_start_matches('0');
        let has = |text: &str| self.has_beginning(&format!("{place}{text}"));
        if digits.is_empty() {
            let is_other = match (has_exponent, sign) {
                (true, _) => false,
                (false, "-") => has("-"),
                (false, _) => ('1'..='9').any(|digit| has(digit.encode_utf8(&mut [0; 4]))),
            };
            return is_other || has("0");
        }
        let significant = digits.trim_end_matches('0');
        let is_whole = || (has_exponent || significant != digits) && has(&format!("{sign}{significant}e"));
        !has_exponent && has(&format!("{sign}{digits}")) || is_whole()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::distinct::number::{may_become, normal_form};

    #[test]
    fn numbers_are_found_as_they_are_compared() {
        let texts = ["0", "1", "10", "12", "120", "1200", "1.5", "-1", "-12e7", "0.001", "7e-3", "999"];
        let forms: Vec<String> = texts.iter().map(|text| normal_form(text)).collect();
        for chosen in 1..1_u32 << texts.len() {
            if chosen.count_ones() > 2 {
                continue;
            }
            let all: Vec<&String> =
                (0..).zip(&forms).filter(|(at, _)| chosen >> at & 1 == 1).map(|all| all.1).collect();
            let runs = Runs::default().with(all.iter().map(|form| format!("k:{form}").into()));
            for text in
                ["-0.0e1", "1200.00e-2", "12e1", "-12000", "0.00100", "100", "15e-1", "0e5", "00", "7.000"]
            {
                for beginning in (1..=text.len()).map(|end| &text[..end]) {
                    let expected = all.iter().any(|form| may_become(beginning, form));
                    assert_eq!(runs.may_have_number("k:", beginning), expected, "{beginning} {all:?}");
                }
            }
        }
    }
}
