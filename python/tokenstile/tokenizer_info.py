"""Vocabularies: which bytes each token id stands for, and which ids end a text.

A `TokenizerInfo` is made once for a model, from whatever describes its tokenizer: a list of tokens, a
tokenizer object of transformers or of tokenizers, a ``tokenizer.json``, a tiktoken encoding. It is immutable,
compares by content, can be pickled, and may be used from many threads. Two equal vocabularies share one table
in the process.

No other library is imported for any of this: tokenizer objects are recognised by what they have.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Mapping
from enum import Enum
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, SupportsIndex, TypeAlias, TypedDict

from tokenstile import _core
from tokenstile._arguments import flag, whole_number, whole_numbers
from tokenstile.base import XGRObject
from tokenstile.exceptions import InvalidArgumentError, TokenizerError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["TokenizerInfo", "VocabType", "XGRObject"]

_SPACE_MARK: Final = "\u2581"
_BYTE_LEVEL_SPACE: Final = "\u0120"
_MAX_TOKEN_ID: Final = 2**32 - 1


def _build_byte_level_charset() -> frozenset[str]:
    """Return the characters that byte-level vocabularies spell the 256 bytes with."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    return frozenset(map(chr, printable | {0x100 + at for at in range(256 - len(printable))}))


_BYTE_LEVEL_CHARSET: Final = _build_byte_level_charset()


class VocabType(Enum):
    """How the names of tokens spell their bytes."""

    RAW = 0
    """The name is the token: tiktoken's vocabularies."""

    BYTE_FALLBACK = 1
    """SentencePiece's spelling: ``▁`` is a space, and ``<0x1B>`` is one byte (Llama 2, Gemma)."""

    BYTE_LEVEL = 2
    """GPT-2's spelling: a printable character for each byte, ``Ġ`` for a space (Llama 3, Qwen, DeepSeek)."""


class _Metadata(TypedDict):
    vocab_type: VocabType
    add_prefix_space: bool


class _Options(TypedDict):
    vocab_size: int | None
    stop_token_ids: Iterable[int] | int | None
    special_token_ids: Iterable[int] | None


TokenizerLike: TypeAlias = Any
"""A tokenizer object of transformers, tokenizers or tiktoken."""


