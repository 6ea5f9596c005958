"""What was saved and comes back from a stranger: grammars, compiled grammars, vocabularies, entries of the disk cache.

A saved form is damaged at random and read. It is refused with an exception of tokenstile's, or it is a whole object:
one that can be saved again and then is the same.
"""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import tokenstile
from tokenstile.disk_cache import DiskCache

if TYPE_CHECKING:
    import random


def damaged(random: random.Random, text: bytes) -> bytes:
    """Return a text with a few random edits."""
    for _ in range(random.choice([1, 1, 1, 2, 5])):
        at = random.randint(0, len(text))
        match random.randrange(5):
            case 0:
                text = text[:at] + random.randbytes(random.randint(1, 3)) + text[at:]
            case 1:
                text = text[:at] + text[at + random.randint(1, 20) :]
            case 2:
                end = random.randint(at, min(len(text), at + 40))
                text = text[:at] + text[at:end] * random.choice([2, 50]) + text[end:]
            case 3:
                text = (
                    text[:at]
                    + random.choice([b"null", b"-1", b"1e99", b'"\\ud800"', b"[]", b"{}"])
                    + text[at + 1 :]
                )
            case _:
                other = random.randint(0, len(text))
                text = text[:at] + text[other : other + random.randint(1, 30)] + text[at:]
    return text


def check_saved(random: random.Random, grammar: str, info: tokenstile.TokenizerInfo) -> bool:
    """Damage something saved and read it; return whether it was taken."""
    kind = random.choice(["grammar", "compiled", "tokenizer", "cache"])
    if kind == "cache":
        return check_entry(random, info)
    try:
        if kind == "tokenizer":
            saved = info.serialize_json()
        elif kind == "grammar":
            saved = tokenstile.Grammar.from_ebnf(grammar).serialize_json()
        else:
            saved = tokenstile.GrammarCompiler(info).compile_grammar(grammar).serialize_json()
        text = damaged(random, saved.encode()).decode(errors="replace")
        if kind == "tokenizer":
            read = tokenstile.TokenizerInfo.deserialize_json(text)
            assert tokenstile.TokenizerInfo.deserialize_json(read.serialize_json()) == read
        elif kind == "grammar":
            first = tokenstile.Grammar.deserialize_json(text).serialize_json()
            assert tokenstile.Grammar.deserialize_json(first).serialize_json() == first
        else:
            tokenstile.CompiledGrammar.deserialize_json(text, info).serialize_json()
    except tokenstile.TokenstileError:
        return False
    return True


def check_entry(random: random.Random, info: tokenstile.TokenizerInfo) -> bool:
    """Damage an entry of a disk cache; what is found is the vocabulary that was kept, or nothing."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cache = DiskCache(Path(folder))
        made = [0]

        def make() -> tokenstile.TokenizerInfo:
            made[0] += 1
            return info

        assert cache.vocabulary("key", "a name", make) == info
        for path in Path(folder).iterdir():
            path.write_bytes(damaged(random, path.read_bytes()))
        assert cache.vocabulary("key", "a name", make) == info, "a damaged entry is another vocabulary"
        return made[0] == 1
