"""Results in files of lines."""

from __future__ import annotations

from tokenstile.integrations.checkpoint import Checkpoint


def test_a_line_that_was_cut_off_does_not_count(tmp_path):
    first = Checkpoint(tmp_path)
    first.put("a", {"text": "é"})
    (path,) = tmp_path.glob("part-*")
    with path.open("ab") as file:
        file.write(b'{"text": "half')
    second = Checkpoint(tmp_path)
    second.refresh()
    assert len(second) == 1
    assert second.get("a") == {"text": "é", "key": "a"}
    assert second.get("b") is None
    second.put("b", {"text": "whole"})
    third = Checkpoint(tmp_path)
    third.refresh()
    third.refresh()
    assert len(third) == 2
    assert third.get("b")["text"] == "whole"
