"""The price indications of the catalogue as a price book: `python tests/catalog/indicative_prices.py` writes it anew.

Several indications of a part are a range, with the newest as the price. Left out are amounts in other currencies,
of other things than the part (an indication that says `what`, of a cable by its length), and of used parts.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
DATA = ROOT / "bomgen" / "data"
BOOK = DATA / "indicative-prices.yaml"
CURRENCY = "USD"
KINDS = ("accessory", "nic", "server", "switch", "transceiver")
"""Parts that are on bills as they are; GPUs come in servers, and a fibre's price is that of its length."""
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
        for path in sorted((DATA / kind).glob("*.yaml")):
            record = yaml.safe_load(path.read_text("utf-8"))
            given = [each for each in record.get("price_indications", ()) if _is_of_part(each)]
            if not given:
                continue
            newest = max(given, key=lambda each: (_day(each.get("date")) or "", each["amount"]))
            amounts = [each["amount"] for each in given]
            found = {"part": path.stem, "price": newest["amount"]}
            if min(amounts) < max(amounts):
                found |= {"min": min(amounts), "max": max(amounts)}
            if day := _day(newest.get("date")):
                found["date"] = day
            titles = [record["sources"][name]["title"] for name in newest["source"]]
            yield found | {"source": "; ".join(filter(None, (newest.get("what"), *titles)))}


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
