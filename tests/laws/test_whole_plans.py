"""The laws of design on whole plans: whatever a plan asks for, it is refused at its line, or everything holds.

Each room has its laws in a file of its own; here they meet on plans that have all of it at once.
"""

# ruff: noqa: SIM300

from __future__ import annotations

import csv
import io
import json
import re
from collections import defaultdict
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from depth import examples
from hypothesis import event, example, given, settings
from openpyxl import load_workbook
from test_fabric_laws import count
from test_result_laws import again, figures_of, same
from test_wiring_laws import Rows, links_of
from test_wiring_laws import check as wired_as_billed
from whole_plans import Whole, whole_plans

from bomgen.core.diagnostics import PlanErrors
from bomgen.core.provenance import Derived
from bomgen.core.units import parse
from bomgen.design.assembly import BuiltFabric
from bomgen.output.writer import render
from bomgen.pricing.bill import Bill
from bomgen.pricing.quote import quote
from bomgen.results.result import Report
from bomgen.workflow.inputs import price_books_of, read_all
from bomgen.workflow.pipeline import work_out

TOLD = re.compile(
    r"(plan\.yaml|base\.yaml|book-\d\.(yaml|csv)):\d+:\d+: (error|warning): .+[;?] ?.* \[[a-z-]+\]", re.DOTALL
)
UPPER = ("leaf-spine", "spine-core")
PLANS = 25
"""Plans of which the most can be built."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the files of all examples."""
    return tmp_path_factory.mktemp("whole")


def built(whole: Whole, folder: Path) -> Report | None:
    """The result of a plan; None where it is refused, by problems at their lines."""
    file = whole.file(folder)
    try:
        report = work_out(file)
    except PlanErrors as errors:
        for problem in errors.problems:
            lines = (whole.files | {"plan.yaml": whole.text})[problem.mark.file].split("\n")
            assert 1 <= problem.mark.line <= len(lines)
            assert TOLD.fullmatch(str(problem)), str(problem)
        event(f"refused [{errors.problems[0].rule}]")
        return None
    event("built")
    return report


def ports_and_links(fabric: BuiltFabric, asked: Any) -> None:
    """Laws 1 and 2: the radix, the demand from below, the ratio asked; links from below are links from above."""
    shape = fabric.fabric
    for place, free in shape.free_ports.items():
        assert free.value >= 0, place
    for tier in shape.tiers:
        for fitted in tier.fitted:
            if len(tier.switch.groups) == 1:
                assert 0 <= count(fitted.down) + count(fitted.up) <= count(tier.radix)
    if shape.topology not in ("fat-tree", "rail-optimized", "rail-only"):
        return
    leaf, *_ = shape.tiers
    seated = sum(count(fitted.count) * count(fitted.down) for fitted in leaf.fitted)
    assert count(shape.endpoints) <= seated + count(shape.reserved_above)
    by_tier = asked if isinstance(asked, dict) else {"leaf": asked, "spine": asked}
    for tier in shape.tiers:
        if tier.oversubscription is not None and tier.name in by_tier:
            assert tier.oversubscription.value <= parse(by_tier[tier.name], "ratio")
    for lower, upper in pairwise(shape.tiers):
        [links] = [link for link in shape.links if link.ends == (lower.name, upper.name)]
        assert count(links.count) == sum(count(fitted.count) * count(fitted.up) for fitted in lower.fitted)
        assert count(links.count) == sum(count(fitted.count) * count(fitted.down) for fitted in upper.fitted)


