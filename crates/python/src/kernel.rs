//! The CPU kernel: writes minus infinity over the logits of the tokens that a mask forbids.
//!
//! Works on float32, float16 and bfloat16 of one or two dimensions with any strides. The bits of the float types are
//! written as integers, so no arithmetic on half floats is needed.

#![expect(unsafe_code, reason = "reads masks and writes logits in memory that Python objects own")]

use std::ops::Range;

use pyo3::prelude::*;

use crate::buffer::{Array, Element, Matrix};
use crate::detached::detached;
use crate::errors;

const BITS: usize = 32;

/// How many logits are looked at before others may run: this takes half a millisecond.
const PORTION: usize = 1 << 18;

/// A job: which rows of which arrays. Plain addresses and sizes, checked.
struct Job {
    logits: Matrix,
    mask: Matrix,
    columns: usize,
    element: Element,
    rows: Vec<(usize, usize)>,
}

/// Writes minus infinity into ``logits`` where ``bitmask`` has a zero.
///
/// Without ``vocab_size`` all columns are covered: those that the mask has no bit for are forbidden. With it, columns
/// from there on are left alone. ``indices`` chooses rows of both arrays.
#[pyfunction]
#[pyo3(signature = (logits, bitmask, vocab_size = None, indices = None))]
#[expect(clippy::needless_pass_by_value, reason = "an argument of Python")]
pub(crate) fn apply_token_bitmask_inplace_cpu(
    logits: &Bound<'_, PyAny>,
    bitmask: &Bound<'_, PyAny>,
    vocab_size: Option<usize>,
    indices: Option<Vec<isize>>,
) -> PyResult<()> {
    let py = logits.py();
    let mut first = 0;
    loop {
        // Who has the GIL can give an object other memory. So it is kept while logits are written, and after others have had it
        // the arrays are looked at again.
        let logits = Array::open(logits, "the logits")?;
        let bitmask = Array::open(bitmask, "the bitmask")?;
        let refuse = |message: String| errors::bitmask(py, message);
        let job = plan(&logits, &bitmask, vocab_size, indices.as_deref()).map_err(refuse)?;
        let last = job.rows.len().min(first + (PORTION / job.columns.max(1)).max(1));
        job.run(first..last);
        if last == job.rows.len() {
            return Ok(());
        }
        first = last;
        detached(py, || {})?;
        py.check_signals()?;
    }
}

/// Checks the arrays, and says which rows go together.
fn plan(
    logits: &Array<'_>,
    bitmask: &Array<'_>,
    vocab_size: Option<usize>,
    indices: Option<&[isize]>,
) -> Result<Job, String> {
    if !logits.layout.is_on_cpu || !bitmask.layout.is_on_cpu {
        return Err("the logits and the bitmask must be in the memory of the CPU".to_owned());
    }
    if !matches!(logits.layout.element, Element::Float32 | Element::Float16 | Element::Bfloat16) {
        return Err("the logits must be float32, float16 or bfloat16".to_owned());
    }
    if !matches!(bitmask.layout.element, Element::Int32 | Element::Uint32) {
        return Err("the elements of the bitmask must be int32".to_owned());
    }
    if !logits.layout.is_writable {
        return Err("the logits are read-only".to_owned());
    }
    let element = logits.layout.element;
    let (Some(logits), Some(mask)) = (logits.layout.as_matrix(), bitmask.layout.as_matrix()) else {
        return Err("the logits and the bitmask must have one or two dimensions".to_owned());
    };
    let columns = match vocab_size {
        Some(size) if size > logits.columns => {
            return Err(format!("vocab_size is {size}, and the logits have {} columns", logits.columns));
        }
        Some(size) if size > mask.columns * BITS => {
            return Err(format!(
                "vocab_size is {size}, and the bitmask has {} bits in a row",
                mask.columns * BITS
            ));
        }
        Some(size) => size,
        None => logits.columns,
    };
    let rows = match indices {
        None if logits.rows != mask.rows => {
            return Err(format!("the logits have {} rows, and the bitmask has {}", logits.rows, mask.rows));
        }
        None => (0..logits.rows).map(|row| (row, row)).collect(),
        Some(indices) => chosen_rows(indices, logits.rows.min(mask.rows))?,
    };
    Ok(Job { logits, mask, columns, element, rows })
}

fn chosen_rows(indices: &[isize], rows: usize) -> Result<Vec<(usize, usize)>, String> {
    let check = |&index: &isize| {
        let row = usize::try_from(index).ok().filter(|&row| row < rows);
        row.map(|row| (row, row)).ok_or_else(|| format!("row {index} is outside the logits or the bitmask"))
    };
    indices.iter().map(check).collect()
}

impl Job {
    /// Does some of the rows.
    fn run(&self, rows: Range<usize>) {
        match self.element {
            Element::Float32 => self.forbid::<u32>(rows, 0xFF80_0000),
            Element::Float16 => self.forbid::<u16>(rows, 0xFC00),
            _ => self.forbid::<u16>(rows, 0xFF80),
        }
    }

    fn forbid<T: Copy>(&self, rows: Range<usize>, minus_infinity: T) {
        for &(logits_row, mask_row) in &self.rows[rows] {
            let target = Strided { pointer: self.logits.row(logits_row), stride: self.logits.column_stride };
            let mask = Strided { pointer: self.mask.row(mask_row), stride: self.mask.column_stride };
            for word_at in 0..self.columns.div_ceil(BITS) {
                // SAFETY: `word_at` is a column of the mask.
                let word = if word_at < self.mask.columns { unsafe { mask.read(word_at) } } else { 0 };
                let first = word_at * BITS;
                let count = BITS.min(self.columns - first);
                // SAFETY: `first + count` columns are within `columns`, which is at most what the logits have.
                unsafe { target.forbid(first, count, !word, minus_infinity) };
            }
        }
    }
}

/// Elements at equal distances.
#[derive(Clone, Copy)]
struct Strided {
    pointer: *mut u8,
    stride: isize,
}

impl Strided {
    fn at(self, index: usize) -> *mut u8 {
        self.pointer.wrapping_offset(index.cast_signed() * self.stride)
    }

    /// The word at `index`.
    ///
    /// # Safety
    ///
    /// There is such an element.
    unsafe fn read(self, index: usize) -> u32 {
        // SAFETY: the caller's promise; it need not be aligned.
        unsafe { self.at(index).cast::<u32>().read_unaligned() }
    }

    /// Writes `value` to those of the `count` elements from `first` on whose bit is set in `forbidden`.
    ///
    /// # Safety
    ///
    /// There are such elements, of type `T`, and nobody else uses them.
    unsafe fn forbid<T: Copy>(self, first: usize, count: usize, forbidden: u32, value: T) {
        let mut left = if count < BITS { forbidden & ((1 << count) - 1) } else { forbidden };
        if left == u32::MAX {
            for at in first..first + BITS {
                // SAFETY: the caller's promise.
                unsafe { self.at(at).cast::<T>().write_unaligned(value) };
            }
            return;
        }
        while left != 0 {
            let at = first + left.trailing_zeros() as usize;
            // SAFETY: the caller's promise: only the lowest `count` bits are left.
            unsafe { self.at(at).cast::<T>().write_unaligned(value) };
            left &= left - 1;
        }
    }
}
