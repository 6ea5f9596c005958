"""Numbers: counted where they should be, and written as Prometheus wants them."""

from __future__ import annotations

import io
import re
import time

import pytest

from tests.structured_output import backends  # noqa: F401 - registers some
from tokenstile.structured_output import Metrics, ReasoningMarkers, StructuredOutputsParams
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
    with pytest.raises(KeyError, match="no counter 'active_requests'"):
        metrics.count("active_requests", "x")


def numbers(manager, name):
    """Return a metric by backend; of a histogram, how often it was observed."""
    values = manager.metrics.snapshot().get(name, {})
    return {
        backend: value["count"] if isinstance(value, dict) else value for backend, value in values.items()
    }


def test_a_mixed_batch_is_counted_for_each_backend(make_manager, begin, ids):
    manager = make_manager(num_speculative_tokens=3)
    begin(manager, "other", backend="opaque")
    begin(manager, "1")
    begin(manager, "2")
    manager.grammar_init("free", None)
    manager.grammar_bitmask(["other", "free", "1", "2"], {"other": ids("a|a"), "1": ids("a|b|c")})
    assert numbers(manager, "fill_rows_total") == {"opaque": 3, "tokenstile": 5, "none": 1}
    assert numbers(manager, "fill_seconds") == {"opaque": 1, "tokenstile": 1}
    assert numbers(manager, "draft_tokens_total") == {"opaque": 2, "tokenstile": 3}
    assert numbers(manager, "draft_tokens_acceptable_total") == {"opaque": 1, "tokenstile": 3}
    manager.accept_batch({"other": ids("c"), "free": [0, 1], "1": ids("a|b|c"), "2": ids("a")})
    assert numbers(manager, "accepted_tokens_total") == {"opaque": 0, "none": 2, "tokenstile": 4}
    assert numbers(manager, "rejected_total") == {"opaque": 1}
    assert numbers(manager, "accept_seconds") == {"opaque": 1, "none": 1, "tokenstile": 1}


def test_padding_is_no_draft(make_manager, begin, ids):
    manager = make_manager(num_speculative_tokens=4)
    begin(manager, "1")
    begin(manager, "other", backend="opaque")
    for name in ("1", "other"):
        manager.grammar_bitmask([name], {name: [*ids("a|b"), -1, -1]})
    assert numbers(manager, "draft_tokens_total") == {"tokenstile": 2, "opaque": 2}
    assert numbers(manager, "draft_tokens_acceptable_total") == {"tokenstile": 2, "opaque": 2}


def test_time_is_shared_out_and_not_doubled(make_manager, begin):
    manager = make_manager()
    begin(manager, "other", backend="opaque")
    begin(manager, "1")
    started = time.perf_counter()
    for _ in range(20):
        manager.grammar_bitmask(["other", "1"])
    passed = time.perf_counter() - started
    fills = manager.get_stats()["fill_seconds"]
    assert fills["opaque"]["sum"] > 0
    assert fills["tokenstile"]["sum"] > 0
    assert sum(fill["sum"] for fill in fills.values()) <= passed


@pytest.mark.parametrize("options", [{}, {"backend": "opaque"}, {"reasoning": ReasoningMarkers(end=5)}])
def test_tokens_after_the_end_are_not_counted(make_manager, begin, ids, options):
    manager = make_manager()
    request = begin(manager, "r", "(ab)?", **options)
    tokens = ids("</s>|</think>|ab|</s>|a|a" if "reasoning" in options else "ab|</s>|a|a")
    assert manager.accept_tokens("r", tokens)
    assert manager.metrics.value("accepted_tokens_total", request.backend) == len(tokens) - 2
    assert manager.accept_tokens("r", ids("a|b"))
    assert manager.accept_tokens("r", ids("a"))
    assert manager.metrics.value("accepted_tokens_total", request.backend) == len(tokens) - 2
    manager.rollback("r", len(tokens) - 2)
    assert manager.accept_tokens("r", tokens)
    assert manager.metrics.value("accepted_tokens_total", request.backend) == 2 * (len(tokens) - 2)


def test_gauges_are_never_stale(make_manager, begin):
    manager = make_manager()
    for name in ("1", "2"):
        begin(manager, name, backend="opaque")
    metrics = manager.metrics
    assert metrics.value("active_requests", "opaque") == 2
    manager.release("1")
    assert metrics.value("active_requests", "opaque") == 1
    manager.release("2")
    # Nobody is left who has that backend, and its number must not stay as it was.
    assert metrics.snapshot()["active_requests"] == {"opaque": 0, "tokenstile": 0}
    assert 'active_requests{backend="opaque"} 0' in metrics.prometheus_text()
    begin(manager, "3")
    assert metrics.value("cache_bytes", "tokenstile") > 0
    manager.shutdown()
    assert "active_requests" not in metrics.snapshot()


def test_a_profile_asks_for_fresh_numbers(make_manager, begin):
    manager = make_manager()
    begin(manager, "1")
    out = io.StringIO()
    with manager.profile(out):
        begin(manager, "2")
        begin(manager, "3")
    rows = {line.split()[0]: line.split()[2] for line in out.getvalue().splitlines()[1:]}
    assert rows["compile_cache_hits_total"] == "2"


def test_several_managers_add_up(make_manager, begin):
    metrics = Metrics()
    first, second = make_manager(metrics=metrics), make_manager(metrics=metrics)
    begin(first, "1")
    begin(second, "1")
    begin(second, "2")
    assert metrics.value("active_requests", "tokenstile") == 3
    assert metrics.value("compile_cache_hits_total", "tokenstile") == 1
    second.shutdown()
    assert metrics.value("active_requests", "tokenstile") == 1
    assert metrics.value("compile_cache_hits_total", "tokenstile") == 1, "counters never fall"
