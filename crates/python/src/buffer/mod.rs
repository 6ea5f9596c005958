//! Foreign memory: the one place where arrays of other libraries are opened.
//!
//! A caller passes whatever it keeps its masks in: a numpy array, a torch tensor, anything with the buffer protocol or
//! `DLPack`. [`Array::open`] finds the [`Layout`] (address, shape, strides, element type, device) without copying and
//! without importing any of those libraries, and keeps the memory alive as long as the [`Array`] is. What the layout
//! must look like is for [`mask`] and the kernels to say.
//!
//! PERF: this is on the path of every mask, which itself takes a fraction of a microsecond. Measured on one busy
//! core of the kind that the benchmarks run on: `memoryview(array)` 394 ns, `array.__dlpack__()` 89 ns,
//! `tensor.numpy()` 1650 ns, `tensor.__dlpack__()` 3614 ns, the five attributes of a tensor 505 ns together. Hence numpy goes by
//! the fields of its arrays or by `DLPack`, torch by a C function of its own or by attributes, and the buffer protocol serves
//! the rest. Nothing is remembered from one call to the next.

pub(crate) mod dlpack;
mod exchange;
pub(crate) mod mask;
mod numpy;
mod protocol;
mod torch;

use pyo3::buffer::PyUntypedBuffer;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyType};

use crate::errors;

/// The type of an array's elements, as far as anything here cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    Int32,
    Uint32,
    Int64,
    Float16,
    Bfloat16,
    Float32,
    Other,
}

impl Element {
    /// The bytes of one element.
    pub(crate) fn size(self) -> usize {
        match self {
            Element::Float16 | Element::Bfloat16 => 2,
            Element::Int64 => 8,
            Element::Int32 | Element::Uint32 | Element::Float32 | Element::Other => 4,
        }
    }
}

/// Where an array's elements are. Strides are in bytes and may be negative or zero.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    pub(crate) pointer: *mut u8,
    pub(crate) dimensions: usize,
    pub(crate) shape: [usize; 2],
    pub(crate) strides: [isize; 2],
    pub(crate) element: Element,
    pub(crate) is_writable: bool,
    pub(crate) is_on_cpu: bool,
}

impl Layout {
    /// The layout of an array of one or two dimensions; of others only the number of dimensions is kept.
    fn new(pointer: *mut u8, element: Element, shape: &[usize], strides: &[isize]) -> Self {
        let mut layout = Layout {
            pointer,
            dimensions: shape.len(),
            shape: [0; 2],
            strides: [0; 2],
            element,
            is_writable: true,
            is_on_cpu: true,
        };
        if shape.len() <= 2 && shape.len() == strides.len() {
            layout.shape[..shape.len()].copy_from_slice(shape);
            layout.strides[..shape.len()].copy_from_slice(strides);
        }
        layout
    }

    /// The bytes from the first element to the end of the last, where both are known: no stride goes back, and there are
    /// elements in one or two dimensions.
    fn span(&self) -> Option<u128> {
        let count = Some(self.dimensions).filter(|count| matches!(count, 1 | 2))?;
        let last = |(&length, &stride): (&usize, &isize)| {
            Some(u128::try_from(length.checked_sub(1)?).ok()? * u128::try_from(stride).ok()?)
        };
        let lasts = self.shape[..count].iter().zip(&self.strides[..count]).map(last);
        lasts.sum::<Option<u128>>().map(|last| last + self.element.size() as u128)
    }

    /// The same memory as rows and columns: one dimension is one row.
    pub(crate) fn as_matrix(&self) -> Option<Matrix> {
        let (rows, columns, row_stride, column_stride) = match self.dimensions {
            1 => (1, self.shape[0], 0, self.strides[0]),
            2 => (self.shape[0], self.shape[1], self.strides[0], self.strides[1]),
            _ => return None,
        };
        Some(Matrix { pointer: self.pointer, rows, columns, row_stride, column_stride })
    }
}

/// Rows and columns of elements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Matrix {
    pub(crate) pointer: *mut u8,
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) row_stride: isize,
    pub(crate) column_stride: isize,
}

impl Matrix {
    /// The address of the first element of `row`, which must be one of the rows.
    pub(crate) fn row(&self, row: usize) -> *mut u8 {
        debug_assert!(row < self.rows);
        self.pointer.wrapping_offset(row.cast_signed() * self.row_stride)
    }
}

