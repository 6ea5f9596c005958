"""What pytest loads beside XGrammar's tests: the other package under its name, tokenizers, and a file of the results.

A test is named by its file, its function and its number among the cases of that function, as the parameters are
XGrammar's texts. Environment variables say the rest:

- `TOKENSTILE_XGRAMMAR_RESULTS`: the file, a line of JSON for each test;
- `TOKENSTILE_XGRAMMAR_SPELLING`: the spelling, if it is not the default;
- `TOKENSTILE_XGRAMMAR_ONLY`: a file with the names of the tests to run, if not all;
- `TOKENSTILE_XGRAMMAR_PEER`: XGrammar itself is tested.
"""

from __future__ import annotations

import functools
import json
import os
from collections import Counter
from pathlib import Path

import pytest
import transformers

from tests.xgrammar_suite import hub

if not os.environ.get("TOKENSTILE_XGRAMMAR_PEER"):
    from tokenstile.compat import install_as_xgrammar

    install_as_xgrammar(os.environ.get("TOKENSTILE_XGRAMMAR_SPELLING") or None)

transformers.AutoTokenizer.from_pretrained = staticmethod(hub.tokenizer)
transformers.AutoConfig.from_pretrained = staticmethod(hub.config)

# Helpers of the tests that compare how a grammar prints, or which machine it becomes. What such a test asks besides is
# asked all the same, and that the grammar can be made.
_PRINTED = (
    "check_grammar_with_expected_grammar",
    "check_schema_with_grammar",
    "check_stag_with_grammar",
    "_assert_repeat_ref_active",
)

_NAME = pytest.StashKey[str]()
_differing: set[str] = set()
_current: list[str] = []


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Give each test its name, and leave those out that are not asked for."""
    counts: Counter[str] = Counter()
    for item in items:
        function = f"{item.path.name}::{item.nodeid.partition('::')[2].partition('[')[0]}"
        item.stash[_NAME] = f"{function}[{counts[function]}]"
        counts[function] += 1
    for module in {item.module for item in items}:
        for name in _PRINTED:
            if hasattr(module, name):
                setattr(module, name, _passed_over(getattr(module, name)))
    asked = os.environ.get("TOKENSTILE_XGRAMMAR_ONLY")
    if asked:
        names = set(Path(asked).read_text(encoding="utf-8").split())
        config.hook.pytest_deselected(items=[item for item in items if item.stash[_NAME] not in names])
        items[:] = [item for item in items if item.stash[_NAME] in names]


def _passed_over(check):
    @functools.wraps(check)
    def checked(*arguments, **options):
        try:
            return check(*arguments, **options)
        except AssertionError:
            _differing.update(_current)
            return None

    return checked


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    _current[:] = [item.stash[_NAME]]
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    report = yield
    if report.when == "call" or report.outcome != "passed":
        line = {
            "name": item.stash[_NAME],
            "outcome": report.outcome,
            "prints_otherwise": item.stash[_NAME] in _differing,
            "error": str(report.longrepr)[-4000:] if report.failed else "",
        }
        with Path(os.environ["TOKENSTILE_XGRAMMAR_RESULTS"]).open("a", encoding="utf-8") as results:
            results.write(json.dumps(line) + "\n")
    return report
