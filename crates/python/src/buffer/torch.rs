//! Layouts of torch tensors, from their attributes.
//!
//! Torch is never imported here: a tensor can only come from a caller that has imported it.
//!
//! The layout of the last tensor is remembered for each thread, because engines keep one tensor of masks for all
//! their requests. It is used again only for the same object (a weak reference that is still alive proves that the
//! address was not reused) at the same `data_ptr()`. Operations that change a tensor's shape in place and leave its
//! memory where it is (`t_()`) go unnoticed, and write inside the memory that the tensor had.

#![expect(unsafe_code, reason = "calls methods without bound-method objects, for speed")]

use std::cell::RefCell;

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyString, PyWeakrefMethods};
use pyo3::types::{PyTuple, PyType, PyWeakrefReference};
use pyo3::{ffi, intern};

use super::{Element, Layout, class_if_imported};

static TENSOR: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static ELEMENTS: PyOnceLock<Vec<(Py<PyAny>, Element)>> = PyOnceLock::new();

struct Remembered {
    tensor: Py<PyWeakrefReference>,
    layout: Layout,
}

thread_local! {
    static LAST: RefCell<Option<Remembered>> = const { RefCell::new(None) };
}

/// The layout of `object` if it is a torch tensor.
pub(super) fn layout_of(object: &Bound<'_, PyAny>) -> PyResult<Option<Layout>> {
    let py = object.py();
    let Some(class) = class_if_imported(py, &TENSOR, "torch", "Tensor") else { return Ok(None) };
    let is_tensor = object.get_type_ptr() == class.as_ptr().cast() || object.is_instance(class)?;
    if !is_tensor {
        return Ok(None);
    }
    let pointer = call(object, intern!(py, "data_ptr"))?.extract::<usize>()? as *mut u8;
    if let Some(layout) = remembered(object, pointer) {
        return Ok(Some(layout));
    }
    let layout = read_layout(object, pointer)?;
    if let Ok(tensor) = PyWeakrefReference::new(object) {
        let remembered = Remembered { tensor: tensor.unbind(), layout };
        let before =
            LAST.with(|last| last.try_borrow_mut().ok().and_then(|mut last| last.replace(remembered)));
        drop(before);
    }
    Ok(Some(layout))
}

fn remembered(object: &Bound<'_, PyAny>, pointer: *mut u8) -> Option<Layout> {
    LAST.with(|last| {
        let last = last.try_borrow().ok()?;
        let Remembered { tensor, layout } = last.as_ref()?;
        let is_same =
            layout.pointer == pointer && tensor.bind(object.py()).upgrade().is_some_and(|it| it.is(object));
        is_same.then_some(*layout)
    })
}

fn read_layout(tensor: &Bound<'_, PyAny>, pointer: *mut u8) -> PyResult<Layout> {
    let py = tensor.py();
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
