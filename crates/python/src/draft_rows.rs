//! What a serving engine does at each step, for a whole batch in one call without the GIL: masks along draft tokens, and
//! tokens accepted.

#![expect(unsafe_code, reason = "hands rows of foreign bitmasks to the engine in several threads")]

use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tokenstile_engine::draft_rows::{Drafts, Outcome, Row, accept_all};

use crate::batch::{BatchGrammarMatcher, check_length, collect};
use crate::buffer::mask::{MaskArray, MaskRow};
use crate::errors;
use crate::matcher::GrammarMatcher;

/// Stands for a number that is too large to be a token.
const NO_TOKEN: i64 = i64::MAX;

/// One request of a batch, with the rows that are its own.
struct Job<'a> {
    matcher: &'a GrammarMatcher,
    rows: Vec<MaskRow>,
    tokens: Vec<i64>,
    parents: Option<Vec<i64>>,
}

impl Job<'_> {
    fn drafts(&self) -> Drafts<'_> {
        Drafts { tokens: &self.tokens, parents: self.parents.as_deref() }
    }

    /// Fills all rows; what became of the drafts, in one byte each.
    fn run(&self) -> Vec<u8> {
        let mut matcher = self.matcher.lock_detached();
        let outcomes = self.drafts().walk(&mut matcher, |row, content| fill(self.rows[row], content));
        // The parents were checked before, so there is no error.
        outcomes.unwrap_or_default().into_iter().map(|outcome: Outcome| outcome as u8).collect()
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
    let mask = MaskArray::open(bitmask, words)?;
    let mut taken = vec![false; mask.rows.len()];
    let mut jobs = Vec::with_capacity(matchers.len());
    for (matcher, ((start, tokens), parents)) in
        matchers.iter().zip(starts.into_iter().zip(drafts).zip(parents))
    {
        let job = Job { matcher: matcher.get(), rows: Vec::new(), tokens, parents };
        job.drafts().check().map_err(|error| errors::argument(py, error.to_string()))?;
        let rows = take_rows(py, &mask, &mut taken, start, job.drafts().rows())?;
        jobs.push(Job { rows, ..job });
    }
    let (batch, are_apart) = (batch.get(), mask.rows.are_apart());
    let results =
        py.detach(
            || {
                if are_apart { batch.share(&jobs, Job::run) } else { jobs.iter().map(Job::run).collect() }
            },
        );
    Ok(results.iter().map(|outcomes| PyBytes::new(py, outcomes)).collect())
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
    let jobs: Vec<_> = matchers.iter().map(Bound::get).zip(tokens).collect();
    let batch = batch.get();
    Ok(py.detach(|| {
        batch.share(&jobs, |(matcher, tokens): &(&GrammarMatcher, Vec<i64>)| {
            accept_all(&mut matcher.lock_detached(), tokens)
        })
    }))
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

fn fill(row: MaskRow, content: Row<'_>) {
    // SAFETY: the bitmask is open until the whole batch is done, and no two jobs have the same row.
    unsafe {
        match content {
            Row::Open => row.fill(|row| row.fill(u32::MAX)),
            Row::Mask(matcher) => row.fill(|row| {
                matcher.fill_mask(row);
            }),
        }
    }
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
