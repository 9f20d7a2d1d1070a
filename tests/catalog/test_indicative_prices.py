"""The price book that is made of the catalogue."""

from __future__ import annotations

from typing import Any

import yaml
from indicative_prices import BOOK, CURRENCY, DATA, READ, book


def test_the_price_book_is_what_the_catalogue_says() -> None:
    """`make docs` writes it."""
    assert BOOK.read_text("utf-8") == book()


def test_no_server_costs_less_than_its_gpus() -> None:
    """The GPUs at their lowest indication."""
    for path in sorted((DATA / "server").glob("*.yaml")):
        record = yaml.safe_load(path.read_text("utf-8"))
        gpu = DATA / "gpu" / f"{record.get('gpu')}.yaml"
        gpus = record.get("gpus")
        count = gpus["value"] if isinstance(gpus, dict) else gpus
        entry = PRICES.get(path.stem)
        if entry is None or not gpu.is_file() or not count:
            continue
        for amount in _amounts_of_one(yaml.safe_load(gpu.read_text("utf-8")))[:1]:
            assert entry["price"] >= count * amount, path.stem


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


def _amounts_of_one(gpu: dict[str, Any]) -> list[float]:
    """The lowest price first."""
    given = gpu.get("price_indications", ())
    return sorted(
        each["amount"] for each in given if each["currency"] == CURRENCY and "server" not in str(each.get("what"))
    )
