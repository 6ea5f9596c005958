"""The serving layer: from a request's parameters to the rows that mask its logits, for any engine.

>>> from tokenstile.structured_output import StructuredOutputManager, StructuredOutputsParams
>>> manager = StructuredOutputManager(["a", "b", "</s>"])
>>> request = manager.grammar_init("first", StructuredOutputsParams(regex="ab*"))
>>> _ = request.result()                                # an engine asks request.is_schedulable instead
>>> manager.grammar_bitmask(["first"]).bitmask.tolist() # one row, one word: only "a"
[[1]]
>>> manager.accept_batch({"first": [0]})
{'first': True}
>>> manager.shutdown()

Reading order: `params` and `key`, what is asked for; `constraint`, what it means; `contract`, what a backend does;
`backend`, tokenstile's own; `registry` and `adapters`, others; `request`, `compile_pool`, `backends`, `batch`,
`speculation`, `reasoning`, `thought_rows`, `jump_forward`, the parts of `manager`; `metrics` and `accounting`;
`conformance`, which checks a backend against the contract; `xgrammar_backend`, the names that backends for XGrammar are
written with, and `measured`, what they count; `vllm_names`, vLLM's names of what a manager does.

Nothing here needs torch: numpy is enough.
"""

from __future__ import annotations

from tokenstile.structured_output.backend import TokenstileBackend, TokenstileGrammar
from tokenstile.structured_output.batch import GrammarBitmask
from tokenstile.structured_output.bitmask_pool import BitmaskPool
from tokenstile.structured_output.compile_pool import CompileTimeoutError
from tokenstile.structured_output.composite import CompositeGrammar
from tokenstile.structured_output.contract import (
    BackendContext,
    StructuredOutputBackend,
    StructuredOutputGrammar,
)
from tokenstile.structured_output.key import GrammarType, StructuredOutputKey, StructuredOutputOptions
from tokenstile.structured_output.manager import StructuredOutputManager
from tokenstile.structured_output.metrics import Metrics
from tokenstile.structured_output.params import StructuredOutputsParams
from tokenstile.structured_output.reasoning import ReasoningGate, ReasoningMarkers
from tokenstile.structured_output.registry import available_backends, create_backend, register_backend
from tokenstile.structured_output.request import RequestStatus, StructuredOutputRequest
from tokenstile.structured_output.speculation import DraftTree
from tokenstile.structured_output.vllm_names import apply_grammar_bitmask
from tokenstile.structured_output.xgrammar_backend import (
    AsyncXGrammarBackend,
    XGrammarBackend,
    XGrammarGrammar,
)

__all__ = [
    "AsyncXGrammarBackend",
    "BackendContext",
    "BitmaskPool",
    "CompileTimeoutError",
    "CompositeGrammar",
    "DraftTree",
    "GrammarBitmask",
    "GrammarType",
    "Metrics",
    "ReasoningGate",
    "ReasoningMarkers",
    "RequestStatus",
    "StructuredOutputBackend",
    "StructuredOutputGrammar",
    "StructuredOutputKey",
    "StructuredOutputManager",
    "StructuredOutputOptions",
    "StructuredOutputRequest",
    "StructuredOutputsParams",
    "TokenstileBackend",
    "TokenstileGrammar",
    "XGrammarBackend",
    "XGrammarGrammar",
    "apply_grammar_bitmask",
    "available_backends",
    "create_backend",
    "register_backend",
]
