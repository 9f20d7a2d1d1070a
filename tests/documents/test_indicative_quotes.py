"""Prices that nobody offers, and bills of which few lines have a price: neither is called a total, nor signed."""

from __future__ import annotations

import json
import re
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from openpyxl import load_workbook

from bomgen.output.writer import render
from bomgen.results.result import Report, result
from bomgen.workflow.pipeline import work_out
from bomgen.workflow.plan_files import PlanFile

SIGNED = "For the customer"


def built(folder: Path, quote: dict[str, Any], servers: int = 1, **keys: Any) -> Report:
    """The report of a few servers, which need no network, with some terms."""
    plan = {"bomgen": 1, "name": "x", "cluster": {"gpu": "h100-sxm", "servers": servers}, **keys, "quote": quote}
    return work_out(PlanFile("plan.yaml", json.dumps(plan).encode(), folder, folder))


def quotes(report: Report) -> dict[str, str]:
    """The text of a quote by format, with plain blanks."""
    files = render(report, ("md", "html", "xlsx"))
    found = {name: files[f"quote.{name}"].decode() for name in ("md", "html")}
    book = load_workbook(BytesIO(files["quote.xlsx"]), data_only=True)
    found["xlsx"] = "\n".join(str(cell.value) for sheet in book for row in sheet for cell in row if cell.value)
    return {name: re.sub("[\u00a0\u202f]", " ", text) for name, text in found.items()}


def test_a_total_of_indications_is_a_range(tmp_path: Path) -> None:
    """One DGX H100 of 270 000 USD in 2023 and 6 power cords of 20 USD, 10 to 102.

    By the server's age 50 % more, and not less than 8 GPUs of 30 000 USD and 8 NICs of 1 599 USD.
    """
    report = built(tmp_path, {"price_book": "indicative"})
    totals = result(report)["totals"]
    assert (totals["amount"], totals["low"], totals["high"]) == ("270120.00", "252852.00", "405612.00")
    for name, text in quotes(report).items():
        assert SIGNED not in text, name
        assert "Prices are indications from published sources and not an offer" in text, name
    said = "Indicative total, not an offer: 252,852.00 USD to 405,612.00 USD"
    assert said in quotes(report)["md"].replace("**", "")


def test_an_own_price_takes_the_place_of_an_indication(tmp_path: Path) -> None:
    """Where no indication is left, the document is a quotation that can be signed."""
    (tmp_path / "own.csv").write_text("part,price,currency\ndgx-h100,210000,USD\ncord-c20,15,USD\n", "utf-8")
    text = quotes(built(tmp_path, {"price_book": ["indicative", "own.csv"]}))
    assert all(SIGNED in each and "210,090.00" in each.replace("210090", "210,090.00") for each in text.values())


@pytest.mark.parametrize(("priced", "total"), [(1, False), (2, True)])
def test_few_prices_are_not_called_a_total(tmp_path: Path, priced: int, total: bool) -> None:
    """Of four charged lines one is fewer than half, and two are not."""
    charges: list[dict[str, Any]] = [{"kind": "installation", "part": "none"}, {"kind": "training", "part": "none"}]
    charges += [{"kind": "freight", "price": 100}] if priced == 2 else [{"kind": "freight", "part": "none"}]
    (tmp_path / "own.csv").write_text("part,price,currency\ndgx-h100,210000,USD\n", "utf-8")
    text = quotes(built(tmp_path, {"price_book": "own.csv", "charges": charges}))
    assert ("1 of 4 lines priced" in text["md"]) != total
    assert ("Total: at least" in text["md"]) == total
    assert all((SIGNED in each) == total for each in text.values())


@pytest.mark.parametrize(("language", "title"), [("en", "Bill of materials"), ("zh", "配置清单")])
def test_a_bill_without_prices_is_no_quotation(tmp_path: Path, language: str, title: str) -> None:
    """It is headed as what it is, and there is nothing to sign."""
    text = quotes(built(tmp_path, {"language": language}))
    assert f"**{title}**" in text["md"].split("##")[0]
    assert all(SIGNED not in each for each in text.values())


def test_a_base_may_name_the_built_in_prices(tmp_path: Path) -> None:
    """The name is no path that depends on the folder of a file."""
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "base.yaml").write_text("quote: {price_book: indicative}\n", "utf-8")
    content = b"bomgen: 1\nname: x\nextends: shared/base.yaml\ncluster: {gpu: h100-sxm, servers: 1}\n"
    assert work_out(PlanFile("plan.yaml", content, tmp_path, tmp_path)).quote.indicative
