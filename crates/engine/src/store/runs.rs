//! Sets of texts that grow by a few at a time, of which the earlier ones stay.
//!
//! A set is a list of *runs*, each a sorted list of texts that never changes. What is new is a run of its own, and runs of
//! the same size are merged, so that a set of n texts has about log n runs, shares nearly all of them with the set that
//! it was made from, and costs little more than the new texts. Long runs are left as they are: to merge them would take
//! too long at once.
//!
//! The texts that begin like something are neighbours in a run. So what may still be meant while a text is read is a
//! range of each run, and gets narrower with each byte.
//!
//! Sets are equal if the sums of the hashes of their texts are. Texts come from strangers, so the hash is keyed with a
//! secret of the process; and a sum does not depend on how the texts are divided into runs.

use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;

use siphasher::sip128::Hasher128;
use smallvec::SmallVec;

use super::fingerprint::fingerprint_hasher;

/// Runs that have so many texts are not merged any more: that would take more than a millisecond.
const LONG: usize = 1 << 14;

/// Texts, sorted, each once.
#[derive(Debug)]
pub(crate) struct Run {
    texts: Box<[Arc<str>]>,
    /// What the hashes of the texts before each one come to, and of all.
    sums: Box<[u128]>,
}

fn hash_of(text: &str) -> u128 {
    let mut state = fingerprint_hasher();
    text.hash(&mut state);
    state.finish128().as_u128()
}

impl Run {
    /// The run of some texts.
    pub(crate) fn new(mut texts: Vec<Arc<str>>) -> Self {
        texts.sort_unstable();
        texts.dedup();
        Self::of_sorted(texts.into_iter().map(|text| (hash_of(&text), text)))
    }

    fn of_sorted(hashed: impl Iterator<Item = (u128, Arc<str>)>) -> Self {
        let mut sums = Vec::with_capacity(hashed.size_hint().0 + 1);
        let mut sum: u128 = 0;
        sums.push(sum);
        let add = |(hash, text)| {
            sum = sum.wrapping_add(hash);
            sums.push(sum);
            text
        };
        let texts = hashed.map(add).collect();
        Run { texts, sums: sums.into() }
    }

    /// The texts of two runs that have none in common.
    fn merged(one: &Run, other: &Run) -> Self {
        let (mut one, mut other) = (one.hashed().peekable(), other.hashed().peekable());
        Self::of_sorted(std::iter::from_fn(|| match (one.peek(), other.peek()) {
            (Some(a), Some(b)) if a.1 > b.1 => other.next(),
            (None, _) => other.next(),
            _ => one.next(),
        }))
    }

    fn hashed(&self) -> impl Iterator<Item = (u128, Arc<str>)> + '_ {
        let hashes = self.sums.windows(2).map(|sums| sums[1].wrapping_sub(sums[0]));
        hashes.zip(self.texts.iter().map(Arc::clone))
    }

    /// How many texts it has.
    pub(crate) fn len(&self) -> usize {
        self.texts.len()
    }

    /// The texts, sorted.
    pub(crate) fn texts(&self) -> &[Arc<str>] {
        &self.texts
    }

    /// What the hashes of some of its texts come to.
    pub(crate) fn sum(&self, range: Range<usize>) -> u128 {
        self.sums[range.end].wrapping_sub(self.sums[range.start])
    }

    /// What the hashes of all of its texts come to.
    pub(crate) fn whole_sum(&self) -> u128 {
        self.sum(0..self.len())
    }

    pub(crate) fn holds(&self, text: &str) -> bool {
        self.texts.binary_search_by(|other| (**other).cmp(text)).is_ok()
    }

    /// The memory that it takes.
    pub(crate) fn memory_bytes(&self) -> usize {
        /// The counts of a shared text, and what an allocation wastes.
        const A_TEXT: usize = size_of::<Arc<str>>() + 32;
        let texts: usize = self.texts.iter().map(|text| text.len() + A_TEXT).sum();
        texts + size_of_val(&*self.sums)
    }
}

/// The runs of a set with one more, which has none of their texts: the longest first.
pub(crate) fn with_run(before: &[Arc<Run>], new: Run) -> SmallVec<[Arc<Run>; 8]> {
    let mut runs: SmallVec<[Arc<Run>; 8]> = before.iter().cloned().collect();
    let mut last = new;
    while let Some(before) = runs.pop() {
        if before.len() > last.len() || before.len() >= LONG {
            runs.push(before);
            break;
        }
        last = Run::merged(&before, &last);
    }
    runs.push(Arc::new(last));
    runs
}

/// A set of texts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Runs {
    /// The longest first.
    runs: SmallVec<[Arc<Run>; 8]>,
    sum: u128,
}

impl PartialEq for Runs {
    fn eq(&self, other: &Self) -> bool {
        self.sum == other.sum && self.runs.len() == other.runs.len()
    }
}

impl Eq for Runs {}

impl Hash for Runs {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u128(self.sum);
    }
}

/// A range of a run, by its place in the list of runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Part {
    run: u32,
    start: u32,
    end: u32,
}

/// The texts of a set that may still be meant; no range is empty.
pub(crate) type Parts = SmallVec<[Part; 2]>;

