"""What a request asks for, as a grammar: the one place that knows what each kind of constraint means.

A constraint is a kind (`GrammarType`) and a text. It comes from strangers, so everything that can be wrong with it is a
`TokenstileError`. Everybody who compiles one does so here: tokenstile's own backend, and the plug-in for vLLM, in the
engine to follow it and in the front end to tell the client what is wrong with it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tokenstile._core import CancelToken, CompiledGrammar, Grammar, GrammarCompiler
from tokenstile.exceptions import InvalidArgumentError
from tokenstile.structured_output.choice import choices_as_ebnf, read_choices
from tokenstile.structured_output.key import GrammarType, find_grammar_type, find_spec
from tokenstile.structured_output.structural_tags import read_structural_tag
from tokenstile.structured_output.texts import check_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokenstile.json_schema import Spelling
    from tokenstile.structured_output.key import GrammarSpec

__all__ = ["JsonStyle", "compile_constraint", "looks_like_lark", "parse_constraint"]

_ANY_OBJECT: Final = '{"type": "object"}'
_FORMS_WITH_JSON: Final = frozenset({"json_schema", "structural_tag", "lark"})
_TEXT_OR_COMMENT: Final = re.compile(r'"(?:\\.|[^"\\\n])*"|(?:#|//)[^\n]*')


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


def looks_like_lark(text: str) -> bool:
    """Tell whether a grammar's text is Lark and not EBNF: it has no ``::=``, but in texts and comments.

    >>> looks_like_lark('start: "::=" // not ::='), looks_like_lark('root ::= "a"')
    (True, False)
    """
    return "::=" not in text or "::=" not in _TEXT_OR_COMMENT.sub(" ", text)


def compile_constraint(
    compiler: GrammarCompiler,
    grammar_type: GrammarType | str,
    grammar_spec: GrammarSpec,
    style: JsonStyle = JsonStyle(),  # noqa: B008 - it cannot be changed
    *,
    timeout: float | None = None,
    cancel: CancelToken | None = None,
) -> CompiledGrammar:
    """Compile a constraint for the compiler's vocabulary.

    The kind may be given by its name, and the text as the object that it stands for.
    """
    grammar_type = find_grammar_type(grammar_type)
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
    form, content = _form(find_grammar_type(grammar_type), grammar_spec)
    parse_form: Callable[..., Grammar] = getattr(
        Grammar, "from_ebnf" if form == "grammar" else f"from_{form}"
    )
    return parse_form(content)


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
            return ("lark" if looks_like_lark(spec) else "grammar"), spec
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
