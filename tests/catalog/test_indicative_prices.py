"""The price book that is made of the catalogue."""

from __future__ import annotations

import csv
from datetime import date
from math import floor
from pathlib import Path
from statistics import median
from typing import Any

import price_rules
import yaml
from indicative_prices import BOOK, DATA, FLASH_PRICE, READ, TB, YEAR, book, is_of_part
from price_rules import CABLES, FIBRE_DATE, LC_ADAPTER, MPO_ADAPTER

from bomgen.catalog.files import Catalog, id_at_length
from bomgen.catalog.part_file_checks import with_base
from bomgen.core.schema import check_schema
from bomgen.core.yaml_source import read

PUBLISHED = Path(__file__).with_name("published-prices.csv")
SERVERS_WITH_PRICED_PARTS = 70
"""Of 128: those whose GPU or NIC has a price."""


def test_the_price_book_is_what_the_catalogue_says() -> None:
    """`make build` writes it."""
    assert BOOK.read_text("utf-8") == book()


def test_prices_of_used_parts_and_of_whole_systems_are_left_out() -> None:
    """Whatever else they say; that of a compatible module counts."""
    prices = (price | {"currency": "USD", "what": "as new"} for price in ({}, {"condition": "compatible"}))
    assert all(map(is_of_part, prices))
    assert not any(is_of_part({"currency": "USD", "condition": condition}) for condition in ("used", "system"))
    assert not is_of_part({"currency": "EUR"})


def test_what_a_price_is_of_is_a_field() -> None:
    """A record whose text says it has the field, too; the schema knows no other condition."""
    words = {"used": "used", "a server with": "system"}
    for path in sorted(DATA.glob("*/*.yaml")):
        record = _record(path)
        for price in record.get("price_indications", ()) if isinstance(record, dict) else ():
            said = str(price.get("what"))
            assert all(price.get("condition") == known for word, known in words.items() if said.startswith(word)), path
    [problem] = check_schema(
        read("name: x\nprice_indications: [{amount: 1, currency: USD, condition: new}]\n", "x.yaml"), "part/gpu"
    )
    assert "'new' is not a valid value" in problem.message


def test_no_server_costs_less_than_its_gpus_and_nics() -> None:
    """At their lowest prices, by every record: neither the price nor the low end of its range."""
    seen = 0
    for path in sorted((DATA / "server").glob("*.yaml")):
        record, entry = _record(path), PRICES.get(path.stem)
        if entry is None:
            continue
        parts = [(record["gpu"], _value(record["gpus"]))]
        if record.get("nics_included") is not False:
            parts.append((record.get("nic"), _value(record["nics"]) or 0))
        least = sum(_least(PRICES[part]) * count for part, count in parts if part in PRICES)
        assert _least(entry) >= floor(least), path.stem
        seen += least > 0
    assert seen > SERVERS_WITH_PRICED_PARTS


def test_no_storage_costs_less_than_its_flash() -> None:
    """By its usable capacity."""
    for path in sorted((DATA / "storage").glob("*.yaml")):
        capacity = _value(_record(path).get("capacity"))
        if isinstance(capacity, str) and path.stem in PRICES:
            amount, unit = capacity.split()
            assert _least(PRICES[path.stem]) >= floor(float(amount) * TB[unit] * FLASH_PRICE), path.stem


def test_no_cable_costs_less_than_a_shorter_one_and_no_splitter_less_than_its_straight_cable() -> None:
    """Of the same kind and rate."""
    straight = dict[tuple[str, Any, float], float]()
    splitters = list[tuple[str, tuple[str, Any, float], float]]()
    for path in sorted((DATA / "cable").glob("*.yaml")):
        record = _record(path)
        prices = [(length, _of_length(path.stem, length)) for length in record["lengths_m"] or ()]
        assert [price for _, price in prices] == sorted(price for _, price in prices), path.stem
        for length, price in prices:
            key = (record["kind"], _value(record.get("rate_gbps")) or record.get("connector"), length)
            if record["splitter"] and "far_connector" not in record:
                splitters.append((path.stem, key, price))
            elif not record["splitter"]:
                straight[key] = price
    for part, key, price in splitters:
        assert price >= straight.get(key, 0), part


