"""JSON Schema errors as problems at their line and column."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import islice
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import extend

from bomgen.core.diagnostics import MAX_PROBLEMS, Problem
from bomgen.core.messages import message, suggestion
from bomgen.core.resources import BrokenInstallation, folder, text
from bomgen.core.safety import quote
from bomgen.core.units import minor_units
from bomgen.core.yaml_source import Path, Source

Documents = Callable[[str], dict[str, Any]]
"""A function that returns the schema of a name."""
MAX_QUOTED = 40
"""Characters of the user's text that a message repeats."""
LEAST_PERCENT = 2
"""Shares from here on are assumed to be meant as percentages."""
CURRENCY = "currency"
"""The unit of currency codes."""
_CODE = re.compile("[A-Z]{3}")
MAX_SHOWN = 12
"""Maximum number of keys that a message lists."""


SUFFIX = ".schema.json"
PARTS = "part/"
"""What the names of schemas of parts begin with."""
SHARED = "../part-definitions.json"
"""Where the schemas of parts find the definitions that they share."""
REFERENCE = "$ref"
ONLY_IN_FILES = ("$schema", "x-required")
"""What the schema of a part has that a part described in a plan does not."""


@cache
def document(name: str) -> dict[str, Any]:
    """Return the schema `name` (`plan`, `bom`, `part/gpu`, ...), with all definitions that it refers to.

    The schemas of parts share definitions; a part that a plan describes is described as in its own file.
    Raises FileNotFoundError for another name.
    """
    schema = _read(name + SUFFIX)
    if name.startswith(PARTS):
        shared = _read(f"{PARTS}{SHARED}")["$defs"]
        for key, described in schema["properties"].items():
            if described.keys() == {REFERENCE}:  # a key that parts of several kinds have
                schema["properties"][key] = shared[described[REFERENCE].rpartition("/")[2]]
        return schema | {"$defs": _used_by(schema, shared)}
    for key, definition in schema.get("$defs", {}).items():
        reference = definition.get(REFERENCE, "")
        if reference.startswith(PARTS):
            part = document(reference.removesuffix(SUFFIX))
            fields = {field: value for field, value in part["properties"].items() if field != "replace"}
            part = {field: value for field, value in part.items() if field not in ONLY_IN_FILES}
            schema["$defs"][key] = as_definition(key, part | {"properties": fields})
    return schema


