"""Mistakes seen in published bills and in comparable tools, each as a plan that would show it.

The parts and counts that are right come from NVIDIA's LinkX guide, the QM97X0 manual (32 cages of two ports) and the
DGX SuperPOD H100 reference architecture (RA-11333-001 V11).
"""

# ruff: noqa: SIM300

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from bomgen.core.diagnostics import PlanErrors

Built = Callable[[Mapping[str, Any]], dict[str, Any]]

FOUR_UNITS = {"switch": "qm9700", "topology": "rail-optimized", "scalable_unit": {"servers": 32}}


def plan(fabric: Mapping[str, Any], servers: int = 128, **cluster: Any) -> dict[str, Any]:
    """DGX H100 servers on one fabric."""
    cluster = {"gpu": "h100-sxm", "servers": servers, **cluster}
    return {"bomgen": 1, "name": "known-failure", "cluster": cluster, "fabrics": {"compute": fabric}}


def compute(built: Built, fabric: Mapping[str, Any], servers: int = 128, **cluster: Any) -> dict[str, Any]:
    """What bom.json says of the fabric."""
    found: dict[str, Any] = built(plan(fabric, servers, **cluster))["fabrics"]["compute"]
    return found


def refused(built: Built, fabric: Mapping[str, Any], **cluster: Any) -> list[str]:
    """The reason codes that a plan is refused with."""
    with pytest.raises(PlanErrors) as errors:
        built(plan(fabric, **cluster))
    return [problem.rule for problem in errors.value.problems]


def test_uplink_bandwidth_taken_for_a_spine_count(built: Built) -> None:
    """512 GPUs got 56 spines: 64 servers have 16 leaves and 8 spines, and links never exceed ports."""
    found = compute(built, FOUR_UNITS, servers=64)
    assert (16, 8) == (found["switches"]["leaf"], found["switches"]["spine"])
    assert found["links"]["leaf-spine"] <= found["switches"]["spine"] * 64


def test_200_spine_cables_on_144_spine_ports(built: Built) -> None:
    """As many cables end at the spines as these have ports in use, and never more than they have."""
    for servers in (40, 72, 127):
        found = compute(built, FOUR_UNITS, servers=servers)
        cables = sum(found["cables"]["leaf-spine"].values())
        assert cables == found["links"]["leaf-spine"] == found["switches"]["leaf"] * found["ports"]["leaf"]["up"]
        assert cables <= found["switches"]["spine"] * 64


def test_12_spines_for_24_leaves_of_32_uplinks(built: Built) -> None:
    """Plain rounding up gives 12; with as many links from every leaf to every spine it takes 16."""
    assert 16 == compute(built, FOUR_UNITS, servers=96)["switches"]["spine"]


def test_single_mode_optics_on_multimode_trunks(built: Built) -> None:
    """208 dead modules: medium is a property of module and of fibre, and both are the same."""
    links = {"leaf-spine": {"medium": "transceiver", "module": "mms4x00-nm", "fibre": "mfp7e10-n030"}}
    assert ["medium"] == refused(built, {**FOUR_UNITS, "links": links})
    ends = {"leaf-spine": {"medium": "transceiver", "module": {"leaf": "mms4x00-nm", "spine": "mma4z00-ns"}}}
    assert ["medium"] == refused(built, {**FOUR_UNITS, "links": ends})


@pytest.mark.parametrize("module", ["mma1z00-ns400", "mms1x00-ns400"])
def test_qsfp112_modules_billed_for_osfp_cages(built: Built, module: str) -> None:
    """15 of 21 published bills: the form of the module is that of the cage at each end."""
    links = {"server-leaf": {"medium": "transceiver", "module": {"leaf": module}}}
    assert ["cage"] == refused(built, {**FOUR_UNITS, "links": links})


