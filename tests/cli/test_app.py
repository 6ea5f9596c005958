"""The command as a whole: help, version, completion, exit codes, errors as text and as JSON."""

from __future__ import annotations

import io
import itertools
import os
import subprocess
import sys

import pytest

import tokenstile
from tokenstile.cli import app as app_module
from tokenstile.cli.outcome import console, escape

COMMANDS = app_module._COMMANDS


def test_version(run):
    assert run("--version").out.strip() == tokenstile.__version__


def test_help_lists_the_commands(run):
    out = run("--help").out
    assert all(name in out for name in COMMANDS)


@pytest.mark.parametrize(
    "command",
    [[name] for name in COMMANDS if name != "cache"]
    + [["cache", name] for name in ("list", "warm", "clear")],
)
def test_every_command_has_help_and_json(run, command):
    result = run(*command, "--help")
    assert result.code == 0
    assert "--json" in result.out


def test_wrong_usage(run):
    assert run("no-such-command").code == 2
    assert run("check").code == 2


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["check"], "Missing argument"),
        (["check", "--no-such-option"], "--no-such-option"),
        (["no-such-command"], "no-such-command"),
        (["explain", "a", "--kind", "klingon"], "klingon"),
        (["generate", "--n", "many"], "--n"),
        (["cache", "lst"], "lst"),
    ],
)
def test_wrong_usage_as_json(run, arguments, word):
    result = run(*arguments, "--json")
    assert result.code == 2
    assert result.json["error"]["type"] == "UsageError"
    assert word in result.json["error"]["message"]
    assert result.json["error"]["help"].endswith("--help")
    assert not result.err


def test_exit_codes_with_json(run, person):
    assert run("check", person, "--json").code == 0
    assert run("check", '{"type": "string", "minLength": 2, "maxLength": 1}', "--json").code == 1
    assert run("check", "nowhere.json", "--json").code == 2
    assert run("check", "--help", "--json").code == 0


def test_completion():
    environment = {
        **os.environ,
        "_TOKENSTILE_COMPLETE": "complete_bash",
        "COMP_WORDS": "tokenstile ch",
        "COMP_CWORD": "1",
    }
    code = "import sys; sys.argv[0] = 'tokenstile'; from tokenstile.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert "check" in done.stdout.split()


def test_errors_as_text_and_json(run):
    text = run("convert", "root ::= (", "--kind", "ebnf")
    assert text.code == 2
    assert "line 1" in text.err
    assert not text.out
    told = run("convert", "root ::= (", "--kind", "ebnf", "--json")
    assert told.code == 2
    assert told.json["error"]["type"] == "EBNFError"
    assert told.json["error"]["line"] == 1


def test_a_missing_file_is_told_from_a_text(run):
    result = run("convert", "nowhere.ebnf")
    assert result.code == 2
    assert "nowhere.ebnf" in result.err


def test_the_library_does_not_import_the_command():
    code = "import sys, tokenstile; print({'typer', 'rich', 'tokenstile.cli'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_without_its_packages_it_names_the_extra():
    code = "import sys; sys.modules['typer'] = None; from tokenstile.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "tokenstile[cli]" in done.stderr


def test_every_text_is_shown_as_it_is():
    for size in range(6):
        for characters in itertools.product("\\[]a/", repeat=size):
            text, out = "".join(characters), console()
            out.file = io.StringIO()
            out.print(f"[bold]{escape(text)}[/]x", end="")
            assert out.file.getvalue() == text + "x"


def test_what_to_install_is_said_in_full(run, monkeypatch):
    monkeypatch.setattr("tokenstile.cli.vocabularies.embedded_gguf", lambda: None)
    assert "tokenstile[gguf]" in run("tokenizer").err
