//! JSON texts: a reader of spellings that decodes what it reads and asks an automaton of the text.
//!
//! A position is the state of that automaton and what was read of an escape: how many bytes, and its digits. An escape
//! that is under way must be able to become a code point that the automaton takes.

use tokenstile_grammar::ir::Escapes;
use tokenstile_grammar::regular::{Dfa, determinize};
use tokenstile_grammar::{Budget, ExprId, Grammar, Result};

use super::node::{At, START};

/// A JSON text.
#[derive(Debug)]
pub(super) struct JsonText {
    /// The texts, in UTF-8.
    text: Dfa,
    /// The escapes that they may have.
    escapes: Escapes,
}

/// What was read of an escape: `\`, `\u`, digits, and for a pair of surrogates `\u` and digits again.
#[derive(Clone, Copy)]
struct Escape {
    /// How many bytes; 0 if there is no escape under way.
    read: u32,
    /// All digits so far, as one number.
    digits: u32,
}

/// The bytes of `\uXXXX`.
const WHOLE: u32 = 6;

const HIGH_SURROGATES: std::ops::RangeInclusive<u32> = 0xD800..=0xDBFF;
const LOW_SURROGATES: std::ops::RangeInclusive<u32> = 0xDC00..=0xDFFF;

fn pack(state: u32, escape: Escape) -> At {
    u64::from(state) << 32 | u64::from(escape.read << 28 | escape.digits)
}

fn unpack(at: At) -> (u32, Escape) {
    let escape = at as u32;
    ((at >> 32) as u32, Escape { read: escape >> 28, digits: escape & 0x0FFF_FFFF })
}

const NO_ESCAPE: Escape = Escape { read: 0, digits: 0 };

impl JsonText {
    pub(super) fn new(grammar: &Grammar, text: ExprId, escapes: Escapes, budget: &Budget) -> Result<Self> {
        let text = determinize(grammar, text, budget)?.intersection(Dfa::any_text(), budget)?;
        Ok(JsonText { text, escapes })
    }

    /// The spellings of the texts of an automaton.
    pub(super) fn of(text: Dfa, escapes: Escapes) -> Self {
        JsonText { text, escapes }
    }

    /// Whether there is no text at all.
    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Whether the empty text is one.
    pub(super) fn is_nullable(&self) -> bool {
        !self.is_empty() && self.is_end(START)
    }

    /// Whether a text has ended here.
    pub(super) fn is_end(&self, at: At) -> bool {
        let (state, escape) = unpack(at);
        escape.read == 0 && self.text.is_accepting(state)
    }

    /// The position after `byte`.
    pub(super) fn after_byte(&self, at: At, byte: u8) -> Option<At> {
        let (state, escape) = unpack(at);
        match (escape.read, byte) {
            (0, b'\\') if self.is_between_code_points(state) => {
                self.go_on(state, Escape { read: 1, digits: 0 })
            }
            (0, b'\\' | b'"' | 0..=0x1F) => None,
            (0, _) => Some(pack(self.text.next(state, byte)?, NO_ESCAPE)),
            (1, b'u') => self.go_on(state, Escape { read: 2, digits: 0 }),
            (1, b'/') if self.escapes != Escapes::Any => None,
            (1, _) => self.take(state, short_escape(byte)?),
            (6, b'\\') | (7, b'u') => self.go_on(state, Escape { read: escape.read + 1, ..escape }),
            (6 | 7, _) => None,
            (_, b'A'..=b'F') if self.escapes == Escapes::Least => None,
            _ => {
                let digits = escape.digits << 4 | char::from(byte).to_digit(16)?;
                self.go_on(state, Escape { read: escape.read + 1, digits })
            }
        }
    }

    /// The position after an escape has grown, if it can still become something.
    fn go_on(&self, state: u32, escape: Escape) -> Option<At> {
        let is_pair = HIGH_SURROGATES.contains(&escape.digits) && escape.read == WHOLE;
        if escape.read == 2 * WHOLE || (escape.read == WHOLE && !is_pair) {
            let [(code, last), _] = may_become(escape);
            let c = char::from_u32(code).filter(|&c| code == last && self.escapes.numbers(c))?;
            return self.take(state, c);
        }
        let numbers = |range| self.escapes.numbered().iter().map(move |&numbered| overlap(range, numbered));
        let mut ranges: Vec<(u32, u32)> = may_become(escape).into_iter().flat_map(numbers).collect();
        if escape.read == 1 {
            let letters = (0..=u8::MAX).filter(|&byte| byte != b'/').filter_map(short_escape);
            ranges.extend(letters.map(|c| (c.into(), c.into())));
        }
        let possible = ranges.into_iter().any(|range| range.0 <= range.1 && self.reads_any_of(state, range));
        possible.then(|| pack(state, escape))
    }

