"""The ratchet itself: what it reads is what it wrote, and it notices both directions."""

from __future__ import annotations

from tests.json_schema import ratchet
from tests.json_schema.ratchet import Known

REFUSED = Known("a", "group", ratchet.REFUSED, reason='UnsupportedFeatureError: "no" \\ \x7f\né')
WRONG = Known("b", "", "wrong", ("one", "two"))


def test_round_trip(tmp_path):
    path = tmp_path / "folder" / "ratchet.toml"
    assert ratchet.read(path) == []
    ratchet.write(path, [WRONG, REFUSED], "A comment.\n\nMore.")
    assert ratchet.read(path) == [REFUSED, WRONG]


def test_reasons_are_kept(tmp_path):
    path = tmp_path / "ratchet.toml"
    ratchet.write(path, [WRONG, REFUSED], "")
    path.write_text(path.read_text().replace(ratchet.UNEXPLAINED, "by hand"))
    ratchet.write(path, [WRONG, Known("a", "group", ratchet.REFUSED, reason="new")], "")
    assert [entry.reason for entry in ratchet.read(path)] == ["new", "by hand"]


def test_worse_and_stale():
    assert ratchet.problems([REFUSED, WRONG], [WRONG, REFUSED]) == []
    (worse,) = ratchet.problems([REFUSED, WRONG], [REFUSED])
    assert worse.startswith("worse: b")
    (stale,) = ratchet.problems([WRONG], [REFUSED, WRONG])
    assert stale.startswith("stale: a")
    changed = Known("b", "", "wrong", ("one", "three"))
    worse, stale = ratchet.problems([changed], [WRONG])
    assert (worse.splitlines()[-1].strip(), stale.splitlines()[-1].strip()) == ("three", "two")
    assert len(ratchet.problems([Known("a", "group", "wrong", ("x",))], [REFUSED])) == 2
    assert ratchet.problems([Known("a", "group", ratchet.REFUSED, reason="another")], [REFUSED]) == []
