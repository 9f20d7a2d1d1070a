"""The law of bill and cable list: over random fabrics they count every module alike, and a cage holds one kind of part.

The modules of the cable list are counted from its own rows: a cage with a cable has one, of modules of one link each
port. What the bill has beyond that are modules without a cable: of reserved ports, and of a full build-out.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from depth import DEEP, shards
from drawn_fabrics import draw_plan

from bomgen.cabling.types import COLUMNS, Wiring
from bomgen.core.diagnostics import PlanErrors
from bomgen.results.result import Report
from bomgen.workflow.pipeline import list_cables, work_out
from bomgen.workflow.plan_files import PlanFile

PLANS, SHARDS = 200 * (100 if DEEP else 1), 10
LEAST_BUILT = 0.25
Place = tuple[str, str, str]
"""Fabric, kind of device, and id of the module."""


def built(plan: dict[str, Any], folder: Path = Path()) -> Report | None:
    """The result of a plan; None where it is refused."""
    try:
        return work_out(PlanFile("plan.yaml", json.dumps(plan).encode(), folder, folder))
    except PlanErrors:
        return None


def listed_modules(wiring: Wiring) -> Counter[Place]:
    """The modules that hold a cable of the list."""
    found: dict[Place, set[tuple[int, bool, int]]] = defaultdict(set)
    for number, cable_type in enumerate(wiring.cable_types):
        rows = np.flatnonzero(wiring.cable_type == number)
        for end, module in zip(
            "ab", (cable_type.medium.lower, cable_type.medium.upper) if cable_type.medium else (), strict=False
        ):
            if module is None:
                continue
            single = module.ports.value == 1
            device, cage, port = (
                getattr(wiring, f"{end}_{what}")[rows].tolist() for what in ("device", "cage", "port")
            )
            for at, place in zip(device, port if single else cage, strict=True):
                lower = end == "a" and cable_type.kind == "server-leaf"
                kind = "server" if lower else wiring.kind_of(at).device
                found[cable_type.fabric, kind, module.identity.id].add((at, single, place))
    return Counter({place: len(ends) for place, ends in found.items()})


def billed_modules(report: Report) -> Counter[Place]:
    """The modules of the bill, spares and adapters for their plugs apart."""
    found: Counter[Place] = Counter()
    uses = [use for built in report.design.fabrics for use in built.interconnect.adapters]
    adapters = {use.adapter.identity.id for use in uses}
    for line in report.bill.lines:
        if (
            line.category == "transceiver"
            and line.part not in adapters
            and line.part
            and line.role
            and "/" in line.role
        ):
            found[str(line.fabric), str(line.role).rpartition("/")[2], line.part] += int(line.quantity.value)
    return found


def listed_cables(wiring: Wiring) -> Counter[tuple[str, str]]:
    """The cables of the list, by fabric and id of the part; those of no known part left out."""
    found: Counter[tuple[str, str]] = Counter()
    _, first = np.unique(wiring.piece, return_index=True)
    for number, cable_type in enumerate(wiring.cable_types):
        if cable_type.medium and cable_type.medium.cable:
            pieces = int(np.count_nonzero(wiring.cable_type[first] == number))
            found[cable_type.fabric, cable_type.medium.cable.identity.id] += pieces
    return found


def billed_cables(report: Report) -> Counter[tuple[str, str]]:
    """The cables of the bill, spares apart."""
    found: Counter[tuple[str, str]] = Counter()
    for fabric in report.design.fabrics:
        for use in fabric.interconnect.cables:
            if use.cable:
                found[fabric.plan.name, use.cable.identity.id] += int(use.quantity.value)
    return found


def kinds_in_cages(wiring: Wiring) -> Counter[int]:
    """How many kinds of part the cages hold; planning parts, which stand for any, and unknown ones left out."""
    held: dict[tuple[int, int], set[str]] = defaultdict(set)
    for number, cable_type in enumerate(wiring.cable_types):
        medium = cable_type.medium
        rows = np.flatnonzero(wiring.cable_type == number)
        for end, module in zip("ab", (medium.lower, medium.upper) if medium else (), strict=False):
            part = module or (medium.cable if medium and not medium.modules else None)
            if part is None or part.identity.generic:
                continue
            device, cage = (getattr(wiring, f"{end}_{what}")[rows].tolist() for what in ("device", "cage"))
            for place in zip(device, cage, strict=True):
                held[place].add(part.identity.id)
    return Counter(len(kinds) for kinds in held.values())


def check_law(plan: dict[str, Any], report: Report, wiring: Wiring | None = None) -> None:
    """Hold the bill of a result against its cable list, which itself may not fail."""
    wiring = wiring or list_cables(report)
    listed, billed = listed_modules(wiring), billed_modules(report)
    for place in listed | billed:
        fabric = plan["fabrics"][place[0]]
        fabric = fabric if isinstance(fabric, dict) else {}
        if place[1] == "server" or not (fabric.get("build_out") == "full" or fabric.get("reserved_ports")):
            assert billed[place] == listed[place], place
        assert billed[place] >= listed[place], place
    assert billed_cables(report) == listed_cables(wiring)
    assert set(kinds_in_cages(wiring)) <= {1}
    ends = np.concatenate((wiring.a_device, wiring.b_device)) * (len(wiring.ports) + 1)
    assert len(np.unique(ends + np.concatenate((wiring.a_port, wiring.b_port)))) == 2 * len(wiring)


@pytest.mark.parametrize("shard", shards(SHARDS))
def test_bill_and_cable_list_are_one(shard: int) -> None:
    """What can be built has a cable list with the modules of its bill."""
    number = 0
    for seed in range(shard, PLANS, SHARDS):
        plan = draw_plan(seed)
        report = built(plan)
        if report is not None:
            number += 1
            check_law(plan, report)
    assert number > LEAST_BUILT * PLANS / SHARDS


def shuffled(plan: dict[str, Any], seed: int) -> dict[str, Any]:
    """The plan with its fabrics, and the hosts of each, in another order."""
    random, other = Random(seed), deepcopy(plan)  # noqa: S311
    fabrics = list(other["fabrics"].items())
    random.shuffle(fabrics)
    for _, fabric in fabrics:
        if isinstance(fabric, dict):
            random.shuffle(fabric.get("hosts", []))
    return {**other, "fabrics": dict(fabrics)}


def fabric(cluster: dict[str, Any], **compute: Any) -> dict[str, Any]:
    """A plan with one fabric."""
    return {"bomgen": 1, "name": "case", "cluster": cluster, "fabrics": {"compute": compute}}


SLOW = {"gpus": 8, "nics": 3, "nic": {"ports": 1, "port_gbps": 200, "cage": "osfp-flat"}}
SWITCH = {"ports": 16, "port_gbps": 400, "cage": "osfp-finned", "ports_per_cage": 2, "protocol": "infiniband"}
UFM = [{"name": name, "count": count, "part": "ufm-ndr"} for name, count in (("ufm", 5), ("mgmt", 2))]
CASES: dict[str, tuple[dict[str, Any], dict[Place, int]]] = {
    "a switch without a cage has a module for each of its ports": (
        fabric(
            {"gpu": "h100-sxm", "servers": 2, "server": SLOW},
            topology="rail-optimized",
            build_out="exact",
            switch={"ports": 64, "port_gbps": 800},
            links={"server-leaf": {"module": {"leaf": "mma4z00-ns"}}},
        ),
        {("compute", "leaf", "mma4z00-ns"): 6, ("compute", "server", "mma4z00-ns400"): 6},
    ),
    "splitters of one kind of host lead to no other": (
        fabric({"gpu": "l40s", "servers": 3}, switch="qm9790", hosts=UFM),
        {("compute", "server", "mma4z00-ns400"): 7},
    ),
    "planning modules beside real ones have cages of their own": (
        fabric(
            {"gpu": "mi325x", "servers": 8},
            topology="dragonfly",
            switch="generic-th5-64x800",
            reserved_ports=2,
            links={"server-leaf": {"module": "generic-400g"}},
        ),
        {},
    ),
    "a co-packaged switch has no modules": (
        fabric(
            {"gpu": "gb200", "servers": 18},
            topology="single-switch",
            build_out="exact",
            switch="q3450-ld",
            links={"server-leaf": {"medium": "transceiver", "module": "generic-400g", "length": "5 m"}},
        ),
        {("compute", "server", "generic-400g"): 72},
    ),
    "a cage that holds a link up beside one of an unknown part has a module": (
        fabric(
            {"gpu": "h100-sxm", "servers": 1, "server": SLOW | {"nics": 4, "nic": SLOW["nic"] | {"port_gbps": 400}}},
            topology="dragonfly",
            build_out="exact",
            switch=SWITCH,
            hosts=[
                {"name": "storage", "count": 1, "ports": 1},
                {"name": "login", "count": 2, "ports": 2, "nic": {"ports": 2, "port_gbps": 100, "cage": "qsfp112"}},
            ],
        ),
        {("compute", "leaf", "mma4z00-ns"): 21},
    ),
    "reserved ports on spines have no cable, and no part of one": (
        fabric(
            {"gpu": "h100-sxm", "servers": 32},
            topology="rail-optimized",
            switch="qm9790",
            nic="cx7-400-osfp",
            gpus_per_nic=4,
            reserved_ports=4,
            links={"server-leaf": {"medium": "aoc", "length": "2 m"}, "leaf-spine": {"length": "2 m"}},
        ),
        {},
    ),
    "parts of hosts and of peers have cages of their own where nobody knows those of the servers": (
        fabric(
            {"gpu": "l40s", "servers": 19},
            topology="dragonfly",
            switch="q3400-ra",
            nic={"ports": 1, "port_gbps": 400, "cage": "osfp-finned"},
            reserved_ports=4,
            hosts=[
                {
                    "name": "compute0",
                    "count": 2,
                    "ports": 3,
                    "part": {"name": "compute node", "ports": 2, "port_gbps": 800, "cage": "qsfp-dd"},
                }
            ],
        ),
        {},
    ),
    "a plane with a port less has as many cages with links up": (
        fabric(
            {"gpu": "gb200", "servers": 18},
            switch="7804r4",
            nic={"ports": 1, "port_gbps": 800, "cage": "osfp-finned"},
            gpus_per_nic=4,
            build_out="exact",
            planes=2,
            tiers=2,
            hosts=[{"name": "one", "count": 21, "ports": 1}],
        ),
        {},
    ),
    "a host whose port is the last down shares its module with a peer link": (
        fabric(
            {"gpu": "h100-sxm", "server": "dgx-h100", "servers": 9},
            topology="mesh",
            homing="rails",
            switch="7060x6-64pe",
            hosts=[{"name": "storage", "count": 3, "ports": 2, "nic": "cx7-400-osfp"}],
        )
        | {"optics": {"prefer": "nvidia"}},
        # 9 x 4 + 3 = 39 ports down and 39 peer links fill 39 cages of two on either switch.
        {("compute", "leaf", "mma4z00-ns"): 78},
    ),
    "a rail that a host does not reach has no module for it": (
        fabric(
            {"gpu": "h200-sxm", "server": "dgx-h200", "servers": 62},
            topology="rail-only",
            switch="sn5600",
            tiers=2,
            hosts=[{"name": "login", "count": 1, "ports": 2}],
        ),
        # 62 ports down on six leaves and 63 on two, 6 x 31 + 2 x 32 cages; 63 links up on each of the eight, 8 x 32.
        {("compute", "leaf", "mma4z00-ns"): 250 + 256},
    ),
    "line cards keep parts of different links in cages of their own": (
        fabric(
            {"gpu": "b300-sxm", "servers": 36},
            topology="dragonfly",
            switch="7804r4",
            nic="cx7-400-osfp",
            hosts=[{"name": "compute0", "count": 4, "ports": 1}],
            links={"server-leaf": {"medium": "transceiver", "length": "90 m"}},
        ),
        {},
    ),
}
"""Plans whose bill once had other modules than their cable list, each with some that both have."""


@pytest.mark.parametrize("case", CASES)
def test_modules_are_those_of_the_cages(case: str) -> None:
    """A bill that was wrong, counted by hand from the cages."""
    plan, wanted = CASES[case]
    report = built(plan)
    assert report is not None
    check_law(plan, report)
    billed = billed_modules(report)
    assert {place: billed[place] for place in wanted} == wanted
    if "co-packaged" in case:
        assert not [place for place in billed if place[1] == "leaf"]


@pytest.mark.parametrize("shard", shards(SHARDS))
def test_the_order_of_fabrics_and_hosts_decides_nothing(shard: int) -> None:
    """In another order a plan is accepted or refused alike, and has the same bill, cables and lengths."""
    for seed in range(shard, PLANS // 4, SHARDS):
        plan = draw_plan(seed)
        one, other = built(plan), built(shuffled(plan, seed))
        assert (one is None) == (other is None), seed
        if one is None or other is None:
            continue
        lines = [[(line.id, line.part, line.quantity.value) for line in report.bill.lines] for report in (one, other)]
        assert lines[0] == lines[1], seed
        first, second = list_cables(one), list_cables(other)
        for column in COLUMNS:
            assert np.array_equal(getattr(first, column), getattr(second, column)), (seed, column)
