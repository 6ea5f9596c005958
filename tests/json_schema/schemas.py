"""Random schemas and random instances, as strategies of hypothesis.

Keys, strings and numbers come from small pools, so that what one keyword asks for meets what another one forbids.
`sketches` draws instances that lean on a schema, and are often valid and often nearly so; `values` draws any others.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

KEYS = ["a", "b", "c", "é", ""]
STRINGS = ["", "a", "b", "ab", "abc", "ba", "cab", "é", "aé", '"', "\\", "\n", "2024-02-29", "1.2.3.4", "😀"]
NUMBERS = [0, 1, -1, 2, 3, 6, 10, -10, 100, 0.5, 1.5, -0.25, 2.0, 1e3, 10**20]
PATTERNS = ["^a", "b$", "^[a-c]+$", "a.c", "", "^$", "é", "[^a]", "^(?!b)", "^.{2}$"]
FORMATS = ["date", "ipv4", "unknown"]
TYPES = ["null", "boolean", "integer", "number", "string", "array", "object"]
MAX_DEPTH = 3

keys = st.sampled_from(KEYS)
strings = st.sampled_from(STRINGS)
numbers = st.sampled_from(NUMBERS)
counts = st.integers(0, 3)
scalars = st.one_of(st.none(), st.booleans(), numbers, strings)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=8,
)


def _optional(**entries: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Draw a few of the entries."""
    names = st.lists(st.sampled_from(sorted(entries)), min_size=1, max_size=3, unique=True)
    return names.flatmap(lambda chosen: st.fixed_dictionaries({name: entries[name] for name in chosen}))


