"""What the playground asks the server for."""

from __future__ import annotations

import json

import pytest

from tokenstile.server import ServerConfig
from tokenstile.server.inspecting import byte_ranges, show_bytes

PATH = "/playground/inspect"
SCHEMA = json.dumps(
    {
        "type": "object",
        "properties": {"city": {"enum": ["Paris", "Rome"]}},
        "required": ["city"],
        "additionalProperties": False,
    }
)


def inspect(http, **asked):
    answer = http.post(PATH, json={"kind": "json", "grammar": SCHEMA, "compact": True, **asked})
    assert answer.status_code == 200, answer.text
    return answer.json()


def kinds(answer):
    return [(token["text"], token["kind"]) for token in answer["tokens"]]


def test_kinds_of_tokens(http):
    answer = inspect(http, text='{"city":"Paris"}')
    assert "".join(text for text, _ in kinds(answer)) == '{"city":"Paris"}'
    assert answer["is_complete"]
    assert answer["accepted"] == len(answer["tokens"])
    told = dict(kinds(answer))
    assert told["city"] == "forced"
    assert told["Paris"] == "free"


def test_a_refusal_has_its_reason(http):
    answer = inspect(http, text='{"city":"Pzris"} and more')
    refused = [token for token in answer["tokens"] if token["kind"] == "refused"]
    assert len(refused) == 1
    assert "refused" in refused[0]["reason"]
    assert refused[0]["expected"]
    after = [kind for _, kind in kinds(answer)][answer["accepted"] + 1 :]
    assert after
    assert set(after) == {"unreached"}
    assert not answer["is_complete"]


def test_the_cursor(http):
    start = inspect(http, text='{"city":"Paris"}', cursor=0)["cursor"]
    assert start["must"].startswith("{")
    assert start["next_bytes"] == ["{"]
    assert start["allowed"] == len(start["tokens"]) < 10
    inside = inspect(http, text='{"city":"Paris"}', cursor=9)["cursor"]
    assert {token["text"] for token in inside["tokens"]} >= {"Paris", "Rome", "P", "R"}
    assert {"P", "R"} <= set(inside["next_bytes"])
    end = inspect(http, text='{"city":"Paris"}', cursor=16)["cursor"]
    assert end["can_end"]
    assert {token["kind"] for token in end["tokens"]} == {"stop"}
    assert {token["kind"] for token in inside["tokens"]} == {"free"}
    assert end["vocabulary"] > 100_000


def test_tokens_that_are_known(http, make_model):
    tokens = [token for part in ("{", '"', "city") for token in make_model(num_rows=1).encode(part)]
    answer = inspect(http, tokens=tokens, text='{"city')
    assert [token["id"] for token in answer["tokens"]] == tokens
    assert http.post(PATH, json={"kind": "regex", "grammar": "a", "tokens": [-1]}).status_code == 400


@pytest.mark.parametrize(
    ("kind", "grammar", "text"),
    [
        ("regex", "[ab]+", "abba"),
        ("grammar", 'root ::= "é"+', "ééé"),
        ("lark", 'start: "x" "y"?', "xy"),
        ("choice", "yes\nno\n", "no"),
        (
            "structural_tag",
            '{"type": "structural_tag", "format": {"type": "const_string", "value": "k"}}',
            "k",
        ),
    ],
)
def test_other_kinds(http, kind, grammar, text):
    answer = inspect(http, kind=kind, grammar=grammar, text=text)
    assert answer["is_complete"]
    assert all(token["kind"] in {"free", "forced"} for token in answer["tokens"])


@pytest.mark.parametrize(
    ("kind", "grammar"),
    [("json", "{"), ("json", ""), ("regex", "("), ("grammar", "root ::="), ("choice", "")],
)
def test_grammars_that_are_wrong(http, kind, grammar):
    answer = http.post(PATH, json={"kind": kind, "grammar": grammar})
    assert answer.status_code == 400
    assert answer.json()["error"]["param"] == "grammar"


def test_long_texts(serve):
    import httpx2

    config = ServerConfig(max_inspected_tokens=10)
    with serve(config=config) as address, httpx2.Client(base_url=address) as http:
        answer = http.post(PATH, json={"kind": "regex", "grammar": "a*", "text": "ab " * 100})
        assert answer.status_code == 400
        assert answer.json()["error"]["code"] == "limit_exceeded"


def test_no_playground(serve):
    import httpx2

    with serve(config=ServerConfig(playground=False)) as address, httpx2.Client(base_url=address) as http:
        assert http.get("/").status_code == 404
        assert http.post(PATH, json={}).status_code == 404


def test_bytes_in_words():
    assert byte_ranges([*b"09", *range(ord("1"), ord("9")), 0xC3, 0xFF, *b'"']) != []
    assert byte_ranges(sorted(b'0123456789"xy')) == ['"', "0-9", "x", "y"]
    assert byte_ranges([0xC3, 0xFF]) == ["non-ASCII"]
    assert show_bytes("a\né".encode() + b"\xff") == "a\\né\\xff"


def test_structures_that_are_put_together(http):
    grammar = json.dumps([{"regex": "[a-c]*"}, {"regex": ".{2}"}])
    answer = inspect(http, kind="all_of", grammar=grammar, text="abc")
    assert [kind for _, kind in kinds(answer)][-1] == "refused"
    assert answer["accepted"] < len(answer["tokens"])
    wrong = http.post(PATH, json={"kind": "then", "grammar": '[{"regexp": "a"}]'})
    assert wrong.status_code == 400
    assert "unknown fields: regexp" in wrong.text
