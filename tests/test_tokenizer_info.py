"""`TokenizerInfo`: construction, errors, tokenizer objects of other libraries, saving."""

# ruff: noqa: RUF001 - the look-alikes are meant

import base64
import json
import pickle
import subprocess
import sys
from types import SimpleNamespace

import pytest

from tokenstile.exceptions import (
    DeserializeFormatError,
    DeserializeVersionError,
    InvalidArgumentError,
    InvalidJSONError,
    TokenizerError,
)
from tokenstile.tokenizer_info import TokenizerInfo, VocabType

BYTE_LEVEL_BYTES = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
BYTE_ALPHABET = [
    *map(chr, BYTE_LEVEL_BYTES),
    *(chr(0x100 + place) for place in range(256 - len(BYTE_LEVEL_BYTES))),
]
BYTE_PIECES = [f"<0x{byte:02X}>" for byte in range(256)]


# The constructor.


def test_raw_vocabulary_of_text_and_bytes():
    info = TokenizerInfo(["a", b"\xff", "中", "", "</s>"])
    assert info.vocab_type is VocabType.RAW
    assert info.vocab_size == 5
    assert info.decoded_vocab == [b"a", b"\xff", "中".encode(), b"", b"</s>"]
    assert info.stop_token_ids == [4]
    assert info.special_token_ids == [3]
    assert info.add_prefix_space is False
    assert info.decoded_vocab is not info.decoded_vocab


@pytest.mark.parametrize(
    ("vocab_type", "encoded", "decoded"),
    [
        (VocabType.RAW, ["▁a", "<0x0A>", "Ġ"], ["▁a".encode(), b"<0x0A>", "Ġ".encode()]),
        (VocabType.BYTE_FALLBACK, ["▁a", "<0x0A>", "Ġ"], [b" a", b"\n", "Ġ".encode()]),
        (VocabType.BYTE_LEVEL, ["▁a", "<0x0A>", "Ġ", "ä¸Ń"], ["▁a".encode(), b"<0x0A>", b" ", "中".encode()]),
        (VocabType.BYTE_LEVEL, [b"\xc4\xa0a", b"\xff"], [b" a", b"\xff"]),
    ],
)
def test_spellings(vocab_type, encoded, decoded):
    assert TokenizerInfo(encoded, vocab_type).decoded_vocab == decoded


def test_padding_is_special():
    info = TokenizerInfo(["a", "b"], vocab_size=5)
    assert info.vocab_size == 5
    assert info.special_token_ids == [2, 3, 4]
    assert info.decoded_vocab[2:] == [b""] * 3


def test_stop_tokens():
    assert TokenizerInfo(["a", "b"], stop_token_ids=1).stop_token_ids == [1]
    assert TokenizerInfo(["a", "b"], stop_token_ids=[1, 0, 1]).stop_token_ids == [1, 0]
    assert TokenizerInfo(["a", "</s>"], stop_token_ids=[]).stop_token_ids == []
    assert TokenizerInfo(["<|eot_id|>", "</s>", "x", "<｜end▁of▁sentence｜>"]).stop_token_ids == [0, 1, 3]


def test_numpy_integers():
    numpy = pytest.importorskip("numpy")
    info = TokenizerInfo(["a", "b"], vocab_size=numpy.int64(3), stop_token_ids=numpy.array([1, 2]))
    assert (info.vocab_size, info.stop_token_ids) == (3, [1, 2])
    assert TokenizerInfo(["a", "b"], stop_token_ids=numpy.int32(1)).stop_token_ids == [1]


