"""Identities of parts, the records of racks, PDUs and power supplies, and the facts that a quote says of a part."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction

from bomgen.catalog import parts
from bomgen.catalog.files import ACCESSORY, INLINE, REQUIRES, Record
from bomgen.core.messages import Message, message, record_text
from bomgen.core.provenance import Figure, Mark, formula
from bomgen.core.units import parse

CORDS = ("cord-c14", "cord-c20", "cord-c22")
"""The power cords of servers and switches, by the inlet of their power supplies."""
RAILS = "rack-rails"
IN_RACKS = ("server", "switch")
"""Kinds that need cords and rails, whether or not a record of the catalogue mentions any."""
DIGEST_BYTES = 3
"""Bytes of the digest in place of a name that ASCII cannot write."""


def identity(record: Record, mark: Mark | None = None) -> parts.Identity:
    """Return the identity of a record's part; `mark` is the place in the plan that names it."""
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
        facts=describe(record),
    )


def _requirements(record: Record) -> Iterator[parts.Requirement]:
    """Yield the parts that an order of a record's part also requires; the record says which of them are included."""
    giver, mentioned = record.giver(REQUIRES), set[str]()
    for at, required in enumerate(record.data.get(REQUIRES, ())):
        names, source = required.get("choose") or [required["part"]], required.get("source", ())
        mentioned.update(names)
        yield parts.Requirement(
            parts=tuple(names),
            quantity=None if required.get("quantity", 1) is None else record.figure_or_one("quantity", REQUIRES, at),
            per=str(required.get("per", parts.PIECE)),
            references=giver.references([source] if isinstance(source, str) else source),
            mark=None if giver.built_in else record.source.mark((*record.steps, REQUIRES, at)),
            included=required.get("included", None if required.get("confidence") == "low" else False),
        )
    in_rack = record.kind in IN_RACKS and not record.value("trays")  # a rack comes with its busbar
    if mentioned.isdisjoint(CORDS):
        if pieces := record.figure("count", "count", SUPPLIES):
            cord, references = f"cord-{record.value(SUPPLIES, 'inlet')}", getattr(pieces.origin, "references", ())
            included = record.data[SUPPLIES].get("cords_included")
            yield parts.Requirement((cord,), pieces, parts.PIECE, references, included=included)
        elif in_rack:
            yield parts.Requirement(CORDS, None, parts.PIECE, (), included=None)
    if record.built_in and in_rack and RAILS not in mentioned:
        yield parts.Requirement((RAILS,), None, parts.PIECE, (), included=None)


def unavailable_message(called: parts.Identity, kind: str, name: str | None = None) -> Message:
    """Return the statement that a part cannot be ordered, with the remedy: its successor, or another `kind`.

    It is shown as `name`; without one by its part number or id.
    """
    name = name or called.part_number or called.id
    date = f" ({called.availability_date})" if called.availability_date else ""
    instead = message("name-another", kind=kind)
    if called.successor:
        instead = message("name-successor", part=called.successor)
    return message(f"part-{called.availability}", name=name, date=date, instead=instead)


def name_part(called: parts.Identity, description: str) -> parts.Identity:
    """Return the identity of a part; one without a name is called "unnamed" and `description`."""
    name = called.name or f"unnamed {description}"
    if not called.inline:
        return called if called.name else called._replace(name=name)
    return called._replace(name=name, id=slug(name) or called.kind)


def slug(name: str) -> str:
    """Return a name as an id: lower-case letters of any script, digits, dots, else hyphens; may be empty."""
    return re.sub(r"(?:[^\w.]|_)+", "-", unicodedata.normalize("NFKC", name).lower()).strip("-")


def key_of(name: str) -> str:
    """Return a name as a key of the result: an id without dots, which separate the keys of a path."""
    return slug(name).replace(".", "-")


def ascii_slug(name: str) -> str:
    """Return an id in ASCII alone, for files that allow no other; a digest replaces what ASCII cannot write."""
    from hashlib import blake2s

    written = slug(name)
    plain = re.sub(r"[^a-z0-9.-]+", "-", written).strip("-")
    digest = "" if written.isascii() else blake2s(written.encode(), digest_size=DIGEST_BYTES).hexdigest()
    return "-".join(part for part in (plain, digest) if part)


# power supplies -----------------------------------------------------------------------------------------------------

_RATING = re.compile(r"(\d{1,3}) x (\d{1,6}(?:\.\d{1,3})? ?k?W)\b")
"""Number and rating of power supplies, as in `6 x 3.3 kW, 4+2`."""
MILLIMETRES_OF_A_METRE = 1000


