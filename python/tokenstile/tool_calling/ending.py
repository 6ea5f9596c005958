"""Outputs that end with their calls.

Where a call is required, XGrammar's tags of most families let free text follow it, and so do ours, which are equal to
those. Whoever asks for calls does not want that text, and a small model may go on with it until its tokens are used up.
So whoever asks takes the tag through here: calls come one after another, with nothing but white space between them, and
after any of them the output may end. Their number is bounded, because a small model may repeat a call for ever.
"""

from __future__ import annotations

from typing import Final

from tokenstile.structural_tag import (
    Format,
    OrFormat,
    RegexFormat,
    RepeatFormat,
    SequenceFormat,
    StructuralTag,
    TokenTriggeredTagsFormat,
    TriggeredTagsFormat,
)

__all__ = ["MOST_CALLS", "end_with_calls"]

_BETWEEN = RegexFormat(pattern=r"[ \n]{0,2}")
"""What stands between two calls: models write a line break, or nothing."""


MOST_CALLS: Final = 16
"""How many calls one output has, unless somebody says otherwise."""


def end_with_calls(tag: StructuralTag, max_calls: int = MOST_CALLS) -> StructuralTag:
    """Return a tag of the same calls, in which no text follows calls that must come. Others stay as they are.

    There are at most ``max_calls`` of them.
    """
    return StructuralTag(format=_ended(tag.format, max_calls))


def _ended(format_: Format, max_calls: int) -> Format:
    if isinstance(format_, SequenceFormat) and format_.elements:
        return SequenceFormat(elements=[*format_.elements[:-1], _ended(format_.elements[-1], max_calls)])
    if isinstance(format_, OrFormat):
        return OrFormat(elements=[_ended(element, max_calls) for element in format_.elements])
    if isinstance(format_, TriggeredTagsFormat | TokenTriggeredTagsFormat):
        return (
            _calls_only(format_, max_calls)
            if format_.at_least_one and not format_.stop_after_first
            else format_
        )
    return format_


def _calls_only(format_: TriggeredTagsFormat | TokenTriggeredTagsFormat, max_calls: int) -> Format:
    call = OrFormat(elements=list(format_.tags))
    if max_calls == 1:
        return call
    more = RepeatFormat(content=SequenceFormat(elements=[_BETWEEN, call]), min=0, max=max_calls - 1)
    return SequenceFormat(elements=[call, more])
