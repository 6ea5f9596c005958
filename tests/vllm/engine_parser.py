"""A reasoning parser of vLLM's newer kind, with tokens of SmolLM2: thoughts end with a marker, or with a tool call."""

from __future__ import annotations

from vllm.parser.engine.adapters import ParserEngineReasoningAdapter
from vllm.parser.engine.events import EventType
from vllm.parser.engine.parser_engine import ParserEngine
from vllm.parser.engine.parser_engine_config import ParserEngineConfig, ParserState, Transition

START, END, CALL = "<repo_name>", "<file_sep>", "<reponame>"
CONFIG = ParserEngineConfig(
    name="thoughts and calls",
    terminals={"THINK_START": START, "THINK_END": END, "TOOL_START": CALL},
    token_id_terminals={"THINK_START": START, "THINK_END": END, "TOOL_START": CALL},
    transitions={
        (ParserState.CONTENT, "THINK_START"): Transition(ParserState.REASONING, (EventType.REASONING_START,)),
        (ParserState.REASONING, "THINK_END"): Transition(ParserState.CONTENT, (EventType.REASONING_END,)),
        (ParserState.REASONING, "TOOL_START"): Transition(
            ParserState.TOOL_ARGS, (EventType.REASONING_END, EventType.TOOL_CALL_START)
        ),
    },
    initial_state=ParserState.REASONING,
)


class Engine(ParserEngine):
    def __init__(self, tokenizer, tools=None, **options):
        super().__init__(tokenizer, tools, parser_engine_config=CONFIG, **options)


class Reasoner(ParserEngineReasoningAdapter):
    _parser_engine_cls = Engine
