"""The smallest folded Clos whose ports may idle, in plain numbers: the search for `build_out: exact`.

For every number of ports down of a leaf the fewest leaves are taken that need no more; more leaves of as many ports
cost a switch and save none. Two tiers take a step for each of these divisions. Three tiers take one for each division
and number of pods that can still beat what was found, by the bound that every pod has at least as many spines as its
leaves need, and that cores are at least as many as the spines' links up fill.

A server's ports stay on one leaf of a fat tree. On rails a leaf serves `k` rails of one unit: port r of every server
of the unit ends on the leaf that serves rail r.

Of all fabrics the one with the fewest switches is taken, then with the fewest servers split over leaves, units, links
between switches, cages that hold links up and down, and links up of a leaf; then the smaller numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import ceil, gcd
from typing import NamedTuple

from bomgen.fabric.clos import formulas
from bomgen.fabric.clos.shape import AUTO, SPLIT, ClosShape, Numbers, Steps
from bomgen.fabric.ports import ports_left_down

MOST_SHARED = 8
"""A machine with more ports than an eighth of a leaf's may be split over leaves without being asked."""

Cost = tuple[int, ...]


class Division(NamedTuple):
    """How leaves are divided: ports down, and what follows from them."""

    down: int
    up: int
    """The fewest links up that keep the ratio, or those that the plan gives."""
    leaves: int
    rails_per_leaf: int
    units: int
    """Of servers whose rails share leaves; 0 where there are no rails."""
    split: int
    """Servers whose ports end on several leaves."""


class _Smallest:
    """The smallest shape that was found so far."""

    def __init__(self, numbers: Numbers, steps: Steps) -> None:
        self.numbers, self.steps = numbers, steps
        self.shape: ClosShape | None = None
        self.cost: Cost = ()

    def offer(self, division: Division, shape: ClosShape) -> None:
        """Keep a shape if it costs less than all before."""
        cost = cost_of(self.numbers, division, shape)
        if self.shape is None or cost < self.cost:
            self.shape, self.cost = shape, cost

    def has_fewer(self, switches: int) -> bool:
        """Whether a shape with fewer switches is known already."""
        return self.shape is not None and self.cost[0] < switches


def find_smallest_exact(numbers: Numbers, steps: Steps) -> ClosShape | None:
    """The smallest fabric of so many tiers, or None when none carries the demand."""
    found = _Smallest(numbers, steps)
    bounds = [(_fewest_switches(numbers, each, 1, each.leaves), each) for each in divide_leaves(numbers)]
    for fewest, division in sorted(bounds):
        if found.has_fewer(fewest) or steps.over():
            break
        _try_shapes(found, division)
    return found.shape


def cost_of(numbers: Numbers, division: Division, shape: ClosShape) -> Cost:
    """What the smallest fabric has least of, in this order."""
    spines = shape.pods * shape.spines
    return (
        shape.leaves + spines + shape.cores,
        division.split,
        division.units,
        shape.leaves * shape.up + spines * shape.spine_up,
        int(_mixes_a_cage(numbers, shape.down, shape.up)),
        shape.up,
        *(division.rails_per_leaf, shape.leaves, shape.pods, shape.spines, shape.spine_up, shape.cores, shape.down),
    )


def _mixes_a_cage(numbers: Numbers, down: int, up: int) -> bool:
    """Whether a cage of a leaf holds links up beside links down."""
    of_cage = numbers.ports_per_cage
    if of_cage == 1 or numbers.down_gbps != numbers.up_gbps:
        return False
    return down % of_cage > 0 and ceil(down / of_cage) + ceil(up / of_cage) > numbers.radix // of_cage


def most_down(numbers: Numbers) -> int:
    """The most ports down of a leaf for which there are links up that keep the ratio."""
    ups = [numbers.leaf_up] if numbers.leaf_up else range(1, numbers.up_radix + 1)
    return max((ports_down_at(numbers, up) for up in ups), default=0)


def ports_down_at(numbers: Numbers, up: int) -> int:
    """The most ports down of a leaf with so many links up: as the ratio allows, unless the plan gives the links."""
    room = ports_left_down(up, numbers.radix, numbers.up_radix, numbers.cages)
    if numbers.leaf_up:
        return room
    return min(room, int(numbers.oversubscription * up * numbers.up_gbps / numbers.down_gbps))


