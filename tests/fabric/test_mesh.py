"""The mesh: published pairs, homing, peer links, bisection by brute force, and what is refused."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bomgen.core.diagnostics import Infeasible, PlanErrors
from bomgen.fabric.occupancy import LeafGroup, Occupancy, max_flow_over_peers
from bomgen.output.registry import DOCUMENTS
from bomgen.output.writer import render
from bomgen.results.result import Report
from bomgen.workflow.pipeline import list_cables

Worked = Callable[[Mapping[str, Any]], Report]


def plan(servers: int, **fabric: Any) -> dict[str, Any]:
    """A plan of DGX H100 on a mesh of QM9700, unless said otherwise."""
    return {
        "bomgen": 1,
        "name": "mesh",
        "cluster": {"gpu": "h100-sxm", "server": "dgx-h100", "servers": servers},
        "fabrics": {"compute": {"topology": "mesh", "switch": "qm9700", **fabric}},
    }


@pytest.mark.parametrize(("systems", "peers"), [(4, 16), (8, 32)])
@pytest.mark.parametrize("homing", ["single", "dual", "rails"])
def test_basepod(worked: Worked, systems: int, peers: int, homing: str) -> None:
    """NVIDIA DGX BasePOD of four and eight systems: a pair of QM9700, 4 x 8 / 2 = 16 and 8 x 8 / 2 = 32 peer links."""
    [built] = worked(plan(systems, homing=homing)).design.fabrics
    fabric = built.fabric
    assert (fabric.switches.value, fabric.links_of("leaf-leaf").count.value) == (2, peers)
    assert (fabric.tiers[0].down.value, fabric.tiers[0].up.value) == (peers, peers)


def test_a_pair_of_the_open_compute_project(worked: Worked) -> None:
    """64 ports of 400G on two switches of 64 x 800G: 32 down each, and 16 peer links of 800G carry as much."""
    peers = {"leaf-leaf": {"rate": "800G", "module": "generic-800g"}, "server-leaf": {"module": "generic-400g"}}
    [built] = worked(plan(8, switch="generic-th5-64x800", homing="rails", links=peers)).design.fabrics
    assert (built.fabric.switches.value, built.fabric.links_of("leaf-leaf").count.value) == (2, 16)
    assert built.fabric.tiers[0].oversubscription.value == 1


@pytest.mark.parametrize(
    ("homing", "homes"), [("single", {1: 8}), ("dual", {2: 4}), ("rails", {4: 2})], ids=["single", "dual", "rails"]
)
def test_ports_of_a_server_are_dealt_out(worked: Worked, homing: str, homes: dict[int, int]) -> None:
    """Of four switches a server is plugged into one, two or all, with equal shares of its eight ports."""
    report = worked(plan(8, homing=homing, mesh={"switches": 4}, oversubscription=2))
    wiring = list_cables(report)
    ends = Counter(
        (wiring.names[a], wiring.names[b])
        for a, b in zip(wiring.a_device.tolist(), wiring.b_device.tolist(), strict=True)
        if wiring.names[a].startswith("server")
    )
    each = {server for server, _ in ends}
    assert len(each) == 8
    [(switches, ports)] = homes.items()
    for server in each:
        shares = [count for (name, _), count in ends.items() if name == server]
        assert shares == [ports] * switches
    assert set(Counter(switch for _, switch in ends.elements()).values()) == {16}


def test_rails_go_to_switches_in_order(worked: Worked) -> None:
    """With homing rails NICs 1 to 4 lead to the first switch of a pair, NICs 5 to 8 to the second."""
    wiring = list_cables(worked(plan(2, homing="rails")))
    found = {
        (wiring.ports[port], wiring.names[switch])
        for port, switch, kind in zip(
            wiring.a_port.tolist(), wiring.b_device.tolist(), wiring.cable_type.tolist(), strict=True
        )
        if wiring.cable_types[kind].kind == "server-leaf"
    }
    assert found == {(f"nic{nic}", f"compute-leaf-0{1 if nic < 5 else 2}") for nic in range(1, 9)}


@pytest.mark.parametrize(("homing", "gbps"), [("single", 32 * 400), ("dual", 32 * 400), ("rails", 32 * 400)])
def test_the_bisection_of_a_pair_is_full(worked: Worked, homing: str, gbps: int) -> None:
    """At 1:1 every endpoint of one half reaches the other at its full rate, in a switch or over peer links."""
    assert worked(plan(8, homing=homing)).design.fabrics[0].fabric.bisection_gbps.value == gbps


def test_fewer_peer_links_bound_the_bisection(worked: Worked) -> None:
    """Servers 1 to 4 are on one switch: four peer links carry 1600 Gb/s between the halves. With rails none is used."""
    halves = {"peer_links": 4}
    assert worked(plan(8, **halves)).design.fabrics[0].fabric.bisection_gbps.value == 4 * 400
    assert worked(plan(8, homing="rails", **halves)).design.fabrics[0].fabric.bisection_gbps.value == 32 * 400


@given(
    leaves=st.lists(st.integers(0, 9), min_size=2, max_size=6),
    pair=st.integers(0, 12),
)
def test_the_smallest_cut_by_brute_force(leaves: list[int], pair: int) -> None:
    """The max-flow is the smallest cut over all subsets of switches."""
    groups = tuple(LeafGroup(1, ports, 0, 0, 0) for ports in leaves)
    middle = sum(leaves) // 2
    first = list[int]()
    for ports in leaves:
        first.append(min(ports, middle - sum(first)))
    switches = range(len(leaves))
    cuts = [
        sum(leaves[at] - first[at] for at in side)
        + sum(first[at] for at in switches if at not in side)
        + len(side) * (len(leaves) - len(side)) * pair
        for size in range(len(leaves) + 1)
        for side in combinations(switches, size)
    ]
    assert max_flow_over_peers(Occupancy((groups,)), 1, pair) == min(cuts)


@pytest.mark.parametrize(
    ("fabric", "servers", "said"),
    [
        ({}, 9, "36 downlink ports"),
        ({"homing": "rails", "mesh": {"switches": 3}}, 3, "equally between 3 switches, but it has 8 here"),
        ({"homing": "dual", "mesh": {"switches": 3}}, 3, "needs pairs of switches, but the mesh has 3"),
        ({"peer_links": 60}, 1, "8 downlink ports per switch; with its peer links QM9700 has 4: at most 0 servers"),
    ],
    ids=["ports", "shares", "pairs", "peer links"],
)
def test_what_no_mesh_carries(worked: Worked, fabric: dict[str, Any], servers: int, said: str) -> None:
    """What broke, and what would be right."""
    with pytest.raises((Infeasible, PlanErrors), match="downlink ports" if "downlink ports" in said else said):
        worked(plan(servers, **fabric))


def test_the_fewest_switches_are_pairs_where_machines_are_homed_on_two(worked: Worked) -> None:
    """Ninety-six ports and their peer links need more than two QM9700: three, or four as pairs."""
    found = {}
    for homing in ("single", "dual"):
        fabric = {"homing": homing, "mesh": {"at_most": 6}, "oversubscription": 2}
        found[homing] = worked(plan(12, **fabric)).design.fabrics[0].fabric.switches.value
    assert found == {"single": 3, "dual": 4}


def test_ports_are_dealt_out_to_all_switches_of_a_mesh_alone(worked: Worked) -> None:
    """On other topologies it is refused, not ignored."""
    with pytest.raises(PlanErrors, match="homing: rails is for `topology: mesh`"):
        worked(plan(4, topology="fat-tree", homing="rails"))


@pytest.mark.parametrize(
    ("peers", "length", "part", "pieces"),
    [(32, "2 m", "mcp4y10-nxxx", 16), (32, "4 m", "mca4j80-nxxx", 16), (31, "2 m", "mfp7e10-nxxx", 31)],
    ids=["DAC", "ACC", "an odd link has no other beside it"],
)
def test_twin_port_copper_joins_a_pair(worked: Worked, peers: int, length: str, part: str, pieces: int) -> None:
    """NVIDIA DGX BasePOD of eight systems: 32 peer links of a pair of QM9700 are 16 DACs of two links each."""
    fabric = {"homing": "dual", "peer_links": peers, "links": {"leaf-leaf": {"length": length}}}
    report = worked(plan(8, **fabric))
    [built] = report.design.fabrics
    cables = {use.cable.identity.id: use.quantity.value for use in built.interconnect.cables if use.kind == "leaf-leaf"}
    assert cables == {part: pieces}
    modules = sum(use.quantity.value for use in built.interconnect.modules if use.kind == "leaf-leaf")
    assert modules == (0 if peers % 2 == 0 else 2 * 16)
    wiring = list_cables(report)
    ends: dict[int, set[tuple[int, ...]]] = {}
    columns = (wiring.piece, wiring.a_device, wiring.a_cage, wiring.b_device, wiring.b_cage, wiring.cable_type)
    for piece, *at, number in zip(*(column.tolist() for column in columns), strict=True):
        if wiring.cable_types[number].kind == "leaf-leaf":
            ends.setdefault(piece, set()).add(tuple(at))
    assert len(ends) == pieces
    assert all(len(places) == 1 for places in ends.values())


def test_a_cable_of_two_links_needs_two_beside_each_other(worked: Worked) -> None:
    """Named for an odd number of peer links it is refused."""
    asked = plan(8, peer_links=31, links={"leaf-leaf": {"medium": "dac", "module": "mcp4y10-n002"}})
    with pytest.raises(PlanErrors, match="carries 2 links between the same two devices"):
        worked(asked)


@pytest.mark.parametrize("servers", [1, 3, 5])
def test_every_format_knows_it(worked: Worked, servers: int) -> None:
    """Documents, drawings and the layout of a floor."""
    made = {
        **plan(servers, homing="dual", mesh={"switches": 4}, peer_links=2),
        "site": {"rack": {"units": 48, "power": "40 kW"}, "layout": "auto"},
    }
    files = render(worked(made), [name for name in DOCUMENTS.names if name not in ("pdf",)])
    assert all(files.values())
    bom = json.loads(files["bom.json"])
    assert bom["fabrics"]["compute"]["links"]["leaf-leaf"] == 12
    assert "fabrics.compute.links.leaf-leaf" in bom["derivations"]
