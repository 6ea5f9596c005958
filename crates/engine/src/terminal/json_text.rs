//! JSON texts: the spellings in JSON of the texts of another term.
//!
//! A term for the *text* (code points in UTF-8, as a program sees the string) is wrapped, and the wrapper reads what
//! stands between the quotes of a JSON string. A byte that may stand for itself derives the inner term by that byte. An
//! escape derives it by the code point that the escape means, once the escape is whole.
//!
//! Which code points may be escapes, and which escapes, is a parameter: [`Escapes`].
//!
//! What makes this more than a translation is that no state may be a dead end (see [`super`]). While an escape is under
//! way, all code points that it may still become are a few ranges, and [`Arena::reach`] tells what the inner term does
//! with all of a range at once:
//!
//! - with no code point of the range it goes on: the digit is refused;
//! - with all of them it goes on in the same way: which digits follow makes no difference, and what is left of the
//!   escape is an ordinary term, the same for all such prefixes. For a string of any characters that leaves about ten
//!   states of escapes rather than seventy thousand;
//! - otherwise the state is a [`Term::JsonEscape`] that remembers its digits and decides when it is asked for its row.
//!
//! Invariants:
//!
//! 1. The words of the inner term are UTF-8; the passes see to it. So the bytes that were read tell whether the inner
//!    term is between two code points, and only there an escape may begin or the text end.
//! 2. JSON texts do not nest, so asking for a row recurses no deeper than once.

use regex_syntax::utf8::{Utf8Range, Utf8Sequences};
use smallvec::SmallVec;
use tokenstile_grammar::ir::Escapes;

use super::arena::{Arena, Items, Term, TerminalId};
use super::derive::Piece;

/// An escape under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Escape {
    /// After the backslash.
    Begun,
    /// After `\u` and fewer than four digits.
    Digits(Digits),
    /// After the first half of a pair of surrogates, the `\u` of the second, and fewer than four digits of it.
    Low { high: u16, digits: Digits },
}

impl Escape {
    /// The least bytes that are left of it.
    pub(super) fn least_bytes(self) -> u64 {
        match self {
            Escape::Begun => 1,
            Escape::Digits(digits) | Escape::Low { digits, .. } => digits.open().into(),
        }
    }
}

/// The hexadecimal digits that were read of four.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Digits {
    count: u8,
    value: u16,
}

impl Digits {
    fn with(self, digit: u16) -> Self {
        Digits { count: self.count + 1, value: self.value << 4 | digit }
    }

    /// How many are missing.
    fn open(self) -> u8 {
        4 - self.count
    }

    /// The least and the greatest number that they may become.
    fn range(self) -> (u32, u32) {
        let bits = 4 * u32::from(self.open());
        let low = u32::from(self.value) << bits;
        (low, low | ((1 << bits) - 1))
    }
}

/// What a term does with a range of code points.
enum Reach {
    /// It goes on with none of them.
    None,
    /// It goes on with all of them, to the same state.
    All(TerminalId),
    /// It goes on with some of them, or to different states.
    Some,
}

/// The bytes that stand for themselves, and how many bytes of the code point then follow.
const RAW: [(u8, u8, u8); 6] = [
    (0x20, b'"' - 1, 0),
    (b'"' + 1, b'\\' - 1, 0),
    (b'\\' + 1, 0x7F, 0),
    (0xC2, 0xDF, 1),
    (0xE0, 0xEF, 2),
    (0xF0, 0xF4, 3),
];

/// Whether a byte may stand for itself.
pub(crate) fn stands_for_itself(byte: u8) -> bool {
    byte >= 0x20 && byte != b'"' && byte != b'\\'
}

pub(super) const SURROGATES: (u32, u32) = (0xD800, 0xDFFF);
pub(super) const FIRST_LOW: u32 = 0xDC00;
const FIRST_PAIRED: u32 = 0x1_0000;
pub(super) const LAST: u32 = 0x10_FFFF;

/// The code points of the pairs whose halves are in these ranges. The first is one value, or the second is all.
pub(super) fn paired(high: (u32, u32), low: (u32, u32)) -> (u32, u32) {
    let code = |high, low| FIRST_PAIRED + ((high - SURROGATES.0) << 10) + (low - FIRST_LOW);
    (code(high.0, low.0), code(high.1, low.1))
}

