"""Fill a Pydantic model: its schema goes in, an instance comes out."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from tokenstile.engine import Engine, SamplingParams
from tokenstile.engine.models.loading import LoadedModel, load_model
from tokenstile.structured_output import StructuredOutputsParams


class Book(BaseModel):
    """A book."""

    model_config = ConfigDict(extra="forbid")

    title: str = Field(min_length=1, max_length=40)
    author: str = Field(min_length=1, max_length=30)
    year: int = Field(ge=1400, le=2100)
    genre: Literal["novel", "poetry", "science"]


def main(model: LoadedModel | None = None) -> Book:
    """Ask for a book."""
    model = model or load_model()
    with Engine(model.model) as engine:
        written = engine.submit(
            model.prompt("Give title, author, year and genre of the novel Moby Dick as JSON."),
            SamplingParams(max_tokens=120),
            structure=StructuredOutputsParams(json=Book.model_json_schema()),
        ).result()
    book = Book.model_validate_json(written.text)
    print(repr(book))
    return book


if __name__ == "__main__":
    main()
