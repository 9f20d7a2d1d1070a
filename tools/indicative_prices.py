"""Makes the price book `indicative` of the price indications of the catalogue.

Several indications of a part are a range, with the newest as the price, or the median of several that are the newest.
Left out are amounts in other currencies, of other things than the part, and of used parts.

An indication without a date, or older than a year, is marked, and its range is that of a class 4 estimate. Parts
without an indication are estimated from those of others, marked, with the range of a class 5 estimate: modules and NICs
from those of their rate, switches from the capacity of one that has a price, servers from their GPUs, the rest by the
rules of `price_rules`. No part costs less than what it consists of.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from functools import cache
from math import log
from pathlib import Path
from statistics import median, median_low
from typing import Any, NamedTuple

import price_rules
import yaml
from price_rules import Known

from bomgen.catalog.files import id_at_length
from bomgen.catalog.part_file_checks import with_base, with_shared_sources

ROOT = Path(__file__).parents[1]
DATA = ROOT / "bomgen" / "data"
BOOK = DATA / "indicative-prices.yaml"
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
CURRENCY = "USD"
COMPATIBLE = "compatible"
"""The condition of a price of a module that another manufacturer makes in its place."""
KINDS = ("accessory", "appliance", "gpu", "nic", "server", "storage", "switch", "transceiver")
"""Parts that are on bills as they are; a cable has a price for each length."""
READ = date(2026, 11, 28)
"""The day on which the age of an indication is counted."""
YEAR = timedelta(days=365)
"""The age beyond which an indication is old."""
ESTIMATE_CLASSES = "AACE International 18R-97"


class Accuracy(NamedTuple):
    """The range of an estimate as factors of its amount."""

    low: float
    high: float
    name: str


FEASIBILITY = Accuracy(0.7, 1.5, f"{ESTIMATE_CLASSES}, class 4: -30 % to +50 %")
SCREENING = Accuracy(0.5, 2.0, f"{ESTIMATE_CLASSES}, class 5: -50 % to +100 %")
"""https://soma-website.pages.dev/resources/glossary/aace-18r-97/ (read 2026-11-28)"""
FLASH_PRICE = 27_000 / 122.88
"""USD per TB of QLC flash at street prices of 2026."""
FLASH_SHARE = 0.9
"""The flash's part of what an array consists of."""
FLASH_DATE = "2026-04-24"
FLASH_SOURCE = (
    "a QLC drive of 122.88 TB at about 27,000 USD (AI Journal, The $35 Billion Blind Spot) is 90 % of an array's parts"
    " (Blocks and Files, 2026-04-24)"
)
"""https://aijourn.com/the-35-billion-blind-spot-how-storage-became-the-silent-tax-on-every-gpu-in-the-neocloud-economy
and https://www.pulse.bot/hardware/news/ (VDURA CEO sees the end of the all-flash array era), read 2026-11-28."""
TB = {"TB": 1, "PB": 1000}
SAME = ("rate_gbps", "fibre")
"""Fields by which modules are priced that a replacement has from the module that it replaces."""
GPUS_OF_A_SERVER = 8
DPU = "BlueField"
PRICED_NICS = ("cx6dx-2x100", "cx8-800")
"""Adapters with a price that say how it grows with the rate."""
PRICED_INFINIBAND, PRICED_ETHERNET = "qm9700", ("sn4700", "sn5600")
"""Switches with ports of 400 Gb/s and more that have a price: the two of Ethernet say how it grows with capacity."""
CHEAPEST_PDU, DEAREST_PDU = 400, 3000
"""USD: of a buyer's guide, a monitored PDU and a switched one with metered outlets; taken as those of least and most
power that the catalogue has, and the price between them as a power of it."""
USUAL_PDU_KW = 11
"""The power of a PDU whose part is not chosen: three phases of 16 A."""
PDU_SOURCE = "IP Security Depot, Rack PDU Buyer's Guide (https://www.ipsecuritydepot.com/guides/rack-pdu-buyer-guide/)"
CORE_PORT = 400
"""Gb/s of the slowest switches whose price grows less than their capacity."""
HEAD = f"""\
# yaml-language-server: $schema=../../schemas/prices.schema.json
# What the catalogue's sources say that parts cost: list prices, street prices, notes. Good enough to compare designs in
# a search and for a first idea, not to quote; each is marked as an estimate. The price book `indicative` of plans.
# Written by tools/generate.py.
bomgen_prices: 1
name: Price indications of the catalogue, fourth quarter of 2026
currency: {CURRENCY}
estimate: true
prices:
"""


