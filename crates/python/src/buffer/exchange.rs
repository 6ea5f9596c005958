//! Layouts from the C functions of a framework (`__dlpack_c_exchange_api__`, `DLPack` 1.2).
//!
//! PERF: such a function fills a structure on the stack, where `__dlpack__` makes a capsule and, in torch, runs Python code for
//! it: 3.6 us for a tensor, whose five attributes take 0.5 us to ask for.

#![expect(
    unsafe_code,
    reason = "calls a C function that a framework publishes, as the DLPack ABI lays it out"
)]

use std::ffi::{CStr, c_int, c_void};

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods, PyType};

use super::Layout;
use super::dlpack::{self, Tensor};

const NAME: &CStr = c"dlpack_exchange_api";

/// The functions of a framework; those after the fourth are not used here.
#[repr(C)]
struct Functions {
    major: u32,
    minor: u32,
    older: *const c_void,
    allocate: *const c_void,
    managed_from_object: *const c_void,
    object_from_managed: *const c_void,
    tensor_from_object: Option<TensorFromObject>,
}

/// Describes an object; the shape and the strides are the object's own. 0, or -1 with an exception set.
type TensorFromObject = unsafe extern "C" fn(*mut c_void, *mut Tensor) -> c_int;

/// How to describe objects of a class and no other.
pub(super) struct Exchange(TensorFromObject);

impl Exchange {
    /// What `class` publishes, if it does.
    pub(super) fn of(class: &Bound<'_, PyType>) -> Option<Self> {
        let py = class.py();
        let capsule = class.getattr_opt(intern!(py, "__dlpack_c_exchange_api__")).ok()??;
        let capsule = capsule.cast_into::<PyCapsule>().ok()?;
        let functions = capsule.pointer_checked(Some(NAME)).ok()?.cast::<Functions>();
        // SAFETY: a capsule of that name points to such a structure, which stays as long as the process does. Its beginning is
        // the same in all versions, and what follows in all with that first number.
        unsafe {
            if (*functions.as_ptr()).major != 1 {
                return None;
            }
            (*functions.as_ptr()).tensor_from_object.map(Exchange)
        }
    }

    /// The layout of `object`, which must be of the class that this is of; none if it cannot be described.
    pub(super) fn layout_of(&self, object: &Bound<'_, PyAny>) -> Option<Layout> {
        let mut tensor = Tensor::default();
        // SAFETY: the object is alive and of the right class, and the structure is there to be written. The GIL is held.
        let result = unsafe { (self.0)(object.as_ptr().cast(), &raw mut tensor) };
        if result != 0 {
            // Whoever asks in another way will be told.
            drop(PyErr::take(object.py()));
            return None;
        }
        dlpack::layout_of_tensor(&tensor, true).ok()
    }
}
