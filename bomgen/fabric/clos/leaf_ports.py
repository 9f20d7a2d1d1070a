"""How many ports of which machines are on each leaf: parts that serve several links of a leaf are counted from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from math import ceil
from typing import NamedTuple

from bomgen.fabric.clos.occupancy import LeafGroup, Occupancy


class Leaf(NamedTuple):
    """The ports in use on a leaf: of servers, reserved ones, and of other machines kind by kind."""

    servers: int
    reserved: int
    others: tuple[int, ...]


def count_alike_leaves(seats: Occupancy, fabrics: int, machines: tuple[int, ...]) -> tuple[tuple[Leaf, int], ...]:
    """The leaves of equal fabrics that are alike, each with how many there are.

    `seats` are those of one of them, `machines` the ports of other machines kind by kind, numbered through and dealt
    out to the fabrics in turn, and in each to its rails.
    """
    rows = fabrics * len(seats.rails)
    bounds = [0]
    for ports in machines:
        bounds.append(bounds[-1] + ports)
    found: Counter[Leaf] = Counter()
    for row in range(rows):
        groups = seats.rails[row // fabrics]
        found.update(dict(_leaves_of_rail(groups, [max(ceil((bound - row) / rows), 0) for bound in bounds])))
    return tuple(found.items())


def _leaves_of_rail(groups: tuple[LeafGroup, ...], bounds: list[int]) -> Iterator[tuple[Leaf, int]]:
    """The leaves of a row whose places for other machines are taken in order, kind by kind up to each bound."""
    counted: Counter[Leaf] = Counter()
    first = 0
    for group in groups:
        if not group.host_ports:
            counted[Leaf(group.nic_ports, group.reserved_ports, (0,) * (len(bounds) - 1))] += group.leaves
            continue
        for _ in range(group.leaves):
            last = first + group.host_ports
            others = tuple(max(min(last, high) - max(first, low), 0) for low, high in pairwise(bounds))
            counted[Leaf(group.nic_ports, group.reserved_ports, others)] += 1
            first = last
    yield from counted.items()
