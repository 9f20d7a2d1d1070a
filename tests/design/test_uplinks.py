"""Uplinks to the customer's switch: ports, modules and cables of this end, and what the other end needs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from bomgen.cabling.types import broken_rules
from bomgen.cabling.wiring import wire
from bomgen.results.result import Report, result

Worked = Callable[[dict[str, Any]], Report]
UPLINK = {"count": 4, "rate": "100G", "medium": "transceiver", "length": "50 m"}


def plan(uplink: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Four servers with four ports of 200 Gb/s each on a leaf of 32 ports."""
    compute = {"leaf": {"switch": "sn3700"}, "uplink": uplink}
    found = {"bomgen": 1, "name": "uplinks", "cluster": {"gpu": "l40s", "servers": 4}}
    return {**found, "fabrics": {"compute": compute, **more}}


def quantities(report: Report, category: str) -> dict[str, int]:
    """The pieces of each part of a category."""
    found = Counter[str]()
    for line in report.bill.lines:
        if line.category == category:
            found[line.part or ""] += line.quantity.value
    return dict(found)


def test_uplinks_take_leaf_ports_modules_and_cables(worked: Worked) -> None:
    """16 ports of servers and four of uplinks, each with a module at this end; the others are the customer's."""
    report = worked(plan(UPLINK))
    data = result(report)
    assert data["fabrics"]["compute"]["uplinks"] == 4
    assert data["fabrics"]["compute"]["endpoints"] == 20
    assert quantities(report, "transceiver") == {"mma1b00-c100d": 4}
    (fibre,) = (use for use in report.design.fabrics[0].interconnect.cables if use.fixed_length)
    assert (fibre.quantity.value, fibre.length_m) == (4, 50)
    (far,) = (item for item in data["not_on_bill"] if item.get("part") == "mma1b00-c100d")
    assert far["quantity"] == 4
    wiring = wire(report.design)
    assert not broken_rules(wiring, report.design)
    assert sum(wiring.names[device] == "customers-switch-01" for device in wiring.a_device.tolist()) == 4


def test_the_far_module_is_offered_on_request(worked: Worked) -> None:
    """Eight modules at four links, and none is left to the customer."""
    report = worked(plan({**UPLINK, "far_module": "included", "to": "campus core"}))
    assert quantities(report, "transceiver") == {"mma1b00-c100d": 8}
    assert all(item.get("part") != "mma1b00-c100d" for item in result(report)["not_on_bill"])


@pytest.mark.parametrize("site", [{"layout": "auto"}, {"rack": {"power": "21 kW"}}])
def test_uplinks_keep_their_length_where_others_follow_routes(worked: Worked, site: dict[str, Any]) -> None:
    """Servers' cables are at most 10 m in one rack or two; the four uplinks are 50 m."""
    report = worked({**plan(UPLINK), "site": site})
    uses = report.design.fabrics[0].interconnect.cables
    assert sum(use.quantity.value for use in uses if use.length_m == 50) == 4
    assert max(use.length_m for use in uses if not use.fixed_length) <= 10
    assert not broken_rules(wire(report.design), report.design)


def test_the_customers_switch_is_not_managed(worked: Worked) -> None:
    """An out-of-band fabric has ports for servers and the leaf alone."""
    server = {"name": "server", "gpus": 8, "nics": 2, "nic": "cx7-2x200", "bmc_ports": 1}
    managed = {"role": "out_of_band", "leaf": {"switch": "sn2201"}}
    report = worked({**plan(UPLINK, oob=managed), "cluster": {"gpu": "l40s", "servers": 4, "server": server}})
    assert result(report)["fabrics"]["oob"]["endpoints"] == 5


def test_hosts_have_links_of_their_own(worked: Worked) -> None:
    """A firewall with two ports of 100 Gb/s over 20 m, next to servers with cables of 5 m."""
    firewall = {"name": "firewall", "count": 1, "ports": 2, "rate": "100G", "medium": "transceiver", "length": "20 m"}
    wanted = plan({})
    links = {"server-leaf": {"length": "5 m"}}
    wanted["fabrics"]["compute"] = {"leaf": {"switch": "sn3700"}, "hosts": [firewall], "links": links}
    report = worked(wanted)
    uses = report.design.fabrics[0].interconnect.cables
    assert {(int(use.length_m), use.quantity.value) for use in uses} == {(5, 16), (20, 2)}
    assert quantities(report, "transceiver") == {"mma1b00-c100d": 4}
    assert not broken_rules(wire(report.design), report.design)