def test_empty_vocabulary():
    info = TokenizerInfo([])
    assert (info.vocab_size, info.decoded_vocab, info.stop_token_ids, info.max_token_bytes) == (0, [], [], 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"encoded_vocab": ["a", "b"], "vocab_size": 1}, "vocab_size is 1, but the vocabulary has 2 tokens"),
        ({"encoded_vocab": ["a"], "vocab_size": -1}, "between 0 and the limit"),
        ({"encoded_vocab": ["a"], "vocab_size": 1 << 40}, "between 0 and the limit"),
        ({"encoded_vocab": ["a"], "stop_token_ids": [1]}, "stop token 1 is outside of the vocabulary"),
        ({"encoded_vocab": ["a"], "stop_token_ids": [-1]}, "-1 is not a token id"),
        ({"encoded_vocab": ["a", 3]}, "token 1 is int, not str or bytes"),
        ({"encoded_vocab": ["a"], "vocab_type": 7}, "7 is not a VocabType"),
        ({"encoded_vocab": ["x" * 70_000]}, "token 0 has 70000 bytes"),
    ],
)
def test_wrong_arguments(arguments, message):
    with pytest.raises(ValueError, match=message) as caught:
        TokenizerInfo(**arguments)
    assert isinstance(caught.value, RuntimeError)


def test_long_tokens_and_large_vocabularies():
    info = TokenizerInfo(["Ġ" * 512, "é" * 1024], VocabType.BYTE_LEVEL)
    assert info.decoded_vocab == [b" " * 512, b"\xe9" * 1024]
    assert info.max_token_bytes == 1024
    large = TokenizerInfo([str(number) for number in range(1 << 18)])
    assert large.vocab_size == 262_144
    assert large.token_bytes(262_143) == b"262143"


def test_token_bytes():
    info = TokenizerInfo(["a", "b"], vocab_size=3)
    assert [info.token_bytes(token_id) for token_id in range(3)] == [b"a", b"b", b""]
    for outside in (3, -1, 1 << 40):
        with pytest.raises(ValueError, match=str(outside)):
            info.token_bytes(outside)


def test_deprecated_name_warns():
    with pytest.warns(DeprecationWarning, match="add_prefix_space"):
        assert TokenizerInfo(["a"], add_prefix_space=True).prepend_space_in_tokenization is True


# Equality, sharing, saving.


def test_equal_by_content():
    first = TokenizerInfo(["Ġa", "b"], VocabType.BYTE_LEVEL, stop_token_ids=1)
    second = TokenizerInfo(["Ġa", "b"], VocabType.BYTE_LEVEL, stop_token_ids=1)
    assert first == second
    assert hash(first) == hash(second)
    assert first != "something else"
    others = [
        TokenizerInfo(["Ġa", "c"], VocabType.BYTE_LEVEL, stop_token_ids=1),
        TokenizerInfo(["Ġa", "b"], VocabType.BYTE_LEVEL, stop_token_ids=0),
        TokenizerInfo(["Ġa", "b"], VocabType.BYTE_LEVEL, stop_token_ids=1, vocab_size=3),
        TokenizerInfo(["Ġa", "b"], VocabType.BYTE_LEVEL, stop_token_ids=1, add_prefix_space=True),
        TokenizerInfo([" a", "b"], stop_token_ids=1),
    ]
    assert all(first != other for other in others)


def test_equal_bytes_share_one_table():
    first = TokenizerInfo(["Ġa", "b"], VocabType.BYTE_LEVEL)
    same_bytes = TokenizerInfo([" a", "b"], stop_token_ids=0)
    assert first._handle.shares_table_with(same_bytes._handle)
    assert first.fingerprint == same_bytes.fingerprint
    padded = TokenizerInfo([" a", "b"], vocab_size=3)
    assert not first._handle.shares_table_with(padded._handle)
    assert first.fingerprint != padded.fingerprint


@pytest.fixture
def mixed_info():
    names = ["▁a", "</s>", "", "<0xFF>", '"\x01中']
    return TokenizerInfo(
        names, VocabType.BYTE_FALLBACK, vocab_size=9, stop_token_ids=[4, 1], add_prefix_space=True
    )


def test_metadata(mixed_info):
    metadata = mixed_info.dump_metadata()
    assert metadata == '{"vocab_type":1,"vocab_size":9,"add_prefix_space":true,"stop_token_ids":[4,1]}'
    names = ["▁a", b"</s>", "", "<0xFF>", '"\x01中']
    assert TokenizerInfo.from_vocab_and_metadata(names, metadata) == mixed_info


