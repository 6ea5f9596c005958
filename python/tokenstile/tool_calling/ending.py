"""Outputs that end with their calls.

Where a call is required, XGrammar's tags of most families let free text follow it, and so do ours, which are equal to
those. Whoever asks for calls does not want that text, and a small model may go on with it until its tokens are used up.
So a server takes the tag through here: calls come one after another, with nothing but white space between them, and
after any of them the output may end.
"""

from __future__ import annotations

from tokenstile.structural_tag import (
    Format,
    OrFormat,
    RegexFormat,
    SequenceFormat,
    StarFormat,
    StructuralTag,
    TokenTriggeredTagsFormat,
    TriggeredTagsFormat,
)

__all__ = ["end_with_calls"]

_BETWEEN = RegexFormat(pattern=r"[ \n]{0,2}")
"""What stands between two calls: models write a line break, or nothing."""


def end_with_calls(tag: StructuralTag) -> StructuralTag:
    """Return a tag of the same calls, in which no text follows calls that must come. Others stay as they are."""
    return StructuralTag(format=_ended(tag.format))


def _ended(format_: Format) -> Format:
    if isinstance(format_, SequenceFormat) and format_.elements:
        return SequenceFormat(elements=[*format_.elements[:-1], _ended(format_.elements[-1])])
    if isinstance(format_, OrFormat):
        return OrFormat(elements=[_ended(element) for element in format_.elements])
    if isinstance(format_, TriggeredTagsFormat | TokenTriggeredTagsFormat):
        return _calls_only(format_) if format_.at_least_one and not format_.stop_after_first else format_
    return format_


def _calls_only(format_: TriggeredTagsFormat | TokenTriggeredTagsFormat) -> Format:
    call = OrFormat(elements=list(format_.tags))
    more = StarFormat(content=SequenceFormat(elements=[_BETWEEN, call]))
    return SequenceFormat(elements=[call, more])
