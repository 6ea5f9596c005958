//! Texts by letters instead of bytes.
//!
//! An expression tells few code points apart. Those that it never tells apart are one *letter*, and an automaton over
//! letters has no states in the middle of a code point, of which `.` alone needs seven for each place that it stands at.
//! So what is text through and through is put together over letters ([`Alphabet`]), and spelled in UTF-8 at the very end
//! ([`Alphabet::spelled`]).
//!
//! Letters are numbered from 0 and fit into a byte, so an automaton over letters is a [`Dfa`] like any other.
//!
//! What is spelled is minimal again. A state in the middle of a code point is told from all others by the number of bytes
//! that it still wants, and from its like by where they lead; equal ones are made once.

use rustc_hash::FxHashMap;

use super::builder::DfaBuilder;
use super::charset::CharSet;
use super::dfa::{Dfa, StateId};
use super::row_table::{Way, add_way};
use crate::error::Result;
use crate::limits::Budget;

/// Code points without a gap where the surrogates are.
type Scalar = u32;

/// How many surrogates there are, and where they begin.
const SURROGATES: u32 = 0x800;
const FIRST_SURROGATE: u32 = 0xd800;

/// Behind the last code point.
const END: Scalar = 0x11_0000 - SURROGATES;

fn scalar(c: char) -> Scalar {
    let code = u32::from(c);
    if code < FIRST_SURROGATE { code } else { code - SURROGATES }
}

/// The code points as UTF-8 has them: how many bytes follow the first, what is added to the bits of the first, and the code
/// points, without the surrogates.
const LENGTHS: [(u32, u8, u32, u32); 4] = [
    (1, 0xc0, 0x80, 0x7ff),
    (2, 0xe0, 0x800, 0xd7ff),
    (2, 0xe0, 0xe000, 0xffff),
    (3, 0xf0, 0x1_0000, 0x10_ffff),
];

/// The numbers from the first to the second lead to a state.
type Range = (u32, u32, StateId);

/// The code points in letters.
#[derive(Debug)]
pub(super) struct Alphabet {
    /// Where runs of code points of one letter begin, and the letter.
    runs: Vec<(Scalar, u8)>,
    /// The letters that have code points outside of ASCII.
    wide: Vec<u8>,
    /// Any text.
    any_text: Dfa,
}

/// So many runs of code points are looked at to find letters.
const MAX_LOOKED_AT: usize = 1_000_000;

