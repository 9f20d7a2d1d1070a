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
    """One DGX H100 of 300 000 to 460 000 USD in 2026, and 270 000 in 2023; its power cords are in the box."""
    report = built(tmp_path, {"price_book": "indicative"})
    totals = result(report)["totals"]
    assert (totals["amount"], totals["low"], totals["high"]) == ("380000.00", "270000.00", "460000.00")
    for name, text in quotes(report).items():
        assert SIGNED not in text, name
        assert "Prices are indications from published sources and not an offer" in text, name
    said = "Indicative total, not an offer: 270,000 to 460,000 USD"
    assert said in quotes(report)["md"].replace("**", "")


@pytest.mark.parametrize(
    ("language", "total", "period", "undated"),
    [
        ("en", "1.6 to 2.8 million USD", "Price dates: June 2026.", "**Indicative prices (undated)**"),
        ("zh", "160 至 280 万 USD", "价格日期：2026年6月。", "**参考价格（未注明日期）**"),
    ],
)
def test_indications_say_from_when_they_are(
    tmp_path: Path, language: str, total: str, period: str, undated: str
) -> None:
    """Six servers of 270,000 to 460,000 USD; a range is widened to two digits, also on the page.

    The clock is never read: without `quote.date` the quote is undated.
    """
    report = built(tmp_path, {"price_book": "indicative", "language": language}, servers=6)
    text = quotes(report)
    assert all(total in each and period in each for each in text.values())
    assert undated in text["md"]
    dated = quotes(built(tmp_path, {"price_book": "indicative", "date": "2026-11-20"}))
    assert "undated" not in dated["md"]


def test_an_indication_without_a_date_is_old(tmp_path: Path) -> None:
    """The L40S has none, whatever the date of the quote."""
    server = {"name": "Host", "part_number": "host", "gpus": 8, "gpus_included": False}
    report = built(tmp_path, {"price_book": "indicative"}, cluster={"gpu": "l40s", "server": server, "servers": 1})
    [problem] = [each for each in report.problems if each.rule == "old-price"]
    assert "1 price in Price indications" in problem.message
    assert ", that of l40s, has no date and is treated as out of date; request new prices" in problem.message


def test_an_own_price_takes_the_place_of_an_indication(tmp_path: Path) -> None:
    """Where no indication is left, the document is a quotation that can be signed."""
    (tmp_path / "own.csv").write_text("part,price,currency\ndgx-h100,210000,USD\n", "utf-8")
    text = quotes(built(tmp_path, {"price_book": ["indicative", "own.csv"]}))
    assert all(SIGNED in each and "210,000.00" in each.replace("210000", "210,000.00") for each in text.values())


@pytest.mark.parametrize(("priced", "total"), [(1, False), (2, True)])
def test_few_prices_are_not_called_a_total(tmp_path: Path, priced: int, total: bool) -> None:
    """Of four charged lines one is fewer than half, and two are not."""
    charges: list[dict[str, Any]] = [{"kind": "installation", "part": "none"}, {"kind": "training", "part": "none"}]
    charges += [{"kind": "freight", "price": 100}] if priced == 2 else [{"kind": "freight", "part": "none"}]
    (tmp_path / "own.csv").write_text("part,price,currency\ndgx-h100,210000,USD\n", "utf-8")
    text = quotes(built(tmp_path, {"price_book": "own.csv", "charges": charges}))
    assert ("1 of 4 lines priced" in text["md"]) != total
    assert ("Total: at least" in text["md"]) == total
    assert all(("Priced lines only (1 of 4)" in each) != total for each in text.values())
    assert ("at least" in text["html"], "Total, at least" in text["xlsx"]) == (total, total)
    assert all((SIGNED in each) == total for each in text.values())


@pytest.mark.parametrize(
    ("language", "headline", "unpriced", "signed"),
    [
        ("en", "Prices: 2 of 3 lines priced, without the GPU servers", "is not the price of the order", SIGNED),
        ("zh", "价格：3 项中已报价 2 项，不含GPU 服务器", "不是订单总价", "客户"),
    ],
)
def test_a_sum_without_the_gpu_servers_is_no_total(
    tmp_path: Path, language: str, headline: str, unpriced: str, signed: str
) -> None:
    """Freight and training have a price, and the servers, nearly all of the cost, do not; from stock they need none."""
    charges = [{"kind": "freight", "price": 100}, {"kind": "training", "price": 100}]
    terms = {"charges": charges, "language": language}
    text = quotes(built(tmp_path, terms))
    assert headline in text["md"].replace("**", "")
    assert all(SIGNED not in each and "签字" not in each for each in text.values())
    assert "200.00" not in text["md"].partition("## ")[0]
    assert all(unpriced in each for each in text.values())
    assert headline in text["xlsx"]
    owned = quotes(built(tmp_path, terms, stock={"dgx-h100": 1}))
    assert "200.00" in owned["md"].partition("## ")[0]
    assert all(signed in each for each in owned.values())


