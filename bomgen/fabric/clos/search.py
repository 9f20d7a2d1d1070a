"""The search for the folded Clos with the lowest switch count, in plain numbers, and the reach of given switches.

It tries every division of a leaf's ports into downlinks and uplinks, and keeps the fabric with the lowest switch count,
then with the fewest servers split over leaves, units, links between switches, cages that hold uplinks and downlinks,
and uplinks of a leaf; then the smaller numbers. The switch count comes first, so a relaxed ratio may save switches and
cost links.

Where only used ports are built, ports may be idle: for every number of downlinks the lowest leaf count is chosen,
because more leaves with as many ports cost a switch and save none. On a full build-out a leaf has as many downlinks as
its uplinks leave ports. In a fat tree a server's ports stay on one leaf, unless it has so many that leaves would be
left half empty. With rails a leaf serves `k` rails of one unit: port r of every server of the unit connects to the leaf
that serves rail r.

Two tiers take one step per division. Three tiers take one per division and number of pods; candidates that cannot beat
the best fabric found are pruned, by the bound that every pod has at least as many spines as its leaves need, and that
there are at least as many cores as the spines' uplinks fill. A rail's leaves are not cut into more groups than needed:
traffic between groups crosses the core, and rails exist to avoid that.

Reserved ports use free ports of the leaves, then of the spines; the fabric gets more uplinks or more leaves when
neither has room.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache, partial
from math import ceil, gcd
from typing import Any, NamedTuple

from bomgen.core.jobs import OF_SHAPE, spend
from bomgen.core.provenance import applied, divided_up, least, require, step
from bomgen.fabric.clos.shape import AUTO, SPLIT, ClosShape, PlainDemand, Steps, divisors, round_up_to_divisor
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
    return divisors(numbers.rails) if numbers.exact else [1]


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
    """Yield downlinks and uplinks of a leaf that do not exceed the demand of its endpoints, and leaves."""
    # More leaves and more uplinks than the ports in use need make room for reserved ones. The first leaf of one more
    # group of a rail makes all groups smaller, which may save spines.
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


# search -------------------------------------------------------------------------------------------------------------
# The smallest of all fabrics that the divisions allow.

MAX_STEPS = 200_000
"""Steps of one search: a million endpoints on switches of 512 ports take 8 000."""

MAX_STEPS_TO_FIT = 20_000
"""Steps to determine whether there is a fabric at all, which bisection of the number of servers asks twenty times."""

KEPT = 50_000
"""Cached results: the figures that explain a shape need it once more, and designs of a search the same shapes."""

Cost = tuple[int, ...]


def find_smallest(numbers: PlainDemand) -> ClosShape | None:
    """Return the smallest fabric with a number of tiers, or None when none carries the demand.

    Raises TooMuch when the plan has used up its work budget.
    """
    shape, steps = _search(numbers)
    spend(OF_SHAPE * steps, numbers)
    return shape


@lru_cache(maxsize=KEPT)
def _search(numbers: PlainDemand) -> tuple[ClosShape | None, int]:
    """Return the smallest fabric, and the steps of the search, which count again when the result is cached."""
    found = _Smallest(numbers, Steps(MAX_STEPS))
    if found.needs_too_many_leaves():
        return None, 1
    bounds = sorted((_fewest_switches(found, each, 1, each.leaves), each) for each in divide_leaves(numbers))
    for fewest, division in bounds:
        if found.has_fewer(fewest) or found.steps.over():
            break
        _try_shapes(found, division)
    return found.shape, found.steps.done + len(bounds)


def find_smallest_by_division(numbers: PlainDemand) -> list[ClosShape]:
    """Return the smallest fabric for each division of a leaf's ports, the smallest of all first."""
    found = []
    steps = Steps(MAX_STEPS)
    for division in divide_leaves(numbers):
        of_division = _Smallest(numbers, steps)
        _try_shapes(of_division, division)
        if of_division.shape:
            found.append((of_division.cost, of_division.shape))
    spend(OF_SHAPE * steps.done, numbers)
    return [shape for _, shape in sorted(found)]


def is_feasible(numbers: PlainDemand) -> bool:
    """Return whether there is a fabric with a number of tiers, without searching for the smallest.

    False also where none was found within MAX_STEPS_TO_FIT steps. Raises TooMuch as `find_smallest` does.
    """
    feasible, steps = _look_for_any(numbers)
    spend(OF_SHAPE * steps, (is_feasible, numbers))
    return feasible


