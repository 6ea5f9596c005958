"""What a family writes, as data.

The output of a model is what it thinks, if it does, and then text and calls. `Template` says what a call looks like,
whether calls stand in a block, and what thinking looks like; `build` puts that together for a choice of tools.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tokenstile.tool_calling.names import as_it_is

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokenstile.structural_tag import JSONSchemaStyle
    from tokenstile.tool_calling.family import ReasoningMode

__all__ = ["Block", "Call", "Template", "Thinking"]


@dataclass(frozen=True, kw_only=True)
class Call:
    """A call: ``begin``, the arguments in a ``style``, ``end``."""

    begin: str
    """``$name`` stands for the name of the tool, ``$index`` for a number, ``$id`` for nine letters and digits."""
    end: str
    """``$name`` stands for the name of the tool here too."""
    after_arguments: str = ""
    """What comes between the arguments and ``end``, and is not there where there are no arguments."""
    style: JSONSchemaStyle = "json"
    escape: Callable[[str], str] = as_it_is
    """How a name is written."""
    excludes: tuple[str, ...] = ()
    """What the strings of the arguments may not hold."""
    name_ends: tuple[str, ...] = ()
    """What ends a name that has nothing after it in ``begin``."""


@dataclass(frozen=True, kw_only=True)
class Block:
    """What calls stand in."""

    begin: str
    end: str
    other_begins: tuple[str, ...] = ()
    """What a block may begin with instead."""
    separator: str = ""
    """What stands between two calls."""
    lead: str = ""
    """What comes before a block that must come."""


@dataclass(frozen=True, kw_only=True)
class Thinking:
    """How a model thinks: ``begin``, text, ``end``, ``suffix``."""

    begin: str = "<think>"
    end: str = "</think>"
    suffix: str = ""
    prompted: bool = True
    """Whether the prompt holds the begin already where thinking is enabled."""
    bare: bool = False
    """Whether text after a begin of the prompt may hold the begin again."""
    skipped: str = ""
    """What is written in place of thinking where it is disabled."""
    may_end_at_once: bool = False
    """Whether, where the model decides, the end may come without a begin."""


@dataclass(frozen=True, kw_only=True)
class Template:
    """What a family writes."""

    call: Call
    trigger: str
    """What switches from text to calls."""
    other_triggers: tuple[str, ...] = ()
    """What does so too."""
    other_call: Call | None = None
    """Another way to write a call."""
    block: Block | None = None
    thinking: Thinking | None = None
    excludes: tuple[str, ...] = field(default=("<think>", "</think>"))
    """What text may not hold."""
    excludes_beside_calls: tuple[str, ...] = ()
    """What text may not hold either where something can be called."""
    text_holds_no_trigger: bool = False
    """Whether text may not hold the trigger where nothing can be called."""
    thoughts_hold_no_trigger: bool = False
    """Whether thoughts may not hold the trigger."""
    reasoning: ReasoningMode = "enabled"
    """What the function of the family takes for reasoning by itself."""
