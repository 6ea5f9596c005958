"""Put messages into classes: the model can answer with one of them and nothing else."""

from __future__ import annotations

from tokenstile.engine import Engine, SamplingParams
from tokenstile.engine.models.loading import LoadedModel, load_model
from tokenstile.structured_output import StructuredOutputsParams

CLASSES = ("billing", "delivery", "praise", "other")
MESSAGES = (
    "You charged my card twice for the same order.",
    "My parcel should have been here on Monday.",
    "The best shop on the web, thank you all!",
)


def main(model: LoadedModel | None = None) -> dict[str, str]:
    """Classify all messages at once: the engine puts them into one batch."""
    model = model or load_model()
    question = f"Answer with one of these words: {', '.join(CLASSES)}. What is this message about?\n\n"
    with Engine(model.model) as engine:
        requests = {
            message: engine.submit(
                model.prompt(question + message),
                SamplingParams(max_tokens=10),
                structure=StructuredOutputsParams(choice=CLASSES),
            )
            for message in MESSAGES
        }
        answers = {message: request.result().text for message, request in requests.items()}
    for message, answer in answers.items():
        print(f"{answer:10} {message}")
    return answers


if __name__ == "__main__":
    main()
