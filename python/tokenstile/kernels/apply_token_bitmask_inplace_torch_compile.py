"""The kernel ``torch_compile``, where XGrammar has its own of this name."""

from tokenstile.kernels import find

__all__ = ["apply_token_bitmask_inplace_torch_compile"]

apply_token_bitmask_inplace_torch_compile = find("torch_compile")
