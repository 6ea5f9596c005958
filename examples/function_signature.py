"""Call a Python function from a sentence: its signature is the schema of the arguments."""

from __future__ import annotations

import inspect
import json
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

from pydantic import ConfigDict, Field, create_model

from tokenstile.engine import Engine, SamplingParams
from tokenstile.engine.models.loading import LoadedModel, load_model
from tokenstile.structured_output import StructuredOutputsParams

if TYPE_CHECKING:
    from collections.abc import Callable


def set_light(room: Literal["kitchen", "bedroom"], percent: Annotated[int, Field(ge=0, le=100)]) -> str:
    """Make a light brighter or darker."""
    return f"the light in the {room} is at {percent} %"


def arguments_schema(function: Callable[..., object]) -> dict[str, Any]:
    """Give the JSON Schema of a function's arguments."""
    hints = get_type_hints(function, include_extras=True)
    fields: dict[str, Any] = {
        name: (hints[name], ... if parameter.default is parameter.empty else parameter.default)
        for name, parameter in inspect.signature(function).parameters.items()
    }
    model = create_model(function.__name__, __config__=ConfigDict(extra="forbid"), **fields)
    schema: dict[str, Any] = model.model_json_schema()
    return schema


def main(model: LoadedModel | None = None) -> str:
    """Let the model fill in the arguments, and call the function with them."""
    model = model or load_model()
    with Engine(model.model) as engine:
        written = engine.submit(
            model.prompt('"Set the bedroom light to 40 percent." Give room and percent as JSON.'),
            SamplingParams(max_tokens=60),
            structure=StructuredOutputsParams(json=arguments_schema(set_light)),
        ).result()
    done = set_light(**json.loads(written.text))
    print(f"{written.text}\n{done}")
    return done


if __name__ == "__main__":
    main()
