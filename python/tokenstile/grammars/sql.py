"""SELECT of SQL, over tables that are known or over any.

The form is one that the common databases read: keywords in capitals, single blanks, strings in single quotes. A query
over known tables names only columns that its tables have.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tokenstile._core import Grammar
from tokenstile.exceptions import InvalidArgumentError
from tokenstile.grammars._text import check_unique, names_of, one_of

if TYPE_CHECKING:
    from collections.abc import Sequence

_KEYWORDS = (
    "ABORT ACTION ADD AFTER ALL ALTER ALWAYS ANALYZE AND AS ASC ATTACH AUTOINCREMENT BEFORE BEGIN BETWEEN "
    "BY CASCADE CASE CAST CHECK COLLATE COLUMN COMMIT CONFLICT CONSTRAINT CREATE CROSS CURRENT "
    "CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP DATABASE DEFAULT DEFERRABLE DEFERRED DELETE DESC DETACH "
    "DISTINCT DO DROP EACH ELSE END ESCAPE EXCEPT EXCLUDE EXCLUSIVE EXISTS EXPLAIN FAIL FALSE FETCH "
    "FILTER FIRST FOLLOWING FOR FOREIGN FROM FULL GENERATED GLOB GRANT GROUP GROUPS HAVING IF IGNORE "
    "IMMEDIATE IN INDEX INDEXED INITIALLY INNER INSERT INSTEAD INTERSECT INTO IS ISNULL JOIN KEY LAST "
    "LEFT LIKE LIMIT MATCH MATERIALIZED NATURAL NO NOT NOTHING NOTNULL NULL NULLS OF OFFSET ON OR ORDER "
    "OTHERS OUTER OVER PARTITION PLAN PRAGMA PRECEDING PRIMARY QUERY RAISE RANGE RECURSIVE REFERENCES "
    "REGEXP REINDEX RELEASE RENAME REPLACE RESTRICT RETURNING REVOKE RIGHT ROLLBACK ROW ROWS SAVEPOINT "
    "SELECT SET SOME TABLE TEMP TEMPORARY THEN TIES TO TRANSACTION TRIGGER TRUE UNBOUNDED UNION UNIQUE "
    "UPDATE USER USING VACUUM VALUES VIEW VIRTUAL WHEN WHERE WINDOW WITH WITHOUT"
)

# `{n}` is the number of the table, whose names are in `table_{n}` and `column_{n}`.
_QUERY = r"""
query_{n}  ::= "SELECT " "DISTINCT "? ("*" | item_{n} (", " item_{n})*) " FROM " table_{n} rest_{n}
rest_{n}   ::= where_{n}? group_{n}? order_{n}? limit?
item_{n}   ::= value_{n} | total_{n}
total_{n}  ::= "COUNT(*)" | ("COUNT" | "SUM" | "AVG" | "MIN" | "MAX") "(" "DISTINCT "? column_{n} ")"
where_{n}  ::= " WHERE " any_{n}
any_{n}    ::= all_{n} (" OR " all_{n})*
all_{n}    ::= test_{n} (" AND " test_{n})*
test_{n}   ::= "NOT "? "(" any_{n} ")"
            | value_{n} " " ("=" | "<>" | "<" | "<=" | ">" | ">=") " " value_{n}
            | value_{n} " IS " "NOT "? "NULL"
            | value_{n} " NOT"? " IN (" literal (", " literal)* ")"
            | value_{n} " NOT"? " BETWEEN " value_{n} " AND " value_{n}
            | column_{n} " NOT"? " LIKE " string
value_{n}  ::= factor_{n} (" " [+\-] " " factor_{n})*
factor_{n} ::= atom_{n} (" " ("*" | "/") " " atom_{n})*
atom_{n}   ::= column_{n} | literal | "(" value_{n} ")"
group_{n}  ::= " GROUP BY " column_{n} (", " column_{n})* (" HAVING " had_{n} (" AND " had_{n})*)?
had_{n}    ::= total_{n} " " ("=" | "<>" | "<" | "<=" | ">" | ">=") " " number
order_{n}  ::= " ORDER BY " key_{n} (", " key_{n})*
key_{n}    ::= column_{n} (" ASC" | " DESC")?
"""

_SHARED = r"""
limit   ::= " LIMIT " whole (" OFFSET " whole)?
literal ::= number | string | "NULL"
number  ::= "-"? whole ("." [0-9]+)?
whole   ::= "0" | [1-9] [0-9]{0,17}
string  ::= "'" ([^'\x00] | "''")* "'"
"""

_ANY_NAME = "[a-zA-Z_] [a-zA-Z0-9_]{0,62}"


def sql_select(tables: Mapping[str, Sequence[str]] | None = None) -> Grammar:
    """Return the grammar of SELECT statements over one table.

    ``tables`` maps the name of each table that may be read to those of its columns. Without it, tables and columns may
    have any name that is no keyword. Queries have WHERE with comparisons, IN, BETWEEN, LIKE and IS NULL under AND, OR
    and NOT, arithmetic, the usual aggregates, GROUP BY with HAVING, ORDER BY and LIMIT. There is no semicolon at the
    end.
    """
    if tables is None:
        rules = [
            "root ::= query_0",
            _QUERY.replace("{n}", "0"),
            "table_0 ::= name",
            "column_0 ::= name",
            _any_name(),
        ]
        return Grammar.from_ebnf("\n".join([*rules, _SHARED]))
    if not isinstance(tables, Mapping):
        raise InvalidArgumentError(
            f"tables must map the name of each table to its columns, not be a {type(tables).__name__}"
        )
    names_of(tables, "table")
    rules = ["root ::= " + " | ".join(f"query_{at}" for at in range(len(tables)))]
    for at, (table, columns) in enumerate(tables.items()):
        listed = names_of(columns, f"column of {table!r}")
        check_unique(listed, "column")
        names = one_of(_written(column) for column in listed)
        rules += [_QUERY.replace("{n}", str(at)), f"table_{at} ::= {one_of([_written(table)])}"]
        rules.append(f"column_{at} ::= {names}")
    return Grammar.from_ebnf("\n".join([*rules, _SHARED]))


def _any_name() -> str:
    keywords = " | ".join(_in_any_case(word) for word in _KEYWORDS.split())
    return f"name ::= {_ANY_NAME} & ~({keywords})"


def _in_any_case(word: str) -> str:
    return " ".join(f"[{letter}{letter.lower()}]" if letter.isalpha() else f'"{letter}"' for letter in word)


def _written(name: str) -> str:
    """Return a name as it stands in a query, in quotes if it needs them."""
    if not name or "\0" in name:
        raise InvalidArgumentError(f"{name!r} cannot be a name in SQL")
    is_plain = name.isascii() and name.isidentifier() and name.upper() not in _KEYWORDS.split()
    return name if is_plain else '"' + name.replace('"', '""') + '"'
