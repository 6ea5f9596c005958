"""The mask says what is accepted, for every token of ten real vocabularies, where hardly one can be afforded any more.

The tokenizers are not part of the project: where they are absent the tests are skipped.
"""

from __future__ import annotations

import numpy as np
import pytest

import tokenstile as xgr
from tests.real_tokenizers import NAMES, read
from tokenstile.testing import bitmask_to_bool_mask

# Classes that tell characters with one lead apart, free texts, and texts that must go on.
REGEXES = [
    r"\S+",
    r"[^\s.]+",
    r".+",
    r"[^\u2019\u3002]*",
    r"\w+",
    r'"\S*"',
    r"(\S+ )*\S+",
    r"[a-z]+(-[a-z]+)*",
]


@pytest.fixture(scope="module", params=NAMES)
def real(request, tmp_path_factory):
    return read(request.param, tmp_path_factory.mktemp(request.param))


def wrong_bits(matcher, size):
    """Give the tokens for which the mask says something else than the matcher does."""
    row = np.zeros(xgr.get_bitmask_shape(1, size), dtype=np.int32)
    matcher.fill_next_token_bitmask(row)
    mask = bitmask_to_bool_mask(row, size)[0]
    fits = matcher.validate_tokens
    return [token for token, says in enumerate(mask.tolist()) if says != bool(fits((token,)))]


@pytest.mark.parametrize("regex", REGEXES)
def test_the_mask_says_what_is_accepted(real, regex):
    compiled = xgr.GrammarCompiler(real).compile_regex(regex)
    begun = '"a' if regex.startswith('"') else "a"
    for text in ("", begun):
        far = xgr.GrammarMatcher(compiled, max_tokens=1000)
        assert far.accept_string(text, token_count=1)
        for more in (0, 1):
            matcher = xgr.GrammarMatcher(compiled, max_tokens=1 + far.tokens_needed + more)
            assert matcher.accept_string(text, token_count=1)
            assert wrong_bits(matcher, real.vocab_size) == []