class TokenizerInfo:
    """A vocabulary, with the ids that end a text.

    ``encoded_vocab`` lists the names of the tokens in the order of ids, spelled as ``vocab_type`` says.
    ``vocab_size`` is the number of the model's logits where that is larger. ``stop_token_ids`` are the tokens
    that end a text; where they are not given, the tokens with texts such as ``</s>`` or ``<|eot_id|>`` are.
    ``special_token_ids`` are control tokens, which are no text: a grammar has them only where it names them, and a
    list of tokens has none unless they are given. Every other token that has a text can be produced by a grammar
    with that text. ``add_prefix_space`` tells that the tokenizer puts a space before a text.

    In place of the list there may be a tokenizer object, which is read as `from_tokenizer` reads it: it says itself how
    its tokens are spelled.
    """

    __slots__ = ("__dict__", "__weakref__", "_handle")

    _handle: _core.TokenizerInfo

    def __init__(
        self,
        encoded_vocab: Sequence[bytes] | Sequence[str] | Sequence[bytes | str] | TokenizerLike,
        vocab_type: VocabType = VocabType.RAW,
        *,
        vocab_size: int | None = None,
        stop_token_ids: Iterable[int] | int | None = None,
        add_prefix_space: bool = False,
        special_token_ids: Iterable[int] | None = None,
    ) -> None:
        if _is_tokenizer(encoded_vocab):
            if _vocab_type(vocab_type) is not VocabType.RAW or add_prefix_space:
                raise InvalidArgumentError(
                    "vocab_type and add_prefix_space are for a list of tokens: a tokenizer says them itself"
                )
            read = _read_tokenizer(encoded_vocab, vocab_size, stop_token_ids, special_token_ids)
            self._handle = read._handle  # noqa: SLF001 - of this very class
            return
        _check_is_list(encoded_vocab)
        self._handle = _core.TokenizerInfo(
            encoded_vocab,
            _vocab_type(vocab_type).value,
            _size(vocab_size),
            _token_ids(stop_token_ids),
            flag("add_prefix_space", add_prefix_space),
            None,
            _special_ids(special_token_ids),
        )

    @classmethod
    def _create_from_handle(cls, handle: _core.TokenizerInfo) -> TokenizerInfo:
        """Wrap a vocabulary of the core."""
        info = cls.__new__(cls)
        info._handle = handle  # noqa: SLF001 - of this very class
        return info

    # Where vocabularies come from.

    @staticmethod
    def from_huggingface(
        tokenizer: object,
        *,
        vocab_size: int | None = None,
        stop_token_ids: Iterable[int] | int | None = None,
        special_token_ids: Iterable[int] | None = None,
    ) -> TokenizerInfo:
        """Read the vocabulary of a tokenizer object of transformers.

        Fast tokenizers are supported, and Python ones on top of tiktoken or SentencePiece. ``vocab_size`` is
        the number of the model's logits: ids beyond it are left out, missing ones have no text. Unless
        ``stop_token_ids`` are given, the tokenizer's ``eos_token_id`` is the stop token. Unless ``special_token_ids``
        are given, the tokens are special that the tokenizer marks so: its ``all_special_ids`` and
        ``added_tokens_decoder``, and the control pieces of SentencePiece.
        """
        stops = _token_ids(stop_token_ids)
        if stops is not None and not stops:
            raise InvalidArgumentError("stop_token_ids must not be empty")
        names = _names_by_id(tokenizer, _size(vocab_size) or None)
        metadata = TokenizerInfo._detect_metadata(tokenizer, names)
        if metadata is None:
            raise InvalidArgumentError(f"Unsupported tokenizer type: {type(tokenizer)}")
        if stops is None:
            stops = _stop_tokens_of(tokenizer, len(names.encoded))
        special = _special_ids(special_token_ids)
        if special is None:
            special = _special_tokens_of(tokenizer, len(names.encoded))
        handle = _core.TokenizerInfo(
            names.encoded,
            metadata["vocab_type"].value,
            None,
            stops,
            metadata["add_prefix_space"],
            names.added_ids,
            special,
        )
        return TokenizerInfo._create_from_handle(handle)

    @staticmethod
    def from_file(
        path: str | PathLike[str],
        *,
        vocab_size: int | None = None,
        stop_token_ids: Iterable[int] | int | None = None,
        special_token_ids: Iterable[int] | None = None,
    ) -> TokenizerInfo:
        """Read a ``tokenizer.json``, or the one in a folder.

        Unless ``stop_token_ids`` are given, they come from the ``generation_config.json``,
        ``tokenizer_config.json`` or ``special_tokens_map.json`` beside the file; where none of those names
        one, they are the special tokens with a well-known text. Unless ``special_token_ids`` are given, the tokens
        are special that the file and the configuration files mark so. ``vocab_size`` is the number of the model's
        logits, as in `from_huggingface`.
        """
        file = Path(path)
        if file.is_dir():
            file /= "tokenizer.json"
        handle = _core.TokenizerInfo.from_file(
            file, _size(vocab_size), _token_ids(stop_token_ids), _special_ids(special_token_ids)
        )
        info = TokenizerInfo._create_from_handle(handle)
        if stop_token_ids is None and not info.stop_token_ids:
            warnings.warn(f"{file} does not say which token ends a text: give stop_token_ids", stacklevel=2)
        return info

    @staticmethod
    def from_tokenizers(
        tokenizer: object,
        *,
        vocab_size: int | None = None,
        stop_token_ids: Iterable[int] | int | None = None,
        special_token_ids: Iterable[int] | None = None,
    ) -> TokenizerInfo:
        """Read the vocabulary of a ``tokenizers.Tokenizer``.

        Such an object does not know what ends a text: unless ``stop_token_ids`` are given, they are found by
        their texts. Unless ``special_token_ids`` are given, they are the added tokens that it marks as special.
        """
        to_str = getattr(tokenizer, "to_str", None)
        if to_str is None:
            raise InvalidArgumentError(f"Unsupported tokenizer type: {type(tokenizer)}")
        handle = _core.TokenizerInfo.from_tokenizer_json(
            to_str(), _size(vocab_size), _token_ids(stop_token_ids), _special_ids(special_token_ids)
        )
        return TokenizerInfo._create_from_handle(handle)

    @staticmethod
    def from_tiktoken(
        encoding_or_path: object,
        *,
        special_tokens: Mapping[str, int] | None = None,
        vocab_size: int | None = None,
        stop_token_ids: Iterable[int] | int | None = None,
        special_token_ids: Iterable[int] | None = None,
    ) -> TokenizerInfo:
        """Read a ``.tiktoken`` file, or the vocabulary of a ``tiktoken.Encoding``.

        A file has no special tokens; ``special_tokens`` gives their ids. A string that is the name of no file
        is taken as the name of an encoding, which needs tiktoken. Unless ``special_token_ids`` are given, the
        special tokens of the encoding and ``special_tokens`` are special.
        """
        special_ids = _special_ids(special_token_ids)
        size, stops = _size(vocab_size), _token_ids(stop_token_ids)
        specials = {text: _token_id(token_id) for text, token_id in (special_tokens or {}).items()}
        if isinstance(encoding_or_path, str) and not Path(encoding_or_path).exists():
            encoding_or_path = _tiktoken_encoding(encoding_or_path)
        if isinstance(encoding_or_path, str | PathLike):
            file = Path(encoding_or_path)
            handle = _core.TokenizerInfo.from_tiktoken_file(
                file, list(specials.items()), size, stops, special_ids
            )
        else:
            tokens = _tokens_of_encoding(encoding_or_path, specials, size)
            if special_ids is None:
                special_ids = _special_tokens_of_encoding(encoding_or_path, specials, len(tokens))
            handle = _core.TokenizerInfo(tokens, VocabType.RAW.value, None, stops, False, None, special_ids)
        return TokenizerInfo._create_from_handle(handle)

    @classmethod
    def from_tokenizer(
        cls,
        tokenizer: object,
        vocab_size: int | None = None,
        *,
        special_token_ids: Iterable[int] | None = None,
    ) -> TokenizerInfo:
        """Read the vocabulary of whatever describes a tokenizer, by the method above that knows its kind.

        That is a tokenizer object of transformers, tokenizers or tiktoken, the path of a ``tokenizer.json`` or of its
        folder, the name of an encoding of tiktoken, a list of tokens, or a `TokenizerInfo`, which has its special
        tokens already.
        """
        if isinstance(tokenizer, list | tuple):
            return cls(tokenizer, vocab_size=vocab_size, special_token_ids=special_token_ids)
        return _read_tokenizer(tokenizer, vocab_size, None, special_token_ids)

    @staticmethod
    def from_vocab_and_metadata(encoded_vocab: Sequence[bytes | str], metadata: str) -> TokenizerInfo:
        """Make a vocabulary of a list of tokens and what `dump_metadata` gave, which names its special tokens."""
        _check_is_list(encoded_vocab)
        return TokenizerInfo._create_from_handle(
            _core.TokenizerInfo.from_vocab_and_metadata(encoded_vocab, metadata)
        )

    @staticmethod
    def deserialize_json(json_string: str) -> TokenizerInfo:
        """Read back what `serialize_json` gave.

        Raises `InvalidJSONError`, `DeserializeFormatError` or `DeserializeVersionError`.
        """
        return TokenizerInfo._create_from_handle(_core.TokenizerInfo.deserialize_json(json_string))

    # What is known.

    @property
    def vocab_type(self) -> VocabType:
        """How the names of the tokens were spelled."""
        return VocabType(self._handle.vocab_type)

    @property
    def vocab_size(self) -> int:
        """The number of ids, those without a token included: the number of logits."""
        return self._handle.vocab_size

    @property
    def add_prefix_space(self) -> bool:
        """Whether the tokenizer puts a space before a text."""
        return self._handle.add_prefix_space

    @property
    def prepend_space_in_tokenization(self) -> bool:
        """The older name of `add_prefix_space`."""
        warnings.warn(
            "prepend_space_in_tokenization is deprecated, use add_prefix_space",
            DeprecationWarning,
            stacklevel=2,
        )
        return self.add_prefix_space

    @property
    def decoded_vocab(self) -> list[bytes]:
        """The bytes of the texts of all tokens, special ones among them, in a new list."""
        return self._handle.decoded_vocab

    @property
    def stop_token_ids(self) -> list[int]:
        """The ids that end a text."""
        return self._handle.stop_token_ids

    @property
    def special_token_ids(self) -> list[int]:
        """The ids that are no text for a grammar: control tokens, padding, holes, and tokens with an empty text."""
        return self._handle.special_token_ids

    @property
    def max_token_bytes(self) -> int:
        """The length of the longest text of a token."""
        return self._handle.max_token_bytes

    @property
    def fingerprint(self) -> str:
        """A hash of the texts of all ids and of which are special, in hexadecimal, the same on every machine."""
        return self._handle.fingerprint

    def token_bytes(self, token_id: int) -> bytes:
        """Return the bytes of the text of one token, which a special token has too."""
        found = self._handle.token_bytes(_token_id(token_id))
        if found is None:
            raise InvalidArgumentError(
                f"token {token_id} is outside of the vocabulary of {self.vocab_size} tokens"
            )
        return found

    def dump_metadata(self) -> str:
        """Return all but the tokens, as JSON; see `from_vocab_and_metadata`."""
        return self._handle.dump_metadata()

    def serialize_json(self) -> str:
        """Return everything as JSON; see `deserialize_json`."""
        return self._handle.serialize_json()

    def __eq__(self, other: object) -> bool:
        return self._handle == other._handle if isinstance(other, TokenizerInfo) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._handle)

    def __reduce__(self) -> tuple[object, ...]:
        return TokenizerInfo.deserialize_json, (self.serialize_json(),)

    def __repr__(self) -> str:
        return (
            f"<TokenizerInfo {self.vocab_type.name} vocab_size={self.vocab_size} "
            f"stop_token_ids={self.stop_token_ids} fingerprint={self.fingerprint}>"
        )

    # How tokenizer objects are recognised. Engines call these, so they keep XGrammar's names.

    @staticmethod
    def _detect_metadata(tokenizer: object, names: _Names) -> _Metadata | None:
        """Find out the spelling of a tokenizer object; ``None`` if it is of no known kind."""
        backend = getattr(tokenizer, "backend_tokenizer", None)
        if backend is not None and hasattr(backend, "to_str"):
            return TokenizerInfo._detect_metadata_from_fast(tokenizer, backend.to_str(), names)
        if TokenizerInfo._is_tiktoken_tokenizer(tokenizer):
            byte_level = TokenizerInfo._is_byte_level_tokenizer(tokenizer)
            vocab_type = VocabType.BYTE_LEVEL if byte_level else VocabType.RAW
            return {"vocab_type": vocab_type, "add_prefix_space": False}
        if TokenizerInfo._is_sentencepiece_tokenizer(tokenizer):
            # The mark of a space has to become one, whether there are byte pieces or not.
            marked = any(name == "<0x0A>" or _has_space_mark(name) for name in names.encoded)
            vocab_type = VocabType.BYTE_FALLBACK if marked else VocabType.RAW
            return {"vocab_type": vocab_type, "add_prefix_space": True}
        return None

    @staticmethod
    def _detect_metadata_from_fast(tokenizer: object, backend_str: str, names: _Names) -> _Metadata:
        """Take the description of a fast tokenizer, unless the names of its tokens contradict it."""
        described = TokenizerInfo._detect_metadata_from_hf(backend_str)
        shown = _core.TokenizerInfo.detect_vocab_type([name for name in names.encoded if name])
        if shown is None or VocabType(shown) is described["vocab_type"]:
            return described
        vocab_type = VocabType(shown)
        prefix = TokenizerInfo._detect_add_prefix_space_by_encoding(tokenizer, vocab_type)
        return {"vocab_type": vocab_type, "add_prefix_space": prefix}

    @staticmethod
    def _detect_metadata_from_hf(backend_str: str) -> _Metadata:
        """Read the spelling and the prefix space from the text of a ``tokenizer.json``."""
        vocab_type, add_prefix_space = _core.TokenizerInfo.detect_metadata(backend_str)
        return {"vocab_type": VocabType(vocab_type), "add_prefix_space": add_prefix_space}

    @staticmethod
    def _detect_vocab_type(tokenizer: object) -> VocabType:
        """Tell how a tokenizer of any kind spells its tokens."""
        return TokenizerInfo.from_tokenizer(tokenizer).vocab_type

    @staticmethod
    def _detect_vocab_type_from_vocab(vocab_dict: Mapping[str, int]) -> VocabType | None:
        """Tell the spelling that the names of a vocabulary show, if they show one clearly."""
        shown = _core.TokenizerInfo.detect_vocab_type(list(vocab_dict))
        return None if shown is None else VocabType(shown)

    @staticmethod
    def _detect_add_prefix_space_by_encoding(tokenizer: object, vocab_type: VocabType) -> bool:
        """Tell whether a space appears before a text when the tokenizer encodes it."""
        first = _first_token(tokenizer, "a", add_special_tokens=False)
        mark = _SPACE_MARK if vocab_type is VocabType.BYTE_FALLBACK else _BYTE_LEVEL_SPACE
        return isinstance(first, str) and first.startswith(mark)

    @staticmethod
    def _is_tiktoken_tokenizer(tokenizer: object) -> bool:
        """Tell whether a tokenizer of transformers is built on tiktoken."""
        if _is_instance_of(getattr(tokenizer, "tokenizer", None), "tiktoken", "Encoding"):
            return True
        files = getattr(tokenizer, "vocab_files_names", None)
        return isinstance(files, dict) and "tiktoken" in str(files.get("vocab_file", ""))

    @staticmethod
    def _is_sentencepiece_tokenizer(tokenizer: object) -> bool:
        """Tell whether a tokenizer of transformers is built on SentencePiece."""
        return bool(_sentencepiece_models(tokenizer))

    @staticmethod
    def _is_byte_level_tokenizer(tokenizer: object) -> bool:
        """Tell whether the tokenizer spells a space as byte-level vocabularies do."""
        return _first_token(tokenizer, " ") == _BYTE_LEVEL_SPACE


