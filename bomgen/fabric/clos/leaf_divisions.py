"""Divisions of a leaf's ports into downlinks and uplinks, and the leaf count of each division.

Where only used ports are built, ports may be idle: for every number of downlinks the lowest leaf count is chosen,
because more leaves with as many ports cost a switch and save none. On a full build-out a leaf has as many downlinks as
its uplinks leave ports.

In a fat tree a server's ports stay on one leaf, unless it has so many that leaves would be left half empty. With rails
a leaf serves `k` rails of one unit: port r of every server of the unit connects to the leaf that serves rail r.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from math import ceil, gcd
from typing import Any, NamedTuple

from bomgen.core.calculation import applied, divided_up, least, step
from bomgen.fabric.clos import shape
from bomgen.fabric.clos.shape import AUTO, SPLIT, PlainDemand
from bomgen.fabric.ports import ports_left_down

MOST_SHARED = 8
"""A machine with more than an eighth of a leaf's ports may be split over leaves by default."""


class Division(NamedTuple):
    """A division of leaf ports: downlinks, and the numbers that follow from them."""

    down: int
    up: int
    """The fewest uplinks that keep the ratio, or those fixed by the plan."""
    leaves: int
    rails_per_leaf: int
    units: int
    """Units of servers whose rails share leaves; 0 without rails."""
    split: int
    """Servers whose ports connect to several leaves."""


def ports_beside(up: Any, radix: Any, up_radix: Any, cages: Any) -> Any:
    """Return the ports of a switch left for downlinks by a number of uplinks."""
    if up <= up_radix and not cages:
        return radix
    if up <= radix == up_radix == cages:
        return radix - up
    return applied(ports_left_down, up, radix, up_radix, cages)


def room_down(numbers: PlainDemand, up: Any) -> Any:
    """Return the ports of a leaf left for downlinks by a number of uplinks."""
    return ports_beside(up, numbers.radix, numbers.up_radix, numbers.cages)


def ports_down_at(numbers: PlainDemand, up: Any) -> Any:
    """Return the most downlinks of a leaf with a number of uplinks: at the ratio, unless the plan fixes the uplinks."""
    room = room_down(numbers, up)
    return room if numbers.leaf_up else least(room, _links_carried(numbers, up))


def _links_carried(numbers: PlainDemand, up: Any) -> Any:
    return applied(links_carried, up, numbers.up_gbps, numbers.down_gbps, numbers.oversubscription)


def links_carried(up: int, up_gbps: int, down_gbps: int, oversubscription: Fraction) -> int:
    """Return the most downlinks that uplinks carry at a ratio."""
    return oversubscription.numerator * up * up_gbps // (oversubscription.denominator * down_gbps)


def room_for_reserved(numbers: PlainDemand, up: Any) -> Any:
    """Return the downlinks of a leaf for endpoints and reserved ports: those that its uplinks carry."""
    return numbers.leaf_down or ports_down_at(numbers, up)


def most_down(numbers: PlainDemand) -> int:
    """Return the most downlinks of a leaf for which there are uplinks that keep the ratio."""
    if numbers.leaf_up:
        return int(ports_down_at(numbers, numbers.leaf_up))
    return most_at_crossing(partial(room_down, numbers), partial(_links_carried, numbers), numbers.up_radix)


def most_at_crossing(room: Callable[[int], int], carried: Callable[[int], int], most_up: int) -> int:
    """Return the most downlinks of a switch over all numbers of uplinks.

    Each uplink leaves fewer ports for downlinks, and carries more of them: the maximum is where both meet.
    """
    meets = _first_that_carry(room, carried, most_up)
    return max((min(room(up), carried(up)) for up in (meets - 1, meets) if 1 <= up <= most_up), default=0)


def _first_that_carry(room: Callable[[int], int], carried: Callable[[int], int], most_up: int) -> int:
    """Return the fewest uplinks that carry links on all ports they leave; more than `most_up` where none do."""
    return bisect_left(range(most_up + 1), True, key=lambda up: carried(up) >= room(up))


def most_down_when_full(numbers: PlainDemand) -> int:
    """Return the most downlinks of a leaf whose ports are all used, at the ratio or with the uplinks fixed."""
    room, carried = partial(room_down, numbers), partial(_links_carried, numbers)
    up = numbers.leaf_up or _first_that_carry(room, carried, numbers.up_radix)
    return room(up) if up <= numbers.up_radix else 0


def links_up_for(numbers: PlainDemand, down: Any) -> Any:
    """Return the fewest uplinks that keep the ratio, or those fixed by the plan."""
    fewest = numbers.leaf_up or divided_up(down * numbers.down_gbps, numbers.oversubscription * numbers.up_gbps)
    return step("up", "ports", fewest, "The fewest that keep the ratio.")


