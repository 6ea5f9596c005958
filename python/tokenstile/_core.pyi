"""Types of the compiled part; the classes' documentation is theirs, in `help()`."""

import builtins
from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from typing import Any, Final, Literal, final, overload

from typing_extensions import disjoint_base

from tokenstile.json_schema import Schema, Spelling
from tokenstile.limits import Limits
from tokenstile.schema_report import Finding
from tokenstile.structural_tag_text import StructuralTagLike, TagItemLike
from tokenstile.tokenizer_info import TokenizerInfo as PythonTokenizerInfo

__all__ = [
    "SERIALIZATION_VERSION",
    "BatchGrammarMatcher",
    "CancelToken",
    "Capture",
    "CompiledGrammar",
    "Grammar",
    "GrammarCompiler",
    "GrammarMatcher",
    "TokenizerInfo",
    "__version__",
    "_apply_passes",
    "_machine_text",
    "_restore_compiled_grammar",
    "_restore_grammar",
    "apply_token_bitmask_inplace_cpu",
    "batch_accept_tokens",
    "batch_fill_drafts",
    "check_schema",
    "get_cache_limit_bytes",
    "get_default_spelling",
    "set_cache_limit_bytes",
    "set_default_spelling",
]

__version__: Final[str]
SERIALIZATION_VERSION: Final[str]

@final
class CancelToken:
    def __new__(cls) -> CancelToken: ...
    def cancel(self) -> None: ...
    @property
    def cancelled(self) -> bool: ...

@disjoint_base
class Grammar:
    @staticmethod
    def from_ebnf(
        ebnf_string: str,
        *,
        root_rule_name: str = "root",
        tokenizer_info: PythonTokenizerInfo | None = None,
        limits: Limits | None = None,
    ) -> Grammar: ...
    @staticmethod
    def from_regex(
        regex_string: str, *, print_converted_ebnf: bool = False, limits: Limits | None = None
    ) -> Grammar: ...
    @staticmethod
    def from_lark(
        lark_string: str,
        *,
        tokenizer_info: PythonTokenizerInfo | None = None,
        named_grammars: Mapping[str, Grammar | str] | None = None,
        spelling: Spelling | None = None,
        limits: Limits | None = None,
    ) -> Grammar: ...
    @staticmethod
    def from_json_schema(
        schema: Schema,
        *,
        any_whitespace: bool = True,
        indent: int | None = None,
        separators: tuple[str, str] | None = None,
        strict_mode: bool = True,
        max_whitespace_cnt: int | None = None,
        print_converted_ebnf: bool = False,
        any_order: bool | None = None,
        formats: Literal["assert", "annotate"] = "assert",
        on_unsupported: Literal["error", "warn"] = "error",
        registry: Mapping[str, Schema] | None = None,
        spelling: Spelling | None = None,
        limits: Limits | None = None,
    ) -> Grammar: ...
    @overload
    @staticmethod
    def from_structural_tag(
        structural_tag: StructuralTagLike,
        *,
        tokenizer_info: PythonTokenizerInfo | None = None,
        spelling: Spelling | None = None,
        limits: Limits | None = None,
    ) -> Grammar: ...
    @overload
    @staticmethod
    def from_structural_tag(
        tags: Sequence[TagItemLike],
        triggers: Sequence[str],
        *,
        tokenizer_info: PythonTokenizerInfo | None = None,
        spelling: Spelling | None = None,
        limits: Limits | None = None,
    ) -> Grammar: ...
    @staticmethod
    def builtin_json_grammar(*, spelling: Spelling | None = None) -> Grammar: ...
    @staticmethod
    def concat(*grammars: Grammar, limits: Limits | None = None) -> Grammar: ...
    @staticmethod
    def union(*grammars: Grammar, limits: Limits | None = None) -> Grammar: ...
    @staticmethod
    def intersect(*grammars: Grammar, limits: Limits | None = None) -> Grammar: ...
    @staticmethod
    def all_of(
        schemas: Sequence[Schema],
        *,
        any_whitespace: bool = True,
        indent: int | None = None,
        separators: tuple[str, str] | None = None,
        strict_mode: bool = True,
        max_whitespace_cnt: int | None = None,
        any_order: bool | None = None,
        formats: Literal["assert", "annotate"] = "assert",
        registry: Mapping[str, Schema] | None = None,
        spelling: Spelling | None = None,
        limits: Limits | None = None,
    ) -> Grammar: ...
    def then(self, *others: Grammar, limits: Limits | None = None) -> Grammar: ...
    def exclude(self, other: Grammar, *, limits: Limits | None = None) -> Grammar: ...
    def optional(self, *, limits: Limits | None = None) -> Grammar: ...
    def repeat(
        self,
        min: int = 0,  # noqa: A002 - the words for it
        max: int | None = None,  # noqa: A002
        *,
        limits: Limits | None = None,
    ) -> Grammar: ...
    def then_until(self, stop: str, *, limits: Limits | None = None) -> Grammar: ...
    def __add__(self, other: Grammar, /) -> Grammar: ...
    def __or__(self, other: Grammar, /) -> Grammar: ...
    def __and__(self, other: Grammar, /) -> Grammar: ...
    def __sub__(self, other: Grammar, /) -> Grammar: ...
    def __radd__(self, value: Grammar, /) -> Grammar: ...
    def __ror__(self, value: Grammar, /) -> Grammar: ...
    def __rand__(self, value: Grammar, /) -> Grammar: ...
    def __rsub__(self, value: Grammar, /) -> Grammar: ...
    def accepts(self, text: str | bytes) -> bool: ...
    @property
    def report(self) -> list[Finding]: ...
    def serialize_json(self) -> str: ...
    @staticmethod
    def deserialize_json(json_string: str) -> Grammar: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@disjoint_base