impl Runs {
    /// The set with some more texts.
    pub(crate) fn with(&self, texts: impl IntoIterator<Item = Arc<str>>) -> Self {
        let new: Vec<Arc<str>> = texts.into_iter().filter(|text| !self.holds(text)).collect();
        if new.is_empty() {
            return self.clone();
        }
        let new = Run::new(new);
        let sum = self.sum.wrapping_add(new.whole_sum());
        Runs { runs: with_run(&self.runs, new), sum }
    }

    pub(crate) fn holds(&self, text: &str) -> bool {
        self.runs.iter().any(|run| run.holds(text))
    }

    /// The texts that begin so.
    pub(crate) fn beginning_with(&self, beginning: &str) -> Parts {
        let part = |(number, run): (u32, &Arc<Run>)| {
            let texts = run.texts();
            let start = texts.partition_point(|text| **text < *beginning);
            let count = texts[start..].partition_point(|text| text.starts_with(beginning));
            Part { run: number, start: start as u32, end: (start + count) as u32 }
        };
        (0..).zip(&self.runs).map(part).filter(|part| part.start < part.end).collect()
    }

    /// Whether any text begins so.
    pub(crate) fn has_beginning(&self, beginning: &str) -> bool {
        self.runs.iter().any(|run| {
            let at = run.texts().partition_point(|text| **text < *beginning);
            run.texts().get(at).is_some_and(|text| text.starts_with(beginning))
        })
    }

    /// Those of `parts`, whose first `depth` bytes are known, that go on with `byte`.
    pub(crate) fn narrow(&self, parts: &Parts, depth: usize, byte: u8) -> Parts {
        let next = |text: &Arc<str>| text.as_bytes().get(depth).copied();
        let narrow = |part: &Part| {
            let texts = &self.runs[part.run as usize].texts()[part.start as usize..part.end as usize];
            let start = part.start + texts.partition_point(|text| next(text) < Some(byte)) as u32;
            let end = part.start + texts.partition_point(|text| next(text) <= Some(byte)) as u32;
            Part { start, end, ..*part }
        };
        parts.iter().map(narrow).filter(|part| part.start < part.end).collect()
    }

    /// The bytes with which `parts` go on behind their first `depth` bytes, some of them perhaps more than once.
    pub(crate) fn next_bytes(&self, parts: &Parts, depth: usize) -> SmallVec<[u8; 16]> {
        let mut bytes = SmallVec::new();
        for part in parts {
            let texts = &self.runs[part.run as usize].texts()[part.start as usize..part.end as usize];
            let mut at = 0;
            while let Some(text) = texts.get(at) {
                let next = text.as_bytes().get(depth).copied();
                bytes.extend(next);
                at += texts[at..].partition_point(|text| text.as_bytes().get(depth).copied() <= next);
            }
        }
        bytes
    }

    /// The runs that it is made of.
    pub(crate) fn runs(&self) -> &[Arc<Run>] {
        &self.runs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(number: u32) -> Arc<str> {
        format!("{:x}", number.wrapping_mul(2_654_435_761) >> 4).into()
    }

    #[test]
    fn holds_what_was_added_however_it_came() {
        let mut one = Runs::default();
        for number in 0..2_000 {
            assert!(!one.holds(&text(number)));
            one = one.with([text(number)]);
        }
        let all = Runs::default().with((0..2_000).rev().map(text));
        assert_eq!(one.sum, all.sum);
        assert!(one.runs.len() <= 11 && all.runs.len() == 1);
        assert!((0..2_000).all(|number| one.holds(&text(number)) && all.holds(&text(number))));
        assert_eq!(one.with([text(7)]).sum, one.sum);
    }

    #[test]
    fn ranges_are_those_of_a_plain_list() {
        let mut runs = Runs::default();
        let texts: Vec<Arc<str>> = (0..500).map(text).collect();
        texts.iter().for_each(|text| runs = runs.with([Arc::clone(text)]));
        for beginning in ["", "a", "1", "12", "fff", "zz", "0"] {
            let mut parts = runs.beginning_with("");
            for (depth, byte) in beginning.bytes().enumerate() {
                parts = runs.narrow(&parts, depth, byte);
            }
            assert_eq!(parts, runs.beginning_with(beginning));
            assert_eq!(!parts.is_empty(), runs.has_beginning(beginning));
            let mut next: Vec<u8> =
                texts.iter().filter_map(|text| text.strip_prefix(beginning)?.bytes().next()).collect();
            let mut found = runs.next_bytes(&parts, beginning.len()).to_vec();
            for bytes in [&mut next, &mut found] {
                bytes.sort_unstable();
                bytes.dedup();
            }
            assert_eq!(found, next, "{beginning}");
        }
    }

    #[test]
    fn long_runs_are_not_merged() {
        let mut runs = Runs::default();
        for block in 0..40 {
            runs = runs.with((block * 4_096..(block + 1) * 4_096).map(text));
        }
        assert!(runs.runs.iter().all(|run| run.len() <= 2 * LONG));
        assert!(runs.runs.len() <= 12, "{}", runs.runs.len());
    }
}
