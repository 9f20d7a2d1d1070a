"""Pages of the catalogue: one a kind of part, each figure with its unit, source and confidence."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any

from text import code, html, plain, sources, table

from bomgen.catalog.files import KINDS, Catalog, Record
from bomgen.core import schema
from bomgen.fabric.types import describe_topologies, topologies
from bomgen.workflow import catalog_listing

WORDS = {
    "gpu": "GPUs and accelerators",
    "server": "Servers",
    "nic": "NICs",
    "switch": "Switches",
    "transceiver": "Modules",
    "cable": "Cables",
    "appliance": "Appliances",
    "accessory": "Accessories, licences and support",
    "storage": "Storage systems",
    "rack": "Racks",
    "pdu": "PDUs",
    "panel": "Patch panels",
    "connection": "Connection rules",
    "model": "Models",
    "run": "Published runs",
}
HEADS = ("Figure", "Value", "Confidence", "Source", "Note")


def pages() -> Iterator[tuple[str, str]]:
    """The page of each kind, of the topologies, and the one that leads to them, by their paths."""
    catalog = Catalog()
    yield "catalog/index.md", _index(catalog)
    yield "catalog/topology.md", _topologies()
    for kind in KINDS:
        yield f"catalog/{kind}.md", _kind(catalog, kind)


def _index(catalog: Catalog) -> str:
    rows = "".join(f"| [{WORDS[kind]}]({kind}.md) | `{kind}` | {len(catalog.ids(kind))} |\n" for kind in KINDS)
    return (
        "# Catalogue\n\nWhat bomgen knows of parts, models, published runs and rules. Every figure names the document "
        "that it was read in and how sure it is: high (the maker's own document), medium (a reseller, a standard's "
        "secondary source), low (nobody looked it up, or sources disagree). `bomgen catalog KIND NAME` prints the "
        "same; [extending.md](../extending.md) says how a part is added.\n\n"
        f"| | kind | entries |\n|---|---|--:|\n{rows}| [Topologies](topology.md) | `topology` "
        f"| {len(topologies())} |\n"
    )


def _topologies() -> str:
    parts = ["# Topologies\n\nWhat `topology:` of a fabric may be.\n"]
    for each in describe_topologies():
        parts.append(f"## {each.name}\n\n{plain(each.limits)}.\n\n{code(each.drawing, 'text')}")
        if each.options:
            rows = (
                (f"<code>{key}</code>", html(schema["description"]))
                for key, schema in each.options["properties"].items()
            )
            parts.append(f"Under `{each.name}:` of a fabric:\n\n{table(('Key', 'Meaning'), rows)}")
    return "\n".join(parts)


def _kind(catalog: Catalog, kind: str) -> str:
    described = _described(kind)
    listed = (
        (
            f'<a href="#{record.id}">{escape(record.id)}</a>',
            html(str(record.value("name"))),
            html(catalog_listing.summary(record)),
        )
        for record in catalog.all(kind)
    )
    parts = [
        f"# {WORDS[kind]}\n\n{plain(described.get('description', ''))}\n",
        table(("Id", "Name", "In short"), listed),
        *(_part(record, described.get("properties", {})) for record in catalog.all(kind)),
    ]
    return "\n".join(parts)


def _described(kind: str) -> dict[str, Any]:
    return schema.document(kind if kind in ("model", "run", "connection") else f"part/{kind}")


def _part(record: Record, keys: dict[str, Any]) -> str:
    rows = [row for key, raw in record.data.items() if key not in ("sources", "name") for row in _rows(key, raw, keys)]
    listed = sources(record.data.get("sources") or {})
    named = (record.value("vendor"), record.value("part_number"), *(record.value("aliases") or ()))
    found = ", ".join(dict.fromkeys(plain(str(each)) for each in (record.id, *named) if each))
    return f"## {plain(str(record.value('name')))} {{#{record.id}}}\n\n{found}\n\n{table(HEADS, rows)}\n{listed}"


def _rows(path: str, raw: Any, keys: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """A row for each figure at a key and below it."""
    if isinstance(raw, dict) and "value" in raw:
        names = raw.get("source", [])
        cited = ", ".join([names] if isinstance(names, str) else names)
        shown = _shown(raw["value"], keys.get(path.partition(".")[0], {}))
        yield (
            f"<code>{escape(path)}</code>",
            shown,
            str(raw.get("confidence", "")),
            html(cited),
            html(str(raw.get("note") or "")),
        )
    elif isinstance(raw, dict):
        for key, value in raw.items():
            yield from _rows(f"{path}.{key}", value, {})
    elif isinstance(raw, list) and any(isinstance(item, dict) for item in raw):
        for at, item in enumerate(raw):
            yield from _rows(f"{path}.{at}", item, {})
    else:
        yield f"<code>{escape(path)}</code>", _shown(raw, keys.get(path, {})), "", "", ""


def _shown(value: Any, described: dict[str, Any]) -> str:
    if value is None:
        return "not known"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return html(", ".join(str(item) for item in value))
    if isinstance(value, dict):
        return html(", ".join(f"{key} {below}" for key, below in value.items()))
    unit = described.get("x-unit", "")
    bare = isinstance(value, int | float) and unit not in ("", "count", "ratio", "share")
    return html(f"{value if isinstance(value, str) else _grouped(value)}{f' {unit}' if bare else ''}")


def _grouped(value: Any) -> str:
    return f"{value if isinstance(value, int) else float(value):,}".replace(",", " ")
