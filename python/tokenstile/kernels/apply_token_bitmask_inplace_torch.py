"""The kernel ``torch_native``, where XGrammar has its own of this name."""

from tokenstile.kernels import find

__all__ = ["apply_token_bitmask_inplace_torch"]

apply_token_bitmask_inplace_torch = find("torch_native")
