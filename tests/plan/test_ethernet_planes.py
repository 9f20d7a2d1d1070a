"""NICs whose ports carry slower Ethernet links than InfiniBand links: two planes in place of one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from bomgen.core.diagnostics import PlanErrors

Built = Callable[[Mapping[str, Any]], dict[str, Any]]


def plan(**fabric: Any) -> dict[str, Any]:
    """Eight DGX B300, whose ConnectX-8 carry XDR at 800 Gb/s and Ethernet at twice 400."""
    cluster = {"gpu": "b300-sxm", "servers": 8}
    return {"bomgen": 1, "name": "ethernet", "cluster": cluster, "fabrics": {"compute": fabric}}


def test_an_800g_port_has_two_ethernet_planes_of_400g(built: Built) -> None:
    """NVIDIA ConnectX-8 firmware notes: 800GbE on one port does not link up, 2 x 400GbE does."""
    compute = built(plan(switch="sn5600"))["fabrics"]["compute"]
    assert (compute["planes"], compute["link_gbps"]) == (2, 400)
    assert compute["links"]["server-leaf"] == 8 * 8 * 2
    assert compute["transceivers"]["server"] == 8 * 8
    given = built(plan(switch="sn5600", planes=2))["fabrics"]["compute"]
    assert given == compute


@pytest.mark.parametrize(
    ("fabric", "planes", "rate"),
    [
        ({"switch": "q3400-ra"}, 1, 800),
        ({"switch": "sn5600", "link": "400G"}, 1, 400),
        ({"switch": "sn5400"}, 1, 400),
    ],
)
def test_a_port_that_links_up_stays_whole(built: Built, fabric: dict[str, Any], planes: int, rate: int) -> None:
    """InfiniBand runs at 800 Gb/s on one port, and a link of 400G needs no second plane."""
    compute = built(plan(**fabric))["fabrics"]["compute"]
    assert (compute["planes"], compute["link_gbps"]) == (planes, rate)


@pytest.mark.parametrize("fabric", [{"link": "800G"}, {"planes": 1}, {"links": {"server-leaf": {"rate": "800G"}}}])
def test_a_link_that_does_not_come_up_is_refused(built: Built, fabric: dict[str, Any]) -> None:
    """What the plan asks for by name is not changed in silence."""
    with pytest.raises(PlanErrors) as refused:
        built(plan(switch="sn5600", **fabric))
    [problem] = refused.value.problems
    assert problem.rule == "rate"
    assert "400 Gb/s at most, not 800" in str(problem)
