"""The structural tags in ``testdata/tool_calling/*.toml`` are those that the families make of their arguments.

The core runs the texts of these cases beside the oracle and knows no families, so the cases hold the structural tag.
After a change to a family, ``python tests/tool_calling_cases.py`` writes them anew; look at what changed before you
commit it.
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import tokenstile as xgr

FOLDER = Path(__file__).parent.parent / "testdata" / "tool_calling"


def cases():
    for path in sorted(FOLDER.glob("*.toml")):
        for case in tomllib.loads(path.read_text(encoding="utf-8"))["test"]:
            yield path, case


def structural_tag(case):
    """Return what the family makes of the arguments of a case, as JSON."""
    tag = xgr.get_model_structural_tag(case["model"], **json.loads(case["arguments"]))
    return json.dumps(json.loads(tag.model_dump_json()), ensure_ascii=False)


def refresh():
    for path, case in cases():
        text = path.read_text(encoding="utf-8")
        old, new = (
            f"structural_tag = {json.dumps(tag, ensure_ascii=False)}\n"
            for tag in (case["structural_tag"], structural_tag(case))
        )
        path.write_text(text.replace(old, new, 1), encoding="utf-8")


if __name__ == "__main__":
    refresh()
