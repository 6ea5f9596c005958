"""Families of models: what `get_model_structural_tag` makes of tools and choices."""

from __future__ import annotations

import inspect
import itertools
import json
from pathlib import Path

import pytest

import tokenstile as xgr
from tests.tool_calling_cases import cases, structural_tag
from tokenstile import builtin_structural_tag, openai_tool_call_schema, tool_calling
from tokenstile.structural_tag import StructuralTag
from tokenstile.tool_calling.ending import MOST_CALLS, end_with_calls
from tokenstile.tool_calling.reading import call_marks, without_repeats
from tokenstile.tool_calling.template import Template

TOOL = {"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}
OTHER = {"type": "function", "function": {"name": "now"}}
BUILTIN = {"type": "web_search_preview", "name": "browser.search", "parameters": {"type": "object"}}

XGRAMMAR = {
    "llama", "kimi", "kimi_k3", "deepseek_r1", "deepseek_v3_1", "qwen_3_5", "qwen_3_coder", "mimo", "qwen_3",
    "harmony", "deepseek_v3_2", "minimax", "minimax_m3", "glm_4_7", "deepseek_v4", "deepseek_v4_1", "cohere",
    "exaone",
}  # fmt: skip
OURS = {
    "gemma_4", "llama_4", "mistral", "mistral_json", "mistral_v11", "magistral", "granite", "granite_4",
    "phi_4_mini", "hermes", "nemotron", "nemotron_3",
}  # fmt: skip
FAMILIES = sorted(XGRAMMAR | OURS)
# Where a name stands in a JSON string, and has escapes.
NAMES_IN_JSON = [
    "exaone", "granite", "granite_4", "hermes", "llama", "llama_4", "mistral_json", "nemotron", "phi_4_mini", "qwen_3",
]  # fmt: skip


def named(name):
    return {"type": "function", "function": {"name": name}}


def allowed(mode, *tools):
    return {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": list(tools)}}


def accepts(tag, text):
    return xgr.testing._is_grammar_accept_string(xgr.Grammar.from_structural_tag(tag), text)


@pytest.mark.parametrize("case", [pytest.param(c, id=f"{p.stem}-{c['name']}") for p, c in cases()])
def test_cases_hold_what_the_families_make(case):
    assert case["structural_tag"] == structural_tag(case), "run tests/tool_calling_cases.py"


def test_all_families_have_cases():
    # The documents, which are tests too, register some.
    assert set(tool_calling.model_names()) - {"shouting", "polite"} == XGRAMMAR | OURS
    assert {path.stem for path, _ in cases()} == XGRAMMAR | OURS


def test_a_family_is_a_file():
    folder = Path(tool_calling.families.__file__).parent
    assert {path.stem for path in folder.glob("*.py")} - {"__init__"} == XGRAMMAR | OURS
    assert tool_calling.families.__all__ == sorted(XGRAMMAR | OURS)


def test_families_are_data_but_for_two():
    kinds = {name: getattr(tool_calling.families, name) for name in XGRAMMAR | OURS}
    written = {
        name for name, module in kinds.items() if not isinstance(getattr(module, "TEMPLATE", None), Template)
    }
    assert written == {"harmony", "kimi_k3"}


@pytest.mark.parametrize("model", sorted(XGRAMMAR | OURS))
@pytest.mark.parametrize("reasoning", ["enabled", "disabled", "auto", True, False])
@pytest.mark.parametrize("choice", ["auto", "none", "required", named("add"), allowed("auto", named("now"))])
def test_every_choice_of_every_family_is_a_grammar(model, reasoning, choice):
    if model == "minimax_m3":
        tools = [
            TOOL | {"function": {"name": name, "parameters": {"properties": {}}}} for name in ("add", "now")
        ]
    else:
        tools = [TOOL, OTHER]
    for parallel in (True, False):
        tag = xgr.get_model_structural_tag(
            model,
            tools,
            choice,
            reasoning,
            any_order=True,
            max_whitespace_cnt=2,
            parallel_tool_calls=parallel,
        )
        assert xgr.Grammar.from_structural_tag(tag) == xgr.Grammar.from_structural_tag(tag.model_dump())


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("qwen_3_coder", "a>b"),
        ("mimo", "a>b"),
        ("nemotron_3", "a>b"),
        ("minimax", 'a"b'),
        ("minimax_m3", 'a"b'),
        ("deepseek_v3_2", 'a"b'),
        ("deepseek_v4", 'a"b'),
        ("deepseek_r1", "a\n```json"),
        ("glm_4_7", "a<arg_key>"),
        ("mistral", "a[ARGS]"),
        ("kimi", "a:0"),
        ("gemma_4", "a{"),
        ("harmony", "a<|constrain|>json<|message|>"),
        ("harmony", "a b"),
        *((model, "") for model in FAMILIES),
        *((model, "a\nb") for model in FAMILIES if model not in NAMES_IN_JSON),
        *((model, "a\u2028b") for model in FAMILIES if model not in NAMES_IN_JSON),
        *((model, " a") for model in FAMILIES if model not in NAMES_IN_JSON),
    ],
)
def test_names_that_a_family_cannot_write(model, name):
    tool = {"type": "function", "function": {"name": name, "parameters": {"properties": {}}}}
    with pytest.raises(ValueError, match=r"tools\[1\]\.function\.name: .* cannot write") as caught:
        xgr.get_model_structural_tag(model, [TOOL, tool])
    assert isinstance(caught.value, xgr.InvalidArgumentError)


