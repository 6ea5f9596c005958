//! Layouts from the buffer protocol.

use std::ffi::CStr;

use pyo3::buffer::PyUntypedBuffer;
use pyo3::prelude::*;
use pyo3::types::PyMemoryView;

use super::{Element, Layout};

/// The buffer of `object`, if it has one.
pub(super) fn buffer_of(object: &Bound<'_, PyAny>) -> Option<PyUntypedBuffer> {
    // Some exporters, ctypes among them, leave the strides out although they were asked for; a memoryview has them.
    PyUntypedBuffer::get(object).or_else(|_| PyUntypedBuffer::get(PyMemoryView::from(object)?.as_any())).ok()
}

/// The layout of `buffer`.
pub(super) fn layout_of(buffer: &PyUntypedBuffer) -> Layout {
    let element = element_of(buffer.format(), buffer.item_size());
    let mut layout = Layout::new(buffer.buf_ptr().cast(), element, buffer.shape(), buffer.strides());
    layout.is_writable = !buffer.readonly();
    if buffer.suboffsets().is_some_and(|offsets| offsets.iter().any(|&offset| offset >= 0)) {
        layout.element = Element::Other;
    }
    layout
}

/// The element type of a format of the `struct` module; the letters' sizes differ between platforms.
fn element_of(format: &CStr, size: usize) -> Element {
    let format = format.to_bytes();
    let code = match format {
        [b'@' | b'=', code] | [code] => *code,
        [b'<', code] if cfg!(target_endian = "little") => *code,
        [b'>' | b'!', code] if cfg!(target_endian = "big") => *code,
        _ => return Element::Other,
    };
    match (code, size) {
        (b'i' | b'l' | b'q', 4) => Element::Int32,
        (b'I' | b'L' | b'Q', 4) => Element::Uint32,
        (b'i' | b'l' | b'q', 8) => Element::Int64,
        (b'e', 2) => Element::Float16,
        (b'f', 4) => Element::Float32,
        _ => Element::Other,
    }
}
