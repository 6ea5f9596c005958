"""``tokenstile generate``, with a model whose wishes are known. The real one is in tests/models."""

from __future__ import annotations

import json

import pytest

from tests import stub_model
from tokenstile.engine import Engine, SamplingParams
from tokenstile.engine.tracing import trace
from tokenstile.structured_output import StructuredOutputsParams

WEATHER = {"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}


@pytest.fixture
def says(monkeypatch):
    """Let the model of the command wish to say this."""

    def wish(answer):
        loaded = stub_model.loaded(answer)
        monkeypatch.setattr("tokenstile.cli.generate.load_model", lambda *_, **__: loaded)
        return loaded.model

    return wish


def test_without_structure(run, says):
    says("hello")
    result = run("generate", "Say hello")
    assert (result.code, result.out) == (0, "hello\n")


@pytest.mark.parametrize(
    ("options", "wish", "text"),
    [
        (["--regex", "[0-9]{2}"], "12 of them", "12"),
        (["--regex", ""], "anything", ""),
        (["--choice", "yes", "--choice", "no"], "no", "no"),
        (["--ebnf", 'root ::= "<" [a-c]+ ">"'], "<cab>", "<cab>"),
        (["--lark", 'start: "a" /[0-9]/'], "a7", "a7"),
        (
            ["--schema", '{"type": "object", "properties": {"age": {"type": "integer"}}}'],
            '{"age": 3}',
            '{"age": 3}',
        ),
        (["--schema", '{"enum": ["ab"]}'], '"ab" or so', '"ab"'),
        (["--all-of", '[{"regex": "[a-z]*"}, {"regex": ".{3}"}]'], "abcde", "abc"),
        (["--any-of", '[{"regex": "[0-9]"}, {"choice": ["yes"]}]'], "yes", "yes"),
        (["--then", '[{"choice": ["n="]}, {"json": {"enum": [7]}}]'], "n=7", "n=7"),
    ],
)
def test_structures(run, says, options, wish, text):
    says(wish)
    result = run("generate", "?", *options, "--json")
    assert result.code == 0
    (answer,) = result.json
    assert answer["text"] == text
    assert answer["finish_reason"] == "stop"


def test_files(run, says, person):
    says('{"name": "Ann", "age": 30}')
    assert json.loads(run("generate", "?", "--schema", person).out) == {"name": "Ann", "age": 30}


def test_tools(run, says):
    model = says("x")
    result = run("generate", "?", "--tool", json.dumps(WEATHER), "--max-tokens", 60)
    assert result.out.startswith("<tool_call>")
    assert '"weather"' in result.out
    assert "<tools>" in model.prompts[0]


def test_a_tool_without_a_name(run, says):
    says("x")
    result = run("generate", "?", "--tool", '{"nam": "weather"}', "--json")
    assert result.code == 2
    assert result.json["error"]["message"] == "a tool is wrong: name: Field required"


def test_a_text_that_is_cut_off(run, says):
    says("12345678")
    result = run("generate", "?", "--regex", "[0-9]{8}", "--max-tokens", 3, "--no-complete-in-time")
    assert (result.code, result.out) == (1, "123\n")
    assert "cut off" in result.err


def test_a_text_is_complete_in_time(run, says):
    says("12345678")
    for mode in ((), ("--stream",)):
        result = run("generate", "?", "--regex", "[0-9]{1,8}", "--max-tokens", 3, *mode)
        assert (result.code, result.out) == (0, "12\n")
        result = run("generate", "?", "--regex", "[0-9]{8}", "--max-tokens", 3, *mode)
        assert (result.code, result.out) == (2, "")
        assert "takes 9" in result.err


def test_stream(run, says):
    says('{"name":"Al"}')
    schema = '{"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}'
    result = run("generate", "?", "--schema", schema, "--compact", "--stream", "--json")
    tokens = [json.loads(line) for line in result.out.splitlines()]
    assert "".join(token["text"] for token in tokens) == '{"name":"Al"}'
    forced = "".join(token["text"] for token in tokens if token["forced"])
    assert forced == '{"name":"'
    assert tokens[-1]["finish_reason"] == "stop"
    assert all(token["mask_us"] > 0 for token in tokens)
    text = run("generate", "?", "--schema", schema, "--compact", "--stream")
    assert text.out.strip() == '{"name":"Al"}'
    assert "forced" in text.err


def test_n_and_seeds(run, says):
    says("")
    arguments = ["generate", "?", "--regex", "[a-z]{8}", "--temperature", 50, "--n", 3, "--seed", 5, "--json"]
    first, second = run(*arguments).json, run(*arguments).json
    assert first == second
    assert len({answer["text"] for answer in first}) == 3


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["?", "--regex", "a", "--choice", "b"],
        ["?", "--regex", "("],
        ["?", "--schema", "nowhere.json"],
        ["?", "--tool", "[1]"],
        ["?", "--tool", "{"],
        ["?", "--tool", json.dumps(WEATHER), "--tool-family", "nobody"],
        ["?", "--stream", "--n", 2],
        ["?", "--output", "x"],
        ["?", "--top-p", 0],
    ],
)
def test_wrong_usage(run, says, arguments):
    says("a")
    result = run("generate", *arguments, "--json")
    assert result.code == 2
    assert result.json["error"]["message"]