type Pieces = SmallVec<[Piece; 12]>;

/// Whether a row has a byte of some ranges.
fn has_byte(row: &[Piece], ranges: &[(u8, u8)]) -> bool {
    row.iter().any(|piece| ranges.iter().any(|range| range.0 <= piece.1 && piece.0 <= range.1))
}

impl Arena {
    /// The JSON spellings of the texts of `inner`, of whose first code point `pending` bytes are still to come.
    pub(super) fn json_text(&self, inner: TerminalId, pending: u8, escapes: Escapes) -> TerminalId {
        match inner {
            TerminalId::NEVER | TerminalId::EMPTY => inner,
            _ => self.intern(&Term::JsonText { inner, pending, escapes }),
        }
    }

    /// The ways on from [`Term::JsonText`]; with `only`, at least that for this byte.
    pub(super) fn json_text_pieces(
        &self,
        inner: TerminalId,
        pending: u8,
        escapes: Escapes,
        only: Option<u8>,
    ) -> Pieces {
        let mut pieces = Pieces::new();
        let inside = [(0x80, 0xBF, pending.saturating_sub(1))];
        let raw = if pending > 0 { &inside[..] } else { &RAW };
        if let Some(byte) = only.filter(|&byte| byte != b'\\') {
            let raw = raw.iter().find(|raw| raw.0 <= byte && byte <= raw.1);
            let next = |rest| self.json_text(self.step(inner, byte), rest, escapes);
            pieces.extend(raw.map(|raw| (byte, byte, next(raw.2))));
            return pieces;
        }
        let row = self.row(inner);
        for &(low, high, target) in row {
            for &(first, last, pending) in raw.iter().filter(|raw| raw.0 <= high && low <= raw.1) {
                pieces.push((low.max(first), high.min(last), self.json_text(target, pending, escapes)));
            }
        }
        if pending == 0 && has_byte(row, escapes.escaped_bytes()) {
            let begun = self.intern(&Term::JsonEscape { inner, escape: Escape::Begun, escapes });
            pieces.push((b'\\', b'\\', begun));
        }
        pieces
    }

    /// The ways on from [`Term::JsonEscape`].
    pub(super) fn json_escape_pieces(&self, inner: TerminalId, escape: Escape, escapes: Escapes) -> Pieces {
        let after_digit = |digit| match escape {
            Escape::Digits(digits) => self.after_digits(inner, digits.with(digit), escapes),
            Escape::Low { high, digits } => self.after_low_digits(inner, high, digits.with(digit), escapes),
            Escape::Begun => TerminalId::NEVER,
        };
        let mut pieces = Pieces::new();
        if escape == Escape::Begun {
            for &(written, meant) in escapes.short() {
                pieces.push((written, written, self.json_text(self.next(inner, meant), 0, escapes)));
            }
            if has_byte(self.row(inner), escapes.numbered_bytes()) {
                pieces.push((b'u', b'u', self.after_u(inner, escapes)));
            }
        } else {
            for (digit, (upper, lower)) in (0..).zip(b"0123456789ABCDEF".iter().zip(b"0123456789abcdef")) {
                let target = after_digit(digit);
                pieces.push((*lower, *lower, target));
                if upper != lower && escapes.has_capitals() {
                    pieces.push((*upper, *upper, target));
                }
            }
        }
        pieces.retain(|piece| piece.2 != TerminalId::NEVER);
        pieces
    }

    /// What is left after `\u`, which stands only where some code point may be written with digits.
    fn after_u(&self, inner: TerminalId, escapes: Escapes) -> TerminalId {
        if let Some((only, target)) = self.only_code_point(inner) {
            return self.digits_of(only, self.json_text(target, 0, escapes), escapes);
        }
        let escape = Escape::Digits(Digits::default());
        self.intern(&Term::JsonEscape { inner, escape, escapes })
    }

    /// The code point that must come next, if there is but one, and the state after it: the texts of most keys are known,
    /// and then there is nothing to decide about an escape.
    fn only_code_point(&self, inner: TerminalId) -> Option<(char, TerminalId)> {
        let mut bytes: SmallVec<[u8; 4]> = SmallVec::new();
        let mut at = inner;
        while bytes.len() < 4 {
            let [(low, high, next)] = **self.row(at) else { return None };
            if low != high {
                return None;
            }
            bytes.push(low);
            at = next;
            if let Ok(text) = std::str::from_utf8(&bytes) {
                return text.chars().next().map(|only| (only, at));
            }
        }
        None
    }

