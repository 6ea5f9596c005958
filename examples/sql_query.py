"""Turn a question into SQL over a given table: only its columns can be named, so the query always runs."""

from __future__ import annotations

import sqlite3

from tokenstile import grammars
from tokenstile.engine import Engine, SamplingParams
from tokenstile.engine.models.loading import LoadedModel, load_model
from tokenstile.structured_output import StructuredOutputsParams

TABLES = {"employees": ["name", "city", "salary"]}
ROWS = [("Ann", "Rome", 5200), ("Ben", "Oslo", 4100), ("Cleo", "Rome", 3900)]


def main(model: LoadedModel | None = None) -> tuple[str, list[tuple[object, ...]]]:
    """Ask for a query, and run it."""
    model = model or load_model()
    with Engine(model.model) as engine:
        query = engine.submit(
            model.prompt(
                "The table employees has the columns name, city and salary. "
                "Write one SQL query: the names of all employees with a salary over 4000."
            ),
            SamplingParams(max_tokens=60, stop=(";",)),
            structure=StructuredOutputsParams(grammar=str(grammars.sql_select(TABLES))),
        ).result()
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE employees (name TEXT, city TEXT, salary INTEGER)")
    database.executemany("INSERT INTO employees VALUES (?, ?, ?)", ROWS)
    rows = database.execute(query.text).fetchall()
    database.close()
    print(query.text)
    print(rows)
    return query.text, rows


if __name__ == "__main__":
    main()