@pytest.mark.parametrize("model", ["hermes", "llama", "kimi_k3", "cohere"])
def test_names_of_any_kind_where_there_are_escapes(model):
    tool = {"type": "function", "function": {"name": 'a">b', "parameters": {"properties": {}}}}
    assert xgr.Grammar.from_structural_tag(xgr.get_model_structural_tag(model, [tool]))


@pytest.mark.parametrize("model", NAMES_IN_JSON)
def test_a_line_break_in_a_name_that_is_json(model):
    tool = {"type": "function", "function": {"name": "a\nb", "parameters": {"properties": {}}}}
    tag = xgr.get_model_structural_tag(model, [tool], tool_choice="required")
    assert '"a\\\\nb"' in str(xgr.Grammar.from_structural_tag(tag)).replace('\\"', '"')


def test_a_builtin_tool_that_harmony_cannot_write():
    tool = {"type": "web search"}
    with pytest.raises(
        xgr.InvalidArgumentError, match=r"^tools\[1\].type: .* cannot write the name 'web search'"
    ):
        xgr.get_model_structural_tag("harmony", [TOOL, tool])


@pytest.mark.parametrize("model", FAMILIES)
@pytest.mark.parametrize("choice", ["auto", "required", allowed("auto", named("now"), named("a\ud800"))])
def test_a_refused_name_is_told_by_its_place_in_the_request(model, choice):
    broken = {"type": "function", "function": {"name": "a\ud800"}}
    tools = [BUILTIN, TOOL, BUILTIN | {"type": "other"}, OTHER, broken, TOOL]
    expected = (
        r"^tools\[4\]\.function\.name: .* cannot write the name 'a\\ud800', since it holds a lone surrogate"
    )
    for given in (tools, [tool_calling.choice.read_tools([tool])[0] for tool in tools]):
        with pytest.raises(xgr.InvalidArgumentError, match=expected) as caught:
            xgr.get_model_structural_tag(model, given, choice)
        assert type(caught.value) is xgr.InvalidArgumentError
    builder = getattr(tool_calling.families, model)
    # What others call themselves, with lists of their own.
    functions, builtins, simplified = xgr.normalize_tool_choice(tools, choice)
    with pytest.raises(xgr.InvalidArgumentError, match=r"^tools\[\d\]\.function\.name: "):
        getattr(builder, f"get_{model}_structural_tag")(functions, builtins, simplified)


def test_options_reach_the_schemas():
    tag = xgr.get_model_structural_tag(
        "hermes", [TOOL], any_order=True, max_whitespace_cnt=3, exclude_special_tokens=False
    )
    content = tag.format.tags[0].content
    assert (content.any_order, content.max_whitespace_cnt) == (True, 3)
    with_marks = xgr.get_model_structural_tag("qwen_3", [TOOL], reasoning="disabled")
    without = xgr.get_model_structural_tag(
        "qwen_3", [TOOL], reasoning="disabled", exclude_special_tokens=False
    )
    assert not accepts(with_marks, "<think>")
    assert accepts(without, "<think>")


def test_parameters_that_are_not_enforced():
    loose = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}, "strict": False}}
    for tool in (OTHER, loose):
        tag = xgr.get_model_structural_tag("hermes", [tool])
        assert tag.format.tags[0].content.json_schema is True