impl Alphabet {
    /// The coarsest letters that tell no code points of any of `sets` apart from others of it; `None` if they are more
    /// than a byte can tell, or if it takes long to see how many they are.
    pub(super) fn new<'s>(
        sets: impl Iterator<Item = &'s [(char, char)]> + Clone,
        budget: &Budget,
    ) -> Result<Option<Self>> {
        let mut starts: Vec<Scalar> = vec![0];
        for &(low, high) in sets.clone().flatten() {
            starts.extend([scalar(low), scalar(high) + 1]);
        }
        starts.sort_unstable();
        starts.dedup();
        if starts.last() == Some(&END) {
            starts.pop();
        }
        let mut classes: Vec<u32> = vec![0; starts.len()];
        let mut count = 1;
        let mut inside: FxHashMap<u32, u32> = FxHashMap::default();
        let mut looked_at = 0;
        for set in sets {
            inside.clear();
            for &(low, high) in set {
                budget.tick()?;
                let first = starts.partition_point(|&start| start < scalar(low));
                let runs = starts[first..].iter().take_while(|&&start| start <= scalar(high)).count();
                looked_at += runs;
                if looked_at > MAX_LOOKED_AT {
                    return Ok(None);
                }
                for class in &mut classes[first..first + runs] {
                    *class = *inside.entry(*class).or_insert_with(|| {
                        count += 1;
                        count - 1
                    });
                }
            }
        }
        let mut letters: FxHashMap<u32, u8> = FxHashMap::default();
        let mut runs: Vec<(Scalar, u8)> = Vec::with_capacity(starts.len());
        for (start, class) in starts.into_iter().zip(classes) {
            let next = letters.len();
            let letter = *letters.entry(class).or_insert(next as u8);
            if letters.len() > 256 {
                return Ok(None);
            }
            if runs.last().is_none_or(|run| run.1 != letter) {
                runs.push((start, letter));
            }
        }
        let last = (letters.len() - 1) as u8;
        let ends = runs[1..].iter().map(|run| run.0).chain([END]);
        let mut wide: Vec<u8> =
            runs.iter().zip(ends).filter(|(_, end)| *end > 0x80).map(|(run, _)| run.1).collect();
        wide.sort_unstable();
        wide.dedup();
        let mut any_text = DfaBuilder::new();
        let start = any_text.add_state(true);
        any_text.add_edge(start, 0, last, start);
        Ok(Some(Alphabet { runs, wide, any_text: any_text.finish(budget)? }))
    }

    /// Any text.
    pub(super) fn any_text(&self) -> &Dfa {
        &self.any_text
    }

    /// The letter of a code point.
    pub(super) fn letter(&self, c: char) -> u8 {
        self.runs[self.runs.partition_point(|run| run.0 <= scalar(c)) - 1].1
    }

    /// The letters of a set that they were made for, in ranges.
    pub(super) fn letters(&self, set: &CharSet) -> Vec<(u8, u8)> {
        let mut has = [false; 256];
        for &(low, high) in set.ranges() {
            let first = self.runs.partition_point(|run| run.0 <= scalar(low)) - 1;
            let runs = self.runs[first..].iter().take_while(|run| run.0 <= scalar(high));
            runs.for_each(|run| has[run.1 as usize] = true);
        }
        let mut ranges: Vec<(u8, u8)> = Vec::new();
        for letter in (0..=u8::MAX).filter(|&letter| has[letter as usize]) {
            match ranges.last_mut() {
                Some(last) if last.1 + 1 == letter => last.1 = letter,
                _ => ranges.push((letter, letter)),
            }
        }
        ranges
    }

    /// The automaton over letters as one over the bytes of UTF-8.
    pub(super) fn spelled(&self, dfa: &Dfa, budget: &Budget) -> Result<Dfa> {
        let mut builder = DfaBuilder::new();
        (0..dfa.len() as StateId).for_each(|state| _ = builder.add_state(dfa.is_accepting(state)));
        let mut inner =
            Inner { first: dfa.len() as StateId, numbers: FxHashMap::default(), rows: Vec::new() };
        let mut known: FxHashMap<Vec<Option<StateId>>, Vec<Way>> = FxHashMap::default();
        let mut targets = [None; 256];
        for state in 0..dfa.len() as StateId {
            budget.check_states(dfa.len() + inner.rows.len())?;
            targets.fill(None);
            for &(low, high, to) in dfa.edges(state) {
                targets[low as usize..=high as usize].fill(Some(to));
            }
            for (low, high, to) in self.ranges(&targets, 0, 0x80) {
                builder.add_edge(state, low as u8, high as u8, to);
            }
            let wide = self.wide.iter().map(|&letter| targets[letter as usize]);
            if wide.clone().all(|to| to.is_none()) {
                continue;
            }
            let wide: Vec<Option<StateId>> = wide.collect();
            let ways = known.entry(wide).or_insert_with(|| self.wide_ways(&targets, &mut inner));
            ways.iter().for_each(|&(low, high, to)| builder.add_edge(state, low, high, to));
        }
        for row in &inner.rows {
            let state = builder.add_state(false);
            row.iter().for_each(|&(low, high, to)| builder.add_edge(state, low, high, to));
        }
        builder.finish_distinct(budget)
    }

    /// Where the code points from `from` until `until` lead, given where the letters do.
    fn ranges(&self, targets: &[Option<StateId>; 256], from: Scalar, until: Scalar) -> Vec<Range> {
        let mut ranges: Vec<Range> = Vec::new();
        let mut at = self.runs.partition_point(|run| run.0 <= from) - 1;
        let mut low = from;
        while low < until {
            let end = self.runs.get(at + 1).map_or(END, |run| run.0).min(until);
            if let Some(to) = targets[self.runs[at].1 as usize] {
                match ranges.last_mut() {
                    Some(last) if last.1 + 1 == low && last.2 == to => last.1 = end - 1,
                    _ => ranges.push((low, end - 1, to)),
                }
            }
            low = end;
            at += 1;
        }
        ranges
    }

    /// The first bytes of code points outside of ASCII, and where they lead.
    fn wide_ways(&self, targets: &[Option<StateId>; 256], inner: &mut Inner) -> Vec<Way> {
        let mut ways = Vec::new();
        for (more, first, low, high) in LENGTHS {
            let gap = if low < FIRST_SURROGATE { 0 } else { SURROGATES };
            let mut ranges = self.ranges(targets, low - gap, high - gap + 1);
            ranges.iter_mut().for_each(|range| *range = (range.0 + gap, range.1 + gap, range.2));
            inner.ways(&ranges, more, first, &mut ways);
        }
        ways
    }
}

/// The states in the middle of code points.
struct Inner {
    /// The number of the first one.
    first: StateId,
    numbers: FxHashMap<Vec<Way>, StateId>,
    rows: Vec<Vec<Way>>,
}

