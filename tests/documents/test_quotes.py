"""What a quote shows of whole plans: drawings, names and bounds."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from plan_cases import read_cases

from bomgen.output.writer import render
from bomgen.results.result import Report
from bomgen.results.what_if import with_oversubscription
from bomgen.workflow.pipeline import work_out
from bomgen.workflow.plan_files import PlanFile

Worked = Callable[[Mapping[str, Any]], Report]
FABRIC = {"compute": {"switch": "qm9700"}}
CORNERS = Path(__file__).parents[1] / "corners"


def plan(fabrics: Mapping[str, Any], **cluster: Any) -> dict[str, Any]:
    """A plan of DGX H100 servers."""
    return {"bomgen": 1, "name": "q", "cluster": {"gpu": "h100-sxm", "servers": 8} | cluster, "fabrics": fabrics}


def shown(report: Report, *formats: str) -> str:
    """The first of the files as text."""
    return next(iter(render(report, formats).values())).decode("utf-8")


@pytest.mark.parametrize("fabric", [FABRIC["compute"], {"topology": "torus", "link": "400G"}])
def test_every_fabric_is_drawn_in_html(worked: Worked, fabric: Mapping[str, Any]) -> None:
    """A torus has a drawing as the others have."""
    assert '<figure id="drawing-' in shown(worked(plan({"compute": fabric})), "report.html")


def test_markdown_leads_to_drawings_that_are_there(worked: Worked) -> None:
    """Markdown holds no drawing: it links to the file beside it, or keeps silent."""
    report = worked(plan(FABRIC))
    assert "Drawing" not in shown(report, "report.md")
    assert "Drawing: [Fabric compute](fabric-compute.svg)" in shown(report, "report.md", "svg")


def test_machines_are_called_as_given(worked: Worked) -> None:
    """Tables name machines beside the servers as the plan does, not as paths do."""
    hosts = [{"name": "Login & Transfer", "count": 2}]
    page = shown(worked(plan({"compute": {**FABRIC["compute"], "hosts": hosts}})), "report.md")
    assert "Login" in page
    assert "login-transfer:" not in page


def test_alternatives_count_boxes_of_switches(worked: Worked) -> None:
    """Line cards and power supplies fill a chassis: one 7808R3 with its cards is one switch, and so are two QM9700."""
    given = plan({"compute": {"topology": "single-switch", "switch": "7808r3"}}) | {
        "quote": {"alternatives": [{"name": "four racks", "set": {"cluster.servers": 9}}]}
    }
    report = worked(given)
    assert sum(line.pieces for line in report.bill.lines if line.category == "switch") > 1
    assert re.search(r"\| Switches \| 1 \| 1 \|", shown(report, "report.md"))


def test_switches_partly_from_stock_are_counted_and_explained(worked: Worked) -> None:
    """Switches from stock are switches too, and both lines of a tier lead to the derivation of its number."""
    given = plan(FABRIC) | {
        "cluster": {"gpu": "h100-sxm", "servers": 128},
        "stock": {FABRIC["compute"]["switch"]: 33},
        "quote": {"alternatives": [{"name": "other", "set": {"spares.switch": 1}}]},
    }
    report = worked(given)
    lines = [line for line in report.bill.lines if line.category == "switch"]
    needed = sum(tier.count.value for tier in report.design.fabrics[0].fabric.tiers)
    assert len(lines) > 2
    assert sum(line.pieces for line in lines) == needed
    assert {line.path for line in lines} == {
        f"fabrics.compute.switches.{tier.name}" for tier in report.design.fabrics[0].fabric.tiers
    }
    assert f"| Switches | {needed} | {needed + 1} |" in shown(report, "report.md")


@pytest.mark.parametrize("document", ["quote.md", "report.md"])
def test_nothing_comes_to_zero_where_nothing_has_a_price(worked: Worked, document: str) -> None:
    """What is in stock costs nothing; what the rest costs is not known, and no sum, total or share says 0."""
    given = plan(FABRIC) | {
        "cluster": {"gpu": "h100-sxm", "servers": 128},
        "stock": {FABRIC["compute"]["switch"]: 33},
        "quote": {"alternatives": [{"name": "other", "set": {"spares.switch": 1}}]},
    }
    page = shown(worked(given), document)
    sums = [line for line in page.splitlines() if re.search(r"(?<![\d.,])0\.00", line)]
    assert sums == [line for line in sums if "from stock, not charged" in line]


@pytest.mark.parametrize(
    ("language", "title", "other"),
    [("en", "## Rejected alternatives", "also fits"), ("zh", "## 未采用的备选", "也可行")],
)
def test_the_report_has_what_was_not_chosen(worked: Worked, language: str, title: str, other: str) -> None:
    """A choice with its alternatives, in the language of the report; the customer's quote has none of it."""
    report = worked(plan(FABRIC, servers=32) | {"quote": {"language": language}})
    page = shown(report, "report.md")
    assert title in page
    assert other in page
    assert title not in shown(report, "quote.md")


