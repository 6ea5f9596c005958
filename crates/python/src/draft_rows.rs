//! What a serving engine does at each step, for a whole batch in one call without the GIL: masks along draft tokens, and
//! tokens accepted.

#![expect(unsafe_code, reason = "writes rows of foreign bitmasks")]

use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tokenstile_engine::Matcher;
use tokenstile_engine::draft_rows::{Drafts, Outcome, Row, accept_all};

use crate::batch::{BatchGrammarMatcher, check_length, collect};
use crate::batch_masks::Masks;
use crate::batch_work::{Threads, work_all};
use crate::buffer::mask::{MaskArray, MaskRow};
use crate::errors;
use crate::matcher::GrammarMatcher;

/// Stands for a number that is too large to be a token.
const NO_TOKEN: i64 = i64::MAX;

/// One request of a batch, with the number of its first row.
struct Job {
    start: usize,
    tokens: Vec<i64>,
    parents: Option<Vec<i64>>,
}

/// What became of the drafts of one request, in one byte each, and the rows of their masks, one after the other.
type Found = (Vec<u8>, Vec<u32>);

impl Job {
    fn drafts(&self) -> Drafts<'_> {
        Drafts { tokens: &self.tokens, parents: self.parents.as_deref() }
    }

    fn find(&self, matcher: &mut Matcher, words: usize) -> Found {
        let mut rows = vec![0; self.drafts().rows() * words];
        let outcomes = self.drafts().walk(matcher, |row, content| {
            let row = &mut rows[row * words..(row + 1) * words];
            match content {
                Row::Open => row.fill(u32::MAX),
                Row::Mask(matcher) => {
                    matcher.fill_mask(row);
                }
            }
        });
        // The parents were checked before, so there is no error.
        (outcomes.unwrap_or_default().into_iter().map(|outcome: Outcome| outcome as u8).collect(), rows)
    }
}

/// Fill the masks of many matchers, each followed by the masks along its draft tokens.
///
/// Matcher ``i`` has the rows from ``starts[i]`` on: one for where it stands, and one for each token of ``drafts[i]``;
/// ``drafts`` is None if there are none.
/// ``parents`` is None if all drafts are chains, or has for each matcher None or the number of the draft that each draft
/// follows, -1 for the place of the matcher. Rows after a draft that does not fit repeat the last mask; rows after the
/// end of the text, and from padding (-1) on, allow everything. No matcher moves.
///
/// Returns one byte for each draft: 0 it does not fit, 1 it fits, 2 it fits and ends the text, 3 it was not looked at.
#[pyfunction]
#[pyo3(signature = (batch, matchers, starts, drafts, parents, bitmask))]
pub(crate) fn batch_fill_drafts<'py>(
    batch: &Bound<'py, BatchGrammarMatcher>,
    matchers: &Bound<'py, PyAny>,
    starts: Vec<usize>,
    drafts: Option<&Bound<'py, PyAny>>,
    parents: Option<&Bound<'py, PyAny>>,
    bitmask: &Bound<'py, PyAny>,
) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    let py = bitmask.py();
    let matchers = collect(matchers)?;
    let drafts = match drafts {
        None => vec![Vec::new(); matchers.len()],
        Some(drafts) => drafts.try_iter()?.map(|tokens| integers(&tokens?)).collect::<PyResult<Vec<_>>>()?,
    };
    let parents = match parents {
        None => vec![None; matchers.len()],
        Some(parents) => parents
            .try_iter()?
            .map(|list| {
                list.and_then(|list| if list.is_none() { Ok(None) } else { integers(&list).map(Some) })
            })
            .collect::<PyResult<Vec<_>>>()?,
    };
    check_length(py, "starts", starts.len(), matchers.len())?;
    check_length(py, "drafts", drafts.len(), matchers.len())?;
    check_length(py, "parents", parents.len(), matchers.len())?;
    let Some(first) = matchers.first() else { return Ok(Vec::new()) };
    let words = first.get().words();
    if matchers.iter().any(|matcher| matcher.get().words() != words) {
        return Err(errors::bitmask(py, "the matchers have vocabularies of different sizes"));
    }
    let mut jobs = Vec::with_capacity(matchers.len());
    for (start, (tokens, parents)) in starts.into_iter().zip(drafts.into_iter().zip(parents)) {
        let job = Job { start, tokens, parents };
        job.drafts().check().map_err(|error| errors::argument(py, error.to_string()))?;
        jobs.push(job);
    }
    let alone: Vec<&GrammarMatcher> = matchers.iter().map(Bound::get).collect();
    let found = fill(bitmask, batch.get().threads(), alone, &jobs, words)?;
    Ok(found.iter().map(|(outcomes, _)| PyBytes::new(py, outcomes)).collect())
}