@lru_cache(maxsize=KEPT)
def _look_for_any(numbers: PlainDemand) -> tuple[bool, int]:
    """Return whether there is a fabric, and the steps of the search; a report rebuilds a fabric with each other one."""
    found = _Smallest(numbers, Steps(MAX_STEPS_TO_FIT))
    if found.needs_too_many_leaves():
        return False, 1
    for division in divide_leaves(numbers):
        if found.shape or found.steps.over():
            break
        _try_shapes(found, division)
    return found.shape is not None, found.steps.done


def require_smallest(numbers: PlainDemand) -> ClosShape:
    """Return the smallest fabric where there is one."""
    return require(find_smallest(numbers), "no fabric carries the demand")


class _Smallest:
    def __init__(self, numbers: PlainDemand, steps: Steps) -> None:
        self.numbers, self.steps = numbers, steps
        self.most_below_spine = most_down_of_spine(numbers)
        self.shape: ClosShape | None = None
        self.cost: Cost = ()

    def offer(self, division: Division, shape: ClosShape) -> None:
        cost = cost_of(self.numbers, division, shape)
        if self.shape is None or cost < self.cost:
            self.shape, self.cost = shape, cost

    def needs_too_many_leaves(self) -> bool:
        """Return whether the endpoints fill more leaves than the spines, and the cores above them, have ports for."""
        numbers = self.numbers
        leaves = ceil((numbers.nic_ports + numbers.host_ports) / max(most_down(numbers), 1))
        return not numbers.pod_leaves and leaves > self.most_below_spine * max(numbers.core_radix, 1)

    def has_fewer(self, switches: int) -> bool:
        return self.shape is not None and self.cost[0] < switches


def cost_of(numbers: PlainDemand, division: Division, shape: ClosShape) -> Cost:
    """Return the criteria of the smallest fabric, in order of priority."""
    return (
        shape.switches,
        division.split,
        division.units,
        shape.links,
        int(_mixes_a_cage(numbers, shape.down, shape.up)),
        shape.up,
        *(division.rails_per_leaf, shape.leaves, shape.pods, shape.spines, shape.spine_up, shape.cores, shape.down),
    )


def _mixes_a_cage(numbers: PlainDemand, down: int, up: int) -> bool:
    of_cage = numbers.ports_per_cage
    if of_cage == 1 or numbers.down_gbps != numbers.up_gbps:
        return False
    return down % of_cage > 0 and ceil(down / of_cage) + ceil(up / of_cage) > numbers.radix // of_cage


def _try_shapes(found: _Smallest, division: Division) -> None:
    numbers = found.numbers
    rows = numbers.rails // division.rails_per_leaf if numbers.rails > 1 else 1
    if not numbers.core_radix and not numbers.pod_leaves:
        _try_two_tiers(found, division)
        return
    together = numbers.rows_of_pod(division.rails_per_leaf)
    for pods in _numbers_of_pods(found, division, rows, together):
        of_pod = together * ceil(division.leaves / (together * pods))
        if found.steps.over():
            return
        if not found.has_fewer(_fewest_switches(found, division, pods, of_pod)):
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


def _numbers_of_pods(found: _Smallest, division: Division, rows: int, together: int) -> Iterator[int]:
    """Yield the numbers of pods to try: for single rails as few groups as possible, else any."""
    # Leaves are in equal rows, of which a pod has a share of `together`.
    numbers, row = found.numbers, division.leaves // rows
    if numbers.pod_leaves:
        of_row = numbers.pod_leaves // together
        if of_row:
            yield rows // together * ceil(row / of_row)
    elif numbers.rails > 1 and not numbers.pods_hold_all_rails:
        yield rows * ceil(row / most_leaves_of_group(numbers))
    else:
        most = found.most_below_spine // together
        if most:
            yield from range(ceil(row / most), min(row, numbers.core_radix) + 1)


def most_down_of_spine(numbers: PlainDemand) -> int:
    """Return the most downlinks of a spine for which it has uplinks that keep its ratio."""
    if numbers.spine_down:
        return numbers.spine_down
    if not numbers.core_radix:
        return numbers.spine_radix
    room: Callable[[int], int] = partial(spine_room_down, numbers)
    if numbers.spine_up:
        return room(numbers.spine_up)
    rates = {"up_gbps": numbers.core_gbps, "down_gbps": numbers.up_gbps}
    carried = partial(links_carried, **rates, oversubscription=numbers.spine_oversubscription)
    return most_at_crossing(room, carried, numbers.spine_up_radix)