def test_a_model_that_is_not_there(run, tmp_path):
    result = run("generate", "?", "--model", tmp_path)
    assert result.code == 2
    assert "neither" in result.err


def test_batch_goes_on_where_it_was(run, says, tmp_path):
    source, target = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_text('"one"\n\n{"prompt": "two", "id": 7}\n"three"\n', encoding="utf-8")
    arguments = [
        "generate",
        "--batch",
        source,
        "--output",
        target,
        "--choice",
        "yes",
        "--choice",
        "no",
        "--json",
    ]
    says("yes")
    assert run(*arguments).json == {"total": 3, "resumed": 0, "written": 3, "failed": 0, "cut": 0}
    lines = target.read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["prompt"] for line in lines] == ["one", "two", "three"]
    assert json.loads(lines[1])["id"] == 7

    # The process was ended while it wrote the last line, and the second one had failed.
    job = json.loads(lines[1])["job"]
    failed = json.dumps({"index": 1, "prompt": "two", "job": job, "error": {"type": "E", "message": "m"}})
    target.write_text(f"{lines[0]}\n{failed}\n{lines[2][:20]}", encoding="utf-8")
    says("no")
    result = run(*arguments)
    assert (result.code, result.json["resumed"], result.json["written"]) == (0, 1, 2)
    answers = [json.loads(line) for line in target.read_text(encoding="utf-8").splitlines()]
    assert {answer["index"]: answer["text"] for answer in answers} == {0: "yes", 1: "no", 2: "no"}


def test_batch_of_another_input_is_refused(run, says, tmp_path):
    source, target = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_text('"one"\n', encoding="utf-8")
    target.write_text('{"index": 0, "prompt": "two", "text": "kept"}\n', encoding="utf-8")
    says("yes")
    assert run("generate", "--batch", source, "--output", target).code == 2
    assert "kept" in target.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "kept", ["my notes\n", '{"a": 1}\n', '{"index": 0, "prompt": "one", "text": "kept"}\n']
)
def test_a_file_that_is_no_output_is_left_alone(run, says, tmp_path, kept):
    source, target = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_text('"one"\n', encoding="utf-8")
    target.write_text(kept, encoding="utf-8")
    says("yes")
    assert run("generate", "--batch", source, "--output", target).code == 2
    assert target.read_text(encoding="utf-8") == kept
    assert run("generate", "--batch", source, "--output", source).code == 2
    assert source.read_text(encoding="utf-8") == '"one"\n'


