"""The law of reach: over random fabrics cables join any two servers in each plane, and in each rail of its own."""

from __future__ import annotations

import numpy as np
import pytest
from depth import shards
from drawn_fabrics import draw_plan
from test_bill_and_cables import PLANS, SHARDS, built

from bomgen.cabling.types import Wiring
from bomgen.results.result import Report
from bomgen.workflow.pipeline import list_cables

SERVER = "server"


def components(wiring: Wiring, fabric: str) -> list[set[int]]:
    """The servers of each part of a fabric that no cable between two switches joins with another part."""
    above: dict[int, int] = {}

    def root(device: int) -> int:
        while above.setdefault(device, device) != device:
            above[device] = above[above[device]]
            device = above[device]
        return device

    own = [number for number, cables in enumerate(wiring.cable_types) if cables.fabric == fabric]
    rows = np.isin(wiring.cable_type, own)
    pairs = list(zip(wiring.a_device[rows].tolist(), wiring.b_device[rows].tolist(), strict=True))
    for one, other in pairs:
        if wiring.kind_of(one).fabric == fabric:
            above[root(one)] = root(other)
    found: dict[int, set[int]] = {}
    for one, other in pairs:
        if wiring.kind_of(one).device == SERVER:
            found.setdefault(root(other), set()).add(one)
    return list(found.values())


def check_reach(report: Report, wiring: Wiring) -> int:
    """Hold every fabric against the law; returns how many it held."""
    held = 0
    for each in report.design.fabrics:
        if each.plan.switchless or each.attachment is None or each.plan.uplink:
            continue
        planes = int(each.plan.planes.value)
        rails = int(each.attachment.ports_per_plane.value) if each.plan.declared.isolated_rails else 1
        parts = components(wiring, each.plan.name)
        servers = int(report.design.sizing.servers.value)  # type: ignore[union-attr]
        assert len(parts) == planes * rails, each.plan.name
        assert {len(part) for part in parts} == {servers}, each.plan.name
        held += 1
    return held


@pytest.mark.parametrize("shard", shards(SHARDS))
def test_any_two_servers_reach_each_other(shard: int) -> None:
    """In each plane of a fabric, and in each rail where rails meet only inside the servers."""
    held = 0
    for seed in range(shard, PLANS, SHARDS):
        report = built(draw_plan(seed))
        if report is not None:
            held += check_reach(report, list_cables(report))
    assert held > PLANS / SHARDS / 4
