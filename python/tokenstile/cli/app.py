"""The list of commands.

A command is a module of this folder and the function in it of the same name; its docstring is the help. A command whose
module is not there, because it comes with another part of the package, is left out.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import Annotated, Final

import typer

import tokenstile

__all__ = ["app"]

_COMMANDS: Final = ("check", "validate", "explain", "convert", "tokenizer", "generate", "bench", "serve")

app = typer.Typer(
    name="tokenstile",
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
    answer (a file that cannot be read, a grammar that is wrong, a package that is missing).
    """


def _add_commands() -> None:
    for name in _COMMANDS:
        module = f"tokenstile.cli.{name}"
        if find_spec(module) is not None:
            app.command(name)(getattr(import_module(module), name))


_add_commands()
