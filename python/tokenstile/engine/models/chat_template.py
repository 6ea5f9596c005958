"""Templates of Jinja that models bring along: messages in, the text that the model goes on with out.

A template comes with the model's file, so it runs in Jinja's sandbox. What templates may call is what they find in
transformers, for which they are written.
"""

from __future__ import annotations

import datetime as dt
import json
from typing import TYPE_CHECKING, Any, NoReturn

try:
    import jinja2
    from jinja2.ext import Extension
    from jinja2.sandbox import ImmutableSandboxedEnvironment
except ImportError as error:
    raise ImportError("chat templates need jinja2: pip install 'tokenstile[gguf]'") from error

if TYPE_CHECKING:
    from jinja2.nodes import Node
    from jinja2.parser import Parser

__all__ = ["compile_template"]


def compile_template(source: str) -> jinja2.Template:
    """Read a template; raises ``jinja2.TemplateError`` where it cannot be read."""
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[_GenerationTag, "jinja2.ext.loopcontrols"]
    )
    environment.globals.update(raise_exception=_refuse, strftime_now=_now)
    environment.filters["tojson"] = _to_json
    return environment.from_string(source)


class _GenerationTag(Extension):
    """``{% generation %}`` marks what a model writes, for training; here it is its contents."""

    tags = {"generation"}  # noqa: RUF012 - jinja2's

    def parse(self, parser: Parser) -> Node | list[Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def _refuse(message: str) -> NoReturn:
    raise jinja2.TemplateError(message)


def _now(form: str) -> str:
    return dt.datetime.now(tz=dt.UTC).strftime(form)


def _to_json(value: object, **options: Any) -> str:  # noqa: ANN401 - those of json.dumps
    return json.dumps(value, **{"ensure_ascii": False, **options})