def test_saved_and_read_back(mixed_info):
    saved = mixed_info.serialize_json()
    assert TokenizerInfo.deserialize_json(saved) == mixed_info
    assert json.loads(saved)["decoded_vocab"] == [" a", "</s>", "", [255], '"\x01中']
    copy = pickle.loads(pickle.dumps(mixed_info))
    assert copy == mixed_info
    assert copy._handle.shares_table_with(mixed_info._handle)


def test_saved_versions_agree(mixed_info):
    config = pytest.importorskip("tokenstile.config", exc_type=ImportError)
    assert json.loads(mixed_info.serialize_json())["__VERSION__"] == config.get_serialization_version()


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda saved: saved[:-5], InvalidJSONError),
        (lambda saved: "", InvalidJSONError),  # noqa: ARG005
        (lambda saved: "[]", DeserializeFormatError),  # noqa: ARG005
        (lambda saved: saved.replace("__VERSION__", "__OTHER__"), DeserializeFormatError),
        (lambda saved: saved.replace("decoded_vocab", "other"), DeserializeFormatError),
        (lambda saved: saved.replace("tokenstile-v1", "v16"), DeserializeVersionError),
    ],
)
def test_broken_saved_texts(mixed_info, change, error):
    with pytest.raises(error) as caught:
        TokenizerInfo.deserialize_json(change(mixed_info.serialize_json()))
    assert isinstance(caught.value, RuntimeError)


# Files.


def tokenizer_json(**changes):
    described = {
        "added_tokens": [{"id": 5, "content": "<|endoftext|>"}, {"id": 1, "content": "für"}],
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False},
        "decoder": {"type": "ByteLevel"},
        "model": {"type": "BPE", "vocab": {"a": 0, "Ċ": 2, "Ġb": 4}, "merges": []},
    }
    return json.dumps(described | changes)


def test_from_file(tmp_path):
    (tmp_path / "tokenizer.json").write_text(tokenizer_json(), encoding="utf-8")
    info = TokenizerInfo.from_file(tmp_path / "tokenizer.json")
    assert info.decoded_vocab == [b"a", "für".encode(), b"\n", b"", b" b", b"<|endoftext|>"]
    assert info.vocab_type is VocabType.BYTE_LEVEL
    assert info.stop_token_ids == [5]
    assert TokenizerInfo.from_file(str(tmp_path)) == info
    assert TokenizerInfo.from_file(tmp_path, vocab_size=8, stop_token_ids=[0]).special_token_ids == [3, 6, 7]
    (tmp_path / "tokenizer_config.json").write_text('{"eos_token": {"content": "a"}}', encoding="utf-8")
    assert TokenizerInfo.from_file(tmp_path).stop_token_ids == [0]


def test_from_file_errors(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"absent\.json"):
        TokenizerInfo.from_file(tmp_path / "absent.json")
    broken = tmp_path / "broken.json"
    broken.write_bytes(b'{"model": {"vocab": {"a": 0, "b": 0}}}')
    with pytest.raises(TokenizerError, match="id 0 belongs to two tokens"):
        TokenizerInfo.from_file(broken)
    broken.write_bytes(b"\xff")
    with pytest.raises(TokenizerError, match=r"broken\.json is not valid"):
        TokenizerInfo.from_file(broken)


def test_from_tiktoken_file(tmp_path):
    file = tmp_path / "small.tiktoken"
    lines = [base64.b64encode(token) + b" %d" % rank for rank, token in enumerate([b"a", b"\xff\xfe", b" b"])]
    file.write_bytes(b"\n".join(lines))
    info = TokenizerInfo.from_tiktoken(file, special_tokens={"<|endoftext|>": 4})
    assert info.decoded_vocab == [b"a", b"\xff\xfe", b" b", b"", b"<|endoftext|>"]
    assert info.vocab_type is VocabType.RAW
    assert info.stop_token_ids == [4]
    assert TokenizerInfo.from_tiktoken(str(file), vocab_size=8).vocab_size == 8
    with pytest.raises(FileNotFoundError):
        TokenizerInfo.from_tiktoken(str(tmp_path / "absent.tiktoken"))
    with pytest.raises(TokenizerError, match="id 0 belongs to two tokens"):
        TokenizerInfo.from_tiktoken(file, special_tokens={"x": 0})
    file.write_bytes(b"YQ==\n")
    with pytest.raises(TokenizerError, match="line 1"):
        TokenizerInfo.from_tiktoken(file)


