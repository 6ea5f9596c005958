"""The plots of the page about performance: made from results, the same each time, and in their place."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")
BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture
def plots(monkeypatch, tmp_path):
    """The script, with a page and a folder of its own."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    spec = importlib.util.spec_from_file_location("plots", BENCHMARKS / "plots.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "plots", module)
    spec.loader.exec_module(module)
    page = tmp_path / "docs" / "performance.md"
    page.parent.mkdir()
    page.write_text(
        "before\n<!-- json-schema:start -->old<!-- json-schema:end -->\n"
        "<!-- grammars:start --><!-- grammars:end -->\nafter\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(module, "REPOSITORY", tmp_path)
    monkeypatch.setattr(module, "PAGE", page)
    monkeypatch.setattr(module, "PLOTS", tmp_path / "docs" / "plots")
    return module


def record(name, scale, **more):
    times = {
        "fill": [scale * step for step in (1000, 2000, 9000)],
        "accept": [500],
        "ttfm_ns": scale * 10_000,
    }
    return {"id": name, "false_accept": 0, "false_reject": 0, **times, **more}


def write_results(folder):
    folder.mkdir()
    runs = {
        "tokenstile": [record("a", 1), record("b", 1), record("only here", 1)],
        "xgrammar": [record("a", 30, false_accept=1), {**record("b", 1), "compile_error": "no", "fill": []}],
    }
    for engine, records in runs.items():
        lines = "".join(json.dumps(one) + "\n" for one in records)
        (folder / f"{engine}.jsonl").write_text(lines, encoding="utf-8")
    figures = {"first mask": 100.0, "warm p50": 1.0}
    rows = {
        "JSON": {"tokenstile": figures, "xgrammar": {"first mask": 9000.0}},
        "SQL": {"tokenstile": figures},
    }
    about = dict.fromkeys(("processor", "cores", "python", "date", "versions"), "x")
    grammars = {"about": about, "rows": rows, "table": "| a table |"}
    (folder / "grammars.json").write_text(json.dumps(grammars), encoding="utf-8")


def test_plots_and_tables(plots, tmp_path, monkeypatch):
    write_results(tmp_path / "results")
    monkeypatch.setattr(sys, "argv", ["plots.py", "--results", str(tmp_path / "results")])
    plots.main()
    drawn = {path.name: path.read_bytes() for path in plots.PLOTS.iterdir()}
    assert set(drawn) == {"masks.svg", "first_masks.svg", "schemas.svg", "grammars.svg"}
    page = plots.PAGE.read_text(encoding="utf-8")
    assert page.startswith("before\n")
    assert page.endswith("after\n")
    assert "old" not in page
    assert "| schemas | 2 | 2 |" in page
    assert "| exact | 2 | 0 |" in page
    assert "| takes what is wrong | 0 | 1 |" in page
    assert "| a table |" in page
    plots.main()
    assert {path.name: path.read_bytes() for path in plots.PLOTS.iterdir()} == drawn
    assert plots.PAGE.read_text(encoding="utf-8") == page


def test_without_results_it_says_what_to_run(plots, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["plots.py", "--results", str(tmp_path)])
    with pytest.raises(SystemExit, match="make bench"):
        plots.main()
