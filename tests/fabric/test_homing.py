"""Machines that end on two leaves, and rails that share a leaf: where each port goes, cable by cable."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bomgen.core.diagnostics import PlanErrors
from bomgen.results.result import Report
from bomgen.workflow.pipeline import list_cables

Worked = Callable[[Mapping[str, Any]], Report]


def plan(servers: int, role: str = "storage", hosts: int = 0, **fabric: Any) -> dict[str, Any]:
    """A plan of DGX H100 with one fabric of QM9700, and other machines of two ports on it."""
    given = {"switch": "qm9700", **fabric}
    if hosts:
        given["hosts"] = [{"name": "store", "count": hosts, "ports": 2}]
    return {
        "bomgen": 1,
        "name": "homing",
        "cluster": {"gpu": "h100-sxm", "server": "dgx-h100", "servers": servers},
        "fabrics": {role: given},
    }


def leaves_of_machines(report: Report) -> dict[str, list[tuple[str, int]]]:
    """Leaf and cage of every port of each machine."""
    wiring, found = list_cables(report), defaultdict(list)
    ends = zip(wiring.a_device.tolist(), wiring.b_device.tolist(), wiring.b_cage.tolist(), strict=True)
    for machine, switch, cage in ends:
        if "leaf" not in wiring.names[machine]:
            found[wiring.names[machine]].append((wiring.names[switch], cage))
    return found


@given(st.integers(2, 90), st.integers(0, 9), st.sampled_from((1, 2)), st.sampled_from((1, 3)))
def test_the_ports_of_a_machine_never_meet_in_a_leaf(
    worked: Worked, servers: int, hosts: int, half: int, ratio: int
) -> None:
    """Dual-homed, half of its ports end on each of two leaves, and so in two modules; that of hosts as well."""
    fabric = {"homing": "dual", "ports_per_server": 2 * half, "oversubscription": ratio}
    for machine, ends in leaves_of_machines(worked(plan(servers, hosts=hosts, **fabric))).items():
        each = half if machine.startswith("server") else 1
        assert len(ends) == 2 * each, machine
        assert len({leaf for leaf, _ in ends}) == 2, machine


@pytest.mark.parametrize(
    ("servers", "homing", "switches"),
    [(64, "dual", [4, 2]), (80, "single", [5, 4]), (30, "single", [1])],
    ids=["same number of switches", "more switches", "one switch"],
)
def test_storage_is_dual_homed_where_it_costs_no_switch(
    worked: Worked, servers: int, homing: str, switches: list[int]
) -> None:
    """128 ports of 64 servers take four leaves either way; those of 80 take five, in two rows six."""
    [built] = worked(plan(servers, ports_per_server=2)).design.fabrics
    assert built.fabric.homing is not None
    assert (built.fabric.homing.value, [tier.count.value for tier in built.fabric.tiers]) == (homing, switches)


def test_what_dual_homing_would_take_is_said(worked: Worked) -> None:
    """The default that leaves machines on one leaf names the switches of the other design."""
    messages = [problem.message for problem in worked(plan(80, ports_per_server=2)).problems]
    assert any("6 + 3 switches instead of 5 + 4" in each for each in messages)


def test_rails_of_a_leaf_end_together(worked: Worked) -> None:
    """16 servers of eight rails on two leaves of four: rails one to four of every server on the first."""
    asked = plan(16, role="compute", topology="rail-optimized", switch="sn5600")
    report = worked(asked)
    [built] = report.design.fabrics
    assert [tier.count.value for tier in built.fabric.tiers] == [1]
    report = worked(plan(16, role="compute", topology="rail-optimized", switch="sn5600", tiers=2))
    [built] = report.design.fabrics
    assert built.fabric.rails_per_leaf is not None
    assert (built.fabric.rails_per_leaf.value, [tier.count.value for tier in built.fabric.tiers]) == (4, [2, 1])
    for ends in leaves_of_machines(report).values():
        assert [leaf for leaf, _ in ends[:4]] == [ends[0][0]] * 4
        assert [leaf for leaf, _ in ends[4:]] == [ends[4][0]] * 4
        assert ends[0][0] != ends[4][0]


def test_an_odd_port_cannot_be_dealt_out(worked: Worked) -> None:
    """Three ports are no two equal shares."""
    with pytest.raises(PlanErrors, match="equally between 2 leaves, but it has 3 here"):
        worked(plan(40, ports_per_server=3, homing="dual"))
