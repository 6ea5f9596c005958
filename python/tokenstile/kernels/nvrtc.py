"""Compiling CUDA C++ while the program runs, and launching it: NVRTC and the driver, by their C interfaces.

Both are there wherever torch runs on a GPU of NVIDIA's: the driver comes with the machine, and NVRTC is one of the
libraries that torch itself needs. So this takes no compiler, no headers and no build step, which the usual extensions
of torch do. Kernels run in the context that torch uses, on the stream that the caller names.
"""

from __future__ import annotations

import ctypes
import importlib.util
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["Function", "compile_function"]


class Function:
    """A kernel on one device."""

    def __init__(self, image: bytes, name: str, device: int) -> None:
        self._driver = _driver()
        self._context = ctypes.c_void_p()
        self._module, self._function = ctypes.c_void_p(), ctypes.c_void_p()
        handle = ctypes.c_int()
        self._call("cuDeviceGet", ctypes.byref(handle), device)
        # Torch uses the primary context. It is never released, for neither is the kernel.
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(self._context), handle)
        self._call("cuCtxPushCurrent_v2", self._context)
        try:
            self._call("cuModuleLoadData", ctypes.byref(self._module), image)
            self._call("cuModuleGetFunction", ctypes.byref(self._function), self._module, name.encode())
        finally:
            self._call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))

    def launch(self, blocks: int, threads: int, stream: int, argument: ctypes.Structure) -> None:
        """Put a run of the kernel on ``stream``, with ``argument`` by value as its only one."""
        arguments = (ctypes.c_void_p * 1)(ctypes.addressof(argument))
        self._call("cuCtxPushCurrent_v2", self._context)
        try:
            grid, block, shared_memory = (blocks, 1, 1), (threads, 1, 1), 0
            self._call(
                "cuLaunchKernel",
                self._function,
                *grid,
                *block,
                shared_memory,
                ctypes.c_void_p(stream),
                arguments,
                None,
            )
        finally:
            self._call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))

    def _call(self, name: str, *arguments: object) -> None:
        status = getattr(self._driver, name)(*arguments)
        if status != 0:
            text = ctypes.c_char_p()
            self._driver.cuGetErrorString(status, ctypes.byref(text))
            raise RuntimeError(f"{name} failed: {(text.value or b'unknown error').decode()}")


def compile_function(source: str, name: str, device: int, definitions: dict[str, str]) -> Function:
    """Compile ``source`` for a device with these macros defined, and return its kernel ``name``."""
    major, minor = torch.cuda.get_device_capability(device)
    options = [f"--gpu-architecture=sm_{major}{minor}", "--std=c++17"]
    options += [f"-D{macro}={value}" for macro, value in definitions.items()]
    return Function(compile_image(source, options), name, device)


def compile_image(source: str, options: Sequence[str]) -> bytes:
    """Compile ``source`` to machine code, for the architecture that ``options`` name."""
    library = _nvrtc()
    program = ctypes.c_void_p()
    _check(library.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"kernel.cu", 0, None, None))
    try:
        encoded = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
        if library.nvrtcCompileProgram(program, len(options), encoded) != 0:
            raise RuntimeError(f"NVRTC refused a kernel:\n{_text(program, 'ProgramLog').decode()}")
        return _text(program, "CUBIN")
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


def _text(program: ctypes.c_void_p, name: str) -> bytes:
    """Return what NVRTC has of this name: it is asked for the size first."""
    library, size = _nvrtc(), ctypes.c_size_t()
    _check(getattr(library, f"nvrtcGet{name}Size")(program, ctypes.byref(size)))
    buffer = ctypes.create_string_buffer(size.value)
    _check(getattr(library, f"nvrtcGet{name}")(program, buffer))
    return buffer.raw


def _check(status: int) -> None:
    if status != 0:
        raise RuntimeError(f"NVRTC failed with status {status}")


@cache
def _driver() -> ctypes.CDLL:
    return ctypes.CDLL("libcuda.so.1")


@cache
def _nvrtc() -> ctypes.CDLL:
    if torch.version.cuda is None:
        raise RuntimeError(
            "this build of torch has no CUDA, which the kernel 'cuda' needs; leave backend at 'auto'"
        )
    for candidate in _nvrtc_candidates(torch.version.cuda.partition(".")[0]):
        try:
            return ctypes.CDLL(candidate)
        except OSError:
            continue
    raise RuntimeError(
        "the library NVRTC was not found, which the kernel 'cuda' needs; leave backend at 'auto'"
    )


def _nvrtc_candidates(major: str) -> Iterator[str]:
    """Give the names to try: what the loader knows, then the packages of NVIDIA's that torch installs."""
    name = f"libnvrtc.so.{major}"
    yield name
    spec = importlib.util.find_spec("nvidia")
    for folder in spec.submodule_search_locations or () if spec else ():
        for found in sorted(Path(folder).glob(f"*/lib/{name}")):
            yield str(found)
    yield "libnvrtc.so"
