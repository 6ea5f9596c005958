//! Bitmasks in foreign memory: what they must look like, and how rows are written.
//!
//! A mask has one bit a token: bit `t % 32` of word `t / 32`, words of 32 bits, one row a request. Rows can lie anywhere
//! (slices, transposed arrays, reversed arrays): strides are respected. A row whose words are not side by side goes
//! through a scratch row.

#![expect(unsafe_code, reason = "writes rows of masks into memory that Python objects own")]

use pyo3::prelude::*;

use super::{Array, Element, Matrix};
use crate::errors;

const WORD_BYTES: isize = 4;

/// An open bitmask.
pub(crate) struct MaskArray<'py> {
    pub(crate) rows: MaskRows,
    _array: Array<'py>,
}

/// The rows of an open bitmask. Valid as long as the [`MaskArray`] that it came from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MaskRows(Matrix);

// SAFETY: a plain address and sizes. Every write goes through `MaskRow`, whose users see to it that no two threads
// have the same row.
unsafe impl Send for MaskRows {}
// SAFETY: as above.
unsafe impl Sync for MaskRows {}

/// One row of an open bitmask.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MaskRow {
    pointer: *mut u8,
    words: usize,
    word_stride: isize,
}

// SAFETY: as for `MaskRows`.
unsafe impl Send for MaskRow {}
// SAFETY: as for `MaskRows`; a shared row is not written, only copied.
unsafe impl Sync for MaskRow {}

impl<'py> MaskArray<'py> {
    /// Opens `object` for writing rows of `words` words.
    pub(crate) fn open(object: &Bound<'py, PyAny>, words: usize) -> PyResult<Self> {
        let array = Array::open(object, "the bitmask")?;
        let rows = Self::check(&array, words).map_err(|message| errors::bitmask(object.py(), message))?;
        Ok(MaskArray { rows, _array: array })
    }

    fn check(array: &Array<'_>, words: usize) -> Result<MaskRows, String> {
        let layout = &array.layout;
        if !layout.is_on_cpu {
            return Err("the bitmask must be in the memory of the CPU; fill it there and copy it".to_owned());
        }
        if !matches!(layout.element, Element::Int32 | Element::Uint32) {
            return Err("the elements of the bitmask must be int32".to_owned());
        }
        if !layout.is_writable {
            return Err("the bitmask is read-only".to_owned());
        }
        let Some(matrix) = layout.as_matrix() else {
            return Err(format!("the bitmask must have one or two dimensions, not {}", layout.dimensions));
        };
        if matrix.columns != words {
            let columns = matrix.columns;
            return Err(format!(
                "the bitmask must have {words} words in a row for this vocabulary, not {columns}"
            ));
        }
        let is_one_place = |count: usize, stride: isize| count > 1 && stride == 0;
        if is_one_place(matrix.rows, matrix.row_stride) || is_one_place(matrix.columns, matrix.column_stride)
        {
            let message =
                "the bitmask was expanded: several of its elements are one place in memory; copy it first";
            return Err(message.to_owned());
        }
        Ok(MaskRows(matrix))
    }
}

impl MaskRows {
    /// How many rows there are.
    pub(crate) fn len(&self) -> usize {
        self.0.rows
    }

    /// Whether no two rows share memory for sure.
    pub(crate) fn are_apart(&self) -> bool {
        self.0.column_stride == WORD_BYTES && self.0.row_stride.unsigned_abs() >= self.0.columns * 4
    }

    /// The row `index`, which counts from 0.
    pub(crate) fn get(&self, py: Python<'_>, index: isize) -> PyResult<MaskRow> {
        let row = usize::try_from(index).ok().filter(|&row| row < self.0.rows);
        let row = row.ok_or_else(|| {
            errors::bitmask(py, format!("row {index} is outside the bitmask, which has {} rows", self.0.rows))
        })?;
        Ok(MaskRow { pointer: self.0.row(row), words: self.0.columns, word_stride: self.0.column_stride })
    }
}

impl MaskRow {
    /// Lets `fill` write the row, if it has what to write.
    ///
    /// # Safety
    ///
    /// The bitmask that the row came from is still open, nobody else uses the row meanwhile, and the GIL was held since the
    /// bitmask was opened: who has it can give the object other memory.
    #[inline]
    #[expect(clippy::cast_ptr_alignment, reason = "the alignment is looked at")]
    pub(crate) unsafe fn fill_if<R>(self, fill: impl FnOnce(&mut [u32]) -> Option<R>) -> Option<R> {
        if self.word_stride == WORD_BYTES && self.pointer.cast::<u32>().is_aligned() && self.words > 0 {
            // SAFETY: the row is `words` words side by side and aligned, inside the open array; the caller promises
            // that nobody else uses it.
            let row = unsafe { std::slice::from_raw_parts_mut(self.pointer.cast::<u32>(), self.words) };
            return fill(row);
        }
        let mut scratch = vec![0; self.words];
        let result = fill(&mut scratch)?;
        // SAFETY: the caller's promise.
        unsafe { self.write(&scratch) };
        Some(result)
    }

    /// Writes `words`, which are as many as the row has.
    ///
    /// # Safety
    ///
    /// As for [`MaskRow::fill_if`].
    pub(crate) unsafe fn write(self, words: &[u32]) {
        assert_eq!(words.len(), self.words, "a row has the words of a mask");
        if self.word_stride == WORD_BYTES {
            let bytes = size_of_val(words);
            // SAFETY: the row is so many bytes side by side, inside the open array, and `words` are memory of our own.
            unsafe { self.pointer.copy_from_nonoverlapping(words.as_ptr().cast(), bytes) };
            return;
        }
        for (at, &word) in (0_isize..).zip(words) {
            let target = self.pointer.wrapping_offset(at * self.word_stride);
            // SAFETY: the address of word `at` of the row, inside the open array; it need not be aligned.
            unsafe { target.cast::<u32>().write_unaligned(word) };
        }
    }
}
