//! Layouts from `DLPack` capsules.
//!
//! A capsule is only looked at, never consumed: as long as it keeps its name its own destructor releases the memory,
//! so borrowing is a matter of keeping the capsule.

#![expect(unsafe_code, reason = "reads the structures of the DLPack ABI through pointers in capsules")]

use std::ffi::{CStr, c_void};

use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::prelude::*;
use pyo3::{ffi, intern};

use super::{Element, Layout};

const PLAIN: &CStr = c"dltensor";
const VERSIONED: &CStr = c"dltensor_versioned";
/// The bit of `ManagedTensorVersioned::flags` that forbids writing.
const READ_ONLY: u64 = 1;
/// Device types whose memory the CPU can write: plain, CUDA pinned, `ROCm` pinned.
const HOST_DEVICES: [i32; 3] = [1, 3, 11];

/// An array as the `DLPack` ABI describes it.
#[repr(C)]
pub(super) struct Tensor {
    data: *mut c_void,
    device_type: i32,
    device_id: i32,
    dimensions: i32,
    type_code: u8,
    type_bits: u8,
    type_lanes: u16,
    shape: *const i64,
    strides: *const i64,
    byte_offset: u64,
}

impl Default for Tensor {
    fn default() -> Self {
        Tensor {
            data: std::ptr::null_mut(),
            device_type: 0,
            device_id: 0,
            dimensions: -1,
            type_code: 0,
            type_bits: 0,
            type_lanes: 0,
            shape: std::ptr::null(),
            strides: std::ptr::null(),
            byte_offset: 0,
        }
    }
}

#[repr(C)]
struct ManagedTensorVersioned {
    major: u32,
    minor: u32,
    context: *mut c_void,
    deleter: *mut c_void,
    flags: u64,
    tensor: Tensor,
}

/// Asks `object` for a capsule.
pub(super) fn capsule_of<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    let name = intern!(py, "__dlpack__");
    // SAFETY: both pointers are live objects, the list of arguments ends with a null pointer, and the result is a
    // new reference or null with an exception set. PERF: this call makes no bound method and no tuple.
    unsafe {
        let result = ffi::PyObject_CallMethodObjArgs(
            object.as_ptr(),
            name.as_ptr(),
            std::ptr::null_mut::<ffi::PyObject>(),
        );
        Bound::from_owned_ptr_or_err(py, result)
    }
}

/// The layout that `capsule` describes.
pub(super) fn layout_of(capsule: &Bound<'_, PyAny>) -> PyResult<Layout> {
    let (tensor, is_writable) = tensor_in(capsule)?;
    layout_of_tensor(tensor, is_writable)
}

/// The layout of `tensor`, whose pointers are what the ABI says.
pub(super) fn layout_of_tensor(tensor: &Tensor, is_writable: bool) -> PyResult<Layout> {
    let Some(dimensions) = usize::try_from(tensor.dimensions).ok().filter(|_| tensor.type_lanes == 1) else {
        return Err(PyBufferError::new_err("the DLPack tensor has vector elements"));
    };
    let element = match (tensor.type_code, tensor.type_bits) {
        (0, 32) => Element::Int32,
        (1, 32) => Element::Uint32,
        (0, 64) => Element::Int64,
        (2, 16) => Element::Float16,
        (4, 16) => Element::Bfloat16,
        (2, 32) => Element::Float32,
        _ => Element::Other,
    };
    let pointer = tensor.data.cast::<u8>().wrapping_add(tensor.byte_offset as usize);
    let kept = dimensions.min(2);
    let (shape, strides) = shape_and_strides(tensor, kept, element.size());
    let mut layout = Layout::new(pointer, element, &shape[..kept], &strides[..kept]);
    layout.dimensions = dimensions;
    layout.is_writable = is_writable;
    layout.is_on_cpu = HOST_DEVICES.contains(&tensor.device_type);
    Ok(layout)
}

/// The tensor behind the pointer of `capsule`, and whether it may be written.
fn tensor_in<'a>(capsule: &'a Bound<'_, PyAny>) -> PyResult<(&'a Tensor, bool)> {
    let capsule_pointer = capsule.as_ptr();
    // SAFETY: `PyCapsule_GetPointer` checks that the object is a capsule of that name and returns null otherwise. A
    // capsule that is named so points to the structure that the DLPack ABI says, alive as long as the capsule is.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule_pointer, PLAIN.as_ptr()) == 1 {
            let tensor = ffi::PyCapsule_GetPointer(capsule_pointer, PLAIN.as_ptr()).cast::<Tensor>();
            return Ok((&*tensor, true));
        }
        if ffi::PyCapsule_IsValid(capsule_pointer, VERSIONED.as_ptr()) == 1 {
            let managed = ffi::PyCapsule_GetPointer(capsule_pointer, VERSIONED.as_ptr())
                .cast::<ManagedTensorVersioned>();
            if (*managed).major != 1 {
                return Err(PyBufferError::new_err("the DLPack capsule is of a version other than 1"));
            }
            return Ok((&(*managed).tensor, (*managed).flags & READ_ONLY == 0));
        }
    }
    Err(PyTypeError::new_err("__dlpack__ did not return a DLPack capsule"))
}

/// The first `kept` dimensions and their strides in bytes; without strides a tensor is compact, row after row.
fn shape_and_strides(tensor: &Tensor, kept: usize, size: usize) -> ([usize; 2], [isize; 2]) {
    let (mut shape, mut strides) = ([0; 2], [0; 2]);
    for (at, length) in shape.iter_mut().enumerate().take(kept) {
        // SAFETY: the shape has as many entries as the tensor has dimensions.
        *length = usize::try_from(unsafe { *tensor.shape.add(at) }).unwrap_or(0);
    }
    for (at, stride) in strides.iter_mut().enumerate().take(kept) {
        let in_elements = if tensor.strides.is_null() {
            shape[at + 1..kept].iter().product::<usize>().cast_signed()
        } else {
            // SAFETY: strides, where there are any, have as many entries as the tensor has dimensions.
            unsafe { *tensor.strides.add(at) as isize }
        };
        *stride = in_elements.wrapping_mul(size.cast_signed());
    }
    (shape, strides)
}
