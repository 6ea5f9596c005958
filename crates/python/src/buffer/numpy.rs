//! Layouts of numpy arrays, read where numpy keeps them.
//!
//! PERF: most masks are numpy arrays, and to fill one that is known took 378 ns, of which 118 went into asking for a `DLPack`
//! capsule and dropping it; the fields of the array are there for the reading. Their order is part of numpy's binary
//! interface, which all extensions are compiled against. A sample is compared with what Python says of it first; should they
//! differ, then arrays are opened by `DLPack`, like those that are read-only, not aligned or of other types.

#![expect(unsafe_code, reason = "reads the fields of arrays as numpy's binary interface lays them out")]

use std::ffi::{c_int, c_void};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PySlice;
use pyo3::{ffi, intern};

use super::{Element, Layout};

/// The flags of arrays whose elements are where the CPU wants them and may be written.
const BEHAVED: c_int = 0x0100 | 0x0400;

/// An array as numpy lays it out.
#[repr(C)]
struct Fields {
    head: ffi::PyObject,
    data: *mut c_void,
    dimensions: c_int,
    shape: *const isize,
    strides: *const isize,
    base: *mut ffi::PyObject,
    element: *mut ffi::PyObject,
    flags: c_int,
}

/// The objects that stand for the element types of masks in all arrays that have them.
struct Known {
    int32: Py<PyAny>,
    uint32: Py<PyAny>,
}

static KNOWN: PyOnceLock<Option<Known>> = PyOnceLock::new();

/// The layout of a plain array of 32-bit integers in one or two dimensions; none of any other. The type of `array` must be
/// `numpy.ndarray`.
pub(super) fn layout_of(array: &Bound<'_, PyAny>) -> Option<Layout> {
    let known = KNOWN.get_or_init(array.py(), || Known::find(array.py()).ok()).as_ref()?;
    // SAFETY: the array is a live object of numpy's type, whose fields were found to be laid out so.
    unsafe { known.read(array) }
}

impl Known {
    /// What to compare with, if arrays have the fields that they should have.
    fn find(py: Python<'_>) -> PyResult<Self> {
        let numpy = py.import(intern!(py, "numpy"))?;
        let element = |name: &str| numpy.call_method1(intern!(py, "dtype"), (name,)).map(Bound::unbind);
        let known = Known { int32: element("int32")?, uint32: element("uint32")? };
        let sample = numpy.call_method1(intern!(py, "zeros"), ((3, 5), &known.int32))?;
        let sample = sample.get_item((PySlice::full(py), 2))?;
        let data = sample.getattr(intern!(py, "ctypes"))?.getattr(intern!(py, "data"))?.extract::<usize>()?;
        // SAFETY: a live array. Should its fields be other ones, then those that are read are still inside the object,
        // which is larger than what is read here, and the shape is only followed if it has one dimension.
        let layout = unsafe { known.read(&sample) };
        let is_as_it_should = layout.is_some_and(|layout| {
            (layout.pointer as usize, layout.dimensions, layout.shape, layout.strides)
                == (data, 1, [3, 0], [20, 0])
        });
        if is_as_it_should { Ok(known) } else { Err(PyTypeError::new_err("not numpy's fields")) }
    }

    /// # Safety
    ///
    /// `array` is laid out as [`Fields`].
    unsafe fn read(&self, array: &Bound<'_, PyAny>) -> Option<Layout> {
        // SAFETY: the caller says so, and the array lives as long as it is borrowed here.
        let fields = unsafe { &*array.as_ptr().cast::<Fields>() };
        let element = match fields.element {
            element if element == self.int32.as_ptr() => Element::Int32,
            element if element == self.uint32.as_ptr() => Element::Uint32,
            _ => return None,
        };
        let dimensions = usize::try_from(fields.dimensions).ok().filter(|it| matches!(it, 1 | 2))?;
        if fields.flags & BEHAVED != BEHAVED {
            return None;
        }
        let (mut shape, mut strides) = ([0; 2], [0; 2]);
        for at in 0..dimensions {
            // SAFETY: both have as many entries as the array has dimensions.
            let (length, stride) = unsafe { (*fields.shape.add(at), *fields.strides.add(at)) };
            shape[at] = usize::try_from(length).ok()?;
            strides[at] = stride;
        }
        Some(Layout::new(fields.data.cast(), element, &shape[..dimensions], &strides[..dimensions]))
    }
}
