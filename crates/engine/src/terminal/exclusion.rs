//! Exclusions: sets of texts that a key may not be.
//!
//! A set is a list of [runs](crate::store::runs). The first run is the names that an object declares, made
//! once; the others are the keys that were seen, which grow by one at a time.
//!
//! The texts that go on from what was read so far are neighbours in a run. So while a key is being read, the exclusion
//! is a [`Span`] of each run, and gets narrower with each byte.

use std::sync::Arc;

use smallvec::SmallVec;

use super::arena::Arena;
use crate::store::runs::{Run, with_run};

/// The number of a set of texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ExclusionId(u32);

/// The number of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct RunId(u32);

/// A set of texts, as runs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Exclusion {
    names: RunId,
    /// The others, the longest first.
    seen: Box<[RunId]>,
}

/// A part of a run: the texts that begin with what was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Span {
    pub(super) run: RunId,
    start: u32,
    end: u32,
}

/// The texts that may still be meant, none of whose parts is empty.
pub(super) type Spans = SmallVec<[Span; 3]>;

impl Arena {
    /// The set of these texts. It looks at each of them, so the caller keeps the answer.
    pub(crate) fn exclusion<'t>(&self, names: impl IntoIterator<Item = &'t str>) -> ExclusionId {
        let names = self.intern_run(&Arc::new(Run::new(names.into_iter().map(Arc::from).collect())));
        self.intern_exclusion(&Exclusion { names, seen: Box::default() })
    }

    /// The set with `text` as well.
    pub(crate) fn exclude(&self, exclusion: ExclusionId, text: &str) -> ExclusionId {
        let known = self.exclusions.get(exclusion.0);
        if self.run(known.names).holds(text) || known.seen.iter().any(|&run| self.run(run).holds(text)) {
            return exclusion;
        }
        let before: SmallVec<[Arc<Run>; 16]> =
            known.seen.iter().map(|&run| Arc::clone(self.run(run))).collect();
        let runs = with_run(&before, Run::new(vec![Arc::from(text)]));
        let seen = runs.into_iter().map(|run| self.intern_run(&run)).collect();
        self.intern_exclusion(&Exclusion { names: known.names, seen })
    }

    /// The number in `self` of a set of `from`.
    pub(crate) fn carry_exclusion(&self, from: &Arena, exclusion: ExclusionId) -> ExclusionId {
        let known = from.exclusions.get(exclusion.0);
        let names = self.carry_run(from, known.names);
        let seen = known.seen.iter().map(|&run| self.carry_run(from, run)).collect();
        self.intern_exclusion(&Exclusion { names, seen })
    }

    pub(super) fn carry_span(&self, from: &Arena, span: Span) -> Span {
        Span { run: self.carry_run(from, span.run), ..span }
    }

    fn carry_run(&self, from: &Arena, run: RunId) -> RunId {
        self.intern_run(from.run(run))
    }

    fn intern_exclusion(&self, exclusion: &Exclusion) -> ExclusionId {
        let (id, is_new) =
            self.exclusions.intern(exclusion, |known| known == exclusion, || exclusion.clone());
        if is_new {
            self.note_bytes(size_of::<Exclusion>() + size_of_val(&*exclusion.seen));
        }
        ExclusionId(id)
    }

    fn intern_run(&self, run: &Arc<Run>) -> RunId {
        let sum = run.whole_sum();
        let copy = || Arc::clone(run);
        let (id, is_new) = self.runs.intern(&sum, |known| known.whole_sum() == sum, copy);
        if is_new {
            self.note_bytes(run.memory_bytes());
        }
        RunId(id)
    }

    fn run(&self, run: RunId) -> &Arc<Run> {
        self.runs.get(run.0)
    }

    /// All texts of a set.
    pub(super) fn spans(&self, exclusion: ExclusionId) -> Spans {
        let known = self.exclusions.get(exclusion.0);
        let span = |run: RunId| Span { run, start: 0, end: self.run(run).len() as u32 };
        let runs = std::iter::once(known.names).chain(known.seen.iter().copied());
        runs.map(span).filter(|span| span.start < span.end).collect()
    }

    /// The texts of a span.
    pub(super) fn span_texts(&self, span: Span) -> &[Arc<str>] {
        &self.run(span.run).texts()[span.start as usize..span.end as usize]
    }

    /// What the hashes of the texts of a span come to.
    pub(super) fn span_sum(&self, span: Span) -> u128 {
        self.run(span.run).sum(span.start as usize..span.end as usize)
    }

    /// The texts whose first `depth` bytes are those of the spans, and whose next is `byte`.
    pub(super) fn narrow(&self, spans: &[Span], depth: usize, byte: u8) -> Spans {
        let next = |text: &Arc<str>| text.as_bytes().get(depth).copied();
        self.narrow_by(spans, |text| next(text) < Some(byte), |text| next(text) <= Some(byte))
    }

    /// Whether a code point of the range may come next.
    pub(super) fn has_next_char(&self, spans: &[Span], depth: usize, (low, high): (u32, u32)) -> bool {
        let next = |text: &Arc<str>| text.get(depth..).and_then(|rest| rest.chars().next()).map(u32::from);
        !self.narrow_by(spans, |text| next(text) < Some(low), |text| next(text) <= Some(high)).is_empty()
    }

    fn narrow_by(
        &self,
        spans: &[Span],
        is_before: impl Fn(&Arc<str>) -> bool,
        is_not_after: impl Fn(&Arc<str>) -> bool,
    ) -> Spans {
        let narrow = |&span: &Span| {
            let texts = self.span_texts(span);
            let start = span.start + texts.partition_point(&is_before) as u32;
            let end = span.start + texts.partition_point(&is_not_after) as u32;
            Span { start, end, ..span }
        };
        spans.iter().map(narrow).filter(|span| span.start < span.end).collect()
    }

    /// Whether one of the texts ends here.
    pub(super) fn has_end(&self, spans: &[Span], depth: usize) -> bool {
        spans.iter().any(|&span| self.span_texts(span)[0].len() == depth)
    }

    /// The bytes that may come next, sorted.
    pub(super) fn next_bytes(&self, spans: &[Span], depth: usize) -> SmallVec<[u8; 16]> {
        let mut bytes: SmallVec<[u8; 16]> = SmallVec::new();
        for &span in spans {
            let texts = self.span_texts(span);
            let mut at = 0;
            while let Some(text) = texts.get(at) {
                let next = text.as_bytes().get(depth).copied();
                bytes.extend(next);
                at += texts[at..].partition_point(|text| text.as_bytes().get(depth).copied() <= next);
            }
        }
        bytes.sort_unstable();
        bytes.dedup();
        bytes
    }
}