/// An open array: its layout, and what keeps its memory alive.
pub(crate) struct Array<'py> {
    pub(crate) layout: Layout,
    _keeper: Keeper<'py>,
}

#[expect(dead_code, reason = "held for their destructors")]
enum Keeper<'py> {
    Object(Bound<'py, PyAny>),
    Buffer(PyUntypedBuffer),
}

impl<'py> Array<'py> {
    /// Opens `object`; `what` names it in errors.
    pub(crate) fn open(object: &Bound<'py, PyAny>, what: &str) -> PyResult<Self> {
        let py = object.py();
        if is_exactly(object, &NUMPY_ARRAY, "numpy", "ndarray") {
            if let Some(layout) = numpy::layout_of(object) {
                return Ok(Array { layout, _keeper: Keeper::Object(object.clone()) });
            }
            if let Ok(array) = Self::open_by_dlpack(object) {
                return Ok(array);
            }
            return Self::open_numpy_slowly(object, what);
        }
        if let Some(layout) = torch::layout_of(object, what)? {
            return Ok(Array { layout, _keeper: Keeper::Object(object.clone()) });
        }
        if let Some(buffer) = protocol::buffer_of(object) {
            return Ok(Array { layout: protocol::layout_of(&buffer), _keeper: Keeper::Buffer(buffer) });
        }
        if object.hasattr(intern!(py, "__dlpack__"))? {
            return Self::open_by_dlpack(object);
        }
        let kind = object.get_type().name()?.to_string();
        Err(errors::bitmask(
            py,
            format!("{what} must be an array (numpy, torch, the buffer protocol or DLPack), not {kind}"),
        ))
    }

    fn open_by_dlpack(object: &Bound<'py, PyAny>) -> PyResult<Self> {
        let capsule = dlpack::capsule_of(object)?;
        let layout = dlpack::layout_of(&capsule)?;
        Ok(Array { layout, _keeper: Keeper::Object(capsule) })
    }

    /// What `DLPack` does not carry: arrays that are read-only, not aligned, or of a type that an extension defines.
    fn open_numpy_slowly(object: &Bound<'py, PyAny>, what: &str) -> PyResult<Self> {
        let py = object.py();
        let dtype = object.getattr(intern!(py, "dtype"))?.str()?.to_string();
        let is_bfloat16 = dtype == "bfloat16";
        let plain =
            if is_bfloat16 { object.call_method1(intern!(py, "view"), ("uint16",))? } else { object.clone() };
        let Some(buffer) = protocol::buffer_of(&plain) else {
            return Err(errors::bitmask(
                py,
                format!("{what} has the element type {dtype}, which is not supported"),
            ));
        };
        let mut layout = protocol::layout_of(&buffer);
        if is_bfloat16 {
            layout.element = Element::Bfloat16;
        }
        Ok(Array { layout, _keeper: Keeper::Buffer(buffer) })
    }
}

static NUMPY_ARRAY: PyOnceLock<Py<PyType>> = PyOnceLock::new();

/// Whether the type of `object` is exactly `module.name`; a module that nobody imported has no objects.
fn is_exactly(
    object: &Bound<'_, PyAny>,
    cell: &'static PyOnceLock<Py<PyType>>,
    module: &str,
    name: &str,
) -> bool {
    class_if_imported(object.py(), cell, module, name)
        .is_some_and(|class| object.get_type_ptr() == class.as_ptr().cast())
}

/// The class `module.name`, unless nobody has imported the module.
fn class_if_imported<'py>(
    py: Python<'py>,
    cell: &'static PyOnceLock<Py<PyType>>,
    module: &str,
    name: &str,
) -> Option<&'py Bound<'py, PyType>> {
    if let Some(class) = cell.get(py) {
        return Some(class.bind(py));
    }
    let modules = py
        .import(intern!(py, "sys"))
        .ok()?
        .getattr(intern!(py, "modules"))
        .ok()?
        .cast_into::<PyDict>()
        .ok()?;
    let class = modules.get_item(module).ok()??.getattr(name).ok()?.cast_into::<PyType>().ok()?;
    Some(cell.get_or_init(py, || class.unbind()).bind(py))
}
