"""The smallest folded Clos for many demands that differ in their endpoints alone.

Every division of a leaf's ports is an entry of a table, with the switches that it takes at least. For each demand those
that may be the smallest are tried, as `search` tries them; a division that several demands share is tried once.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bomgen.fabric.clos.leaf_divisions import (
    Division,
    count_ports_together,
    count_rails_per_leaf,
    links_up_for,
    most_down,
    most_leaves_of_group,
    room_down,
)
from bomgen.fabric.clos.search import cost_of, find_smallest_of_division, most_down_of_spine
from bomgen.fabric.clos.shape import ClosShape, Numbers

Integers = NDArray[np.int64]
NEVER = np.iinfo(np.int64).max
"""Switches of a division that does not serve a demand."""
KEPT = 100_000
"""Divisions whose smallest fabric is remembered: those of the leaves of many searches."""


class _Divisions(NamedTuple):
    """Divisions of leaves, a row a demand and a column a division, as `Division` has them."""

    bound: Integers
    """Switches that it takes at least; NEVER where it does not serve the demand."""
    leaves: Integers
    down: Integers
    up: Integers
    rails_per_leaf: Integers
    units: Integers
    split: Integers


def find_smallest_shapes(numbers: Numbers, nic_ports: Integers) -> tuple[NDArray[np.bool_], Integers]:
    """Whether `find_smallest` finds a fabric for each number of NIC ports in place of that of `numbers`, and its shape.

    The shapes are rows of fields of `ClosShape`. Covered are demands without other machines, reserved ports and fixed
    numbers of ports of a leaf, built out exactly.
    """
    best = np.full((len(ClosShape._fields) + len(COST), len(nic_ports)), NEVER)
    blocks = list(_divide(numbers, nic_ports))
    if blocks:
        bounds, *divisions = (np.concatenate(each, axis=1) for each in zip(*blocks, strict=True))
        order = np.argsort(bounds, axis=1, kind="stable")
        rows = np.arange(len(nic_ports))
        for place in order.T:
            rows = rows[(bounds[rows, place[rows]] < NEVER) & (bounds[rows, place[rows]] <= best[0, rows])]
            if not rows.size:
                break
            found = _try_divisions(numbers, [each[rows, place[rows]] for each in divisions])
            better = _is_less(found[: len(COST)], best[: len(COST), rows])
            best[:, rows[better]] = found[:, better]
    exists = best[0] < NEVER
    return exists, np.where(exists, best[len(COST) :], 0)


def _try_divisions(numbers: Numbers, divisions: list[Integers]) -> Integers:
    """What each of some divisions costs, and its smallest shape; NEVER where there is none."""
    leaves, down, up, rails_per_leaf, units, split = divisions
    unique, inverse = np.unique(np.stack([down, up, leaves, rails_per_leaf, units]), axis=1, return_inverse=True)
    anybody = numbers._replace(nic_ports=0)
    found = np.array([_cost_and_shape(anybody, tuple(each)) for each in unique.T.tolist()], np.int64).T
    found = found[:, inverse.ravel()]
    found[COST.index("split")] += split
    return found


COST = (
    "switches",
    "split",
    "units",
    "links",
    "mixes",
    "up",
    "rails",
    "leaves",
    "pods",
    "spines",
    "up",
    "cores",
    "down",
)
"""The fields of `search.cost_of`."""


@lru_cache(maxsize=KEPT)
def _cost_and_shape(numbers: Numbers, fields: tuple[int, ...]) -> tuple[int, ...]:
    """The cost of a division, but for the servers that it splits, and its smallest shape."""
    division = Division._make((*fields, 0))
    shape = find_smallest_of_division(numbers, division)
    if shape is None:
        return (NEVER, *[0] * (len(COST) + len(ClosShape._fields) - 1))
    return (*cost_of(numbers, division, shape), *shape)


def _is_less(one: Integers, other: Integers) -> NDArray[np.bool_]:
    """Whether columns are less than others: in the first row where they differ."""
    less, same = np.zeros(one.shape[1], np.bool_), np.ones(one.shape[1], np.bool_)
    for mine, theirs in zip(one, other, strict=True):
        less |= same & (mine < theirs)
        same &= mine == theirs
    return less


def _divide(numbers: Numbers, nic_ports: Integers) -> Iterator[_Divisions]:
    """Every division of a leaf's ports that serves the demands: what `divide_leaves` gives for one."""
    most = most_down(numbers)
    if numbers.rails == 1:
        for together in count_ports_together(numbers, most):
            yield from _divide_row(numbers, nic_ports, most, numbers.ports_per_server, together, 1)
        return
    for each in count_rails_per_leaf(numbers):
        if each * max(numbers.unit, 1) <= most:
            yield from _divide_row(numbers, nic_ports, most, each, each, numbers.rails // each)


def _divide_row(
    numbers: Numbers, nic_ports: Integers, most: int, ports: int, together: int, rows: int
) -> Iterator[_Divisions]:
    if most < together:
        return
    has_rails = numbers.rails > 1
    servers = nic_ports // numbers.ports_per_server * (ports // together)
    in_use = np.maximum(servers * together, 1)
    units = -(-nic_ports // (numbers.rails * numbers.unit)) if has_rails and numbers.unit else np.ones_like(nic_ports)
    down = np.arange(together, most + 1)
    leaves = np.maximum(-(-servers[:, None] // (down // together)), -(-in_use[:, None] // down))
    leaves = np.maximum(leaves, units[:, None])
    if has_rails and numbers.unit:
        leaves = leaves.min(axis=1, keepdims=True)
    elif has_rails and numbers.core_radix:
        leaves = np.concatenate([leaves, _first_of_groups(numbers, leaves)], axis=1)
    served = leaves > 0
    served[:, 1:] &= leaves[:, 1:] != leaves[:, :-1]
    if has_rails and ports > 1 and not numbers.unit and not numbers.rails_per_leaf:
        served &= leaves == 1
    shared = np.maximum(leaves, 1)
    down = np.maximum(together * -(-servers[:, None] // shared), -(-in_use[:, None] // shared))
    served &= down <= most
    down = np.where(served, down, 0)
    table = np.array([links_up_for(numbers, each) for each in range(most + 1)], np.int64)
    room = np.array([room_down(numbers, each) for each in range(max(int(table.max()), numbers.up_radix) + 1)], np.int64)
    up = table[down]
    served &= (up <= numbers.up_radix) & (down <= room[up])
    yield _Divisions(
        np.where(served, _bound(numbers, leaves * rows, up), NEVER),
        leaves * rows,
        down,
        up,
        np.full_like(leaves, ports),
        leaves if has_rails else np.zeros_like(leaves),
        _count_split(servers[:, None], ports, np.maximum(down, 1)) if together == 1 < ports else np.zeros_like(leaves),
    )


def _count_split(server_ports: Integers, ports: int, down: Integers) -> Integers:
    """Servers whose ports end on two leaves, when ports fill leaf after leaf."""
    borders = np.maximum(-(-server_ports // down) - 1, 0)
    found: Integers = borders - borders // (ports // np.gcd(ports, down))
    return found


def _first_of_groups(numbers: Numbers, leaves: Integers) -> Integers:
    """One leaf more than fills the groups of a rail, for each number of groups below the most leaves; 0 for none."""
    group, least, most = most_leaves_of_group(numbers), leaves.min(axis=1), leaves.max(axis=1)
    first = (least - 1) // group * group + group + 1
    several = max(int((-(-(most - first) // group)).max()), 0)
    found: Integers = first[:, None] + group * np.arange(several)
    return np.where(found < most[:, None], found, 0)


def _bound(numbers: Numbers, leaves: Integers, up: Integers) -> Integers:
    """Switches that divisions take at least: leaves, the spines for their links up, and the cores above these."""
    links, most = leaves * up, most_down_of_spine(numbers)
    found = leaves - (-links // most) if most else leaves
    if not numbers.core_radix or numbers.spine_up:
        return found
    ratio = numbers.spine_oversubscription
    of_core = ratio.numerator * numbers.core_gbps * numbers.core_radix
    return found - (-links * numbers.up_gbps * ratio.denominator // of_core)
