"""The search for the folded Clos with the lowest switch count, in plain numbers, and the reach of given switches.

It tries every division of a leaf's ports, and keeps the fabric with the lowest switch count, then with the fewest
servers split over leaves, units, links between switches, cages that hold uplinks and downlinks, and uplinks of a leaf;
then the smaller numbers. The switch count comes first, so a relaxed ratio may save switches and cost links.

Two tiers take one step per division. Three tiers take one per division and number of pods; candidates that cannot beat
the best fabric found are pruned, by the bound that every pod has at least as many spines as its leaves need, and that
there are at least as many cores as the spines' uplinks fill. A rail's leaves are not cut into more groups than needed:
traffic between groups crosses the core, and rails exist to avoid that.

Reserved ports use free ports of the leaves, then of the spines; the fabric gets more uplinks or more leaves when
neither has room.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from math import ceil
from typing import Any

from bomgen.core.calculation import divided_up, step
from bomgen.core.provenance import require
from bomgen.core.work_budget import OF_SHAPE, spend
from bomgen.fabric.clos.leaf_divisions import (
    Division,
    count_ports_together,
    count_rails_per_leaf,
    divide_leaves,
    links_carried,
    most_at_crossing,
    most_down,
    most_down_when_full,
    most_leaves_of_group,
    ports_beside,
    room_down,
    room_for_reserved,
)
from bomgen.fabric.clos.shape import ClosShape, PlainDemand, Steps, round_up_to_divisor

MAX_TIERS = 3

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
    """Yield the numbers of pods to try: for single rails as few groups as possible, for a fat tree and all rails any.

    Leaves are in equal rows, of which a pod has a share of `together`.
    """
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
    """Yield the spines above leaves, and uplinks of a leaf: equally many to each, within the ports of the leaf.

    More spines than the uplinks at the ratio need may share their uplinks evenly over fewer cores.
    """
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
