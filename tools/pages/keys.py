"""Reference pages made of schemas: every key with its type, default, unit, meaning and examples."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from text import as_yaml, code, plain, under

from bomgen.core.resources import folder
from bomgen.plan import schema

PLAN = "reference/plan"
APART = {
    "#/$defs/fabric": ("fabrics", "fabrics.NAME"),
    "#/$defs/model": ("model", "model"),
    "#/$defs/training": ("workload", "workload.training"),
    "#/$defs/parallelism": ("parallelism", "parallelism"),
    **{f"#/$defs/{kind}Part": (f"../parts/{kind}", kind) for kind in ("gpu", "server", "nic", "switch", "rack", "pdu")},
}
"""What several keys hold has its own page and place there."""
PARTS = {
    "gpu": "GPU",
    "server": "Server",
    "nic": "NIC",
    "switch": "Switch",
    "transceiver": "Module",
    "cable": "Cable",
    "appliance": "Appliance",
    "rack": "Rack",
    "pdu": "PDU",
    "panel": "Patch panel",
}
ONE_PAGE = ("bomgen", "name", "title", "extends", "catalog", "templates", "stock", "spares", "operation")
"""Keys of a plan that are too short for pages of their own."""
KINDS = {
    "object": "mapping",
    "array": "list",
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "null": "nothing",
}


class Reference:
    """The keys of one schema as Markdown."""

    def __init__(self, root: dict[str, Any], apart: dict[str, tuple[str, str]]) -> None:
        self.root = root
        self.apart = apart

    def resolved(self, entry: dict[str, Any]) -> dict[str, Any]:
        """An entry with what it refers to laid below it."""
        while "$ref" in entry:
            target: Any = self.root
            for step in entry["$ref"].removeprefix("#/").split("/"):
                target = target[step]
            entry = {**target, **{key: value for key, value in entry.items() if key != "$ref"}}
        return entry

    def key(self, path: str, entry: dict[str, Any], needed: bool, depth: int) -> Iterator[str]:
        """The section of a key, and those of the keys below it."""
        yield f"{'#' * min(depth, 6)} {plain(path)} {{#{path}}}\n"
        whole = self.resolved(entry)
        yield f"{self._facts(whole, needed)}\n"
        yield f"{plain(str(whole.get('description', whole.get('title', ''))))}\n"
        if whole.get("examples"):
            yield self._examples(path.rpartition(".")[2], whole["examples"])
        place = next((place for ref in self._references(entry) for place in [self.apart.get(ref)] if place), None)
        if place and place[1] != path:
            yield f"Its keys: [{plain(place[1])}]({place[0]}.md#{place[1]}).\n"
            return
        yield from self.below(path, whole, depth)

    def below(self, path: str, whole: dict[str, Any], depth: int) -> Iterator[str]:
        """The sections of the keys below an entry that was resolved."""
        for at, inner in self._inner(path, whole):
            required = inner.get("required", ())
            for key, entry in inner.get("properties", {}).items():
                yield from self.key(f"{at}.{key}" if at else key, entry, key in required, depth + 1)
            open_ended = inner.get("additionalProperties")
            if isinstance(open_ended, dict) and (
                open_ended.get("properties") or "$ref" in open_ended or "title" in open_ended
            ):
                if self.apart.get(open_ended.get("$ref", "")) and f"{at}.NAME" != self.apart[open_ended["$ref"]][1]:
                    continue
                described = {"description": f"What stands under each name in {at}.", **open_ended}
                yield from self.key(f"{at}.NAME", described, False, depth + 1)

    def _inner(self, path: str, whole: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
        yield path, whole
        then = whole.get("then")
        if (
            isinstance(then, dict)
            and ("properties" in then or "$ref" in then)
            and not self.apart.get(then.get("$ref", ""))
        ):
            yield path, self.resolved(then)
        items = whole.get("items")
        if isinstance(items, dict):
            resolved = self.resolved(items)
            if resolved.get("properties"):
                yield f"{path}[]", resolved

    def _references(self, entry: dict[str, Any]) -> Iterator[str]:
        for data in (entry, entry.get("then"), entry.get("items")):
            if isinstance(data, dict) and "$ref" in data:
                yield data["$ref"]

    def _facts(self, whole: dict[str, Any], needed: bool) -> str:
        """Type, unit, limits and default in a line."""
        kinds = whole.get("type", [])
        names = [KINDS[kind] for kind in ([kinds] if isinstance(kinds, str) else kinds)]
        facts = [" or ".join(names)] if names else []
        if "enum" in whole:
            facts.append("one of " + ", ".join(f"`{_word(word)}`" for word in whole["enum"]))
        if "const" in whole:
            facts.append(f"always `{_word(whole['const'])}`")
        if whole.get("x-unit"):
            facts.append(f"in {whole['x-unit']}")
        for key, word in (
            ("minimum", "at least"),
            ("exclusiveMinimum", "more than"),
            ("maximum", "at most"),
            ("exclusiveMaximum", "less than"),
        ):
            if key in whole:
                facts.append(f"{word} {whole[key]}")
        if "default" in whole:
            facts.append(f"default `{_word(whole['default'])}`")
        if needed:
            facts.append("**required**")
        return f"*{'; '.join(facts)}*" if facts else ""

    def _examples(self, key: str, examples: list[Any]) -> str:
        named = key.removesuffix("[]")
        if all(not isinstance(each, dict | list) for each in examples):
            return f"Examples: {', '.join(f'`{_word(each)}`' for each in examples)}\n"
        return "\n".join(code(under(named, each), "yaml") for each in examples)


def _word(value: Any) -> str:
    return as_yaml(value) if not isinstance(value, dict | list) else json.dumps(value, ensure_ascii=False)


def pages() -> Iterator[tuple[str, str]]:
    """The reference of plans, of parts, and of results, by path."""
    plan = schema.document("plan")
    reference = Reference(plan, APART)
    yield f"{PLAN}/index.md", _plan_index(plan, reference)
    for key, entry in plan["properties"].items():
        if key not in ONE_PAGE:
            sections = "\n".join(reference.key(key, entry, key in plan["required"], 2))
            yield f"{PLAN}/{key}.md", f"# {entry['title']}\n\n{sections}"
    for key in ("model", "parallelism"):
        entry = plan["$defs"][key]
        sections = "\n".join(reference.key(key, entry, False, 2))
        yield f"{PLAN}/{key}.md", f"# {entry['title']}\n\n{sections}"
    for kind, title in PARTS.items():
        part = schema.document(f"part/{kind}")
        sections = "\n".join(Reference(part, {}).key(kind, part, False, 2))
        told = (
            f"# {title}: keys of a part\n\nThe keys of `parts/{kind}/ID.yaml` in a folder that a plan names with "
            f"`catalog:`, and of a mapping where a plan would name a {kind}. Figures may carry where they were read: "
            f"`{{value: ..., source: [...], confidence: high}}`.\n\n{sections}"
        )
        yield f"reference/parts/{kind}.md", told
    bom = json.loads((folder("schemas") / "bom.schema.json").read_text(encoding="utf-8"))
    told = (
        "# bom.json\n\nEvery path of the result, which `bomgen explain` takes and templates see. "
        "`bomgen schema bom` prints the schema.\n\n"
    )
    yield "reference/bom.md", told + "\n".join(Reference(bom, {}).below("", bom, 1))


def _plan_index(plan: dict[str, Any], reference: Reference) -> str:
    rows = []
    for key, entry in plan["properties"].items():
        target = f"#{key}" if key in ONE_PAGE else f"{key}.md"
        rows.append(f"| [`{key}`]({target}) | {plain(entry['description'])} |")
    short = "\n".join(
        line
        for key, entry in plan["properties"].items()
        if key in ONE_PAGE
        for line in reference.key(key, entry, key in plan["required"], 2)
    )
    return (
        "# Plan\n\nEvery key of a plan. Quantities may carry a unit (`30 m`, `400G`, `20 days`, `1.4T`, `50%`); bare "
        "numbers are in the unit that stands at the key. This reference is made of the schema that checks plans: "
        "`bomgen schema plan` prints it for editors.\n\n| key | |\n|---|---|\n" + "\n".join(rows) + "\n\nShared by "
        "several keys: [model](model.md), [parallelism](parallelism.md), and the keys of "
        + ", ".join(f"[{title}](../parts/{kind}.md)" for kind, title in PARTS.items())
        + f".\n\n{short}"
    )
