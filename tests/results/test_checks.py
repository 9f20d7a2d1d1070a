"""What the program checks on its own result fails where the result is wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from bomgen.core.provenance import Figure, Given, Mark
from bomgen.design.assembly import Design
from bomgen.results.checks import checks
from bomgen.results.result import Report

Worked = Callable[[Mapping[str, Any]], Report]
TWO_GROUPS = [
    {"ports": 8, "port_gbps": 100, "cage": "qsfp28", "split": 4},
    {"ports": 48, "port_gbps": 25, "cage": "sfp28"},
]


def plan(fabric: Mapping[str, Any]) -> dict[str, Any]:
    """Servers on one fabric that is no compute fabric."""
    cluster = {"gpu": "h100-sxm", "servers": 16}
    return {"bomgen": 1, "name": "proof", "cluster": cluster, "fabrics": {"other": fabric}}


def with_ports(design: Design, down: int, up: int | None) -> Design:
    """The same design with other ports in use on a leaf."""

    def ports(number: int) -> Figure:
        return Figure(number, "ports", Given(Mark("test", 1, 1)))

    built = design.fabrics[0]
    leaf = replace(built.fabric.tiers[0], down=ports(down), up=ports(up) if up else None)
    fabric = built.fabric._replace(tiers=(leaf, *built.fabric.tiers[1:]))
    return design._replace(fabrics=(built._replace(fabric=fabric),))


def fits(report: Report, down: int, up: int | None = None) -> bool:
    """Whether the links of a leaf find ports, by the check."""
    found = checks(with_ports(report.design, down, up), report.bill, report.quote)
    return next(check.status for check in found if check.id == "ports-fit") == "pass"


def test_links_fit_the_ports_of_their_rate(worked: Worked) -> None:
    """An SN2201 has 48 ports for links of 1G, whatever bandwidth its other four have."""
    report = worked(plan({"role": "out_of_band", "switch": "sn2201", "topology": "single-switch"}))
    assert fits(report, 48)
    assert not fits(report, 49)
    assert not fits(report, 100)


@pytest.mark.parametrize(("down", "up", "holds"), [(32, 24, True), (33, 24, False), (36, 23, False), (36, 22, True)])
def test_links_of_two_rates_share_no_cage(worked: Worked, down: int, up: int, holds: bool) -> None:
    """Where a cage carries links of one rate, uplinks take whole cages from the links down."""
    switch = {"ports": 40, "port_gbps": 800, "ports_per_cage": 2, "split": 2, "cage": "osfp", "protocol": "ethernet"}
    fabric = {"role": "storage", "switch": switch, "link": "400G", "ports_per_server": 2}
    report = worked(plan({**fabric, "leaf": {"uplinks": 4}, "tiers": 2, "links": {"leaf-spine": {"rate": "800G"}}}))
    assert fits(report, down, up) == holds


def test_every_group_that_carries_a_rate_counts(worked: Worked) -> None:
    """Links of 25G fit ports of 25G and split ports of 100G alike."""
    switch = {"port_groups": TWO_GROUPS}
    fabric = {"role": "storage", "switch": switch, "link": "25G", "ports_per_server": 1, "topology": "single-switch"}
    report = worked(plan(fabric))
    assert fits(report, 80)
    assert not fits(report, 81)


@pytest.mark.parametrize(("tier", "uplinks", "ratio"), [("leaf", 3, "1.66667"), ("spine", 2, "3")])
def test_up_links_that_the_plan_gives_may_be_too_few(worked: Worked, tier: str, uplinks: int, ratio: str) -> None:
    """They stand, and the plan is warned: five links down of a leaf beside three up, six of a spine beside two."""
    switch = {"ports": 8, "port_gbps": 400}
    report = worked(plan({"role": "compute", "switch": switch, "tiers": 3, tier: {"uplinks": uplinks}}))
    warned = [problem.message for problem in report.problems if problem.rule == "oversubscription"]
    assert warned == [f"{tier} switches are oversubscribed {ratio}:1; the plan sets 1:1"]
