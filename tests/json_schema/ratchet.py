"""Ratchets: files that list what is not right yet, each with its reason.

A run is compared with its file, and fails both when something got worse and when an entry is stale, that is, when what
it excuses is right now. So the file always says how things are, and can only get shorter without someone seeing it.

A file is TOML:

    [[known]]
    where = "draft7/optional/format/hostname"
    group = "validation of host names"    # only where there are groups
    outcome = "wrong"                     # or "narrowed", "refused", ...
    cases = ["a host name that ends with a dot"]
    reason = "why"

The reason of a refusal is the error's own, and that of a valid value that cannot be written is the report's. The reason
of any other wrong answer has to be written by hand, and is kept when the file is written anew.
"""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

UNEXPLAINED = "not explained yet"
REFUSED = "refused"


@dataclass(frozen=True, order=True)
class Known:
    """Something that is not right."""

    where: str
    group: str
    outcome: str
    cases: tuple[str, ...] = ()
    reason: str = UNEXPLAINED

    @property
    def key(self) -> tuple[str, str, str]:
        return self.where, self.group, self.outcome

    def __str__(self) -> str:
        place = f"{self.where}: {self.group}" if self.group else self.where
        cases = "".join(f"\n    {case}" for case in self.cases)
        return f"{place}: {self.outcome} ({self.reason}){cases}"


def read(path: Path) -> list[Known]:
    """Return the entries of a file; none if it is not there."""
    if not path.exists():
        return []
    entries = tomllib.loads(path.read_text(encoding="utf-8")).get("known", [])
    return [
        Known(
            where=entry["where"],
            group=entry.get("group", ""),
            outcome=entry["outcome"],
            cases=tuple(entry.get("cases", ())),
            reason=entry["reason"],
        )
        for entry in entries
    ]


def write(path: Path, found: Iterable[Known], comment: str) -> None:
    """Write what a run found, with the reasons that were written by hand before."""
    reasons = {known.key: known.reason for known in read(path)}
    lines = [f"# {line}".rstrip() for line in comment.splitlines()]
    for entry in sorted(found):
        kept = reasons.get(entry.key, UNEXPLAINED) if entry.reason == UNEXPLAINED else entry.reason
        lines += ["", *_lines(replace(entry, reason=kept))]
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _lines(entry: Known) -> list[str]:
    lines = ["[[known]]", f"where = {_quote(entry.where)}"]
    if entry.group:
        lines.append(f"group = {_quote(entry.group)}")
    lines.append(f"outcome = {_quote(entry.outcome)}")
    if entry.cases:
        lines.append(f"cases = [{', '.join(map(_quote, entry.cases))}]")
    return [*lines, f"reason = {_quote(entry.reason)}"]


def _quote(text: str) -> str:
    # A JSON string is a TOML string, but for U+007F, which TOML wants escaped.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")


def problems(found: Iterable[Known], known: Iterable[Known]) -> list[str]:
    """Return what is worse than the file says, and what of the file is stale."""
    found_by_key = {entry.key: entry for entry in found}
    known_by_key = {entry.key: entry for entry in known}
    report = []
    for key in sorted(found_by_key.keys() | known_by_key.keys()):
        now, before = found_by_key.get(key), known_by_key.get(key)
        if before is None:
            report.append(f"worse: {now}")
        elif now is None:
            report.append(f"stale: {before}")
        elif now.cases != before.cases:
            worse = sorted(set(now.cases) - set(before.cases))
            stale = sorted(set(before.cases) - set(now.cases))
            report += [f"worse: {replace(now, cases=(case,))}" for case in worse]
            report += [f"stale: {replace(before, cases=(case,))}" for case in stale]
    return report