def links_up_for(numbers: Numbers, down: int) -> int:
    """The fewest links up that keep the ratio, or those that the plan gives."""
    if numbers.leaf_up:
        return numbers.leaf_up
    return max(ceil(Fraction(down * numbers.down_gbps) / (numbers.oversubscription * numbers.up_gbps)), 1)


def divide_leaves(numbers: Numbers) -> Iterator[Division]:
    """Every division of a leaf's ports that serves the endpoints, with the fewest leaves that it takes."""
    most = most_down(numbers)
    if numbers.rails == 1:
        whole = numbers.ports_per_server
        asks_to_split = numbers.split_servers == SPLIT or bool(numbers.leaf_down)
        together = not asks_to_split and whole <= most
        if together:
            yield from _divide(numbers, most, whole, whole, 1)
        if not together or (numbers.split_servers == AUTO and whole * MOST_SHARED > numbers.radix):
            yield from _divide(numbers, most, whole, 1, 1)
        return
    for each in formulas.divisors(numbers.rails):
        asked = numbers.rails_per_leaf or (1 if numbers.leaf_down else each)
        if each == asked and each * max(numbers.unit, 1) <= most:
            yield from _divide(numbers, most, each, each, numbers.rails // each)


def _divide(numbers: Numbers, most: int, ports: int, together: int, rows: int) -> Iterator[Division]:
    """Divisions of the leaves of equal rows, on each of which a server has `ports` ports, `together` of them a leaf.

    More leaves than the ports in use need hold reserved ports.
    """
    servers = numbers.nic_ports // numbers.ports_per_server * (ports // together)
    in_use = servers * together + ceil(numbers.host_ports / rows)
    fewest = ceil(numbers.nic_ports / (numbers.rails * numbers.unit)) if numbers.unit and numbers.rails > 1 else 1
    counts = set[int]()
    for down in [numbers.leaf_down] if numbers.leaf_down else range(most, together - 1, -1):
        if down <= most:
            counts.add(max(ceil(servers / (down // together)), ceil(in_use / down), fewest, 1))
    reserved = ceil((in_use + numbers.reserved_ports / rows) / most) if most else 0
    counts.update(range(min(counts, default=1), reserved + 1) if counts else ())
    shares_leaves = numbers.rails > 1 and ports > 1 and not numbers.unit and not numbers.rails_per_leaf
    for leaves in sorted(counts)[: 1 if numbers.unit and not numbers.reserved_ports else None]:
        down = numbers.leaf_down or max(together * ceil(servers / leaves), ceil(in_use / leaves), 1)
        if down <= most and not (shares_leaves and leaves > 1):
            units = leaves if numbers.rails > 1 else 0
            split = _count_split(servers, ports, down) if together == 1 < ports else 0
            # More links up than the ports in use ask make room for reserved ones.
            filled = range(down, most + 1) if numbers.reserved_ports else (down,)
            for up in sorted({links_up_for(numbers, each) for each in filled}):
                yield Division(down, up, leaves * rows, ports, units, split)


def _count_split(server_ports: int, ports: int, down: int) -> int:
    """Servers whose ports end on two leaves, when ports fill leaf after leaf."""
    period = ports // gcd(ports, down)
    borders = max(ceil(server_ports / down) - 1, 0)
    return borders - borders // period


def _try_shapes(found: _Smallest, division: Division) -> None:
    """Offer the shapes of a division that may be the smallest."""
    numbers = found.numbers
    rows = numbers.rails // division.rails_per_leaf if numbers.rails > 1 else 1
    if not numbers.core_radix and not numbers.pod_leaves:
        _try_two_tiers(found, division)
        return
    for pods in _numbers_of_pods(numbers, division, rows):
        of_pod = ceil(division.leaves / pods)
        if found.steps.over():
            return
        if not found.has_fewer(_fewest_switches(numbers, division, pods, of_pod)):
            _try_pods(found, division, pods, of_pod)


def _try_two_tiers(found: _Smallest, division: Division) -> None:
    numbers = found.numbers
    ports, fixed = numbers.spine_down or numbers.spine_radix, numbers.spine_count or numbers.spines_per_pod
    if numbers.spines_per_pod not in (0, fixed):
        return
    for spines, up in _spread(found, division, division.leaves, ports, fixed):
        free = spines * (numbers.spine_radix - division.leaves * up // spines)
        shape = _shape(division, up, 1, spines, 0, 0)
        if unplaced_reserved_ports(numbers, shape) <= free:
            found.offer(division, shape)
            return


def _numbers_of_pods(numbers: Numbers, division: Division, rows: int) -> Iterator[int]:
    """Numbers of pods: of rails as few groups as can be, of a fat tree any."""
    row = division.leaves // rows
    if numbers.pod_leaves:
        yield rows * ceil(row / numbers.pod_leaves)
    elif numbers.rails > 1:
        limit = max(min(numbers.spine_down or numbers.spine_radix // 2, numbers.spine_radix - numbers.spine_up), 1)
        yield rows * ceil(row / limit)
    else:
        most = most_down_of_spine(numbers)
        if most:
            yield from range(ceil(division.leaves / most), min(division.leaves, numbers.core_radix) + 1)


def most_down_of_spine(numbers: Numbers) -> int:
    """The most ports down of a spine for which it has links up that keep its ratio."""
    if numbers.spine_down:
        return numbers.spine_down
    if not numbers.core_radix:
        return numbers.spine_radix
    ups = [numbers.spine_up] if numbers.spine_up else range(1, numbers.spine_up_radix + 1)
    return max((_spine_ports_down_at(numbers, up) for up in ups), default=0)


def _spine_ports_down_at(numbers: Numbers, up: int) -> int:
    room = ports_left_down(up, numbers.spine_radix, numbers.spine_up_radix, numbers.spine_cages)
    if numbers.spine_up:
        return room
    return min(room, int(numbers.spine_oversubscription * up * numbers.core_gbps / numbers.up_gbps))


def _fewest_switches(numbers: Numbers, division: Division, pods: int, of_pod: int) -> int:
    """Switches that a division takes at least in so many pods of at most so many leaves."""
    most = most_down_of_spine(numbers)
    spines = pods * ceil(division.up * of_pod / most) if most else 0
    return division.leaves + spines + _fewest_cores(numbers, division, pods, of_pod)


def _fewest_cores(numbers: Numbers, division: Division, pods: int, of_pod: int) -> int:
    """Cores that a division takes at least: those whose ports hold the links up of all spines."""
    if not numbers.core_radix or numbers.spine_up:
        return 0
    above = Fraction(division.up * of_pod * numbers.up_gbps) / (numbers.spine_oversubscription * numbers.core_gbps)
    return ceil(above * pods / numbers.core_radix)


def _try_pods(found: _Smallest, division: Division, pods: int, of_pod: int) -> None:
    """Offer the shapes of a division in so many pods."""
    numbers = found.numbers
    both = numbers.spine_count and numbers.spines_per_pod
    if numbers.spine_count % pods or (both and numbers.spines_per_pod * pods != numbers.spine_count):
        return
    fixed = numbers.spines_per_pod or numbers.spine_count // pods
    for spines, up in _spread(found, division, of_pod, most_down_of_spine(numbers), fixed):
        cores = _fewest_cores(numbers, division, pods, of_pod)
        if found.has_fewer(division.leaves + pods * spines + cores):
            return
        _try_cores(found, division, pods, of_pod, spines, up)


def _try_cores(found: _Smallest, division: Division, pods: int, of_pod: int, spines: int, up: int) -> None:
    """Offer the shapes of so many spines a pod, with each number of links up of a spine that may take fewer cores."""
    numbers = found.numbers
    if not numbers.core_radix:
        shape = _shape(division, up, pods, spines, 0, 0)
        if not unplaced_reserved_ports(numbers, shape):
            found.offer(division, shape)
        return
    down, of_core = of_pod * (up // spines), numbers.core_radix // pods
    if not of_core:
        return
    asked = Fraction(down * numbers.up_gbps) / (numbers.spine_oversubscription * numbers.core_gbps)
    fewest, below = numbers.spine_up or ceil(asked), division.leaves + pods * spines
    least: int | None = None
    for links in [fewest] if numbers.spine_up else range(fewest, numbers.spine_up_radix + 1):
        room = ports_left_down(links, numbers.spine_radix, numbers.spine_up_radix, numbers.spine_cages)
        at_least = ceil(spines * links / of_core)
        if room < down or found.steps.over() or (least is not None and at_least >= least):
            return
        if found.has_fewer(below + at_least):
            return
        cores = _count_cores(spines * links, of_core, numbers.core_count)
        shape = _shape(division, up, pods, spines, links, cores)
        free = pods * spines * (room - down)
        if cores and (least is None or cores < least) and unplaced_reserved_ports(numbers, shape) <= free:
            least = cores
            found.offer(division, shape)


def _count_cores(links: int, of_core: int, fixed: int) -> int:
    """The fewest cores that share the links of a pod evenly, each with at most so many; 0 when there are none."""
    if fixed:
        return fixed if links % fixed == 0 and links // fixed <= of_core else 0
    return next((links // each for each in range(min(of_core, links), 0, -1) if links % each == 0), 0)


def _spread(found: _Smallest, division: Division, of_pod: int, ports: int, fixed: int) -> Iterator[tuple[int, int]]:
    """Spines above leaves, and the links up of a leaf: equally many to each, no more than the leaf has ports for."""
    numbers, asked, most = found.numbers, division.up, ports // of_pod
    if not most:
        return
    for spines in [fixed] if fixed else range(ceil(asked / most), asked + 1):
        each = ceil(asked / spines)
        up = spines * each
        if found.steps.over():
            return
        if each > most or up > numbers.up_radix or (numbers.leaf_up and up != asked):
            continue
        if ports_left_down(up, numbers.radix, numbers.up_radix, numbers.cages) >= division.down:
            yield spines, up


def _shape(division: Division, up: int, pods: int, spines: int, spine_up: int, cores: int) -> ClosShape:
    return ClosShape(division.down, up, division.leaves, pods, spines, spine_up, cores, division.rails_per_leaf)


def unplaced_reserved_ports(numbers: Numbers, shape: ClosShape) -> int:
    """Reserved ports that find no port on the leaves whose links up carry them too."""
    room = shape.leaves * max(ports_down_at(numbers, shape.up), shape.down)
    return max(numbers.reserved_ports - (room - numbers.nic_ports - numbers.host_ports), 0)


def reach_exact(numbers: Numbers) -> int:
    """The most endpoints that as many tiers of the same switches carry, other machines and reserved ports as they are.

    0 where the plan fixes counts, for which no single rule says how far they reach.
    """
    if any((numbers.spine_count, numbers.spines_per_pod, numbers.core_count, numbers.pod_leaves)):
        return 0
    others, best = numbers.host_ports + numbers.reserved_ports, 0
    for up in [numbers.leaf_up] if numbers.leaf_up else range(1, numbers.up_radix + 1):
        down = min(ports_down_at(numbers, up), numbers.leaf_down or numbers.radix)
        for leaves, together, rows in _largest_leaves(numbers):
            of_leaf = min(down, numbers.unit * together if numbers.unit and numbers.rails > 1 else down)
            whole = leaves * (of_leaf // together) // rows
            servers = min(whole, (leaves * down - others) // numbers.ports_per_server)
            best = max(best, servers * numbers.ports_per_server)
    return best + others if best > 0 else 0


def _largest_leaves(numbers: Numbers) -> Iterator[tuple[int, int, int]]:
    """The most leaves, the ports of a server on one of them, and leaves that a server is plugged into."""
    most = most_down_of_spine(numbers)
    if numbers.rails == 1:
        leaves = most if not numbers.core_radix else most * numbers.core_radix
        yield leaves, numbers.ports_per_server, 1
        return
    for together in formulas.divisors(numbers.rails):
        rows = numbers.rails // together
        if together != (numbers.rails_per_leaf or together):
            continue
        units = most // rows if not numbers.core_radix else numbers.core_radix // rows * min(most, numbers.spine_radix // 2)
        if together == 1 or numbers.unit or numbers.rails_per_leaf:
            yield units * rows, together, rows
        elif units:
            yield rows, together, rows
