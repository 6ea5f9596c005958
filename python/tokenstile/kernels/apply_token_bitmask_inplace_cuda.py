"""The kernel ``cuda``, where XGrammar has its own of this name."""

from tokenstile.kernels import find

__all__ = ["apply_token_bitmask_inplace_cuda"]

apply_token_bitmask_inplace_cuda = find("cuda")
