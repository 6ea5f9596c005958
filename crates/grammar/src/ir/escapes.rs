//! Which escapes a JSON string may have.
//!
//! JSON has many texts for one string: a letter may be written as it is, or as `\u` and its number. What of that may be
//! written is a parameter of [`Expr::JsonText`](super::Expr::JsonText) and of the keys of [`members`](super::members).

use std::borrow::Cow;

/// The escapes that a JSON string may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Escapes {
    /// All of JSON.
    #[default]
    Any,
    /// The short escapes but for `\/`, and `\uXXXX` for what has none and is not printable ASCII.
    Canonical,
    /// Those that must be, as Python's `json.dumps(text, ensure_ascii=False)` writes them: one spelling of each text.
    Least,
}

/// What follows the backslash of a short escape, and the byte that it means. The slash, which alone may stand for itself
/// as well, is the last.
const SHORT: [(u8, u8); 8] = [
    (b'"', b'"'),
    (b'\\', b'\\'),
    (b'b', 0x08),
    (b'f', 0x0C),
    (b'n', b'\n'),
    (b'r', b'\r'),
    (b't', b'\t'),
    (b'/', b'/'),
];

/// The last code point.
const LAST: u32 = 0x10_FFFF;

impl Escapes {
    /// All of them by name.
    const NAMES: [(&'static str, Escapes); 3] =
        [("any", Escapes::Any), ("canonical", Escapes::Canonical), ("least", Escapes::Least)];

    /// The escapes of a name.
    pub fn find(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|&(_, escapes)| escapes)
    }

    /// Their name.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize].0
    }

    /// What follows the backslash of a short escape, and the byte that it means.
    pub fn short(self) -> &'static [(u8, u8)] {
        if self == Escapes::Any { &SHORT } else { &SHORT[..7] }
    }

    /// The code points that may be written as `\u` and a number, in ranges. No text has the surrogates among them.
    pub fn numbered(self) -> &'static [(u32, u32)] {
        match self {
            Escapes::Any => &[(0, LAST)],
            Escapes::Canonical => &[(0, 7), (0xB, 0xB), (0xE, 0x1F), (0x7F, LAST)],
            Escapes::Least => &[(0, 7), (0xB, 0xB), (0xE, 0x1F)],
        }
    }

    /// The first bytes in UTF-8 of code points that may be written as an escape, in ranges.
    pub fn escaped_bytes(self) -> &'static [(u8, u8)] {
        match self {
            Escapes::Any => &[(0, 0xFF)],
            Escapes::Canonical => &[(0, 0x1F), (b'"', b'"'), (b'\\', b'\\'), (0x7F, 0xFF)],
            Escapes::Least => &[(0, 0x1F), (b'"', b'"'), (b'\\', b'\\')],
        }
    }

    /// The same, of those that may be written as a number.
    pub fn numbered_bytes(self) -> &'static [(u8, u8)] {
        match self {
            Escapes::Any => &[(0, 0xFF)],
            Escapes::Canonical => &[(0, 7), (0xB, 0xB), (0xE, 0x1F), (0x7F, 0xFF)],
            Escapes::Least => &[(0, 7), (0xB, 0xB), (0xE, 0x1F)],
        }
    }

    /// Whether a code point may be written as `\u` and a number.
    pub fn numbers(self, c: char) -> bool {
        self.numbered().iter().any(|&(low, high)| (low..=high).contains(&u32::from(c)))
    }

    /// Whether a code point may be written as an escape.
    pub fn escapes(self, c: char) -> bool {
        self.numbers(c) || self.short().iter().any(|&(_, meant)| char::from(meant) == c)
    }

    /// Whether the digits of a number may be capital letters.
    pub fn has_capitals(self) -> bool {
        self != Escapes::Least
    }

    /// The spelling of a text, if it has but one.
    pub fn only_spelling(self, text: &str) -> Option<Cow<'_, str>> {
        // Most keys are plain.
        let is_plain = |byte: u8| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\';
        if self != Escapes::Any && text.bytes().all(is_plain) {
            return Some(Cow::Borrowed(text));
        }
        let is_single = |c: char| match self {
            Escapes::Any => false,
            Escapes::Canonical => matches!(c, ' '..='~' | '\u{8}' | '\u{9}' | '\n' | '\u{c}' | '\r'),
            Escapes::Least => true,
        };
        text.chars().all(is_single).then(|| Cow::Owned(least(text)))
    }
}

/// A text with the escapes that it must have.
fn least(text: &str) -> String {
    let mut spelled = String::with_capacity(text.len());
    for c in text.chars() {
        let short = Escapes::Least.short().iter().find(|&&(_, meant)| char::from(meant) == c);
        match short {
            Some(&(written, _)) => spelled.extend(['\\', char::from(written)]),
            None if c < ' ' => {
                let digit = |value: u32| char::from_digit(value, 16).unwrap_or('0');
                let code = u32::from(c);
                spelled.extend(['\\', 'u', '0', '0', digit(code >> 4), digit(code & 0xF)]);
            }
            None => spelled.push(c),
        }
    }
    spelled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found() {
        for escapes in [Escapes::Any, Escapes::Canonical, Escapes::Least] {
            assert_eq!(Escapes::find(escapes.name()), Some(escapes));
        }
        assert_eq!(Escapes::find("some"), None);
    }

    #[test]
    fn bytes_are_those_of_code_points() {
        for escapes in [Escapes::Any, Escapes::Canonical, Escapes::Least] {
            let has =
                |ranges: &[(u8, u8)], byte| ranges.iter().any(|range| (range.0..=range.1).contains(&byte));
            for c in (0..0x3000).filter_map(char::from_u32) {
                let byte = c.encode_utf8(&mut [0; 4]).as_bytes()[0];
                assert_eq!(has(escapes.escaped_bytes(), byte), escapes.escapes(c), "{escapes:?} {c:?}");
                assert_eq!(has(escapes.numbered_bytes(), byte), escapes.numbers(c), "{escapes:?} {c:?}");
            }
        }
    }

    #[test]
    fn texts_with_one_spelling() {
        let all = "a\"\\/\n\u{1}\u{7f}é";
        assert_eq!(Escapes::Least.only_spelling(all).as_deref(), Some("a\\\"\\\\/\\n\\u0001\u{7f}é"));
        assert_eq!(Escapes::Canonical.only_spelling("a/\n~").as_deref(), Some("a/\\n~"));
        for text in ["é", "\u{7f}", "\u{1}"] {
            assert_eq!(Escapes::Canonical.only_spelling(text), None, "{text:?}");
        }
        assert_eq!(Escapes::Any.only_spelling("a"), None);
    }
}
