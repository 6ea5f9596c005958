"""The plots and tables of ``docs/performance.md``, from the files that the benchmarks leave in ``benchmarks/results``.

    python benchmarks/plots.py [--results FOLDER]

- ``tokenstile.jsonl`` and its like, of `json_schema.py`: all times of each schema of MaskBench, an engine a file;
- ``grammars.json``, of `run.py`: figures of grammars beside XGrammar.

What is there is drawn into ``docs/images/plots`` and written between the marks of the page; what is missing stays as it
was. The drawings are the same for the same results, byte by byte, and are committed; the results are not.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from machine import in_words

mpl.use("Agg")
from matplotlib import pyplot as plt

REPOSITORY = Path(__file__).resolve().parents[1]
RESULTS = REPOSITORY / "benchmarks" / "results"
PAGE = REPOSITORY / "docs" / "performance.md"
PLOTS = REPOSITORY / "docs" / "images" / "plots"
ENGINES = {"tokenstile": "#1d4ed8", "llguidance": "#ea580c", "glrmask": "#16a34a", "xgrammar": "#b91c1c"}
TROUBLE = ("compile_error", "run_error", "timeout", "crash")
GRAMMARS = ("first mask", "cold p50", "cold p99", "warm p50", "warm p99", "accept p50", "batch 256")
STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "tokenstile",
    "font.family": "sans-serif",
    "font.size": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
}


@dataclass(frozen=True)
class Run:
    """One engine's way through MaskBench."""

    engine: str
    records: list[dict[str, Any]]

    @property
    def masks(self) -> np.ndarray:
        """The microseconds of all masks, in order."""
        return np.sort([time / 1e3 for record in self.records for time in record["fill"]])

    @property
    def first_masks(self) -> np.ndarray:
        """The microseconds from each schema to its first mask, in order; an engine that gave up waited to the end."""
        times = [record["ttfm_ns"] / 1e3 for record in self.records if "ttfm_ns" in record]
        late = sum("timeout" in record and "ttfm_ns" not in record for record in self.records)
        return np.sort([*times, *[30e6] * late])

    def count(self) -> dict[str, int]:
        """Count schemas by what became of them; each is counted once, for the worst."""
        counts = dict.fromkeys(("exact", "takes what is wrong", "refuses what is right", "not compiled"), 0)
        for record in self.records:
            counts[_outcome(record)] += 1
        return counts


def _outcome(record: dict[str, Any]) -> str:
    if any(key in record for key in TROUBLE):
        return "not compiled"
    if record["false_accept"]:
        return "takes what is wrong"
    return "refuses what is right" if record["false_reject"] else "exact"


def load_runs(results: Path) -> list[Run]:
    """Read the runs that are there, cut down to the schemas that all of them have."""
    found = {}
    for engine in ENGINES:
        path = results / f"{engine}.jsonl"
        if path.exists():
            found[engine] = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    if "tokenstile" not in found:
        return []
    shared = set.intersection(*({record["id"] for record in records} for records in found.values()))
    return [
        Run(engine, [record for record in records if record["id"] in shared])
        for engine, records in found.items()
    ]


def draw_tail(runs: list[Run], part: str, label: str, path: Path) -> None:
    """Draw how long the slowest share of calls takes: one in two, in ten, in a hundred, ..."""
    figure, axis = plt.subplots(figsize=(8, 4.2), layout="constrained")
    for run in runs:
        times = getattr(run, part)
        shares = np.logspace(0, -np.log10(max(len(times), 2)), 160)
        places = np.minimum((len(times) * (1 - shares)).astype(int), len(times) - 1)
        axis.plot(shares, times[places], label=run.engine, color=ENGINES[run.engine], linewidth=2)
    axis.set(xscale="log", yscale="log", ylabel=f"{label}, µs", xlabel="the slowest share of calls")
    axis.invert_xaxis()
    ticks = [share for share in (1, 0.1, 0.01, 0.001, 0.0001) if share >= axis.get_xlim()[1]]
    axis.set_xticks(ticks, [_share(tick) for tick in ticks])
    axis.legend(frameon=False)
    _save(figure, path)


def _share(share: float) -> str:
    return "all" if share == 1 else f"1 in {round(1 / share):,}"


def draw_outcomes(runs: list[Run], path: Path) -> None:
    """Draw what became of the schemas."""
    figure, axis = plt.subplots(figsize=(8, 0.8 + 0.6 * len(runs)), layout="constrained")
    colors = ("#16a34a", "#b91c1c", "#ea580c", "#94a3b8")
    counts = [run.count() for run in runs]
    left = np.zeros(len(runs))
    for outcome, color in zip(counts[0], colors, strict=True):
        widths = np.array([count[outcome] for count in counts])
        bars = axis.barh([run.engine for run in runs], widths, left=left, color=color, label=outcome)
        axis.bar_label(
            bars, [str(width) if width else "" for width in widths], label_type="center", color="w"
        )
        left += widths
    axis.invert_yaxis()
    axis.grid(visible=False)
    axis.legend(ncols=4, frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1))
    _save(figure, path)


