"""Go through a file of texts, several at a time, and write a line of JSON for each.

The same is in the command: ``tokenstile generate --batch in.jsonl --output out.jsonl --schema review.json``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tokenstile.engine import Engine, SamplingParams
from tokenstile.engine.models.loading import LoadedModel, load_model
from tokenstile.structured_output import StructuredOutputsParams

REVIEW = {
    "type": "object",
    "properties": {"stars": {"enum": [1, 2, 3, 4, 5]}, "would_buy_again": {"type": "boolean"}},
    "required": ["stars", "would_buy_again"],
    "additionalProperties": False,
}


def main(source: Path, target: Path, model: LoadedModel | None = None) -> int:
    """Judge the review on each line of a file; gives the number of lines."""
    model = model or load_model()
    structure = StructuredOutputsParams(json=REVIEW)
    reviews = source.read_text(encoding="utf-8").splitlines()
    with Engine(model.model) as engine, target.open("w", encoding="utf-8") as file:
        requests = [
            engine.submit(
                model.prompt(f"Judge this review as JSON, with stars and would_buy_again: {review}"),
                SamplingParams(max_tokens=40),
                structure=structure,
            )
            for review in reviews
        ]
        for review, request in zip(reviews, requests, strict=True):
            judged = json.loads(request.result().text)
            file.write(json.dumps({"review": review, **judged}) + "\n")
    return len(reviews)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
