"""llama.cpp's own grammar in place of ours: the same model, prompts and sampler, and the same loop.

The grammar is what llama.cpp makes of a JSON Schema, and its sampler removes the tokens that do not fit. Both are
called in the wheel that the models come with. Its function for Python hands schemas to llguidance instead, but the
function of C++ below it has a parameter for llama.cpp's own form. Strings are passed as that wheel's compiler lays them
out.
"""

from __future__ import annotations

import ctypes
import importlib.util
import json
import struct
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tokenstile.engine.models import Feed
from tokenstile.engine.sampling import Sampler

if TYPE_CHECKING:
    import numpy.typing as npt
    from tests.everyday import Request

    from tokenstile.engine import SamplingParams
    from tokenstile.engine.models.loading import LoadedModel


class _Candidates(ctypes.Structure):
    """``llama_token_data_array``."""

    _fields_: ClassVar = [
        ("data", ctypes.c_void_p),
        ("size", ctypes.c_size_t),
        ("selected", ctypes.c_int64),
        ("sorted", ctypes.c_bool),
    ]


_CANDIDATE = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])
"""``llama_token_data``."""

_PARSE = "_ZN11common_json5parseERKSs"
"""``common_json common_json::parse(const std::string &)``; what is returned is written to the first argument."""
_CONVERT = "_Z22json_schema_to_grammarRK11common_jsonb"
"""``std::string json_schema_to_grammar(const common_json &, bool force_gbnf)``, likewise."""
_POINTER = ctypes.c_void_p
_SIGNATURES: dict[str, tuple[Any, list[Any]]] = {
    _PARSE: (_POINTER, [_POINTER, _POINTER]),
    _CONVERT: (_POINTER, [_POINTER, _POINTER, ctypes.c_bool]),
    "llama_sampler_init_grammar": (_POINTER, [_POINTER, ctypes.c_char_p, ctypes.c_char_p]),
    "llama_sampler_apply": (None, [_POINTER, ctypes.POINTER(_Candidates)]),
    "llama_sampler_accept": (None, [_POINTER, ctypes.c_int32]),
    "llama_sampler_free": (None, [_POINTER]),
}
_STRING_HEADER = "=qqi4x"
"""What lies before the characters of a string there: its length, its capacity, and that it is not shared."""
_ROOM_FOR_JSON = 256


def _library() -> Any:
    wheel = importlib.util.find_spec("xllamacpp.xllamacpp")
    if wheel is None or wheel.origin is None:
        raise SystemExit("llama.cpp's grammar is taken from xllamacpp, which is not installed")
    library = ctypes.CDLL(wheel.origin)
    for name, (result, arguments) in _SIGNATURES.items():
        if not hasattr(library, name):
            raise SystemExit(
                f"xllamacpp has no {name}: this is written for the wheel of requirements/demo.txt"
            )
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


class Writer:
    """Writes answers under llama.cpp's grammars."""

    def __init__(self, loaded: LoadedModel) -> None:
        self._library = _library()
        self._loaded = loaded

    def grammar(self, schema: dict[str, Any]) -> bytes:
        """Give llama.cpp's grammar of a schema."""
        data = json.dumps(schema).encode()
        header = struct.pack(_STRING_HEADER, len(data), len(data), -1)
        block = ctypes.create_string_buffer(header + data)
        text = _POINTER(ctypes.addressof(block) + len(header))
        value, written = ctypes.create_string_buffer(_ROOM_FOR_JSON), _POINTER()
        getattr(self._library, _PARSE)(value, ctypes.byref(text))
        getattr(self._library, _CONVERT)(ctypes.byref(written), value, True)
        assert written.value is not None
        return ctypes.string_at(written.value)

    def write(self, request: Request, params: SamplingParams) -> tuple[str, int, bool]:
        """Give the text of an answer, its number of tokens, and whether it is complete."""
        model: Any = self._loaded.model
        assert request.schema is not None
        grammar = self.grammar(request.schema)
        sampler = self._library.llama_sampler_init_grammar(model.file.vocab, grammar, b"root")
        if not sampler:
            raise SystemExit(f"llama.cpp does not take its own grammar of {request.name}")
        try:
            return self._write(sampler, request, params)
        finally:
            self._library.llama_sampler_free(sampler)
            model.truncate(0, 0)

    def _write(self, grammar: int, request: Request, params: SamplingParams) -> tuple[str, int, bool]:
        model, info = self._loaded.model, self._loaded.model.tokenizer_info
        pending, position = model.encode(self._loaded.prompt(request.prompt)), 0
        choice, text = Sampler(params), b""
        for count in range(1, params.max_tokens + 1):
            (logits,) = model.forward([Feed(0, position, pending, 1)])
            token = choice.choose(self._allowed(grammar, logits))
            if token in info.stop_token_ids:
                return text.decode(errors="replace"), count, True
            self._library.llama_sampler_accept(grammar, token)
            text += info.token_bytes(token)
            position += len(pending)
            pending = [token]
        return text.decode(errors="replace"), params.max_tokens, False

    def _allowed(self, grammar: int, logits: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Give the logits of the tokens that fit, and minus infinity for others."""
        data = np.zeros(len(logits), dtype=_CANDIDATE)
        data["id"], data["logit"] = np.arange(len(logits)), logits
        candidates = _Candidates(data.ctypes.data, len(data), -1, False)
        self._library.llama_sampler_apply(grammar, ctypes.byref(candidates))
        masked = np.full_like(logits, -np.inf)
        masked[data["id"]] = data["logit"]
        return masked
