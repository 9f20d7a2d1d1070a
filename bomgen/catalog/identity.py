"""Identities of parts, what a quote says of a part, and the search of the catalogue in the words of customers.

A part fits if it has every word of the text in its names, numbers, maker, chip, kind, medium or rate. The letters and
digits of a word must stand side by side, so that `L4` is not `L40`. `data/search-words.yaml` says what customers write
for words of part files, and what they ask for that the catalogue does not have.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

from bomgen.catalog import parts
from bomgen.catalog.files import ACCESSORY, INLINE, KINDS, NOT_PARTS, REQUIRES, Catalog, Record, built_in
from bomgen.core.diagnostics import nearest
from bomgen.core.messages import Message, message, read_language, record_text
from bomgen.core.provenance import Figure, Mark, formula
from bomgen.core.resources import languages
from bomgen.core.units import parse
from bomgen.core.yaml_source import read_data

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
        yield message("fact-plain", text=re.sub("-(?=[AU]PC)", "/", str(connector).upper()))
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
    "server": (_HEIGHT, _cooling, _text("coolant"), _supplies),
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


WORDS = "search-words.yaml"
SHOWN_NEAREST = 3
PREFIX = 4
"""Letters at which a word may be the beginning of another: `weka` of `WEKApod`."""
TERA = 1000
_FIELDS = (
    "vendor",
    "asic",
    "gpu",
    "kind",
    "electronics",
    "optic",
    "cage",
    "fibre",
    "protocol",
    "protocols",
    "category",
)
"""Fields besides names and numbers whose words are searched."""
_TIMES = re.compile(r"(?<!\w)(\d{1,3})\s*[x×*]\s*(?=[^\W\d])")
"""A count before a name, as in `8xH200`; longer numbers are names, as in `7060XE7`."""
_TOKEN = re.compile(r"[^\W\d_]+|\d+(?:\.\d+)?")


class Found(NamedTuple):
    """What a search found."""

    parts: tuple[Record, ...]
    """The parts with every word, those of this very name first."""
    why: str = ""
    """Why the catalogue lacks it, for what customers ask for; empty if unknown."""
    nearest: tuple[Record, ...] = ()
    """Without parts, those that come nearest."""


def search(catalog: Catalog, text: str) -> Found:
    """Return the parts that have every word of a text; without any, why not and what comes nearest."""
    records = [record for kind in KINDS if kind not in NOT_PARTS for record in catalog.all(kind)]
    text = _plain(text)
    for said, meant in read_data(WORDS)["words"].items():  # `CX8` becomes `connectx8`, as part files write it
        text = re.sub(rf"(?<![^\W\d_]){said}(?![^\W\d_])", meant, text)
    (whole,), wanted = _phrases([text]), _phrases(text.split())
    if not whole.strip():
        return Found(())
    written = [(record, _written(record)) for record in records]
    named = [record for record, words in written if f"|{whole}|" in words]
    if not named and (missing := _missing().get(whole)):
        near = (built_in(*part.split("/")) for part in missing.get("nearest", ()))
        return Found((), str(missing["why"]), tuple(near))
    fits = [record for record, words in written if all(_has(words, word) for word in wanted)]
    if fits:
        return Found((*named, *(record for record in fits if record not in named)))
    return Found((), "", _nearest(written, wanted, whole))


def _nearest(written: list[tuple[Record, str]], wanted: list[str], whole: str) -> tuple[Record, ...]:
    """Return the parts with most of the words, at least half of them, otherwise those of the most similar name."""
    telling = [word for word in wanted if not word.strip().replace(" ", "").isdecimal()]
    scored = [([word for word in telling if _has(words, word)], record) for record, words in written]
    # Of two words, that of a kind says more than that of a rate.
    most = max((len(had), sum(word.strip().isalpha() for word in had)) for had, _ in scored)
    if most[0] * 2 >= len(telling) and most[0]:
        same = [record for had, record in scored if (len(had), sum(word.strip().isalpha() for word in had)) == most]
        return tuple(same[:SHOWN_NEAREST])
    by_name = {
        name: record for record, _ in written for name in _phrases([str(record.value("name")), *record.maker_names])
    }
    similar = (by_name[name] for name in nearest(whole, by_name, SHOWN_NEAREST))
    return tuple({(record.kind, record.id): record for record in similar}.values())


def _phrases(words: Iterable[str]) -> list[str]:
    """Return the letters and digits of each word, apart: `CX8` is ` cx 8 `."""
    phrases = (f" {' '.join(_TOKEN.findall(word))} " for word in map(_plain, words))
    return [phrase for phrase in phrases if phrase.strip()] or [" "]


def _plain(text: str) -> str:
    return _TIMES.sub(r"\1-x-", unicodedata.normalize("NFKC", text).lower())


def _has(words: str, word: str) -> bool:
    letters = word.split()[-1] if word.strip() else ""
    return word in words or (letters.isalpha() and len(letters) >= PREFIX and word.rstrip() in words)


def _written(record: Record) -> str:
    """Return all that a part is called, each name between bars as `_phrases` writes it."""
    values = [record.value(field) for field in _FIELDS]
    listed = [str(entry) for value in values for entry in (value if isinstance(value, list) else [value]) if entry]
    rate = record.value("rate_gbps") or record.value("port_gbps")
    rates = [f"{rate}G", *([f"{rate / TERA:g}T"] if rate >= TERA else [])] if isinstance(rate, int) else []
    title = str(record.value("name"))
    texts = (read_language(code).get("records", {}).get(f"{record.kind}/{record.id}", "") for code in languages())
    names = (title, title.partition(",")[0], *filter(None, texts), *record.names, record.kind, *listed, *rates)
    return f"|{'|'.join(_phrases(names))}|"


@cache
def _missing() -> Mapping[str, Mapping[str, Any]]:
    return {phrase: entry for entry in read_data(WORDS)["missing"] for phrase in _phrases(entry["names"])}
