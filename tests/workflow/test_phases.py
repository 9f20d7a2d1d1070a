"""Phases of a plan: each is ordered beside what those before it installed, and tiers can be bought ahead."""

# ruff: noqa: SIM300

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from bomgen.cabling.types import Wiring
from bomgen.core.diagnostics import PlanErrors
from bomgen.core.language import language
from bomgen.documents.chapters.contents import document
from bomgen.documents.diff.difference import compare
from bomgen.documents.diff.side import compared_result_of
from bomgen.output.writer import render
from bomgen.pricing.bill_line import Line
from bomgen.results.result import Report, result
from bomgen.workflow.inputs import source_of
from bomgen.workflow.pipeline import list_cables, select_phase, work_out
from bomgen.workflow.plan_files import PlanFile

AHEAD = ["fabrics.compute.spine"]


def plan(*phases: Mapping[str, Any], **keys: Any) -> dict[str, Any]:
    """A plan of DGX H100 on one rail-optimized fabric, in phases."""
    fabrics = {"compute": {"switch": "qm9700", "topology": "rail-optimized"}}
    quote = {"number": "Q-1", "price_book": "indicative", "charges": [{"kind": "support", "years": 3, "share": "4%"}]}
    cluster = {"gpu": "h100-sxm"}
    return {
        **{"bomgen": 1, "name": "grows", "cluster": cluster, "fabrics": fabrics, "quote": quote},
        **{"spares": {"transceiver": "2%"}, "phases": [*phases], **keys},
    }


def two_phases(ahead: bool = False, **keys: Any) -> dict[str, Any]:
    """64 servers, and 64 more a year later."""
    first = {"name": "first", "date": "2027-01-15", "cluster": {"servers": 64}, **({"ahead": AHEAD} if ahead else {})}
    return plan(first, {"name": "second", "date": "2028-01-15", "cluster": {"servers": 128}}, **keys)


def spines(count: int) -> dict[str, Any]:
    """The fabrics of a phase with so many spines."""
    return {"compute": {"spine": {"count": count}}}


def file(data: Mapping[str, Any]) -> PlanFile:
    """The file of a plan given as plain data."""
    return PlanFile("plan.yaml", json.dumps(data).encode(), Path(), Path())


def pieces(lines: Iterable[Line]) -> Counter[str]:
    """Pieces by part, without charges."""
    counted = Counter[str]()
    for line in lines:
        counted[line.description] += 0 if line.charge else line.pieces
    return +counted


def places(network: Wiring) -> dict[str, tuple[int, int]]:
    """Rack and unit of each machine by its name."""
    assert network.places is not None
    where = zip(network.places.rack.tolist(), network.places.unit.tolist(), strict=True)
    return dict(zip(network.names, where, strict=True))


def switches(report: Report) -> dict[str, int]:
    """The switches that are ordered, by tier."""
    return {str(line.role): line.pieces for line in report.bill.lines if line.category == "switch"}


@pytest.mark.parametrize("ahead", [False, True])
def test_spines_are_bought_with_the_phase_that_needs_them_or_ahead(ahead: bool) -> None:
    """8 spines early against 256 installed cables of which an end moves; either way both are worked out."""
    report = work_out(file(two_phases(ahead)))
    early, late = (report.phases, report.other_phases) if ahead else (report.other_phases, report.phases)
    assert [{"leaf": 16, "spine": 16}, {"leaf": 16}] == [switches(phase) for phase in early]
    assert [{"leaf": 16, "spine": 8}, {"leaf": 16, "spine": 8}] == [switches(phase) for phase in late]
    moved = [phase.growth.moved_cables for phase in (early[1], late[1]) if phase.growth]
    assert [0, 256] == moved
    for phases in (early, late):
        bought = pieces(line for phase in phases for line in phase.bill.lines)
        assert pieces(report.bill.lines) + pieces(phases[-1].bill.left_over) == bought