def test_no_panel_costs_less_than_its_adapters() -> None:
    """Each port has one."""
    for path in sorted((DATA / "panel").glob("*.yaml")):
        record = _record(path)
        adapter = LC_ADAPTER if record["connectors"][0].startswith("lc") else MPO_ADAPTER
        assert PRICES[path.stem]["price"] >= adapter * _value(record["ports"]), path.stem


def test_the_anchors_of_rules_are_not_older_than_a_year() -> None:
    """Those with a date; a rule whose anchor expires needs a new one."""
    dated = [(name, known.day) for name, known in vars(price_rules).items() if isinstance(known, price_rules.Known)]
    dated += [(f"{kind} {rate}", seen.day) for kind, by_rate in CABLES.items() for rate, seen in by_rate.items()]
    dated.append(("fibres", FIBRE_DATE))
    assert [(name, day) for name, day in dated if day and date.fromisoformat(day) < READ - YEAR] == []


def test_racks_of_one_kind_cost_alike() -> None:
    """Whoever sells them: the GB300 NVL72 of NVIDIA, Dell and Supermicro."""
    racks = ("gb300-nvl72", "dell-xe9712", "smc-srs-gb300-nvl72")
    assert len({(PRICES[rack]["price"], PRICES[rack]["min"]) for rack in racks}) == 1


def test_indications_are_near_published_prices_of_2026() -> None:
    """Prices that no rule and no record rests on: the median ratio, the farthest, and how many the ranges hold."""
    rows = list(csv.DictReader(PUBLISHED.read_text("utf-8").splitlines()))
    ratios = {(row["part"], row["price"]): PRICES[row["part"]]["price"] / float(row["price"]) for row in rows}
    held = [least <= float(price) <= most for part, price in ratios for least, most in [_shown(PRICES[part])]]
    assert 0.9 <= median(ratios.values()) <= 1.1
    assert {row: ratio for row, ratio in ratios.items() if not 1 / 1.6 <= ratio <= 1.6} == {}
    assert sum(held) >= 0.85 * len(held)
    assert all(row["day"].startswith("2026") and row["source"] for row in rows)


def test_a_range_holds_its_price() -> None:
    """From its lower to its upper end."""
    for entry in PRICES.values():
        assert entry.get("min", 0) <= entry["price"] <= entry.get("max", entry["price"]), entry["part"]


def test_an_old_or_undated_price_is_marked_and_is_a_range() -> None:
    """By a class of estimates that its source names."""
    a_year_ago = READ.replace(year=READ.year - 1).isoformat()
    for entry in PRICES.values():
        if entry.get("date", "") < a_year_ago:
            assert entry["min"] < entry["max"], entry["part"]
            assert "AACE" in entry["source"], entry["part"]


PRICES: dict[str, dict[str, Any]] = {each["part"]: each for each in yaml.safe_load(BOOK.read_text("utf-8"))["prices"]}


def _record(path: Path) -> Any:
    record = yaml.safe_load(path.read_text("utf-8"))
    return with_base(path.parent.name, record) if isinstance(record, dict) else record


def _value(stated: Any) -> Any:
    return stated["value"] if isinstance(stated, dict) else stated


def _least(entry: dict[str, Any]) -> float:
    return float(entry.get("min", entry["price"]))


def _shown(entry: dict[str, Any]) -> tuple[float, float]:
    """Return the range that a quote shows; that of an estimate without one is assumed."""
    below, above = (float(Catalog().assumption(f"price-estimate-{end}").value) for end in ("below", "above"))
    return entry.get("min", entry["price"] * (1 - below)), entry.get("max", entry["price"] * (1 + above))


def _of_length(part: str, length: float) -> float:
    named = id_at_length(part, length)
    return float(PRICES[named if named != part else f"{part}-{length}m"]["price"])
