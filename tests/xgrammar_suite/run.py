"""Run XGrammar's own public tests over this package under XGrammar's name, and compare with the ratchet.

``make test-xgrammar XGRAMMAR=<checkout>``. Nothing of XGrammar's files is here: a checkout of its repository, or its
source distribution, is somewhere on this machine, and `ratchet` names by file, function and number the tests that do
not pass, each with its reason. There is a ratchet for each state of the tests that was gone through; it is found by
their content. The tests run at the default spelling; those that are listed as a matter of spelling run once more with
``spelling="any"``, and have to pass.

``--peer`` runs them over XGrammar itself, which says what is worth comparing; ``--update`` writes the ratchet anew and
keeps the reasons. New failures get the reason ``unexplained``, which fails until somebody writes one.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import tomllib
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from tests.xgrammar_suite import names

ROOT = Path(__file__).resolve().parents[2]
RATCHETS = Path(__file__).parent / "ratchet"
# The one takes gigabytes and measures times; the other needs the chat templates of models.
LEFT_OUT = ("test_pressure.py", "test_builtin_structural_tag_alignment.py")
UNEXPLAINED = "unexplained"
# Reasons that are about texts for people, which no program compares.
TEXTS = ("message", "printed", "serialized")


@dataclass
class Ratchet:
    """What is known of one state of the tests."""

    path: Path
    about: str = ""
    digest: str = ""
    passed_by_xgrammar: int = 0
    failed_by_xgrammar: set[str] = field(default_factory=set)
    reasons: dict[str, str] = field(default_factory=dict)
    """What each reason means, by its name."""
    failing: dict[str, str] = field(default_factory=dict)
    """The tests that do not pass here and do in XGrammar, with their reasons."""

    @classmethod
    def read(cls, path: Path) -> Ratchet:
        """Read a file."""
        known = tomllib.loads(path.read_text(encoding="utf-8"))
        found = cls(path, known["about"], known["digest"], known["passed_by_xgrammar"])
        found.failed_by_xgrammar = names.split(known["failed_by_xgrammar"])
        for reason in known["reason"]:
            found.reasons[reason["name"]] = reason["means"]
            found.failing |= dict.fromkeys(names.split(reason["tests"]), reason["name"])
        return found

    def write(self) -> None:
        """Write the file."""
        by_reason = defaultdict(set)
        for name, reason in self.failing.items():
            by_reason[reason].add(name)
        lines = [
            f"about = {json.dumps(self.about)}",
            f'digest = "{self.digest}"',
            f"passed_by_xgrammar = {self.passed_by_xgrammar}",
            f"failed_by_xgrammar = {_list(self.failed_by_xgrammar)}",
        ]
        for reason in sorted(by_reason):
            means = self.reasons.get(reason, "")
            lines += ["", "[[reason]]", f'name = "{reason}"', f"means = {json.dumps(means)}"]
            lines += [f"tests = {_list(by_reason[reason])}"]
        self.path.parent.mkdir(exist_ok=True)
        self.path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _list(found: set[str]) -> str:
    return "[" + "".join(f"\n  {json.dumps(line)}," for line in names.joined(found)) + "\n]"


def digest(folder: Path) -> str:
    """Name the state of the tests by their content."""
    state = hashlib.sha256()
    for file in sorted(folder.glob("*.py")):
        state.update(file.name.encode() + b"\0" + file.read_bytes().replace(b"\r\n", b"\n") + b"\0")
    return state.hexdigest()[:16]


def run(checkout: Path, *, spelling: str = "", only: set[str] | None = None, peer: bool = False) -> dict:
    """Run the tests in a process of their own, and give what came of each by its name."""
    with tempfile.TemporaryDirectory() as scratch:
        results, asked, ini = (Path(scratch) / name for name in ("results", "only", "pytest.ini"))
        ini.write_text("[pytest]\n", encoding="utf-8")
        results.touch()
        environment = {
            **os.environ,
            # The tests that ask a hub are left out without one, and none is asked.
            "HF_TOKEN": "none",
            "HF_HUB_OFFLINE": "1",
            # Some cases are the members of a set, and are numbered.
            "PYTHONHASHSEED": "0",
            "TOKENSTILE_XGRAMMAR_RESULTS": str(results),
            "TOKENSTILE_XGRAMMAR_SPELLING": spelling,
            "TOKENSTILE_XGRAMMAR_PEER": "1" if peer else "",
            "TOKENSTILE_XGRAMMAR_ONLY": "",
            "PYTHONPATH": os.pathsep.join(
                [str(ROOT), str(ROOT / "python"), os.environ.get("PYTHONPATH", "")]
            ),
        }
        if only is not None:
            asked.write_text("\n".join(only), encoding="utf-8")
            environment["TOKENSTILE_XGRAMMAR_ONLY"] = str(asked)
        tests = checkout.resolve() / "tests" / "python"
        command = [
            *(sys.executable, "-m", "pytest", "-q", "--tb=short", "--no-header", "-W", "ignore", "-r", "f"),
            *(
                "-p",
                "tests.xgrammar_suite.plugin",
                "-p",
                "no:cacheprovider",
                "-c",
                str(ini),
                "-o",
                "timeout=300",
            ),
            *("--rootdir", str(checkout), str(tests), *(f"--ignore={tests / name}" for name in LEFT_OUT)),
        ]
        done = subprocess.run(
            command, cwd=checkout, env=environment, check=False, capture_output=True, text=True
        )
        if done.returncode not in (0, 1):
            raise SystemExit(done.stdout[-4000:] + done.stderr[-4000:])
        found: dict[str, dict] = {}
        for line in results.read_text(encoding="utf-8").splitlines():
            result = json.loads(line)
            if found.get(result["name"], {}).get("outcome") != "failed":
                found[result["name"]] = result
    return found


def failing(found: dict) -> set[str]:
    """Name the tests that did not pass, of those that ran."""
    return {name for name, result in found.items() if result["outcome"] == "failed"}


def compare(ratchet: Ratchet, checkout: Path) -> list[str]:
    """Run all, print the figures, and say what is not as the ratchet has it."""
    found = run(checkout)
    wrong = failing(found) - ratchet.failed_by_xgrammar
    spelled = {name for name, reason in ratchet.failing.items() if reason == "spelling"}
    again = run(checkout, spelling="any", only=spelled) if spelled else {}
    problems = [
        *(f"{name} failed: {_last_line(found[name])}" for name in sorted(wrong - ratchet.failing.keys())),
        *(f"{name} passes, and is listed" for name in sorted(ratchet.failing.keys() - wrong)),
        *(f'{name} failed with spelling="any"' for name in sorted(failing(again))),
        *(f"{name} has no reason yet" for name, why in sorted(ratchet.failing.items()) if why == UNEXPLAINED),
    ]
    show(ratchet, found, wrong)
    return problems


def show(ratchet: Ratchet, found: dict, wrong: set[str]) -> None:
    """Print the figures."""
    total = ratchet.passed_by_xgrammar
    texts = {name for name in wrong if ratchet.failing.get(name) in TEXTS}
    beside = total - len(texts)
    otherwise = sum(result["prints_otherwise"] for result in found.values())
    print(f"{ratchet.about}: XGrammar passes {total} tests with these tokenizers")
    print(f"  of these pass here {total - len(wrong)}, {(total - len(wrong)) / total:.1%}")
    left = beside - len(wrong - texts)
    print(f"  without {len(texts)} that compare texts for people {left} of {beside}, {left / beside:.1%}")
    print(f"  (in {otherwise} tests a grammar prints otherwise, which was passed over)")
    counts = defaultdict(int)
    for name in wrong:
        counts[ratchet.failing.get(name, "not listed")] += 1
    for reason, count in sorted(counts.items(), key=lambda pair: -pair[1]):
        print(f"  {count:5} {reason}: {ratchet.reasons.get(reason, '')}")


def _last_line(result: dict) -> str:
    lines = [line[2:].strip() for line in result["error"].splitlines() if line.startswith("E ")]
    return lines[0] if lines else "no message"


def update(ratchet: Ratchet, checkout: Path, *, peer: str | None) -> None:
    """Write the ratchet anew; reasons that are written stay."""
    if peer is not None:
        os.environ["PYTHONPATH"] = peer
        theirs = run(checkout, peer=True)
        ratchet.failed_by_xgrammar = failing(theirs)
        ratchet.passed_by_xgrammar = sum(result["outcome"] == "passed" for result in theirs.values())
    found = run(checkout)
    wrong = failing(found) - ratchet.failed_by_xgrammar
    unknown = {name for name in wrong if ratchet.failing.get(name, UNEXPLAINED) in (UNEXPLAINED, "spelling")}
    again = run(checkout, spelling="any", only=unknown) if unknown else {}
    spelled = unknown - failing(again)
    kept = {name: reason for name, reason in ratchet.failing.items() if name in wrong - unknown}
    ratchet.failing = kept | dict.fromkeys(unknown, UNEXPLAINED) | dict.fromkeys(spelled, "spelling")
    ratchet.write()
    show(ratchet, found, wrong)


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description="XGrammar's tests over tokenstile")
    parser.add_argument(
        "checkout", type=Path, help="a checkout of XGrammar's repository, or its source distribution"
    )
    parser.add_argument("--update", metavar="ABOUT", nargs="?", const="", help="write the ratchet anew")
    parser.add_argument("--peer", metavar="PATH", help="with --update: where XGrammar itself is installed")
    options = parser.parse_args()
    folder = options.checkout / "tests" / "python"
    if not folder.is_dir():
        parser.error(f"{folder} is not there: give a checkout of XGrammar's repository")
    state = digest(folder)
    path = next((one for one in RATCHETS.glob("*.toml") if Ratchet.read(one).digest == state), None)
    if options.update is not None:
        ratchet = Ratchet.read(path) if path else Ratchet(RATCHETS / f"{state}.toml", digest=state)
        ratchet.about = options.update or ratchet.about
        update(ratchet, options.checkout, peer=options.peer)
        return 0
    if path is None:
        known = ", ".join(Ratchet.read(one).about for one in sorted(RATCHETS.glob("*.toml")))
        parser.error(f"these tests are of a state that there is no ratchet for; there are: {known}")
    problems = compare(Ratchet.read(path), options.checkout)
    print("\n".join(problems) or "as the ratchet has it")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
