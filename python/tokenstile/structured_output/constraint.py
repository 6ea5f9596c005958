"""What a request asks for, as a grammar: the one place that knows what each kind of constraint means.

A constraint is a kind (`GrammarType`) and a text. It comes from strangers, so everything that can be wrong with it is a
`TokenstileError`. Everybody who compiles one does so here: tokenstile's own backend, and the plug-in for vLLM, in the
engine to follow it and in the front end to tell the client what is wrong with it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from tokenstile._core import CancelToken, CompiledGrammar, Grammar, GrammarCompiler
from tokenstile.exceptions import CancelledError, InvalidArgumentError
from tokenstile.limits import Limits
from tokenstile.structured_output.choice import choices_as_ebnf, read_choices
from tokenstile.structured_output.key import GrammarType, find_grammar_type, find_spec
from tokenstile.structured_output.lark_dialect import as_lark, looks_like_lark
from tokenstile.structured_output.params import StructuredOutputsParams
from tokenstile.structured_output.structural_tags import read_structural_tag
from tokenstile.structured_output.texts import check_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokenstile.json_schema import Spelling
    from tokenstile.structured_output.key import GrammarSpec
    from tokenstile.tokenizer_info import TokenizerInfo

__all__ = ["JsonStyle", "compile_constraint", "looks_like_lark", "parse_constraint"]

_ANY_OBJECT: Final = '{"type": "object"}'
_FORMS_WITH_JSON: Final = frozenset({"json_schema", "structural_tag", "lark"})
_FORMS_WITH_TOKENS: Final = frozenset({"grammar", "structural_tag", "lark"})
_COMPOSITES: Final = frozenset({GrammarType.ALL_OF, GrammarType.ANY_OF, GrammarType.THEN})


@dataclass(frozen=True, slots=True)
class JsonStyle:
    """How JSON is to be written."""

    compact: bool = False
    """Whether there is no white space between its parts."""
    max_whitespace: int | None = None
    """The most characters of white space in each place between its parts; what the spelling has without it."""
    strict: bool = True
    """Whether objects whose schema is silent about other properties have none."""
    spelling: Spelling | None = None
    """How values of JSON are written; the default of the process without it."""


def compile_constraint(
    compiler: GrammarCompiler,
    grammar_type: GrammarType | str,
    grammar_spec: GrammarSpec,
    style: JsonStyle = JsonStyle(),  # noqa: B008 - it cannot be changed
    *,
    timeout: float | None = None,
    cancel: CancelToken | None = None,
    limits: Limits | None = None,
) -> CompiledGrammar:
    """Compile a constraint for the compiler's vocabulary.

    The kind may be given by its name, and the text as the object that it stands for. ``limits`` are those of what
    composites are put together from.
    """
    grammar_type = find_grammar_type(grammar_type)
    if grammar_type in _COMPOSITES:
        composer = _Composer(compiler.tokenizer_info, timeout, cancel, limits)
        grammar = composer.compose(grammar_type, find_spec(grammar_type, grammar_spec), style)
        return compiler.compile_grammar(grammar, timeout=composer.time_left(), cancel=cancel)
    form, content = _form(grammar_type, grammar_spec)
    options: dict[str, Any] = {"timeout": timeout, "cancel": cancel}
    if form == "json_schema":
        # Any object is any object, whatever the style.
        options |= _layout(style, strict=style.strict and grammar_type is not GrammarType.JSON_OBJECT)
    if form in _FORMS_WITH_JSON:
        options["spelling"] = style.spelling
    compile_form: Callable[..., CompiledGrammar] = getattr(compiler, f"compile_{form}")
    return compile_form(content, **options)


def parse_constraint(grammar_type: GrammarType | str, grammar_spec: GrammarSpec) -> Grammar:
    """Read a constraint without a vocabulary, to see whether it is well-formed."""
    grammar_type = find_grammar_type(grammar_type)
    if grammar_type in _COMPOSITES:
        spec = find_spec(grammar_type, grammar_spec)
        return _Composer(None, None, None, None).compose(grammar_type, spec, JsonStyle())
    form, content = _form(grammar_type, grammar_spec)
    parse_form: Callable[..., Grammar] = getattr(
        Grammar, "from_ebnf" if form == "grammar" else f"from_{form}"
    )
    return parse_form(content)


class _Composer:
    """Puts structures together to one grammar, within a time."""

    def __init__(
        self,
        info: TokenizerInfo | None,
        timeout: float | None,
        cancel: CancelToken | None,
        limits: Limits | None,
    ) -> None:
        self._info, self._cancel, self._limits = info, cancel, limits or Limits()
        self._until = None if timeout is None else time.monotonic() + timeout

    def time_left(self) -> float | None:
        """Return how many seconds are left."""
        return None if self._until is None else max(self._until - time.monotonic(), 1e-3)

    def compose(self, grammar_type: GrammarType, spec: str, style: JsonStyle) -> Grammar:
        """Make the grammar of a constraint of any kind."""
        if self._cancel is not None and self._cancel.cancelled:
            raise CancelledError("the compilation was cancelled")
        if grammar_type not in _COMPOSITES:
            return self._plain(grammar_type, spec, style)
        check_text("the constraint", spec)
        params = StructuredOutputsParams.from_key((grammar_type, spec))
        if grammar_type is GrammarType.ALL_OF:
            return self._all_of(params, style)
        parts = [self.compose(*part.key, _narrowed(style, part)) for part in params.parts]
        join = Grammar.union if grammar_type is GrammarType.ANY_OF else Grammar.concat
        return parts[0] if len(parts) == 1 else join(*parts, limits=self._limits_now())

    def _all_of(self, params: StructuredOutputsParams, style: JsonStyle) -> Grammar:
        """Put schemas that are written alike into one ``allOf``, and intersect that with the others."""
        schemas: dict[JsonStyle, list[StructuredOutputsParams]] = {}
        grammars: list[Grammar] = []
        for part in params.parts:
            own = _narrowed(style, part)
            if part.json is not None or part.json_object:
                schemas.setdefault(own, []).append(part)
            else:
                grammars.append(self.compose(*part.key, own))
        for own, parts in schemas.items():
            if len(parts) == 1:
                grammars.append(self._plain(*parts[0].key, own))
                continue
            texts = [_ANY_OBJECT if part.json_object else part.key.grammar_spec for part in parts]
            is_open = all(part.json_object for part in parts)
            layout = _layout(own, strict=own.strict and not is_open)
            grammars.append(Grammar.all_of(texts, **layout, spelling=own.spelling, limits=self._limits_now()))
        return grammars[0] if len(grammars) == 1 else Grammar.intersect(*grammars, limits=self._limits_now())

    def _plain(self, grammar_type: GrammarType, spec: str, style: JsonStyle) -> Grammar:
        form, content = _form(grammar_type, spec)
        options: dict[str, Any] = {"limits": self._limits_now()}
        if form == "json_schema":
            options |= _layout(style, strict=style.strict and grammar_type is not GrammarType.JSON_OBJECT)
        if form in _FORMS_WITH_JSON:
            options["spelling"] = style.spelling
        if form in _FORMS_WITH_TOKENS:
            options["tokenizer_info"] = self._info
        parse: Callable[..., Grammar] = getattr(Grammar, "from_ebnf" if form == "grammar" else f"from_{form}")
        return parse(content, **options)

    def _limits_now(self) -> Limits:
        left = self.time_left()
        if left is None:
            return self._limits
        return replace(self._limits, max_compile_time=min(left, self._limits.max_compile_time))


def _narrowed(style: JsonStyle, part: StructuredOutputsParams) -> JsonStyle:
    """Return the style of a part: what it says itself goes before what is said of all."""
    return replace(
        style,
        compact=style.compact or part.disable_any_whitespace,
        strict=style.strict or part.disable_additional_properties,
        spelling=part.spelling or style.spelling,
    )


def _form(grammar_type: GrammarType, grammar_spec: GrammarSpec) -> tuple[str, Any]:  # noqa: PLR0911 - one a kind
    """Return which method of a compiler reads a constraint, by its name, and what it reads."""
    spec = check_text("the constraint", find_spec(grammar_type, grammar_spec))
    match grammar_type:
        case GrammarType.JSON:
            return "json_schema", spec
        case GrammarType.JSON_OBJECT:
            return "json_schema", _ANY_OBJECT
        case GrammarType.REGEX:
            return "regex", spec
        case GrammarType.CHOICE:
            return "grammar", choices_as_ebnf(read_choices(spec))
        case GrammarType.GRAMMAR:
            return ("lark", as_lark(spec)) if looks_like_lark(spec) else ("grammar", spec)
        case GrammarType.LARK:
            return "lark", spec
        case GrammarType.STRUCTURAL_TAG:
            return "structural_tag", read_structural_tag(spec)
    raise InvalidArgumentError(f"{grammar_type!r} is a kind of constraint that tokenstile does not know")


def _layout(style: JsonStyle, *, strict: bool) -> dict[str, Any]:
    """Return the options of a compiler. Without white space means without: the usual separators have some."""
    if style.compact:
        return {"strict_mode": strict, "any_whitespace": False, "separators": (",", ":")}
    return {"strict_mode": strict, "any_whitespace": True, "max_whitespace_cnt": style.max_whitespace}