# Tokenizer objects. They are recognised by what they have, so these stand in for the real ones.


class Encoding:
    """Looks like tiktoken's class of that name."""

    __module__ = "tiktoken.core"

    def __init__(self, tokens):
        self.tokens = tokens
        self.max_token_value = max(tokens)

    def decode_single_token_bytes(self, token_id):
        return self.tokens[token_id]


class SentencePieceProcessor:
    """Looks like SentencePiece's class of that name."""

    __module__ = "sentencepiece"

    def __init__(self, pieces=0, control=(), unknown=()):
        self.pieces, self.control, self.unknown = pieces, control, unknown

    def get_piece_size(self):
        return self.pieces

    def is_control(self, piece):
        return piece in self.control

    def is_unknown(self, piece):
        return piece in self.unknown


class Tokenizer:
    """A tokenizer of transformers, as far as it is looked at."""

    def __init__(self, vocab, *, eos_token_id=None, added=None, encodes_to=None, **attributes):
        self.vocab = vocab
        self.eos_token_id = eos_token_id
        self.added = added or {}
        self.encodes_to = encodes_to
        vars(self).update(attributes)

    def get_vocab(self):
        return self.vocab | self.added

    def get_added_vocab(self):
        return self.added

    def encode(self, text, add_special_tokens=True):  # noqa: ARG002
        return [self.encodes_to]

    def convert_ids_to_tokens(self, token_ids):
        return token_ids


class Backend:
    """A ``tokenizers.Tokenizer``, as far as it is looked at."""

    def __init__(self, vocab, text):
        self.model = SimpleNamespace(token_to_id=vocab.get)
        self.text = text

    def to_str(self):
        return self.text


def fast(vocab, text=None, **arguments):
    return Tokenizer(vocab, backend_tokenizer=Backend(vocab, text or tokenizer_json()), **arguments)


def test_fast_tokenizer():
    tokenizer = fast({"Ġa": 0, "b": 3}, added={"für": 5, "<|end|>": 4}, eos_token_id=4)
    info = TokenizerInfo.from_huggingface(tokenizer)
    assert info.vocab_type is VocabType.BYTE_LEVEL
    assert info.decoded_vocab == [b" a", b"", b"", b"b", b"<|end|>", "für".encode()]
    assert info.stop_token_ids == [4]
    assert info.special_token_ids == [1, 2], "nothing marks a token as special"
    assert TokenizerInfo.from_huggingface(tokenizer, vocab_size=8).vocab_size == 8
    assert TokenizerInfo.from_huggingface(tokenizer, stop_token_ids=0).stop_token_ids == [0]
    with pytest.warns(UserWarning, match="eos_token_id"):
        cut = TokenizerInfo.from_huggingface(tokenizer, vocab_size=4)
    assert cut.decoded_vocab == [b" a", b"", b"", b"b"]


def test_special_tokens_of_tokenizer_objects():
    marks = {
        4: SimpleNamespace(special=True),
        5: SimpleNamespace(special=False),
        99: SimpleNamespace(special=True),
    }
    tokenizer = fast(
        {"Ġa": 0, "b": 3},
        added={"für": 5, "<|end|>": 4},
        eos_token_id=4,
        all_special_ids=[0, 4],
        added_tokens_decoder=marks,
    )
    info = TokenizerInfo.from_huggingface(tokenizer)
    assert info.special_token_ids == [0, 1, 2, 4]
    assert info.token_bytes(4) == b"<|end|>"
    given = TokenizerInfo.from_huggingface(tokenizer, special_token_ids=[5])
    assert given.special_token_ids == [1, 2, 5]