@formula("m")
def metres_of(length_mm: int) -> Fraction:
    """Width or depth of a rack in metres."""
    return Fraction(length_mm) / MILLIMETRES_OF_A_METRE


def supplies(record: Record) -> parts.PowerSupplies | None:
    """Return the power supplies of a machine; None when the record lacks them.

    Raises PlanErrors when it needs more of them than it has.
    """
    count = record.figure("count", "count", SUPPLIES) if record.value(SUPPLIES) else None
    if count is None:
        return None
    needed = record.figure("needed", "count", SUPPLIES)
    if needed and needed.value > count.value:
        message = f"{needed.value} of {count.value} power supplies are needed; at most all of them"
        raise record.error(message, "range", SUPPLIES, "needed")
    return parts.PowerSupplies(count, needed, str(record.value(SUPPLIES, "inlet")))


def supply_capacity(record: Record) -> Figure | None:
    """Return the power [W] of the supplies that carry a machine; None when their rating is unknown.

    If it is not known how many carry it, they are all, but of two one is the spare, as of every switch of the catalogue
    that publishes its power.
    """
    rating = _RATING.match(str(record.value("psu") or ""))
    if rating is None:
        return None
    needed = record.figure("needed", "count", SUPPLIES) if record.value(SUPPLIES) else None
    count = needed.value if needed else 1 if rating[1] == "2" else int(rating[1])
    return Figure(parse(rating[2], "W") * count, "W", record.origin("psu"))


# facts ----------------------------------------------------------------------------------------------------------------

AIRFLOWS = ("P2C", "C2P")
"""The variants of part numbers that differ in their airflow: power to connector side, and the reverse."""
FORWARD = ("front to rear", "front to back")
"""The names of the usual direction of the air."""
OUTLETS = ("c13", "c19", "either")
INFINIBAND = "infiniband"
SUPPLIES = "power_supplies"
_KILO, _TERA, _GIGA = 10**3, 10**12, 10**9


def describe(record: Record) -> tuple[Message, ...]:
    """Return the facts about the part of a record: what it is, in the words of the trade, as a data sheet orders it."""
    return tuple(fact for facts in _FACTS.get(record.kind, ()) for fact in facts(record))


def airflow_of(record: Record) -> str | None:
    """Return the airflow of the part number that is ordered: the variant that it names, else that of the record."""
    variants, cooling = record.value("part_numbers") or {}, str(record.value("cooling"))
    ordered = (record.value("part_number"), record.value("ordering_number"))
    airflow: str | None = record.value("airflow")
    if parts.LIQUID in cooling and parts.AIR not in cooling:
        return parts.LIQUID
    return next((name for name in AIRFLOWS if variants.get(name) and variants[name] in ordered), airflow)


def describe_airflow(airflow: str) -> str:
    """Return the direction of the air through a switch; abbreviations of vendors are explained."""
    plain = airflow.partition(",")[0]
    known = {"P2C": "airflow-p2c", "C2P": "airflow-c2p", "both": "airflow-both", parts.LIQUID: "airflow-liquid"}
    known |= dict.fromkeys(FORWARD, "airflow-front-to-rear")
    return message(known[plain]) if plain in known else airflow


Facts = Callable[[Record], Iterator[Message]]


def _fact(code: str, parameter: str, key: str, unit: str, scale: int | None = 1) -> Facts:
    """Return a function that yields one figure of a record in multiples of `scale`; None: as a number of pieces."""

    def fact(record: Record) -> Iterator[Message]:
        if figure := record.figure(key, unit):
            yield message(code, **{parameter: figure.value if scale is None else _scaled(figure.value, scale)})

    return fact


def _memory(record: Record) -> Iterator[Message]:
    if memory := record.figure("memory", "bytes"):
        words = (_scaled(memory.value, _GIGA), "GB", record.value("memory_type"))
        yield message("fact-plain", text=" ".join(filter(None, words)))


def _cooling(record: Record) -> Iterator[Message]:
    cooling = str(record.value("cooling"))
    if parts.LIQUID in cooling or parts.AIR in cooling:
        yield message("fact-liquid-cooled" if parts.LIQUID in cooling else "fact-air-cooled")


def _text(key: str) -> Facts:
    return lambda record: (message("fact-plain", text=str(text)) for text in (record.value(key),) if text)


