"""Templates for order forms: what they write is the bill, and what other programs read."""

# ruff: noqa: SIM300

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from bomgen.cli.command import main
from bomgen.output.user_templates import describe_templates, shipped
from bomgen.reading.price_lists import read_list

ROOT = Path(__file__).parents[2]
PLAN = ROOT / "plans" / "llama65b-quote.yaml"
COLUMNS = {
    "order-upload": ("Part Number", "Quantity", "Unit Price", "Discount %"),
    "cisco-upload": ("Part Number", "Quantity", "List Price", "Discount %"),
    "dell-upload": ("Manufacturer Part Number", "Quantity", "Unit Price", "Discount %"),
    "sap-requisition": ("ManPartNo", "Quantity", "Unit_Price", "Discount_Percent"),
}


@pytest.fixture(scope="module")
def built_orders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A quote with stock, discounts, services and spares, with every order file."""
    folder = tmp_path_factory.mktemp("orders")
    options = [option for name in COLUMNS for option in ("--template", name)]
    outcome = CliRunner().invoke(main, ["build", str(PLAN), "-f", "json", "-o", str(folder), *options])
    assert 0 == outcome.exit_code, outcome.output
    return folder / "llama65b-quote"


def bill(folder: Path) -> list[dict[str, Any]]:
    """The lines that are bought."""
    lines = json.loads((folder / "bom.json").read_text("utf-8"))["lines"]
    return [line for line in lines if not line["in_stock"]]


def test_each_template_says_what_it_writes() -> None:
    """The help of `build` lists them all, each with a line."""
    assert sorted(COLUMNS) == sorted(shipped())
    said = " ".join(CliRunner().invoke(main, ["build", "--help"]).stdout.split())
    assert [True] * len(COLUMNS) == [about in said for _, about in describe_templates()]


@pytest.mark.parametrize("name", COLUMNS)
def test_an_order_is_the_bill(name: str, built_orders: Path) -> None:
    """Pieces of every part with its spares, its price and its discount: amounts add up to those of the bill."""
    part, quantity, price, discount = COLUMNS[name]
    text = (built_orders / f"{name}.csv").read_text("utf-8")
    rows = list(csv.DictReader(io.StringIO(text), delimiter=";" if name.startswith("sap") else ","))
    found, wanted = Counter[str](), Counter[str]()
    for row in rows:
        found[row[part]] += int(row[quantity])
    numbered = [line for line in bill(built_orders) if line["sku"] or name != "cisco-upload"]
    for line in numbered:
        wanted[(line["sku"] or "").split(" / ")[0]] += line["quantity"] + line["spare"]
    assert wanted == found
    total = sum(
        (int(r[quantity]) * Decimal(r[price]) * (100 - Decimal(r[discount])) / 100).quantize(
            Decimal("0.01"), ROUND_HALF_UP
        )
        for r in rows
        if r[price]
    )
    # Each line of the bill is rounded by itself, and a row may be several.
    assert abs(total - sum(Decimal(line["amount"]) for line in numbered if line["amount"])) < len(numbered) * Decimal(
        "0.005"
    )


@pytest.mark.parametrize("name", ["order-upload", "dell-upload"])
def test_an_order_is_a_price_list(name: str, built_orders: Path) -> None:
    """What is written out is understood when it comes back with other prices."""
    content = (
        (built_orders / f"{name}.csv").read_bytes().replace(b"MQM9700-NS2F,QM9700,16,25000,12", b"X,QM9700,16,25000,12")
    )
    found = read_list(content, f"{name}.csv")
    prices = {entry["part"]: entry["price"] for entry in found.source.data["prices"]}
    assert (Decimal("1402.50"), Decimal(22500)) == (prices["MMA4Z00-NS"], prices["MQM9700-NS2F"])


def test_a_plan_may_name_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a plan as on the command line; a name that no template has is a path."""
    monkeypatch.chdir(tmp_path)
    text = "bomgen: 1\nname: a\ncluster: {gpu: h100-sxm, servers: 4}\ntemplates: %s\n"
    Path("plan.yaml").write_text(text % "order-upload", "utf-8")
    assert 0 == CliRunner().invoke(main, ["build", "plan.yaml", "-f", "json"]).exit_code
    assert "Part Number," == Path("dist/a/order-upload.csv").read_text("utf-8")[:12]
    Path("plan.yaml").write_text(text % "order-uplaod", "utf-8")
    outcome = CliRunner().invoke(main, ["check", "plan.yaml"])
    assert 1 == outcome.exit_code
    assert "plan.yaml:4:12: error: " in outcome.stderr