def test_names_are_written_so_that_they_read_back():
    name = 'quo"te\\ <b> é$index$name'
    tool = {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}
    call = json.dumps({"name": name, "arguments": {}}, ensure_ascii=False)
    tag = xgr.get_model_structural_tag("hermes", [tool], tool_choice="required")
    assert accepts(tag, f"<tool_call>\n{call}\n</tool_call>")
    tag = xgr.get_model_structural_tag("kimi", [tool], tool_choice="required", reasoning=False)
    assert accepts(
        tag,
        f"<|tool_calls_section_begin|><|tool_call_begin|>functions.{name}:0<|tool_call_argument_begin|>{{}}"
        "<|tool_call_end|><|tool_calls_section_end|>",
    )


def test_normalize_tool_choice():
    normalize = xgr.normalize_tool_choice
    functions, builtins, choice = normalize([TOOL, OTHER, BUILTIN])
    assert [tool.function.name for tool in functions] == ["add", "now"]
    assert [tool.name for tool in builtins] == ["browser.search"]
    assert choice == "auto"
    assert normalize() == ([], [], "auto")
    assert normalize([TOOL], None)[2] == "auto"
    assert normalize([TOOL], "none") == ([], [], "auto")
    assert normalize([TOOL], "required")[2] == "required"
    functions, builtins, choice = normalize([TOOL, OTHER, BUILTIN], named("now"))
    assert ([tool.function.name for tool in functions], builtins, choice) == (["now"], [], "forced")
    functions, builtins, choice = normalize([TOOL, BUILTIN], {"type": "web_search_preview"})
    assert (functions, [tool.type for tool in builtins], choice) == ([], ["web_search_preview"], "forced")
    functions, builtins, choice = normalize(
        [TOOL, OTHER, BUILTIN], allowed("required", named("add"), {"type": "web_search_preview"})
    )
    assert ([tool.function.name for tool in functions], len(builtins), choice) == (["add"], 1, "required")


@pytest.mark.parametrize(
    ("tools", "choice", "message"),
    [
        ([], "required", "list is empty"),
        ((TOOL,), "auto", "must be a list"),
        ([TOOL], named("nope"), "'nope' is not found"),
        ([TOOL, TOOL], named("add"), "exactly one tool"),
        ([TOOL], {"type": "web_search_preview"}, "exactly one builtin tool, got 0"),
        (
            [TOOL],
            allowed("auto", named("add"), named("now")),
            r"^tool_choice\.allowed_tools\.tools\[1\]: the function tool 'now' is not found in the tools list",
        ),
        (
            [TOOL],
            allowed("auto", {"type": "x"}),
            r"allowed_tools\.tools\[0\]: the builtin tool 'x' is not found",
        ),
        ([TOOL], "sometimes", "sometimes"),
        ([{"function": 3}], "auto", "validation error"),
    ],
)
def test_choices_that_the_tools_do_not_allow(tools, choice, message):
    with pytest.raises(ValueError, match=message):
        xgr.normalize_tool_choice(tools, choice)


def test_wrong_arguments():
    with pytest.raises(ValueError, match="Unknown format type: gpt_7"):
        xgr.get_model_structural_tag("gpt_7")
    for reasoning in ("maybe", None, 2, []):
        with pytest.raises(ValueError, match="'reasoning' argument must be"):
            xgr.get_model_structural_tag("qwen_3", reasoning=reasoning)
    with pytest.raises(ValueError, match="only built-in tools"):
        xgr.get_model_structural_tag("qwen_3", [BUILTIN], "required")
    with pytest.raises(ValueError, match="exactly one tool"):
        xgr.get_model_structural_tag("qwen_3", [BUILTIN], {"type": "web_search_preview"})


def test_register():
    @xgr.register_model_structural_tag("ours")
    def build(functions, builtins, choice, reasoning, **options):
        assert options == {
            "any_order": False,
            "exclude_special_tokens": True,
            "max_whitespace_cnt": None,
            "parallel_tool_calls": False,
        }
        value = f"{functions[0].function.name} {len(builtins)} {choice} {reasoning}"
        return xgr.StructuralTag(format={"type": "const_string", "value": value})

    try:
        tag = xgr.get_model_structural_tag(
            "ours", [TOOL], "required", reasoning=False, parallel_tool_calls=False
        )
        assert tag.format.value == "add 0 required disabled"
    finally:
        tool_calling.registry.BUILDERS.pop("ours")


