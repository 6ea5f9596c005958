"""CSV with given columns: every row has a field for each of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tokenstile._core import Grammar
from tokenstile.exceptions import InvalidArgumentError
from tokenstile.grammars._text import check_unique, counts, names_of, quote

if TYPE_CHECKING:
    from collections.abc import Sequence


def csv(
    columns: Sequence[str] | Mapping[str, Grammar | None],
    *,
    header: bool = True,
    delimiter: str = ",",
    min_rows: int = 0,
    max_rows: int | None = None,
) -> Grammar:
    """Return the grammar of CSV texts with these columns.

    ``columns`` are their names, or maps each name to the grammar of its fields; ``None`` is any text. Fields of a
    grammar are written without quotes, so those of its strings that would need them are left out. With ``header`` the
    first line has the names. Lines end with a line feed; the last one may go without it.
    """
    if not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '"\r\n\0':
        raise InvalidArgumentError("the delimiter is one character, and no quote or line break")
    counts(min_rows, max_rows)
    names = names_of(columns, "column")
    check_unique(names, "column")
    # A line without anything in it is no row of one empty field, but no row.
    least = 1 if len(names) == 1 else 0
    plain = f'[^"\\r\\n\\u0000\\U{ord(delimiter):08x}]{{{least},}}'
    rules = [f"plain ::= {plain}", r'quoted ::= "\"" ([^"\u0000] | "\"\"")* "\""', "field ::= plain | quoted"]
    row = Grammar.from_ebnf("\n".join(["root ::= field", *rules]))
    separator = Grammar.from_ebnf(f"root ::= {quote(delimiter)}")
    fields = Mapping[str, Grammar | None]
    given: fields = columns if isinstance(columns, Mapping) else dict.fromkeys(names)
    parts: list[Grammar] = []
    for name in names:
        grammar = given[name]
        if grammar is not None and not isinstance(grammar, Grammar):
            raise InvalidArgumentError(
                f"the fields of {name!r} must be a Grammar or None, not {type(grammar).__name__}"
            )
        bare = Grammar.from_ebnf("\n".join(["root ::= plain", *rules]))
        parts += [separator, row if grammar is None else grammar & bare]
    line = Grammar.concat(*parts[1:])
    break_ = Grammar.from_ebnf(r'root ::= "\n"')
    # Written as a separator in front, so that the last line may go without a line feed.
    if header:
        names_line = delimiter.join(_written(name, delimiter) for name in names)
        first = Grammar.from_ebnf(f"root ::= {quote(names_line)}")
        return first + (break_ + line).repeat(min_rows, max_rows) + break_.optional()
    if max_rows == 0:
        return Grammar.from_ebnf('root ::= ""')
    rest = (break_ + line).repeat(max(min_rows - 1, 0), None if max_rows is None else max_rows - 1)
    body = line + rest + break_.optional()
    return body if min_rows > 0 else body.optional()


def _written(name: str, delimiter: str) -> str:
    if "\0" in name:
        raise InvalidArgumentError("a name of a column cannot hold the character NUL")
    plain = name and not set(name) & {'"', "\r", "\n", delimiter}
    return name if plain else '"' + name.replace('"', '""') + '"'
