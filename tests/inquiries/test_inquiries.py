"""Inquiries of late 2026, written as plans from the README and the manual alone: each is a complete, honest order."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import bomgen
from bomgen.core.diagnostics import PlanErrors
from bomgen.output.writer import render
from bomgen.results.result import Report
from bomgen.workflow.pipeline import work_out
from bomgen.workflow.plan_files import open_plan

FOLDER = Path(__file__).parent
REFUSED = {"b200-colocation": "rack-power"}
"""Inquiries that nothing can meet, by the rule that says why: 14 kW of a server do not go into 12 kW of a rack."""
PLANS = sorted(path for path in FOLDER.glob("*.yaml") if path.stem not in REFUSED)


@pytest.fixture(scope="module", params=PLANS, ids=lambda path: path.stem)
def report(request: pytest.FixtureRequest) -> Report:
    """The result of an inquiry."""
    return work_out(open_plan(str(request.param), None))


def test_each_line_can_be_ordered(report: Report) -> None:
    """No line lacks a part, and no link lacks one; what is a placeholder may be of any make."""
    assert [line.id for line in report.bill.lines if line.part is None and not line.charge] == []
    assert [problem for problem in report.problems if problem.rule in ("no-part-known", "generic", "inline-part")] == []


def test_nothing_is_missing_from_the_order(report: Report) -> None:
    """Cards that the design uses are bought or come with the servers; open items stand in the quote."""
    data: dict[str, Any] = json.loads(render(report, ["json"])["bom.json"])
    page = render(report, ["quote.md"])["quote.md"].decode()
    for item in data["not_on_bill"]:
        names = [part.name for found in report.bill.open_items for part in found.parts]
        assert any(name in page for name in names) or report.plan.quote.language != "en", item


@pytest.mark.parametrize(("name", "servers", "cards"), [("l40s-two-cards", 1, 2), ("l40s-n-plus-one", 3, 1)])
def test_chassis_hold_the_cards_that_the_workload_needs(name: str, servers: int, cards: int) -> None:
    """A plan without a size buys as many servers and cards in each as its load needs."""
    cluster = work_out(open_plan(str(FOLDER / f"{name}.yaml"), None)).design
    assert (cluster.sizing.servers.value, cluster.plan.cluster.server.gpus.value) == (servers, cards)


def test_the_users_that_an_inquiry_names_are_answered() -> None:
    """The quote says how many can work at a time beside the number asked for."""
    quote = render(work_out(open_plan(str(FOLDER / "l40s-two-cards.yaml"), None)), ["quote.md"])["quote.md"].decode()
    [row] = [line for line in quote.splitlines() if "users at a time" in line]
    asked, offered = (int(cell.split()[0]) for cell in row.split("|")[2:4])
    assert asked == 15 <= offered
    assert "| met |" in row


@pytest.mark.parametrize(("servers", "cards", "warned"), [(1, 2, True), (2, 1, False), (3, 1, False)])
def test_a_spare_replica_is_in_a_server_of_its_own(servers: int, cards: int, warned: bool) -> None:
    """Two replicas, of which one carries the load: a server with both leaves none when it fails."""
    inference = {"model": "llama-2-13b", "precision": "fp8", "concurrency": 4, "spare_replicas": 1}
    cluster = {"gpu": "l40s", "server": {"part": "dell-xe7740-l40s", "gpus": cards}, "servers": servers}
    checked = bomgen.check({"bomgen": 1, "name": "a", "workload": {"inference": inference}, "cluster": cluster})
    assert any(problem.rule == "spare-replicas" for problem in checked) == warned


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_built_is_refused(name: str) -> None:
    """An inquiry beyond its site is refused with the number that is exceeded."""
    with pytest.raises(PlanErrors) as refused:
        work_out(open_plan(str(FOLDER / f"{name}.yaml"), None))
    assert [problem.rule for problem in refused.value.problems] == [REFUSED[name]]
