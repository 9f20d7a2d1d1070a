"""Links whose parts are not the obvious ones: slow lanes, breakouts, other makers' modules, long fibres."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

import bomgen

Built = Callable[[Mapping[str, Any]], dict[str, Any]]


def plan(switch: str, nic: str, servers: int = 32, length: str = "10 m", **fabric: Any) -> dict[str, Any]:
    """Servers with one NIC each on a switch."""
    links = {kind: {"length": length} for kind in ("server-leaf", "leaf-spine")}
    server = {"name": "server", "gpus": 1, "nics": 1, "nic": nic}
    cluster = {"gpu": "a100-pcie-80", "servers": servers, "server": server}
    return {
        "bomgen": 1,
        "name": "parts",
        "cluster": cluster,
        "fabrics": {"compute": {"switch": switch, "links": links, **fabric}},
    }


def parts(bom: Mapping[str, Any], kind: str = "server-leaf") -> list[str]:
    """The parts of a kind of link."""
    found: list[str] = bom["fabrics"]["compute"]["links_chosen"][kind]["parts"]
    return found


def checks(bom: Mapping[str, Any]) -> set[str]:
    """The ids of what a buyer is warned of."""
    return {check["id"] for check in bom["checks"] if check["status"] != "pass"}


# HDR on NDR switches --------------------------------------------------------------------------------------------------


def test_hdr_storage_of_dgx_a100_is_joined_to_an_ndr_switch(built: Built) -> None:
    """NVIDIA MFA7U10: one cage of a QM9700 serves two HDR ports of 200G, one from each of its two ports."""
    fabric = {"switch": "qm9700", "links": {"server-leaf": {"length": "10 m"}}}
    cluster = {"gpu": "a100-sxm-80", "servers": 16}
    storage = built({"bomgen": 1, "name": "hdr", "cluster": cluster, "fabrics": {"storage": fabric}})["fabrics"][
        "storage"
    ]
    assert storage["links"]["server-leaf"] == 64
    assert storage["switches"]["total"] == 1
    assert storage["cables"]["server-leaf"] == {"mfa7u10-h010": 32}


def test_an_hdr_link_takes_a_whole_ndr_port(built: Built) -> None:
    """64 ports of 400G carry 64 links of four lanes of 50G, not 128: one server more takes a second switch."""
    assert built(plan("qm9700", "cx6-hdr", servers=64))["fabrics"]["compute"]["switches"]["total"] == 1
    assert built(plan("qm9700", "cx6-hdr", servers=65))["fabrics"]["compute"]["switches"]["total"] > 1


def test_links_between_ndr_switches_below_hdr_servers_run_at_their_own_rate(built: Built) -> None:
    """No part joins two QM9700 at 200G: the links between them are NDR."""
    bom = built(plan("qm9700", "cx6-hdr", servers=200))
    assert parts(bom) == ["mfa7u10-hxxx"]
    assert parts(bom, "leaf-spine") == ["mma4z00-ns", "mfp7e10-nxxx"]
    assert bom["fabrics"]["compute"]["ports"]["leaf"]["down"] <= 42


def test_a_cage_that_nobody_describes_splits_its_ports_as_ever(built: Built) -> None:
    """Whether a server of 200G has slow lanes is known by its cage alone."""
    given = plan("qm9700", "cx6-hdr", servers=128)
    given["cluster"]["server"] = {"name": "server", "gpus": 1, "nics": 1, "port_gbps": 200}
    assert built(given)["fabrics"]["compute"]["switches"]["total"] == 1


# 100G hosts on 400G switches ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("switch", ["sn4700", "sn5400", "7060dx5-64s"])
def test_a_400g_port_breaks_out_to_four_hosts_of_100g(built: Built, switch: str) -> None:
    """A DR4 engine is four DR1 links over one fan-out; a module serves four hosts, and each host has one of its own."""
    bom = built(plan(switch, "cx6-100", link="100G", build_out="exact"))
    compute = bom["fabrics"]["compute"]
    assert parts(bom) == ["mms1v70-cm", "mms1v00-wm", "generic-mpo12-lc-os2-x4"]
    assert compute["transceivers"] == {"server": 32, "leaf": 8, "spine": 0, "core": 0, "total": 40}
    assert compute["cables"]["server-leaf"] == {"generic-mpo12-lc-os2-x4": 8}


@pytest.mark.parametrize(("hosts", "modules"), [(4, 1), (8, 1), (12, 2), (13, 2), (256, 32)])
def test_an_800g_cage_breaks_out_to_eight_hosts_beside_an_empty_one(hosts: int, modules: int) -> None:
    """NVIDIA Cumulus Linux, SN5600: 256 links of 100G in 32 cages split by 8, the cage beside each disabled."""
    found = bomgen.build(plan("sn5600", "cx6-100", servers=hosts))
    assert found.number("fabrics.compute.transceivers.leaf") == modules
    rows = [row for row in found.wiring() if row["b_module"] == "MMS4X00-NS"]
    cages = {port.split("s")[1].removeprefix("wp") for row in rows for port in row["b_port"].split(";")}
    assert cages == {str(2 * cage + 1) for cage in range(modules)}


def test_hosts_with_other_parts_share_no_cage_that_is_split_by_eight(built: Built) -> None:
    """Eight hosts with modules and eight on AOCs of four: one module, and two AOCs in cages of their own."""
    given = plan("sn5600", "cx6-100", servers=8)
    given["fabrics"]["compute"]["hosts"] = [{"name": "old", "count": 8, "ports": 1, "nic": "cx6-100", "length": "3 m"}]
    compute = built(given)["fabrics"]["compute"]
    assert sum(compute["cables"]["server-leaf"].values()) == 4
    assert compute["transceivers"]["leaf"] == 2


def test_a_breakout_is_found_for_a_module_that_the_plan_names(built: Built) -> None:
    """The far end and the fan-out follow from the module at the switch."""
    given = plan("sn4700", "cx6-100", link="100G")
    given["fabrics"]["compute"]["links"]["server-leaf"]["module"] = {"leaf": "mms1v00-wm"}
    assert parts(built(given)) == ["mms1v70-cm", "mms1v00-wm", "generic-mpo12-lc-os2-x4"]
    given["fabrics"]["compute"]["links"]["server-leaf"]["fibre"] = "generic-mpo12-lc-os2-x4"
    assert parts(built(given)) == ["mms1v70-cm", "mms1v00-wm", "generic-mpo12-lc-os2-x4"]


# QSFP112 switches of other makers -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("switch", "module", "fibre"),
    [
        ("h3c-s9827-128dh", "h3c-400g-vr4", "mfp7e10-nxxx"),
        ("ruijie-s6990-128qc", "ruijie-400g-q112-vr4", "ruijie-mpo8-om4"),
    ],
)
def test_qsfp112_switches_have_modules_of_their_vendors(built: Built, switch: str, module: str, fibre: str) -> None:
    """That single-port modules are not for switches is NVIDIA's rule: VR4 of the switch's vendor is at both ends.

    Its fibre is the vendor's too, where the vendor has one.
    """
    bom = built(plan(switch, "bf3-b3140l"))
    assert parts(bom) == [module, fibre]
    assert "generic" not in checks(bom)


def test_a_planning_module_is_not_what_to_order_in_its_own_place(built: Built) -> None:
    """Where no maker's module is known either, the warning says so, and names no planning part as the real one."""
    given = plan("sn5600", "bf3-b3140l")
    given["fabrics"]["compute"]["uplink"] = {"count": 2, "rate": "100G", "medium": "transceiver"}
    bom = built(given)
    said = [check["message"] for check in bom["checks"] if check["id"] == "generic"]
    assert said
    assert all("no orderable module is known" in text and "order instead" not in text for text in said)