def test_other_parts_are_bought_ahead_and_wait() -> None:
    """Leaves, racks, storage and a whole fabric are in the first order, and no part is ordered twice."""
    site = {"rack": {"power": "44 kW", "pdus": 2}}
    bought = {"site.rack": "rack", "storage": "storage", "fabrics.compute": "cable", "fabrics.compute.leaf": "switch"}
    for path, category in bought.items():
        steps = [{"name": str(servers), "cluster": {"servers": servers}} for servers in (16, 24, 40)]
        steps[0] |= {"ahead": path}
        steps[2] |= {"storage": {"dataset": "4 PB"}}
        storage = {"servers": "ddn-ai400x3", "dataset": "400 TB"}
        report = work_out(file(plan(*steps, site=site, storage=storage, order={"complete": True})))
        ordered = [
            sum(line.pieces for line in phase.bill.lines if line.category == category and line.fabric != "storage")
            for phase in report.phases
        ]
        assert ordered[0] > 1, path
        assert ordered[1:] == ([1, 2] if category == "switch" else [0, 0]), path
        orders = pieces(line for phase in report.phases for line in phase.bill.lines)
        assert orders == pieces(report.bill.lines) + pieces(report.phases[-1].bill.left_over), path


def test_each_phase_is_a_quote_at_its_date() -> None:
    """Its lines are what is new, charges are those of its order, and ages of prices count from its date."""
    report = work_out(file(two_phases()))
    second = select_phase(report, "second")
    quoted = render(second, ["quote.md", "json"])
    text = quoted["quote.md"].decode()
    assert "The installed cluster grows from 64 to 128 servers, from 512 to 1,024 GPUs." in text
    assert "15 January 2028" in text
    assert "Q-1 / P2" in text
    assert "Re-plug one end" in text
    data = json.loads(quoted["bom.json"])
    assert [64] == [line["quantity"] for line in data["lines"] if line["category"] == "server"]
    support = next(line for line in second.quote.lines if line.line.charge)
    hardware = sum(line.amount for line in second.quote.lines if line.amount is not None and line.hardware)
    assert (support.of, 3) == (hardware, support.line.pieces)
    assert any("phase second" in str(problem) and problem.rule == "old-price" for problem in report.problems)


def test_the_report_shows_phases_and_both_ways() -> None:
    """A table of the phases and one of what is bought ahead, in both languages; bom.json has each order."""
    report = work_out(file(two_phases(ahead=True)))
    for code in ("en", "zh"):
        section = document(report, language(code)).section("phases")
        of_phases, of_ways = section.tables
        assert ["first", "second"] == [row.cells[0].value for row in of_phases.rows[:2]]
        assert [64, 128] == [row.cells[2].value for row in of_phases.rows[:2]]
        assert [0, 256] == [of_ways.rows[1].cells[at].value for at in (1, 3)]
        assert "8" in str(of_ways.caption)
    data = result(report)
    assert [0, 0] == [phase["cables_moved"] for phase in data["phases"]]
    assert [AHEAD, []] == [phase["ahead"] for phase in data["phases"]]


def test_a_difference_shows_the_phases() -> None:
    """A plan that changes its second phase changes the total of that phase, and not that of the first."""
    old, new = (
        compared_result_of(result(work_out(file(data))), "plan.yaml")
        for data in (two_phases(), two_phases() | {"phases": [two_phases()["phases"][0], {"name": "second"}]})
    )
    assert ["second"] == [*compare(old, new).alternatives]


def test_support_of_all_phases_ends_on_one_day() -> None:
    """Two years of the first order and 12 and a half months of the second; each pays for its own servers alone."""
    yearly = [{"name": "S", "share": "6%"}, {"name": "V", "price": 1200, "per": "server"}, {"name": "A"}]
    charges = [{"kind": "support", "until": "2029-02-01", **charge} for charge in yearly]
    first = {"name": "first", "date": "2027-02-01", "cluster": {"servers": 4}}
    second = {"name": "second", "date": "2028-01-15", "cluster": {"servers": 6}}
    quoted = {"price_book": "indicative", "currency": "USD", "date": "2027-02-01", "charges": charges}
    report = work_out(file(plan(first, second, quote=quoted)))
    lines = [[line for line in phase.quote.lines if line.line.charge] for phase in report.phases]
    assert [[line.line.pieces for line in of_phase] for of_phase in lines] == [[24, 4 * 24, 24], [13, 2 * 13, 13]]
    share, visits, assumed = lines[1]
    hardware = share.of
    assert hardware is not None
    assert share.unit.amount == (hardware * 6 / 1200).quantize(Decimal("0.01"))
    assert visits.unit.amount == 100
    assert assumed.line.charge is not None
    assert assumed.line.charge.assumed
    written = render(select_phase(report, "second"), ["quote.md", "report.md"])
    assert "0.5833 % of the hardware" in written["quote.md"].decode()
    assert "1 piece × 13 months" in written["report.md"].decode()


