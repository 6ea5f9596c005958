//! Escapes of literals and the contents of character classes.
//!
//! Both work on the text after the opening mark and say how far they read, so the lexer stays a dispatch on the
//! first character. An escape yields a number, not a `char`: `\ud83d` is half of a pair in a literal and a legal
//! bound of a range in a class, and only the caller knows which it is.

use crate::error::{Error, Result};
use crate::regular::CharSet;

/// Where an escape stands, which decides what may be escaped.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::frontends) enum Context {
    Literal,
    Class,
    /// A literal of Lark, in which `\x` takes two digits.
    Lark,
}

/// A code point that may be a surrogate, and the offset behind it.
type Point = (u32, usize);

/// The escape whose backslash is at `at`.
pub(super) fn escape(source: &str, at: usize, context: Context) -> Result<Point> {
    let rest = &source[at + 1..];
    let Some(letter) = rest.chars().next() else {
        return Err(Error::syntax(source, at, "the text ends inside an escape"));
    };
    let after = at + 1 + letter.len_utf8();
    let simple = match letter {
        'a' => 0x07,
        'b' => 0x08,
        'f' => 0x0c,
        'n' => 0x0a,
        'r' => 0x0d,
        't' => 0x09,
        'v' => 0x0b,
        '0' => 0x00,
        'e' => 0x1b,
        // `[` and `]` are GBNF's, in literals too.
        '"' | '\'' | '?' | '\\' | '/' | '[' | ']' => u32::from(letter),
        '^' | '$' | '.' | '*' | '+' | '(' | ')' | '{' | '}' | '|' | '-' if context == Context::Class => {
            u32::from(letter)
        }
        'x' => return hex(source, at, after, (context == Context::Lark).then_some(2)),
        'u' => return hex(source, at, after, Some(4)),
        'U' => return hex(source, at, after, Some(8)),
        _ => return Err(unknown_escape(source, at, letter, context)),
    };
    Ok((simple, after))
}

fn unknown_escape(source: &str, at: usize, letter: char, context: Context) -> Error {
    let error = Error::syntax(source, at, format!("`\\{letter}` is not an escape"));
    match (letter, context) {
        ('d' | 'D' | 's' | 'S' | 'w' | 'W', Context::Class) => {
            error.with_help("write the ranges, such as `0-9`, or use `Regex(\"...\")`")
        }
        (_, Context::Literal | Context::Lark) => error.with_help("a backslash itself is written `\\\\`"),
        _ => error,
    }
}

/// Hexadecimal digits from `start`: exactly `count`, or as many as there are.
fn hex(source: &str, at: usize, start: usize, count: Option<usize>) -> Result<Point> {
    let digits = source.as_bytes()[start..].iter().take_while(|byte| byte.is_ascii_hexdigit());
    let found = digits.take(count.unwrap_or(usize::MAX)).count();
    if found == 0 || count.is_some_and(|count| found < count) {
        let wanted =
            count.map_or("a hexadecimal digit".to_owned(), |count| format!("{count} hexadecimal digits"));
        return Err(Error::syntax(source, at, format!("this escape needs {wanted}")));
    }
    let significant = source[start..start + found].trim_start_matches('0');
    let value =
        if significant.len() > 6 { u32::MAX } else { u32::from_str_radix(significant, 16).unwrap_or(0) };
    if value > u32::from(char::MAX) {
        return Err(Error::syntax(source, at, "this escape is beyond the last code point, U+10FFFF"));
    }
    Ok((value, start + found))
}

/// The escape at `at` of a literal as a character; a pair of surrogate escapes is the one code point it encodes.
pub(super) fn literal_escape(source: &str, at: usize, context: Context) -> Result<(char, usize)> {
    let (first, after) = escape(source, at, context)?;
    if let Some(c) = char::from_u32(first) {
        return Ok((c, after));
    }
    if first < 0xdc00 && source[after..].starts_with("\\u") {
        let (second, end) = escape(source, after, context)?;
        if (0xdc00..0xe000).contains(&second) {
            let value = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
            if let Some(c) = char::from_u32(value) {
                return Ok((c, end));
            }
        }
    }
    Err(Error::syntax(source, at, "half of a surrogate pair is not a character"))
}