/// Fills the rows of all jobs, or none if there is an error.
fn fill(
    bitmask: &Bound<'_, PyAny>,
    threads: &Threads,
    matchers: Vec<&GrammarMatcher>,
    jobs: &[Job],
    words: usize,
) -> PyResult<Vec<Found>> {
    let py = bitmask.py();
    if jobs.iter().all(|job| job.tokens.is_empty()) && matchers.iter().all(|matcher| matcher.knows_mask()) {
        let indices = jobs.iter().map(|job| isize::try_from(job.start).unwrap_or(-1)).collect();
        Masks { matchers, indices, words }.fill(bitmask, threads)?;
        return Ok(jobs.iter().map(|_| Found::default()).collect());
    }
    // An error is told before the work, and what is written is looked at again after it.
    drop(open(bitmask, jobs, words)?);
    let mut found: Vec<Option<Found>> = jobs.iter().map(|_| None).collect();
    work_all(py, Some(threads), &matchers, &mut found, |at, matcher| jobs[at].find(matcher, words))?;
    let (_mask, rows) = open(bitmask, jobs, words)?;
    let found: Vec<Found> = found.into_iter().map(Option::unwrap_or_default).collect();
    for (rows, (_, contents)) in rows.iter().zip(&found) {
        for (row, content) in rows.iter().zip(contents.chunks(words.max(1))) {
            // SAFETY: the bitmask is open, the GIL was held since then, and no two jobs have the same row.
            unsafe { row.write(content) };
        }
    }
    Ok(found)
}

/// The rows of each job in an open bitmask.
type Opened<'py> = (MaskArray<'py>, Vec<Vec<MaskRow>>);

fn open<'py>(bitmask: &Bound<'py, PyAny>, jobs: &[Job], words: usize) -> PyResult<Opened<'py>> {
    let mask = MaskArray::open(bitmask, words)?;
    let mut taken = vec![false; mask.rows.len()];
    let mut rows = Vec::with_capacity(jobs.len());
    for job in jobs {
        rows.push(take_rows(bitmask.py(), &mask, &mut taken, job.start, job.drafts().rows())?);
    }
    Ok((mask, rows))
}

/// Let each matcher take its tokens, all of them or none; returns which of them fit.
///
/// No tokens always fit, and tokens after the end of a text are ignored.
#[pyfunction]
#[pyo3(signature = (batch, matchers, tokens))]
pub(crate) fn batch_accept_tokens(
    batch: &Bound<'_, BatchGrammarMatcher>,
    matchers: &Bound<'_, PyAny>,
    tokens: &Bound<'_, PyAny>,
) -> PyResult<Vec<bool>> {
    let py = tokens.py();
    let matchers = collect(matchers)?;
    let tokens = tokens.try_iter()?.map(|list| integers(&list?)).collect::<PyResult<Vec<_>>>()?;
    check_length(py, "tokens", tokens.len(), matchers.len())?;
    let alone: Vec<&GrammarMatcher> = matchers.iter().map(Bound::get).collect();
    let mut done: Vec<Option<(bool, usize)>> = alone.iter().map(|_| None).collect();
    let result = work_all(py, Some(batch.get().threads()), &alone, &mut done, |at, matcher| {
        let before = matcher.history_len();
        let fits = accept_all(matcher, &tokens[at]);
        (fits, matcher.history_len() - before)
    });
    if let Err(error) = result {
        for (matcher, (_, taken)) in
            alone.iter().zip(done).filter_map(|(matcher, done)| Some((matcher, done?)))
        {
            matcher.lock(py)?.rollback(taken).map_err(|error| errors::matcher(py, error.to_string()))?;
        }
        return Err(error);
    }
    Ok(done.into_iter().map(|done| done.is_some_and(|(fits, _)| fits)).collect())
}

/// The rows of one job, which no other job has.
fn take_rows(
    py: Python<'_>,
    mask: &MaskArray<'_>,
    taken: &mut [bool],
    start: usize,
    count: usize,
) -> PyResult<Vec<MaskRow>> {
    let take = |row: usize| {
        let found = mask.rows.get(py, isize::try_from(row).unwrap_or(-1))?;
        if std::mem::replace(&mut taken[row], true) {
            return Err(errors::argument(py, format!("two matchers have the row {row}")));
        }
        Ok(found)
    };
    (start..start.saturating_add(count)).map(take).collect()
}

/// The numbers of a sequence; those that no token has become one that never fits.
fn integers(list: &Bound<'_, PyAny>) -> PyResult<Vec<i64>> {
    if let Ok(numbers) = list.extract::<Vec<i64>>() {
        return Ok(numbers);
    }
    let number = |item: Bound<'_, PyAny>| match item.extract::<i64>() {
        Err(error) if error.is_instance_of::<PyOverflowError>(item.py()) => Ok(NO_TOKEN),
        other => other,
    };
    list.try_iter()?.map(|item| number(item?)).collect()
}
