"""Laws of dragonflies whose last groups have fewer switches: counts, links port to port, and the bill."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import numpy as np
import pytest
from test_bill_and_cables import built, check_law

from bomgen.fabric.links import cut_between_halves
from bomgen.workflow.pipeline import list_cables

SHAPES = 150


def draw(seed: int) -> dict[str, Any]:
    """A plan of a dragonfly with small groups; many are refused."""
    random = Random(seed)  # noqa: S311
    p, a, h, g = random.randint(1, 6), random.randint(2, 7), random.randint(1, 6), random.randint(3, 9)
    shape = {"p": p, "a": a, "h": h, "g": g, "small_groups": random.randint(1, g - 1), "small_a": random.randint(1, a)}
    cage = random.choice(({}, {"cage": "osfp-finned", "ports_per_cage": 2}))
    switch = {"name": "switch", "ports": 32, "port_gbps": 400, **cage}
    cluster = {"gpu": "h100-sxm", "servers": random.randint(1, 12)}
    fabric = {
        "topology": "dragonfly",
        "switch": switch,
        "dragonfly": shape,
        "build_out": random.choice(("exact", "full")),
        "hosts": [{"name": "storage", "count": random.randint(1, 6), "ports": random.randint(1, 2)}],
    }
    return {"bomgen": 1, "name": "drawn", "cluster": cluster, "fabrics": {"compute": fabric}}


def test_counts_links_and_bill_agree() -> None:
    """Every two switches of a group have one link, every two groups as many as stated, and no port two."""
    number = 0
    for seed in range(SHAPES):
        plan = draw(seed)
        report = built(plan)
        if report is None:
            continue
        number += 1
        fabric = report.design.fabrics[0].fabric
        size = {name: int(figure.value) for name, figure in fabric.dimensions.items()}
        large = size["groups"] - size["small_groups"]
        groups = [size["switches_per_group"]] * large + [size["switches_per_small_group"]] * size["small_groups"]
        group_of = np.repeat(np.arange(len(groups)), groups)
        assert len(group_of) == fabric.switches.value
        wiring = list_cables(report)
        start = next(kind.start for kind in wiring.kinds if kind.device == "leaf")
        inside, between = Counter[tuple[int, int]](), Counter[tuple[int, int]]()
        for row, cables in enumerate(wiring.cable_type.tolist()):
            kind = wiring.cable_types[cables].kind
            one, other = int(wiring.a_device[row]) - start, int(wiring.b_device[row]) - start
            if kind == "local":
                inside[one, other] += 1
                assert group_of[one] == group_of[other]
            elif kind == "global":
                between[int(group_of[one]), int(group_of[other])] += 1
        assert set(inside.values()) <= {1}
        assert len(inside) == sum(each * (each - 1) // 2 for each in groups)
        for (one, other), links in between.items():
            stated = "links_between_groups" if max(one, other) < large else "links_to_small_groups"
            assert links == size[stated], (seed, one, other)
        pairs = len(groups) * (len(groups) - 1) // 2
        silent = 0 if size.get("links_between_groups") else large * (large - 1) // 2
        assert len(between) == pairs - silent
        check_law(plan, report, wiring)
        assert cut_between_halves(fabric).gbps >= fabric.bisection_gbps.value
    assert number > SHAPES / 5


@pytest.mark.parametrize(("servers", "leaves"), [(9408, 74 * 32 + 6 * 16)])
def test_frontier(servers: int, leaves: int) -> None:
    """74 groups of 32 switches with four links between any two, and six of 16 for storage and services."""
    shape = {"p": 16, "a": 32, "h": 10, "g": 80, "small_groups": 6, "small_a": 16}
    switch = {"name": "switch", "ports": 64, "port_gbps": 200}
    node = {"name": "node", "gpus": 4, "nics": 4, "port_gbps": 200}
    report = built(
        {
            "bomgen": 1,
            "name": "frontier",
            "cluster": {"gpu": "mi250x", "server": node, "servers": servers},
            "fabrics": {"compute": {"topology": "dragonfly", "switch": switch, "dragonfly": shape}},
        }
    )
    assert report is not None
    fabric = report.design.fabrics[0].fabric
    assert (fabric.switches.value, fabric.dimensions["links_between_groups"].value) == (leaves, 4)