def test_a_batch_with_other_options_is_refused(run, says, tmp_path):
    source, target = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    # A separator of lines for Unicode, but not for JSON lines.
    source.write_text('"one\u2028two"\n', encoding="utf-8")
    says("yes")
    arguments = ["generate", "--batch", source, "--output", target, "--json", "--choice", "yes"]
    assert run(*arguments).json["written"] == 1
    assert run(*arguments).json == {"total": 1, "resumed": 1, "written": 0, "failed": 0, "cut": 0}
    assert run(*arguments, "--choice", "no").code == 2
    assert run(*arguments, "--max-tokens", "7").code == 2


def test_batch_tells_what_failed(run, says, tmp_path):
    source, target = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_text(json.dumps("x" * 5000) + '\n"ok"\n', encoding="utf-8")
    says("yes")
    result = run("generate", "--batch", source, "--output", target, "--json")
    assert (result.code, result.json["failed"]) == (1, 1)
    first, second = (json.loads(line) for line in target.read_text(encoding="utf-8").splitlines())
    assert "5000 tokens" in first["error"]["message"]
    assert second["text"] == "yes"


@pytest.mark.parametrize("line", ["{", "1", '{"text": "x"}', '{"prompt": 1}', '{"prompt": null}'])
def test_batch_lines_that_are_wrong_get_an_error_each(run, says, tmp_path, line):
    source, target = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_text(f'"first"\n{line}\n{{"prompt": "last", "error": "mine"}}\n', encoding="utf-8")
    says("yes")
    result = run("generate", "--batch", source, "--output", target, "--json")
    assert result.code == 1
    assert result.json == {"total": 3, "resumed": 0, "written": 3, "failed": 1, "cut": 0}
    answers = [json.loads(text) for text in target.read_text(encoding="utf-8").splitlines()]
    assert [answer.get("text") for answer in answers] == ["yes", None, "yes"]
    assert answers[1]["error"]["message"].startswith("line 2 ")
    # The line that is wrong is looked at again, and no other.
    assert run("generate", "--batch", source, "--output", target, "--json").json["resumed"] == 2


def test_a_batch_without_prompts_is_refused(run, says, tmp_path):
    source = tmp_path / "in.jsonl"
    source.write_text("\n", encoding="utf-8")
    says("yes")
    assert run("generate", "--batch", source, "--output", tmp_path / "out.jsonl").code == 2


@pytest.mark.parametrize("option", ["--schema", "--ebnf", "--lark"])
def test_names_of_no_file(run, says, option):
    says("yes")
    result = run("generate", "?", option, "nosuch.json")
    assert result.code == 2
    assert "there is no file 'nosuch.json'" in result.err


def test_calls_of_tools_are_bounded_and_given_once(run, says):
    call = '<tool_call>\n{"name": "weather", "arguments": {"city": "Oslo"}}\n</tool_call>'
    other = call.replace("Oslo", "Rome")
    says("\n".join([call] * 30))
    assert run("generate", "?", "--tool", json.dumps(WEATHER)).out == f"{call}\n"
    says("\n".join([call, call, other]))
    result = run("generate", "?", "--tool", json.dumps(WEATHER), "--max-calls", "3", "--max-tokens", "600")
    assert (result.code, result.out) == (0, f"{call}\n\n{other}\n")


@pytest.mark.parametrize("temperature", [0, 3.0])
@pytest.mark.parametrize("structure", [None, StructuredOutputsParams(regex="[a-z]+( [a-z]+)*!")])
def test_a_trace_is_what_the_engine_writes(temperature, structure):
    params = SamplingParams(max_tokens=30, temperature=temperature, seed=3, stop=("zz",))
    model = stub_model.loaded("the cat !").model
    traced = "".join(token.text for token in trace(model, "?", params, structure))
    assert traced == Engine(stub_model.loaded("the cat !").model).generate("?", params, structure=structure)