def test_a_sum_without_the_gpu_cards_is_no_total(tmp_path: Path) -> None:
    """Cards are lines of their own in servers that are sold without them."""
    (tmp_path / "own.csv").write_text("part,price,currency\nhost,30000,USD\n", "utf-8")
    server = {"name": "Host", "part_number": "host", "gpus": 8, "gpus_included": False}
    report = built(tmp_path, {"price_book": "own.csv"}, cluster={"gpu": "l40s", "server": server, "servers": 1})
    assert "Prices: 1 of 2 lines priced, without the GPUs" in quotes(report)["md"].replace("**", "")


@pytest.mark.parametrize(
    ("language", "said"),
    [
        (
            "en",
            "Required parts not on the bill, to be selected or quoted: 3. They are listed under|not include: storage",
        ),
        ("zh", "另有 3 种必需配套件不在配置清单内|本报价不包含：存储系统"),
    ],
)
def test_the_cover_says_what_the_bill_lacks(tmp_path: Path, language: str, said: str) -> None:
    """Besides that every charged line has a price: the required parts that are not on the bill, and what is missing."""
    (tmp_path / "own.csv").write_text("part,price,currency\ndgx-gb200-nvl72,3000000,USD\n", "utf-8")
    cluster = {"gpu": "gb200", "server": "dgx-gb200-nvl72", "racks": 1}
    files = quotes(built(tmp_path, {"price_book": "own.csv", "language": language}, cluster=cluster))
    covers = {"md": files["md"].partition("## ")[0], "html": files["html"].partition("<h2")[0], "xlsx": files["xlsx"]}
    for name, cover in covers.items():
        for sentence in said.split("|"):
            assert sentence in cover, name


@pytest.mark.parametrize(
    ("charged", "said"),
    [
        (["support"], "software licences, freight, installation and other services"),
        (["freight"], "support contracts, installation and other services"),
        (["freight", "installation"], "software licences, support contracts"),
    ],
)
def test_a_charge_does_not_promise_the_other_services(tmp_path: Path, charged: list[str], said: str) -> None:
    """Support that is sold does not mean that freight and installation are."""
    text = quotes(built(tmp_path, {"charges": [{"kind": kind, "price": 100} for kind in charged]}))["md"]
    without = text.partition("This quotation does not include: ")[2].partition("\n")[0]
    assert without.removesuffix(".").removesuffix(", tax").endswith(said)


@pytest.mark.parametrize(
    ("language", "title"), [("en", "Bill of materials (undated)"), ("zh", "配置清单（未注明日期）")]
)
def test_a_bill_without_prices_is_no_quotation(tmp_path: Path, language: str, title: str) -> None:
    """It is headed as what it is, and there is nothing to sign."""
    text = quotes(built(tmp_path, {"language": language}))
    assert f"**{title}**" in text["md"].split("##")[0]
    assert all(SIGNED not in each for each in text.values())


@pytest.mark.parametrize(
    ("language", "share"), [("en", "7 % of the hardware after discount, estimate"), ("zh", "硬件未税金额的 7%（估算）")]
)
def test_support_without_a_share_is_an_estimate(tmp_path: Path, language: str, share: str) -> None:
    """Three years at the assumed 7 % of 210 000 USD: the quote marks it, the report cites it."""
    (tmp_path / "own.csv").write_text("part,price,currency,source\ndgx-h100,210000,USD,list\n", "utf-8")
    charges = [{"kind": "support", "years": 3}]
    report = built(tmp_path, {"price_book": "own.csv", "language": language, "charges": charges, "status": "firm"})
    data = result(report)
    [support] = [line for line in data["lines"] if line["role"] == "support"]
    assert (support["amount"], support["doubts"]) == ("44100.00", ["estimated"])
    name = "Support for a year, as a share of the hardware"
    assert [each["value"] for each in data["assumptions"] if each["name"] == name] == [0.07]
    assert all(share in text for text in quotes(report).values())
    assert [problem.rule for problem in report.problems].count("firm-estimate") == 1
    given = built(tmp_path, {"price_book": "own.csv", "charges": [{**charges[0], "share": "7%"}]})
    assert "estimate" not in quotes(given)["md"]


@pytest.mark.parametrize(("share", "warned"), [("30%", False), ("31%", True)])
def test_support_beyond_any_contract_is_a_warning(tmp_path: Path, share: str, warned: bool) -> None:
    """Contracts cost up to 30 % of the hardware a year (TechTarget)."""
    report = built(tmp_path, {"charges": [{"kind": "support", "years": 3, "share": share}]})
    assert ("charge" in [problem.rule for problem in report.problems]) == warned


def test_a_base_may_name_the_built_in_prices(tmp_path: Path) -> None:
    """The name is no path that depends on the folder of a file."""
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "base.yaml").write_text("quote: {price_book: indicative}\n", "utf-8")
    content = b"bomgen: 1\nname: x\nextends: shared/base.yaml\ncluster: {gpu: h100-sxm, servers: 1}\n"
    assert work_out(PlanFile("plan.yaml", content, tmp_path, tmp_path)).quote.indications