class CompiledGrammar:
    @property
    def grammar(self) -> Grammar: ...
    @property
    def tokenizer_info(self) -> PythonTokenizerInfo: ...
    @property
    def memory_size_bytes(self) -> int: ...
    def shortest_output(self) -> int: ...
    def longest_output(self) -> int | None: ...
    def serialize_json(self) -> str: ...
    @staticmethod
    def deserialize_json(json_str: str, tokenizer_info: PythonTokenizerInfo) -> CompiledGrammar: ...
    def save(self, path: str | PathLike[str]) -> None: ...
    @staticmethod
    def load(path: str | PathLike[str], tokenizer_info: PythonTokenizerInfo) -> CompiledGrammar: ...
    def get_stats(self) -> dict[str, int]: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@disjoint_base
class GrammarCompiler:
    def __new__(
        cls,
        tokenizer_info: PythonTokenizerInfo,
        *,
        max_threads: int = 8,
        cache_enabled: bool = True,
        cache_limit_bytes: int = -1,
        limits: Limits | None = None,
    ) -> GrammarCompiler: ...
    def __init__(
        self,
        tokenizer_info: PythonTokenizerInfo,
        *,
        max_threads: int = 8,
        cache_enabled: bool = True,
        cache_limit_bytes: int = -1,
        limits: Limits | None = None,
    ) -> None: ...
    def compile_grammar(
        self,
        grammar: str | Grammar,
        *,
        root_rule_name: str = "root",
        timeout: float | None = None,
        cancel: CancelToken | None = None,
    ) -> CompiledGrammar: ...
    def compile_regex(
        self, regex: str, *, timeout: float | None = None, cancel: CancelToken | None = None
    ) -> CompiledGrammar: ...
    def compile_lark(
        self,
        lark_string: str,
        *,
        named_grammars: Mapping[str, Grammar | str] | None = None,
        spelling: Spelling | None = None,
        timeout: float | None = None,
        cancel: CancelToken | None = None,
    ) -> CompiledGrammar: ...
    def compile_json_schema(
        self,
        schema: Schema,
        *,
        any_whitespace: bool = True,
        indent: int | None = None,
        separators: tuple[str, str] | None = None,
        strict_mode: bool = True,
        max_whitespace_cnt: int | None = None,
        any_order: bool | None = None,
        formats: Literal["assert", "annotate"] = "assert",
        on_unsupported: Literal["error", "warn"] = "error",
        registry: Mapping[str, Schema] | None = None,
        spelling: Spelling | None = None,
        timeout: float | None = None,
        cancel: CancelToken | None = None,
    ) -> CompiledGrammar: ...
    @overload
    def compile_structural_tag(
        self,
        structural_tag: StructuralTagLike,
        *,
        spelling: Spelling | None = None,
        timeout: float | None = None,
        cancel: CancelToken | None = None,
    ) -> CompiledGrammar: ...
    @overload
    def compile_structural_tag(
        self,
        tags: Sequence[TagItemLike],
        triggers: Sequence[str],
        *,
        spelling: Spelling | None = None,
        timeout: float | None = None,
        cancel: CancelToken | None = None,
    ) -> CompiledGrammar: ...
    def compile_builtin_json_grammar(
        self,
        *,
        spelling: Spelling | None = None,
        timeout: float | None = None,
        cancel: CancelToken | None = None,
    ) -> CompiledGrammar: ...
    def clear_cache(self) -> None: ...
    def get_cache_size_bytes(self) -> int: ...
    @property
    def cache_limit_bytes(self) -> int: ...
    @property
    def tokenizer_info(self) -> PythonTokenizerInfo: ...
    def get_stats(self) -> dict[str, Any]: ...

