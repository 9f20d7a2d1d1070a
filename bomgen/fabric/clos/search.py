"""The search for the smallest folded Clos, in plain numbers.

It tries every division of a leaf's ports that keeps the ratio, and keeps the fabric with the fewest switches, then the
fewest links, then the fewest uplinks of a leaf. Fewest switches come first, so a relaxed ratio may save switches and
cost links.

With three tiers it also tries more pods, pods with room for more leaves, and more uplinks of a spine than the rules
need, because cores come in the numbers that spread a pod's links evenly: otherwise one more server could need fewer
switches. A rail's leaves are not cut into more groups than needed: what leaves a group crosses the core, and rails
exist to avoid that.

Reserved ports take free ports of the leaves, then of the spines; the fabric gets more spines if that saves leaves, and
more leaves when neither has room.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import takewhile
from math import ceil

from bomgen.core.provenance import require
from bomgen.core.work_budget import OF_SHAPE, spend
from bomgen.fabric.clos import formulas
from bomgen.fabric.clos.exact_search import find_smallest_exact, reach_exact
from bomgen.fabric.clos.shape import ClosShape, Numbers, Steps
from bomgen.fabric.ports import ports_left_down

MAX_TIERS = 3


MAX_TRIES = 2000
"""Shapes tried for one division of a leaf's ports: all there are below a hundred thousand endpoints."""


MAX_STEPS = 200_000
"""Steps of one search, over all divisions of the ports: a million endpoints on switches of 512 ports take 140 000."""


MAX_STEPS_TO_FIT = 20_000
"""Steps of finding out whether there is a fabric at all, which halving the number of servers asks twenty times."""


KEPT = 64
"""Results kept, because the shape found is asked for once more by the figures that explain it."""


MOST_SIZES = 64
"""Sizes of a pod that are tried for the largest fabric, so that the largest switches with fixed counts do not take
seconds."""


def find_smallest(numbers: Numbers) -> ClosShape | None:
    """The smallest fabric of so many tiers, or None when none carries the demand.

    Raises TooMuch when the plan has had its share of searching.
    """
    shape, steps = _search(numbers)
    spend(OF_SHAPE * steps, numbers)
    return shape


@lru_cache(maxsize=KEPT)
def _search(numbers: Numbers) -> tuple[ClosShape | None, int]:
    """The smallest fabric, and the steps that it took to find it; they count again where the result is kept."""
    smallest: ClosShape | None = None
    steps = Steps(MAX_STEPS)
    if numbers.exact:
        return find_smallest_exact(numbers, steps), steps.done
    for down, up in divide_leaf_ports(numbers):
        if numbers.tiers == 2 and not numbers.pod_leaves:
            shape = _search_two_tiers(numbers, down, up, steps)
        else:
            shape = _search_with_pods(numbers, down, up, smallest, steps)
        if shape and (smallest is None or shape.cost < smallest.cost):
            smallest = shape
        if steps.over():
            break
    return smallest, steps.done


def is_feasible(numbers: Numbers) -> bool:
    """Whether there is a fabric of so many tiers, without looking for the smallest.

    False also where none was found within MAX_STEPS_TO_FIT steps. Raises TooMuch as `find_smallest`.
    """
    flat = numbers.tiers == 2 and not numbers.pod_leaves
    steps = Steps(MAX_STEPS_TO_FIT)
    if numbers.exact:
        shape = find_smallest_exact(numbers, steps)
        spend(OF_SHAPE * steps.done)
        return shape is not None
    found = any(
        _search_two_tiers(numbers, down, up, steps) if flat else _fits_in_pods(numbers, down, up, steps)
        for down, up in divide_leaf_ports(numbers)
    )
    spend(OF_SHAPE * steps.done)
    return found


def require_smallest(numbers: Numbers) -> ClosShape:
    """The smallest fabric where there is one."""
    return require(find_smallest(numbers), "no fabric carries the demand")


