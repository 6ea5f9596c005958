"""Every exception that tokenstile raises.

The tree has two ideas. A class says what the caller can do about it: correct the grammar, raise a limit, load another
file. And most classes have two built-in bases, ``ValueError``, which is what Python's own code would raise, and
``RuntimeError``, which is what code written for XGrammar catches.

A token that does not fit is not an error: ``GrammarMatcher.accept_token`` returns ``False``.
"""

from __future__ import annotations

__all__ = [
    "BitmaskError",
    "CancelledError",
    "DeserializeError",
    "DeserializeFormatError",
    "DeserializeVersionError",
    "EBNFError",
    "GrammarError",
    "InvalidArgumentError",
    "InvalidJSONError",
    "InvalidStructuralTagError",
    "JSONSchemaError",
    "LarkError",
    "LimitExceededError",
    "MaskTimeoutError",
    "MatcherError",
    "RegexError",
    "TokenBudgetError",
    "TokenizerError",
    "TokenstileError",
    "UnsupportedFeatureError",
]


class TokenstileError(Exception):
    """The base of them all."""


class GrammarError(TokenstileError, ValueError, RuntimeError):
    """A grammar that cannot be used, with its place where one is known.

    ``str(error)`` is the whole report: the place, what is wrong, the line of the text with a caret under the column,
    and a hint. The attributes hold the same one by one.

    What to do: correct the grammar.
    """

    message: str
    """What is wrong, without the place."""
    line: int | None
    """The line of the text, from 1."""
    column: int | None
    """The column in code points, from 1."""
    pointer: str | None
    """The JSON Pointer of the place, for grammars that are JSON documents."""
    path: str | None
    """The path of the place in a structural tag, such as ``format.tags[2].content``."""
    help: str | None
    """What to do about it."""

    def __init__(
        self,
        report: str = "",
        *,
        message: str | None = None,
        line: int | None = None,
        column: int | None = None,
        pointer: str | None = None,
        path: str | None = None,
        help: str | None = None,  # noqa: A002 - the attribute's name
    ) -> None:
        super().__init__(report)
        self.message = report if message is None else message
        self.line = line
        self.column = column
        self.pointer = pointer
        self.path = path
        self.help = help

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), self.args, self.__dict__


class EBNFError(GrammarError):
    """An EBNF text that is wrong.

    What to do: look at the caret.
    """


class RegexError(GrammarError):
    """A regular expression that is wrong.

    What to do: look at the caret.
    """


class LarkError(GrammarError):
    """A Lark text that is wrong.

    What to do: look at the caret.
    """


class JSONSchemaError(GrammarError):
    """A JSON Schema that is malformed, or that no value satisfies; ``pointer`` says where.

    What to do: look at ``pointer``.
    """


class InvalidStructuralTagError(GrammarError):
    """A structural tag that is wrong; ``path`` says where.

    What to do: look at ``path``.
    """


class UnsupportedFeatureError(GrammarError):
    """A construct that cannot be enforced exactly, and is refused rather than widened.

    What to do: write it another way; for a JSON Schema ``on_unsupported="warn"`` drops the keyword and says so.
    """


class LimitExceededError(GrammarError):
    """A limit of `tokenstile.Limits` was reached; ``help`` names the setting.

    What to do: raise the setting that ``help`` names, if the input is trusted.
    """


class TokenizerError(TokenstileError, ValueError, RuntimeError):
    """A vocabulary that cannot be used, or an argument that does not go with it.

    What to do: give the arguments that the message names, or a complete tokenizer file.
    """


class CancelledError(TokenstileError, RuntimeError):
    """A compilation or a call of a matcher was stopped by its `tokenstile.CancelToken`.

    What to do: nothing: somebody asked for it.
    """


class DeserializeError(GrammarError):
    """A serialized object that cannot be read back.

    What to do: make it anew.
    """


class InvalidJSONError(DeserializeError):
    """A text that is not JSON.

    What to do: give the whole text that ``serialize_json`` returned.
    """


class DeserializeFormatError(DeserializeError):
    """JSON that is not what was serialized, or that belongs to another tokenizer.

    What to do: use the tokenizer that it was saved with.
    """


class DeserializeVersionError(DeserializeError):
    """An object that another version serialized.

    What to do: compile the grammar again.
    """


class InvalidArgumentError(TokenstileError, TypeError, ValueError, RuntimeError):
    """An argument of the wrong type or out of its range.

    It has three built-in bases because XGrammar raises ``ValueError`` for some of these and ``RuntimeError`` for
    others, and Python's own word is ``TypeError``.

    What to do: correct the call.
    """


class MatcherError(TokenstileError, RuntimeError):
    """A call that the matcher's state does not allow, such as a rollback of more steps than were taken.

    What to do: ask ``is_terminated`` first, or call ``reset``.
    """


class MaskTimeoutError(TokenstileError, TimeoutError, RuntimeError):
    """A call of a matcher took longer than its ``max_mask_time``. No row was written, and the matcher is where it was.

    What to do: make the same call again, which goes on from the work that is done, or give the request up.
    """


class TokenBudgetError(TokenstileError, ValueError, RuntimeError):
    """``max_tokens`` is too small for any output, or it is not known how many tokens would be enough.

    What to do: ask for at least ``tokens_needed``. Where that is None ask without, or change what ``pointer`` names.
    """

    max_tokens: int | None
    """What was asked for."""
    tokens_needed: int | None
    """What is enough; None if that is not known."""
    pointer: str | None
    """The JSON Pointer of the schema whose array must have several items that differ, if that is why."""

    def __init__(
        self,
        report: str = "",
        *,
        max_tokens: int | None = None,
        tokens_needed: int | None = None,
        pointer: str | None = None,
    ) -> None:
        super().__init__(report)
        self.max_tokens = max_tokens
        self.tokens_needed = tokens_needed
        self.pointer = pointer

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), self.args, self.__dict__


class BitmaskError(TokenstileError, TypeError, ValueError, RuntimeError):
    """A bitmask or logits buffer of the wrong type, shape, device, or that cannot be written.

    It has three built-in bases for the reason that `InvalidArgumentError` has them.

    What to do: make the bitmask with `tokenstile.allocate_token_bitmask`.
    """
