//! The arrays of `traverse_draft_tree`.

#![expect(unsafe_code, reason = "reads and writes the elements of foreign arrays")]

use std::time::Duration;

use pyo3::prelude::*;
use tokenstile_engine::draft_tree::{DraftTree, Visit, traverse};

use crate::buffer::mask::MaskArray;
use crate::buffer::{Array, Element};
use crate::errors;
use crate::matcher::GrammarMatcher;

/// What stands for no temperature, as in `batch_fill_temperature`.
const NO_TEMPERATURE: f32 = -1.0;

/// The links and tokens of a tree. They are copied: they are small, and can have any strides.
pub(crate) struct Tree([Vec<i64>; 3]);

/// What is written: the masks and the temperatures have one entry for each node.
pub(crate) struct Targets<'py> {
    mask: MaskArray<'py>,
    temperatures: Option<Array<'py>>,
}

/// What was found at the nodes that were reached.
pub(crate) struct Found {
    is_finished: bool,
    nodes: Vec<Node>,
    /// Their rows, one after the other.
    rows: Vec<u32>,
}

struct Node {
    number: usize,
    temperature: Option<f32>,
}

impl<'py> Targets<'py> {
    /// Opens and checks the arrays for so many nodes.
    pub(crate) fn open(
        bitmask: &Bound<'py, PyAny>,
        temperatures: Option<&Bound<'py, PyAny>>,
        nodes: usize,
        words: usize,
    ) -> PyResult<Self> {
        let mask = MaskArray::open(bitmask, words)?;
        if mask.rows.len() < nodes {
            let message = format!("the bitmask has {} rows for {nodes} nodes", mask.rows.len());
            return Err(errors::bitmask(bitmask.py(), message));
        }
        let temperatures = temperatures.map(|array| open_temperatures(array, nodes)).transpose()?;
        Ok(Targets { mask, temperatures })
    }

    /// Writes the temperature of one of the nodes that the arrays were opened for.
    fn write_temperature(&self, node: usize, value: Option<f32>) {
        let Some(layout) = self.temperatures.as_ref().map(|array| &array.layout) else { return };
        let target = layout.pointer.wrapping_offset(node.cast_signed() * layout.strides[0]);
        // SAFETY: the array is open, and was checked to have an element for each node.
        unsafe { target.cast::<f32>().write_unaligned(value.unwrap_or(NO_TEMPERATURE)) };
    }
}

impl Tree {
    /// Reads the arrays.
    pub(crate) fn read(links_and_tokens: [&Bound<'_, PyAny>; 3]) -> PyResult<Self> {
        let [children, siblings, tokens] = links_and_tokens;
        let arrays = [
            integers(children, "retrieve_next_token")?,
            integers(siblings, "retrieve_next_sibling")?,
            integers(tokens, "draft_tokens")?,
        ];
        if arrays.iter().any(|array| array.len() != arrays[2].len()) {
            let message = "the three arrays of the draft tree must have the same length";
            return Err(errors::bitmask(tokens.py(), message));
        }
        Ok(Tree(arrays))
    }

    /// How many nodes there are.
    pub(crate) fn len(&self) -> usize {
        self.0[2].len()
    }

    /// Walks the tree without the GIL.
    pub(crate) fn traverse(
        &self,
        py: Python<'_>,
        matcher: &GrammarMatcher,
        time_threshold: f64,
    ) -> PyResult<Found> {
        let [first_child, next_sibling, tokens] = &self.0;
        let tree = DraftTree { first_child, next_sibling, tokens };
        let time_limit = Duration::try_from_secs_f64(time_threshold).ok();
        let words = matcher.words();
        let found = matcher.work(py, |matcher| {
            let (mut nodes, mut rows) = (Vec::new(), Vec::new());
            let is_finished = traverse(matcher, tree, time_limit, |number, visit| {
                let start = rows.len();
                rows.resize(start + words, 0);
                let temperature = match visit {
                    Visit::Closed => None,
                    Visit::Open(matcher) => {
                        matcher.fill_mask(&mut rows[start..]);
                        matcher.temperature()
                    }
                };
                nodes.push(Node { number, temperature });
            });
            is_finished.map(|is_finished| Found { is_finished, nodes, rows })
        })?;
        found.map_err(|error| errors::argument(py, error.to_string()))
    }
}

impl Found {
    /// Whether all nodes were walked in time.
    pub(crate) fn is_finished(&self) -> bool {
        self.is_finished
    }

    /// Writes what was found into arrays that were opened for all `nodes`. A node that was not visited has no temperature.
    pub(crate) fn write(&self, py: Python<'_>, targets: &Targets<'_>, nodes: usize) -> PyResult<()> {
        (0..nodes).for_each(|node| targets.write_temperature(node, None));
        let words = self.rows.len() / self.nodes.len().max(1);
        for (node, content) in self.nodes.iter().zip(self.rows.chunks(words.max(1))) {
            let row = targets.mask.rows.get(py, node.number.cast_signed())?;
            // SAFETY: the bitmask is open, the GIL was held since then, and the caller of the method does not use it meanwhile.
            unsafe { row.write(content) };
            targets.write_temperature(node.number, node.temperature);
        }
        Ok(())
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
