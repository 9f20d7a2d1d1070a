"""Whole plans against what an architect would buy: switches, links between them, and modules that are all used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import ceil
from typing import Any

import pytest

Built = Callable[[Mapping[str, Any]], dict[str, Any]]


def plan(servers: int, gpu: str = "h100-sxm", server: Any = "dgx-h100", **fabrics: Any) -> dict[str, Any]:
    """A plan of so many servers with the fabrics that are given."""
    return {
        "bomgen": 1,
        "name": "architect",
        "cluster": {"gpu": gpu, "server": server, "servers": servers},
        "fabrics": fabrics,
    }


DGX_B300 = {"gpu": "b300-sxm", "server": "dgx-b300"}
DESIGNS = {
    "64 DGX H100 at 2:1": (
        plan(64, compute={"topology": "fat-tree", "switch": "sn5600", "oversubscription": 2}),
        {"leaf": 8, "spine": 2, "links": 256, "modules": 768},
    ),
    "two DGX H100": (
        plan(2, compute={"topology": "rail-optimized", "switch": "sn5600"}),
        {"leaf": 1, "spine": 0, "links": 0, "modules": 16},
    ),
    "32 DGX H100": (
        plan(32, compute={"topology": "rail-optimized", "switch": "sn5600"}),
        {"leaf": 4, "spine": 2, "links": 256, "modules": 512},
    ),
    "128 DGX B300 in two planes": (
        plan(128, **DGX_B300, compute={"topology": "rail-optimized", "switch": "sn6600", "planes": 2}),
        {"leaf": 16, "spine": 8, "links": 1024, "modules": 1024},
    ),
    "132 servers of two ports": (
        plan(132, server={"name": "server", "gpus": 8, "nics": 2, "port_gbps": 400}, compute={"switch": "qm9700"}),
        {"leaf": 9, "spine": 5, "links": 265, "modules": 268},
    ),
}
"""Plans, with the switches, the links between them and the modules in switches and servers."""


@pytest.mark.parametrize("name", DESIGNS)
def test_a_plan_buys_what_an_architect_would(built: Built, name: str) -> None:
    """Ports may idle, servers stay whole, and no module is bought for a port that serves nobody."""
    made, wanted = DESIGNS[name]
    fabric = built(made)["fabrics"]["compute"]
    switches = fabric["switches"]
    assert {
        "leaf": switches["leaf"],
        "spine": switches["spine"],
        "links": fabric["links"]["leaf-spine"],
        "modules": fabric["transceivers"]["total"],
    } == wanted


def test_storage_of_96_links_has_no_surplus_modules(built: Built) -> None:
    """Every twin-port module in a switch holds two links: no more are bought than the links of the tier need."""
    fabric = built(plan(48, storage="default"))["fabrics"]["storage"]
    down, up = fabric["links"]["server-leaf"], fabric["links"]["leaf-spine"]
    assert down == 96
    assert fabric["transceivers"]["leaf"] == ceil(down / 2) + ceil(up / 2)
    assert fabric["transceivers"]["spine"] == ceil(up / 2)


@pytest.mark.parametrize(
    ("servers", "said"), [(64, ["adding 2 ports for other hosts grows compute from 16 + 8 to 24 + 11"]), (63, [])]
)
def test_two_ports_that_cost_eleven_switches_are_said(built: Built, servers: int, said: list[str]) -> None:
    """Two scalable units of 32 fill their 16 leaves (RA-11333-001, table 3): two managers more take a third unit."""
    managers = [{"name": "ufm", "count": 2, "part": "ufm-ndr"}]
    unit = {"servers": 32}
    made = plan(
        servers, compute={"topology": "rail-optimized", "switch": "qm9700", "scalable_unit": unit, "hosts": managers}
    )
    checks = [check["message"] for check in built(made)["checks"] if check["id"] == "few-ports"]
    assert [text.partition(" switches;")[0] for text in checks] == said