XGRObject.register(TokenizerInfo)


def _is_tokenizer(value: object) -> bool:
    """Tell whether a value is a tokenizer object of some kind, and not a list of tokens."""
    methods = ("get_vocab", "to_str", "decode_single_token_bytes")
    return isinstance(value, TokenizerInfo) or any(hasattr(value, method) for method in methods)


def _read_tokenizer(
    tokenizer: object,
    vocab_size: int | None,
    stop_token_ids: Iterable[int] | int | None,
    special_token_ids: Iterable[int] | None,
) -> TokenizerInfo:
    """Read what describes a tokenizer by the constructor that knows its kind."""
    if isinstance(tokenizer, TokenizerInfo):
        if special_token_ids is not None or stop_token_ids is not None:
            name = "stop_token_ids" if special_token_ids is None else "special_token_ids"
            kind = name.partition("_")[0]
            raise InvalidArgumentError(
                f"{name} is for what is read: a TokenizerInfo has its {kind} tokens already"
            )
        return _resized(tokenizer, vocab_size)
    options: _Options = {
        "vocab_size": vocab_size,
        "stop_token_ids": stop_token_ids,
        "special_token_ids": special_token_ids,
    }
    is_name = isinstance(tokenizer, str) and not Path(tokenizer).exists()
    if is_name or hasattr(tokenizer, "decode_single_token_bytes"):
        return TokenizerInfo.from_tiktoken(tokenizer, **options)
    if isinstance(tokenizer, str | PathLike):
        return TokenizerInfo.from_file(tokenizer, **options)
    if hasattr(tokenizer, "to_str"):
        return TokenizerInfo.from_tokenizers(tokenizer, **options)
    return TokenizerInfo.from_huggingface(tokenizer, **options)


