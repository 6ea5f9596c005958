"""Texts that come from strangers: they must be text."""

from __future__ import annotations

from tokenstile.exceptions import InvalidArgumentError

__all__ = ["check_text"]


def check_text(name: str, text: object) -> str:
    """Refuse what is no text, and half a surrogate pair, which Python's texts can hold and UTF-8 cannot."""
    if not isinstance(text, str):
        raise InvalidArgumentError(f"{name} must be str, not {type(text).__name__}")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidArgumentError(
            f"{name} has a lone surrogate at {error.start}, which no text can hold"
        ) from None
    return text
