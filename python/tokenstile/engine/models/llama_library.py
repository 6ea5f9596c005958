"""llama.cpp itself, as the functions of its C API by their names.

They come from one of two packages, whichever is installed; the first where both are:

- ``xllamacpp`` is llama.cpp in a wheel, for the CPU, so nothing is compiled. Its own classes give no logits, but its
  module exports llama.cpp's C API, of which the functions in `_SIGNATURES` are called here. Only the release that the
  structs in `llama_structs` were taken from is known to fit, and `llama_functions` says so where another one does not.
- ``llama_cpp`` is llama-cpp-python, which is compiled when it is installed, for a GPU too. It has the same functions.

Why not llama-cpp-python with the other's library in place of its own: its 253 bindings import only where each of them
exists, and 17 do not. To install it takes a source distribution of 70 MB, CMake and a variable of the environment.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import platform
from collections import deque
from ctypes import POINTER, c_bool, c_char_p, c_float, c_int, c_int32, c_size_t, c_void_p
from importlib import import_module, metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

from tokenstile.engine.models.llama_structs import (
    Batch,
    ContextParams,
    ModelParams,
    check_batch,
    check_layout,
)
from tokenstile.engine.models.threads import let_threads_sleep

__all__ = ["HOW_TO_GET_LLAMA", "has_llama", "llama_functions", "llama_version", "take_errors"]

HOW_TO_GET_LLAMA: Final = (
    "this needs llama.cpp: pip install 'tokenstile[gguf]' gets it compiled, "
    "'tokenstile[llama-cpp]' compiles it on this machine"
)
"""What to do where neither package is installed."""

_KNOWN_RELEASE: Final = "xllamacpp==2026.9.11063"
_CPU_INFO: Final = Path("/proc/cpuinfo")
_NEEDED_INSTRUCTIONS: Final = frozenset({"avx2", "bmi2", "f16c", "fma"})
"""What the wheel for x86-64 is compiled for; without them the process would be ended by a signal."""
_ERROR_LEVEL: Final = 4
_LogCallback: Final = ctypes.CFUNCTYPE(None, c_int, c_char_p, c_void_p)

_ERRORS: Final[deque[str]] = deque(maxlen=8)
_SIGNATURES: Final[dict[str, tuple[Any, list[Any]]]] = {
    "llama_backend_init": (None, []),
    "llama_log_set": (None, [_LogCallback, c_void_p]),
    "llama_model_default_params": (ModelParams, []),
    "llama_model_load_from_file": (c_void_p, [c_char_p, ModelParams]),
    "llama_model_free": (None, [c_void_p]),
    "llama_model_get_vocab": (c_void_p, [c_void_p]),
    "llama_model_n_ctx_train": (c_int32, [c_void_p]),
    "llama_model_meta_val_str": (c_int32, [c_void_p, c_char_p, c_char_p, c_size_t]),
    "llama_vocab_type": (c_int, [c_void_p]),
    "llama_vocab_n_tokens": (c_int32, [c_void_p]),
    "llama_vocab_get_attr": (c_int, [c_void_p, c_int32]),
    "llama_vocab_is_eog": (c_bool, [c_void_p, c_int32]),
    "llama_vocab_bos": (c_int32, [c_void_p]),
    "llama_vocab_eos": (c_int32, [c_void_p]),
    "llama_token_to_piece": (c_int32, [c_void_p, c_int32, c_char_p, c_int32, c_int32, c_bool]),
    "llama_tokenize": (c_int32, [c_void_p, c_char_p, c_int32, POINTER(c_int32), c_int32, c_bool, c_bool]),
    "llama_context_default_params": (ContextParams, []),
    "llama_init_from_model": (c_void_p, [c_void_p, ContextParams]),
    "llama_free": (None, [c_void_p]),
    "llama_get_memory": (c_void_p, [c_void_p]),
    "llama_memory_seq_rm": (c_bool, [c_void_p, c_int32, c_int32, c_int32]),
    "llama_batch_init": (Batch, [c_int32, c_int32, c_int32]),
    "llama_batch_free": (None, [Batch]),
    "llama_decode": (c_int32, [c_void_p, Batch]),
    "llama_get_logits_ith": (POINTER(c_float), [c_void_p, c_int32]),
}
"""What is called: the type that a function returns, and those of its arguments."""


def has_llama() -> bool:
    """Tell whether one of the packages is installed; nothing is imported."""
    return _module_of_wheel() is not None or importlib.util.find_spec("llama_cpp") is not None


def llama_version() -> str:
    """Name the package that the functions come from, and its release."""
    for package in ("xllamacpp", "llama_cpp_python"):
        try:
            return f"{package} {metadata.version(package)}"
        except metadata.PackageNotFoundError:
            continue
    return ""


@functools.cache
def llama_functions() -> Any:  # noqa: ANN401 - an object with llama.cpp's functions
    """Give llama.cpp's functions by their names. It writes nothing to the terminal from then on.

    Raises ``ImportError`` where there is no llama.cpp, or one that does not fit.
    """
    let_threads_sleep()
    path = _module_of_wheel()
    functions = _of_llama_cpp_python() if path is None else _of_wheel_or_the_other(path)
    functions.llama_log_set(_LOG_CALLBACK, None)
    functions.llama_backend_init()
    return functions


def take_errors() -> str:
    """Give what llama.cpp complained of since the last call."""
    said = " ".join(_ERRORS)
    _ERRORS.clear()
    return said


def _keep_error(level: int, text: bytes, _: object) -> None:
    if level == _ERROR_LEVEL:
        _ERRORS.append(text.decode("utf-8", "replace").strip())


_LOG_CALLBACK: Final = _LogCallback(_keep_error)
"""What llama.cpp calls; it must live as long as the process."""


def _module_of_wheel() -> Path | None:
    spec = importlib.util.find_spec("xllamacpp")
    folders = (spec.submodule_search_locations if spec else None) or []
    return next((path for folder in folders for path in sorted(Path(folder).glob("xllamacpp*.so"))), None)


def _of_wheel_or_the_other(path: Path) -> Any:  # noqa: ANN401 - an object with functions
    """Take xllamacpp, or llama-cpp-python where that is installed too and the former does not fit."""
    try:
        return _of_wheel(path)
    except ImportError as error:
        if importlib.util.find_spec("llama_cpp") is None:
            raise
        try:
            return _of_llama_cpp_python()
        except (ImportError, OSError, RuntimeError, AttributeError):
            raise error from None


def _of_llama_cpp_python() -> Any:  # noqa: ANN401 - a module that may be missing
    try:
        return import_module("llama_cpp")
    except ModuleNotFoundError as error:
        raise ImportError(HOW_TO_GET_LLAMA) from error


def _of_wheel(path: Path) -> Any:  # noqa: ANN401 - an object with functions
    _check_processor()
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise ImportError(f"{path} cannot be loaded: {error}") from error
    functions = SimpleNamespace()
    try:
        for name, (result, arguments) in _SIGNATURES.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
            setattr(functions, name, function)
        check_layout(ModelParams, functions.llama_model_default_params)
        check_layout(ContextParams, functions.llama_context_default_params)
        check_batch(functions.llama_batch_init, functions.llama_batch_free)
    except (AttributeError, ValueError) as error:
        raise ImportError(
            f"{llama_version()} is not the release whose llama.cpp is known here: {error}; "
            f"pip install '{_KNOWN_RELEASE}'"
        ) from error
    return functions


def _check_processor() -> None:
    """Refuse where the wheel's code would end the process by a signal."""
    if platform.machine() != "x86_64" or not _CPU_INFO.exists():
        return
    lines = (
        line.partition(":") for line in _CPU_INFO.read_text(encoding="ascii", errors="replace").splitlines()
    )
    flags = next((set(value.split()) for name, _, value in lines if name.strip() == "flags"), None)
    missing = sorted(_NEEDED_INSTRUCTIONS - flags) if flags is not None else []
    if missing:
        raise ImportError(
            f"xllamacpp's llama.cpp needs a processor with {', '.join(missing)}: "
            "pip uninstall xllamacpp, and pip install 'tokenstile[llama-cpp]' to compile it for this one"
        )