def _evenly(*kinds: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Draw from one of the kinds, each as likely as the others however many branches it has."""
    return st.sampled_from(kinds).flatmap(lambda kind: kind)


def _leaves() -> st.SearchStrategy[Any]:
    bounds = st.sampled_from([-10, -1, 0, 1, 2.5, 3, 10, 100])
    return st.one_of(
        st.booleans(),
        st.sampled_from(TYPES).map(lambda name: {"type": name}),
        st.lists(st.sampled_from(TYPES), min_size=1, max_size=3, unique=True).map(lambda t: {"type": t}),
        values.map(lambda value: {"const": value}),
        st.lists(values, min_size=1, max_size=4).map(lambda items: {"enum": items}),
        _optional(
            minimum=bounds,
            maximum=bounds,
            exclusiveMinimum=bounds,
            exclusiveMaximum=bounds,
            multipleOf=st.sampled_from([1, 2, 3, 10, 0.5, 0.25, 0.1, 1.5]),
        ),
        _optional(
            minLength=counts,
            maxLength=counts,
            pattern=st.sampled_from(PATTERNS),
            format=st.sampled_from(FORMATS),
            type=st.just("string"),
        ),
    )


def _arrays(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return _optional(
        items=inner,
        prefixItems=st.lists(inner, min_size=1, max_size=3),
        minItems=counts,
        maxItems=counts,
        uniqueItems=st.booleans(),
        contains=inner,
        minContains=counts,
        maxContains=counts,
        unevaluatedItems=inner,
        type=st.just("array"),
    )


def _objects(inner: st.SearchStrategy[Any], same: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    names = st.lists(keys, max_size=2, unique=True)
    return _optional(
        properties=st.dictionaries(keys, inner, max_size=3),
        required=names,
        additionalProperties=inner,
        patternProperties=st.dictionaries(st.sampled_from(PATTERNS), inner, max_size=2),
        propertyNames=inner,
        minProperties=counts,
        maxProperties=counts,
        dependentRequired=st.dictionaries(keys, names, max_size=2),
        dependentSchemas=st.dictionaries(keys, same, max_size=2),
        unevaluatedProperties=inner,
        type=st.just("object"),
    )


def _applicators(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    some = st.lists(inner, min_size=1, max_size=3)
    condition = st.fixed_dictionaries({"if": inner}, optional={"then": inner, "else": inner})
    return st.one_of(
        some.map(lambda parts: {"allOf": parts}),
        some.map(lambda parts: {"anyOf": parts}),
        some.map(lambda parts: {"oneOf": parts}),
        inner.map(lambda part: {"not": part}),
        condition,
    )


def _siblings(parts: list[Any]) -> Any:
    """Join schemas into one; of keywords that several have, the first is taken."""
    joined: dict[str, Any] = {}
    for part in parts:
        if not isinstance(part, dict):
            return parts[0]
        joined = {**part, **joined}
    return joined


def _schemas(depth: int, references: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    if depth == 0:
        return _leaves()
    inner = st.deferred(lambda: _schemas(depth - 1, references) | references)
    same = _schemas(depth - 1, st.nothing())
    single = _evenly(_leaves(), _arrays(inner), _objects(inner, same), _applicators(same))
    return st.lists(single, min_size=1, max_size=3).map(_siblings)


def _with_definitions(parts: tuple[Any, Any, Any]) -> Any:
    schema, first, second = parts
    return {**schema, "$defs": {"x": first, "y": second}} if isinstance(schema, dict) else schema


# References only stand where the value is another one (items, properties), so that every schema means something.
_references = st.sampled_from(["#", "#/$defs/x", "#/$defs/y"]).map(lambda target: {"$ref": target})
plain_schemas = _schemas(MAX_DEPTH, st.nothing())
schemas = plain_schemas | st.tuples(
    _schemas(MAX_DEPTH, _references), _schemas(1, _references), _schemas(1, _references)
).map(_with_definitions)
object_schemas = st.builds(
    lambda properties, required, more: {
        "type": "object",
        "properties": properties,
        "required": required,
        **more,
    },
    st.dictionaries(keys, _leaves(), max_size=4),
    st.lists(keys, max_size=2, unique=True),
    _optional(
        additionalProperties=_leaves(), minProperties=counts, maxProperties=counts, propertyNames=_leaves()
    ),
)


@st.composite
def sketches(draw: st.DrawFn, schema: Any, root: Any = None, depth: int = 5) -> Any:
    """Draw an instance that leans on a schema, without a promise."""
    root = schema if root is None else root
    if not isinstance(schema, dict) or depth == 0:
        return draw(values)
    parts = [schema[name] for name in ("not", "then", "else", "if") if name in schema]
    parts += [part for name in ("allOf", "anyOf", "oneOf") for part in schema.get(name, [])]
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        parts.append(root if name == "#" else root["$defs"][name])
    if parts and draw(st.booleans()):
        return draw(sketches(draw(st.sampled_from(parts)), root, depth - 1))
    finite = [schema["const"]] if "const" in schema else schema.get("enum")
    if finite:
        return draw(st.sampled_from(finite))
    kind = _kind(draw, schema)
    if kind in SKETCHES:
        return SKETCHES[kind](draw, schema, root, depth)
    pools = {"string": strings, "number": numbers, "integer": st.sampled_from([0, 1, 2, 3, 6, 10, -10])}
    return draw(pools.get(kind, scalars))


def _kind(draw: st.DrawFn, schema: dict[str, Any]) -> str:
    if "type" in schema:
        named = schema["type"]
        return draw(st.sampled_from(named)) if isinstance(named, list) else named
    hints = {
        "object": ("ropert", "required", "dependent"),
        "array": ("tems", "ontains"),
        "string": ("Length", "pattern", "format"),
        "number": ("imum", "multipleOf"),
    }
    for kind, fragments in hints.items():
        if any(fragment in keyword for keyword in schema for fragment in fragments):
            return kind
    return "any"


def _sketch_object(draw: st.DrawFn, schema: dict[str, Any], root: Any, depth: int) -> dict[str, Any]:
    properties = schema.get("properties", {})
    others = schema.get("additionalProperties", schema.get("unevaluatedProperties", True))
    names = [name for name in properties if name in schema.get("required", ()) or draw(st.booleans())]
    names += schema.get("required", [])
    names += draw(st.lists(keys, max_size=2))
    return {
        name: draw(sketches(properties.get(name, others), root, depth - 1)) for name in dict.fromkeys(names)
    }


def _sketch_array(draw: st.DrawFn, schema: dict[str, Any], root: Any, depth: int) -> list[Any]:
    first = schema.get("prefixItems", [])
    rest = [schema.get("items", schema.get("unevaluatedItems", True)), schema.get("contains", True)]
    length = draw(st.integers(schema.get("minItems", 0), 4))
    parts = [first[at] if at < len(first) else draw(st.sampled_from(rest)) for at in range(length)]
    return [draw(sketches(part, root, depth - 1)) for part in parts]


SKETCHES = {"object": _sketch_object, "array": _sketch_array}
