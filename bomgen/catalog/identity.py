"""The identity of a record's part: id, names, numbers and availability."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from bomgen.catalog import parts
from bomgen.catalog.files import ACCESSORY, INLINE, REQUIRES, Record
from bomgen.core.messages import Message, message, record_text
from bomgen.core.provenance import Figure, Mark

SUPPLIES = "power_supplies"
DIGEST_BYTES = 3
"""Of a name that cannot be written in ASCII."""


def identity(record: Record, mark: Mark | None = None) -> parts.Identity:
    """The identity of a record's part; `mark` is the place in the plan that names it."""
    data = record.data
    described, name = record.id == INLINE, str(data.get("name", ""))
    part_number, ordering_number = record.value("part_number"), record.value("ordering_number")
    return parts.Identity(
        kind=record.kind,
        id=record.id,
        name=record_text(name, record.kind, record.id) if record.giver("name").built_in and name else name,
        vendor=data.get("vendor"),
        part_number=str(part_number) if part_number else None,
        ordering_number=str(ordering_number) if ordering_number else None,
        mark=mark or (record.source.mark(record.steps) if described else None),
        inline=described,
        generic=bool(data.get("generic", False)),
        availability=str(data.get("availability", parts.AVAILABLE)),
        availability_date=data.get("availability_date"),
        successor=data.get("successor"),
        category=str(data.get("category", ACCESSORY)) if record.kind == ACCESSORY else "",
        requires=tuple(_requirements(record)),
    )


def _requirements(record: Record) -> Iterator[parts.Requirement]:
    """What the record says that an order needs besides, and a cord for each of its power supplies."""
    giver = record.giver(REQUIRES)
    for at, each in enumerate(record.data.get(REQUIRES, ())):
        names, source = each.get("choose") or [each["part"]], each.get("source", ())
        yield parts.Requirement(
            parts=tuple(names),
            quantity=None if each.get("quantity", 1) is None else record.figure_or_one("quantity", REQUIRES, at),
            per=str(each.get("per", parts.PIECE)),
            references=giver.references([source] if isinstance(source, str) else source),
            mark=None if giver.built_in else record.source.mark((*record.steps, REQUIRES, at)),
        )
    supplies = record.value(SUPPLIES)
    if supplies and not supplies.get("cords_included"):
        pieces = record.figure("count", "count", SUPPLIES)
        cord = f"cord-{supplies['inlet']}"
        if isinstance(pieces, Figure):
            yield parts.Requirement((cord,), pieces, parts.PIECE, getattr(pieces.origin, "references", ()))


def unavailable_message(called: parts.Identity, kind: str, name: str | None = None) -> Message:
    """The statement that a part cannot be ordered: name its successor, or another `kind`.

    It is shown as `name`; without one by its part number or id.
    """
    name = name or called.part_number or called.id
    date = f" ({called.availability_date})" if called.availability_date else ""
    instead = message("name-another", kind=kind)
    if called.successor:
        instead = message("name-successor", part=called.successor)
    return message(f"part-{called.availability}", name=name, date=date, instead=instead)


def name_part(called: parts.Identity, description: str) -> parts.Identity:
    """The identity of a part; without a name of its own it is called "unnamed" and `description`."""
    name = called.name or f"unnamed {description}"
    if not called.inline:
        return called if called.name else called._replace(name=name)
    return called._replace(name=name, id=slug(name) or called.kind)


def slug(name: str) -> str:
    """A name as an id: letters of any script in lower case, digits and dots, hyphens for all else; empty for none."""
    return re.sub(r"(?:[^\w.]|_)+", "-", unicodedata.normalize("NFKC", name).lower()).strip("-")


def ascii_slug(name: str) -> str:
    """An id of ASCII alone, for files that know no others: of what it cannot write it has a digest instead."""
    from hashlib import blake2s

    written = slug(name)
    plain = re.sub(r"[^a-z0-9.-]+", "-", written).strip("-")
    digest = "" if written.isascii() else blake2s(written.encode(), digest_size=DIGEST_BYTES).hexdigest()
    return "-".join(part for part in (plain, digest) if part)
