"""Fabrics of whole plans: planes, machines beside the servers, management ports, refusals with a way out."""

# ruff: noqa: SIM300

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from bomgen.core.diagnostics import PlanErrors

Built = Callable[[dict[str, Any]], dict[str, Any]]

TOPOLOGIES = ("fat-tree", "rail-optimized", "rail-only")
SUPERPOD = {"switch": "qm9700", "topology": "rail-optimized", "reserved_ports": 4}


def plan_with(compute: dict[str, Any], servers: int = 100, nic: dict[str, Any] | None = None) -> dict[str, Any]:
    """A plan of servers with eight NICs each and one fabric."""
    server = {"name": "server", "gpus": 8, "nics": 8, "nic": nic or {"ports": 1, "port_gbps": 400}}
    return {
        "bomgen": 1,
        "name": "fabrics",
        "cluster": {"gpu": "h100-sxm", "server": server, "servers": servers},
        "fabrics": {"compute": {"switch": {"name": "switch", "ports": 64, "port_gbps": 400}, **compute}},
    }


@pytest.mark.parametrize("topology", TOPOLOGIES)
@pytest.mark.parametrize("planes", [2, 4])
def test_planes_are_as_many_equal_fabrics(topology: str, planes: int, built: Built) -> None:
    """N planes need n times the switches, links and bisection of one; a NIC has a port in each."""
    one = built(plan_with({"topology": topology}))["fabrics"]["compute"]
    nic = {"ports": planes, "port_gbps": 400}
    several = built(plan_with({"topology": topology, "planes": planes}, nic=nic))["fabrics"]["compute"]
    assert planes == several["planes"]
    for path in ("switches", "links"):
        assert {key: planes * value for key, value in one[path].items()} == several[path]
    assert planes * one["bisection_gbps"] == several["bisection_gbps"]
    assert planes * one["endpoints"] == several["endpoints"]
    assert one["ports"] == several["ports"]


def test_a_port_is_split_over_planes(built: Built) -> None:
    """An 800G port of a DGX B300 is two of 400G, one a plane (B300 Spectrum-4 reference architecture, table 3)."""
    plan = {
        "bomgen": 1,
        "name": "fabrics",
        "cluster": {"gpu": "b300-sxm", "servers": 64},
        "fabrics": {"compute": {"topology": "rail-optimized", "switch": "sn5600", "planes": 2}},
    }
    bom = built(plan)
    assert (400, 1024) == (bom["fabrics"]["compute"]["link_gbps"], bom["fabrics"]["compute"]["endpoints"])
    assert 512 == bom["cluster"]["nics"]


def test_management_reaches_everything(built: Built) -> None:
    """Out of band: servers, switches of the other fabrics, PDUs and management servers; its leaves hang on in-band.

    The reference design joins the management ports of all devices (RA-11333-001 V11, out-of-band management network).
    """
    plan = {
        "bomgen": 1,
        "name": "fabrics",
        "cluster": {"gpu": "h100-sxm", "servers": 127},
        "fabrics": {"compute": SUPERPOD, "storage": "default", "in_band": "default", "out_of_band": "default"},
        "site": {"rack": {"power": "41 kW", "pdus": 3}, "management": {"racks": 6, "pdus": 2}},
    }
    bom = built(plan)
    fabrics, site = bom["fabrics"], bom["site"]
    switches = sum(fabrics[name]["switches"]["total"] for name in ("compute", "storage", "in_band"))
    pdus = site["compute_pdus"] + site["management_pdus"]
    management_servers = 5
    assert 127 + switches + pdus + management_servers == fabrics["out_of_band"]["endpoints"]
    up = 2 * fabrics["out_of_band"]["switches"]["leaf"]
    assert 2 * 127 + 2 * management_servers + up == fabrics["in_band"]["endpoints"]


def test_one_fabric_carries_storage_and_in_band_traffic_of_a_dual_port_card(built: Built) -> None:
    """As NVIDIA's enterprise designs: two ports to two switches, no in-band fabric; management is linked into it."""
    plan = {
        "bomgen": 1,
        "name": "converged",
        "cluster": {"gpu": "h200-sxm", "server": "dell-xe9680-h200", "servers": 32},
        "fabrics": {"in_band": "default", "storage": "default", "out_of_band": "default"},
    }
    fabrics = built(plan)["fabrics"]
    assert sorted(fabrics) == ["out_of_band", "storage"]
    leaves = fabrics["out_of_band"]["switches"]["total"]
    assert (fabrics["storage"]["homing"], fabrics["storage"]["endpoints"]) == ("dual", 2 * 32 + 2 * leaves)
    assert fabrics["storage"]["switches"]["leaf"] == 2
    without = {**plan, "fabrics": {"in_band": "default"}}
    assert built(without)["fabrics"]["in_band"]["link_gbps"] == 200


def test_management_linked_into_a_fabric_that_another_carries_is_linked_into_that(built: Built) -> None:
    """In-band traffic is on the storage fabric: the two leaves of 64 + 4 management ports have their links up there."""
    managed = {"topology": "access", "switch": "sn2201", "link": "1G", "uplink": {"fabric": "in_band", "ports": 1}}
    plan = {
        "bomgen": 1,
        "name": "linked",
        "cluster": {"gpu": "h200-sxm", "server": "dell-xe9680-h200", "servers": 64},
        "fabrics": {"in_band": "default", "storage": "default", "out_of_band": managed},
    }
    fabrics = built(plan)["fabrics"]
    assert fabrics["out_of_band"]["endpoints"] == 64 + fabrics["storage"]["switches"]["total"]
    assert fabrics["storage"]["endpoints"] == 2 * 64 + fabrics["out_of_band"]["switches"]["leaf"]


