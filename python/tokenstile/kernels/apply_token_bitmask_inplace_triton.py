"""The kernel ``triton``, where XGrammar has its own of this name."""

import sys

from tokenstile.kernels import find
from tokenstile.kernels.callable_module import CallableModule

__all__ = ["apply_token_bitmask_inplace_triton"]

apply_token_bitmask_inplace_triton = find("triton")
sys.modules[__name__].__class__ = CallableModule
