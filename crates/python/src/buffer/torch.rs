//! Layouts of torch tensors.
//!
//! Torch is never imported here: a tensor can only come from a caller that has imported it.
//!
//! Nothing is remembered of a tensor. It can be given other memory (`tensor.data = other`), another shape (`t_()`, `resize_`)
//! or a smaller storage between two calls, and stay the same object at the same address. So everything is asked for each
//! time, the size of the storage too: a view can reach beyond the end of a storage that was made smaller.

#![expect(unsafe_code, reason = "calls methods without bound-method objects, for speed")]

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyString, PyTuple, PyType};
use pyo3::{ffi, intern};

use super::exchange::Exchange;
use super::{Element, Layout, class_if_imported};
use crate::errors;

static TENSOR: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static ELEMENTS: PyOnceLock<Vec<(Py<PyAny>, Element)>> = PyOnceLock::new();
/// How torch describes its tensors, if it does; old releases do not.
static EXCHANGE: PyOnceLock<Option<Exchange>> = PyOnceLock::new();

/// The layout of `object` if it is a torch tensor; `what` names it in errors.
pub(super) fn layout_of(object: &Bound<'_, PyAny>, what: &str) -> PyResult<Option<Layout>> {
    let py = object.py();
    let Some(class) = class_if_imported(py, &TENSOR, "torch", "Tensor") else { return Ok(None) };
    let is_plain = object.get_type_ptr() == class.as_ptr().cast();
    if !is_plain && !object.is_instance(class)? {
        return Ok(None);
    }
    let exchange = EXCHANGE.get_or_init(py, || Exchange::of(class)).as_ref().filter(|_| is_plain);
    let layout = match exchange.and_then(|exchange| exchange.layout_of(object)) {
        Some(layout) => layout,
        None => read_layout(object)?,
    };
    if layout.is_on_cpu && layout.element != Element::Other && !is_within_storage(object, &layout)? {
        let message =
            format!("{what}: the tensor reaches beyond the end of its storage, which has been made smaller");
        return Err(errors::bitmask(py, message));
    }
    Ok(Some(layout))
}

/// Whether all elements are in the memory that the tensor has.
fn is_within_storage(tensor: &Bound<'_, PyAny>, layout: &Layout) -> PyResult<bool> {
    let py = tensor.py();
    let Some(span) = layout.span() else {
        // It has no elements, or more dimensions than anybody takes.
        return Ok(true);
    };
    let storage = call(tensor, intern!(py, "untyped_storage"))?;
    let bytes = call(&storage, intern!(py, "nbytes"))?.extract::<u64>()?;
    let first = call(tensor, intern!(py, "storage_offset"))?.extract::<u64>()?;
    Ok(u128::from(first) * layout.element.size() as u128 + span <= u128::from(bytes))
}

/// The layout that the attributes tell.
fn read_layout(tensor: &Bound<'_, PyAny>) -> PyResult<Layout> {
    let py = tensor.py();
    let pointer = call(tensor, intern!(py, "data_ptr"))?.extract::<usize>()? as *mut u8;
    let element = element_of(&tensor.getattr(intern!(py, "dtype"))?)?;
    let shape = tensor.getattr(intern!(py, "shape"))?.cast_into::<PyTuple>()?;
    let shape = shape.iter().map(|size| size.extract()).collect::<PyResult<Vec<usize>>>()?;
    let strides = call(tensor, intern!(py, "stride"))?.cast_into::<PyTuple>()?;
    let size = element.size().cast_signed();
    let strides = strides
        .iter()
        .map(|stride| Ok(stride.extract::<isize>()?.wrapping_mul(size)))
        .collect::<PyResult<Vec<isize>>>()?;
    let mut layout = Layout::new(pointer, element, &shape, &strides);
    layout.is_on_cpu = tensor.getattr(intern!(py, "is_cpu"))?.is_truthy()?;
    Ok(layout)
}

fn element_of(dtype: &Bound<'_, PyAny>) -> PyResult<Element> {
    const NAMES: [(&str, Element); 6] = [
        ("int32", Element::Int32),
        ("uint32", Element::Uint32),
        ("int64", Element::Int64),
        ("float16", Element::Float16),
        ("bfloat16", Element::Bfloat16),
        ("float32", Element::Float32),
    ];
    let py = dtype.py();
    let elements = ELEMENTS.get_or_try_init(py, || -> PyResult<_> {
        let torch = py.import("torch")?;
        // Old releases have no uint32.
        let known =
            NAMES.iter().filter_map(|&(name, element)| Some((torch.getattr(name).ok()?.unbind(), element)));
        Ok(known.collect())
    })?;
    Ok(elements.iter().find(|(known, _)| known.is(dtype)).map_or(Element::Other, |&(_, element)| element))
}

/// `object.name()`. PERF: makes no bound method and no tuple.
fn call<'py>(object: &Bound<'py, PyAny>, name: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: both pointers are live objects, the list of arguments ends with a null pointer, and the result is a
    // new reference or null with an exception set.
    unsafe {
        let result = ffi::PyObject_CallMethodObjArgs(
            object.as_ptr(),
            name.as_ptr(),
            std::ptr::null_mut::<ffi::PyObject>(),
        );
        Bound::from_owned_ptr_or_err(object.py(), result)
    }
}
