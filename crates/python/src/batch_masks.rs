//! The masks of a batch: rows that are written with the GIL, once all of them are known.

#![expect(unsafe_code, reason = "hands rows of foreign bitmasks to the engine in several threads")]

use pyo3::prelude::*;

use crate::batch_work::{Threads, work_all};
use crate::buffer::mask::{MaskArray, MaskRow};
use crate::errors;
use crate::matcher::{self, GrammarMatcher};

/// The masks to be written: of each matcher, into which row.
pub(crate) struct Masks<'a> {
    pub(crate) matchers: Vec<&'a GrammarMatcher>,
    pub(crate) indices: Vec<isize>,
    pub(crate) words: usize,
}

/// One row to be written, with the mask if it was not known.
struct Job<'a> {
    matcher: &'a GrammarMatcher,
    row: MaskRow,
    found: Option<&'a [u32]>,
}

impl Masks<'_> {
    /// Writes all of them, or none if there is an error.
    ///
    /// PERF: nearly always all are known, and then the rows are filled in place, by several threads while this one holds the
    /// GIL. Masks that are not known are made into rows of our own, and copied.
    pub(crate) fn fill(&self, bitmask: &Bound<'_, PyAny>, threads: &Threads) -> PyResult<()> {
        let py = bitmask.py();
        let mut found: Vec<Option<Vec<u32>>> = self.matchers.iter().map(|_| None).collect();
        // Errors of the bitmask come before those of matchers.
        let mut target = self.open(bitmask)?;
        loop {
            let is_known = |at: usize| found[at].is_some() || self.matchers[at].knows_mask();
            let mut unknown: Vec<usize> = (0..found.len()).filter(|&at| !is_known(at)).collect();
            if unknown.is_empty() {
                unknown = self.write(&target, &found, threads);
            }
            if unknown.is_empty() {
                return Ok(());
            }
            drop(target);
            self.find(py, &unknown, &mut found, threads)?;
            // What it looked like before may have changed since.
            target = self.open(bitmask)?;
        }
    }

    fn open<'py>(&self, bitmask: &Bound<'py, PyAny>) -> PyResult<(MaskArray<'py>, Vec<MaskRow>)> {
        let py = bitmask.py();
        let mask = MaskArray::open(bitmask, self.words)?;
        let mut taken = vec![false; mask.rows.len()];
        let mut rows = Vec::with_capacity(self.indices.len());
        for &index in &self.indices {
            rows.push(mask.rows.get(py, index)?);
            if std::mem::replace(&mut taken[index.unsigned_abs()], true) {
                return Err(errors::argument(py, format!("two matchers have the row {index}")));
            }
        }
        Ok((mask, rows))
    }

    /// Finds masks without the GIL.
    fn find(
        &self,
        py: Python<'_>,
        unknown: &[usize],
        found: &mut [Option<Vec<u32>>],
        threads: &Threads,
    ) -> PyResult<()> {
        let matchers: Vec<_> = unknown.iter().map(|&at| self.matchers[at]).collect();
        let mut masks: Vec<Option<Option<Vec<u32>>>> = unknown.iter().map(|_| None).collect();
        work_all(py, Some(threads), &matchers, &mut masks, |_, matcher| {
            (!matcher.is_stopped()).then(|| {
                let mut mask = vec![0; self.words];
                matcher.fill_mask(&mut mask);
                mask
            })
        })?;
        for (&at, mask) in unknown.iter().zip(masks) {
            found[at] = Some(mask.flatten().ok_or_else(|| matcher::terminated(py))?);
        }
        Ok(())
    }

    /// Writes the rows, with the GIL. Those that are not known any more, because somebody else has moved a matcher.
    fn write(
        &self,
        (mask, rows): &(MaskArray<'_>, Vec<MaskRow>),
        found: &[Option<Vec<u32>>],
        threads: &Threads,
    ) -> Vec<usize> {
        let job = |at: usize| Job { matcher: self.matchers[at], row: rows[at], found: found[at].as_deref() };
        let jobs: Vec<Job<'_>> = (0..rows.len()).map(job).collect();
        let is_written: Vec<bool> = if mask.rows.are_apart() {
            threads.share(&jobs, || {}, Job::write)
        } else {
            jobs.iter().map(Job::write).collect()
        };
        (0..rows.len()).filter(|&at| !is_written[at]).collect()
    }
}

impl Job<'_> {
    /// Writes the row; false if the mask is not known. It waits for nobody.
    fn write(&self) -> bool {
        // SAFETY: the bitmask is open until the whole batch is done, the calling thread holds the GIL meanwhile, and each job has
        // a row of its own.
        unsafe {
            if let Some(found) = self.found {
                self.row.write(found);
                return true;
            }
            let matcher = self.matcher.try_lock();
            matcher.is_some_and(|it| self.row.fill_if(|row| it.fill_known_mask(row)).is_some())
        }
    }
}