def divide_leaf_ports(numbers: Numbers) -> Iterator[tuple[int, int]]:
    """Ways to divide a leaf's ports into down and up: those that keep the ratio, or that the plan fixes."""
    for up in [numbers.leaf_up] if numbers.leaf_up else range(1, numbers.up_radix + 1):
        room = ports_left_down(up, numbers.radix, numbers.up_radix, numbers.cages)
        down = numbers.leaf_down or room
        if not 1 <= down <= room:
            continue
        if numbers.leaf_up or down * numbers.down_gbps <= numbers.oversubscription * up * numbers.up_gbps:
            yield down, up


def _leaf_counts(numbers: Numbers, down: int) -> range:
    """Leaves that may be needed: for servers and hosts, up to for all reserved ports too; as many on every rail."""
    unit, rails = numbers.unit or down, numbers.rails
    attached = numbers.nic_ports + numbers.host_ports
    fewest = max(ceil(numbers.nic_ports / (rails * unit)), ceil(attached / (rails * down)))
    most = max(fewest, ceil((attached + numbers.reserved_ports) / (rails * down)))
    bound = rails * most if numbers.tiers == 2 and numbers.pod_leaves else _most_leaves_at_all(numbers)
    return range(rails * fewest, min(rails * most, bound) + 1, rails)


def _unplaced_reserved_ports(numbers: Numbers, down: int, leaves: int) -> int:
    """Reserved ports that find no free port on the leaves."""
    return max(numbers.reserved_ports - (leaves * down - numbers.nic_ports - numbers.host_ports), 0)


