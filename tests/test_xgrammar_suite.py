"""The list of the tests of XGrammar that do not pass, and how it is written. `make test-xgrammar` runs the tests."""

from __future__ import annotations

import pytest

from tests.xgrammar_suite.names import joined, split
from tests.xgrammar_suite.run import RATCHETS, TEXTS, UNEXPLAINED, Ratchet, compare, digest

FILES = sorted(RATCHETS.glob("*.toml"))


def test_names_go_there_and_back():
    names = {f"test_a.py::test_b[{at}]" for at in (0, 1, 2, 5, 11, 12)} | {"test_a.py::test_c[3]"}
    lines = joined(names)
    assert lines == ["test_a.py::test_b[0-2,5,11-12]", "test_a.py::test_c[3]"]
    assert split(lines) == names
    with pytest.raises(ValueError, match="no name of tests"):
        split(["test_a.py::test_b"])


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_entry_has_a_reason_and_is_there_once(path, tmp_path):
    known = Ratchet.read(path)
    assert known.passed_by_xgrammar > len(known.failing)
    assert not known.failing.keys() & known.failed_by_xgrammar
    assert UNEXPLAINED not in known.failing.values()
    assert all(known.reasons[reason] for reason in set(known.failing.values()))
    assert set(TEXTS) <= set(known.reasons)
    again = Ratchet.read(path)
    again.path = tmp_path / path.name
    again.write()
    assert again.path.read_text(encoding="utf-8") == path.read_text(encoding="utf-8")


def test_the_state_of_the_tests_is_their_content(tmp_path):
    (tmp_path / "test_a.py").write_text("a = 1\n", encoding="utf-8")
    first = digest(tmp_path)
    (tmp_path / "notes.txt").write_text("x", encoding="utf-8")
    assert digest(tmp_path) == first
    (tmp_path / "test_a.py").write_text("a = 2\n", encoding="utf-8")
    assert digest(tmp_path) != first


def test_what_is_not_as_listed_is_told(monkeypatch, tmp_path, capsys):
    def result(outcome):
        return {"outcome": outcome, "prints_otherwise": False, "error": "E   assert 1 == 2"}

    found = {f"a.py::t[{at}]": result("failed") for at in (0, 1, 2)} | {"a.py::t[3]": result("passed")}
    monkeypatch.setattr(
        "tests.xgrammar_suite.run.run", lambda _checkout, only=None, **_: {k: found[k] for k in only or found}
    )
    ratchet = Ratchet(tmp_path / "x.toml", "some", "0", 4, set(), {"spelling": "s"})
    ratchet.failing = {"a.py::t[0]": "spelling", "a.py::t[1]": UNEXPLAINED, "a.py::t[3]": "spelling"}
    problems = compare(ratchet, tmp_path)
    assert problems == [
        "a.py::t[2] failed: assert 1 == 2",
        "a.py::t[3] passes, and is listed",
        'a.py::t[0] failed with spelling="any"',
        "a.py::t[1] has no reason yet",
    ]
    assert "of these pass here 1, 25.0%" in capsys.readouterr().out
