"""Warnings about hardware that is slower, or needs more, than the plan says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

Built = Callable[[Mapping[str, Any]], dict[str, Any]]


def plan(gpu: str, servers: int = 16, **fabrics: Any) -> dict[str, Any]:
    """Servers of a GPU on fabrics."""
    return {"bomgen": 1, "name": "limits", "cluster": {"gpu": gpu, "servers": servers}, "fabrics": fabrics}


def warnings(bom: Mapping[str, Any], id: str) -> list[str]:
    """What a buyer is warned of under an id."""
    return [check["message"] for check in bom["checks"] if check["id"] == id and check["status"] == "warn"]


# slots of NICs --------------------------------------------------------------------------------------------------------


def test_a_nic_faster_than_its_slot_is_said(built: Built) -> None:
    """400 Gb/s in the PCIe 4.0 x16 slot of a DGX A100, which carries 256 Gb/s raw."""
    bom = built(plan("a100-sxm-80", compute={"switch": "qm9700", "nic": "cx7-400-osfp"}))
    [message] = warnings(bom, "nic-slot")
    assert "total 400 Gb/s" in message
    assert "256 Gb/s" in message


@pytest.mark.parametrize(
    ("gpu", "fabric"),
    [
        ("a100-sxm-80", {"switch": "qm8700"}),
        ("a100-sxm-80", {"switch": "qm9700", "nic": "cx7-400-osfp", "link": "200G"}),
        ("h100-sxm", {"switch": "sn5600", "nic": "bf3-b3140l"}),
    ],
)
def test_a_slot_that_carries_the_links_is_not_mentioned(built: Built, gpu: str, fabric: dict[str, Any]) -> None:
    """HDR fits the slot, so does a faster card at 200 Gb/s; of other servers the slot is not known."""
    assert not warnings(built(plan(gpu, compute=fabric)), "nic-slot")


def test_both_ports_of_a_nic_count(built: Built) -> None:
    """Two ports of 200 Gb/s on one card need 400 Gb/s of its slot."""
    bom = built(plan("a100-sxm-80", compute={"switch": "qm8700", "nic": "cx6-hdr-2"}))
    [message] = warnings(bom, "nic-slot")
    assert "total 400 Gb/s" in message


# subnet managers ------------------------------------------------------------------------------------------------------


def test_unmanaged_switches_need_a_subnet_manager(built: Built) -> None:
    """NVIDIA QM97X0 manual: every InfiniBand subnet needs one; a QM9790 has no CPU to run it."""
    [message] = warnings(built(plan("h100-sxm", compute={"switch": "qm9790"})), "subnet-manager")
    assert "compute" in message
    assert "QM9790" in message
    assert "ufm-ndr" in message


@pytest.mark.parametrize(
    "fabric",
    [
        {"switch": "qm9700"},
        {"switch": "sn5600"},
        {"switch": "qm9790", "spine": {"switch": "qm9700"}, "tiers": 2},
        {"switch": "qm9790", "hosts": [{"name": "ufm", "count": 2, "part": "ufm-ndr"}]},
        {"switch": "qm9790", "reserved_ports": 2},
    ],
)
def test_a_subnet_manager_is_known(built: Built, fabric: dict[str, Any]) -> None:
    """In a managed switch of any tier, in an appliance, or on ports kept for one; Ethernet needs none."""
    assert not warnings(built(plan("h100-sxm", compute=fabric)), "subnet-manager")


# modules of other vendors ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("switch", "words"),
    [
        ("7060dx5-64s", "key from Arista"),
        ("qfx5230-64cd", "Hardware Compatibility Tool"),
        ("ruijie-s6980-64qc", "Ruijie's policy on third-party modules is not recorded here"),
    ],
)
def test_a_module_in_the_switch_of_another_vendor_is_said(built: Built, switch: str, words: str) -> None:
    """With what the vendor of the switch says of it, where that is known."""
    [message] = warnings(built(plan("h100-sxm", compute={"switch": switch, "nic": "bf3-b3140l"})), "foreign-module")
    assert message.startswith("MMS1V00-WM from NVIDIA is a third-party module in ")
    assert words in message


@pytest.mark.parametrize("switch", ["sn5400", "h3c-s9827-128dh", "q3450-ld"])
def test_own_modules_and_planning_parts_are_not_foreign(built: Built, switch: str) -> None:
    """A planning part has no vendor, and a switch with its optics inside has no module."""
    gpu = "b300-sxm" if switch == "q3450-ld" else "h100-sxm"
    fabric = {"switch": switch} | ({} if switch == "q3450-ld" else {"nic": "bf3-b3140l"})
    assert not warnings(built(plan(gpu, compute=fabric)), "foreign-module")
