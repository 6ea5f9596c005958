"""llama.cpp's functions: what is checked before a struct crosses, and what is said where it does not fit."""

from __future__ import annotations

import ctypes
import importlib.machinery
import sys
import types

import pytest

from tokenstile.engine.models import llama_library
from tokenstile.engine.models.llama_structs import (
    Batch,
    ContextParams,
    ModelParams,
    check_batch,
    check_layout,
)

STRUCTS = (ModelParams, ContextParams)


def library(struct, size=None, **changed):
    """Give a C function that returns the default values of a struct, as a library compiled from other sources might."""
    values = struct(**{**struct.DEFAULTS, **changed})
    names = [field[0] for field in struct._fields_ if field[0] != "spare"]
    size = size or getattr(struct, names[-1]).offset + getattr(struct, names[-1]).size

    @ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
    def write(address):
        ctypes.memmove(address, ctypes.addressof(values), size)
        return address

    function = ctypes.cast(write, ctypes.CFUNCTYPE(struct))
    function.keep_alive = write
    return function


@pytest.mark.parametrize("struct", STRUCTS)
def test_a_library_of_the_same_release(struct):
    check_layout(struct, library(struct))


@pytest.mark.parametrize("struct", STRUCTS)
@pytest.mark.parametrize("more", [-8, 8])
def test_a_struct_of_another_size(struct, more):
    names = [field[0] for field in struct._fields_ if field[0] != "spare"]
    size = getattr(struct, names[-1]).offset + getattr(struct, names[-1]).size
    with pytest.raises(ValueError, match=rf"{struct.__name__} has {size + more} bytes there, not {size}"):
        check_layout(struct, library(struct, size + more))


def test_a_field_that_moved():
    with pytest.raises(ValueError, match=r"ContextParams\.n_threads is 0 there, not 4"):
        check_layout(ContextParams, library(ContextParams, n_threads=0))


def test_a_batch_of_another_size():
    @ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, *(ctypes.c_int32,) * 3)
    def init(address, _tokens, _embd, _sequences):
        ctypes.memset(address, 1, ctypes.sizeof(Batch) + 8)
        return address

    size = ctypes.sizeof(Batch)
    with pytest.raises(ValueError, match=f"Batch has {size + 8} bytes there, not {size}"):
        check_batch(init, None)


@pytest.fixture
def library_path():
    pytest.importorskip("xllamacpp", reason="the package xllamacpp is not installed")
    return llama_library._module_of_wheel()


def test_the_installed_release(library_path):
    """The structs are those of the library that requirements/dev.txt names."""
    functions = llama_library._of_wheel(library_path)
    assert set(vars(functions)) == set(llama_library._SIGNATURES)
    assert llama_library.llama_version().startswith("xllamacpp ")


def test_another_release(library_path, monkeypatch):
    monkeypatch.setitem(ContextParams.DEFAULTS, "n_batch", 1)
    with pytest.raises(ImportError, match=r"n_batch is 2048 there, not 1; pip install 'xllamacpp=="):
        llama_library._of_wheel(library_path)


def test_another_release_beside_llama_cpp_python(library_path, monkeypatch):
    monkeypatch.setitem(ContextParams.DEFAULTS, "n_batch", 1)
    other = types.ModuleType("llama_cpp")
    other.__spec__ = importlib.machinery.ModuleSpec("llama_cpp", None)
    monkeypatch.setitem(sys.modules, "llama_cpp", other)
    assert llama_library._of_wheel_or_the_other(library_path) is other


def test_a_function_that_is_gone(library_path, monkeypatch):
    monkeypatch.setitem(llama_library._SIGNATURES, "llama_nonsense", (None, []))
    with pytest.raises(ImportError, match=r"llama_nonsense.*pip install 'xllamacpp=="):
        llama_library._of_wheel(library_path)


def test_a_file_that_is_no_library(tmp_path):
    path = tmp_path / "xllamacpp.abi3.so"
    path.write_bytes(b"text")
    with pytest.raises(ImportError, match="cannot be loaded"):
        llama_library._of_wheel(path)


def test_an_old_processor(tmp_path, monkeypatch):
    path = tmp_path / "cpuinfo"
    path.write_text("processor\t: 0\nflags\t\t: fpu sse2 avx f16c\n", encoding="ascii")
    monkeypatch.setattr(llama_library, "_CPU_INFO", path)
    monkeypatch.setattr(llama_library.platform, "machine", lambda: "x86_64")
    with pytest.raises(ImportError, match="a processor with avx2, bmi2, fma"):
        llama_library._check_processor()


def test_no_llama(monkeypatch):
    monkeypatch.setattr(llama_library, "_module_of_wheel", lambda: None)
    monkeypatch.setitem(sys.modules, "llama_cpp", None)
    with pytest.raises(ImportError, match=r"tokenstile\[gguf\]"):
        llama_library.llama_functions.__wrapped__()
