//! The JSON spellings of a language of texts, as an automaton.
//!
//! The engine reads spellings as they come and never builds this. It is for what must run beside another automaton, byte
//! by byte: each step of the text by one code point becomes the ways to write that code point between the quotes of a
//! JSON string.

use rustc_hash::FxHashMap;

use super::charset::CharSet;
use super::dfa::{Dfa, StateId};
use super::nfa::{Nfa, NfaStateId};
use crate::error::Result;
use crate::ir::Escapes;
use crate::limits::Budget;

/// Ranges of numbers, each with the state that it leads to.
type Ranges = Vec<(u32, u32, StateId)>;

impl Dfa {
    /// What may stand between the quotes of a JSON string whose text is in the language, which must be of UTF-8.
    pub fn json_spellings(&self, escapes: Escapes, budget: &Budget) -> Result<Dfa> {
        let mut steps = Steps { dfa: self, known: FxHashMap::default() };
        let mut nfa = Nfa::new(budget);
        let end = nfa.add_state()?;
        if self.is_empty() {
            let start = nfa.add_state()?;
            return nfa.determinize(start, end);
        }
        let mut names: FxHashMap<StateId, NfaStateId> = FxHashMap::default();
        names.insert(Dfa::START, nfa.add_state()?);
        let mut open = vec![Dfa::START];
        while let Some(state) = open.pop() {
            budget.tick()?;
            let from = names[&state];
            if self.is_accepting(state) {
                nfa.add_empty(from, end);
            }
            for (target, set) in steps.of(state) {
                let to = if let Some(&name) = names.get(&target) {
                    name
                } else {
                    open.push(target);
                    let name = nfa.add_state()?;
                    names.insert(target, name);
                    name
                };
                add_spellings(&mut nfa, from, &set, escapes, to)?;
            }
        }
        nfa.determinize(names[&Dfa::START], end)
    }
}

/// The steps of an automaton by whole code points.
struct Steps<'d> {
    dfa: &'d Dfa,
    /// Where a state leads by so many bytes that follow a first one, as numbers of six bits each.
    known: FxHashMap<(StateId, u32), Ranges>,
}

impl Steps<'_> {
    /// The states that `state` leads to by one code point, each with its code points.
    fn of(&mut self, state: StateId) -> Vec<(StateId, CharSet)> {
        let mut ranges: FxHashMap<StateId, Vec<(char, char)>> = FxHashMap::default();
        for &(low, high, target) in self.dfa.edges(state) {
            for first in low..=high {
                let (bits, more) = match first {
                    0x00..=0x7f => (u32::from(first), 0),
                    0xc0..=0xdf => (u32::from(first & 0x1f), 1),
                    0xe0..=0xef => (u32::from(first & 0x0f), 2),
                    0xf0..=0xf7 => (u32::from(first & 0x07), 3),
                    _ => continue,
                };
                for (from, until, to) in self.following(target, more) {
                    let base = bits << (6 * more);
                    let code = |number: u32| char::from_u32(base + number);
                    if let (Some(from), Some(until)) = (code(from), code(until)) {
                        ranges.entry(to).or_default().push((from, until));
                    }
                }
            }
        }
        ranges.into_iter().map(|(target, ranges)| (target, CharSet::new(ranges))).collect()
    }

    /// Where `state` leads by `count` more bytes of a code point.
    fn following(&mut self, state: StateId, count: u32) -> Ranges {
        if count == 0 {
            return vec![(0, 0, state)];
        }
        if let Some(known) = self.known.get(&(state, count)) {
            return known.clone();
        }
        let size = 1_u32 << (6 * (count - 1));
        let mut found: Ranges = Vec::new();
        for &(low, high, target) in self.dfa.edges(state) {
            let rest = self.following(target, count - 1);
            for byte in low.max(0x80)..=high.min(0xbf) {
                let base = u32::from(byte & 0x3f) * size;
                for &(from, until, to) in &rest {
                    match found.last_mut() {
                        Some((_, last, same)) if *last + 1 == base + from && *same == to => {
                            *last = base + until;
                        }
                        _ => found.push((base + from, base + until, to)),
                    }
                }
            }
        }
        self.known.insert((state, count), found.clone());
        found
    }
}

/// All ways to write one code point of `set`.
fn add_spellings(
    nfa: &mut Nfa<'_>,
    from: NfaStateId,
    set: &CharSet,
    escapes: Escapes,
    to: NfaStateId,
) -> Result<()> {
    let special = CharSet::new([('\0', '\x1f'), ('"', '"'), ('\\', '\\')]);
    let plain = set.intersection(&special.complement());
    if !plain.ranges().is_empty() {
        nfa.add_class(from, &plain, to)?;
    }
    let escape = nfa.add_state()?;
    nfa.add_range(from, b'\\', b'\\', escape);
    for &(letter, _) in escapes.short().iter().filter(|(_, meant)| set.contains(char::from(*meant))) {
        nfa.add_range(escape, letter, letter, to);
    }
    let digits = nfa.add_state()?;
    nfa.add_range(escape, b'u', b'u', digits);
    let numbered = escapes
        .numbered()
        .iter()
        .filter_map(|&(low, high)| Some((char::from_u32(low)?, char::from_u32(high)?)));
    for &(low, high) in set.intersection(&CharSet::new(numbered)).ranges() {
        let (low, high) = (u32::from(low), u32::from(high));
        if low <= 0xffff {
            // A range over the gap of the surrogates is two.
            for (first, last) in [(low, high.min(0xd7ff)), (low.max(0xe000), high.min(0xffff))] {
                if first <= last {
                    add_digits(nfa, digits, (first, last), 4, escapes, to)?;
                }
            }
        }
        if high > 0xffff {
            add_pairs(nfa, digits, (low.max(0x1_0000) - 0x1_0000, high - 0x1_0000), escapes, to)?;
        }
    }
    Ok(())
}

