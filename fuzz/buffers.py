"""Buffers of random layouts, of numpy and of torch: a mask is written in its own elements only, or refused.

Around each buffer lies memory of the same array or storage, filled with a pattern, in which nothing may change. Tensors
also change between two calls, in the ways that leave the object or its memory as they were: another shape, other data,
another storage.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

import tokenstile

if TYPE_CHECKING:
    import random

GUARD = 0x5A5A5A5A
SIDE = 20
HAS_TORCH = find_spec("torch") is not None


def check_array(random: random.Random, matcher: tokenstile.GrammarMatcher, size: int) -> bool:
    """Fill a mask into an array of a random layout; return whether it was taken."""
    kind = random.choice([np.int32, np.int32, np.uint32, np.int64, np.float32])
    base = np.full((SIDE, SIDE), GUARD, dtype=kind)
    rows = slice(random.randint(-20, 20), random.randint(-20, 20), random.choice([1, 2, -1, -3]))
    step = random.choice([1, 1, 2, -1])
    start = random.randint(0, 19)
    width = tokenstile.get_bitmask_shape(1, size)[1] + random.choice([0, 0, 0, -1, 1])
    columns = slice(start, None if start + width * step < 0 else start + width * step, step)
    view = (base.T if random.random() < 0.3 else base)[rows, columns]
    if random.random() < 0.2 and len(view):
        view = view[0]
    index = random.choice([0, 0, 1, 2, -1, 100])
    before = base.copy()
    try:
        matcher.fork().fill_next_token_bitmask(view, index)
    except tokenstile.TokenstileError:
        assert (base == before).all(), "a refused buffer was written"
        return False
    row = view[index] if view.ndim > 1 else view
    assert np.count_nonzero(base != before) <= row.size
    row[...] = GUARD
    assert (base == before).all(), "something else was written"
    return True


def check_tensor(random: random.Random, matcher: tokenstile.GrammarMatcher, size: int) -> bool:
    """Fill masks into a tensor that changes between the calls; return whether the last was taken."""
    import torch  # noqa: PLC0415 - it is looked for before

    width = tokenstile.get_bitmask_shape(1, size)[1]
    kind = random.choice([torch.int32, torch.int32, torch.int32, torch.int64])
    base: Any = torch.full((SIDE * SIDE,), GUARD, dtype=kind)
    view = base.as_strided((3, width), (width, 1), random.randint(0, 40))
    taken = False
    if random.random() < 0.1:
        check_shrunk(view.clone(), matcher, taken_before=random.random() < 0.5)
    for _ in range(random.randint(1, 5)):
        taken = fill_tensor(random, matcher, base, view)
        change(random, base, view)
    return taken


def check_shrunk(tensor: Any, matcher: tokenstile.GrammarMatcher, *, taken_before: bool) -> None:
    """Look that a tensor is refused whose storage was made smaller than the tensor says."""
    row = tensor.shape[0] - 1
    if taken_before and tensor.element_size() == 4:
        matcher.fork().fill_next_token_bitmask(tensor, row)
    tensor.untyped_storage().resize_(tensor.element_size())
    try:
        matcher.fork().fill_next_token_bitmask(tensor, row)
    except tokenstile.TokenstileError:
        return
    raise AssertionError("a tensor that reaches beyond its storage was written")


def fill_tensor(random: random.Random, matcher: tokenstile.GrammarMatcher, base: Any, view: Any) -> bool:
    """Fill a row of a tensor that lies in ``base``, and look that nothing else there has changed."""
    index = random.choice([0, 0, 1, 2, -1, 7])
    before = base.clone()
    try:
        matcher.fork().fill_next_token_bitmask(view, index)
    except tokenstile.TokenstileError:
        assert bool((base == before).all()), "a refused tensor was written"
        return False
    row = view[index] if view.dim() > 1 else view
    row.fill_(GUARD)
    assert bool((base == before).all()), "something else was written"
    return True


def change(random: random.Random, base: Any, view: Any) -> None:
    """Let the same object have another layout, somewhere in the memory of ``base``."""
    width = view.shape[-1] if view.dim() else 1
    offset = random.choice([view.storage_offset(), random.randint(0, 60)])
    shapes = [(3, width), (1, width), (width,), (2, max(1, width - 1)), (width, 2), (0, width), (width, 3)]
    shape = random.choice(shapes)
    strides = random.choice([(width, 1), (1, 1), (1, width), (20, 1), (2 * width, 2)])
    other = base.as_strided(shape, strides[: len(shape)], offset)
    match random.randrange(4):
        case 0:
            view.data = other
        case 1:
            view.set_(base.untyped_storage(), offset, shape, strides[: len(shape)])
        case 2:
            if view.dim() == 2:
                view.t_()
        case _:
            view.as_strided_(shape, strides[: len(shape)], offset)
