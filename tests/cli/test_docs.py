"""The page about the command: what it shows is what the command writes."""

from __future__ import annotations

import pytest

from tests.cli.documented import commands, needs_model, run_documented, write_files


@pytest.mark.parametrize(("command", "said"), [one for one in commands() if not needs_model(one[0])])
def test_commands(command, said, tmp_path):
    write_files(tmp_path)
    assert run_documented(command, tmp_path) == said


def test_there_are_commands():
    assert len(commands()) >= 8