@final
class Capture:
    def __hash__(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def bytes(self) -> builtins.bytes: ...
    @property
    def text(self) -> str: ...
    @property
    def byte_span(self) -> tuple[int, int]: ...
    @property
    def token_span(self) -> tuple[int, int]: ...
    def __eq__(self, other: object, /) -> bool: ...

@disjoint_base
class GrammarMatcher:
    def __new__(
        cls,
        compiled_grammar: CompiledGrammar,
        *,
        override_stop_tokens: int | Sequence[int] | None = None,
        terminate_without_stop_token: bool = False,
        max_rollback_tokens: int = -1,
        default_temperature: float | None = None,
        max_tokens: int | None = None,
        on_capture: Callable[[Capture], object] | None = None,
        max_mask_time: float | None = None,
        cancel: CancelToken | None = None,
    ) -> GrammarMatcher: ...
    def __init__(
        self,
        compiled_grammar: CompiledGrammar,
        *,
        override_stop_tokens: int | Sequence[int] | None = None,
        terminate_without_stop_token: bool = False,
        max_rollback_tokens: int = -1,
        default_temperature: float | None = None,
        max_tokens: int | None = None,
        on_capture: Callable[[Capture], object] | None = None,
        max_mask_time: float | None = None,
        cancel: CancelToken | None = None,
    ) -> None: ...
    def accept_token(self, token_id: int, *, debug_print: bool = False) -> bool: ...
    def accept_string(
        self, input_str: str | bytes, *, debug_print: bool = False, token_count: int | None = None
    ) -> bool: ...
    def fill_next_token_bitmask(self, bitmask: Any, index: int = 0, *, debug_print: bool = False) -> bool: ...
    def traverse_draft_tree(
        self,
        retrieve_next_token: Any,
        retrieve_next_sibling: Any,
        draft_tokens: Any,
        token_bitmask: Any,
        time_threshold: float = -1.0,
        temperatures: Any | None = None,
    ) -> bool: ...
    def find_jump_forward_string(self) -> str: ...
    def count_decided_tokens(self) -> dict[str, Any]: ...
    def rollback(self, num_tokens: int = 1) -> None: ...
    def validate_tokens(self, token_ids: Iterable[int]) -> int: ...
    def get_captures(self, *, deduplicate: bool = True) -> list[tuple[str, bytes]]: ...
    def get_captures_with_spans(self, *, deduplicate: bool = True) -> list[Capture]: ...
    @property
    def tokens_left(self) -> int | None: ...
    @property
    def tokens_needed(self) -> int | None: ...
    @property
    def is_cut_by_budget(self) -> bool: ...
    def is_terminated(self) -> bool: ...
    def is_completed(self) -> bool: ...
    def reset(self) -> None: ...
    def fork(self) -> GrammarMatcher: ...
    @property
    def max_rollback_tokens(self) -> int: ...
    @property
    def temperature(self) -> float | None: ...
    @property
    def max_mask_time(self) -> float | None: ...
    @property
    def stop_token_ids(self) -> list[int]: ...
    @property
    def compiled_grammar(self) -> CompiledGrammar: ...
    def _debug_print_internal_state(self) -> str: ...

@disjoint_base
class BatchGrammarMatcher:
    def __new__(cls, max_threads: int | Literal["auto"] = "auto") -> BatchGrammarMatcher: ...
    def __init__(self, max_threads: int | Literal["auto"] = "auto") -> None: ...
    def batch_fill_next_token_bitmask(
        self,
        matchers: Sequence[GrammarMatcher],
        bitmask: Any,
        indices: Sequence[int] | None = None,
        debug_print: bool = False,
    ) -> None: ...
    @staticmethod
    def batch_fill_temperature(
        matchers: Sequence[GrammarMatcher], temperatures: Any, indices: Sequence[int] | None = None
    ) -> None: ...
    @staticmethod
    def batch_accept_token(
        matchers: Sequence[GrammarMatcher], tokens: Iterable[int], debug_print: bool = False
    ) -> list[bool]: ...
    @staticmethod
    def batch_accept_string(
        matchers: Sequence[GrammarMatcher], strings: Iterable[str | bytes], debug_print: bool = False
    ) -> list[bool]: ...
    @staticmethod
    def batch_rollback(matchers: Sequence[GrammarMatcher], num_tokens: int | Sequence[int] = 1) -> None: ...

@final
class TokenizerInfo:
    SAVED_VERSION: Final[str]
    MAX_TOKENS: Final[int]
    def __new__(
        cls,
        encoded_vocab: Sequence[bytes | str] | Sequence[bytes] | Sequence[str],
        vocab_type: int,
        vocab_size: int | None,
        stop_token_ids: Sequence[int] | None,
        add_prefix_space: bool,
        added_token_ids: set[int] | None = None,
        special_token_ids: Sequence[int] | None = None,
    ) -> TokenizerInfo: ...
    @staticmethod
    def from_vocab_and_metadata(
        encoded_vocab: Sequence[bytes | str] | Sequence[bytes] | Sequence[str], metadata: str
    ) -> TokenizerInfo: ...
    @staticmethod
    def from_file(
        path: str | PathLike[str],
        vocab_size: int | None,
        stop_token_ids: Sequence[int] | None,
        special_token_ids: Sequence[int] | None,
    ) -> TokenizerInfo: ...
    @staticmethod
    def from_tokenizer_json(
        text: str,
        vocab_size: int | None,
        stop_token_ids: Sequence[int] | None,
        special_token_ids: Sequence[int] | None,
    ) -> TokenizerInfo: ...
    @staticmethod
    def from_tiktoken_file(
        path: str | PathLike[str],
        special_tokens: Sequence[tuple[str, int]],
        vocab_size: int | None,
        stop_token_ids: Sequence[int] | None,
        special_token_ids: Sequence[int] | None,
    ) -> TokenizerInfo: ...
    @staticmethod
    def deserialize_json(text: str) -> TokenizerInfo: ...
    @staticmethod
    def detect_metadata(text: str) -> tuple[int, bool]: ...
    @staticmethod
    def detect_vocab_type(names: Iterable[bytes | str]) -> int | None: ...
    def serialize_json(self) -> str: ...
    def dump_metadata(self) -> str: ...
    @property
    def vocab_type(self) -> int: ...
    @property
    def vocab_size(self) -> int: ...
    @property
    def add_prefix_space(self) -> bool: ...
    @property
    def decoded_vocab(self) -> list[bytes]: ...
    def token_bytes(self, token_id: int) -> bytes | None: ...
    @property
    def stop_token_ids(self) -> list[int]: ...
    @property
    def special_token_ids(self) -> list[int]: ...
    @property
    def max_token_bytes(self) -> int: ...
    @property
    def fingerprint(self) -> str: ...
    def shares_table_with(self, other: TokenizerInfo) -> bool: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

def batch_fill_drafts(
    batch: BatchGrammarMatcher,
    matchers: Iterable[GrammarMatcher],
    starts: Sequence[int],
    drafts: Iterable[Iterable[int]] | None,
    parents: Iterable[Iterable[int] | None] | None,
    bitmask: Any,
) -> list[bytes]: ...
def batch_accept_tokens(
    batch: BatchGrammarMatcher, matchers: Iterable[GrammarMatcher], tokens: Iterable[Iterable[int]]
) -> list[bool]: ...
def apply_token_bitmask_inplace_cpu(
    logits: Any, bitmask: Any, vocab_size: int | None = None, indices: Sequence[int] | None = None
) -> None: ...
def check_schema(
    schema: Schema,
    *,
    strict_mode: bool = True,
    any_order: bool | None = None,
    formats: Literal["assert", "annotate"] = "assert",
    on_unsupported: Literal["error", "warn"] = "error",
    registry: Mapping[str, Schema] | None = None,
    spelling: Spelling | None = None,
    limits: Limits | None = None,
) -> list[Finding]: ...
def get_default_spelling() -> Spelling: ...
def set_default_spelling(spelling: Spelling) -> None: ...
def get_cache_limit_bytes() -> int: ...
def set_cache_limit_bytes(limit: int) -> None: ...
def _apply_passes(grammar: Grammar, names: Sequence[str]) -> Grammar: ...
def _machine_text(grammar: Grammar) -> str: ...
def _restore_grammar(json_string: str) -> Grammar: ...
def _restore_compiled_grammar(json_str: str, tokenizer_info: PythonTokenizerInfo) -> CompiledGrammar: ...