/// The pairs of surrogates of the code points from `low` to `high`, counted from U+10000.
fn add_pairs(
    nfa: &mut Nfa<'_>,
    from: NfaStateId,
    (low, high): (u32, u32),
    escapes: Escapes,
    to: NfaStateId,
) -> Result<()> {
    let (first, last) = (low >> 10, high >> 10);
    let mut add = |firsts: (u32, u32), seconds: (u32, u32)| -> Result<()> {
        let middle = nfa.add_state()?;
        let digits = nfa.add_state()?;
        add_digits(nfa, from, (0xd800 + firsts.0, 0xd800 + firsts.1), 4, escapes, middle)?;
        nfa.add_literal(middle, b"\\u", digits)?;
        add_digits(nfa, digits, (0xdc00 + seconds.0, 0xdc00 + seconds.1), 4, escapes, to)
    };
    if first == last {
        return add((first, first), (low & 0x3ff, high & 0x3ff));
    }
    add((first, first), (low & 0x3ff, 0x3ff))?;
    if first + 1 < last {
        add((first + 1, last - 1), (0, 0x3ff))?;
    }
    add((last, last), (0, high & 0x3ff))
}

/// The numbers from `low` to `high` in `count` hexadecimal digits of either case. It recurses once for each digit.
fn add_digits(
    nfa: &mut Nfa<'_>,
    from: NfaStateId,
    (low, high): (u32, u32),
    count: u32,
    escapes: Escapes,
    to: NfaStateId,
) -> Result<()> {
    let size = 1_u32 << (4 * (count - 1));
    let (first, last) = (low / size, high / size);
    if count == 1 {
        add_digit(nfa, from, (first, last), escapes, to);
        return Ok(());
    }
    let mut digit = first;
    while digit <= last {
        let start = if digit == first { low % size } else { 0 };
        let is_whole = |digit: u32| {
            (digit != first || low.is_multiple_of(size)) && (digit != last || high % size == size - 1)
        };
        let mut until = digit;
        while is_whole(digit) && until < last && is_whole(until + 1) {
            until += 1;
        }
        let end = if until == last { high % size } else { size - 1 };
        let next = nfa.add_state()?;
        add_digit(nfa, from, (digit, until), escapes, next);
        add_digits(nfa, next, (start, end), count - 1, escapes, to)?;
        digit = until + 1;
    }
    Ok(())
}

/// One digit from `first` to `last`.
fn add_digit(
    nfa: &mut Nfa<'_>,
    from: NfaStateId,
    (first, last): (u32, u32),
    escapes: Escapes,
    to: NfaStateId,
) {
    let digits = [(b'0', 0, 9), (b'a', 10, 15), (b'A', 10, 15)];
    for &(base, low, high) in if escapes.has_capitals() { &digits[..] } else { &digits[..2] } {
        let (first, last) = (first.max(low), last.min(high));
        if first <= last {
            nfa.add_range(from, base + (first - low) as u8, base + (last - low) as u8, to);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spellings(ranges: &[(char, char)]) -> Dfa {
        let budget = Budget::default();
        let set = CharSet::new(ranges.iter().copied());
        Dfa::from_charset(&set, &budget).unwrap().json_spellings(Escapes::Any, &budget).unwrap()
    }

    #[test]
    fn a_character_in_all_its_spellings() {
        let slash = spellings(&[('/', '/')]);
        for text in ["/", "\\/", "\\u002f", "\\u002F"] {
            assert!(slash.matches(text.as_bytes()), "{text}");
        }
        for text in ["", "//", "\\u2f", "\\u002e", "\\u0030"] {
            assert!(!slash.matches(text.as_bytes()), "{text}");
        }
        let quote = spellings(&[('"', '"'), ('\n', '\n')]);
        assert!(quote.matches(b"\\\"") && quote.matches(b"\\n") && quote.matches(b"\\u000A"));
        assert!(!quote.matches(b"\"") && !quote.matches(b"\n"));
    }

    #[test]
    fn every_code_point_of_a_range_and_no_other() {
        for (low, high) in
            [('\u{3f}', '\u{1a2}'), ('\u{d700}', '\u{e0ff}'), ('\u{fff0}', '\u{10405}'), ('😀', '😎')]
        {
            let dfa = spellings(&[(low, high)]);
            for code in u32::from(low).saturating_sub(300)..u32::from(high) + 300 {
                let Some(c) = char::from_u32(code) else {
                    assert!(!dfa.matches(format!("\\u{code:04x}").as_bytes()));
                    continue;
                };
                let expected = (low..=high).contains(&c);
                let mut units = [0; 2];
                let spelled: Vec<String> =
                    c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")).collect();
                let escaped = spelled.concat();
                assert_eq!(dfa.matches(escaped.as_bytes()), expected, "{escaped}");
                if !matches!(c, '\0'..='\x1f' | '"' | '\\') {
                    assert_eq!(dfa.matches(c.to_string().as_bytes()), expected, "{c:?}");
                }
            }
        }
    }

    #[test]
    fn all_texts() {
        let budget = Budget::default();
        let dfa = Dfa::any_text().json_spellings(Escapes::Any, &budget).unwrap();
        assert!(dfa.matches("aé😀\\ud83d\\ude00\\\\".as_bytes()) && dfa.matches(b""));
        assert!(!dfa.matches(b"\"") && !dfa.matches(b"\\") && !dfa.matches(b"\\ud83d"));
    }
}
