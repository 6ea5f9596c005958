//! The arrays of `traverse_draft_tree`.

#![expect(unsafe_code, reason = "reads and writes the elements of foreign arrays")]

use std::time::Duration;

use parking_lot::Mutex;
use pyo3::prelude::*;
use tokenstile_engine::Matcher;
use tokenstile_engine::draft_tree::{DraftTree, Visit, traverse};

use crate::buffer::mask::{MaskArray, MaskRow};
use crate::buffer::{Array, Element};
use crate::errors;

/// The arrays of one call, checked: all have one entry for each node.
pub(crate) struct Arrays<'py> {
    links_and_tokens: [Vec<i64>; 3],
    mask: MaskArray<'py>,
    temperatures: Option<Array<'py>>,
}

/// What stands for no temperature, as in `batch_fill_temperature`.
const NO_TEMPERATURE: f32 = -1.0;

/// Addresses of the temperatures of the nodes.
struct Temperatures(*mut u8, isize);

impl Temperatures {
    /// Writes the temperature of a node.
    ///
    /// # Safety
    ///
    /// The array is open, and has an entry for the node.
    unsafe fn write(&self, node: usize, value: f32) {
        let &Temperatures(pointer, stride) = self;
        let target = pointer.wrapping_offset(node.cast_signed() * stride);
        // SAFETY: the address of an element, as the caller promises.
        unsafe { target.cast::<f32>().write_unaligned(value) };
    }
}

// SAFETY: a plain address, used only by the thread that the caller waits for.
unsafe impl Send for Temperatures {}
// SAFETY: as above.
unsafe impl Sync for Temperatures {}

impl<'py> Arrays<'py> {
    /// Opens and checks the arrays. The links and tokens are copied: they are small, and can have any strides.
    pub(crate) fn open(
        links_and_tokens: [&Bound<'py, PyAny>; 3],
        bitmask: &Bound<'py, PyAny>,
        temperatures: Option<&Bound<'py, PyAny>>,
        words: usize,
    ) -> PyResult<Self> {
        let py = bitmask.py();
        let [children, siblings, tokens] = links_and_tokens;
        let links_and_tokens = [
            integers(children, "retrieve_next_token")?,
            integers(siblings, "retrieve_next_sibling")?,
            integers(tokens, "draft_tokens")?,
        ];
        let nodes = links_and_tokens[2].len();
        if links_and_tokens.iter().any(|array| array.len() != nodes) {
            return Err(errors::bitmask(py, "the three arrays of the draft tree must have the same length"));
        }
        let mask = MaskArray::open(bitmask, words)?;
        if mask.rows.len() < nodes {
            let message = format!("the bitmask has {} rows for {nodes} nodes", mask.rows.len());
            return Err(errors::bitmask(py, message));
        }
        let temperatures = temperatures.map(|array| open_temperatures(array, nodes)).transpose()?;
        Ok(Arrays { links_and_tokens, mask, temperatures })
    }

    /// Walks the tree without the GIL.
    pub(crate) fn traverse(
        &self,
        py: Python<'_>,
        matcher: &Mutex<Matcher>,
        time_threshold: f64,
    ) -> PyResult<bool> {
        let [first_child, next_sibling, tokens] = &self.links_and_tokens;
        let tree = DraftTree { first_child, next_sibling, tokens };
        let time_limit = Duration::try_from_secs_f64(time_threshold).ok();
        let rows: Vec<MaskRow> = (0..tokens.len())
            .map(|node| self.mask.rows.get(py, node.cast_signed()))
            .collect::<PyResult<_>>()?;
        let temperatures = self
            .temperatures
            .as_ref()
            .map(|array| Temperatures(array.layout.pointer, array.layout.strides[0]));
        let finished = py.detach(|| {
            // A node that is not visited has none either.
            for node in 0..tokens.len() {
                // SAFETY: `open_temperatures` saw to it that there is one for each node.
                temperatures.iter().for_each(|all| unsafe { all.write(node, NO_TEMPERATURE) });
            }
            let mut matcher = matcher.lock();
            traverse(&mut matcher, tree, time_limit, |node, visit| {
                fill_node(rows[node], temperatures.as_ref(), node, visit);
            })
        });
        finished.map_err(|error| errors::argument(py, error.to_string()))
    }
}

fn fill_node(row: MaskRow, temperatures: Option<&Temperatures>, node: usize, visit: Visit<'_>) {
    // SAFETY: the arrays are open as long as `Arrays` is, with an entry for each node, and the caller of the method does
    // not use them meanwhile.
    unsafe {
        match visit {
            Visit::Closed => row.fill(|row| row.fill(0)),
            Visit::Open(matcher) => {
                row.fill(|row| matcher.fill_mask(row));
                if let (Some(temperatures), Some(value)) = (temperatures, matcher.temperature()) {
                    temperatures.write(node, value);
                }
            }
        }
    }
}

/// Opens an array of float32 with an entry for each of `length` nodes or matchers.
pub(crate) fn open_temperatures<'py>(object: &Bound<'py, PyAny>, length: usize) -> PyResult<Array<'py>> {
    let array = Array::open(object, "temperatures")?;
    let layout = &array.layout;
    let is_right = layout.dimensions == 1 && layout.element == Element::Float32 && layout.is_on_cpu;
    if !is_right || !layout.is_writable || layout.shape[0] < length {
        let message =
            format!("temperatures must be a writable float32 array on the CPU with {length} elements");
        return Err(errors::bitmask(object.py(), message));
    }
    Ok(array)
}

fn integers(object: &Bound<'_, PyAny>, what: &str) -> PyResult<Vec<i64>> {
    let array = Array::open(object, what)?;
    let layout = &array.layout;
    if layout.dimensions != 1 || layout.element != Element::Int64 || !layout.is_on_cpu {
        let message = format!("{what} must be an int64 array of one dimension on the CPU");
        return Err(errors::bitmask(object.py(), message));
    }
    let read = |at: usize| {
        let source = layout.pointer.wrapping_offset(at.cast_signed() * layout.strides[0]);
        // SAFETY: the address of element `at` of the open array.
        unsafe { source.cast::<i64>().read_unaligned() }
    };
    Ok((0..layout.shape[0]).map(read).collect())
}