    /// The digits of `c` in both cases, with all that stands between the halves of a pair, and then `then`.
    fn digits_of(&self, c: char, then: TerminalId, escapes: Escapes) -> TerminalId {
        let mut units = [0; 2];
        let units = c.encode_utf16(&mut units);
        let rest = units
            .get(1)
            .map_or(then, |&low| self.concat(self.literal(b"\\u"), self.digits_of_unit(low, then, escapes)));
        self.digits_of_unit(units[0], rest, escapes)
    }

    fn digits_of_unit(&self, unit: u16, then: TerminalId, escapes: Escapes) -> TerminalId {
        (0..4).fold(then, |then, place| {
            let digit = usize::from(unit >> (4 * place) & 0xF);
            let (upper, lower) = (b"0123456789ABCDEF"[digit], b"0123456789abcdef"[digit]);
            let both = [(upper, upper, then), (lower, lower, then)];
            let is_one = upper == lower || !escapes.has_capitals();
            self.dispatch(if is_one { Box::new([both[1]]) } else { Box::new(both) })
        })
    }

    /// What is left after `\u` and these digits, at least one.
    fn after_digits(&self, inner: TerminalId, digits: Digits, escapes: Escapes) -> TerminalId {
        let (low, high) = digits.range();
        let later = || self.intern(&Term::JsonEscape { inner, escape: Escape::Digits(digits), escapes });
        if high < SURROGATES.0 || low > SURROGATES.1 {
            return match self.reach_numbered(inner, (low, high), escapes) {
                Reach::None => TerminalId::NEVER,
                Reach::All(target) => {
                    self.hex_digits(digits.open(), self.json_text(target, 0, escapes), escapes)
                }
                Reach::Some => later(),
            };
        }
        if low < SURROGATES.0 {
            // One digit, a D: the last code points before the surrogates, and all pairs.
            let ranges = [(low, SURROGATES.0 - 1), (FIRST_PAIRED, LAST)];
            let goes_on =
                |&range: &(u32, u32)| !matches!(self.reach_numbered(inner, range, escapes), Reach::None);
            return if ranges.iter().any(goes_on) { later() } else { TerminalId::NEVER };
        }
        if low >= FIRST_LOW {
            return TerminalId::NEVER;
        }
        match self.reach_numbered(inner, paired((low, high), (FIRST_LOW, SURROGATES.1)), escapes) {
            Reach::None => TerminalId::NEVER,
            Reach::All(target) => {
                let second = self.any_low_surrogate(self.json_text(target, 0, escapes), escapes);
                self.hex_digits(digits.open(), self.concat(self.literal(b"\\u"), second), escapes)
            }
            Reach::Some if digits.open() > 0 => later(),
            Reach::Some => {
                let escape = Escape::Low { high: digits.value, digits: Digits::default() };
                self.concat(self.literal(b"\\u"), self.intern(&Term::JsonEscape { inner, escape, escapes }))
            }
        }
    }

    /// What is left after the first half of a pair, `\u`, and these digits, at least one.
    fn after_low_digits(&self, inner: TerminalId, high: u16, digits: Digits, escapes: Escapes) -> TerminalId {
        let (first, last) = digits.range();
        let (first, last) = (first.max(FIRST_LOW), last.min(SURROGATES.1));
        if first > last {
            return TerminalId::NEVER;
        }
        let high_half = (u32::from(high), u32::from(high));
        match self.reach_numbered(inner, paired(high_half, (first, last)), escapes) {
            Reach::None => TerminalId::NEVER,
            // From the second digit on, any digits make the second half of a pair.
            Reach::All(target) if digits.count > 1 => {
                self.hex_digits(digits.open(), self.json_text(target, 0, escapes), escapes)
            }
            _ => self.intern(&Term::JsonEscape { inner, escape: Escape::Low { high, digits }, escapes }),
        }
    }

