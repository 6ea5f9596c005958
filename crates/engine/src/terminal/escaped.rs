//! The spelling of one code point as an escape, while it is being read.

use smallvec::SmallVec;
use tokenstile_grammar::ir::Escapes;

use super::json_text::{FIRST_LOW, LAST, SURROGATES, paired};

/// What was read of an escape; nothing where there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Escaped {
    bytes: [u8; Self::LONGEST],
    length: u8,
}

/// Ranges of code points without surrogates.
pub(super) type CodePoints = SmallVec<[(u32, u32); 3]>;

const HIGH_HALVES: (u32, u32) = (SURROGATES.0, FIRST_LOW - 1);

impl Escaped {
    /// A pair of surrogates: `\uXXXX\uXXXX`.
    const LONGEST: usize = 12;
    /// One number: `\uXXXX`.
    const NUMBER: usize = 6;

    pub(crate) fn is_empty(self) -> bool {
        self.length == 0
    }

    /// Whether an escape that was begun can go on with a byte.
    pub(crate) fn takes(self, byte: u8) -> bool {
        match self.length {
            1 => byte == b'u' || Escapes::Any.short().iter().any(|short| short.0 == byte),
            6 => byte == b'\\',
            7 => byte == b'u',
            _ => byte.is_ascii_hexdigit(),
        }
    }

    /// Whether an escape that was begun goes on with a digit.
    pub(crate) fn takes_digit(self) -> bool {
        !matches!(self.length, 1 | 6 | 7)
    }

    /// With one more byte, one that JSON allows here.
    pub(crate) fn with(mut self, byte: u8) -> Self {
        if let Some(place) = self.bytes.get_mut(usize::from(self.length)) {
            *place = byte;
            self.length += 1;
        }
        self
    }

    fn read(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }

    /// The code point, if the escape is whole.
    pub(crate) fn decoded(self) -> Option<char> {
        match *self.read() {
            [b'\\', byte] => {
                let short = Escapes::Any.short().iter().find(|short| short.0 == byte);
                short.map(|&(_, meant)| char::from(meant))
            }
            [_, _, ref digits @ ..] if self.length as usize == Self::NUMBER => {
                char::from_u32(filled_up(digits).0)
            }
            [_, _, ref both @ ..] if self.length as usize == Self::LONGEST => {
                let (high, low) = (filled_up(&both[..4]).0, filled_up(&both[6..]).0);
                char::from_u32(paired((high, high), (low, low)).0)
            }
            _ => None,
        }
    }

    /// Whether it may mean what has to be escaped: a control character, a quote or a backslash.
    pub(crate) fn may_be_needed(self) -> bool {
        let is_needed =
            |low: u32, high: u32| low < 0x20 || [0x22, 0x5C].iter().any(|at| (low..=high).contains(at));
        match self.decoded() {
            Some(meant) => is_needed(meant.into(), meant.into()),
            None => self.may_become().iter().any(|&(low, high)| is_needed(low, high)),
        }
    }

    /// The code points that it may become, if it is not whole, where there are just these escapes.
    pub(super) fn may_become_among(self, escapes: Escapes) -> CodePoints {
        let all = self.may_become();
        let cut = |ranges: &[(u32, u32)]| -> CodePoints {
            let parts =
                all.iter().flat_map(|&range| ranges.iter().filter_map(move |&part| overlap(range, part)));
            parts.collect()
        };
        let mut found = cut(escapes.numbered());
        if self.length == 1 {
            found.extend(escapes.short().iter().map(|&(_, meant)| (meant.into(), meant.into())));
        }
        found
    }

    /// The code points that it may become, if it is not whole.
    pub(super) fn may_become(self) -> CodePoints {
        let read = self.read();
        let (first, rest) = read.split_at(read.len().min(Self::NUMBER));
        let number = filled_up(first.get(2..).unwrap_or_default());
        if first.len() == Self::NUMBER {
            let low = overlap(filled_up(rest.get(2..).unwrap_or_default()), (FIRST_LOW, SURROGATES.1));
            return low.map(|low| paired(number, low)).into_iter().collect();
        }
        if first.len() == 1 {
            return CodePoints::from_slice(&[(0, SURROGATES.0 - 1), (SURROGATES.1 + 1, LAST)]);
        }
        let before = overlap(number, (0, SURROGATES.0 - 1));
        let after = overlap(number, (SURROGATES.1 + 1, 0xFFFF));
        let pairs = overlap(number, HIGH_HALVES).map(|high| paired(high, (FIRST_LOW, SURROGATES.1)));
        [before, after, pairs].into_iter().flatten().collect()
    }
}

/// The least and the greatest number of four digits that begins with these.
fn filled_up(digits: &[u8]) -> (u32, u32) {
    let value = digits
        .iter()
        .fold(0, |value, &digit| value << 4 | char::from(digit).to_digit(16).unwrap_or_default());
    let bits = 4 * 4u32.saturating_sub(digits.len() as u32);
    (value << bits, ((value + 1) << bits) - 1)
}

fn overlap(a: (u32, u32), b: (u32, u32)) -> Option<(u32, u32)> {
    let both = (a.0.max(b.0), a.1.min(b.1));
    (both.0 <= both.1).then_some(both)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelling(text: &str) -> Escaped {
        text.bytes().fold(Escaped::default(), Escaped::with)
    }

    #[test]
    fn whole_escapes_are_code_points() {
        for (text, meant) in [
            (r"\n", '\n'),
            (r"\/", '/'),
            (r"\\", '\\'),
            (r"\u00e9", 'é'),
            (r"\u00E9", 'é'),
            (r"\uD83d\uDe00", '😀'),
        ] {
            assert_eq!(spelling(text).decoded(), Some(meant), "{text}");
        }
        for text in ["", r"\", r"\u", r"\u00e", r"\ud83d", r"\ud83d\ude0"] {
            assert_eq!(spelling(text).decoded(), None, "{text}");
        }
    }

    #[test]
    fn what_need_not_be_escaped_is_known_early() {
        for text in [r"\", r"\n", r"\u", r"\u00", r"\u001", r"\u005", r"\u005c", r"\u0022", "\\\""] {
            assert!(spelling(text).may_be_needed(), "{text}");
        }
        for text in [r"\/", r"\u01", r"\u006", r"\u0061", r"\ud83d", r"\u005b"] {
            assert!(!spelling(text).may_be_needed(), "{text}");
        }
    }

    #[test]
    fn prefixes_may_become_what_begins_so() {
        let ranges = |text: &str| spelling(text).may_become().to_vec();
        assert_eq!(ranges(r"\"), [(0, 0xD7FF), (0xE000, 0x10_FFFF)]);
        assert_eq!(ranges(r"\u"), [(0, 0xD7FF), (0xE000, 0xFFFF), (0x1_0000, 0x10_FFFF)]);
        assert_eq!(ranges(r"\u00e"), [(0xE0, 0xEF)]);
        assert_eq!(ranges(r"\ud"), [(0xD000, 0xD7FF), (0x1_0000, 0x10_FFFF)]);
        assert_eq!(ranges(r"\udb"), [(0xD_0000, 0x10_FFFF)]);
        assert_eq!(ranges(r"\ud83d"), [(0x1_F400, 0x1_F7FF)]);
        assert_eq!(ranges(r"\ud83d\ude0"), [(0x1_F600, 0x1_F60F)]);
        assert_eq!(ranges(r"\udc"), []);
    }
}
