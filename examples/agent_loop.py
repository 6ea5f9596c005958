"""An agent with tools: the model calls a function, gets its result, and answers.

The calls are held to the tools' schemas by a structural tag, so they can be run without checks.
"""

from __future__ import annotations

import json
from typing import Any

from tokenstile.engine import Engine, SamplingParams
from tokenstile.engine.models.loading import LoadedModel, load_model
from tokenstile.structured_output import StructuredOutputsParams
from tokenstile.tool_calling import get_model_structural_tag

DEGREES = {"Rome": 31, "Oslo": 12, "Cairo": 38}
TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": "get_temperature",
            "description": "Give the temperature in a city, in degrees.",
            "parameters": {
                "type": "object",
                "properties": {"city": {"enum": sorted(DEGREES)}},
                "required": ["city"],
                "additionalProperties": False,
            },
        },
    }
]


def get_temperature(city: str) -> int:
    """Do what the tool does."""
    return DEGREES[city]


def read_call(text: str) -> dict[str, Any]:
    """Read the call that a model of the family qwen_3 wrote."""
    body = text.partition("<tool_call>")[2].partition("</tool_call>")[0]
    call: dict[str, Any] = json.loads(body)
    return call


def main(model: LoadedModel | None = None) -> tuple[dict[str, Any], str]:
    """Ask, run the call, and let the model answer with its result."""
    model = model or load_model()
    question = "How warm is it in Oslo?"
    tag = get_model_structural_tag(
        "qwen_3", [*TOOLS], "required", reasoning=False, parallel_tool_calls=False
    ).model_dump_json()
    with Engine(model.model) as engine:
        written = engine.submit(
            model.prompt(question, tools=TOOLS),
            SamplingParams(max_tokens=120),
            structure=StructuredOutputsParams(structural_tag=tag),
        ).result()
        call = read_call(written.text)
        result = {"get_temperature": get_temperature}[call["name"]](**call["arguments"])
        told = f"{question} The function {call['name']} says: {result} degrees. Answer in one sentence."
        answer = engine.submit(model.prompt(told), SamplingParams(max_tokens=40, stop=("\n",))).result().text
    print(f"{question}\n-> {call}\n<- {result}\n{answer}")
    return call, answer


if __name__ == "__main__":
    main()