    /// The position after a code point.
    fn take(&self, state: u32, c: char) -> Option<At> {
        let mut buffer = [0; 4];
        let mut bytes = c.encode_utf8(&mut buffer).bytes();
        Some(pack(bytes.try_fold(state, |state, byte| self.text.next(state, byte))?, NO_ESCAPE))
    }

    fn is_between_code_points(&self, state: u32) -> bool {
        self.text.edges(state).iter().all(|&(low, _, _)| !(0x80..0xC0).contains(&low))
    }

    /// Whether the automaton takes any code point of a range.
    fn reads_any_of(&self, state: u32, range: (u32, u32)) -> bool {
        (0..=u8::MAX).any(|byte| {
            let (value, rest) = match byte {
                0..=0x7F => (u32::from(byte), 0),
                0xC0..=0xDF => (u32::from(byte) & 0x1F, 1),
                0xE0..=0xEF => (u32::from(byte) & 0x0F, 2),
                _ => (u32::from(byte) & 0x07, 3),
            };
            self.text.next(state, byte).is_some_and(|next| self.reads_rest_of(next, value, rest, range))
        })
    }

    /// The same after the first bytes of the code point, which had the bits of `value`; `rest` are to follow.
    fn reads_rest_of(&self, state: u32, value: u32, rest: u32, range: (u32, u32)) -> bool {
        let (low, high) = (value << (6 * rest), (value + 1) << (6 * rest));
        let overlaps = low <= range.1 && range.0 < high;
        let goes_on = |byte: u8| {
            let next = self.text.next(state, byte);
            next.is_some_and(|next| {
                self.reads_rest_of(next, value << 6 | u32::from(byte & 0x3F), rest - 1, range)
            })
        };
        overlaps && (rest == 0 || (0x80..0xC0).any(goes_on))
    }
}

/// The code points that an escape may become, in two ranges. Surrogates among them do no harm, since no text has them.
fn may_become(escape: Escape) -> [(u32, u32); 2] {
    const NOTHING: (u32, u32) = (1, 0);
    let pair = |high: u32, low: u32| 0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00);
    if escape.read == 1 {
        return [(0, 0x10_FFFF), NOTHING];
    }
    let has_high_half =
        escape.read >= WHOLE && HIGH_SURROGATES.contains(&(escape.digits >> low_bits(escape)));
    if has_high_half {
        let (high, digits) =
            (escape.digits >> low_bits(escape), escape.digits & ((1 << low_bits(escape)) - 1));
        let (first, last) = filled_up(digits, 16 - low_bits(escape));
        let (first, last) = (first.max(*LOW_SURROGATES.start()), last.min(*LOW_SURROGATES.end()));
        return [if first <= last { (pair(high, first), pair(high, last)) } else { NOTHING }, NOTHING];
    }
    let (first, last) = filled_up(escape.digits, 4 * (WHOLE - escape.read));
    let (high_first, high_last) = (first.max(*HIGH_SURROGATES.start()), last.min(*HIGH_SURROGATES.end()));
    let pairs =
        if high_first <= high_last { (pair(high_first, 0xDC00), pair(high_last, 0xDFFF)) } else { NOTHING };
    [(first, last), pairs]
}

/// The numbers in both ranges; none if the first is above the last.
fn overlap(one: (u32, u32), other: (u32, u32)) -> (u32, u32) {
    (one.0.max(other.0), one.1.min(other.1))
}

/// How many bits of the digits belong to the second half of a pair.
fn low_bits(escape: Escape) -> u32 {
    4 * escape.read.saturating_sub(WHOLE + 2)
}

/// The least and the greatest number with `bits` more bits.
fn filled_up(digits: u32, bits: u32) -> (u32, u32) {
    (digits << bits, ((digits + 1) << bits) - 1)
}

fn short_escape(byte: u8) -> Option<char> {
    Some(match byte {
        b'"' | b'\\' | b'/' => char::from(byte),
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        _ => return None,
    })
}
