"""Racks on a floor and the lengths of cables, counted by hand."""

# ruff: noqa: SIM300

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bomgen.core.diagnostics import PlanErrors
from bomgen.results.result import Report
from bomgen.site import floor_plan
from bomgen.site.floor_plan import NOWHERE, MachineGroup

Built = Callable[[dict[str, Any]], dict[str, Any]]
Worked = Callable[[dict[str, Any]], Report]

SERVER = {"gpus": 8, "nics": 8, "nic": "cx7-400-osfp", "rack_units": 8, "power": "10 kW"}


def plan(site: dict[str, Any], links: dict[str, Any] | None = None, servers: int = 4) -> dict[str, Any]:
    """Servers of 8 U, four to a rack, around QM9700 switches."""
    fabric: dict[str, Any] = {"switch": "qm9700"} | ({"links": links} if links else {})
    return {
        "bomgen": 1,
        "name": "floor",
        "cluster": {"gpu": "h100-sxm", "servers": servers, "server": SERVER},
        "fabrics": {"compute": fabric},
        "site": {"rack": {"units": 48, "power": "40 kW"}, **site},
    }


def cables(bom: dict[str, Any], kind: str = "server-leaf") -> dict[str, int]:
    """Cables of a kind of link by id."""
    found: dict[str, int] = bom["fabrics"]["compute"]["cables"][kind]
    return found


def test_copper_into_the_next_rack(built: Built) -> None:
    """A switch at unit 1 beside a rack of four servers at units 1, 9, 17 and 25, splitters of two links.

    By hand: 0.6 m to the next rack, 0.5 m of slack at either end, 44.45 mm a unit: 1.6, 1.96, 2.31 and 2.67 m, sold as
    2, 2, 2.5 and 3 m (MCP7Y00: 1, 1.5, 2, 2.5, 3 m), four of each because a server has eight NICs.
    """
    assert {"mcp7y00-n002": 8, "mcp7y00-n02a": 4, "mcp7y00-n003": 4} == cables(built(plan({"layout": "auto"})))


def test_racks_stand_as_far_apart_as_they_are_wide(built: Built) -> None:
    """The same racks, now a part of 800 mm: 0.2 m further to the next one.

    By hand: 0.8 m, 2 x 0.5 m, and 0, 8, 16 and 24 units of 44.45 mm: 1.8, 2.16, 2.52 and 2.87 m, sold as 2, 2.5, 3 and
    3 m.
    """
    rack = {"part": "conteg-ri7-48-80-120", "power": "40 kW"}
    found = cables(built(plan({"layout": "auto", "rack": rack})))
    assert {"mcp7y00-n002": 4, "mcp7y00-n02a": 4, "mcp7y00-n003": 8} == found
    narrow = {**rack, "part": {"name": "R", "rack_units": 48, "width_mm": 600}}
    assert cables(built(plan({"layout": "auto"}))) == cables(built(plan({"layout": "auto", "rack": narrow})))


def test_over_the_trays(built: Built) -> None:
    """Two racks with an empty one between them: up, 0.45 m to the tray, along, and down again.

    By hand, from unit 1 of 48 to units 1, 9, 17 and 25: 94, 86, 78 and 70 units of 44.45 mm, 2 x 0.45 m, 2 x 0.6 m and
    2 x 0.5 m: 4.18 + 0.9 + 1.2 + 1 = 7.28, 6.93, 6.57 and 6.22 m, sold as 10, 7, 7 and 7 m (MFP7E10: ..., 5, 7, 10 m).
    """
    rows = [[{"management": 1}, {"management": 1}, {"compute": 1}]]
    found = cables(built(plan({"layout": {"rows": rows}, "management": {"racks": 1}})))
    assert {"mfp7e10-n010": 8, "mfp7e10-n007": 24} == found


def test_over_rows(built: Built) -> None:
    """One row further, in the same column: 4.9 m more than straight up and down, at the pitch that the plan gives.

    By hand: 94 units, 2 x 0.45 m, 4.9 m and 2 x 0.5 m: 4.18 + 0.9 + 4.9 + 1 = 10.98 m at most; 70 units: 9.92 m at
    least; sold as 15 and 10 m.
    """
    rows = [[{"management": 1}], [{"compute": 1}]]
    found = cables(built(plan({"layout": {"rows": rows, "row_pitch": "4.9 m"}})))
    assert {"mfp7e10-n015": 24, "mfp7e10-n010": 8} == found


def test_one_length_for_all_fibres(built: Built) -> None:
    """Asked for one length, every fibre is as long as the longest."""
    rows = [[{"management": 1}, {"management": 1}, {"compute": 1}]]
    links = {"server-leaf": {"prefer": "one-fibre-length"}}
    assert {"mfp7e10-n010": 32} == cables(built(plan({"layout": {"rows": rows}}, links)))


def test_a_length_that_the_plan_gives_stands(built: Built) -> None:
    """A link whose length is given has that length, whatever the floor says."""
    links = {"server-leaf": {"medium": "transceiver", "length": "50 m"}}
    assert {"mfp7e10-n050": 32} == cables(built(plan({"layout": "auto"}, links)))


