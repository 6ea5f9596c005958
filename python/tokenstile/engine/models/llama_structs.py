"""The three structs that cross between Python and llama.cpp, and the check that both mean the same by them.

llama.cpp changes its structs from month to month, and a struct of another month would be read without an error, as
garbage. So before anything is loaded, the library is asked for its default parameters, and they are compared with what
the layout here says: how many bytes are written, and what is in each field. `check_layout` raises where they differ.

What is passed has `_SPARE_BYTES` behind its last field: a library that knows a longer struct than this file does
writes into these, and the check finds it.
"""

from __future__ import annotations

import ctypes
import platform
from ctypes import c_bool, c_float, c_int8, c_int32, c_size_t, c_uint32, c_void_p
from typing import TYPE_CHECKING, Any, ClassVar, Final

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Batch", "ContextParams", "ModelParams", "check_batch", "check_layout"]

_SPARE_BYTES: Final = 256
_HIDDEN_POINTER_MACHINES: Final = frozenset({"x86_64", "AMD64"})
"""Where a function that returns a large struct takes the address for it as its first argument."""


class ModelParams(ctypes.Structure):
    """``llama_model_params``: how a file is loaded."""

    _fields_: ClassVar = [
        ("devices", c_void_p),
        ("tensor_buft_overrides", c_void_p),
        ("n_gpu_layers", c_int32),
        ("split_mode", c_int32),
        ("load_mode", c_int32),
        ("lazy_mode", c_int32),
        ("main_gpu", c_int32),
        ("tensor_split", c_void_p),
        ("progress_callback", c_void_p),
        ("progress_callback_user_data", c_void_p),
        ("kv_overrides", c_void_p),
        ("vocab_only", c_bool),
        ("check_tensors", c_bool),
        ("use_extra_bufts", c_bool),
        ("no_host", c_bool),
        ("no_alloc", c_bool),
        ("load_mtp", c_bool),
        ("spare", ctypes.c_ubyte * _SPARE_BYTES),
    ]
    DEFAULTS: ClassVar[dict[str, object]] = {
        "n_gpu_layers": -1,
        "split_mode": 1,
        "load_mode": -1,
        "lazy_mode": 1,
        "use_extra_bufts": True,
    }
    """What is not zero in the parameters that llama.cpp gives."""


class ContextParams(ctypes.Structure):
    """``llama_context_params``: how many sequences are read at a time, and how."""

    _fields_: ClassVar = [
        ("n_ctx", c_uint32),
        ("n_batch", c_uint32),
        ("n_ubatch", c_uint32),
        ("n_seq_max", c_uint32),
        ("n_rs_seq", c_uint32),
        ("n_outputs_max", c_uint32),
        ("n_outputs_max_per_seq", c_uint32),
        ("n_threads", c_int32),
        ("n_threads_batch", c_int32),
        ("ctx_type", c_int32),
        ("rope_scaling_type", c_int32),
        ("pooling_type", c_int32),
        ("attention_type", c_int32),
        ("flash_attn_type", c_int32),
        ("rope_freq_base", c_float),
        ("rope_freq_scale", c_float),
        ("yarn_ext_factor", c_float),
        ("yarn_attn_factor", c_float),
        ("yarn_beta_fast", c_float),
        ("yarn_beta_slow", c_float),
        ("yarn_orig_ctx", c_uint32),
        ("defrag_thold", c_float),
        ("cb_eval", c_void_p),
        ("cb_eval_user_data", c_void_p),
        ("type_k", c_int32),
        ("type_v", c_int32),
        ("abort_callback", c_void_p),
        ("abort_callback_data", c_void_p),
        ("embeddings", c_bool),
        ("offload_kqv", c_bool),
        ("no_perf", c_bool),
        ("op_offload", c_bool),
        ("swa_full", c_bool),
        ("kv_unified", c_bool),
        ("samplers", c_void_p),
        ("n_samplers", c_size_t),
        ("ctx_other", c_void_p),
        ("spare", ctypes.c_ubyte * _SPARE_BYTES),
    ]
    DEFAULTS: ClassVar[dict[str, object]] = {
        "n_ctx": 512,
        "n_batch": 2048,
        "n_ubatch": 512,
        "n_seq_max": 1,
        "n_outputs_max_per_seq": 1,
        "n_threads": 4,
        "n_threads_batch": 4,
        "rope_scaling_type": -1,
        "pooling_type": -1,
        "attention_type": -1,
        "flash_attn_type": -1,
        "yarn_ext_factor": -1.0,
        "yarn_attn_factor": -1.0,
        "yarn_beta_fast": -1.0,
        "yarn_beta_slow": -1.0,
        "defrag_thold": -1.0,
        "type_k": 1,
        "type_v": 1,
        "offload_kqv": True,
        "no_perf": True,
        "op_offload": True,
        "swa_full": True,
    }
    """What is not zero in the parameters that llama.cpp gives."""