def test_what_stands_on_a_floor_stays_through_three_phases() -> None:
    """No machine moves, the labels of cables stay, and the whole stands where the phases put it."""
    site = {"rack": {"power": "44 kW"}, "layout": "auto"}
    steps = [{"name": str(servers), "cluster": {"servers": servers}} for servers in (4, 6, 8)]
    report = work_out(file(plan(*steps, site=site)))
    networks = [list_cables(phase) for phase in report.phases]
    assert networks[-1].labels == list_cables(report).labels
    stands = [*map(places, networks), places(list_cables(report))]
    assert all(before.items() <= after.items() for before, after in pairwise(stands))
    assert all(growth.moved_cables == 0 for phase in report.phases if (growth := phase.growth))
    racks = [sum(line.pieces for line in phase.bill.lines if line.category == "rack") for phase in report.phases]
    assert report.design.facility.racks is not None
    assert report.design.facility.racks.value == sum(racks)


def test_costs_of_a_phase_are_no_input_that_a_customer_sees() -> None:
    """The seller's cost in a setting stays out of the result, in a phase as in the plan."""
    report = work_out(
        file(two_phases()),
        ["phases.1.quote.valid_days=9", "phases.0.quote={charges: [{kind: freight, price: 9, cost: 5}]}"],
    )
    assert {"--set phases.1.quote.valid_days=9", "--set phases.0.quote=..."} == {
        entry.name for entry in report.inputs if entry.name.startswith("--set")
    }


def test_settings_change_the_last_phase() -> None:
    """`--set` of a key that a phase has is for the whole, which other commands see; earlier phases keep theirs."""
    report = work_out(file(two_phases()), ["cluster.servers=96"])
    servers = [phase.design.sizing.servers for phase in (*report.phases, report)]
    assert [64, 96, 96] == [figure and figure.value for figure in servers]
    assert 128 == source_of(file(two_phases())).data["cluster"]["servers"]


@pytest.mark.parametrize(
    ("phases", "said"),
    [
        ([{"name": "a"}, {"name": "a"}], "two phases are called a; give one another name"),
        ([{"name": "a", "date": "2028-01-01"}, {"name": "b", "date": "2027-01-01"}], "order phases by date"),
        (
            [{"name": "a", "ahead": ["fabrics.compute.core"]}, {"name": "b"}],
            "it has fabrics.compute.leaf, fabrics.compute.spine",
        ),
        ([{"name": "a", "ahead": "storage"}, {"name": "b"}], "the last phase has no storage to buy ahead"),
        (
            [{"name": "a", "ahead": "fabrics.in_band", "fabrics": {"in_band": "default"}}, {"name": "b"}],
            "if the fabric is",
        ),
        ([{"name": "a", "cluster": {"gpus": 8}}, {"name": "b"}], "gpus and servers both set the size"),
        ([{"name": "a", "fabrics": spines(1)}, {"name": "b", "fabrics": spines(16)}], "phase a: "),
        ([{"name": "a"}, {"name": "b", "cluster": {"server": 7}}], "7 is a number"),
    ],
)
def test_wrong_phases_are_refused(phases: list[dict[str, Any]], said: str) -> None:
    """A second name, dates in reverse, a tier that is not there, a size besides another, and a wrong value."""
    with pytest.raises(PlanErrors) as refused:
        work_out(file(plan(*phases, cluster={"gpu": "h100-sxm", "servers": 128})))
    assert any(said in str(problem) for problem in refused.value.problems), refused.value.problems


def test_several_clusters_have_no_phases() -> None:
    """A plan with several clusters names the key that does not fit."""
    data = two_phases()
    pool = {"name": "pool", **data.pop("cluster"), "servers": 4, "fabrics": data.pop("fabrics")}
    with pytest.raises(PlanErrors, match="needs a plan with one `cluster`"):
        work_out(file({**data, "clusters": [pool], "phases": [{"name": "a"}, {"name": "b"}]}))
