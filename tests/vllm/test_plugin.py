"""The plugin: when it does something, what it replaces, and what the front end says to clients."""

from __future__ import annotations

import json
from http import HTTPStatus
from importlib.metadata import entry_points

import pytest
import vllm.v1.structured_output as manager_module
from vllm import SamplingParams
from vllm.config import StructuredOutputsConfig
from vllm.entrypoints.serve.exception_handling.error_response import create_error_response
from vllm.exceptions import VLLMValidationError
from vllm.sampling_params import StructuredOutputsParams
from vllm.v1.structured_output import backend_xgrammar

from tokenstile.integrations.vllm import register
from tokenstile.integrations.vllm.backend import VllmBackend


def checked(config, tokenizer, *, backend="auto", **constraint):
    params = SamplingParams(structured_outputs=StructuredOutputsParams(**constraint))
    settings = StructuredOutputsConfig(backend=backend)
    params.verify(config.model_config, None, settings, tokenizer)
    return params.structured_outputs


def test_entry_point():
    (point,) = [it for it in entry_points(group="vllm.general_plugins") if it.name == "tokenstile"]
    assert point.load() is register


@pytest.mark.usefixtures("unpatched")
def test_an_unknown_version_is_left_alone(monkeypatch, warnings):
    monkeypatch.setattr("vllm.__version__", "0.99.0")
    assert not register()
    assert manager_module.XgrammarBackend is not VllmBackend
    assert "TOKENSTILE_VLLM=force" in warnings[0]


@pytest.mark.usefixtures("unpatched")
def test_all_or_nothing(monkeypatch, warnings):
    """A vLLM in which one of the names is gone keeps all of the others."""
    monkeypatch.delattr(manager_module.StructuredOutputManager, "grammar_bitmask")
    assert not register()
    assert manager_module.XgrammarBackend is not VllmBackend
    assert backend_xgrammar.XgrammarBackend is not VllmBackend
    assert "grammar_bitmask" in warnings[0]


@pytest.mark.usefixtures("unpatched")
@pytest.mark.parametrize("name", ["TOKENSTILE_COMPILE_TIMEOUT_S", "TOKENSTILE_MAX_WHITESPACE"])
def test_variables_that_are_wrong(name, monkeypatch, warnings):
    monkeypatch.setenv(name, "some")
    assert not register()
    assert manager_module.XgrammarBackend is not VllmBackend
    assert name in warnings[0]


@pytest.mark.usefixtures("plugin")
def test_twice_is_once():
    before = manager_module.StructuredOutputManager.grammar_bitmask
    assert register()
    assert manager_module.StructuredOutputManager.grammar_bitmask is before
    assert manager_module.XgrammarBackend is VllmBackend
    assert backend_xgrammar.XgrammarBackend is VllmBackend


@pytest.mark.usefixtures("unpatched")
def test_removing_brings_the_gate_back(config, tokenizer):
    with pytest.raises(VLLMValidationError, match="not supported by xgrammar"):
        checked(config, tokenizer, backend="xgrammar", json={"type": "integer", "multipleOf": 3})


@pytest.mark.parametrize("backend", ["auto", "xgrammar"])
def test_what_passes(config, tokenizer, backend):
    """Under both settings the request goes to the backend called xgrammar, and is not rewritten."""
    schema = {"type": "integer", "multipleOf": 3}
    params = checked(config, tokenizer, backend=backend, json=schema)
    assert params._backend == "xgrammar"
    assert params.json == schema
    assert checked(config, tokenizer, backend=backend, choice=["a"]).choice == ["a"]
    again = SamplingParams(structured_outputs=params)
    again.verify(config.model_config, None, StructuredOutputsConfig(backend=backend), tokenizer)


def test_other_backends_are_left_alone(config, tokenizer):
    params = checked(config, tokenizer, backend="guidance", regex="a+")
    assert params._backend == "guidance"


@pytest.mark.parametrize(
    ("constraint", "words"),
    [
        ({"json": {"properties": {"a": {"type": "strin"}}}}, '"/properties/a/type"'),
        ({"json": '{"type": '}, "line 1"),
        ({"json": {"$ref": "http://example.com/x"}}, '"/$ref"'),
        ({"json": {"type": "string", "pattern": "("}}, '"/pattern"'),
        ({"json": {"const": float("nan")}}, "NaN"),
        ({"regex": "a{3,1}"}, "column"),
        ({"grammar": "root ::= nobody"}, "nobody"),
        ({"grammar": "start: nobody"}, "nobody"),
        ({"choice": ["\ud800"]}, "surrogate"),
        ({"structural_tag": '{"format": {"type": "token", "token": "<nobody>"}}'}, "format.token"),
    ],
)
def test_errors_are_the_clients(config, tokenizer, constraint, words):
    """Under ``auto`` too: no other backend is tried, for it would stay for all requests after this one."""
    with pytest.raises(VLLMValidationError) as raised:
        checked(config, tokenizer, **constraint)
    assert words in str(raised.value)
    response = create_error_response(raised.value)
    assert response.error.code == HTTPStatus.BAD_REQUEST
    assert response.error.param == f"structured_outputs.{next(iter(constraint))}"


@pytest.mark.parametrize(
    "option",
    [{"whitespace_pattern": " ?"}, {"disable_any_whitespace": True}, {"disable_additional_properties": True}],
)
def test_options_that_nobody_would_follow(config, tokenizer, option):
    """vLLM does not hand them on, so a request that has them would get what it did not ask for."""
    with pytest.raises(VLLMValidationError, match="cannot be chosen by a request"):
        checked(config, tokenizer, json={}, **option)


def test_the_servers_white_space(config, tokenizer):
    params = SamplingParams(structured_outputs=StructuredOutputsParams(json={}, disable_any_whitespace=True))
    settings = StructuredOutputsConfig(backend="xgrammar", disable_any_whitespace=True)
    params.verify(config.model_config, None, settings, tokenizer)


def test_vllms_own_checks_still_hold(config, tokenizer):
    for constraint in ({"choice": []}, {"grammar": " "}, {"json_object": False}, {"regex": "\0"}):
        with pytest.raises(VLLMValidationError):
            checked(config, tokenizer, **constraint)
    deep = json.loads('{"items":' * 70 + "{}" + "}" * 70)
    with pytest.raises(VLLMValidationError, match="nested too deeply"):
        checked(config, tokenizer, json=deep)


@pytest.mark.usefixtures("plugin")
def test_the_check_without_a_tokenizer():
    """Tool parsers ask whether a constraint is possible before the tokenizer is at hand."""

    def ask(**constraint):
        params = SamplingParams(structured_outputs=StructuredOutputsParams(**constraint))
        backend_xgrammar.validate_xgrammar_grammar(params)

    ask(json={"type": "integer", "multipleOf": 3})
    ask(structural_tag='{"format": {"type": "token", "token": "<|im_start|>"}}')
    ask(grammar="start: <|im_start|>")
    backend_xgrammar.validate_xgrammar_grammar(SamplingParams())
    for wrong in ({"json": {"type": 1}}, {"regex": "("}, {"structural_tag": "{}"}, {"grammar": "start: ("}):
        with pytest.raises(VLLMValidationError):
            ask(**wrong)


def test_tags_may_name_tokens_of_the_model(config, tokenizer):
    tag = json.dumps({"type": "structural_tag", "format": {"type": "token", "token": "<|im_start|>"}})
    assert checked(config, tokenizer, structural_tag=tag).structural_tag == tag
