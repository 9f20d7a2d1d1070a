"""Links between machines that the customer has: their NICs, modules and cables exist as well."""

from __future__ import annotations

import pytest

from bomgen import build

PLAN = """
bomgen: 1
name: x
cluster: {server: %s, servers: %d}
fabrics: {compute: {topology: fat-tree, switch: %s}}
existing: {%s}
"""


def offered(server: str, servers: int, switch: str, existing: str, more: str = "") -> dict[str, int]:
    """The pieces of each line of the bill."""
    lines = build(PLAN % (server, servers, switch, existing) + more).data["lines"]
    return {line["id"]: line["quantity"] for line in lines if not line["required_by"]}


def test_nothing_is_offered_between_what_exists() -> None:
    """Eight servers of eight ports on one switch of 64."""
    assert offered("dgx-h100", 8, "qm9700", "dgx-h100: 8, qm9700: 1") == {}


@pytest.mark.parametrize(("in_use", "cables"), [(0, 64), (4, 32), (7, 8)])
def test_new_servers_take_free_ports(in_use: int, cables: int) -> None:
    """Each brings eight cables, and four modules of two ports at either end; the switch stays."""
    existing = f"qm9700: 1{f', dgx-h100: {in_use}' if in_use else ''}"
    lines = offered("dgx-h100", 8, "qm9700", existing)
    assert lines.pop("server") == 8 - in_use
    kind = "compute.transceiver.server-leaf"
    assert lines == {f"{kind}.server": cables // 2, f"{kind}.leaf": cables // 2, "compute.cable.server-leaf": cables}


def test_growth_is_counted_to_the_cable() -> None:
    """Four of eight DGX H100 exist, with one of two SN2201 and the switches: by hand 20 in-band links are new.

    Two of each new server, two of each of five management servers, and the two uplinks of the new SN2201; out of band
    one of each new server, of each management server, of none of the four switches. In a room their lengths differ.
    Two QM9700 are joined by eight twin-port cables for four servers, by sixteen for eight (DGX BasePOD, table 4.2).
    """
    plan = """
bomgen: 1
name: x
cluster: {server: dgx-h100, servers: 8}
fabrics: {compute: default, in_band: default, out_of_band: default}
existing: {dgx-h100: 4, qm9700: 2, sn4600c: 2, sn2201: 1}
"""
    for site in ("", "site: {rack: {power: 40 kW}, layout: auto}\n"):
        cables = dict.fromkeys(("compute", "in_band"), 0)
        for line in build(plan + site).data["lines"]:
            if line["category"] == "cable" and line["fabric"] in cables:
                cables[line["fabric"]] += line["quantity"]
        assert cables == {"compute": 4 * 8 + 8, "in_band": 4 * 2 + 5 * 2 + 2}


def test_two_servers_that_exist_are_joined() -> None:
    """Port to port: their NICs, modules and cables exist; with one new server they are bought."""
    cluster = "bomgen: 1\nname: x\ncluster: {server: dell-xe7745-h200-nvl, servers: 2}\nfabrics: {compute: default}\n"
    for in_use, nics in ((2, 0), (1, 8)):
        lines = build(f"{cluster}existing: {{dell-xe7745-h200-nvl: {in_use}}}\n").data["lines"]
        assert sum(line["quantity"] for line in lines if line["category"] == "nic") == nics
        assert any(line["category"] == "cable" for line in lines) == bool(nics)


def test_links_to_new_switches_are_offered() -> None:
    """Of 32 servers eight exist with a full leaf of 64: the others need 192 cables, and all of those to the spines."""
    lines = offered("dgx-h100", 32, "qm9700", "dgx-h100: 8, qm9700: 1")
    assert lines["server"] == 24
    assert lines["compute.cable.server-leaf"] == 24 * 8
    assert lines["compute.cable.leaf-spine"] == 32 * 8
    assert lines["compute.transceiver.server-leaf.server"] == 24 * 4
    assert lines["compute.switch.leaf"] + lines["compute.switch.spine"] == 8 + 4 - 1


def test_nics_of_existing_servers_exist() -> None:
    """An XE9680 is ordered with its NICs, eight of them."""
    both = offered("dell-xe9680-h200", 4, "sn5600", "dell-xe9680-h200: 2, sn5600: 1")
    assert both["compute.nic"] == 2 * 8
    without_switch = offered("dell-xe9680-h200", 4, "sn5600", "dell-xe9680-h200: 2")
    assert without_switch["compute.nic"] == 4 * 8


def test_a_scope_orders_optics_for_what_exists() -> None:
    """As many as without existing machines."""
    lines = offered("dgx-h100", 8, "qm9700", "dgx-h100: 8, qm9700: 1", "scope: [transceiver, cable]\n")
    assert lines["compute.cable.server-leaf"] == 64
    assert sum(count for id, count in lines.items() if ".transceiver." in id) == 64


def test_growth_keeps_the_links_between_switches_that_were_there() -> None:
    """32 servers are on four leaves and two spines with 256 uplinks, 64 on eight and four with 512: half are new."""
    compute = "{topology: rail-optimized, switch: sn5600}"
    plan = f"bomgen: 1\nname: x\ncluster: {{server: dell-xe9680-h200, servers: 64}}\nfabrics: {{compute: {compute}}}\n"
    lines = build(f"{plan}existing: {{dell-xe9680-h200: 32, sn5600: 6}}\n").data["lines"]
    pieces = {line["id"].removeprefix("compute."): line["quantity"] for line in lines if line["fabric"]}
    assert (pieces["switch.leaf"], pieces["switch.spine"]) == (4, 2)
    assert (pieces["cable.leaf-spine"], pieces["transceiver.leaf-spine.spine"]) == (256, 128)


@pytest.mark.parametrize(
    ("server", "servers", "in_use", "fabric"),
    [
        ("dell-xe9680-h200", 40, "dell-xe9680-h200: 32, sn5600: 6", "{topology: rail-optimized, switch: sn5600}"),
        ("dgx-h100", 24, "dgx-h100: 16, qm9700: 6", "default"),
    ],
)
def test_servers_that_exist_keep_their_links(server: str, servers: int, in_use: str, fabric: str) -> None:
    """However thinly the leaves of the larger network are filled: eight new servers bring 64 links."""
    plan = f"bomgen: 1\nname: x\ncluster: {{server: {server}, servers: {servers}}}\n"
    lines = build(f"{plan}fabrics: {{compute: {fabric}}}\nexisting: {{{in_use}}}\n").data["lines"]
    assert sum(line["quantity"] for line in lines if line["id"].startswith("compute.cable.server-leaf")) == 8 * 8
