//! UTF-8: a set of code points as an automaton over bytes, and the automaton of all valid text.
//!
//! Surrogates and overlong forms are nowhere in these languages.

use std::sync::OnceLock;

use regex_syntax::utf8::Utf8Sequences;

use super::builder::DfaBuilder;
use super::charset::CharSet;
use super::dfa::{Dfa, StateId};
use crate::error::Result;
use crate::limits::Budget;

impl Dfa {
    /// The language of the single code points of `set`, in UTF-8.
    pub fn from_charset(set: &CharSet, budget: &Budget) -> Result<Dfa> {
        let mut builder = DfaBuilder::new();
        let start = builder.add_state(false);
        let end = builder.add_state(true);
        add_class(&mut builder, start, set, end, budget)?;
        builder.finish(budget)
    }

    /// The language of all valid UTF-8.
    pub fn any_text() -> &'static Dfa {
        static ANY_TEXT: OnceLock<Dfa> = OnceLock::new();
        ANY_TEXT.get_or_init(|| {
            let budget = Budget::default();
            let mut builder = DfaBuilder::new();
            let start = builder.add_state(true);
            add_class(&mut builder, start, &CharSet::any(), start, &budget)
                .and_then(|()| builder.finish(&budget))
                .expect("nine states are within the default limits")
        })
    }
}

/// Adds a trie of the byte sequences of `set` between two states.
///
/// The sequences come sorted, and two of them either begin with the same range of bytes or with disjoint ones: a
/// range of several bytes is always followed by all that can follow it, so nothing else begins within it. So it is
/// enough to compare with the edge that was added last.
fn add_class(
    builder: &mut DfaBuilder,
    from: StateId,
    set: &CharSet,
    to: StateId,
    budget: &Budget,
) -> Result<()> {
    let mut path: Vec<(u8, u8, StateId)> = Vec::new();
    for &(low, high) in set.ranges() {
        for sequence in Utf8Sequences::new(low, high) {
            budget.tick()?;
            let ranges = sequence.as_slice();
            let (last, inner) = ranges.split_last().expect("a sequence has at least one byte");
            let shared =
                inner.iter().zip(&path).take_while(|(r, step)| (r.start, r.end) == (step.0, step.1)).count();
            path.truncate(shared);
            for range in &inner[shared..] {
                let before = path.last().map_or(from, |step| step.2);
                let state = builder.add_state(false);
                builder.add_edge(before, range.start, range.end, state);
                path.push((range.start, range.end, state));
            }
            builder.add_edge(path.last().map_or(from, |step| step.2), last.start, last.end, to);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn single(set: &CharSet) -> Dfa {
        Dfa::from_charset(set, &Budget::default()).unwrap()
    }

    #[test]
    fn a_set_matches_its_members() {
        let samples =
            ['\0', 'a', 'z', '\u{7f}', '\u{80}', 'é', '\u{7ff}', '\u{800}', '\u{d7ff}', '\u{e000}', '😀'];
        let set = CharSet::new([('a', 'é'), ('\u{800}', '\u{e000}')]);
        let dfa = single(&set);
        let rest = single(&set.complement());
        for c in samples {
            let mut buffer = [0; 4];
            let text = c.encode_utf8(&mut buffer).as_bytes();
            assert_eq!(dfa.matches(text), set.contains(c), "{c:?}");
            assert_eq!(rest.matches(text), !set.contains(c), "{c:?}");
        }
    }

    #[test]
    fn scattered_sets_stay_deterministic() {
        let every_third: Vec<_> =
            (0..0x11_0000_u32).step_by(3).filter_map(char::from_u32).map(|c| (c, c)).collect();
        let set = CharSet::new(every_third);
        let dfa = single(&set);
        for c in ('\u{3f0}'..'\u{900}').chain('\u{ff00}'..'\u{10100}') {
            assert_eq!(dfa.matches(c.to_string().as_bytes()), set.contains(c), "{c:?}");
        }
    }

    #[test]
    fn any_text_is_valid_utf8() {
        let any = Dfa::any_text();
        for text in ["", "a", "é", "漢字", "😀", "\u{10ffff}", "\u{d7ff}\u{e000}"] {
            assert!(any.matches(text.as_bytes()), "{text:?}");
        }
        for bytes in
            [&b"\x80"[..], b"\xc0\x80", b"\xed\xa0\x80", b"\xe0\x80\x80", b"\xf4\x90\x80\x80", b"\xc3"]
        {
            assert!(!any.matches(bytes), "{bytes:?}");
            assert!(std::str::from_utf8(bytes).is_err());
        }
    }

    #[test]
    fn the_empty_set_is_the_empty_language() {
        assert!(single(&CharSet::new([])).is_empty());
    }
}