def test_control_pieces_of_sentencepiece():
    model = SentencePieceProcessor(control=[0], unknown=[2], pieces=4)
    tokenizer = Tokenizer({"<s>": 0, "▁a": 1, "<unk>": 2, "b": 3}, eos_token_id=0, sp_model=model)
    assert TokenizerInfo.from_huggingface(tokenizer).special_token_ids == [0, 2]


def test_special_tokens_of_lists():
    tokens = ["a", "<|x|>", "</s>"]
    plain = TokenizerInfo(tokens, vocab_size=4)
    assert plain.special_token_ids == [3]
    info = TokenizerInfo(tokens, vocab_size=4, special_token_ids=[2, 1])
    assert info.special_token_ids == [1, 2, 3]
    assert info.decoded_vocab == [b"a", b"<|x|>", b"</s>", b""]
    assert info.stop_token_ids == [2]
    assert info != plain
    assert info.fingerprint != plain.fingerprint
    assert hash(info) == hash(TokenizerInfo(tokens, vocab_size=4, special_token_ids=info.special_token_ids))
    for copy in (
        pickle.loads(pickle.dumps(info)),
        TokenizerInfo.deserialize_json(info.serialize_json()),
        TokenizerInfo.from_vocab_and_metadata(tokens, info.dump_metadata()),
        TokenizerInfo.from_tokenizer(info, 4),
    ):
        assert copy == info
    assert TokenizerInfo.from_tokenizer(info, 3).special_token_ids == [1, 2]
    with pytest.raises(TokenizerError, match="special token 4 is outside"):
        TokenizerInfo(tokens, vocab_size=4, special_token_ids=[4])
    with pytest.raises(ValueError, match="special_token_ids"):
        TokenizerInfo(tokens, special_token_ids=["a"])


def test_special_tokens_of_files(tmp_path):
    marked = [
        {"id": 5, "content": "<|endoftext|>", "special": True},
        {"id": 1, "content": "für", "special": False},
    ]
    text = tokenizer_json(added_tokens=marked)
    (tmp_path / "tokenizer.json").write_text(text, encoding="utf-8")
    assert TokenizerInfo.from_file(tmp_path).special_token_ids == [3, 5]
    assert TokenizerInfo.from_file(tmp_path, special_token_ids=[]).special_token_ids == [3]
    assert TokenizerInfo.from_file(tmp_path, special_token_ids=[1]).special_token_ids == [1, 3]
    backend = SimpleNamespace(to_str=lambda: text)
    assert TokenizerInfo.from_tokenizers(backend).special_token_ids == [3, 5]
    assert TokenizerInfo.from_tokenizers(backend, special_token_ids=[0]).special_token_ids == [0, 3]
    (tmp_path / "tokenizer_config.json").write_text('{"pad_token": "a"}', encoding="utf-8")
    assert TokenizerInfo.from_file(tmp_path).special_token_ids == [0, 3, 5]


def test_byte_of_the_model_that_is_listed_as_added():
    tokenizer = fast({"é": 0}, added={"é": 0}, eos_token_id=0)
    assert TokenizerInfo.from_huggingface(tokenizer).decoded_vocab == [b"\xe9"]


def test_names_overrule_the_description():
    byte_fallback = {name: place for place, name in enumerate([*BYTE_PIECES, "▁a"])}
    tokenizer = fast(byte_fallback, eos_token_id=0, encodes_to="▁a")
    info = TokenizerInfo.from_huggingface(tokenizer)
    assert (info.vocab_type, info.add_prefix_space) == (VocabType.BYTE_FALLBACK, True)
    assert info.decoded_vocab == [*(bytes([byte]) for byte in range(256)), b" a"]

    byte_level = {name: place for place, name in enumerate(BYTE_ALPHABET)}
    tokenizer = fast(
        byte_level, text=tokenizer_json(pre_tokenizer=None, decoder=None), eos_token_id=0, encodes_to="a"
    )
    info = TokenizerInfo.from_huggingface(tokenizer)
    assert (info.vocab_type, info.add_prefix_space) == (VocabType.BYTE_LEVEL, False)
    assert sorted(info.decoded_vocab) == [bytes([byte]) for byte in range(256)]