class _Names:
    """The names of a tokenizer's tokens by id, and which ids are added tokens."""

    __slots__ = ("added_ids", "encoded")

    def __init__(self, size: int) -> None:
        self.encoded: list[str | bytes] = [""] * size
        self.added_ids: set[int] = set()


def _names_by_id(tokenizer: object, vocab_size: int | None) -> _Names:
    """Place the names of a tokenizer object by their ids."""
    get_vocab = getattr(tokenizer, "get_vocab", None)
    if get_vocab is None:
        raise InvalidArgumentError(f"Unsupported tokenizer type: {type(tokenizer)} has no get_vocab()")
    vocab: dict[str | bytes, int] = get_vocab()
    size = vocab_size or max(len(vocab), max(vocab.values(), default=-1) + 1)
    if size > _core.TokenizerInfo.MAX_TOKENS:
        raise TokenizerError(
            f"a vocabulary of {size} tokens exceeds the limit of {_core.TokenizerInfo.MAX_TOKENS}"
        )
    names = _Names(size)
    for name, token_id in vocab.items():
        if 0 <= token_id < size:
            names.encoded[token_id] = name
    for name, token_id in _added_tokens_of(tokenizer).items():
        if 0 <= token_id < size:
            names.encoded[token_id] = name
            names.added_ids.add(token_id)
    _restore_lossy_names(tokenizer, names)
    return names