/// The class whose `[` is at `open`, and the offset behind its `]`.
pub(super) fn class(source: &str, open: usize) -> Result<(CharSet, usize)> {
    let mut at = open + 1;
    let negated = source[at..].starts_with('^');
    at += usize::from(negated);
    let mut ranges: Vec<(char, char)> = Vec::new();
    loop {
        if source[at..].starts_with(']') {
            break;
        }
        let item_at = at;
        let (low, after) = class_item(source, open, at)?;
        at = after;
        let mut high = low;
        if source[at..].starts_with('-') && !source[at + 1..].starts_with(']') {
            (high, at) = class_item(source, open, at + 1)?;
        }
        if low > high {
            let message = "this range is reversed: its first character comes after its last";
            return Err(Error::syntax(source, item_at, message));
        }
        ranges.extend(scalars(low, high));
    }
    let set = CharSet::new(ranges);
    Ok((if negated { set.complement() } else { set }, at + 1))
}

fn class_item(source: &str, open: usize, at: usize) -> Result<Point> {
    match source[at..].chars().next() {
        None => Err(Error::syntax(source, open, "this character class is never closed")),
        Some('\n' | '\r') => Err(Error::syntax(source, at, "a character class cannot hold a line break")
            .with_help("write `\\n`, or close the class with `]`")),
        Some('\\') => escape(source, at, Context::Class),
        Some(c) => Ok((u32::from(c), at + c.len_utf8())),
    }
}

/// The range without surrogates, which no UTF-8 text can hold.
fn scalars(low: u32, high: u32) -> Option<(char, char)> {
    let low = if (0xd800..0xe000).contains(&low) { 0xe000 } else { low };
    let high = if (0xd800..0xe000).contains(&high) { 0xd7ff } else { high };
    Some((char::from_u32(low)?, char::from_u32(high)?)).filter(|(low, high)| low <= high)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(text: &str) -> Vec<(char, char)> {
        class(text, 0).unwrap().0.ranges().to_vec()
    }

    #[test]
    fn a_dash_is_literal_at_the_ends_and_after_a_range() {
        assert_eq!(members("[a-]"), [('-', '-'), ('a', 'a')]);
        assert_eq!(members("[-a]"), [('-', '-'), ('a', 'a')]);
        assert_eq!(members("[a-c-e]"), [('-', '-'), ('a', 'c'), ('e', 'e')]);
        assert_eq!(members("[--/]"), [('-', '/')]);
        assert_eq!(members("[\\--\\/]"), [('-', '/')]);
    }

    #[test]
    fn carets_brackets_and_quotes() {
        assert_eq!(members("[a^]"), [('^', '^'), ('a', 'a')]);
        assert_eq!(members("[^^]").len(), 2);
        assert_eq!(members("[[\\]\"]"), [('"', '"'), ('[', '['), (']', ']')]);
        assert_eq!(members("[]"), []);
        assert_eq!(members("[^]"), [('\0', char::MAX)]);
    }

    #[test]
    fn surrogates_bound_a_range_and_are_never_in_it() {
        assert_eq!(members("[\\ud700-\\udbff]"), [('\u{d700}', '\u{d7ff}')]);
        assert_eq!(members("[\\udfff-\\ue001]"), [('\u{e000}', '\u{e001}')]);
        assert_eq!(members("[\\ud800]"), []);
    }

    #[test]
    fn literal_escapes() {
        for (text, expected) in [
            ("\\x41", 'A'),
            ("\\x0000000041", 'A'),
            ("\\u00e9", 'é'),
            ("\\U0001F600", '😀'),
            ("\\ud83d\\ude00", '😀'),
            ("\\e", '\x1b'),
            ("\\0", '\0'),
        ] {
            assert_eq!(literal_escape(text, 0, Context::Literal).unwrap(), (expected, text.len()), "{text}");
        }
        for text in ["\\q", "\\", "\\x", "\\u12", "\\ud800", "\\ud800\\u0041", "\\x110000", "\\^"] {
            assert!(literal_escape(text, 0, Context::Literal).is_err(), "{text}");
        }
    }
}
