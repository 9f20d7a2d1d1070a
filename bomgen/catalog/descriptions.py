"""What a part is, in the words of the trade: short facts from the figures of its record, in the order of a data sheet.

A quote shows them below the name of a part, in its language. Figures that a record lacks are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction

from bomgen.catalog import parts
from bomgen.catalog.files import ACCESSORY, Record
from bomgen.core.messages import Message, message

AIRFLOWS = ("P2C", "C2P")
"""The variants of part numbers that differ in their airflow: power to connector side, and the reverse."""
FORWARD = ("front to rear", "front to back")
"""The names of the usual direction of the air."""
INFINIBAND = "infiniband"
SUPPLIES = "power_supplies"
_KILO, _TERA, _GIGA = 10**3, 10**12, 10**9


def describe(record: Record) -> tuple[Message, ...]:
    """Return the facts about the part of a record."""
    facts = _FACTS.get(record.kind)
    return tuple(facts(record)) if facts else ()


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


def _gpu(record: Record) -> Iterator[Message]:
    memory = record.figure("memory", "bytes")
    if memory:
        words = (_scaled(memory.value, _GIGA), "GB", record.value("memory_type"))
        yield message("fact-plain", text=" ".join(filter(None, words)))
    yield from _power(record)


def _server(record: Record) -> Iterator[Message]:
    yield from _height(record)
    cooling = str(record.value("cooling"))
    if parts.LIQUID in cooling or parts.AIR in cooling:
        yield message("fact-liquid-cooled" if parts.LIQUID in cooling else "fact-air-cooled")
    yield from _supplies(record)


def _nic(record: Record) -> Iterator[Message]:
    yield from _ports(record)
    yield from _cages(record)
    if bus := record.value("host_bus"):
        yield message("fact-plain", text=str(bus))


def _switch(record: Record) -> Iterator[Message]:
    yield from _ports(record, [("port_groups", at) for at, _ in enumerate(record.value("port_groups") or ())])
    yield from () if record.value("chassis") else _cages(record)
    if record.value("protocol") == INFINIBAND:
        yield message("fact-unmanaged" if record.value("managed") is False else "fact-managed")
    if airflow := airflow_of(record):
        yield message("fact-airflow", direction=describe_airflow(airflow))
    yield from _supplies(record)
    yield from _height(record)


def _transceiver(record: Record) -> Iterator[Message]:
    if wavelength := record.value("wavelength"):
        yield message("fact-plain", text=str(wavelength))
    if connector := record.value("connector"):
        yield message("fact-plain", text=re.sub("-(?=[AU]PC)", "/", str(connector).upper()))
    if (fibre := record.value("fibre")) in ("multimode", "single-mode"):
        yield message(f"fact-{fibre}")
    if reach := record.figure("reach", "m"):
        yield message("fact-reach", metres=_scaled(reach.value))
    yield from _power(record)


def _storage(record: Record) -> Iterator[Message]:
    if capacity := record.figure("capacity", "bytes"):
        yield message("fact-capacity", size=_scaled(capacity.value, _TERA))
    for key in ("read", "write"):
        if rate := record.figure(key, "bytes/s"):
            yield message(f"fact-{key}", rate=_scaled(rate.value, _GIGA))
    yield from _ports(record)
    yield from _height(record)
    yield from _power(record)


def _appliance(record: Record) -> Iterator[Message]:
    yield from _height(record)
    yield from _supplies(record)
    yield from _power(record)


def _rack(record: Record) -> Iterator[Message]:
    yield from _height(record)
    width, depth = record.figure("width_mm", "mm"), record.figure("depth_mm", "mm")
    if width and depth:
        yield message("fact-footprint", width=_scaled(width.value), depth=_scaled(depth.value))
    if load := record.figure("load", "kg"):
        yield message("fact-load", load=_scaled(load.value))


def _pdu(record: Record) -> Iterator[Message]:
    yield from _power(record)
    for form in ("c13", "c19", "either"):
        outlets = record.figure(form, "count", "outlets", zero=True)
        if outlets and outlets.value:
            yield message("fact-outlets", count=outlets.value, form="C13/C19" if form == "either" else form.upper())


def _panel(record: Record) -> Iterator[Message]:
    if ports := record.figure("ports", "count"):
        yield message("fact-panel-ports", count=ports.value)
    yield from _height(record)


def _accessory(record: Record) -> Iterator[Message]:
    if cooling := record.figure("cooling", "W"):
        yield message("fact-cooling", power=_scaled(cooling.value, _KILO))


def _ports(record: Record, groups: Sequence[tuple[str, int]] = ()) -> Iterator[Message]:
    """Yield the ports of a device by their rate, with the protocols that its record names."""
    counted, places = list[Message](), tuple[tuple[str | int, ...], ...](groups) or ((),)
    for above in places:
        ports, rate = record.figure("ports", "count", *above, zero=True), record.figure("port_gbps", "Gb/s", *above)
        if ports and ports.value and rate:
            counted.append(message("fact-port-group", count=_scaled(ports.value), rate=_scaled(rate.value)))
    protocols = record.value("protocols") or [record.value("protocol")]
    named = [message(f"protocol-{protocol}") for protocol in protocols if protocol]
    if counted:
        key = "fact-modular" if record.value("chassis") else "fact-ports" if named else "fact-port"
        yield message(key, groups=counted, protocols=named)


def _cages(record: Record) -> Iterator[Message]:
    """Yield the number and form of the cages; each group of ports has its own, which its rate tells."""
    cages, form = record.figure("cages", "count"), record.value("cage")
    if not form or form == parts.ANY:
        return
    shown = _form(str(form))
    yield message("fact-cages", count=cages.value, form=shown) if cages else message("fact-cage", form=shown)


def _form(cage: str) -> str:
    """Return the form of a cage without the height of its modules: osfp-finned is OSFP."""
    return cage.removesuffix("-finned").removesuffix("-flat").upper()


def _height(record: Record) -> Iterator[Message]:
    if units := record.figure("rack_units", "U"):
        yield message("fact-units", units=_scaled(units.value))


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


_FACTS = {
    "gpu": _gpu,
    "server": _server,
    "nic": _nic,
    "switch": _switch,
    "transceiver": _transceiver,
    "storage": _storage,
    "appliance": _appliance,
    "rack": _rack,
    "pdu": _pdu,
    "panel": _panel,
    ACCESSORY: _accessory,
}
"""The facts of each kind of part; the name of a cable says what it is."""
