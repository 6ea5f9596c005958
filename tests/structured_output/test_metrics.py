"""Numbers: counted where they should be, and written as Prometheus wants them."""

from __future__ import annotations

import io
import re

import pytest

from tokenstile.structured_output import Metrics, StructuredOutputsParams
from tokenstile.structured_output.metrics import BUCKETS, DESCRIPTIONS

LINE = re.compile(
    r'^tokenstile_structured_output_(\w+)\{backend="((?:[^"\\]|\\.)*)"(?:,le="([^"]+)")?\} (\S+)$'
)


@pytest.fixture
def used(make_manager, begin, ids):
    manager = make_manager(num_speculative_tokens=2)
    begin(manager, "1")
    begin(manager, "2")
    manager.grammar_init("bad", StructuredOutputsParams(regex="((")).future.exception(30)
    manager.grammar_bitmask(["1", "2"], {"1": ids("a|a")})
    manager.accept_batch({"1": ids("a|b"), "2": ids("c")})
    return manager


def test_plain_data(used):
    stats = used.get_stats()
    numbers = {name: values["tokenstile"] for name, values in stats.items() if "tokenstile" in values}
    expected = {
        "requests_total": 3,
        "compile_total": 2,
        "compile_errors_total": 1,
        "compile_cache_hits_total": 1,
        "fill_rows_total": 4,
        "draft_tokens_total": 2,
        "draft_tokens_acceptable_total": 1,
        "accepted_tokens_total": 2,
        "rejected_total": 1,
        "active_requests": 3,
        "compiling_requests": 0,
    }
    assert {name: numbers[name] for name in expected} == expected
    assert numbers["cache_bytes"] > 0
    for name, count in {
        "compile_seconds": 2,
        "compile_wait_seconds": 2,
        "fill_seconds": 1,
        "accept_seconds": 1,
    }.items():
        assert numbers[name]["count"] == count
        assert sum(numbers[name]["buckets"].values()) == count
        assert 0 < numbers[name]["max"] <= numbers[name]["sum"]
    assert set(stats) <= set(DESCRIPTIONS)


def test_prometheus(used):
    text = used.prometheus_text()
    assert text.endswith("\n")
    values: dict = {}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        found = LINE.match(line)
        assert found, line
        values[found[1], found[3]] = float(found[4])
    assert values["accepted_tokens_total", None] == 2
    below = [values["compile_seconds_bucket", str(end)] for end in [*BUCKETS, "+Inf"]]
    assert below == sorted(below)
    assert below[-1] == values["compile_seconds_count", None] == 2
    kinds = dict(re.findall(r"^# TYPE tokenstile_structured_output_(\w+) (\w+)$", text, re.MULTILINE))
    assert kinds["fill_seconds"] == "histogram"
    assert kinds["cache_bytes"] == "gauge"
    assert len(re.findall("^# HELP", text, re.MULTILINE)) == len(kinds)


def test_labels_are_escaped():
    metrics = Metrics()
    metrics.count("requests_total", 'a"b\\c\nd')
    line = metrics.prometheus_text().splitlines()[-1]
    assert line == r'tokenstile_structured_output_requests_total{backend="a\"b\\c\nd"} 1'
    assert Metrics().prometheus_text() == ""


def test_a_profile_tells_what_happened_inside(used, ids):
    out = io.StringIO()
    with used.profile(out):
        used.grammar_bitmask(["1", "2"])
        used.accept_tokens("2", ids("a"))
    lines = out.getvalue().splitlines()
    assert lines[0].split() == ["metric", "backend", "count", "mean"]
    rows = {line.split()[0]: line.split()[2] for line in lines[1:]}
    assert rows == {
        "fill_rows_total": "2",
        "fill_seconds": "1",
        "accept_seconds": "1",
        "accepted_tokens_total": "1",
    }


def test_a_profile_is_printed_also_after_an_error(used, capsys):
    def fail():
        with used.profile():
            used.grammar_bitmask(["1"])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert "fill_seconds" in capsys.readouterr().out


def test_unknown_names_are_mistakes():
    metrics = Metrics()
    with pytest.raises(KeyError, match="no counter 'nothing'"):
        metrics.count("nothing", "x")
    with pytest.raises(KeyError, match="no histogram"):
        metrics.observe("requests_total", "x", 1.0)
    with pytest.raises(KeyError, match="no gauge"):
        metrics.set("compile_seconds", "x", 1.0)
