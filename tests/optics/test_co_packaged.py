"""Switches with their optics inside: fibres lead from them straight to the modules of NICs, or to each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Built = Callable[[Mapping[str, Any]], dict[str, Any]]


def plan(servers: int = 64, **links: Any) -> dict[str, Any]:
    """DGX B300 on Q3450-LD, whose 144 connectors carry 800 Gb/s each."""
    fabric = {"switch": "q3450-ld", "links": {"server-leaf": {"length": "20 m", **links}}}
    cluster = {"gpu": "b300-sxm", "servers": servers}
    return {"bomgen": 1, "name": "inside", "cluster": cluster, "fabrics": {"compute": fabric}}


def test_no_module_is_sold_for_a_co_packaged_switch(built: Built) -> None:
    """NVIDIA: Q3450-LD takes fibres only. Each NIC has its module, and each link between switches is a fibre."""
    bom = built(plan())
    compute = bom["fabrics"]["compute"]
    assert compute["links_chosen"]["server-leaf"]["parts"] == ["mms4a20-rhs", "mfp7e30-nxxx"]
    assert compute["links_chosen"]["leaf-spine"]["parts"] == ["mfp7e30-nxxx"]
    assert compute["transceivers"]["server"] == compute["transceivers"]["total"] == 64 * 8
    assert compute["cables"]["leaf-spine"] == {"mfp7e30-n030": compute["links"]["leaf-spine"]}
    assert {line["fabric"] for line in bom["lines"] if line["category"] == "transceiver"} == {"compute"}


def test_its_fibre_is_priced_without_the_switch(built: Built) -> None:
    """The optics inside are paid for with the switch."""
    bom = built(plan(servers=8))
    assert len([line for line in bom["lines"] if line["part"] == "q3450-ld"]) == 1


def test_planning_parts_stand_at_the_servers_alone(built: Built) -> None:
    """A generic module named for both ends is bought for one, and its fibre is that of the switch."""
    compute = built(plan(servers=8, medium="transceiver", module="generic-800g"))["fabrics"]["compute"]
    assert compute["transceivers"]["total"] == compute["transceivers"]["server"] == 64
    assert compute["cables"]["server-leaf"] == {"mfp7e30-n020": 64}
