"""The kernel ``triton``, where XGrammar has its own of this name."""

from tokenstile.kernels import find

__all__ = ["apply_token_bitmask_inplace_triton"]

apply_token_bitmask_inplace_triton = find("triton")
