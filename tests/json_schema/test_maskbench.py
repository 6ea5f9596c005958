"""A sample of MaskBench, compared with the ratchet. ``make maskbench`` runs the whole."""

from __future__ import annotations

import pytest

from tests.json_schema import maskbench, ratchet

pytestmark = pytest.mark.skipif(
    not maskbench.DATA.exists(), reason="MaskBench is not beside the checkout, in ../shared/maskbench"
)


@pytest.mark.parametrize("spelling", ["any", "canonical"])
def test_sample(spelling):
    documents = maskbench.documents()[: maskbench.SAMPLE]
    sample = [{**document, "spelling": spelling} for document in documents]
    found = [known for document in sample for known in maskbench.run(document)]
    names = {document["id"] for document in sample}
    known = [entry for entry in ratchet.read(maskbench.ratchet_of(spelling)) if entry.where in names]
    problems = ratchet.problems(found, known)
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("spelling", ["any", "canonical"])
def test_entries_are_explained(spelling):
    known = ratchet.read(maskbench.ratchet_of(spelling))
    assert {entry.where for entry in known} <= {document["id"] for document in maskbench.documents()}
    unexplained = [str(entry) for entry in known if entry.reason == ratchet.UNEXPLAINED]
    assert not unexplained, "\n".join(unexplained)


@pytest.mark.parametrize(
    ("code", "outcome"),
    [("import os; os.abort()", "crash"), ("import time; time.sleep(1000)", "timeout"), ("", None)],
)
def test_workers_that_die_or_hang(code, outcome, monkeypatch):
    """A worker is replaced, and the schema that it had is charged."""
    monkeypatch.setattr(maskbench, "SECONDS", 15.0)
    # The first schema runs the code when it is unpickled in the worker.
    bad = {"id": "bad", "schema": Exploding(code), "tests": []}
    good = [{"id": f"good {number}", "schema": True, "tests": []} for number in range(3)]
    results = maskbench.run_all([good[0], bad, *good[1:]], jobs=1)
    assert list(results) == ["good 0", "bad", "good 1", "good 2"]
    assert [known.outcome for known in results["bad"]] == ([outcome] if outcome else [])
    assert not any(results[document["id"]] for document in good)


class Exploding:
    """A schema that runs code when it is read in another process, and is then True."""

    def __init__(self, code):
        self.code = code

    def __reduce__(self):
        return eval, (f"exec({self.code!r}) is None",)