def _spread_evenly(below: int, uplinks: int, ports: int, fixed: int) -> int:
    """Switches above by even spread; 0 when it is impossible, or not with the number that the plan fixes."""
    if not fixed:
        return formulas.smallest_spread(below, uplinks, ports)
    return fixed if uplinks % fixed == 0 and below * (uplinks // fixed) <= ports else 0


def _search_two_tiers(numbers: Numbers, down: int, up: int, steps: Steps) -> ClosShape | None:
    ports = numbers.spine_down or numbers.spine_radix
    fixed = numbers.spine_count or numbers.spines_per_pod
    if numbers.spines_per_pod not in (0, fixed):
        return None
    found = []
    for leaves in _leaf_counts(numbers, down):
        if steps.over():
            break
        homeless = _unplaced_reserved_ports(numbers, down, leaves)
        fewest = _spread_evenly(leaves, up, ports, fixed)
        if not fewest:
            continue
        for spines in [fewest] if fixed else [count for count in formulas.divisors(up) if count >= fewest]:
            if homeless <= spines * (ports - leaves * up // spines):
                found.append(ClosShape(down, up, leaves, 1, spines, 0, 0))
                break
    return min(found, key=lambda shape: shape.cost, default=None)


def _search_with_pods(numbers: Numbers, down: int, up: int, known: ClosShape | None, steps: Steps) -> ClosShape | None:
    """The smallest fabric with pods for one division of the leaf's ports; `known` is one that it must beat."""
    found = []
    for leaves in _leaf_counts(numbers, down):
        if steps.over():
            break
        shape = _shape_with_pods(numbers, down, up, leaves)
        if shape is None:
            continue
        if _has_room(numbers, shape):
            found.append(shape)
        if numbers.tiers == MAX_TIERS and not any(_fixed_counts(numbers)):
            to_beat = [each for each in (known, *found) if each]
            least = min(to_beat, key=lambda each: each.cost, default=None)
            better = _fewer_switches(numbers, shape, least, steps)
            found += [better] if better else []
    return min(found, key=lambda shape: shape.cost, default=None)


def _fits_in_pods(numbers: Numbers, down: int, up: int, steps: Steps) -> bool:
    """Whether there is a fabric with pods for one division of the leaf's ports."""
    tries_more = numbers.tiers == MAX_TIERS and not any(_fixed_counts(numbers))
    counts = takewhile(lambda _: not steps.over(), _leaf_counts(numbers, down))
    shapes = (_shape_with_pods(numbers, down, up, leaves) for leaves in counts)
    return any(
        _has_room(numbers, shape) or (tries_more and _fewer_switches(numbers, shape, None, steps, True))
        for shape in shapes
        if shape
    )


def _has_room(numbers: Numbers, shape: ClosShape) -> bool:
    """Whether reserved ports that find none on the leaves find free ports on the spines."""
    homeless = _unplaced_reserved_ports(numbers, shape.down, shape.leaves)
    return not homeless or (numbers.tiers == MAX_TIERS and homeless <= _free_on_spines(numbers, shape))


def _free_on_spines(numbers: Numbers, shape: ClosShape) -> int:
    """Ports that the spines of three tiers have left for reserved ones."""
    used = ceil(shape.leaves / shape.pods) * (shape.up // shape.spines)
    return shape.pods * shape.spines * (_spine_ports_left_down(numbers, shape.spine_up) - used)


def _may_have_room(numbers: Numbers, start: ClosShape) -> bool:
    """Whether reserved ports could find room on the spines of as many leaves, were each up-link to one of its own."""
    pods = _most_pods(numbers, start)
    pod_leaves = ceil(start.leaves / pods)
    free = _spine_ports_left_down(numbers, count_spine_uplinks(numbers, pod_leaves)) - pod_leaves
    return _unplaced_reserved_ports(numbers, start.down, start.leaves) <= max(pods * start.up * free, 0)


def _most_pods(numbers: Numbers, start: ClosShape) -> int:
    return min(start.leaves, numbers.core_radix) if numbers.rails == 1 else start.pods


def _fewer_switches(
    numbers: Numbers, start: ClosShape, to_beat: ClosShape | None, steps: Steps, any_will_do: bool = False
) -> ClosShape | None:
    """The shape of fewest switches for the same leaves, with more pods, room for more leaves or more links to the core.

    Cores are as many as spread a pod's links evenly, so that the fewest pods with the fewest links are not always the
    cheapest; without this, a larger demand or a relaxed ratio could cost fewer or more switches by turns. None when
    nothing costs less than `to_beat`. A rail is not cut into more groups than it must be, because what leaves a group
    crosses the core. With `any_will_do` the first that is found is taken. Beyond `MAX_TRIES`, or without steps left,
    the search stops: fabrics of a million endpoints are left a little larger.
    """
    smallest, tries = None, 0
    if not _may_have_room(numbers, start):
        return None
    limit = spine_ports_down(numbers)
    fewest = to_beat.cost if to_beat else (start.leaves * numbers.radix * numbers.core_radix, 0, 0)
    for pods in range(start.pods, _most_pods(numbers, start) + 1):
        for room in range(ceil(start.leaves / pods), limit + 1):
            spines = formulas.smallest_spread(room, start.up, limit)
            if steps.over():
                return smallest
            if not spines or start.leaves + pods * spines >= fewest[0]:
                break
            spine_down = room * (start.up // spines)
            for spine_up in range(count_spine_uplinks(numbers, spine_down), numbers.spine_up_radix + 1):
                least_cores = ceil(pods * spines * spine_up / numbers.core_radix)
                if start.leaves + pods * spines + least_cores >= fewest[0]:
                    break
                tries += 1
                if tries > MAX_TRIES or steps.over():
                    return smallest
                cores = formulas.smallest_spread(pods, spines * spine_up, numbers.core_radix)
                shape = start._replace(pods=pods, spines=spines, spine_up=spine_up, cores=cores)
                if spine_down > _spine_ports_left_down(numbers, spine_up) or not _has_room(numbers, shape):
                    break
                if cores and shape.cost < fewest:
                    smallest, fewest = shape, shape.cost
                    if any_will_do:
                        return smallest
    return smallest


def _shape_with_pods(numbers: Numbers, down: int, up: int, leaves: int) -> ClosShape | None:
    """The shape of so many leaves in pods, or None when their up-links do not spread evenly."""
    # Where spines have no port down there is no number of leaves to ask for.
    limit = numbers.pod_leaves or spine_ports_down(numbers)
    pods = numbers.rails * ceil(Fraction(leaves, numbers.rails * limit))
    pod_leaves = ceil(leaves / pods)
    spines = count_spines_of_pod(numbers, pod_leaves, up, pods)
    if not spines:
        return None
    if numbers.tiers == 2:
        return ClosShape(down, up, leaves, pods, spines, 0, 0)
    spine_down = pod_leaves * (up // spines)
    spine_up = count_spine_uplinks(numbers, spine_down)
    cores = _spread_evenly(pods, spines * spine_up, numbers.core_radix, numbers.core_count)
    if not cores or spine_down > _spine_ports_left_down(numbers, spine_up):
        return None
    return ClosShape(down, up, leaves, pods, spines, spine_up, cores)


def _spine_ports_left_down(numbers: Numbers, spine_up: int) -> int:
    return ports_left_down(spine_up, numbers.spine_radix, numbers.spine_up_radix, numbers.spine_cages)


def spine_ports_down(numbers: Numbers) -> int:
    """The ports that a spine of a pod may face down with: as given, all without a core, else half of them."""
    if numbers.spine_down:
        return numbers.spine_down
    if numbers.tiers == 2:
        return numbers.spine_radix
    return min(numbers.spine_radix // 2, numbers.spine_radix - numbers.spine_up)


def count_spine_uplinks(numbers: Numbers, down: int) -> int:
    """The up-links of a spine that uses `down` ports: as given, else what the ratio asks."""
    ratio = numbers.spine_oversubscription
    wanted, carried = down * numbers.up_gbps * ratio.denominator, ratio.numerator * numbers.core_gbps
    return numbers.spine_up or -(-wanted // carried)


def count_spines_of_pod(numbers: Numbers, pod_leaves: int, up: int, pods: int) -> int:
    """Spines of a pod by even spread, or as given; 0 when up-links do not spread evenly.

    In a pod whose size the plan gives, a spine faces down with whatever its own up-links leave.
    """
    both = numbers.spine_count and numbers.spines_per_pod
    if numbers.spine_count % pods or (both and numbers.spines_per_pod * pods != numbers.spine_count):
        return 0
    fixed = numbers.spines_per_pod or numbers.spine_count // pods
    if not numbers.pod_leaves or numbers.spine_down or numbers.tiers == 2:
        return _spread_evenly(pod_leaves, up, spine_ports_down(numbers), fixed)
    for spines in [fixed] if fixed else formulas.divisors(up):
        down = pod_leaves * up // spines
        if up % spines == 0 and down <= _spine_ports_left_down(numbers, count_spine_uplinks(numbers, down)):
            return spines
    return 0


def reach(numbers: Numbers) -> int:
    """The most endpoints that as many tiers of the same switches carry; 0 when nothing limits pods without a core.

    Servers are added to the other machines and reserved ports that there are; where leaves belong to rails, whole
    servers. Every leaf is there that links up spread for, with as many ports down as the ratio leaves. Only where
    reserved ports find no room beside so many servers, and the plan fixes no counts, is their number halved for.
    Raises TooMuch as `find_smallest`.
    """
    if numbers.tiers == 2 and numbers.pod_leaves:
        return 0
    if numbers.exact:
        found, each = reach_exact(numbers), numbers.ports_per_server
        if not numbers.reserved_ports or (not found and any(_fixed_counts(numbers))):
            return found
        others = numbers.host_ports + numbers.reserved_ports
        most = reach_exact(numbers._replace(reserved_ports=0)) - numbers.host_ports
        servers = most_servers(numbers, max(most, 0) // each, each, max(found - others, 0) // each)
        return servers * each + others if servers else 0
    fixed = any(_fixed_counts(numbers))
    reserved = numbers.reserved_ports if fixed else 0
    most = 0
    for down, up in divide_leaf_ports(numbers):
        of_leaf = min(numbers.unit or down, down)
        if most and _most_leaves_at_all(numbers) * of_leaf <= most:
            continue
        if leaves := _most_leaves_of_two(numbers, up) if numbers.tiers == 2 else _most_leaves_in_pods(numbers, up):
            rows = leaves // numbers.rails
            servers = (leaves * down - numbers.host_ports - reserved) // numbers.rails
            most = max(most, min(rows * of_leaf, servers) * numbers.rails)
    if most and numbers.reserved_ports and not fixed:
        servers = most // numbers.rails
        if not is_feasible(numbers._replace(nic_ports=most)):
            surely = max(servers - ceil(numbers.reserved_ports / numbers.rails), 0)
            most = most_servers(numbers, servers, numbers.rails, surely) * numbers.rails
    return most + numbers.host_ports + numbers.reserved_ports if most > 0 else 0


def largest_endpoints(numbers: Numbers) -> int:
    """The most endpoints that a fabric is known to carry: those of the demand, which is met, or what `reach` finds.

    Counts that the plan fixes may spread links evenly for the demand and for no larger number of pods that is tried.
    """
    endpoints = numbers.nic_ports + numbers.host_ports + numbers.reserved_ports
    return max(reach(numbers), endpoints)


def _fixed_counts(numbers: Numbers) -> tuple[int, ...]:
    """What the plan fixes of pods, spines and cores; noughts where it fixes nothing."""
    counts = (numbers.spine_count, numbers.spines_per_pod, numbers.spine_up, numbers.core_count)
    return numbers.pod_leaves, *counts


def _most_leaves_at_all(numbers: Numbers) -> int:
    """More leaves than this there are not, however links spread."""
    if numbers.tiers == 2:
        return numbers.spine_down or numbers.spine_radix
    return numbers.core_radix * (numbers.pod_leaves or spine_ports_down(numbers))


def _most_leaves_of_two(numbers: Numbers, up: int) -> int:
    spines = numbers.spine_count or numbers.spines_per_pod or up
    leaves = (numbers.spine_down or numbers.spine_radix) // (up // spines) if up % spines == 0 else 0
    return leaves // numbers.rails * numbers.rails


def _most_leaves_in_pods(numbers: Numbers, up: int) -> int:
    """The most leaves in equal pods; 0 when their links do not spread evenly.

    Pods are as large as can be, or as the plan says. Of smaller ones there are only so many that larger ones would not
    be fewer, because a demand is met with the fewest pods; and only `MOST_SIZES` sizes are tried.
    """
    limit, most = numbers.pod_leaves or spine_ports_down(numbers), 0
    for pod_leaves in [limit] if numbers.pod_leaves else range(limit, max(limit - MOST_SIZES, 0), -1):
        if numbers.core_radix * pod_leaves <= most:
            break
        rows = numbers.core_radix // numbers.rails
        if pod_leaves < limit:
            rows = min(rows, (limit - 1) // (limit - pod_leaves))
        for pods in _numbers_of_pods(numbers, rows):
            found = min(_pods_above(numbers, up, pod_leaves, pods), pods)
            if found == pods or not numbers.spine_count:
                most = max(most, found // numbers.rails * numbers.rails * pod_leaves)
    return most


def _numbers_of_pods(numbers: Numbers, rows: int) -> list[int]:
    """The most pods, so many of a rail; where the plan says how many spines there are, those that divide them."""
    if not numbers.spine_count:
        return [rows * numbers.rails] if rows else []
    counts = formulas.divisors(numbers.spine_count)
    return [pods for pods in counts if pods % numbers.rails == 0 and pods <= rows * numbers.rails]


def _pods_above(numbers: Numbers, up: int, pod_leaves: int, pods: int) -> int:
    """The most pods of a size that the core has ports for; 0 when their links do not spread evenly.

    `pods` divide the spines, where the plan says how many there are.
    """
    spines = count_spines_of_pod(numbers, pod_leaves, up, pods)
    if not spines:
        return 0
    spine_down = pod_leaves * (up // spines)
    spine_up = count_spine_uplinks(numbers, spine_down)
    if spine_down > _spine_ports_left_down(numbers, spine_up):
        return 0
    to_core = spines * spine_up
    cores = numbers.core_count or to_core
    return numbers.core_radix // (to_core // cores) if to_core % cores == 0 else 0


def most_servers(numbers: Numbers, servers: int, ports_per_server: int, surely: int = 0) -> int:
    """The most servers, up to so many, for which there is a fabric; by halving, so that one more does not fit.

    For `surely` servers there is one. Raises TooMuch as `find_smallest`.
    """
    fits, fails = surely, servers + 1
    while fails - fits > 1:
        middle = (fits + fails) // 2
        if is_feasible(numbers._replace(nic_ports=middle * ports_per_server)):
            fits = middle
        else:
            fails = middle
    return fits
