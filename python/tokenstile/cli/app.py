"""The list of commands.

A command is a module of this folder and the function in it of the same name; its docstring is the help. One that has
commands of its own is a ``Typer`` of that name. A command whose module is not there, because it comes with another part
of the package, is left out.
"""

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup

import tokenstile
from tokenstile.cli.outcome import ExitCode, print_json

__all__ = ["app"]

_COMMANDS: Final = (
    "check",
    "validate",
    "explain",
    "convert",
    "tokenizer",
    "generate",
    "bench",
    "cache",
    "serve",
)

# Typer brings its own copy of click, or uses the installed one.
_UsageError: Final[type[Exception]] = next(
    base
    for base in typer.BadParameter.__mro__
    if issubclass(base, Exception) and base.__name__ == "UsageError"
)


class _Commands(TyperGroup):
    """The commands; with ``--json`` what is wrong with the command line itself is told as JSON, too."""

    def main(  # type: ignore[override] # typer and its tests pass the rest by name
        self,
        args: Sequence[str] | None = None,
        standalone_mode: bool = True,
        **extra: Any,  # noqa: ANN401 - typer's
    ) -> Any:  # noqa: ANN401 - typer's
        arguments = sys.argv[1:] if args is None else list(args)
        if not standalone_mode or "--json" not in arguments:
            return super().main(args, standalone_mode=standalone_mode, **extra)
        try:
            code = super().main(args, standalone_mode=False, **extra)
        except _UsageError as error:
            print_json({"error": _usage_fields(error)})
            sys.exit(int(ExitCode.TROUBLE))
        sys.exit(code if isinstance(code, int) else int(ExitCode.YES))


def _usage_fields(error: Any) -> dict[str, Any]:  # noqa: ANN401 - a UsageError of either click
    fields = {"type": "UsageError", "message": error.format_message()}
    if error.ctx is not None:
        fields["help"] = f"{error.ctx.command_path} --help"
    return fields


app = typer.Typer(
    name="tokenstile",
    cls=_Commands,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(value: bool) -> None:
    if value:
        typer.echo(tokenstile.__version__)
        raise typer.Exit


@app.callback()
def _main(
    _version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Structured generation: grammars and vocabularies in, exact token masks out.

    Exit codes: 0 for yes or done, 1 for no (a schema that is refused, a text that does not fit), 2 where there is no
    answer (a wrong option, a file that cannot be read, a grammar that is wrong, a package that is missing), 130 after
    Ctrl-C.
    """


def _add_commands() -> None:
    for name in _COMMANDS:
        module = f"tokenstile.cli.{name}"
        if find_spec(module) is None:
            continue
        command = getattr(import_module(module), name)
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name)
        else:
            app.command(name)(command)


_add_commands()
