"""Extract an invoice from a letter, as data with checked types and ranges."""

from __future__ import annotations

import json
from typing import Any

from tokenstile.engine import Engine, SamplingParams
from tokenstile.engine.models.loading import LoadedModel, load_model
from tokenstile.structured_output import StructuredOutputsParams

LETTER = """\
Dear customer, thank you for your order of 3 lamps at 40.00 each and 1 desk at 250.00.
Please pay the total of 370.00 EUR by 2026-04-30. Invoice number INV-2041. Nordic Light Ltd."""

QUESTION = (
    'Extract the invoice as JSON: {"number": ..., "due": ..., "currency": ..., '
    '"lines": [{"item": ..., "quantity": ..., "price": ...}], "total": ...}.'
)

LINE = {
    "type": "object",
    "properties": {
        "item": {"type": "string", "minLength": 1, "maxLength": 20},
        "quantity": {"type": "integer", "minimum": 1, "maximum": 999},
        "price": {"type": "number", "minimum": 0, "maximum": 99999},
    },
    "required": ["item", "quantity", "price"],
    "additionalProperties": False,
}
INVOICE = {
    "type": "object",
    "properties": {
        "number": {"type": "string", "pattern": "^INV-[0-9]{4}$"},
        "due": {"type": "string", "format": "date"},
        "currency": {"enum": ["EUR", "USD"]},
        "lines": {"type": "array", "items": LINE, "minItems": 1, "maxItems": 3},
        "total": {"type": "number", "minimum": 0, "maximum": 99999},
    },
    "required": ["number", "due", "currency", "lines", "total"],
    "additionalProperties": False,
}


def main(model: LoadedModel | None = None) -> dict[str, Any]:
    """Ask the model, and read what it wrote."""
    model = model or load_model()
    with Engine(model.model) as engine:
        text = engine.submit(
            model.prompt(f"{QUESTION}\n\n{LETTER}"),
            SamplingParams(max_tokens=300),
            structure=StructuredOutputsParams(json=INVOICE),
        ).result()
    invoice: dict[str, Any] = json.loads(text.text)
    print(json.dumps(invoice, indent=2))
    return invoice


if __name__ == "__main__":
    main()
