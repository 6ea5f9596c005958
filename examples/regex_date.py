"""Read a date out of a sentence, in the one spelling that a program wants."""

from __future__ import annotations

from datetime import date

from tokenstile.engine import Engine, SamplingParams
from tokenstile.engine.models.loading import LoadedModel, load_model
from tokenstile.structured_output import StructuredOutputsParams

# Days up to 28, so that each of these dates exists; `tokenstile.grammars.iso_date` has all of them.
DATE = r"(19|20)\d\d-(0[1-9]|1[0-2])-(0[1-9]|1\d|2[0-8])"


def main(model: LoadedModel | None = None) -> date:
    """Ask for the date."""
    model = model or load_model()
    with Engine(model.model) as engine:
        written = engine.submit(
            model.prompt("When did Apollo 11 land on the moon? Answer as YYYY-MM-DD."),
            SamplingParams(max_tokens=20),
            structure=StructuredOutputsParams(regex=DATE),
        ).result()
    found = date.fromisoformat(written.text)
    print(found)
    return found


if __name__ == "__main__":
    main()
