"""Laws of a dragonfly+ with parallel links and last groups of another size: counts, links port to port, bill, flow."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import numpy as np
import pytest
from flow import Network
from test_bill_and_cables import built, check_law

from bomgen.fabric.links import cut_between_halves
from bomgen.workflow.pipeline import list_cables

SHAPES = 300


def draw(seed: int) -> dict[str, Any]:
    """A plan of a dragonfly+ whose last groups are smaller or larger; many are refused."""
    random = Random(seed)  # noqa: S311
    shape = {letter: random.randint(1, 6) for letter in "pash"} | {"g": random.randint(3, 8)}
    shape["parallel"] = random.randint(1, 3)
    if random.random() < 0.8:
        others = {"groups": random.randint(1, shape["g"] - 1), "a": random.randint(1, 7), "s": random.randint(1, 7)}
        shape |= {f"other_{key}": value for key, value in others.items()}
        if random.random() < 0.5:
            shape["other_parallel"] = random.randint(1, 3)
    cage = random.choice(({}, {"cage": "osfp-finned", "ports_per_cage": 2}))
    fabric = {
        "topology": "dragonfly+",
        "switch": {"name": "switch", "ports": random.choice((20, 32)), "port_gbps": 400, **cage},
        "dragonfly+": shape,
        "build_out": random.choice(("exact", "full")),
        "hosts": [{"name": "storage", "count": random.randint(1, 6), "ports": random.randint(1, 2)}],
    }
    cluster = {"gpu": "h100-sxm", "servers": random.randint(1, 12)}
    return {"bomgen": 1, "name": "drawn", "cluster": cluster, "fabrics": {"compute": fabric}}


def test_counts_links_and_bill_agree() -> None:
    """Every leaf has as many links to each spine of its group as given, every two groups as many as stated."""
    number = 0
    for seed in range(SHAPES):
        plan = draw(seed)
        report = built(plan)
        if report is None:
            continue
        number += 1
        fabric, shape = report.design.fabrics[0].fabric, plan["fabrics"]["compute"]["dragonfly+"]
        size = {name: int(figure.value) for name, figure in fabric.dimensions.items()}
        others = shape.get("other_groups", 0)
        large = size["groups"] - others
        group_of = {
            tier: np.repeat(
                np.arange(size["groups"]), [shape[letter]] * large + [shape.get(f"other_{letter}", 0)] * others
            )
            for tier, letter in (("leaf", "a"), ("spine", "s"))
        }
        assert [len(group_of[tier.name]) for tier in fabric.tiers] == [tier.count.value for tier in fabric.tiers]
        wiring = list_cables(report)
        start = {kind.device: kind.start for kind in wiring.kinds}
        inside, between = Counter[tuple[int, int]](), Counter[tuple[int, int]]()
        for row, cables in enumerate(wiring.cable_type.tolist()):
            kind = wiring.cable_types[cables].kind
            one, other = int(wiring.a_device[row]), int(wiring.b_device[row]) - start["spine"]
            if kind == "leaf-spine":
                inside[one - start["leaf"], other] += 1
                assert group_of["leaf"][one - start["leaf"]] == group_of["spine"][other]
            elif kind == "spine-spine":
                between[int(group_of["spine"][one - start["spine"]]), int(group_of["spine"][other])] += 1
        for (leaf, _), links in inside.items():
            is_other = group_of["leaf"][leaf] >= large
            assert links == (shape.get("other_parallel", 1) if is_other else shape["parallel"]), seed
        if plan["fabrics"]["compute"]["build_out"] == "full":
            of_large, of_other = shape["a"] * shape["s"], shape.get("other_a", 0) * shape.get("other_s", 0)
            assert len(inside) == large * of_large + others * of_other
        for (one, other), links in between.items():
            stated = "links_between_groups" if max(one, other) < large else "links_to_other_groups"
            assert links == size[stated], seed
        check_law(plan, report, wiring)
        cut = cut_between_halves(fabric)
        assert not cut.miscounted
        assert cut.gbps >= fabric.bisection_gbps.value
    assert number > SHAPES / 8


@pytest.mark.parametrize(("parallel", "flow"), [(1, 16 * 400), (2, 32 * 400)])
def test_parallel_links_make_a_group_non_blocking(parallel: int, flow: int) -> None:
    """A leaf of 32 endpoints sends as much as its links to 16 spines carry: all of it over two links to each."""
    shape = {"p": 32, "a": 15, "s": 16, "h": 32, "g": 2, "parallel": parallel}
    switch = {"name": "switch", "ports": 64, "port_gbps": 400}
    node = {"name": "node", "gpus": 4, "nics": 4, "port_gbps": 400}
    plan = {
        "bomgen": 1,
        "name": "booster",
        "cluster": {"gpu": "gh200", "server": node, "servers": 120},
        "fabrics": {"compute": {"topology": "dragonfly+", "switch": switch, "dragonfly+": shape}},
    }
    report = built(plan)
    assert report is not None
    wiring, network = list_cables(report), Network()
    start = {kind.device: kind.start for kind in wiring.kinds}
    for row, cables in enumerate(wiring.cable_type.tolist()):
        one, other = int(wiring.a_device[row]), int(wiring.b_device[row])
        if wiring.cable_types[cables].kind == "leaf-spine":
            network.join(one, other, 400)
    assert network.flow(start["leaf"], start["leaf"] + 1) == flow