def test_a_planning_part_says_that_another_is_ordered(worked: Worked) -> None:
    """On the quote a generic module has more than no part number; a rack without one has that alone."""
    links = {kind: {"module": "generic-400g"} for kind in ("server-leaf", "leaf-spine")}
    report = worked(plan({"compute": {"switch": "7060dx5-64s", "links": links}}) | {"site": {}})
    page = shown(report, "quote.md")
    assert "placeholder; part number to be confirmed" in page
    assert re.search(r"to be confirmed \|[^|]*Rack", page)


@pytest.mark.parametrize(("language", "words"), [("en", "Power, at least"), ("zh", "最大功率下限")])
def test_power_without_that_of_some_machines_is_a_lower_bound(worked: Worked, language: str, words: str) -> None:
    """A sum that leaves machines out is no maximum: the headline says so."""
    hosts = [{"name": "box", "count": 1, "part": {"name": "Box"}}]
    given = plan({"compute": {**FABRIC["compute"], "hosts": hosts}}) | {"quote": {"language": language}}
    assert words in shown(worked(given), "report.md")
    assert words not in shown(worked(plan(FABRIC) | {"quote": {"language": language}}), "report.md")


def test_shares_of_hardware_without_all_prices_are_lower_bounds() -> None:
    """Freight and support are shares of what has a price; other charges are what they are, and say so."""
    case = read_cases(CORNERS / "corners.yaml")["charges-on-hardware-without-all-prices"]
    report = work_out(PlanFile("charged.yaml", case["plan"].encode(), CORNERS, CORNERS))
    charges = {line.line.id: line.least for line in report.quote.lines if line.line.charge}
    wanted = {
        "service.freight": True,
        "service.support": True,
        "service.installation": False,
        "software.manager": False,
    }
    assert charges == wanted
    page = shown(report, "md")
    assert "at least 35,032.50" in page


def test_what_an_oversubscription_would_save_is_that_of_the_plan_with_it(worked: Worked) -> None:
    """The report of a fabric at 1:1 says what 2:1 would take: the difference to the design of that plan."""
    plan = {
        "bomgen": 1,
        "name": "ratio",
        "cluster": {"gpu": "h100-sxm", "server": "dgx-h100", "servers": 64},
        "fabrics": {"compute": {"switch": "qm9700"}},
    }
    half = {**plan, "fabrics": {"compute": {"switch": "qm9700", "oversubscription": 2}}}
    switches, links = (
        [
            sum(tier.count.value for tier in fabric.tiers) if count == "switches" else fabric.links[1].count.value
            for fabric in (worked(each).design.fabrics[0].fabric for each in (plan, half))
        ]
        for count in ("switches", "links")
    )
    report = worked(plan)
    other = with_oversubscription(report, report.design.fabrics[0])
    assert other is not None
    assert (other.switches, other.links) == (switches[1] - switches[0], links[1] - links[0])
    assert other.switches < 0
    text = render(report, ("report.md",))["report.md"].decode("utf-8")
    assert f"the fabric would take: switches {other.switches}, links between switches {other.links}, " in text
    assert with_oversubscription(worked(half), worked(half).design.fabrics[0]) is None


@pytest.mark.parametrize(
    ("code", "on_bill", "refused"),
    [("en", "| to be confirmed | No part known", "not offered"), ("zh", "| 订货时确认 | 没有已知部件", "不在本报价内")],
)
def test_a_line_without_a_known_part_is_to_be_confirmed_in_the_notes_too(
    worked: Worked, code: str, on_bill: str, refused: str
) -> None:
    """The links are a line of the bill, so no note says that they are left out of the offer."""
    server = {"gpus": 8, "nics": 1, "port_gbps": 200}
    plan = {
        "bomgen": 1,
        "name": "unknown-links",
        "cluster": {"gpu": "a100-pcie-80", "server": server, "servers": 40},
        "fabrics": {"compute": {"switch": "qm8700"}},
        "quote": {"language": code},
    }
    quote = render(worked(plan), ("quote.md",))["quote.md"].decode("utf-8")
    assert on_bill in quote
    assert refused not in quote
    assert {"en": "is to be confirmed; no suitable part is known yet", "zh": "型号待订货时确认"}[code] in quote
