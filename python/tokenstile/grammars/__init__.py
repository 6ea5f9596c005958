"""A shelf of ready grammars.

Each function returns a `tokenstile.Grammar`, to be compiled as it is or to be put together with others. They describe
canonical forms that a reader of the format always takes, not everything that some reader would take.
"""

from tokenstile.grammars.arithmetic import arithmetic
from tokenstile.grammars.csv import csv
from tokenstile.grammars.dates import iso_date, iso_datetime, iso_time
from tokenstile.grammars.email import email
from tokenstile.grammars.json import json
from tokenstile.grammars.json_lines import json_lines
from tokenstile.grammars.markdown_table import markdown_table
from tokenstile.grammars.python_call import python_call
from tokenstile.grammars.semantic_version import semantic_version
from tokenstile.grammars.sql import sql_select
from tokenstile.grammars.xml import Element, xml

__all__ = [
    "Element",
    "arithmetic",
    "csv",
    "email",
    "iso_date",
    "iso_datetime",
    "iso_time",
    "json",
    "json_lines",
    "markdown_table",
    "python_call",
    "semantic_version",
    "sql_select",
    "xml",
]
