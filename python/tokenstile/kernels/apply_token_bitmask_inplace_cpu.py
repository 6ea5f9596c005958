"""The kernel ``cpu``, where XGrammar has its own of this name."""

from tokenstile.kernels import find

__all__ = ["apply_token_bitmask_inplace_cpu"]

apply_token_bitmask_inplace_cpu = find("cpu")