COMMON = (
    "(tools=None, builtin_tools=None, tool_choice='auto', reasoning={!r}, any_order=False, "
    "exclude_special_tokens=True, max_whitespace_cnt=None, parallel_tool_calls=True, **kwargs)"
)


def bare(function):
    signature = inspect.signature(function)
    empty = inspect.Parameter.empty
    parameters = [parameter.replace(annotation=empty) for parameter in signature.parameters.values()]
    return str(signature.replace(parameters=parameters, return_annotation=empty))


@pytest.mark.parametrize("model", sorted(XGRAMMAR))
def test_functions_of_the_families(model):
    function = getattr(builtin_structural_tag, f"get_{model}_structural_tag")
    assert bare(function) == COMMON.format("auto" if model == "minimax_m3" else "enabled")
    assert xgr.get_model_structural_tag(model, reasoning="auto") == function(reasoning="auto", unknown=1)


def test_signatures():
    assert bare(xgr.get_model_structural_tag) == (
        "(model, tools=None, tool_choice='auto', reasoning='enabled', force_reasoning=False, any_order=False, "
        "exclude_special_tokens=True, max_whitespace_cnt=None, parallel_tool_calls=True, *, on_impossible_tool=None)"
    )
    assert bare(xgr.normalize_tool_choice) == "(tools=None, tool_choice='auto')"
    assert bare(xgr.register_model_structural_tag) == "(name)"
    assert xgr.get_builtin_structural_tag is xgr.get_model_structural_tag


FIELDS = {
    "FunctionDefinition": {"name": ..., "description": None, "parameters": None, "strict": None},
    "FunctionToolParam": {"type": "function", "function": ...},
    "BuiltinToolParam": {"type": ..., "name": None, "parameters": None},
    "NamedToolChoiceFunction": {"name": ...},
    "NamedToolChoiceParam": {"type": "function", "function": ...},
    "BuiltinToolChoiceParam": {"type": ..., "name": None},
    "AllowedToolRef": {"type": ..., "function": None, "name": None},
    "AllowedToolsParam": {"mode": ..., "tools": ...},
    "AllowedToolChoiceParam": {"type": "allowed_tools", "allowed_tools": ...},
}


@pytest.mark.parametrize("name", FIELDS)
def test_models_of_tools(name):
    model = getattr(openai_tool_call_schema, name)
    found = {key: ... if field.is_required() else field.default for key, field in model.model_fields.items()}
    assert found == FIELDS[name]


def test_names_of_tools():
    assert set(openai_tool_call_schema.__all__) == {*FIELDS, "ToolParam", "ToolChoiceOptionParam"}


@pytest.mark.parametrize(
    ("family", "name"),
    [
        ("harmony", "a to=functions.z<|message|>{}<|call|>"),
        ("harmony", "a b"),
        ("kimi", "a<|tool_call_argument_begin|>{}<|tool_call_end|>"),
        ("kimi_k3", "a<|sep|>b"),
        ("deepseek_v3_1", "a<\uff5ctool▁call▁end\uff5c>"),
        ("mistral", "a[TOOL_CALLS]b"),
        ("gemma_4", "a<tool_call|>b"),
    ],
)
def test_names_that_read_as_marks_are_refused(family, name):
    tool = {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}
    with pytest.raises(xgr.InvalidArgumentError, match=r"tools\[0\].function.name"):
        xgr.get_model_structural_tag(family, [tool])


def test_a_tool_that_is_none_is_told_by_its_place():
    with pytest.raises(ValueError, match="Field required") as caught:
        xgr.get_model_structural_tag("qwen_3", [TOOL, {"type": "function"}, OTHER])
    assert caught.value.__notes__ == ["This is about tools[1]."]


@pytest.mark.parametrize("parallel", [True, False])
def test_stop_tokens_of_harmony_end_its_messages(parallel):
    """The tokens that gpt-oss ends calls and answers with are stop tokens of its tokenizer."""
    marks = ["<|call|>", "<|return|>", "<|end|>"]
    tokens = [*map(chr, range(32, 127)), *marks]
    stops = [tokens.index(mark) for mark in marks[:2]]
    compiler = xgr.GrammarCompiler(xgr.TokenizerInfo(tokens, stop_token_ids=stops))
    tag = xgr.get_model_structural_tag("harmony", [TOOL], parallel_tool_calls=parallel)
    matcher = xgr.GrammarMatcher(compiler.compile_structural_tag(tag))
    mask = xgr.allocate_token_bitmask(1, len(tokens))
    texts = ["commentary to=functions.add<|constrain|>json<|message|>{}", "final<|message|>It is three."]
    for text, stop in zip(texts, stops, strict=True):
        matcher.reset()
        assert matcher.accept_string(f"<|channel|>{text}")
        matcher.fill_next_token_bitmask(mask)
        allowed = xgr.testing.bitmask_to_bool_mask(mask, len(tokens))[0]
        assert [token for token in stops if allowed[token]] == [stop]
        assert matcher.accept_token(stop)
        assert matcher.is_terminated()