impl Inner {
    /// Adds the ways by one byte, after which `more` follow, for ranges of numbers that are spelled by all of them: six bits
    /// in each that follows, and in this one what is left, added to `first`. It recurses once for each byte.
    fn ways(&mut self, ranges: &[Range], more: u32, first: u8, ways: &mut Vec<Way>) {
        let size = 1_u32 << (6 * more);
        // The byte at hand, and the ranges behind it where they are not one.
        let (mut byte, mut parts) = (0, Vec::new());
        for &(mut low, high, to) in ranges {
            while low <= high {
                let here = low / size;
                if here != byte {
                    self.part_ways(&mut parts, more, first + byte as u8, ways);
                    byte = here;
                }
                let whole = if low.is_multiple_of(size) { (high + 1) / size - here } else { 0 };
                if whole > 0 {
                    let next = self.whole(to, more);
                    add_way(ways, (first + here as u8, first + (here + whole - 1) as u8, next));
                    low = (here + whole) * size;
                } else {
                    let until = high.min((here + 1) * size - 1);
                    parts.push((low % size, until % size, to));
                    low = until + 1;
                }
            }
        }
        self.part_ways(&mut parts, more, first + byte as u8, ways);
    }

    /// Adds the way by a byte behind which these ranges are, if there are any.
    fn part_ways(&mut self, parts: &mut Vec<Range>, more: u32, byte: u8, ways: &mut Vec<Way>) {
        if !parts.is_empty() {
            let mut row = Vec::new();
            self.ways(parts, more - 1, 0x80, &mut row);
            parts.clear();
            let next = self.intern(row);
            add_way(ways, (byte, byte, next));
        }
    }

    /// The state from which any `more` bytes that follow lead to a state.
    fn whole(&mut self, to: StateId, more: u32) -> StateId {
        (0..more).fold(to, |to, _| self.intern(vec![(0x80, 0xbf, to)]))
    }

    fn intern(&mut self, row: Vec<Way>) -> StateId {
        let rows = &mut self.rows;
        let first = self.first;
        *self.numbers.entry(row).or_insert_with_key(|row| {
            rows.push(row.clone());
            first + rows.len() as StateId - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The automaton of one code point of `set`, by letters made for it and `others`.
    fn single(set: &CharSet, others: &[CharSet]) -> Dfa {
        let budget = Budget::default();
        let sets = std::iter::once(set).chain(others).map(CharSet::ranges);
        let alphabet = Alphabet::new(sets, &budget).unwrap().unwrap();
        let mut builder = DfaBuilder::new();
        let (start, end) = (builder.add_state(false), builder.add_state(true));
        for (low, high) in alphabet.letters(set) {
            builder.add_edge(start, low, high, end);
        }
        alphabet.spelled(&builder.finish(&budget).unwrap(), &budget).unwrap()
    }

    #[test]
    fn sets_are_spelled_as_they_are_without_letters() {
        let sets: Vec<CharSet> = [
            vec![('\0', char::MAX)],
            vec![('a', 'z'), ('\u{80}', '\u{80}'), ('\u{7ff}', '\u{800}')],
            vec![('\u{d7ff}', '\u{e000}')],
            vec![('\0', '\u{d7ff}')],
            vec![('\u{e000}', '\u{ffff}'), ('\u{1f600}', '\u{1f64f}')],
            vec![('\u{fffe}', '\u{10010}'), ('\u{40000}', '\u{10ffff}')],
            ('\u{400}'..'\u{420}').step_by(3).map(|c| (c, c)).collect(),
            vec![('\u{10ffff}', '\u{10ffff}')],
            vec![],
        ]
        .into_iter()
        .map(CharSet::new)
        .collect();
        for set in &sets {
            let expected = Dfa::from_charset(set, &Budget::default()).unwrap();
            assert_eq!(single(set, &[]), expected, "{set:?}");
            assert_eq!(single(set, &sets), expected, "{set:?} among others");
            assert_eq!(single(&set.complement(), &sets).is_empty(), set.complement().ranges().is_empty());
        }
    }

    #[test]
    fn all_text_is_all_utf8() {
        let budget = Budget::default();
        let set = CharSet::new([('é', '漢')]);
        let alphabet = Alphabet::new(std::iter::once(set.ranges()), &budget).unwrap().unwrap();
        assert_eq!(&alphabet.spelled(alphabet.any_text(), &budget).unwrap(), Dfa::any_text());
    }

    #[test]
    fn letters_fit_into_a_byte() {
        let chars =
            |count: u32| (0..count).filter_map(char::from_u32).map(|c| vec![(c, c)]).collect::<Vec<_>>();
        let fits = |count: u32| {
            let sets = chars(count);
            Alphabet::new(sets.iter().map(Vec::as_slice), &Budget::default()).unwrap().is_some()
        };
        // One more for all other code points.
        assert!(fits(255) && !fits(256));
    }
}