def test_a_400g_module_into_a_qsfp28_cage_of_the_other_end(built: Built) -> None:
    """A link is as fast as the slower of its ends: 400G NICs on a switch of 100G ports have links of 100G."""
    server = {"gpus": 8, "nics": 8, "nic": "cx7-400-osfp"}
    assert 100 == compute(built, {"switch": "sn4600c"}, servers=4, server=server)["link_gbps"]
    links = {"server-leaf": {"medium": "transceiver", "module": {"leaf": "mms1v00-wm"}}}
    assert ["cage"] == refused(built, {"switch": "sn4600c", "links": links}, servers=4, server=server)


@pytest.mark.parametrize("servers", [31, 64, 127, 300])
def test_switch_side_modules_cables_and_fibres_forgotten(built: Built, servers: int) -> None:
    """4 and 21 of 21 bills: every optical link has an engine at both ends, and a fibre."""
    found = compute(built, FOUR_UNITS, servers=servers)
    links = sum(found["links"].values())
    assert 2 * found["transceivers"]["total"] >= 2 * links
    assert {"server", "leaf"} <= {device for device, count in found["transceivers"].items() if count}
    assert links == sum(count for kind in found["cables"].values() for count in kind.values())


def test_modules_per_port_on_twin_port_cages(built: Built) -> None:
    """A QM9700 has 32 cages of two ports: full, it holds 32 modules, not 64."""
    found = compute(built, FOUR_UNITS)
    assert 32 * 32 == found["transceivers"]["leaf"]
    assert 16 * 32 == found["transceivers"]["spine"]
    assert 128 * 4 == found["transceivers"]["server"]


def test_modules_shared_between_two_switches(built: Built) -> None:
    """Five links on each of eight leaves take three twin-port modules on each: 24, not 20."""
    found = compute(built, {"switch": "qm9700", "topology": "rail-only", "build_out": "exact"}, servers=5)
    assert (8, 8 * 3) == (found["switches"]["leaf"], found["transceivers"]["leaf"])


@pytest.mark.parametrize("cable", ["mfs1s00-h030v", "mcp1650-h002"])
def test_200g_cables_on_a_switch_with_100g_ports(built: Built, cable: str) -> None:
    """A vendor's own reference bill: a cable carries links of the rate that both its cages have."""
    medium = {"mfs1s00-h030v": "aoc", "mcp1650-h002": "dac"}[cable]
    server = {"gpus": 8, "nics": 8, "nic": "cx6-hdr"}
    links = {"server-leaf": {"medium": medium, "module": cable, "length": "2 m"}}
    assert ["rate"] == refused(built, {"switch": "sn4600c", "links": links}, servers=4, server=server)


def test_multimode_fibre_quoted_for_xdr(built: Built) -> None:
    """A transcribed Rubin bill quotes 980-9I570-00N030, MFP7E10 of 30 m, for XDR, which is single-mode only."""
    links = {"server-leaf": {"medium": "transceiver", "fibre": "mfp7e10-n030"}}
    fabric = {"switch": "q3400-ra", "links": links}
    assert ["medium"] == refused(built, fabric, gpu="b300-sxm", servers=64)


def test_half_of_the_modules_at_the_leaves(built: Built) -> None:
    """The same bill has 2034 twin-port modules at the leaves for 4608 links, which need 2304."""
    found = compute(built, {**FOUR_UNITS, "switch": "q3400-ra"}, servers=576, gpu="b300-sxm")
    assert 4608 == found["links"]["server-leaf"]
    links = found["links"]["server-leaf"] + found["links"]["leaf-spine"]
    assert 2 * found["transceivers"]["leaf"] >= links


def test_cages_counted_as_fibres(built: Built) -> None:
    """BasePOD RA V5 counts 32 fibres for 8 servers, which are its cages: 8 servers of 8 links have 64."""
    found = compute(built, {**FOUR_UNITS, "tiers": 1, "topology": "single-switch"}, servers=8)
    assert 64 == sum(found["cables"]["server-leaf"].values())
    assert 32 == found["transceivers"]["server"]


def test_parts_that_are_not_there_are_not_free(built: Built) -> None:
    """A missing price counts as missing, not as zero."""
    bom = built(plan(FOUR_UNITS))
    assert not bom["totals"]["complete"]
    assert {None} == {line["amount"] for line in bom["lines"]}
