"""The smallest fabrics of many demands at once are those that the search finds for each."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import numpy as np
import pytest

from bomgen.fabric.clos.search import find_smallest
from bomgen.fabric.clos.search_columns import find_smallest_shapes
from bomgen.fabric.clos.shape import ClosShape, Numbers

DEMANDS = 24


def draw_numbers(draw: Random) -> Numbers:
    """A demand without endpoints: switches, ratio, rails."""
    three, ports = draw.random() < 0.5, draw.choice((16, 32, 40, 64, 128))
    per_server = draw.choice((1, 2, 4, 8, 9))
    rails = draw.choice((1, per_server))
    down, up = draw.choice(((400, 400), (400, 800), (200, 400)))
    above = ports if down == up else ports // 2
    return Numbers(
        tiers=3 if three else 2,
        nic_ports=0,
        host_ports=0,
        reserved_ports=0,
        rails=rails,
        unit=draw.choice((0, 0, 0, min(8, ports // 4))) if rails > 1 else 0,
        down_gbps=down,
        up_gbps=up,
        core_gbps=up,
        oversubscription=Fraction(draw.choice((1, 2, 3))),
        spine_oversubscription=Fraction(draw.choice((1, 1, 2))),
        radix=ports,
        up_radix=above,
        cages=above,
        spine_radix=above,
        spine_up_radix=above if three else 0,
        spine_cages=above if three else 0,
        core_radix=above if three else 0,
        leaf_down=0,
        leaf_up=0,
        pod_leaves=0,
        spine_count=0,
        spines_per_pod=0,
        spine_down=0,
        spine_up=0,
        core_count=0,
        ports_per_server=per_server,
        exact=1,
        ports_per_cage=draw.choice((1, 2)) if down == up else 1,
        rails_per_leaf=draw.choice((0, 0, rails // 2 if rails % 2 == 0 else 0)) if rails > 1 else 0,
        split_servers=draw.choice((0, 0, 1, 2)),
    )


@pytest.mark.parametrize("seed", range(DEMANDS))
def test_shapes_of_many_demands_are_those_of_each(seed: int) -> None:
    """Two and three tiers, with and without rails, from one server to more than fit."""
    draw = Random(seed)  # noqa: S311
    numbers = draw_numbers(draw)
    most = numbers.radix**2 // 2 if numbers.tiers == 2 else numbers.radix**3 // 4
    servers = draw.sample(range(1, min(most // numbers.ports_per_server, 1500) + 5), 15)
    ports = np.array(sorted(servers)) * numbers.ports_per_server
    exists, shapes = find_smallest_shapes(numbers, ports)
    found = [ClosShape(*shape) if there else None for there, shape in zip(exists, shapes.T.tolist(), strict=True)]
    assert found == [find_smallest(numbers._replace(nic_ports=count)) for count in ports.tolist()]