def test_a_small_management_network_is_one_switch(built: Built) -> None:
    """Forty-eight ports are one SN2201; two to four of them are linked with each other, and five have a spine."""
    plan = {"bomgen": 1, "name": "small", "cluster": {"gpu": "h100-sxm"}, "fabrics": {"out_of_band": "default"}}
    for servers, leaves, spines in ((48, 1, 0), (49, 2, 0), (192, 4, 0), (193, 5, 1)):
        found = built({**plan, "cluster": {"gpu": "h100-sxm", "servers": servers}})["fabrics"]["out_of_band"][
            "switches"
        ]
        assert (found["leaf"], found.get("spine", 0)) == (leaves, spines)


IN_BAND = {"switch": "qfx5140-24cd8o", "link": "100G", "ports_per_server": 2}


@pytest.mark.parametrize(
    ("given", "switches"),
    [
        ({}, (4, 2)),
        ({"links": {"leaf-spine": {"rate": "400G"}}}, (6, 1)),
        ({"links": {"leaf-spine": {"rate": "100G"}}}, (7, 4)),
    ],
)
def test_links_between_switches_have_the_rate_with_the_fewest_switches(
    built: Built, given: dict[str, Any], switches: tuple[int, int]
) -> None:
    """Beside 24 ports of 400G, eight of 800G lead up: split into links of 100G they are fewer. A rate given is kept."""
    plan = {"bomgen": 1, "name": "rates", "cluster": {"server": "dgx-h100", "servers": 64}}
    found = built({**plan, "fabrics": {"in_band": {**IN_BAND, **given}}})["fabrics"]["in_band"]["switches"]
    assert (found["leaf"], found["spine"]) == switches


def test_nvlink_switches_and_power_shelves_are_managed(built: Built) -> None:
    """A GB300 NVL72: 18 trays of three ports, nine NVLink switch trays and eight power shelves of one each."""
    plan = {
        "bomgen": 1,
        "name": "racks",
        "cluster": {"gpu": "gb300", "racks": 2},
        "fabrics": {"out_of_band": "default"},
    }
    managed = built(plan)["fabrics"]["out_of_band"]
    assert managed["hosts"] == {"nvlink-switches-and-power-shelves": {"count": 2, "ports": 9 + 8}}
    assert managed["endpoints"] == 2 * (18 * 3 + 9 + 8)


def test_links_of_aocs_are_compared_with_their_built_in_modules(built: Built) -> None:
    """Half as many links of 400G with modules need three spines fewer than AOCs of 200G, and fewer optical ends."""
    plan = {
        "bomgen": 1,
        "name": "ascend",
        "cluster": {"gpu": "ascend-910b1", "servers": 48},
        "fabrics": {"compute": {"topology": "rail-optimized", "switch": "h3c-s9825-64d"}},
    }
    compute = built(plan)["fabrics"]["compute"]
    assert (compute["links"]["leaf-spine"], compute["switches"]["spine"]) == (192, 3)


def test_storage_servers_hang_on_the_storage_fabric(built: Built) -> None:
    """Storage servers of the plan have their ports on the fabric of role storage, and modules at both ends."""
    plan = {
        "bomgen": 1,
        "name": "fabrics",
        "cluster": {"gpu": "h100-sxm", "servers": 16},
        "fabrics": {"storage": {"switch": "qm9700", "ports_per_server": 2}},
        "storage": {"dataset": "10 PB", "servers": {"name": "flash box", "count": 10, "ports": 4}},
    }
    storage = built(plan)["fabrics"]["storage"]
    assert 16 * 2 + 10 * 4 == storage["endpoints"]
    assert {"flash-box": {"count": 10, "ports": 4}} == storage["hosts"]


def test_a_fabric_manager_is_on_the_bill(built: Built) -> None:
    """A part named for other machines is bought once for each of them, and stands in a rack."""
    hosts = [{"name": "fabric managers", "count": 2, "ports": 2, "part": "ufm-ndr"}]
    plan = plan_with({"topology": "rail-optimized", "hosts": hosts}, servers=127)
    bom = built(plan)
    assert 127 * 8 + 4 == bom["fabrics"]["compute"]["endpoints"]
    lines = [line for line in bom["lines"] if line["category"] == "management"]
    assert [("ufm-ndr", 2)] == [(line["part"], line["quantity"]) for line in lines]


def test_a_port_for_nothing_is_said_with_its_price(built: Built) -> None:
    """Up-links far beyond the down-links are a warning with the money (a published front end was over-built 16:1)."""
    plan = plan_with({"leaf": {"downlinks": 4, "uplinks": 32}, "switch": "qm9700"})
    assert any("over-provisioned" in check["message"] for check in built(plan)["checks"])


@pytest.mark.parametrize("topology", TOPOLOGIES)
@pytest.mark.parametrize("tiers", [2, 3])
def test_the_switch_that_a_refusal_names_carries_the_demand(topology: str, tiers: int, built: Built) -> None:
    """Where more ports a switch would do, the refusal says how many: that many do, two fewer do not."""
    plan = plan_with({"topology": topology, "tiers": tiers}, servers={2: 20_000, 3: 70_000}[tiers])
    switch = plan["fabrics"]["compute"]["switch"]
    with pytest.raises(PlanErrors) as refused:
        built(plan)
    found = re.search(r"or switches of (\d+) ports|or `tiers: (\d)`", str(refused.value.problems[0].message))
    assert found
    if found[2]:
        built({**plan, "fabrics": {"compute": {**plan["fabrics"]["compute"], "tiers": int(found[2])}}})
        return
    switch["ports"] = int(found[1])
    built(plan)
    switch["ports"] -= 2
    with pytest.raises(PlanErrors):
        built(plan)