def as_definition(key: str, schema: Any) -> Any:
    """Return a schema as the definition `key` of another one, with its references to its own definitions there."""
    if isinstance(schema, list):
        return [as_definition(key, item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: value.replace("#", f"#/$defs/{key}", 1) if name == REFERENCE else as_definition(key, value)
        for name, value in schema.items()
    }


def _used_by(schema: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    used = set[str]()
    pending = [schema]
    while pending:
        names = {reference.rpartition("/")[2] for reference in _references(pending.pop())} - used
        used |= names
        pending.extend(definitions[name] for name in names)
    return {name: definition for name, definition in definitions.items() if name in used}


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        for name, value in schema.items():
            if name == REFERENCE:
                yield value
            else:
                yield from _references(value)
    elif isinstance(schema, list):
        for item in schema:
            yield from _references(item)


def _read(file: str) -> dict[str, Any]:
    path = folder("schemas") / file
    if not path.is_file():
        raise FileNotFoundError(str(path))
    try:
        schema: dict[str, Any] = json.loads(text(path).replace(f"{SHARED}#", "#"))
    except ValueError as error:
        raise BrokenInstallation(f"{path} is not valid JSON: {error}") from None
    return schema


def _pattern(_: Validator, pattern: str, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    """Check a pattern as JSON Schema defines it: `$` is the end of the text; in Python also before a final line end."""
    if isinstance(instance, str) and not re.search(re.sub(r"\$$", r"\\Z", pattern), instance):
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


def _unit(_: Validator, unit: str, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    """Check that a text in the form of a currency code is one; other units are read when a plan is bound."""
    if unit == CURRENCY and isinstance(instance, str) and _CODE.fullmatch(instance) and instance not in minor_units():
        yield ValidationError(f"{instance!r} is not a currency")


_Validator: Any = extend(Draft202012Validator, {"pattern": _pattern, "x-unit": _unit})  # type: ignore[no-untyped-call]


def check_schema(source: Source, name: str, documents: Documents = document) -> list[Problem]:
    """Return the violations of the schema `name` in a source, in file order; at most the first `MAX_PROBLEMS`."""
    errors = _Validator(documents(name)).iter_errors(source.data)
    problems = list(islice((problem for error in errors for problem in _problems(error, source)), MAX_PROBLEMS))
    return sorted(set(problems), key=lambda problem: (problem.mark.line, problem.mark.column, problem.message))


def newer(source: Source, key: str, what: str, format: int, rule: str) -> Problem | None:
    """Return the problem that a source has a format later than `format`, by its key; None otherwise.

    This program cannot judge the rest of a later format, so call this before `check`.
    """
    version = source.data.get(key) if isinstance(source.data, dict) else None
    if not isinstance(version, int) or version <= format:
        return None
    text = f"{what} of format {str(version)[:MAX_QUOTED]}, but this bomgen reads format {format}; install a newer one"
    return Problem(source.mark((key,)), "error", text, rule, key)


def _problems(error: ValidationError, source: Source) -> Iterator[Problem]:
    """Yield the problems of one schema error: of several alternatives, those of the one that matched furthest."""
    if error.context:
        deepest = max(len(inner.absolute_path) for inner in error.context)
        if deepest > len(error.absolute_path):
            for inner in error.context:
                if len(inner.absolute_path) == deepest:
                    yield from _problems(inner, source)
            return
    path: Path = tuple(error.absolute_path)
    properties = _properties(error)
    wanted: Any = error.validator_value
    dotted = ".".join(str(step) for step in path)
    instance: Any = error.instance
    if error.validator == "additionalProperties":
        allowed = list(properties)
        for key in instance:
            if key not in allowed:
                shown = [*allowed[:MAX_SHOWN], *(["..."] if len(allowed) > MAX_SHOWN else [])]
                right = suggestion(key, allowed, message("valid-keys", key=", ".join(shown) or "none"))
                unknown = message("unknown-key", key=quote(key), remedy=right)
                yield Problem(source.key_mark((*path, key)), "error", unknown, "unknown-key", dotted)
        return
    if error.validator == "required":
        for key in wanted:
            if key not in instance:
                where = f" in {dotted}" if dotted else ""
                hint = _purpose(properties.get(key, {}))
                text = f"the key '{key}' is missing{where}; {hint}"
                yield Problem(source.key_mark(path), "error", text, "missing-key", dotted)
        return
    if error.validator == "oneOf" and not isinstance(instance, dict):
        return  # a value that is not a mapping has its own error
    text, rule, *fixes = _explained(error)
    mark = source.key_mark(path) if error.validator == "propertyNames" else source.mark(path)
    yield Problem(mark, "error", text, rule, dotted, fixes=tuple(fixes))


def _properties(error: ValidationError) -> dict[str, Any]:
    schema: Any = error.schema
    return dict(schema.get("properties", {})) if isinstance(schema, dict) else {}


def _purpose(described: Any) -> str:
    """Return the purpose of a missing key, from its schema if it has one: its title and an example."""
    if not isinstance(described, dict):
        return "it is required"
    examples = described.get("examples") or ([described["const"]] if "const" in described else [])
    example = f", for example {_shown(examples[0])}" if examples and not isinstance(examples[0], dict | list) else ""
    return f"{_first_clause(described)}{example}"


def _first_clause(described: dict[str, Any]) -> str:
    text = str(described.get("description") or described.get("title") or "it is required")
    text = text.partition(". ")[0].rstrip(".")
    return f"{text[:1].lower()}{text[1:]}"


def _explained(error: ValidationError) -> tuple[str, ...]:
    """Return the message and the rule of an error, and values that would be right."""
    value, described = _shown(error.instance), error.schema if isinstance(error.schema, dict) else {}
    wanted: Any = error.validator_value
    match error.validator:
        case "type":
            names = [wanted] if isinstance(wanted, str) else wanted
            types = [message(f"type-{name}") for name in names]
            if error.instance is None:
                return message("empty-value" if error.absolute_path else "empty-file", expected=types), "type"
            return message("wrong-type", id=value, kind=_kind(error.instance), expected=types), "type"
        case "enum":
            words = [_shown(word) for word in wanted]
            others = message("one-of-words", key=", ".join(words))
            hint = suggestion(str(error.instance).lower(), [str(word) for word in wanted], others)
            return message("invalid-value", id=value, remedy=hint), "value"
        case "anyOf" if all("const" in choice or "type" in choice for choice in wanted):
            return f"{value} is not valid here; write {_either([_alternative(choice) for choice in wanted])}", "value"
        case "const":
            return f"{value} is not valid here; write {_shown(wanted)}", "value"
        case "minimum" | "exclusiveMinimum":
            fixes = [str(wanted)] if error.validator == "minimum" else []
            return message("too-small" if fixes else "too-small-open", id=value, limit=str(wanted)), "range", *fixes
        case "maximum" | "exclusiveMaximum":
            number: Any = error.instance
            if described.get("x-unit") == "share" and number >= LEAST_PERCENT:
                return message("too-large-share", id=value), "range", f"{value}%"
            fixes = [str(wanted)] if error.validator == "maximum" else []
            return message("too-large" if fixes else "too-large-open", id=value, limit=str(wanted)), "range", *fixes
        case "minProperties" if not _properties(error) or wanted != described.get("maxProperties"):
            return "an empty mapping; add at least one key", "empty"
        case "maxProperties" if wanted > 1:
            many: Any = error.instance
            return f"a mapping of {len(many)} keys; use at most {wanted}", "range"
        case "maxProperties" | "minProperties" | "oneOf":
            choices = wanted if error.validator == "oneOf" else ()
            allowed = [key for choice in choices for key in choice.get("required", ())] or list(_properties(error))
            instance: Any = error.instance
            present = [key for key in instance if key in allowed]
            return f"{' and '.join(present) or 'none'} given; give exactly one of {', '.join(allowed)}", "one-of"
        case "maxItems" | "minItems" if error.instance:
            listed: Any = error.instance
            word = "at least" if error.validator == "minItems" else "at most"
            return f"a list of {len(listed)} entries; use {word} {wanted}", "range"
        case "uniqueItems":
            items: Any = error.instance
            twice = next(item for index, item in enumerate(items) if item in items[:index])
            return f"{_shown(twice)} is duplicated in this list; remove one", "twice"
        case "maxLength":
            return f"{value} is too long; at most {wanted} characters", "range"
        case "minLength" | "minItems":
            return f"{value} is empty; give a value", "empty"
        case "x-unit":
            return f"{value} is not a currency; write a code of ISO 4217, such as USD", CURRENCY
        case "pattern" | "propertyNames":
            told = "description" in described or "title" in described
            expected = _first_clause(described) if told else f"text of the form {wanted}"
            return f"{value} is not valid; expected: {expected}", "pattern"
        case _:
            return error.message, str(error.validator)


def _alternative(schema: dict[str, Any]) -> str:
    """Describe one of several alternatives: its one value, or its type and minimum."""
    if "const" in schema:
        return _shown(schema["const"])
    least = f" of at least {schema['minimum']}" if "minimum" in schema else ""
    return message(f"type-{schema['type']}") + least


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return quote(value, MAX_QUOTED)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    return "nothing" if value is None else str(float(value) if value % 1 else int(value))


def _kind(value: Any) -> str:
    if isinstance(value, dict | list):
        return message("kind-nested")
    return message(
        "type-string" if isinstance(value, str) else "kind-switch" if isinstance(value, bool) else "type-number"
    )


def _either(words: list[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} or {last}" if first else last
