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

    /// A state from which any text goes on to the end, where one is plain to see: as in all texts that begin with something, or
    /// are not one of some words.
    pub fn free_state(&self) -> Option<StateId> {
        let any = Dfa::any_text();
        let start = any.edges(Dfa::START);
        let is_like_any = |&state: &StateId| {
            self.is_accepting(state)
                && self.edges(state).first().is_some_and(|edge| edge.2 == state)
                && self.edges(state).len() == start.len()
                && self.reads_as(state, any)
        };
        (0..self.len() as StateId).find(is_like_any)
    }

    /// Whether what `state` and the states after it do is what `other` does from its start, edge by edge.
    fn reads_as(&self, state: StateId, other: &Dfa) -> bool {
        let mut twins = vec![None; other.len()];
        let mut open = vec![(state, Dfa::START)];
        while let Some((state, twin)) = open.pop() {
            match twins[twin as usize] {
                Some(known) if known == state => continue,
                Some(_) => return false,
                None => twins[twin as usize] = Some(state),
            }
            let (edges, like) = (self.edges(state), other.edges(twin));
            let are_alike = edges.iter().zip(like).all(|(edge, like)| (edge.0, edge.1) == (like.0, like.1));
            if edges.len() != like.len() || !are_alike || self.is_accepting(state) != other.is_accepting(twin)
            {
                return false;
            }
            open.extend(edges.iter().zip(like).map(|(edge, like)| (edge.2, like.2)));
        }
        true
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
    fn free_states_are_found() {
        let budget = Budget::default();
        let free = |dfa: &Dfa| dfa.free_state();
        assert_eq!(free(Dfa::any_text()), Some(Dfa::START));
        assert_eq!(free(&single(&CharSet::any())), None);
        let mut builder = DfaBuilder::new();
        let [start, after] = [false, true].map(|accepting| builder.add_state(accepting));
        builder.add_edge(start, b'a', b'a', after);
        add_class(&mut builder, after, &CharSet::any(), after, &budget).unwrap();
        let begins_with_a = builder.finish(&budget).unwrap();
        let found = free(&begins_with_a).unwrap();
        assert_eq!(begins_with_a.next(Dfa::START, b'a'), Some(found));
        // Without one letter a text is not any text.
        let mut builder = DfaBuilder::new();
        let start = builder.add_state(true);
        let most = CharSet::new([('q', 'q')]).complement();
        add_class(&mut builder, start, &most, start, &budget).unwrap();
        assert_eq!(free(&builder.finish(&budget).unwrap()), None);
        let most = CharSet::new([('\u{10000}', '\u{10ffff}')]).complement();
        let mut builder = DfaBuilder::new();
        let start = builder.add_state(true);
        add_class(&mut builder, start, &most, start, &budget).unwrap();
        assert_eq!(free(&builder.finish(&budget).unwrap()), None);
    }

    #[test]
    fn the_empty_set_is_the_empty_language() {
        assert!(single(&CharSet::new([])).is_empty());
    }
}
