"""``tokenstile explain``."""

from __future__ import annotations


def test_stages(run, person, deepseek_file):
    arguments = ["explain", person, "-T", deepseek_file, "-p", '{"name": "Al', "-t", '",', "-t", '"}']
    result = run(*arguments, "--json")
    assert result.code == 1
    stages = result.json
    assert stages["values"]["types"] == ["object"]
    assert stages["grammar"].startswith("root ::= ")
    assert {"terminal": '"age"', "uses": 1} in stages["terminals"]
    assert stages["configuration"]["complete"] is False
    assert stages["mask"]["allowed"] > 100_000
    comma, brace = stages["tokens"]
    assert comma["fits"]
    assert not brace["fits"]
    assert "but not '}' after it" in brace["why"]
    text = run(*arguments).out
    assert all(title in text for title in ("Values", "Grammar", "Terminals", "After the prefix", "Mask"))


def test_mask_of_bytes_is_exact(run):
    result = run("explain", "[ab]c?", "-k", "regex", "-p", "a", "-T", "bytes", "--json")
    assert result.code == 0
    mask = result.json["mask"]
    assert mask["may_stop"]
    assert {entry["id"] for entry in mask["shortest"]} == {ord("c"), 256}


def test_forced_text(run):
    result = run("explain", 'root ::= "hello" | "help"', "-T", "bytes", "--json")
    assert result.json["configuration"]["forced"] == "hel"


def test_a_prefix_that_does_not_fit(run):
    result = run("explain", "[0-9]+", "-k", "regex", "-p", "1a", "-T", "bytes", "--json")
    assert result.code == 1
    assert result.json["prefix"]["refusal"]["offset"] == 1
    assert "does not fit" in run("explain", "[0-9]+", "-k", "regex", "-p", "1a", "-T", "bytes").out


def test_why_a_stop_token_is_refused(run):
    result = run("explain", "ab", "-k", "regex", "-p", "a", "-T", "bytes", "--token-id", 256, "--json")
    assert result.json["tokens"][0]["why"] == "it ends the text, which is not complete yet"


def test_tokens_that_are_not_there(run):
    assert run("explain", "a", "-k", "regex", "-T", "bytes", "-t", "ab").code == 2
    assert run("explain", "a", "-k", "regex", "-T", "bytes", "--token-id", 257).code == 2
    assert run("explain", "a", "-k", "regex", "-T", "no such thing").code == 2


def test_grammars_of_tokens(run):
    result = run("explain", "root ::= <[97]> <[98]>", "-T", "bytes", "--json")
    assert [entry["id"] for entry in result.json["mask"]["shortest"]] == [97]


def test_grammars_that_name_tokens_by_their_text(run):
    result = run("explain", 'root ::= "a" </s> "b"', "-T", "bytes", "-p", "a", "--json")
    assert [entry["id"] for entry in result.json["mask"]["shortest"]] == [256]


def test_backslashes_before_brackets_are_shown(run):
    result = run("explain", r'root ::= "\\[x" "[dim]" "\\"', "-T", "bytes")
    assert r'"\\[x' in result.out
    assert "[dim]" in result.out
