"""Links of 25 and 10 Gb/s get modules and cables with part numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from bomgen.results.result import Report

Worked = Callable[[dict[str, Any]], Report]


def parts(report: Report, category: str) -> dict[str, int]:
    """The pieces of each part of a category in the in-band fabric."""
    found: dict[str, int] = {}
    for line in report.bill.lines:
        if (line.category, line.fabric) == (category, "in_band"):
            found[line.part or ""] = found.get(line.part or "", 0) + line.quantity.value
    return found


def plan(**fabric: Any) -> dict[str, Any]:
    """Four servers with two in-band ports each."""
    found = {"bomgen": 1, "name": "slow", "cluster": {"gpu": "l40s", "servers": 4}}
    return {**found, "fabrics": {"in_band": {"ports_per_server": 2, "topology": "single-switch", **fabric}}}


@pytest.mark.parametrize("switch", ["sn2410", "sn3420", "7050sx3-48yc8", "qfx5120-48y"])
@pytest.mark.parametrize("nic", ["cx6lx-2x25", "cx4lx-2x25", "intel-e810-xxvda2"])
def test_links_of_25g(worked: Worked, switch: str, nic: str) -> None:
    """Eight links: modules for SFP28 at both ends over 30 m, DACs over 3 m."""
    far = worked(plan(switch=switch, nic=nic))
    assert parts(far, "transceiver") == {"mma2p00-as": 16}
    near = worked(plan(switch=switch, nic=nic, links={"server-leaf": {"length": "3 m"}}))
    assert sum(parts(near, "cable").values()) == 8
    assert all(part.startswith("mcp2m00") for part in parts(near, "cable"))


def test_links_of_10g_beside_those_of_25g(worked: Worked) -> None:
    """A firewall with two ports of 10 Gb/s on a leaf of 25 Gb/s ports has SFP+ modules at both ends."""
    firewall = {"name": "firewall", "count": 1, "ports": 2, "nic": "intel-x710-da2"}
    report = worked(plan(switch="sn3420", nic="cx6lx-2x25", hosts=[firewall]))
    assert parts(report, "transceiver") == {"mma2p00-as": 16, "mfm1t02a-sr": 4}


def test_links_of_10g(worked: Worked) -> None:
    """Servers with ports of 10 Gb/s in SFP28 cages: modules over 30 m, DACs over 3 m."""
    assert parts(worked(plan(switch="sn3420", nic="intel-x710-da2")), "transceiver") == {"mfm1t02a-sr": 16}
    near = worked(plan(switch="sn3420", nic="intel-x710-da2", links={"server-leaf": {"length": "3 m"}}))
    assert all(part.startswith("mc3309130") for part in parts(near, "cable"))


def test_a_100g_port_splits_into_four_of_25g(worked: Worked) -> None:
    """Eight links of 25 Gb/s over 2 m on a leaf of 100G ports: two splitter cables."""
    links = {"server-leaf": {"length": "2 m"}}
    report = worked(plan(switch="7050cx3-32s", nic="cx6lx-2x25", links=links))
    assert {part.split("-")[0]: pieces for part, pieces in parts(report, "cable").items()} == {"mcp7f00": 2}


@pytest.mark.parametrize(
    ("nic", "rule"), [("cx6-100", "slow-hosts"), ("cx6lx-2x25", "no-part-known"), ("bf3-b3240", None)]
)
def test_slow_hosts_beside_faster_servers(worked: Worked, nic: str, rule: str | None) -> None:
    """Ports of 100G take halves of 800G, of which a fabric of 100G has more; the switch has none of 25G."""
    storage = {"topology": "fat-tree", "switch": "sn5600", "nic": "bf3-b3240", "ports_per_server": 2}
    hosts = [{"name": "managers", "count": 3, "ports": 1, "nic": nic}]
    cluster = {"server": "dell-xe9680-h200", "servers": 4}
    report = worked({"bomgen": 1, "name": "a", "cluster": cluster, "fabrics": {"storage": {**storage, "hosts": hosts}}})
    said = {problem.rule for problem in report.problems} & {"slow-hosts", "no-part-known"}
    assert said == ({rule} if rule else set())
