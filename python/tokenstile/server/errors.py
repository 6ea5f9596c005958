"""Errors in the shape of OpenAI's API.

``{"error": {"message", "type", "param", "code"}}``, where ``param`` is the field of the request. Where the trouble is
in a schema or a grammar there is more: ``pointer``, the JSON Pointer of the keyword inside that field, or ``line`` and
``column``, and ``help``. Where no text of the structure is short enough there is ``tokens_needed``, the least
``max_tokens`` that is known to be enough.
"""

from __future__ import annotations

from typing import Any, Final

from tokenstile.exceptions import (
    CancelledError,
    GrammarError,
    InvalidArgumentError,
    JSONSchemaError,
    LimitExceededError,
    TokenBudgetError,
    UnsupportedFeatureError,
)

__all__ = ["ApiError", "grammar_error"]

_TYPES: Final = {
    401: "authentication_error",
    404: "not_found_error",
    405: "invalid_request_error",
    429: "rate_limit_error",
}
_CODES: Final = (
    (UnsupportedFeatureError, "unsupported_feature"),
    (LimitExceededError, "limit_exceeded"),
    (JSONSchemaError, "invalid_schema"),
    (GrammarError, "invalid_grammar"),
)
_FIRST_SERVER_ERROR: Final = 500
_FOR_PYTHON: Final = ", or in Python pass it in `registry=`"
"""Advice that is no use to who talks to the server."""


class ApiError(Exception):
    """An answer that is an error."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        code: str | None = None,
        param: str | None = None,
        details: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = code
        self.param = param
        self.details = details or {}

    @property
    def headers(self) -> dict[str, str]:
        """The headers of the answer."""
        if self.status == 401:  # noqa: PLR2004 - unauthorized
            return {"WWW-Authenticate": "Bearer"}
        return {"Retry-After": "1"} if self.status in {429, 503} else {}

    def body(self) -> dict[str, Any]:
        """Give the body of the answer."""
        fallback = "server_error" if self.status >= _FIRST_SERVER_ERROR else "invalid_request_error"
        kind = _TYPES.get(self.status, fallback)
        fields = {"message": self.message, "type": kind, "param": self.param, "code": self.code}
        return {"error": {**fields, **self.details}}


def _budget_error(error: TokenBudgetError, param: str | None) -> ApiError:
    if error.tokens_needed is None:
        # No number of tokens would do: it is the structure that has to change, or the server's option.
        place = {} if error.pointer is None else {"pointer": error.pointer}
        return ApiError(400, f"Invalid {param}: {error}", code="no_budget", param=param, details=place)
    # It is not the structure that is wrong, but how few tokens there are for it.
    details = {"max_tokens": error.max_tokens, "tokens_needed": error.tokens_needed}
    return ApiError(400, str(error), code="budget_too_small", param="max_tokens", details=details)


def grammar_error(error: BaseException, param: str | None) -> ApiError:
    """Say what is wrong with the structure that a field asks for, or that it is the server's fault."""
    if isinstance(error, ApiError):
        return error
    if isinstance(error, GrammarError):
        code = next(code for kind, code in _CODES if isinstance(error, kind))
        named = ("pointer", "path", "line", "column", "help")
        details = {name: getattr(error, name) for name in named if getattr(error, name) is not None}
        if "help" in details:
            details["help"] = details["help"].replace(_FOR_PYTHON, "")
        text = str(error).replace(_FOR_PYTHON, "")
        return ApiError(400, f"Invalid {param}: {text}", code=code, param=param, details=details)
    if isinstance(error, TokenBudgetError):
        return _budget_error(error, param)
    if isinstance(error, InvalidArgumentError):
        return ApiError(400, str(error), code="invalid_value", param=param)
    if isinstance(error, CancelledError):
        return ApiError(400, f"Invalid {param}: {error}", code="limit_exceeded", param=param)
    return ApiError(500, f"the output could not be written: {error}", code="internal_error")