def book() -> str:
    """The price book as text."""
    return HEAD + "".join(f"  - {_flow(entry)}\n" for entry in _entries())


def _entries() -> Iterator[dict[str, Any]]:
    for kind in KINDS:
        records = _records(kind)
        for part, record in records.items():
            if entry := _entry_of(kind, record, records):
                yield {"part": part} | _not_below_its_parts(entry, record)
            if "gpu_slots" in record:
                yield _by_rule(f"{part}-chassis", _host_of_cards(record))
    for part, record in _records("cable").items():
        yield from _cables(part, record)
    for part, record in _records("panel").items():
        yield _by_rule(part, price_rules.panel_price(round(_number(record["ports"])), record["connectors"]))
    for part, record in _records("rack").items():
        if _is_usual_rack(record):
            yield _by_rule(part, price_rules.RACK)
    yield _by_rule("rack", price_rules.RACK)
    power = {part: _kilowatts(record) or USUAL_PDU_KW for part, record in _records("pdu").items()}
    growth = log(DEAREST_PDU / CHEAPEST_PDU) / log(max(power.values()) / min(power.values()))
    for part, kilowatts in ({"pdu": USUAL_PDU_KW} | power).items():
        price = round(CHEAPEST_PDU * (kilowatts / min(power.values())) ** growth)
        source = (
            f"estimate: rack PDUs of {CHEAPEST_PDU} to {DEAREST_PDU:,} USD, by power: {kilowatts:g} kW; {PDU_SOURCE}"
        )
        yield {"part": part} | _estimate(price, source, None)
    for adapter in _records("connection")["cage-adapters"]["adapters"]:
        yield _by_rule(adapter["part_number"].lower(), price_rules.CAGE_ADAPTER)
    for part, known in price_rules.INSTALLATION.items():
        yield _by_rule(part, known)


def _entry_of(kind: str, record: dict[str, Any], records: dict[str, dict[str, Any]]) -> dict[str, Any] | None:
    """Return the published price of a part, else an estimate; that of a switch vendor's module from compatible ones."""
    published = _published(record)
    found = published or _estimated(kind, record, records)
    if found is None or kind != "transceiver" or record["vendor"] not in price_rules.MODULES_OF_THEIR_OWN:
        return found
    return found if published and not _is_of_compatible(record) else _of_switch_vendor(found)


