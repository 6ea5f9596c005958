"""Structural tags as engines send them: a JSON text or an object, of today's form or of the older one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tokenstile.exceptions import InvalidArgumentError, InvalidStructuralTagError
from tokenstile.structural_tag_text import legacy_structural_tag, structural_tag_text

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["read_structural_tag", "text_of_tag_and_triggers"]


def read_structural_tag(text: str) -> dict[str, Any]:
    """Read the JSON text of a structural tag; ``structures`` and ``triggers`` become a format of triggered tags.

    >>> item = '{"begin": "<a>", "schema": {}, "end": "</a>"}'
    >>> read_structural_tag('{"structures": [' + item + '], "triggers": ["<a"]}')["format"]["type"]
    'triggered_tags'
    """
    tag = _load(text)
    if not isinstance(tag, dict):
        raise InvalidStructuralTagError(
            f"a structural tag is an object of JSON, not of type {type(tag).__name__}"
        )
    return _today(tag) if "structures" in tag else tag


def text_of_tag_and_triggers(spec: Any, triggers: Sequence[str] | None) -> str:  # noqa: ANN401 - see below
    """Return the text of a structural tag, given in any form: as a text, as an object, or as a list and triggers.

    >>> item = {"begin": "<a>", "schema": {}, "end": "</a>"}
    >>> forms = ([item], ["<a"]), ({"structures": [item], "triggers": ["<a"]}, None), ({"structures": [item]}, ["<a"])
    >>> len({text_of_tag_and_triggers(*form) for form in forms})
    1
    """
    read = _load(spec) if isinstance(spec, str) else spec
    if isinstance(read, Mapping) and "structures" in read:
        return json.dumps(_today({**read, **_own_triggers(read, triggers)}))
    if triggers is None and not isinstance(read, list | tuple):
        return structural_tag_text(spec)
    if isinstance(read, Mapping) or hasattr(read, "model_dump_json"):
        raise InvalidArgumentError(
            "triggers goes with a list of structures; a structural tag with a format has its own triggers"
        )
    if triggers is None:
        raise InvalidArgumentError("spec is a list of structures: triggers must be given beside it")
    return structural_tag_text(read, triggers)


def _own_triggers(tag: Mapping[str, Any], triggers: Sequence[str] | None) -> dict[str, Any]:
    """Return the triggers that were given beside a tag of the older form, if it has not its own."""
    if triggers is None:
        return {}
    if "triggers" in tag and list(tag["triggers"]) != list(triggers):
        raise InvalidArgumentError("triggers must be given once: the structural tag has others")
    return {"triggers": triggers}


def _today(tag: Mapping[str, Any]) -> dict[str, Any]:
    """Return today's form of a tag of the older one."""
    legacy = legacy_structural_tag(tag["structures"], tag.get("triggers"))
    if tag.get("at_least_one"):
        legacy["format"]["at_least_one"] = True
    return legacy


def _load(text: str) -> Any:  # noqa: ANN401 - any JSON
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidStructuralTagError(f"the structural tag is not JSON: {error}") from error
