"""The identity of a record's part: id, names, numbers and availability."""

from __future__ import annotations

import re

from bomgen.catalog import parts
from bomgen.catalog.files import INLINE, Record
from bomgen.core.messages import record_text
from bomgen.core.provenance import Mark


def identity(record: Record, mark: Mark | None = None) -> parts.Identity:
    """The identity of a record's part; `mark` is the place in the plan that names it."""
    data = record.data
    described, name = record.id == INLINE, str(data.get("name", ""))
    part_number, ordering_number = record.value("part_number"), record.value("ordering_number")
    return parts.Identity(
        kind=record.kind,
        id=record.id,
        name=record_text(name, record.kind, record.id) if record.built_in and name else name,
        vendor=data.get("vendor"),
        part_number=str(part_number) if part_number else None,
        ordering_number=str(ordering_number) if ordering_number else None,
        mark=mark or (record.source.mark(record.steps) if described else None),
        inline=described,
        generic=bool(data.get("generic", False)),
        availability=str(data.get("availability", parts.AVAILABLE)),
    )


def name_part(called: parts.Identity, description: str) -> parts.Identity:
    """The identity of a part; without a name of its own it is called "unnamed" and `description`."""
    name = called.name or f"unnamed {description}"
    if not called.inline:
        return called if called.name else called._replace(name=name)
    return called._replace(name=name, id=slug(name) or called.kind)


def slug(name: str) -> str:
    """A name as an id: in lower case, every other character a hyphen; empty when nothing is left."""
    return re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-")