def _added_tokens_of(tokenizer: object) -> dict[str, int]:
    """Return the added tokens that are not tokens of the model as well."""
    get_added_vocab = getattr(tokenizer, "get_added_vocab", None)
    if get_added_vocab is None:
        return {}
    added: dict[str, int] = get_added_vocab()
    model = getattr(getattr(tokenizer, "backend_tokenizer", None), "model", None)
    if model is None or not hasattr(model, "token_to_id"):
        return added
    return {name: token_id for name, token_id in added.items() if model.token_to_id(name) != token_id}


def _restore_lossy_names(tokenizer: object, names: _Names) -> None:
    """Replace names that lost bytes on their way to text by the bytes that tiktoken has for them."""
    encoding = getattr(tokenizer, "tokenizer", None)
    if not _is_instance_of(encoding, "tiktoken", "Encoding"):
        return
    for token_id, name in enumerate(names.encoded):
        if isinstance(name, str) and "\ufffd" in name:
            names.encoded[token_id] = _bytes_in_encoding(encoding, token_id) or name


def _stop_tokens_of(tokenizer: object, vocab_size: int) -> list[int] | None:
    """Return the stop token that a tokenizer object knows; warn where it knows none."""
    eos = getattr(tokenizer, "eos_token_id", None)
    stops = [token_id for token_id in _token_ids(eos) or [] if token_id < vocab_size]
    if stops:
        return stops
    warnings.warn(
        "no stop_token_ids were given and the tokenizer has no eos_token_id: they are found by their texts",
        stacklevel=3,
    )
    return None


