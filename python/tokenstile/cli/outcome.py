"""How a command ends, and what it writes where.

Answers go to the standard output, progress and errors to the other stream. With ``--json`` the answer is JSON and
nothing else is on the standard output, errors included: they are ``{"error": {...}}``.
"""

import functools
import json
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import Annotated, Any, Final, ParamSpec, TypeVar

import typer
from rich.console import Console
from rich.text import Text

from tokenstile.exceptions import GrammarError, TokenstileError

__all__ = [
    "ExitCode",
    "JsonFlag",
    "console",
    "error_fields",
    "escape",
    "finish",
    "notes",
    "print_json",
    "tells_errors",
]

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")

JsonFlag = Annotated[bool, typer.Option("--json", help="Write the answer as JSON.")]
_FIELDS = ("line", "column", "pointer", "path", "help")


class ExitCode(IntEnum):
    """What the exit code says."""

    YES = 0
    """Done, or the answer is yes."""
    NO = 1
    """The answer is no."""
    TROUBLE = 2
    """There is no answer."""


# rich reads a backslash before a bracket as a part of its markup, whether a tag follows or not, and its own `escape`
# does not know all such places. So both characters are written as code points that no text has, and put back last.
_HIDDEN: Final = str.maketrans("\\[", "\ufdd0\ufdd1")
_SHOWN: Final = str.maketrans("\ufdd0\ufdd1", "\\[")


def escape(text: str) -> str:
    """Write a text into markup, for `console` and `notes`; it is shown as it is."""
    return text.translate(_HIDDEN)


class _Console(Console):
    def render_str(self, text: str, **options: Any) -> Text:  # noqa: ANN401 - rich's
        """Read markup."""
        read = super().render_str(text, **options)
        read.plain = read.plain.translate(_SHOWN)
        return read


def console() -> Console:
    """Give the standard output, for text that people read."""
    return _Console(highlight=False, soft_wrap=True)


def notes() -> Console:
    """Give the stream for progress and errors."""
    return _Console(stderr=True, highlight=False, soft_wrap=True)


def print_json(answer: object) -> None:
    """Write an answer as JSON, on one line where nobody looks at it."""
    indent = 2 if sys.stdout.isatty() else None
    typer.echo(json.dumps(answer, indent=indent, ensure_ascii=False))


def finish(code: ExitCode) -> None:
    """End the command, unless all is well."""
    if code:
        raise typer.Exit(int(code))


def error_fields(error: BaseException) -> dict[str, Any]:
    """Give what is known of an error, for JSON."""
    fields: dict[str, Any] = {"type": type(error).__name__, "message": str(error)}
    if isinstance(error, GrammarError):
        fields["message"] = error.message
        fields |= {name: value for name in _FIELDS if (value := getattr(error, name)) is not None}
    return fields


def tells_errors(command: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Make what goes wrong in a command a message and an exit code, not a traceback."""

    @functools.wraps(command)
    def run(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        as_json = bool(kwargs.get("as_json"))
        try:
            with _warnings_as_notes():
                return command(*args, **kwargs)
        except BrokenPipeError:
            raise
        except (TokenstileError, OSError, UnicodeError, ImportError, ValueError) as error:
            if as_json:
                print_json({"error": error_fields(error)})
            else:
                notes().print(f"[bold red]error:[/] {escape(str(error) or type(error).__name__)}")
            raise typer.Exit(int(ExitCode.TROUBLE)) from error

    return run


@contextmanager
def _warnings_as_notes() -> Iterator[None]:
    """Show warnings as a line each, without the place in the code that they come from."""

    def show(message: Warning | str, *_: object, **__: object) -> None:
        notes().print(f"[yellow]warning:[/] {escape(str(message))}")

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield
