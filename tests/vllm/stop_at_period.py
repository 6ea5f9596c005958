"""A reasoning parser of vLLM's usual kind whose end of thinking is a full stop, so that a small model comes to it."""

from __future__ import annotations

from vllm.reasoning import ReasoningParserManager
from vllm.reasoning.basic_parsers import BaseThinkingReasoningParser


@ReasoningParserManager.register_module("stop_at_period")
class StopAtPeriod(BaseThinkingReasoningParser):
    start_token = "<repo_name>"  # noqa: S105 - a token of the vocabulary that no prompt has
    end_token = "."  # noqa: S105
