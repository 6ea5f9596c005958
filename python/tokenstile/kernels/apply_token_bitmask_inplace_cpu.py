"""The kernel ``cpu``, where XGrammar has its own of this name."""

import sys

from tokenstile.kernels import find
from tokenstile.kernels.callable_module import CallableModule

__all__ = ["apply_token_bitmask_inplace_cpu"]

apply_token_bitmask_inplace_cpu = find("cpu")
sys.modules[__name__].__class__ = CallableModule
