"""What is to be written for a prompt, and how."""

from dataclasses import dataclass
from typing import Any

from tokenstile.engine import Completion, SamplingParams
from tokenstile.engine.models.loading import LoadedModel
from tokenstile.exceptions import InvalidArgumentError
from tokenstile.structured_output import StructuredOutputsParams

__all__ = ["Job", "completion_fields"]


@dataclass(frozen=True)
class Job:
    """The options of ``tokenstile generate`` that hold for all its prompts."""

    params: SamplingParams
    structure: StructuredOutputsParams | None
    system: str | None
    tools: list[dict[str, Any]]
    is_raw: bool
    complete_in_time: bool = True
    tool_family: str = ""
    """The family whose calls are asked for, where there are tools."""

    def shown(self, text: str) -> str:
        """Give an output as people see it: no call of a tool comes twice."""
        if not self.tools:
            return text
        from tokenstile.tool_calling.reading import call_marks, without_repeats  # noqa: PLC0415 - it needs Pydantic

        try:
            marks = [call_marks(self.tool_family, tool["function"]["name"]) for tool in self.tools]
        except InvalidArgumentError:
            # Calls of this family are no JSON, and are given as they came.
            return text
        return without_repeats(text, marks)

    def prompt(self, loaded: LoadedModel, text: str) -> str:
        """Give the prompt as the model reads it."""
        return text if self.is_raw else loaded.prompt(text, system=self.system, tools=self.tools)


def completion_fields(answer: Completion, job: Job) -> dict[str, Any]:
    """Give a text for JSON."""
    return {
        "text": job.shown(answer.text),
        "finish_reason": answer.finish_reason.value,
        **({"length_reason": answer.length_reason} if answer.length_reason else {}),
        "num_prompt_tokens": answer.num_prompt_tokens,
        "num_tokens": len(answer.token_ids),
    }
