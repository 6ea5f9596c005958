"""The official test suite of JSON Schema, all drafts, required and optional.

    python -m tests.json_schema.official_suite             # totals, and what is worse or stale
    python -m tests.json_schema.official_suite --update    # write the ratchet anew

Each test is an instance and whether it is valid. It is written with ``json.dumps`` and decided by the grammar of its
schema, with ``strict_mode=False``, in either spelling.
Formats are annotations in the required tests, as the drafts say, and assertions in
``optional/format``. The documents of ``remotes`` and the meta-schemas are the registry.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from jsonschema_specifications import REGISTRY as SPECIFICATIONS

from tests.json_schema import ratchet
from tests.json_schema.decide import Decider, Refusal, decider
from tests.json_schema.ratchet import Known

REPOSITORY = Path(__file__).resolve().parents[2]
SUITE = REPOSITORY.parent / "shared" / "json-schema-test-suite"
REMOTE = "http://localhost:1234/"
META_SCHEMAS = {
    "draft4": "http://json-schema.org/draft-04/schema#",
    "draft6": "http://json-schema.org/draft-06/schema#",
    "draft7": "http://json-schema.org/draft-07/schema#",
    "draft2019-09": "https://json-schema.org/draft/2019-09/schema",
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
}


def ratchet_of(spelling: str) -> Path:
    """Return the ratchet of a spelling."""
    name = "official_suite" if spelling == "any" else f"official_suite_{spelling}"
    return Path(__file__).parent / "ratchet" / f"{name}.toml"


@dataclass
class Result:
    """What became of the tests of one file."""

    counts: Counter[str] = field(default_factory=Counter)
    known: list[Known] = field(default_factory=list)


def files() -> list[str]:
    """Return the files of the suite, such as ``draft7/optional/format/date``."""
    folder = SUITE / "tests"
    paths = (path for draft in META_SCHEMAS for path in (folder / draft).rglob("*.json"))
    return sorted(path.relative_to(folder).with_suffix("").as_posix() for path in paths)


def remotes() -> dict[str, str]:
    """Return the documents that the suite expects to find on a server."""
    folder = SUITE / "remotes"
    paths = sorted(folder.rglob("*.json"))
    served = {
        REMOTE + path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in paths
    }
    return served | {uri: json.dumps(SPECIFICATIONS.contents(uri)) for uri in SPECIFICATIONS}


def run_file(name: str, registry: dict[str, str], spelling: str) -> Result:
    """Decide all tests of a file."""
    result = Result()
    groups = json.loads((SUITE / "tests" / f"{name}.json").read_text(encoding="utf-8"))
    seen: Counter[str] = Counter()
    for group in groups:
        title = group["description"]
        seen[title] += 1
        if seen[title] > 1:
            group["description"] = f"{title} ({seen[title]})"
        run_group(name, group, registry, spelling, result)
    return result


def refers_elsewhere(schema: object) -> bool:
    """Whether a schema names a document that the suite serves, or a meta-schema."""
    text = json.dumps(schema)
    return REMOTE in text or '"$ref": "http' in text


def run_group(name: str, group: dict, registry: dict[str, str], spelling: str, result: Result) -> None:
    schema = with_draft(group["schema"], name.partition("/")[0])
    known = decider(
        schema,
        strict_mode=False,
        formats="assert" if "/optional/format" in name else "annotate",
        registry=registry if refers_elsewhere(group["schema"]) else None,
        spelling=spelling,
    )
    if isinstance(known, Refusal):
        result.counts["refused"] += len(group["tests"])
        result.known.append(Known(name, group["description"], ratchet.REFUSED, reason=known.reason))
        return
    wrong = [test for test in group["tests"] if not is_right(known, test)]
    result.counts["right"] += len(group["tests"]) - len(wrong)
    if wrong:
        # A valid value that cannot be written, and of which the report says so, is no silent mistake.
        narrowing = known.narrowing() if all(test["valid"] for test in wrong) else ""
        outcome = "narrowed" if narrowing else "wrong"
        result.counts[outcome] += len(wrong)
        cases = tuple(test["description"] for test in wrong)
        reason = narrowing or ratchet.UNEXPLAINED
        result.known.append(Known(name, group["description"], outcome, cases, reason))


def is_right(known: Decider, test: dict) -> bool:
    return known.accepts_value(test["data"]) is test["valid"]


def with_draft(schema: object, draft: str) -> object:
    """Return the schema with the draft of its folder, where it names none."""
    if not isinstance(schema, dict) or "$schema" in schema:
        return schema
    return {"$schema": META_SCHEMAS[draft], **schema}


def section(name: str) -> str:
    """Return the part of the suite that a file belongs to."""
    draft, _, rest = name.partition("/")
    return f"{draft} {'optional' if rest.startswith('optional/') else 'required'}"


def totals(results: dict[str, Result]) -> str:
    """Return a table of the tests by section and outcome."""
    sections: dict[str, Counter[str]] = {}
    for name, result in results.items():
        sections.setdefault(section(name), Counter()).update(result.counts)
    outcomes = ("right", "wrong", "narrowed", "refused")
    lines = [" " * 24 + "".join(f"{outcome:>10}" for outcome in outcomes)]
    for name, counts in sorted(sections.items()):
        lines.append(f"{name:<24}" + "".join(f"{counts[outcome]:>10}" for outcome in outcomes))
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--update", action="store_true", help="write the ratchet anew")
    parser.add_argument("--only", default="", help="only files whose names contain this")
    parser.add_argument("--spelling", default="any", choices=["any", "canonical"])
    arguments = parser.parse_args()
    if not SUITE.exists():
        sys.exit(f"the suite is not there: {SUITE}")
    started, registry = time.monotonic(), remotes()
    results = {
        name: run_file(name, registry, arguments.spelling) for name in files() if arguments.only in name
    }
    table = totals(results)
    sys.stdout.write(f"{table}\n{time.monotonic() - started:.1f} s\n")
    found = [known for result in results.values() for known in result.known]
    if arguments.update:
        if arguments.only:
            sys.exit("--update needs the whole suite")
        comment = f"What the official test suite finds; see official_suite.py.\n\n{table}"
        ratchet.write(ratchet_of(arguments.spelling), found, comment)
        return 0
    known = [entry for entry in ratchet.read(ratchet_of(arguments.spelling)) if arguments.only in entry.where]
    problems = ratchet.problems(found, known)
    sys.stdout.write("".join(f"{problem}\n" for problem in problems))
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