def _special_tokens_of(tokenizer: Any, vocab_size: int) -> list[int]:  # noqa: ANN401 - any tokenizer
    """Return the tokens that a tokenizer object marks as special."""
    found: set[int] = {int(token) for token in getattr(tokenizer, "all_special_ids", None) or ()}
    decoder = getattr(tokenizer, "added_tokens_decoder", None) or {}
    found |= {int(number) for number, token in decoder.items() if getattr(token, "special", False)}
    encoding = getattr(tokenizer, "tokenizer", None)
    if _is_instance_of(encoding, "tiktoken", "Encoding"):
        found |= set(_special_tokens_of_encoding(encoding, {}, vocab_size))
    for model in _sentencepiece_models(tokenizer):
        pieces = range(int(model.get_piece_size()))
        found |= {piece for piece in pieces if model.is_control(piece) or model.is_unknown(piece)}
    return sorted(token for token in found if 0 <= token < vocab_size)


def _sentencepiece_models(tokenizer: object) -> list[Any]:
    """Return the models of SentencePiece that a tokenizer object is built on."""
    inner = getattr(tokenizer, "tokenizer", None)
    candidates = (
        getattr(tokenizer, "sp_model", None),
        getattr(inner, "sp_model", None),
        getattr(tokenizer, "tok", None),
    )
    return [
        model for model in candidates if _is_instance_of(model, "sentencepiece", "SentencePieceProcessor")
    ]


def _special_tokens_of_encoding(encoding: Any, specials: Mapping[str, int], vocab_size: int) -> list[int]:  # noqa: ANN401
    """Return the special tokens of a ``tiktoken.Encoding``, and those that were given beside it."""
    own = getattr(encoding, "special_tokens_set", ())
    ids = {int(encoding.encode_single_token(text)) for text in own} | set(specials.values())
    return sorted(token for token in ids if token < vocab_size)


def _tiktoken_encoding(name: str) -> object:
    """Return the encoding of that name; a path that does not exist is not one."""
    if name.endswith(".tiktoken") or "/" in name or "\\" in name:
        raise FileNotFoundError(f"there is no file {name}")
    try:
        import tiktoken  # noqa: PLC0415 - only a name needs it
    except ImportError:
        raise TokenizerError(
            f"there is no file {name}, and encodings by name need the package tiktoken"
        ) from None
    if name not in (known := tiktoken.list_encoding_names()):
        raise TokenizerError(
            f"there is no file {name}, and no encoding of that name: tiktoken knows {', '.join(known)}"
        )
    return tiktoken.get_encoding(name)