    /// Any `count` digits, and then `then`.
    fn hex_digits(&self, count: u8, then: TerminalId, escapes: Escapes) -> TerminalId {
        (0..count).fold(then, |then, _| {
            let all = [(b'0', b'9', then), (b'A', b'F', then), (b'a', b'f', then)];
            self.dispatch(if escapes.has_capitals() { Box::new(all) } else { Box::new([all[0], all[2]]) })
        })
    }

    /// The digits of any second half of a pair, and then `then`.
    fn any_low_surrogate(&self, then: TerminalId, escapes: Escapes) -> TerminalId {
        let rest = self.hex_digits(2, then, escapes);
        let rest = self.dispatch(Box::new([(b'C', b'F', rest), (b'c', b'f', rest)]));
        self.dispatch(Box::new([(b'D', b'D', rest), (b'd', b'd', rest)]))
    }

    /// What `inner` does with those code points of a range that may be written as numbers.
    fn reach_numbered(&self, inner: TerminalId, range: (u32, u32), escapes: Escapes) -> Reach {
        let numbered = || escapes.numbered().iter().map(|&(low, high)| (low.max(range.0), high.min(range.1)));
        if numbered().any(|part| part == range) {
            return self.reach(inner, range);
        }
        let goes_on = |part: (u32, u32)| part.0 <= part.1 && !matches!(self.reach(inner, part), Reach::None);
        if numbered().any(goes_on) { Reach::Some } else { Reach::None }
    }

    /// What `inner` does with the code points of a range that holds no surrogates.
    fn reach(&self, inner: TerminalId, range: (u32, u32)) -> Reach {
        let (Some(low), Some(high)) = (char::from_u32(range.0), char::from_u32(range.1)) else {
            return Reach::None;
        };
        let mut found = None;
        for sequence in Utf8Sequences::new(low, high) {
            if !self.follow_all(inner, sequence.as_slice(), &mut found) {
                return Reach::Some;
            }
        }
        match found {
            None | Some(TerminalId::NEVER) => Reach::None,
            Some(target) => Reach::All(target),
        }
    }

    /// Follows all bytes of the ranges; says whether they all lead to the state in `found`. At most four deep.
    fn follow_all(&self, state: TerminalId, ranges: &[Utf8Range], found: &mut Option<TerminalId>) -> bool {
        let Some((range, rest)) = ranges.split_first() else {
            return *found.get_or_insert(state) == state;
        };
        // The first byte of which nothing is known yet.
        let mut open = u32::from(range.start);
        let is_dead =
            |found: &mut Option<TerminalId>| *found.get_or_insert(TerminalId::NEVER) == TerminalId::NEVER;
        for &(low, high, target) in
            self.row(state).iter().filter(|piece| piece.0 <= range.end && range.start <= piece.1)
        {
            if (u32::from(low) > open && !is_dead(found)) || !self.follow_all(target, rest, found) {
                return false;
            }
            open = u32::from(high) + 1;
        }
        open > u32::from(range.end) || is_dead(found)
    }

    /// `JsonText(a) t | JsonText(b) t` is `JsonText(a | b) t`.
    pub(super) fn merge_json_texts(&self, items: &mut Items) {
        let split = |id: TerminalId| match *self.term(id) {
            Term::JsonText { inner, pending, escapes } => Some((pending, escapes, TerminalId::EMPTY, inner)),
            Term::Concat(head, tail) => match *self.term(head) {
                Term::JsonText { inner, pending, escapes } => Some((pending, escapes, tail, inner)),
                _ => None,
            },
            _ => None,
        };
        let is_same = |a: &(u8, Escapes, TerminalId, TerminalId),
                       b: &(u8, Escapes, TerminalId, TerminalId)| {
            (a.0, a.1, a.2) == (b.0, b.1, b.2)
        };
        let mut texts: SmallVec<[_; 8]> = items.iter().filter_map(|&id| split(id)).collect();
        texts.sort_unstable();
        if texts.windows(2).all(|pair| !is_same(&pair[0], &pair[1])) {
            return;
        }
        items.retain(|id| split(*id).is_none());
        for group in texts.chunk_by(is_same) {
            let inner = self.alt(group.iter().map(|&(.., inner)| inner));
            let (pending, escapes, tail, _) = group[0];
            items.push(self.concat(self.json_text(inner, pending, escapes), tail));
        }
        items.sort_unstable();
        items.dedup();
    }
}