def test_missing_stop_token_warns():
    with pytest.warns(UserWarning, match="found by their texts"):
        info = TokenizerInfo.from_huggingface(fast({"a": 0, "</s>": 1}))
    assert info.stop_token_ids == [1]


def test_tokenizer_on_tiktoken():
    vocab = {b"a": 0, b"\xff": 1, "\ufffd": 2}
    encoding = Encoding({0: b"a", 1: b"\xff", 2: b"\xfe"})
    info = TokenizerInfo.from_huggingface(
        Tokenizer(vocab, tokenizer=encoding, eos_token_id=0, encodes_to=" ")
    )
    assert info.vocab_type is VocabType.RAW
    assert info.decoded_vocab == [b"a", b"\xff", b"\xfe"], "a name that lost its byte is restored"

    named = Tokenizer(
        {"Ġ": 0}, vocab_files_names={"vocab_file": "x.tiktoken"}, eos_token_id=0, encodes_to="Ġ"
    )
    assert TokenizerInfo.from_huggingface(named).vocab_type is VocabType.BYTE_LEVEL


@pytest.mark.parametrize("attribute", ["sp_model", "tok", "tokenizer"])
def test_tokenizer_on_sentencepiece(attribute):
    model = SentencePieceProcessor()
    if attribute == "tokenizer":
        model = Tokenizer({}, sp_model=model)
    with_bytes = Tokenizer({"<0x0A>": 0, "▁a": 1}, eos_token_id=0, **{attribute: model})
    info = TokenizerInfo.from_huggingface(with_bytes)
    assert (info.vocab_type, info.add_prefix_space) == (VocabType.BYTE_FALLBACK, True)
    assert info.decoded_vocab == [b"\n", b" a"]
    without_bytes = Tokenizer({"b": 0, "▁a": 1}, eos_token_id=0, **{attribute: model})
    assert TokenizerInfo.from_huggingface(without_bytes).decoded_vocab == [b"b", b" a"]


def test_other_tokenizers_are_refused():
    with pytest.raises(ValueError, match="Unsupported tokenizer type"):
        TokenizerInfo.from_huggingface(Tokenizer({"a": 0}))
    with pytest.raises(ValueError, match="Unsupported tokenizer type"):
        TokenizerInfo.from_huggingface(object())
    with pytest.raises(ValueError, match="stop_token_ids"):
        TokenizerInfo.from_huggingface(fast({"a": 0}), stop_token_ids=[])
    with pytest.raises(ValueError, match="exceeds the limit"):
        TokenizerInfo.from_huggingface(fast({"a": 1 << 40}, eos_token_id=0))
    with pytest.raises(ValueError, match="Unsupported tokenizer type"):
        TokenizerInfo.from_tokenizers(object())
    with pytest.raises(ValueError, match="Unsupported tokenizer type"):
        TokenizerInfo.from_tiktoken(object())


def test_private_helpers():
    detect = TokenizerInfo._detect_metadata_from_hf
    assert detect(tokenizer_json()) == {"vocab_type": VocabType.BYTE_LEVEL, "add_prefix_space": False}
    metaspace = {"type": "Metaspace", "prepend_scheme": "first"}
    described = tokenizer_json(pre_tokenizer=metaspace, decoder={"type": "ByteFallback"})
    assert detect(described) == {"vocab_type": VocabType.BYTE_FALLBACK, "add_prefix_space": True}
    assert detect("{}") == {"vocab_type": VocabType.RAW, "add_prefix_space": False}
    from_vocab = TokenizerInfo._detect_vocab_type_from_vocab
    assert from_vocab(dict.fromkeys(BYTE_ALPHABET, 0)) is VocabType.BYTE_LEVEL
    assert from_vocab(dict.fromkeys(BYTE_PIECES, 0)) is VocabType.BYTE_FALLBACK
    assert from_vocab({"a": 0}) is None