def test_without_a_layout_lengths_are_those_of_the_links(built: Built) -> None:
    """A site alone changes no length: 30 m, as the reference design buys for every link."""
    assert {"mfp7e10-n030": 32} == cables(built(plan({})))


def test_named_copper_that_is_too_short_is_refused(worked: Worked) -> None:
    """A cable of one length that the plan names must reach the farthest port."""
    links = {"server-leaf": {"medium": "dac", "module": "mcp7y00-n001"}}
    with pytest.raises(PlanErrors) as refused:
        worked(plan({"layout": "auto"}, links))
    assert [("reach",)] == [(problem.rule,) for problem in refused.value.problems]


@pytest.mark.parametrize(("medium", "part"), [("dac", "mcp4y10-n002"), ("transceiver", "mfp7e10-n003")])
def test_a_medium_that_the_plan_names_is_measured_too(built: Built, medium: str, part: str) -> None:
    """Copper that would be too short for 30 m reaches over the ways that there are: 64 leaf-spine links of 32 servers.

    By hand: eight leaves and four spines of 1 U in one rack, 11 units apart at most: 0.49 m and 0.5 m at either end,
    1.49 m; sold are DACs of 0.5, 1, 1.5 and 2 m, and fibres from 3 m on.
    """
    wanted = {"leaf-spine": {"medium": medium}}
    found = built(plan({"layout": "auto"}, wanted, servers=32))["fabrics"]["compute"]["cables"]["leaf-spine"]
    assert (part == "mfp7e10-n003") == (list(found) == ["mfp7e10-n003"])
    assert part == "mfp7e10-n003" or all(each.startswith("mcp4y10-n") for each in found)


def test_machines_that_stand_nowhere_known(worked: Worked) -> None:
    """Cables whose ends are known are measured; the 30 m of the others is said beside the plan's line."""
    hosted = plan({"layout": "auto"}, {"server-leaf": {"medium": "transceiver"}})
    hosted["fabrics"]["compute"]["hosts"] = [{"name": "login", "count": 2, "ports": 2}]
    report = worked(hosted)
    uses = report.design.fabrics[0].interconnect.cables
    assert {3: 32, 30: 4} == {int(use.length_m): use.quantity.value for use in uses}
    told = [problem.message for problem in report.problems if problem.rule == "layout"]
    assert ["4 of 36 server-leaf cables have an end that is not placed in a rack and are assumed to be 30 m long"] == [
        message.partition(";")[0] for message in told
    ]


def test_ways_beyond_what_is_sold(worked: Worked) -> None:
    """A generic single-mode fibre is sold up to 500 m; over rows 600 m apart whole tens of metres are counted.

    By hand: 94 units of 44.45 mm, 2 x 0.4 m, 600 m and 2 x 0.5 m are 605.98 m at most, 602.85 m at least: 610 m.
    """
    links = {"server-leaf": {"medium": "transceiver", "module": "generic-400g"}}
    rows = [[{"management": 1}], [{"compute": 1}]]
    report = worked(plan({"layout": {"rows": rows, "row_pitch": "600 m"}}, links))
    uses = report.design.fabrics[0].interconnect.cables
    assert {610: 32} == {int(use.length_m): use.quantity.value for use in uses}
    assert "reach" in {problem.rule for problem in report.problems}


def test_spares_are_counted_length_by_length(built: Built) -> None:
    """A spare jumper of 3 m replaces none of 20 m: a tenth of each length, rounded up."""
    spared = plan({"layout": "auto"}) | {"spares": {"cable": "10%"}}
    lines = [line for line in built(spared)["lines"] if line["category"] == "cable"]
    assert {8: 1, 4: 1} == {line["quantity"]: line["spare"] for line in lines}


def test_rows_without_room_are_refused(worked: Worked) -> None:
    """Rows that the plan draws must have as many racks as are needed."""
    with pytest.raises(PlanErrors) as refused:
        worked(plan({"layout": {"rows": [[{"compute": 1}]]}}))
    assert ["the rows have 0 management racks; 1 are needed"] == [each.message for each in refused.value.problems]


def test_machines_are_stacked_whole() -> None:
    """Three chassis of 29 U stand in three racks of 48 U; what fits beside the last stands on it."""
    racks = np.arange(10, 14)
    chassis, boxes = floor_plan.stack_machines(racks, [MachineGroup(3, 29, 0), MachineGroup(5, 4, 0)], 48, 40_000)
    assert [10, 11, 12] == chassis.rack.tolist()
    assert [1, 1, 1] == chassis.unit.tolist()
    assert len({(rack, unit) for rack, unit in zip(boxes.rack.tolist(), boxes.unit.tolist(), strict=True)}) == 5
    assert max(boxes.unit) + 4 - 1 <= 48


def test_machines_without_a_rack_are_nowhere() -> None:
    """More machines than the racks hold stand nowhere rather than above the top of a rack."""
    (place,) = floor_plan.stack_machines(np.array([0]), [MachineGroup(3, 20, 0)], 48, 40_000)
    assert [0, 0, NOWHERE] == place.rack.tolist()
    assert [1, 21, NOWHERE] == place.unit.tolist()
