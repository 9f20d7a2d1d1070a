"""Binding of the storage block of a plan: demand, levels, and the parts of the storage system.

A system of several parts, such as servers and boxes of flash with switches between them, is completed: what its vendor
ships with the parts that the plan names is added, and where there is a choice, the plan has to make it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from bomgen.catalog import part_records, parts, switch_records
from bomgen.catalog.files import Catalog, UnknownPart
from bomgen.catalog.identity import slug
from bomgen.core.diagnostics import Problem
from bomgen.core.messages import message
from bomgen.core.provenance import Cited, Figure, Mark
from bomgen.core.units import parse
from bomgen.plan.binding.fabrics import plug_of
from bomgen.plan.binding.section import PlanSection
from bomgen.plan.types import Storage, StorageLevel, StorageServers

STORAGE_SERVER = "storage server"
"""The name of a storage server without one."""
STATED = {
    **{"capacity_bytes": "capacity", "read": "read", "write": "write", "ports": "ports"},
    **{"power_w": "power", "rack_units": "rack_units", "weight_kg": "weight"},
}
"""The figures of a storage system that a plan may state, with their keys."""
PARTS = "storage.servers"
"""The plan key of the parts of the storage system."""


def storage(section: PlanSection) -> Storage:
    """Return the storage of the plan, with assumptions about interruptions where it gives none."""
    assumption = section.catalog.assumption
    published = assumption("interruption-gpu-hours-low"), assumption("interruption-gpu-hours-high")
    return Storage(
        **section.keys(Storage),
        mark=section.mark if section.data else section.source.mark(()),
        given=bool(section.data),
        dataset_bytes=section.figure("dataset"),
        levels=_storage_levels(section.catalog),
        unit_servers=assumption("storage-unit-servers"),
        server_gpus=assumption("storage-server-gpus"),
        interruption_range=None if section.has("interruption_gpu_hours") else published,
        restart_days=section.setting("restart"),
        servers=_complete(_named_parts(section), section),
    )


STORAGE_FIGURES = {
    "read_of_server": "storage-server-read",
    "write_of_server": "storage-server-write",
    "read_of_four_units": "storage-units-read",
    "write_of_four_units": "storage-units-write",
}
"""The messages that name the figures of a level."""


def _storage_levels(catalog: Catalog) -> dict[str, StorageLevel]:
    record = catalog.find("assumption", "storage-bandwidth")
    references, confidence = record.references(list(record.data["source"])), str(record.data["confidence"])

    def cited(level: str, key: str) -> Figure:
        of = message(STORAGE_FIGURES[key], level=level)
        return Figure(parse(record.value("value", level, key), "bytes/s"), "bytes/s", Cited(of, references, confidence))

    return {level: StorageLevel(*(cited(level, key) for key in StorageLevel._fields)) for level in record.data["value"]}


def _named_parts(storage: PlanSection) -> Iterator[StorageServers]:
    value = storage.data.get("servers")
    listed = storage.below("servers")
    entries = [(listed, at) for at in range(len(value))] if isinstance(value, list) else [(storage, "servers")]
    seen = set[str]()
    for parent, key in entries:
        part = _named_part(parent, key)
        if part and part.identity.id in seen:
            parent.problem(key, f"{part.identity.name} is listed twice; list it once, with a `count`", "duplicate")
        elif part:
            seen.add(part.identity.id)
            yield part


def _named_part(parent: PlanSection, key: str | int) -> StorageServers | None:
    """Return a part of the storage system: from the catalogue, with the plan's values overriding it, or described."""
    section, by_id = parent.below(key), isinstance(parent.value(key), str)
    named = parent.part(key, "storage", part_records.storage_system) if by_id else None
    if section.has("part"):
        named = section.part("part", "storage", part_records.storage_system)
    if named is None and (by_id or section.has("part") or not section.data):
        return None
    mark = section.mark if key == "servers" and not by_id else parent.value_mark(key)
    part = _of_system(named or _described_system(section), mark, section)
    nic = section.part("nic", "nic", part_records.nic)
    stated: dict[str, Any] = {field: section.figure(key) or getattr(part, field) for field, key in STATED.items()}
    return part._replace(**stated, pieces=section.figure("count"), plug=plug_of(nic) if nic else part.plug)


def _described_system(section: PlanSection) -> parts.StorageSystem:
    name = section.text("name") or STORAGE_SERVER
    identity = parts.Identity(
        kind="storage",
        id=slug(name) or slug(STORAGE_SERVER),
        name=name,
        vendor=section.text("vendor"),
        part_number=section.text("part_number"),
        mark=section.mark,
        inline=True,
    )
    return parts.StorageSystem(identity=identity)


def _of_system(system: parts.StorageSystem, mark: Mark, section: PlanSection) -> StorageServers:
    """Return units of a storage system, as many as are needed."""
    ports = system.ports or section.catalog.assumption("storage-server-ports")
    shared = {field: value for field, value in system._asdict().items() if field in StorageServers._fields}
    return StorageServers(mark=mark, **shared | {"ports": ports if ports.value else None, "plug": plug_of(system)})


def _complete(named: Iterator[StorageServers], storage: PlanSection) -> tuple[StorageServers, ...]:
    """Return the parts with those that complete their systems: partners without a choice, and the back-end switches."""
    units = list(named)
    for part in units:
        for partner in part.partners:
            if {unit.identity.id for unit in units}.isdisjoint(partner.parts):
                units += _partner(part, partner, storage)
    shared = {part.back_end.switch: part for part in reversed(units) if part.back_end}
    units += [switch for id in sorted(shared) if (switch := _back_end_switch(shared[id], storage))]
    return tuple(units)


def _partner(part: StorageServers, partner: parts.Partner, storage: PlanSection) -> Sequence[StorageServers]:
    """Return the part that completes the system of another; none, with a problem noted, if the plan has to choose."""
    if len(partner.parts) > 1:
        choice = " or ".join(f"{{part: {id}}}" for id in partner.parts)
        text = f"{part.identity.name} is no complete storage system; add {choice} to `{PARTS}`"
        storage.problems.append(Problem(part.mark, "error", text, "incomplete-storage", PARTS))
        return ()
    try:
        system = storage.catalog.build_part("storage", partner.parts[0], part_records.storage_system)
    except UnknownPart as error:
        text = f"{part.identity.name} is completed by an unknown part: {error}"
        storage.problems.append(Problem(part.mark, "error", text, "unknown-part", PARTS))
        return ()
    return (_of_system(system, part.mark, storage)._replace(added=True),)


def _back_end_switch(part: StorageServers, storage: PlanSection) -> StorageServers | None:
    """Return the switches between the parts of a system; None, with a problem noted, if the catalogue has none."""
    if part.back_end is None:
        return None
    try:
        switch = storage.catalog.build_part("switch", part.back_end.switch, switch_records.switch)
    except UnknownPart as error:
        text = f"the parts of {part.identity.name} are joined by an unknown switch: {error}"
        storage.problems.append(Problem(part.mark, "error", text, "unknown-part", PARTS))
        return None
    return StorageServers(
        mark=part.mark,
        identity=switch.identity,
        power_w=switch.power_w,
        rack_units=switch.rack_units,
        weight_kg=switch.weight_kg,
        supplies=switch.supplies,
        back_end=part.back_end,
        switch_ports=max(switch.groups, key=lambda group: group.port_gbps.value).ports,
        added=True,
    )
