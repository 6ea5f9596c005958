"""A small language of one's own: commands for a robot, with the grammar that its interpreter understands."""

from __future__ import annotations

from tokenstile.engine import Engine, SamplingParams
from tokenstile.engine.models.loading import LoadedModel, load_model
from tokenstile.structured_output import StructuredOutputsParams

GRAMMAR = r"""
root    ::= command ("\n" command){0,3} "\nstop"
command ::= "go " number | "turn " side | "repeat " [2-9] " { " command " }"
side    ::= "left" | "right"
number  ::= [1-9] [0-9]?
"""
PROMPT = """\
A robot knows these commands: go N, turn left, turn right, repeat N { command }, stop.
Let it go 3 steps, turn left, and go 2 steps."""


def run(program: str) -> tuple[int, int]:
    """Run a program, and give where the robot is in the end."""
    position, direction = 0j, 1j

    def execute(words: list[str]) -> None:
        nonlocal position, direction
        match words:
            case ["go", steps]:
                position += direction * int(steps)
            case ["turn", side]:
                direction *= 1j if side == "left" else -1j
            case ["repeat", times, "{", *body, "}"]:
                for _ in range(int(times)):
                    execute(body)
            case _:
                raise ValueError(f"not a command: {words}")

    for line in program.removesuffix("\nstop").splitlines():
        execute(line.split())
    return int(position.real), int(position.imag)


def main(model: LoadedModel | None = None) -> tuple[str, tuple[int, int]]:
    """Let the model write a program, and run it."""
    model = model or load_model()
    with Engine(model.model) as engine:
        written = engine.submit(
            model.prompt(PROMPT),
            SamplingParams(max_tokens=80),
            structure=StructuredOutputsParams(grammar=GRAMMAR),
        ).result()
    place = run(written.text)
    print(f"{written.text}\n-> {place}")
    return written.text, place


if __name__ == "__main__":
    main()