def messages_of_harmony(letters):
    """Return what a model writes: thoughts, answers and calls, one for each letter."""
    texts = {
        "t": "<|channel|>analysis<|message|>why<|end|>",
        "f": "<|channel|>final<|message|>hi<|return|>",
        "c": "<|channel|>commentary to=functions.add<|constrain|>json<|message|>{}<|call|>",
        "d": " to=functions.now<|channel|>commentary json<|message|>{}<|call|>",
    }
    return "<|start|>assistant".join(texts[letter] for letter in letters)


@pytest.mark.parametrize("parallel", [True, False])
@pytest.mark.parametrize("reasoning", ["enabled", "disabled"])
@pytest.mark.parametrize("choice", ["auto", "required", "forced"])
def test_all_orders_of_messages_of_harmony(choice, reasoning, parallel):
    tag = xgr.get_model_structural_tag(
        "harmony",
        [TOOL, OTHER],
        named("add") if choice == "forced" else choice,
        reasoning,
        parallel_tool_calls=parallel,
    )
    compiled = xgr.Grammar.from_structural_tag(tag)
    once = choice == "forced" or not parallel
    known = ("c" if choice == "forced" else "cd") + ("f" if choice == "auto" else "")
    known += "t" if reasoning == "enabled" else ""
    for length in range(5):
        for letters in map("".join, itertools.product("tfcd", repeat=length)):
            calls = letters.count("c") + letters.count("d")
            fits = set(letters) <= set(known) and (choice == "auto" or calls > 0)
            fits &= not once or calls == 0 or (calls == 1 and letters[-1] in "cd")
            text = messages_of_harmony(letters)
            assert xgr.testing._is_grammar_accept_string(compiled, text) == fits, letters


@pytest.mark.parametrize("model", FAMILIES)
def test_a_tag_is_as_long_as_its_tools(model):
    """No choice makes a family write its tools down more often than any other does."""

    def count(choice, reasoning, parallel):
        tag = xgr.get_model_structural_tag(model, [tool], choice, reasoning, parallel_tool_calls=parallel)
        return tag.model_dump_json().count('"just_here"')

    properties = {"just_here": {"type": "string"}}
    tool = TOOL | {"function": {"name": "add", "parameters": {"properties": properties}}}
    counts = {
        count(*asked)
        for asked in itertools.product(["auto", "required"], ["enabled", "disabled", "auto"], [True, False])
    }
    assert len(counts) == 1
    assert counts.pop() <= 3


REQUIRED = [
    pytest.param(case, id=f"{path.stem}-{case['name']}")
    for path, case in cases()
    if json.loads(case["arguments"]).get("tool_choice") == "required"
]


@pytest.mark.parametrize("case", REQUIRED)
def test_outputs_that_end_with_their_calls(case):
    """Calls that must come may come as before, and no text comes after them."""
    tag = end_with_calls(StructuralTag.from_json(case["structural_tag"]))
    for text in case["accept"]:
        assert accepts(tag, text), text
        assert not accepts(tag, f"{text} And that is it."), text
    assert not any(accepts(tag, text) for text in [*case["partial"], *case["reject"], ""])


def test_calls_one_after_another():
    tag = end_with_calls(
        tool_calling.get_model_structural_tag("qwen_3", [TOOL, OTHER], "required", reasoning=False)
    )
    add, now = (
        f'<tool_call>\n{{"name": "{name}", "arguments": {{}}}}\n</tool_call>' for name in ("add", "now")
    )
    assert all(accepts(tag, text) for text in (add, add + now, f"{add}\n{now}\n{add}"))
    assert not any(accepts(tag, text) for text in (f"{add}\n", f"Well, {add}", f"{add} and {now}"))


