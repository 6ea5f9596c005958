"""The table of exceptions in ``docs/errors.md``, made from the classes and their docstrings.

    python -m tests.error_page             # show the table
    python -m tests.error_page --update    # write it into the page

The first paragraph of a docstring says when a class is raised, and the paragraph that begins with "What to do:" what to
do about it. All classes below `TokenstileError` are listed, in the order of the tree; the test of the documents
compares the page with this table.
"""

from __future__ import annotations

import argparse
import inspect
import re
from importlib import import_module
from pathlib import Path

from tokenstile.exceptions import TokenstileError

PAGE = Path(__file__).resolve().parents[1] / "docs" / "errors.md"
# Classes that are defined beside what raises them.
MODULES = ("tokenstile.structured_output", "tokenstile.generation")
BEGIN, END = "<!-- made by make pages -->\n\n", "\n<!-- end -->"
HEAD = "| exception | base classes | when | what to do |\n|---|---|---|---|\n"


def classes() -> list[type[Exception]]:
    """Give all classes, each before those that derive from it."""
    for module in MODULES:
        import_module(module)
    found: list[type[Exception]] = []

    def visit(error: type[Exception]) -> None:
        if error.__module__.startswith("tokenstile") and error not in found:
            found.append(error)
            for derived in sorted(error.__subclasses__(), key=lambda one: one.__name__):
                visit(derived)

    visit(TokenstileError)
    return found


def table() -> str:
    """Give the table as Markdown."""
    return HEAD + "".join(_row(error) for error in classes())


def _row(error: type[Exception]) -> str:
    bases = ", ".join(f"`{base.__name__}`" for base in error.__bases__)
    paragraphs = [" ".join(part.split()) for part in (inspect.getdoc(error) or "").split("\n\n")]
    remedy = next((part for part in paragraphs if part.startswith("What to do:")), "")
    cells = [f"`{error.__name__}`", bases, _cell(paragraphs[0]), _cell(remedy.removeprefix("What to do: "))]
    return f"| {' | '.join(cells)} |\n"


def _cell(text: str) -> str:
    """Write a sentence of a docstring as the cell of a table."""
    return re.sub("`+", "`", text).removesuffix(".").replace("|", r"\|")


def written(page: str) -> str:
    """Give the page with the table in its place."""
    head, _, rest = page.partition(BEGIN)
    return head + BEGIN + table() + END + rest.partition(END)[2]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--update", action="store_true", help="write the table into the page")
    if parser.parse_args().update:
        PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        print(table(), end="")  # noqa: T201 - it is what was asked for


if __name__ == "__main__":
    main()