class Batch(ctypes.Structure):
    """``llama_batch``: the tokens of one pass, each with its position and its sequence."""

    _fields_: ClassVar = [
        ("n_tokens", c_int32),
        ("token", ctypes.POINTER(c_int32)),
        ("embd", ctypes.POINTER(c_float)),
        ("pos", ctypes.POINTER(c_int32)),
        ("n_seq_id", ctypes.POINTER(c_int32)),
        ("seq_id", ctypes.POINTER(ctypes.POINTER(c_int32))),
        ("logits", ctypes.POINTER(c_int8)),
    ]


def check_layout(struct: type[ModelParams | ContextParams], get_defaults: Callable[[], Any]) -> None:
    """Compare a struct with the one that the library's function for its default values writes.

    Raises ``ValueError`` with the first difference.
    """
    names = [str(field[0]) for field in struct._fields_ if field[0] != "spare"]
    size = getattr(struct, names[-1]).offset + getattr(struct, names[-1]).size
    if platform.machine() in _HIDDEN_POINTER_MACHINES:
        written = _written_bytes(get_defaults)
        if written != size:
            raise ValueError(f"{struct.__name__} has {written} bytes there, not {size}")
    values = get_defaults()
    for name in names:
        found = getattr(values, name)
        expected = struct.DEFAULTS.get(name, 0)
        if (found or 0) != expected:
            raise ValueError(f"{struct.__name__}.{name} is {found} there, not {expected}")


def check_batch(init: Callable[..., Any], free: Callable[[Any], Any]) -> None:
    """Compare the batch that the library makes for one token with the one here; raises ``ValueError``."""
    if platform.machine() in _HIDDEN_POINTER_MACHINES:
        # Both batches are given up: nothing may be freed whose layout is not known.
        written = _written_bytes(init, 1, 0, 1)
        if written != ctypes.sizeof(Batch):
            raise ValueError(f"Batch has {written} bytes there, not {ctypes.sizeof(Batch)}")
    batch = init(1, 0, 1)
    arrays = (batch.token, batch.pos, batch.n_seq_id, batch.seq_id, batch.logits)
    if batch.n_tokens or batch.embd or not all(arrays):
        raise ValueError("Batch has other fields there")
    free(batch)


def _written_bytes(function: Callable[..., Any], *arguments: int) -> int:
    """Count the bytes of the struct that a function returns, up to the last that it writes.

    Pointers in it may differ between two calls, so what counts is that a byte is no longer what it was before.
    """
    kind = ctypes.CFUNCTYPE(c_void_p, c_void_p, *(c_int32 for _ in arguments))
    write = ctypes.cast(function, kind)  # type: ignore[arg-type] # a function of ctypes
    last = 0
    for fill in (0x55, 0xAA):
        memory = bytearray([fill]) * 1024
        write(ctypes.addressof((ctypes.c_ubyte * len(memory)).from_buffer(memory)), *arguments)
        last = max(last, *(at + 1 for at, byte in enumerate(memory) if byte != fill))
    return last