@pytest.mark.parametrize("most", [1, 2, MOST_CALLS])
def test_the_number_of_calls_is_bounded(most):
    tag = end_with_calls(
        tool_calling.get_model_structural_tag("qwen_3", [TOOL], "required", reasoning=False), most
    )
    call = '<tool_call>\n{"name": "add", "arguments": {}}\n</tool_call>'
    assert accepts(tag, "\n".join([call] * most))
    assert not accepts(tag, "\n".join([call] * (most + 1)))


def test_calls_that_are_repeated():
    marks = [call_marks("qwen_3", name) for name in ("add", "now")]
    add, now = (
        f'<tool_call>\n{{"name": "{name}", "arguments": {{"x": 1, "y": 2}}}}\n</tool_call>'
        for name in ("add", "now")
    )
    swapped = add.replace('"x": 1, "y": 2', '"y": 2, "x": 1')
    other = add.replace("1", "3")
    assert without_repeats(f"{add}\n{now}\n{other}", marks) == f"{add}\n{now}\n{other}"
    assert without_repeats(f"{add}\n{add}\n{now}", marks) == f"{add}\n\n{now}"
    assert without_repeats(f"{add}\n{swapped}\n{add}", marks) == add
    assert without_repeats("no call", marks) == "no call"


@pytest.mark.parametrize("choice", ["auto", "none"])
def test_calls_that_need_not_come_leave_room_for_text(choice):
    tag = tool_calling.get_model_structural_tag("qwen_3", [TOOL], choice, reasoning=False)
    assert end_with_calls(tag) == tag


IMPOSSIBLE = {
    "type": "object",
    "properties": {"x": {"type": "integer", "enum": ["1", "2"]}},
    "required": ["x"],
}


def two_tools():
    return [
        {
            "type": "function",
            "function": {"name": "fine", "parameters": {"type": "object", "properties": {}}},
        },
        {"type": "function", "function": {"name": "broken", "parameters": IMPOSSIBLE}},
    ]


@pytest.mark.parametrize("model", ["qwen_3", "qwen_3_5", "llama", "kimi", "deepseek_v3_2", "minimax"])
def test_an_impossible_tool_is_named(model):
    tag = tool_calling.get_model_structural_tag(model, two_tools())
    with pytest.raises(xgr.InvalidStructuralTagError) as raised:
        xgr.Grammar.from_structural_tag(tag)
    assert "broken" in str(raised.value)
    assert "/properties/x/enum" in str(raised.value)
    with pytest.raises(
        xgr.InvalidStructuralTagError, match=r"tools\[1\], 'broken', cannot be called.*/x/enum"
    ):
        tool_calling.get_model_structural_tag(model, two_tools(), on_impossible_tool="error")


@pytest.mark.parametrize("choice", ["auto", "required"])
@pytest.mark.parametrize("model", ["qwen_3", "harmony", "kimi_k3", "mistral"])
def test_an_impossible_tool_is_left_out(model, choice):
    with pytest.warns(UserWarning, match=r"tools\[1\], 'broken', .*it is left out") as warned:
        tag = tool_calling.get_model_structural_tag(
            model, two_tools(), choice, "disabled", on_impossible_tool="drop"
        )
    assert warned[0].filename == __file__
    alone = tool_calling.get_model_structural_tag(model, two_tools()[:1], choice, "disabled")
    assert tag == alone
    xgr.Grammar.from_structural_tag(tag)


def test_an_impossible_tool_that_must_be_called_stays_an_error():
    named = {"type": "function", "function": {"name": "broken"}}
    with pytest.raises(xgr.InvalidStructuralTagError, match="'broken', cannot be called"):
        tool_calling.get_model_structural_tag("qwen_3", two_tools(), named, on_impossible_tool="drop")
    with (
        pytest.warns(UserWarning, match="left out"),
        pytest.raises(xgr.InvalidArgumentError, match="none of the tools can be called"),
    ):
        tool_calling.get_model_structural_tag(
            "qwen_3", two_tools()[1:], "required", on_impossible_tool="drop"
        )
    with pytest.raises(xgr.InvalidArgumentError, match="'error', 'drop' or None"):
        tool_calling.get_model_structural_tag("qwen_3", two_tools(), on_impossible_tool="skip")


def test_the_function_of_a_family_takes_reasoning_as_a_mode_or_a_bool():
    build = builtin_structural_tag.get_qwen_3_structural_tag
    assert build(reasoning=True) == build(reasoning="enabled")
    assert build(reasoning=False) == build(reasoning="disabled")
    with pytest.raises(ValueError, match="'reasoning' argument"):
        build(reasoning="always")
