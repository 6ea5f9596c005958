//! Classes in brackets, such as `[^a-z\d_-]`.
//!
//! A hyphen that stands for itself is first or last; anywhere else it would have to be told from that of a range. The
//! ends of a range must be in order. These are the ranges that there are:
//!
//! * from a printable character of ASCII to a later one, or to a character beyond ASCII;
//! * from and to characters beyond ASCII with one of some borders between them, which lie where alphabets begin;
//! * from and to `\xHH`, or from and to `\uHHHH`, that differ in a digit before which they are alike in one of a few
//!   common ways.

use std::fmt::Write as _;

use super::super::texts::Texts;
use super::{CHARACTER_ESCAPES, CLASS_ESCAPES};
use crate::error::Result;
use crate::ir::ExprId;
use crate::regular::CharSet;

/// Borders between the two ends of a range, each the second letter of an alphabet or script.
const BORDERS: &[char] = &[
    '\u{c1}', '\u{e1}', '\u{101}', '\u{392}', '\u{3b2}', '\u{411}', '\u{431}', '\u{5d1}', '\u{622}',
    '\u{906}', '\u{e02}', '\u{3042}', '\u{30a2}', '\u{4e01}', '\u{ac01}',
];
const FIRST_BEYOND_ASCII: char = '\u{80}';
/// Beyond it a character is two without the flag `u`, and cannot end a range.
const LAST_OF_RANGES: char = '\u{ffff}';

/// A class.
pub(super) fn class(texts: &mut Texts<'_>) -> Result<ExprId> {
    let open = texts.pattern("\\[\\^?-?")?;
    let single = format!("[^\\\\\\]\\-]|\\\\(?:{CHARACTER_ESCAPES}|{CLASS_ESCAPES}|[b\\-])");
    let mut items = vec![texts.pattern(&single)?, texts.pattern(&escaped_ranges())?];
    ranges_of_ascii(texts, &mut items);
    ranges_beyond_ascii(texts, &mut items);
    let item = texts.alt(items);
    let items = texts.star(item);
    let close = texts.pattern("-?\\]")?;
    Ok(texts.seq([open, items, close]))
}

fn ranges_of_ascii(texts: &mut Texts<'_>, items: &mut Vec<ExprId>) {
    // Neither end is a character that has a meaning in classes.
    let ends = [' '..=',', '.'..='[', '_'..='~'];
    let last = ends.each_ref().map(|range| (*range.start(), *range.end()));
    let last = CharSet::new(last.into_iter().chain([(FIRST_BEYOND_ASCII, LAST_OF_RANGES)]));
    for first in ends.into_iter().flatten() {
        let to = texts.literal(&format!("{first}-"));
        let last = texts.class(last.intersection(&CharSet::new([(first, char::MAX)])));
        items.push(texts.seq([to, last]));
    }
}

fn ranges_beyond_ascii(texts: &mut Texts<'_>, items: &mut Vec<ExprId>) {
    let hyphen = texts.literal("-");
    let mut low = FIRST_BEYOND_ASCII;
    for &border in BORDERS {
        let before =
            CharSet::new([(low, char::MAX)]).intersection(&CharSet::new([(border, char::MAX)]).complement());
        let (first, last) = (texts.class(before), texts.class(CharSet::new([(border, LAST_OF_RANGES)])));
        items.push(texts.seq([first, hyphen, last]));
        low = border;
    }
}

/// Ranges of escapes, as one pattern.
fn escaped_ranges() -> String {
    const HEX: &str = "[0-9A-Fa-f]";
    let mut ranges = vec![format!("\\\\x00-\\\\x0{HEX}")];
    for digit in 0..15 {
        let (one, more) = (hex_digit(digit), hex_digits_above(digit));
        ranges.push(format!("\\\\x{one}{HEX}-\\\\x{more}{HEX}"));
        ranges.push(format!("\\\\u00{one}{HEX}-\\\\u00{more}{HEX}"));
        ranges.push(format!("\\\\u0{one}{HEX}{{2}}-\\\\u0{more}{HEX}{{2}}"));
        ranges.push(format!("\\\\u0{one}0{HEX}-\\\\u0{one}[1-9A-Fa-f]{HEX}"));
        // No half of a surrogate pair begins a range or ends one.
        let more = more.replace(['d', 'D'], "");
        let last = if digit < 13 { format!("(?:{more}{HEX}|[Dd][0-7])") } else { more + HEX };
        if digit != 13 {
            ranges.push(format!("\\\\u{one}{HEX}{{3}}-\\\\u{last}{HEX}{{2}}"));
        }
    }
    ranges.join("|")
}

fn hex_digit(digit: u32) -> String {
    format!("[{digit:x}{digit:X}]")
}

/// The digits that are greater than `digit`, as a class.
fn hex_digits_above(digit: u32) -> String {
    let mut class = String::from("[");
    for more in digit + 1..16 {
        let _ = write!(class, "{more:x}{more:X}");
    }
    class + "]"
}