def spread_evenly(rows: Rows) -> None:
    """Law 2: a switch has equally many links to each of the switches above it that it is joined to."""
    found: dict[tuple[str, str], dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for link in links_of(rows):
        if link["kind"] in UPPER and not any(link[f"{end}_device"].startswith("panel-") for end in "ab"):
            found[link["fabric"], link["a_device"]][link["b_device"]] += 1
    for (fabric, device), above in found.items():
        assert 1 == len(set(above.values())), (fabric, device, dict(above))


SHORT_COPPER = {
    "bomgen": 1,
    "name": "law",
    "cluster": {"gpu": "h100-sxm", "server": "hgx-h100-8-generic", "servers": 1},
    "fabrics": {
        "compute": {
            "switch": "qm9700",
            "topology": "rail-only",
            "hosts": [{"name": "login", "count": 1, "ports": 1}],
            "links": {"server-leaf": {"prefer": "one-fibre-length"}},
        }
    },
    "site": {"rack": {"pdus": 2, "power": "25 kW", "units": 42}},
}
"""Fibres of one length beside copper as long as its routes."""


@given(whole=whole_plans())
@example(whole=Whole(SHORT_COPPER, {}))
@settings(max_examples=examples(25))
def test_fabrics_of_whole_plans(folder: Path, whole: Whole) -> None:
    """Laws 1, 2, 4 and 5: ports, links, modules by the device, and the wiring that is delivered for them."""
    report = built(whole, folder)
    for each, plan in zip(report.each_cluster, each_plan(whole), strict=True) if report else ():
        for fabric in each.design.fabrics:
            asked = plan["fabrics"][fabric.plan.name]
            ports_and_links(fabric, asked.get("oversubscription", 1) if isinstance(asked, dict) else 1)
        if not whole.plan.get("stock"):
            rows = wired_as_billed(each, folder)
            spread_evenly(rows)


def each_plan(whole: Whole) -> list[dict[str, Any]]:
    """The clusters of a plan; one with a single cluster is that cluster."""
    return whole.plan.get("clusters") or [whole.plan]


@given(whole=whole_plans())
@settings(max_examples=examples(20))
def test_money_and_formulas_of_whole_plans(folder: Path, whole: Whole) -> None:
    """Laws 6 and 7: totals are sums whatever the order of lines; every formula printed gives its value."""
    report = built(whole, folder)
    if report is None:
        return
    lines = report.quote.lines
    totals = report.quote.totals
    amounts = [line.amount for line in lines if line.amount is not None]
    assert sum(amounts, Decimal(0)) + (totals.tax or 0) == (totals.amount or 0)
    plan = report.plan.quote
    books, _ = price_books_of(read_all(whole.file(folder)), plan.price_books)
    turned = quote(Bill(tuple(reversed(report.bill.lines))), plan, books)
    assert totals == turned.totals
    assert {line.line.id: line.amount for line in lines} == {line.line.id: line.amount for line in turned.lines}
    for line in lines:
        assert isinstance(line.line.quantity.value, int)
        assert line.line.quantity.value >= 0
    for each in (report, *report.alternatives):
        for figure in figures_of(each):
            if isinstance(figure.origin, Derived):
                assert same(figure.value, again(figure)), figure.origin.formula.name


@given(whole=whole_plans())
@settings(max_examples=examples(8))
def test_formats_of_whole_plans(folder: Path, whole: Whole) -> None:
    """Law 8: JSON, CSV, Excel, Markdown and HTML carry the same quantities and amounts; two builds are equal."""
    report = built(whole, folder)
    if report is None:
        return
    forms = ("json", "csv", "md", "html", "xlsx")
    files = render(report, forms)
    assert render(work_out(whole.file(folder)), forms) == files
    data = json.loads(files["bom.json"])
    of_json = [(line["id"], str(line["quantity"]), line["amount"] or "") for line in data["lines"]]
    table = csv.DictReader(io.StringIO(files["bom.csv"].decode("utf-8-sig")))
    assert of_json == [(row["id"], row["quantity"], row["amount"]) for row in table]
    total = data["totals"]["amount"]
    if not any(amount for _, _, amount in of_json):
        return  # without a price documents show no totals
    for name in ("report.md", "report.html"):
        text = re.sub(r"(?<=\d)[\s,\u202f](?=\d{3})", "", files[name].decode())
        assert total in text, name
        for _, _, amount in of_json:
            assert amount in text, name
    book = load_workbook(io.BytesIO(files["report.xlsx"]), data_only=True)
    cells = {
        Fraction(str(cell.value)).limit_denominator(10**6)
        for sheet in book.worksheets
        for row in sheet.iter_rows()
        for cell in row
        if isinstance(cell.value, int | float) and not isinstance(cell.value, bool)
    }
    for line in data["lines"]:
        assert Fraction(line["quantity"]) in cells
        assert line["amount"] is None or Fraction(line["amount"]) in cells
    assert Fraction(total) in cells


@given(whole=whole_plans())
@settings(max_examples=examples(15))
def test_more_servers_never_need_fewer_switches(folder: Path, whole: Whole) -> None:
    """Law 3: one server more never saves a switch; planes side by side are equal."""
    plan = whole.plan
    if "clusters" in plan or "servers" not in plan["cluster"]:
        return
    report = built(whole, folder)
    if report is None:
        return
    more = {**plan, "cluster": {**plan["cluster"], "servers": plan["cluster"]["servers"] + 1}}
    other = built(whole._replace(plan=more), folder)
    for fabric, larger in zip(report.design.fabrics, other.design.fabrics if other else (), strict=False):
        shape = fabric.fabric
        assert count(shape.switches) <= count(larger.fabric.switches), fabric.plan.name
        if shape.plane and shape.planes:
            assert count(shape.switches) == count(shape.planes) * count(shape.plane.switches)


def test_most_plans_can_be_built(folder: Path) -> None:
    """The laws above are looked at on plans that are built: four of five of what the strategy draws."""
    refused: list[str] = []

    @given(whole=whole_plans())
    @settings(max_examples=PLANS, database=None, derandomize=True)
    def look(whole: Whole) -> None:
        try:
            work_out(whole.file(folder))
        except PlanErrors as errors:
            refused.append(str(errors))

    look()
    assert len(refused) <= PLANS / 5, refused