def divide_leaves(numbers: PlainDemand) -> Iterator[Division]:
    """Yield every division of a leaf's ports that serves the endpoints, with its lowest leaf count."""
    most = most_down(numbers)
    if numbers.rails == 1:
        for together in count_ports_together(numbers, most):
            yield from _divide(numbers, most, numbers.ports_per_server, together, 1)
        return
    for each in count_rails_per_leaf(numbers):
        if each * max(numbers.unit, 1) <= min(most, numbers.leaf_down or most):
            yield from _divide(numbers, most, each, each, numbers.rails // each)


def most_leaves_of_group(numbers: PlainDemand) -> int:
    """Return the most leaves of a rail that share spines below a core: half of a spine's ports, whatever its ratio."""
    return max(min(numbers.spine_down or numbers.spine_radix // 2, numbers.spine_radix - numbers.spine_up), 1)


def count_ports_together(numbers: PlainDemand, most: int) -> list[int]:
    """Return the possible numbers of a server's ports on one leaf with `most` downlinks: all, or one."""
    whole = numbers.ports_per_server
    if numbers.split_servers == SPLIT or numbers.leaf_down or whole > most:
        return [1]
    may_split = numbers.split_servers == AUTO and whole * MOST_SHARED > numbers.radix
    return [whole, 1] if may_split and whole > 1 else [whole]


def count_rails_per_leaf(numbers: PlainDemand) -> list[int]:
    """Return the possible rails per leaf: those fixed by the plan, one on a full build-out, else any."""
    if numbers.rails_per_leaf:
        return [numbers.rails_per_leaf]
    return shape.divisors(numbers.rails) if numbers.exact else [1]


class _Row(NamedTuple):
    """The demand on the leaves of one row; the ports of a server on one of them stay together."""

    servers: int
    together: int
    in_use: int
    with_reserved: int
    units: int
    one_leaf: bool
    """Whether all servers must be on one leaf, or the row does not fit."""

    def count_leaves(self, down: int) -> int:
        return max(ceil(self.servers / (down // self.together)), ceil(self.in_use / down), self.units)

    def leaf_counts(self, down: int) -> range:
        """Return the leaf counts for a number of downlinks: the lowest, up to one that holds all reserved ports too."""
        fewest = self.count_leaves(down)
        return range(fewest, max(fewest, ceil(self.with_reserved / down)) + 1)

    def count_down(self, leaves: int) -> int:
        return max(self.together * ceil(self.servers / leaves), ceil(self.in_use / leaves))


def _divide(numbers: PlainDemand, most: int, ports: int, together: int, rows: int) -> Iterator[Division]:
    """Yield the divisions of equal rows of leaves; a server has `ports` ports per row, `together` of them per leaf."""
    has_rails, servers = numbers.rails > 1, numbers.nic_ports // numbers.ports_per_server * (ports // together)
    in_use = max(servers * together + ceil(numbers.host_ports / rows), 1)
    with_reserved = in_use + ceil(numbers.reserved_ports / rows)
    units = ceil(numbers.nic_ports / (numbers.rails * numbers.unit)) if has_rails and numbers.unit else 1
    one_unit = has_rails and ports > 1 and not numbers.unit and not numbers.rails_per_leaf
    row = _Row(servers, together, in_use, with_reserved, units, one_unit)
    may_idle = numbers.exact or numbers.leaf_down
    for down, up, leaves in _idle_ports(numbers, row, most) if may_idle else _all_ports(numbers, row):
        if leaves == 1 or not row.one_leaf:
            split = _count_split(servers, ports, down) if together == 1 < ports else 0
            yield Division(down, up, leaves * rows, ports, leaves if has_rails else 0, split)


def _idle_ports(numbers: PlainDemand, row: _Row, most: int) -> Iterator[tuple[int, int, int]]:
    """Yield downlinks and uplinks of a leaf that do not exceed the demand of its endpoints, and leaves.

    More leaves and more uplinks than the ports in use need make room for reserved ones. The first leaf of one more
    group of a rail makes all groups smaller, which may save spines.
    """
    if numbers.leaf_down:
        fits = row.together <= numbers.leaf_down <= most
        choices = [(numbers.leaf_down, leaves) for leaves in (row.leaf_counts(numbers.leaf_down) if fits else ())]
    else:
        downs = range(row.together, most + 1)
        if row.one_leaf:
            counts = {row.count_leaves(most)} & {1} or {0}
        elif row.with_reserved > row.in_use:
            counts = {leaves for down in downs for leaves in row.leaf_counts(down)} or {0}
        else:
            counts = set(map(row.count_leaves, downs)) or {0}
        if numbers.rails > 1 and numbers.unit and not (numbers.host_ports or numbers.reserved_ports):
            counts = {min(counts)}
        elif numbers.rails > 1 and numbers.core_radix:
            group = most_leaves_of_group(numbers)
            rows = 1 if numbers.pods_hold_all_rails else numbers.rails // row.together
            # A core has a link to each group of each row.
            end = min(max(counts), numbers.spine_radix * (numbers.core_radix // rows) + 1)
            counts.update(range((min(counts) - 1) // group * group + group + 1, end, group))
        choices = [(row.count_down(leaves), leaves) for leaves in sorted(counts) if leaves]
    for down, leaves in choices:
        fewest = links_up_for(numbers, down)
        for up in range(fewest, numbers.up_radix + 1) if numbers.reserved_ports and not numbers.leaf_up else (fewest,):
            if down <= room_down(numbers, up):
                yield down, up, leaves


def _all_ports(numbers: PlainDemand, row: _Row) -> Iterator[tuple[int, int, int]]:
    """Yield the downlinks that the uplinks of a leaf leave ports for, in whole servers, the uplinks, and the leaves."""
    for up in [numbers.leaf_up] if numbers.leaf_up else range(1, numbers.up_radix + 1):
        room = room_down(numbers, up)
        down = room // row.together * row.together
        if down and (numbers.leaf_up or room <= ports_down_at(numbers, up)):
            for leaves in row.leaf_counts(down):
                yield down, up, leaves


def _count_split(server_ports: int, ports: int, down: int) -> int:
    period = ports // gcd(ports, down)
    borders = max(ceil(server_ports / down) - 1, 0)
    return borders - borders // period