def _management(record: Record) -> Iterator[Message]:
    if record.value("protocol") == INFINIBAND:
        yield message("fact-unmanaged" if record.value("managed") is False else "fact-managed")
    if airflow := airflow_of(record):
        yield message("fact-airflow", direction=describe_airflow(airflow))


def _fibre(record: Record) -> Iterator[Message]:
    if connector := record.value("connector"):
        shown = re.sub("-(?=[AU]PC)", "/", str(connector).upper()).replace("-DUPLEX", " duplex")
        yield message("fact-plain", text=shown)
    if (fibre := record.value("fibre")) in ("multimode", "single-mode"):
        yield message(f"fact-{fibre}")


def _footprint(record: Record) -> Iterator[Message]:
    width, depth = record.figure("width_mm", "mm"), record.figure("depth_mm", "mm")
    if width and depth:
        yield message("fact-footprint", width=_scaled(width.value), depth=_scaled(depth.value))


def _outlets(record: Record) -> Iterator[Message]:
    for form in OUTLETS:
        outlets = record.figure(form, "count", "outlets", zero=True)
        if outlets and outlets.value:
            yield message("fact-outlets", count=outlets.value, form="C13/C19" if form == "either" else form.upper())


def _ports(record: Record) -> Iterator[Message]:
    """Yield the ports of a device by their rate, with the protocols that its record names."""
    counted = list[Message]()
    groups: list[tuple[str | int, ...]] = [("port_groups", at) for at in range(len(record.value("port_groups") or ()))]
    for above in groups or [()]:
        ports, rate = record.figure("ports", "count", *above, zero=True), record.figure("port_gbps", "Gb/s", *above)
        if ports and ports.value and rate:
            counted.append(message("fact-port-group", count=_scaled(ports.value), rate=_scaled(rate.value)))
    protocols = record.value("protocols") or [record.value("protocol")]
    named = [message(f"protocol-{protocol}") for protocol in protocols if protocol]
    if counted:
        key = "fact-modular" if record.value("chassis") else "fact-ports" if named else "fact-port"
        yield message(key, groups=counted, protocols=named)


def _cages(record: Record) -> Iterator[Message]:
    """Yield the number and form of the cages, without the height of their modules; line cards have their own."""
    cages, form = record.figure("cages", "count"), record.value("cage")
    if form and form != parts.ANY and not record.value("chassis"):
        shown = str(form).removesuffix("-finned").removesuffix("-flat").upper()
        yield message("fact-cages", count=cages.value, form=shown) if cages else message("fact-cage", form=shown)


def _power(record: Record) -> Iterator[Message]:
    if power := record.figure("power", "W"):
        unit, name = (_KILO, "kW") if power.value >= _KILO else (1, "W")
        yield message("fact-power", power=_scaled(power.value, unit), unit=name)


def _supplies(record: Record) -> Iterator[Message]:
    if count := record.figure("count", "count", SUPPLIES):
        yield message("fact-supplies", count=count.value)


def _scaled(value: Fraction | int, unit: int = 1) -> str:
    """Return a figure in multiples of its unit, with the digits that a data sheet has."""
    return f"{Decimal(f'{float(Fraction(value) / unit):.4g}'):,f}"


_HEIGHT = _fact("fact-units", "units", "rack_units", "U")
_BANDWIDTHS = tuple(_fact(f"fact-{key}", "rate", key, "bytes/s", _GIGA) for key in ("read", "write"))
_FACTS: Mapping[str, Sequence[Facts]] = {
    "gpu": (_memory, _power),
    "server": (_HEIGHT, _cooling, _text("coolant"), _supplies, _text("processors"), _text("drives")),
    "nic": (_ports, _cages, _text("host_bus")),
    "switch": (_ports, _cages, _management, _supplies, _HEIGHT),
    "transceiver": (_text("wavelength"), _fibre, _fact("fact-reach", "metres", "reach", "m"), _power),
    "storage": (_fact("fact-capacity", "size", "capacity", "bytes", _TERA), *_BANDWIDTHS, _ports, _HEIGHT, _power),
    "appliance": (_HEIGHT, _supplies, _power),
    "rack": (_HEIGHT, _footprint, _fact("fact-load", "load", "load", "kg")),
    "pdu": (_text("input"), _power, _outlets),
    "panel": (_fact("fact-panel-ports", "count", "ports", "count", None), _HEIGHT),
    ACCESSORY: (_fact("fact-cooling", "power", "cooling", "W", _KILO),),
}
"""The facts of each kind of part; the name of a cable says what it is."""
