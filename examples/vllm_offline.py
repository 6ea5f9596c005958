"""Structured output in vLLM: with tokenstile installed beside it, vLLM's own parameters are all that is needed.

pip install vllm tokenstile
python examples/vllm_offline.py
"""

from __future__ import annotations

import json
from typing import Any

from vllm import LLM, SamplingParams
from vllm.sampling_params import StructuredOutputsParams

SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "minLength": 1, "maxLength": 20},
        "country": {"type": "string", "minLength": 1, "maxLength": 20},
    },
    "required": ["city", "country"],
    "additionalProperties": False,
}


def main(model: str = "HuggingFaceTB/SmolLM2-135M-Instruct") -> list[dict[str, Any]]:
    """Ask two questions in one batch."""
    llm = LLM(model)
    params = SamplingParams(
        temperature=0, max_tokens=80, structured_outputs=StructuredOutputsParams(json=SCHEMA)
    )
    prompts = ["The capital of France, as JSON: ", "The capital of Norway, as JSON: "]
    answers = [json.loads(output.outputs[0].text) for output in llm.generate(prompts, params)]
    print(answers)
    return answers


if __name__ == "__main__":
    main()