def _cables(part: str, record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for length in record["lengths_m"] or ():
        if record["kind"] == "copper":
            known: Known | None = price_rules.patch_cord_price(length)
        elif record["kind"] in ("fibre", "trunk"):
            known = price_rules.fibre_price(record, length)
        else:
            known = price_rules.cable_price(record, _number(record["rate_gbps"]), length)
        if known:
            named = id_at_length(part, length)
            yield _by_rule(named if named != part else f"{part}-{length}m", known)


def _by_rule(part: str, known: Known) -> dict[str, Any]:
    return {"part": part} | _estimate(known.price, f"estimate: {known.source}", known.day)


def _is_usual_rack(record: dict[str, Any]) -> bool:
    units = record["rack_units"]
    return _number(units) in price_rules.RACK_UNITS and price_rules.OPEN_RACK not in str(units.get("note"))


@cache
def _records(kind: str) -> dict[str, dict[str, Any]]:
    """Return the records of a kind by id; a part that replaces another has the other's fields beside its own."""
    read = {path.stem: _read(path) for path in sorted((DATA / kind).glob("*.yaml"))}
    originals = {id: read[(record.get("replaces") or [id])[0]] for id, record in read.items()}
    return {id: _physical(originals[id]) | record | {"id": id} for id, record in read.items()}


def _read(path: Path) -> dict[str, Any]:
    record: dict[str, Any] = yaml.load(path.read_text("utf-8"), LOADER)  # noqa: S506, a safe one
    return with_shared_sources(with_base(path.parent.name, record))


def _physical(record: dict[str, Any]) -> dict[str, Any]:
    return {key: record[key] for key in SAME if key in record}


def _published(record: dict[str, Any]) -> dict[str, Any] | None:
    given = [each for each in record.get("price_indications", ()) if is_of_part(each)]
    if not given:
        return None
    newest = max(_day(each.get("date")) or "" for each in given)
    latest = [each for each in given if (_day(each.get("date")) or "") == newest]
    amounts = [amount for each in given for amount in _ends(each)]
    found: dict[str, Any] = {"price": _short(median(median(_ends(each)) for each in latest))}
    day = newest or None
    titles = dict.fromkeys(record["sources"][name]["title"] for each in latest for name in each["source"])
    what = latest[0].get("what") if len(latest) == 1 else f"median of {len(latest)}"
    source = "; ".join(filter(None, (what, *titles)))
    if day is None or date.fromisoformat(day) < READ - YEAR:
        found |= _range(min(amounts), max(amounts), FEASIBILITY)
        source += f"; {'no date' if day is None else 'older than a year'}: range by {FEASIBILITY.name}"
    elif min(amounts) < max(amounts):
        found |= {"min": min(amounts), "max": max(amounts)}
    return found | ({"date": day} if day else {}) | {"source": source}


def _ends(indication: dict[str, Any]) -> tuple[float, float]:
    return indication["amount"], indication.get("amount_max", indication["amount"])


def _estimated(kind: str, record: dict[str, Any], records: dict[str, dict[str, Any]]) -> dict[str, Any] | None:
    if kind == "server":
        return _from_same_rack(record, records) if "trays" in record else _from_gpus(record)
    if kind == "storage":
        return _from_flash(record)
    if kind == "switch":
        return _from_capacity(record, records)
    if kind == "accessory":
        return _from_like_accessory(record)
    if kind in ("nic", "transceiver"):
        return _from_rate(record, records)
    return None


def _from_like_accessory(record: dict[str, Any]) -> dict[str, Any] | None:
    """Return the price of a power cord or of the power cable of a card; other accessories have none."""
    if record["name"].startswith("Power cord"):
        cord = price_rules.POWER_CORD
        found = _estimate(cord.price, f"estimate: {cord.source}", cord.day)
        return found | {"max": price_rules.DEAREST_POWER_CORD}
    if "power cable" in record["name"]:
        cable = price_rules.GPU_CABLE
        return _estimate(cable.price, f"estimate: {cable.source}", cable.day)
    return None


def _from_gpus(record: dict[str, Any]) -> dict[str, Any] | None:
    gpus, count = _gpu_price(record), round(_number(record["gpus"]))
    if gpus is None:
        return None
    is_card = _is_card(record)
    if not is_card and count != GPUS_OF_A_SERVER:
        return None
    others = _host_of_cards(record) if is_card else price_rules.HOST_OF_EIGHT
    price = round(gpus["price"] * count + others.price)
    source = f"estimate: {count} x {record['gpu']} at {gpus['price']:,} USD ({gpus['source']}) and {others.source}"
    return _estimate(price, source, gpus.get("date"))


def _host_of_cards(record: dict[str, Any]) -> price_rules.Known:
    """Return what a server of cards costs beside them, with or without all of them."""
    return price_rules.CARD_HOST if _number(record["gpus"]) >= GPUS_OF_A_SERVER else price_rules.CARD_SERVER


def _from_same_rack(record: dict[str, Any], records: dict[str, dict[str, Any]]) -> dict[str, Any] | None:
    """Return the price of a rack of the same GPUs: racks of one kind cost alike whoever sells them."""
    for other in records.values():
        if other.get("trays") and other["gpu"] == record["gpu"] and (known := _published(other)):
            found = _estimate(known["price"], f"estimate: {other['name']}; {known['source']}", known.get("date"))
            return found | {end: known[end] for end in ("min", "max") if end in known}
    return None


def _from_flash(record: dict[str, Any]) -> dict[str, Any] | None:
    stated = record.get("capacity")
    text = stated.get("value") if isinstance(stated, dict) else stated
    if not isinstance(text, str):
        return None
    amount, unit = text.split()
    flash = round(float(amount) * TB[unit] * FLASH_PRICE)
    found = _estimate(round(flash / FLASH_SHARE), f"estimate: {text} of flash; {FLASH_SOURCE}", FLASH_DATE)
    return found | {"min": flash}


def _from_capacity(record: dict[str, Any], records: dict[str, dict[str, Any]]) -> dict[str, Any] | None:
    port = max((_number(group["port_gbps"]) for group in _ports(record)), default=0)
    if not port or "chassis" in record or record.get("price_indications"):
        return None
    if _slowest_port(record) <= price_rules.MANAGEMENT_GBPS:
        switch = price_rules.MANAGEMENT_SWITCH
        return _estimate(round(switch.price), f"estimate: {switch.source}", switch.day)
    if port < CORE_PORT:
        per_gbps = price_rules.ETHERNET_GBPS
        found = _estimate(
            round(per_gbps.price * _rate(record)), f"estimate: by capacity; {per_gbps.source}", per_gbps.day
        )
        found["min"] = min(found["min"], round(price_rules.CHEAPEST_ETHERNET_GBPS * _rate(record)))
    else:
        smaller, larger = (_rate_and_price(records[part]) for part in PRICED_ETHERNET)
        growth = _growth(smaller, larger)
        part = PRICED_INFINIBAND if record["protocol"] == "infiniband" else PRICED_ETHERNET[-1]
        gbps, known = _rate_and_price(records[part])
        source = (
            f"estimate: {records[part]['name']} at {known['price']:,} USD, by capacity to the power of {growth:.2f}"
            f" ({known['source'].partition(';')[2].strip()})"
        )
        found = _estimate(round(known["price"] * (_rate(record) / gbps) ** growth), source, known["date"])
    return found


def _growth(smaller: tuple[float, dict[str, Any]], larger: tuple[float, dict[str, Any]]) -> float:
    """Return the power of the rate with which the price grows from one part to a faster one."""
    return log(larger[1]["price"] / smaller[1]["price"]) / log(larger[0] / smaller[0])


def _rate_and_price(record: dict[str, Any]) -> tuple[float, dict[str, Any]]:
    return _rate(record), _published(record) or {}


def _from_rate(record: dict[str, Any], records: dict[str, dict[str, Any]]) -> dict[str, Any] | None:
    """Return the median price of parts of the nearest rate that has one.

    It is multiplied by the rate for faster modules; slower ones cost something between that and as much. Adapters cost
    less more than their rate says, by the power that two of them show.
    """
    rate = _rate(record)
    if not rate:
        return None
    replaced = record["id"], *map(str.lower, record.get("aliases", ()))
    instead = [
        each for each in records.values() if each["id"] != record["id"] and set(each.get("replaces", ())) & {*replaced}
    ]
    priced = [(_rate(each), entry) for each in instead if (entry := _published(each))]
    priced = priced or _priced_by_rate(record, rate, records)
    nearest = max((known for known, _ in priced if known <= rate), default=min(known for known, _ in priced))
    known = [entry for its, entry in priced if its == nearest]
    scale = rate / nearest
    if record["id"] in _records("nic"):
        scale **= _growth(*(_rate_and_price(records[part]) for part in PRICED_NICS))
    price = median_low(each["price"] for each in known) * (scale if scale >= 1 else (scale + 1) / 2)
    sources = sorted({each["source"].split("; ")[-1] for each in known})
    several = f"median of {len(known)} parts" if len(known) > 1 else "a part"
    by_rate = f", times {scale:.3g}" if scale > 1 else ", a share of its price" if scale < 1 else ""
    source = f"estimate: {several} of {nearest:g} Gb/s{by_rate}; {'; '.join(sources)}"
    found = _estimate(_short(price), source, max(each["date"] for each in known))
    low, high = (f(each.get(end, each["price"]) for each in known) for f, end in ((min, "min"), (max, "max")))
    ends = {"min": min(found["min"], low * scale), "max": max(found["max"], high * max(scale, 1))}
    return found | {end: _short(amount) for end, amount in ends.items()}


def _of_switch_vendor(compatible: dict[str, Any]) -> dict[str, Any]:
    """Return the price of a module that the vendor of a switch sells, from that of a compatible one."""
    most, price = price_rules.LIST_TO_COMPATIBLE, compatible["price"]
    ends = {
        "price": price * (1 + most.price) / 2,
        "min": compatible.get("min", price),
        "max": max(compatible.get("max", price), price * most.price),
    }
    source = f"{compatible['source']}; that of compatible modules, times 1 to {most.price:.2g}: {most.source}"
    said = "" if source.startswith("estimate: ") else "estimate: "
    return compatible | {key: _short(amount) for key, amount in ends.items()} | {"source": said + source}


def _optic(record: dict[str, Any]) -> tuple[str, int] | None:
    """Return the letters of the optic of a module and its lanes, alike for 2 x DR4 and DR8; none for others."""
    optic = str(record.get("optic", ""))
    letters = optic.rstrip("0123456789")
    return (letters, int(optic[len(letters) :] or 1) * int(_number(record.get("ports")))) if optic else None


def _priced_by_rate(
    record: dict[str, Any], rate: float, records: dict[str, dict[str, Any]]
) -> list[tuple[float, dict[str, Any]]]:
    """Return the rates and prices of like parts: single-mode modules cost more than multimode ones, DPUs than NICs.

    Modules of the same optic and at least half the rate alone, if one has a price: FR costs more than DR.
    """
    dpu, fibre, optic = record["name"].startswith(DPU), record.get("fibre"), _optic(record)
    alike = [each for each in records.values() if each["name"].startswith(DPU) == dpu and _published(each)]
    known_optic = [each for each in alike if optic and _optic(each) == optic]
    same = [_rate_and_price(each) for each in known_optic if rate / 2 <= _rate(each) <= rate]
    if same:
        return same
    every = [(*_rate_and_price(each), each.get("fibre")) for each in alike]
    like = [(known, entry) for known, entry, its in every if its == fibre]
    if fibre == "single-mode" or any(known == rate for known, _ in like):
        return like
    return [(known, entry) for known, entry, _ in every]


def _estimate(price: float, source: str, day: str | None) -> dict[str, Any]:
    found = {"price": price} | _range(price, price, SCREENING)
    return found | ({"date": day} if day else {}) | {"source": f"{source}; range by {SCREENING.name}"}


def _range(low: float, high: float, accuracy: Accuracy) -> dict[str, Any]:
    return {"min": round(low * accuracy.low), "max": round(high * accuracy.high)}


def _not_below_its_parts(entry: dict[str, Any], record: dict[str, Any]) -> dict[str, Any]:
    cost = cost_of_parts(record)
    if not cost or "min" not in entry:
        return entry
    return entry | {"min": max(entry["min"], min(round(cost), entry["price"]))}


def cost_of_parts(record: dict[str, Any]) -> float:
    """Return the lowest cost of the GPUs and the NICs that a server includes, and 0 if none has a price."""
    gpus, nic = _gpu_price(record), None
    if record.get("nics_included") is not False:
        nic = _price_of("nic", record.get("nic"))
    priced = ((gpus, _number(record.get("gpus"))), (nic, _number(record.get("nics"))))
    return sum((float(each.get("min", each["price"])) * count for each, count in priced if each), 0.0)


def _is_card(record: dict[str, Any]) -> bool:
    return str(_records("gpu")[record["gpu"]].get("form")).startswith("PCIe")


def _price_of(kind: str, part: Any) -> dict[str, Any] | None:
    records = _records(kind)
    record = records.get(str(part))
    return (_published(record) or _estimated(kind, record, records)) if record else None


def _gpu_price(record: dict[str, Any]) -> dict[str, Any] | None:
    return _price_of("gpu", record.get("gpu"))


def _rate(record: dict[str, Any]) -> float:
    """Gb/s of a part: of a module by its rate, of others by its ports."""
    rate = _number(record.get("rate_gbps"))
    return rate or sum(_number(group["ports"]) * _number(group["port_gbps"]) for group in _ports(record))


def _slowest_port(record: dict[str, Any]) -> float:
    return min(_number(group["port_gbps"]) for group in _ports(record))


def _ports(record: dict[str, Any]) -> list[dict[str, Any]]:
    if groups := record.get("port_groups"):
        return list(groups)
    return [{"ports": record.get("ports"), "port_gbps": record.get("port_gbps")}]


def _kilowatts(record: dict[str, Any]) -> float:
    value = record["power"]["value"]
    return float(value.removesuffix(" kW")) if value else 0


def _number(value: Any) -> float:
    stated = value.get("value") if isinstance(value, dict) else value
    return stated if isinstance(stated, int | float) else 0


def _is_of_compatible(record: dict[str, Any]) -> bool:
    """Whether what is known of a module is the price of a compatible one."""
    return any(each.get("condition") == COMPATIBLE for each in record["price_indications"])


def is_of_part(indication: dict[str, Any]) -> bool:
    """Whether a price is of the part, or of a module in its place, in the currency of the book."""
    return indication["currency"] == CURRENCY and indication.get("condition") in (None, COMPATIBLE)


def _day(date: Any) -> str | None:
    """The first day of what a date names: a day, a month, a year, the middle of one."""
    if date is None:
        return None
    text = str(date)
    if text.startswith("mid-"):
        return f"{text.removeprefix('mid-')}-07-01"
    return text + "2026-01-01"[len(text) :]


def _short(amount: float) -> float:
    return round(amount) if amount == round(amount) else round(amount, 2)


def _flow(entry: dict[str, Any]) -> str:
    text = yaml.safe_dump(entry, default_flow_style=True, sort_keys=False, allow_unicode=True, width=10**6)
    return text.strip()


if __name__ == "__main__":
    BOOK.write_text(book(), "utf-8")