def _tokens_of_encoding(encoding: Any, specials: Mapping[str, int], vocab_size: int | None) -> list[bytes]:  # noqa: ANN401
    """Return the tokens of a ``tiktoken.Encoding`` by id."""
    if not hasattr(encoding, "decode_single_token_bytes"):
        raise InvalidArgumentError(f"Unsupported tokenizer type: {type(encoding)}")
    size = vocab_size or max(int(encoding.max_token_value), *specials.values(), 0) + 1
    if size > _core.TokenizerInfo.MAX_TOKENS:
        raise TokenizerError(
            f"a vocabulary of {size} tokens exceeds the limit of {_core.TokenizerInfo.MAX_TOKENS}"
        )
    tokens = [_bytes_in_encoding(encoding, token_id) or b"" for token_id in range(size)]
    for text, token_id in specials.items():
        token = text.encode()
        if token_id < size and tokens[token_id] not in (b"", token):
            raise TokenizerError(f"id {token_id} belongs to two tokens, {tokens[token_id]!r} and {text!r}")
        if token_id < size:
            tokens[token_id] = token
    return tokens


def _bytes_in_encoding(encoding: Any, token_id: int) -> bytes | None:  # noqa: ANN401
    try:
        token: bytes = encoding.decode_single_token_bytes(token_id)
    except KeyError:
        return None
    return token


def _first_token(tokenizer: Any, text: str, **options: bool) -> object:  # noqa: ANN401
    """Return the name of the first token of a text; ``None`` where the tokenizer cannot encode."""
    try:
        names = tokenizer.convert_ids_to_tokens(tokenizer.encode(text, **options))
    except (AttributeError, TypeError, ValueError):
        return None
    return names[0] if names else None


def _has_space_mark(name: str | bytes) -> bool:
    return _SPACE_MARK in name if isinstance(name, str) else _SPACE_MARK.encode() in name


def _is_instance_of(value: object, package: str, name: str) -> bool:
    """Tell whether a value is of a class, without importing the package of that class."""
    return any(
        base.__name__ == name and base.__module__.partition(".")[0] == package for base in type(value).__mro__
    )


def _vocab_type(vocab_type: VocabType | int) -> VocabType:
    try:
        return VocabType(vocab_type)
    except ValueError:
        raise InvalidArgumentError(f"{vocab_type!r} is not a VocabType") from None


def _check_is_list(encoded_vocab: object) -> None:
    if isinstance(encoded_vocab, Mapping):
        raise InvalidArgumentError(
            "encoded_vocab must be a list of tokens in the order of their ids, not a mapping; "
            "from_huggingface reads tokenizer objects"
        )
    if isinstance(encoded_vocab, str | bytes) or not hasattr(encoded_vocab, "__iter__"):
        raise InvalidArgumentError(
            f"encoded_vocab must be a list of tokens, not {type(encoded_vocab).__name__}"
        )


def _size(vocab_size: int | None) -> int | None:
    if vocab_size is None:
        return None
    size = whole_number("vocab_size", vocab_size)
    if not 0 <= size <= _core.TokenizerInfo.MAX_TOKENS:
        raise TokenizerError(
            f"vocab_size must be between 0 and the limit of {_core.TokenizerInfo.MAX_TOKENS}, not {size}"
        )
    return size


def _token_id(token_id: SupportsIndex) -> int:
    number = operator.index(token_id)
    if not 0 <= number <= _MAX_TOKEN_ID:
        raise InvalidArgumentError(f"{number} is not a token id")
    return number


def _resized(info: TokenizerInfo, vocab_size: int | None) -> TokenizerInfo:
    """Return the same tokens for another number of logits."""
    if vocab_size is None or vocab_size == info.vocab_size:
        return info
    return TokenizerInfo(
        info.decoded_vocab[:vocab_size],
        vocab_size=vocab_size,
        stop_token_ids=[token for token in info.stop_token_ids if token < vocab_size],
        add_prefix_space=info.add_prefix_space,
        special_token_ids=[token for token in info.special_token_ids if token < vocab_size],
    )


def _special_ids(token_ids: Iterable[int] | None) -> list[int] | None:
    return _token_ids(token_ids, "special_token_ids")


def _token_ids(token_ids: Iterable[int] | int | None, argument: str = "stop_token_ids") -> list[int] | None:
    if token_ids is None:
        return None
    # An array has both: it is a number where it has one element.
    if isinstance(token_ids, SupportsIndex) and not hasattr(token_ids, "__len__"):
        return [_token_id(token_ids)]
    return [_token_id(token_id) for token_id in whole_numbers(argument, token_ids)]
