"""The price indications of the catalogue as a price book: `python tests/catalog/indicative_prices.py` writes it anew.

Several indications of a part are a range, with the newest as the price. Left out are amounts in other currencies,
of other things than the part (an indication that says `what`, of a cable by its length), and of used parts.

An indication without a date, or older than a year, is marked, and its range is that of a class 4 estimate. Parts
without an indication are estimated from those of others, marked, with the range of a class 5 estimate: modules and NICs
from those of their rate, switches of 400 Gb/s and more from the capacity of one that has a price, servers from their
GPUs, MPO cables from the price of one connector pair and of a metre. No server costs less than its GPUs.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from statistics import median_low
from typing import Any, NamedTuple

import yaml

from bomgen.catalog.files import id_at_length

ROOT = Path(__file__).parents[2]
DATA = ROOT / "bomgen" / "data"
BOOK = DATA / "indicative-prices.yaml"
CURRENCY = "USD"
KINDS = ("accessory", "nic", "server", "storage", "switch", "transceiver")
"""Parts that are on bills as they are; GPUs come in servers, and a fibre has a price for each length."""
READ = date(2026, 11, 28)
"""The day on which the age of an indication is counted."""
ESTIMATE_CLASSES = "AACE International 18R-97"


class Accuracy(NamedTuple):
    """The range of an estimate as factors of its amount."""

    low: float
    high: float
    name: str


FEASIBILITY = Accuracy(0.7, 1.5, f"{ESTIMATE_CLASSES}, class 4: -30 % to +50 %")
SCREENING = Accuracy(0.5, 2.0, f"{ESTIMATE_CLASSES}, class 5: -50 % to +100 %")
"""https://soma-website.pages.dev/resources/glossary/aace-18r-97/ (read 2026-11-28)"""
OTHER_PARTS_OF_A_SERVER = 32_010
"""What a DGX H100 has beside its 8 GPUs, USD, 2023-05: Epoch AI, training-cost-trends, quoting SemiAnalysis."""
OTHER_PARTS_SOURCE = "Epoch AI, training-cost-trends: 32,010 USD of other parts in a DGX H100, quoting SemiAnalysis"
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
GPUS_OF_A_BASEBOARD = 8
PRICED_SWITCH = "qm9700"
FIBRE_METRE = (116 - 59) / (5 - 1)
"""USD: MTP-12 jumpers of OM4 at 1 m and 5 m."""
FIBRE_OF_ONE_METRE = {"multimode": 59, "single-mode": 105.08}
FIBRE_DATE = "2026-09-01"
FIBRE_SOURCE = (
    "MTP-12 of 1 m at {price} USD and {metre} USD a further metre; Price notes of 2026-09 quoting FS.com fibre"
)
PDU_PRICE = {"price": 900, "min": 400, "max": 3000}
"""USD: the dearest monitored PDU of a buyer's guide, within monitored ones to switched ones with metered outlets."""
PDU_SOURCE = "IP Security Depot, Rack PDU Buyer's Guide (https://www.ipsecuritydepot.com/guides/rack-pdu-buyer-guide/)"
CHEAPEST_GBPS = 33_894 / (64 * 800)
"""Per Gb/s: the list price of the FS N9600-64OD of 2026-09, 33,894 EUR, taken as USD for the low end of switches."""
SLOWEST_ESTIMATED_PORT = 400
"""Gb/s: the price per Gb/s of a switch for management is another one."""
HEAD = f"""\
# yaml-language-server: $schema=../../schemas/prices.schema.json
# What the catalogue's sources say that parts cost: list prices, street prices, notes. Good enough to compare designs in
# a search and for a first idea, not to quote; each is marked as an estimate. The price book `indicative` of plans.
# Written by tests/catalog/indicative_prices.py.
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
            entry = _published(record) or _estimated(kind, record, records)
            if entry:
                yield {"part": part} | _not_below_its_gpus(entry, record)
    for part, record in _records("cable").items():
        if record["kind"] == "fibre" and str(record["connector"]).startswith("mpo") and "trunk" not in part:
            yield from _fibres(part, record)
    source = f"estimate: monitored to switched rack PDUs; {PDU_SOURCE}; no date: range by {FEASIBILITY.name}"
    for part in ("pdu", *_records("pdu")):
        yield {"part": part} | PDU_PRICE | _range(PDU_PRICE["min"], PDU_PRICE["max"], FEASIBILITY) | {"source": source}


def _fibres(part: str, record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    shortest = FIBRE_OF_ONE_METRE[record["fibre"]]
    source = FIBRE_SOURCE.format(price=shortest, metre=FIBRE_METRE)
    for length in record["lengths_m"]:
        named = id_at_length(part, length)
        price = round(shortest + FIBRE_METRE * (length - 1), 2)
        yield {"part": named if named != part else f"{part}-{length}m"} | _estimate(
            price, f"estimate: {source}", FIBRE_DATE
        )


def _records(kind: str) -> dict[str, dict[str, Any]]:
    return {path.stem: yaml.safe_load(path.read_text("utf-8")) for path in sorted((DATA / kind).glob("*.yaml"))}


def _published(record: dict[str, Any]) -> dict[str, Any] | None:
    given = [each for each in record.get("price_indications", ()) if _is_of_part(each)]
    if not given:
        return None
    newest = max(given, key=lambda each: (_day(each.get("date")) or "", each["amount"]))
    amounts = [amount for each in given for amount in (each["amount"], each.get("amount_max", each["amount"]))]
    found = {"price": newest["amount"]}
    day = _day(newest.get("date"))
    titles = [record["sources"][name]["title"] for name in newest["source"]]
    source = "; ".join(filter(None, (newest.get("what"), *titles)))
    if day is None or date.fromisoformat(day) < READ - timedelta(days=365):
        found |= _range(min(amounts), max(amounts), FEASIBILITY)
        source += f"; {'no date' if day is None else 'older than a year'}: range by {FEASIBILITY.name}"
    elif min(amounts) < max(amounts):
        found |= {"min": min(amounts), "max": max(amounts)}
    return found | ({"date": day} if day else {}) | {"source": source}


def _estimated(kind: str, record: dict[str, Any], records: dict[str, dict[str, Any]]) -> dict[str, Any] | None:
    if kind == "server":
        return _from_gpus(record)
    if kind == "storage":
        return _from_flash(record)
    if kind == "switch":
        return _from_capacity(record, records[PRICED_SWITCH])
    if kind in ("nic", "transceiver"):
        return _from_rate(record, records)
    return None


def _from_gpus(record: dict[str, Any]) -> dict[str, Any] | None:
    gpus = _gpu_price(record)
    if gpus is None or _number(record["gpus"]) != GPUS_OF_A_BASEBOARD:
        return None
    price = gpus["price"] * GPUS_OF_A_BASEBOARD + OTHER_PARTS_OF_A_SERVER
    source = f"estimate: 8 x {record['gpu']} at {gpus['price']:,} USD ({gpus['source']}) and {OTHER_PARTS_SOURCE}"
    return _estimate(price, source, gpus.get("date"))


def _from_flash(record: dict[str, Any]) -> dict[str, Any] | None:
    stated = record.get("capacity")
    text = stated.get("value") if isinstance(stated, dict) else stated
    if not isinstance(text, str):
        return None
    amount, unit = text.split()
    flash = round(float(amount) * TB[unit] * FLASH_PRICE)
    found = _estimate(round(flash / FLASH_SHARE), f"estimate: {text} of flash; {FLASH_SOURCE}", FLASH_DATE)
    return found | {"min": flash}


def _from_capacity(record: dict[str, Any], priced: dict[str, Any]) -> dict[str, Any] | None:
    if _number(record.get("port_gbps")) < SLOWEST_ESTIMATED_PORT or "chassis" in record:
        return None
    if record.get("price_indications"):
        return None
    known = _published(priced)
    assert known is not None
    price = round(known["price"] / _rate(priced) * _rate(record))
    source = f"estimate: a QM9700 at {known['price']:,} USD by capacity ({known['source'].partition(';')[2].strip()})"
    if not price:
        return None
    found = _estimate(price, source, known["date"])
    return found | {"min": min(found["min"], round(CHEAPEST_GBPS * _rate(record)))}


def _from_rate(record: dict[str, Any], records: dict[str, dict[str, Any]]) -> dict[str, Any] | None:
    known = [entry for each in records.values() if _rate(each) == _rate(record) and (entry := _published(each))]
    if not known or not _rate(record):
        return None
    price = median_low(each["price"] for each in known)
    sources = sorted({each["source"].split("; ")[-1] for each in known})
    source = f"estimate: median of {len(known)} parts of {_rate(record):g} Gb/s; {'; '.join(sources)}"
    found = _estimate(price, source, max(each["date"] for each in known))
    low, high = (f(each.get(end, each["price"]) for each in known) for f, end in ((min, "min"), (max, "max")))
    return found | {"min": min(found["min"], low), "max": max(found["max"], high)}


def _estimate(price: float, source: str, day: str | None) -> dict[str, Any]:
    found = {"price": price} | _range(price, price, SCREENING)
    return found | ({"date": day} if day else {}) | {"source": f"{source}; range by {SCREENING.name}"}


def _range(low: float, high: float, accuracy: Accuracy) -> dict[str, Any]:
    return {"min": round(low * accuracy.low), "max": round(high * accuracy.high)}


def _not_below_its_gpus(entry: dict[str, Any], record: dict[str, Any]) -> dict[str, Any]:
    gpus = _gpu_price(record)
    if gpus is None or "min" not in entry:
        return entry
    cost = gpus.get("min", gpus["price"]) * _number(record["gpus"])
    return entry | {"min": max(entry["min"], min(cost, entry["price"]))}


def _gpu_price(record: dict[str, Any]) -> dict[str, Any] | None:
    path = DATA / "gpu" / f"{record.get('gpu')}.yaml"
    if not path.is_file():
        return None
    gpu = yaml.safe_load(path.read_text("utf-8"))
    gpu["price_indications"] = [
        each for each in gpu.get("price_indications", ()) if "server" not in str(each.get("what"))
    ]
    return _published(gpu)


def _rate(record: dict[str, Any]) -> float:
    """Gb/s of a part: of a module by its rate, of others by its ports."""
    return _number(record.get("rate_gbps")) or _number(record.get("ports")) * _number(record.get("port_gbps"))


def _number(value: Any) -> float:
    stated = value.get("value") if isinstance(value, dict) else value
    return stated if isinstance(stated, int | float) else 0


def _is_of_part(indication: dict[str, Any]) -> bool:
    return bool(indication["currency"] == CURRENCY and "used" not in str(indication.get("what")))


def _day(date: Any) -> str | None:
    """The first day of what a date names: a day, a month, a year, the middle of one."""
    if date is None:
        return None
    text = str(date)
    if text.startswith("mid-"):
        return f"{text.removeprefix('mid-')}-07-01"
    return text + "2026-01-01"[len(text) :]


def _flow(entry: dict[str, Any]) -> str:
    text = yaml.safe_dump(entry, default_flow_style=True, sort_keys=False, allow_unicode=True, width=10**6)
    return text.strip()


if __name__ == "__main__":
    BOOK.write_text(book(), "utf-8")