def test_from_tiktoken_encoding():
    encoding = Encoding({0: b"a", 2: b"\xff", 3: b"<|endoftext|>"})
    info = TokenizerInfo.from_tiktoken(encoding, special_tokens={"<|x|>": 5})
    assert info.decoded_vocab == [b"a", b"", b"\xff", b"<|endoftext|>", b"", b"<|x|>"]
    assert info.stop_token_ids == [3]
    assert info.special_token_ids == [1, 4, 5]
    given = TokenizerInfo.from_tiktoken(encoding, special_tokens={"<|x|>": 5}, special_token_ids=[3])
    assert given.special_token_ids == [1, 3, 4]
    with pytest.raises(TokenizerError, match="id 0 belongs to two tokens"):
        TokenizerInfo.from_tiktoken(encoding, special_tokens={"x": 0})


def test_real_tiktoken_encoding():
    tiktoken = pytest.importorskip("tiktoken")
    ranks = {bytes([byte]): byte for byte in range(256)} | {b"ab": 256}
    encoding = tiktoken.Encoding(
        "t", pat_str=r"\w+", mergeable_ranks=ranks, special_tokens={"<|endoftext|>": 300}
    )
    info = TokenizerInfo.from_tiktoken(encoding)
    assert info.vocab_size == 301
    assert info.token_bytes(256) == b"ab"
    assert info.token_bytes(200) == bytes([200])
    assert info.stop_token_ids == [300]


def test_import_needs_no_other_library():
    program = (
        "import sys, tokenstile.tokenizer_info\n"
        "assert not {'torch', 'transformers', 'tokenizers', 'tiktoken', 'sentencepiece'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


# A tokenizer object in place of the list.


def object_and_reader():
    import tiktoken
    import tokenizers

    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE({"a": 0, "b": 1, "<|end|>": 2}, []))
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    tokenizer.add_special_tokens(["<|end|>"])
    ranks = {bytes([byte]): byte for byte in range(256)}
    encoding = tiktoken.Encoding("tiny", pat_str=".", mergeable_ranks=ranks, special_tokens={"</s>": 256})
    transformers = SimpleNamespace(
        backend_tokenizer=tokenizer, get_vocab=tokenizer.get_vocab, eos_token_id=2, all_special_ids=[2]
    )
    return {
        "tokenizers": (tokenizer, TokenizerInfo.from_tokenizers),
        "tiktoken": (encoding, TokenizerInfo.from_tiktoken),
        "transformers": (transformers, TokenizerInfo.from_huggingface),
    }


@pytest.mark.parametrize("kind", ["tokenizers", "tiktoken", "transformers"])
def test_a_tokenizer_object_in_place_of_the_list(kind):
    tokenizer, read = object_and_reader()[kind]
    expected = read(tokenizer, vocab_size=300)
    info = TokenizerInfo(tokenizer, vocab_size=300)
    assert info == expected
    assert info.vocab_size == 300
    assert TokenizerInfo(tokenizer, stop_token_ids=[0]).stop_token_ids == [0]
    assert (
        TokenizerInfo(tokenizer, special_token_ids=[1]).special_token_ids
        == read(tokenizer, special_token_ids=[1]).special_token_ids
    )
    assert TokenizerInfo(info, vocab_size=301).vocab_size == 301
    for options in ({"vocab_type": VocabType.BYTE_LEVEL}, {"add_prefix_space": True}):
        with pytest.raises(InvalidArgumentError, match="a tokenizer says them itself"):
            TokenizerInfo(tokenizer, **options)
    with pytest.raises(InvalidArgumentError, match="stop_token_ids is for what is read"):
        TokenizerInfo(info, stop_token_ids=[0])


def test_a_class_of_ones_own_may_take_a_tokenizer_object():
    class Mine(TokenizerInfo):
        pass

    tokenizer, _ = object_and_reader()["tokenizers"]
    assert isinstance(Mine(tokenizer), Mine)
