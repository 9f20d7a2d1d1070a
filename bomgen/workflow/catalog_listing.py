"""The catalogue as text for the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bomgen.catalog import part_records
from bomgen.catalog.files import KINDS, Catalog, Record, named_length
from bomgen.core.diagnostics import PlanErrors
from bomgen.fabric import registry
from bomgen.fabric.declaration import Topology

WIDTH = 30
TOPOLOGY_WIDTH = 16
_OF_INTEREST = {
    "gpu": ("bf16_tflops", "memory", "power"),
    "server": ("gpu", "gpus", "nics", "power"),
    "nic": ("ports", "port_gbps", "cage"),
    "switch": ("ports", "port_gbps", "cage", "protocol"),
    "transceiver": ("rate_gbps", "optic", "reach", "cage"),
    "cable": ("kind", "rate_gbps"),
    "appliance": ("rack_units", "power"),
    "accessory": ("category", "cooling"),
    "rack": ("rack_units", "width_mm", "depth_mm", "weight"),
    "pdu": ("power", "rack_units", "weight"),
    "panel": ("ports", "connectors", "rack_units"),
    "connection": ("code", "confidence"),
    "model": ("parameters", "active_parameters", "layers", "hidden"),
    "run": ("active_parameters", "tokens", "gpu", "gpu_hours"),
}
"""What a list shows of each part of a kind."""


def kinds(catalog: Catalog) -> Iterator[str]:
    """A line for each kind of part, with how many there are."""
    for kind in KINDS:
        yield f"{kind:12} {len(catalog.ids(kind)):4}"
    yield f"{'topology':12} {len(registry.topologies()):4}"


def topologies_listed() -> Iterator[str]:
    """Each topology with its limits and a drawing."""
    for number, each in enumerate(registry.described()):
        if number:
            yield ""
        yield f"{each.name:{TOPOLOGY_WIDTH}} {each.limits}"
        yield ""
        yield from _drawn(each)


def topology(name: str) -> Iterator[str]:
    """All that a topology says of itself: limits, drawing, and what a plan may say of it."""
    found = registry.topology(name)
    yield f"topology {found.name}"
    yield f"  {found.limits}"
    yield ""
    yield from _drawn(found)
    if found.options:
        yield ""
        yield f"  under `{found.name}:` of a fabric"
        for key, schema in found.options["properties"].items():
            yield f"    {key:{TOPOLOGY_WIDTH}} {schema['description']}"


def _drawn(topology: Topology) -> Iterator[str]:
    return (f"  {line}".rstrip() for line in topology.drawing.splitlines())


def parts_of(catalog: Catalog, kind: str) -> Iterator[str]:
    """A line for each part of a kind: id, name and a few figures."""
    for record in catalog.all(kind):
        yield f"{record.id:{WIDTH}} {record.value('name')}  ({_summary(record)})"


def described(record: Record) -> str:
    """A part of the catalogue on one line: who makes it, and a few figures."""
    vendor = record.value("vendor")
    return ": ".join(text for text in (vendor and str(vendor), _summary(record)) if text)


def _summary(record: Record) -> str:
    """A few figures of a part, each with its name."""
    values = {key: record.value(key) for key in _OF_INTEREST[record.kind]} | _counted(record)
    return ", ".join(f"{key.replace('_', ' ')} {_plain(value)}" for key, value in values.items() if value is not None)


def part(catalog: Catalog, kind: str, name: str) -> Iterator[str]:
    """All that is known of one part: each figure with its confidence and sources, then the sources themselves.

    Raises UnknownPart when there is none.
    """
    record = catalog.find(kind, name)
    yield f"{kind} {record.id}"
    if length := named_length(record.id, name):
        yield f"  {'length':{WIDTH}} {float(length):g} m"
    for key, raw in (record.data | _counted(record)).items():
        if key != "sources":
            yield from _entry(key, raw, 1)
    if sources := record.data.get("sources"):
        yield "  sources"
        for id, source in sources.items():
            address = f"  {source['url']}" if "url" in source else ""
            yield f"    {id:{WIDTH - 2}} {source['title']}{address}"


def _counted(record: Record) -> dict[str, Any]:
    """What a model's record leaves to its shape: how many parameters there are, and how many are active."""
    if record.kind != "model":
        return {}
    try:
        model = part_records.model(record)
    except PlanErrors:
        return {}
    return {"parameters": model.parameters.value, "active_parameters": model.active_parameters.value}


def _entry(key: str, raw: Any, depth: int) -> Iterator[str]:
    label = f"{'  ' * depth}{key.replace('_', ' '):{WIDTH}}"
    if isinstance(raw, dict) and "value" in raw:
        names = raw.get("source", [])
        source = ", ".join([names] if isinstance(names, str) else names)
        note = f"  ({raw['note']})" if raw.get("note") else ""
        yield f"{label} {_plain(raw['value'])}  [{raw.get('confidence', 'given')}: {source}]{note}"
    elif isinstance(raw, dict):
        yield label.rstrip()
        for below, value in raw.items():
            yield from _entry(str(below), value, depth + 1)
    elif isinstance(raw, list) and raw and isinstance(raw[0], dict | str):
        yield label.rstrip()
        for item in raw:
            text = (
                ", ".join(f"{name} {_plain(value)}" for name, value in item.items()) if isinstance(item, dict) else item
            )
            yield f"{'  ' * (depth + 1)}- {text}"
    else:
        yield f"{label} {_plain(raw)}"


def _plain(value: Any) -> str:
    if value is None:
        return "not known"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(_plain(item) for item in value)
    if isinstance(value, dict):
        return _plain(value["value"]) if "value" in value else ", ".join(f"{k} {_plain(v)}" for k, v in value.items())
    return (
        value if isinstance(value, str) else f"{value if isinstance(value, int) else float(value):,}".replace(",", " ")
    )