def draw_grammars(rows: dict[str, dict[str, dict[str, float]]], path: Path) -> None:
    """Draw the figures of grammars, ours and XGrammar's side by side."""
    height = 1.0 + 0.95 * len(rows)
    figure, axes = plt.subplots((len(rows) + 1) // 2, 2, figsize=(9, 1.6 * height), layout="constrained")
    places = np.arange(len(GRAMMARS))
    for axis in axes.flat[len(rows) :]:
        axis.set_axis_off()
    for axis, (name, engines) in zip(axes.flat, rows.items(), strict=False):
        for at, (engine, row) in enumerate(engines.items()):
            values = [row.get(figure_name, np.nan) for figure_name in GRAMMARS]
            axis.barh(places + (at - 0.5) * 0.4, values, 0.38, color=ENGINES[engine], label=engine)
        axis.set(xscale="log", title=name, xlabel="µs")
        axis.set_yticks(places, GRAMMARS)
        axis.invert_yaxis()
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, frameon=False, ncols=2, loc="outside upper center")
    _save(figure, path)


def _save(figure: Any, path: Path) -> None:
    for axis in figure.axes:
        axis.minorticks_off()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None}, facecolor="white")
    plt.close(figure)
    text = path.read_text(encoding="utf-8")
    path.write_text("\n".join(line.rstrip() for line in text.splitlines()) + "\n", encoding="utf-8")
    print(f"wrote {path.relative_to(REPOSITORY)}")


def schema_table(runs: list[Run]) -> str:
    """Give the figures of the runs as a table."""
    rows: dict[str, list[str]] = {"schemas": [], "exact": [], "takes what is wrong": []}
    for run in runs:
        count = run.count()
        rows["schemas"].append(f"{len(run.records):,}")
        for outcome in ("exact", "takes what is wrong"):
            rows[outcome].append(f"{count[outcome]:,}")
        for part, label in (("masks", "mask"), ("first_masks", "first mask")):
            for name, share in (("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999), ("max", 1)):
                if (part, name) != ("first_masks", "p99.9"):
                    rows.setdefault(f"{label} {name}, µs", []).append(_percentile(getattr(run, part), share))
    heads = [run.engine for run in runs]
    lines = ["| | " + " | ".join(heads) + " |", "|---|" + "---:|" * len(heads)]
    return "\n".join([*lines, *(f"| {name} | " + " | ".join(cells) + " |" for name, cells in rows.items())])


def _percentile(times: np.ndarray, share: float) -> str:
    if not len(times):
        return "-"
    value = times[min(len(times) - 1, int(len(times) * share))]
    return f"{value:,.1f}" if value < 100 else f"{value:,.0f}"


def replace_part(name: str, text: str) -> None:
    """Write a part of the page anew."""
    begin, end = f"<!-- {name}:start -->", f"<!-- {name}:end -->"
    page = PAGE.read_text(encoding="utf-8")
    head, found, rest = page.partition(begin)
    _, closed, tail = rest.partition(end)
    if not (found and closed):
        sys.exit(f"{PAGE} has no part {name}")
    PAGE.write_text(f"{head}{begin}\n\n{text}\n\n{end}{tail}", encoding="utf-8")
    print(f"wrote the part {name} of {PAGE.relative_to(REPOSITORY)}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--results", type=Path, default=RESULTS, help="the folder of the results")
    results = parser.parse_args().results
    runs = load_runs(results)
    grammars = results / "grammars.json"
    if not runs and not grammars.exists():
        sys.exit(f"there is nothing in {results}: run make bench and make bench-json-schema first")
    with mpl.rc_context(STYLE):
        if runs:
            draw_schemas(runs, results)
        if grammars.exists():
            measured = json.loads(grammars.read_text(encoding="utf-8"))
            draw_grammars(measured["rows"], PLOTS / "grammars.svg")
            replace_part("grammars", f"{in_words(measured['about'])}.\n\n{measured['table']}")


def draw_schemas(runs: list[Run], results: Path) -> None:
    """Draw and write everything about MaskBench."""
    draw_tail(runs, "masks", "one mask", PLOTS / "masks.svg")
    draw_tail(runs, "first_masks", "from schema to first mask", PLOTS / "first_masks.svg")
    draw_outcomes(runs, PLOTS / "schemas.svg")
    about = results / "json_schema.json"
    words = in_words(json.loads(about.read_text(encoding="utf-8"))) + ".\n\n" if about.exists() else ""
    replace_part("json-schema", words + schema_table(runs))


if __name__ == "__main__":
    main()