def test_a_cable_of_unknown_lengths_is_no_short_one(built: Built) -> None:
    """MFA7U40 has no length in its sources: it is not said to reach 0 m."""
    given = plan("sn5600", "cx6-100", link="100G")
    options = built(given)["fabrics"]["compute"]["links_chosen"]["server-leaf"]["others"]
    assert next(each for each in options if each["way"] == "aoc")["reason"] == "no-length"


def test_qsfp112_switches_have_single_mode_modules(built: Built) -> None:
    """Beyond the 50 m of SR4 there is DR4, which here only a maker for any switch sells."""
    bom = built(plan("h3c-s9827-128dh", "bf3-b3140l", servers=200, length="90 m"))
    assert parts(bom) == ["mms1x00-ns400", "luma-400g-q112-dr4", "mfp7e30-nxxx"]
    assert parts(bom, "leaf-spine") == ["luma-400g-q112-dr4", "mfp7e30-nxxx"]


def test_a_fibre_whose_number_is_not_of_three_digits_is_ordered_by_the_number_of_its_length(built: Built) -> None:
    """Ruijie prints the metres as they are: the number of the family is none to order."""
    bom = built(plan("ruijie-s6990-128qc", "bf3-b3140l"))
    line = next(line for line in bom["lines"] if line["category"] == "cable")
    assert line["sku"] == "MPO-MPO-OM4-30M(APC)"


def test_a_vendors_own_modules_come_last_in_the_cages_of_others(built: Built) -> None:
    """H3C's and Ruijie's modules are not what goes into a NIC on a switch of Arista."""
    assert parts(built(plan("7060x6-64pe", "pollara-400")))[0] == "luma-400g-q112-vr4"


# fibres ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("length", "found"),
    [
        ("150 m", ["mms4x00-nm", "mfp7e30-nxxx"]),
        ("151 m", ["mms4x00-nm", "generic-mpo12-os2"]),
        ("500 m", ["mms4x00-nm", "generic-mpo12-os2"]),
        ("501 m", ["mms4x50-nm", "generic-lc-os2"]),
        ("2000 m", ["mms4x50-nm", "generic-lc-os2"]),
    ],
)
def test_single_mode_fibre_is_as_long_as_its_modules_reach(built: Built, length: str, found: list[str]) -> None:
    """NVIDIA cabling guide: 500 m of MPO and 2000 m of LC single-mode; MFP7E30 is listed up to 150 m."""
    given = plan("qm9700", "cx7-400-osfp", servers=256)
    given["fabrics"]["compute"]["links"]["leaf-spine"]["length"] = length
    assert parts(built(given), "leaf-spine") == found


def test_optics_of_slow_lanes_have_fibres_with_upc_ends(built: Built) -> None:
    """NVIDIA cable FAQ: MMA1B00 takes MPO/UPC, which does not mate with the APC ends of MFP7E."""
    bom = built(plan("sn4600c", "cx6-100", length="60 m"))
    assert parts(bom) == ["mma1b00-c100d", "generic-mpo12-upc-om4"]
    assert "no-part-known" not in checks(bom)