def spine_room_down(numbers: PlainDemand, up: Any) -> Any:
    """Return the ports of a spine left for downlinks by a number of uplinks."""
    return ports_beside(up, numbers.spine_radix, numbers.spine_up_radix, numbers.spine_cages)


def spine_links_up_for(numbers: PlainDemand, down: Any) -> Any:
    """Return the fewest uplinks of a spine that keep its ratio, or those fixed by the plan."""
    fewest = numbers.spine_up or divided_up(down * numbers.up_gbps, numbers.spine_oversubscription * numbers.core_gbps)
    return step("spine_up", "ports", fewest, "The fewest that keep the ratio.")


def _fewest_switches(found: _Smallest, division: Division, pods: int, of_pod: int) -> int:
    """Return a lower bound of the switch count of a division, to prune `pods` pods of at most `of_pod` leaves."""
    most = found.most_below_spine
    spines = pods * -(-division.up * of_pod // most) if most else 0
    return division.leaves + spines + _fewest_cores(found.numbers, division, pods, of_pod)


def _fewest_cores(numbers: PlainDemand, division: Division, pods: int, of_pod: int) -> int:
    """Return a lower bound of the core count of a division: cores whose ports hold the uplinks of all spines."""
    if not numbers.core_radix or numbers.spine_up:
        return 0
    ratio = numbers.spine_oversubscription
    above = division.up * of_pod * pods * numbers.up_gbps * ratio.denominator
    return -(-above // (ratio.numerator * numbers.core_gbps * numbers.core_radix))


def _try_pods(found: _Smallest, division: Division, pods: int, of_pod: int) -> None:
    numbers = found.numbers
    if numbers.core_radix and pods > numbers.core_radix:
        # A core has a link to each pod.
        return
    both = numbers.spine_count and numbers.spines_per_pod
    if numbers.spine_count % pods or (both and numbers.spines_per_pod * pods != numbers.spine_count):
        return
    fixed = numbers.spines_per_pod or numbers.spine_count // pods
    for spines, up in _spread(found, division, of_pod, found.most_below_spine, fixed):
        cores = _fewest_cores(numbers, division, pods, of_pod)
        if found.has_fewer(division.leaves + pods * spines + cores):
            return
        _try_cores(found, division, pods, of_pod, spines, up)


def _try_cores(found: _Smallest, division: Division, pods: int, of_pod: int, spines: int, up: int) -> None:
    """Try the shapes with `spines` spines per pod, with each number of uplinks per spine that may save cores."""
    numbers = found.numbers
    if not numbers.core_radix:
        shape = _shape(division, up, pods, spines, 0, 0)
        if not unplaced_reserved_ports(numbers, shape):
            found.offer(division, shape)
        return
    down, of_core = of_pod * (up // spines), numbers.core_radix // pods
    if not of_core:
        return
    fewest, below = spine_links_up_for(numbers, down), division.leaves + pods * spines
    least: int | None = None
    for links in [fewest] if numbers.spine_up else range(fewest, numbers.spine_up_radix + 1):
        room = spine_room_down(numbers, links)
        at_least = ceil(spines * links / of_core)
        if room < down or found.steps.over() or (least is not None and at_least >= least):
            return
        if found.has_fewer(below + at_least):
            return
        cores = round_up_to_divisor(at_least, spines * links)
        if fixed := numbers.core_count:
            cores = fixed if fixed >= at_least and spines * links % fixed == 0 else 0
        if not cores or (least is not None and cores >= least):
            continue
        shape = _shape(division, up, pods, spines, links, cores)
        if unplaced_reserved_ports(numbers, shape) <= pods * spines * (room - down):
            least = cores
            found.offer(division, shape)


def _spread(found: _Smallest, division: Division, of_pod: int, ports: int, fixed: int) -> Iterator[tuple[int, int]]:
    """Yield the spines above leaves, and uplinks of a leaf: equally many to each, within the ports of the leaf."""
    # More spines than the uplinks at the ratio need may share their uplinks evenly over fewer cores.
    numbers, asked, most = found.numbers, division.up, ports // of_pod
    if not most:
        return
    last = numbers.up_radix if numbers.core_radix else asked
    for spines in [fixed] if fixed else range(ceil(asked / most), last + 1):
        each = ceil(asked / spines)
        up = spines * each
        if found.steps.over():
            return
        if each > most or up > numbers.up_radix or (numbers.leaf_up and up != asked):
            continue
        if room_down(numbers, up) >= division.down:
            yield spines, up


def _shape(division: Division, up: int, pods: int, spines: int, spine_up: int, cores: int) -> ClosShape:
    return ClosShape(division.down, up, division.leaves, pods, spines, spine_up, cores, division.rails_per_leaf)


def unplaced_reserved_ports(numbers: PlainDemand, shape: ClosShape) -> int:
    """Return the reserved ports that do not fit on leaves whose uplinks carry them too."""
    if not numbers.reserved_ports:
        return 0
    room: int = shape.leaves * room_for_reserved(numbers, shape.up)
    return max(numbers.reserved_ports - (room - numbers.nic_ports - numbers.host_ports), 0)


# reach --------------------------------------------------------------------------------------------------------------
# The maximum endpoints of a folded Clos of given switches.


def largest_endpoints(numbers: PlainDemand) -> int:
    """Return the most endpoints known to fit a fabric: those of the demand, which fits, or the result of `reach`.

    Counts fixed by the plan may spread links evenly for the demand and for no larger number of servers.
    """
    endpoints = numbers.nic_ports + numbers.host_ports + numbers.reserved_ports
    return max(reach(numbers), endpoints)


def reach(numbers: PlainDemand) -> int:
    """Return the most endpoints of as many tiers of the same switches; 0 when pods without a core have no limit.

    Whole servers are added to the other machines and reserved ports. The fabric has every leaf for which uplinks spread
    evenly, with as many downlinks as they carry. Where reserved ports do not fit with that many servers, or the plan
    fixes counts, their number is found by bisection. Raises TooMuch as `find_smallest` does.
    """
    if numbers.tiers == 2 and numbers.pod_leaves:
        return 0
    others, each = numbers.host_ports + numbers.reserved_ports, numbers.ports_per_server
    fixed = any((numbers.pod_leaves, numbers.spine_count, numbers.spines_per_pod, numbers.core_count))
    servers = _count_servers(numbers, 0)
    may_not_fit = servers > 0 and (fixed or numbers.reserved_ports)
    if may_not_fit and not is_feasible(numbers._replace(nic_ports=servers * each)):
        surely = 0 if fixed else _count_servers(numbers, numbers.reserved_ports)
        servers = most_servers(numbers, servers - 1, each, max(surely, 0))
    return servers * each + others if servers > 0 else 0


def _count_servers(numbers: PlainDemand, reserved_ports: int) -> int:
    best, most = 0, most_down(numbers)
    for leaves, together in _largest_leaves(numbers):
        down = numbers.leaf_down if numbers.leaf_down <= most else 0
        if not numbers.leaf_down:
            down = most if numbers.exact else most_down_when_full(numbers) // together * together
        of_leaf = numbers.unit * together if numbers.unit and numbers.rails > 1 else down
        if of_leaf <= down:
            whole = leaves * (of_leaf // together) * together // numbers.ports_per_server
            room = leaves * down - numbers.host_ports - reserved_ports
            best = max(best, min(whole, room // numbers.ports_per_server))
    return best


def _largest_leaves(numbers: PlainDemand) -> Iterator[tuple[int, int]]:
    """Yield the most leaves, and the ports of a server that connect together to one of them."""
    most = most_down_of_spine(numbers)
    if numbers.rails == 1:
        for together in count_ports_together(numbers, most_down(numbers)):
            yield most * max(numbers.core_radix, 1), together
        return
    for together in count_rails_per_leaf(numbers):
        rows = numbers.rails // together
        units = most // rows
        if numbers.core_radix and numbers.pods_hold_all_rails:
            units *= numbers.core_radix
        elif numbers.core_radix:
            units = numbers.core_radix // rows * min(most, numbers.spine_radix // 2)
        if together == 1 or numbers.unit or numbers.rails_per_leaf:
            yield units * rows, together
        elif units:
            yield rows, together


def most_servers(numbers: PlainDemand, servers: int, ports_per_server: int, surely: int = 0) -> int:
    """Return the most servers, up to `servers`, for which there is a fabric; by bisection, so one more does not fit.

    For `surely` servers there is one. Raises TooMuch as `find_smallest` does.
    """
    fits, fails = surely, servers + 1
    while fails - fits > 1:
        middle = (fits + fails) // 2
        if is_feasible(numbers._replace(nic_ports=middle * ports_per_server)):
            fits = middle
        else:
            fails = middle
    return fits
