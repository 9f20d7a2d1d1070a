"""Occupancy: the assignment of endpoints to leaves, and the ports of each kind of machine on each leaf.

The leaves of one rail form a row, with one leaf per unit; a fat tree is one such row. Equal leaves are represented by
groups, so that a million endpoints cost no more than a hundred. Ports in use, the links of an exact build-out and the
bisection follow from it.

Other machines come after the servers; in a fabric of rails their ports are distributed over the rails, on the last leaf
with servers first. The bisection excludes reserved ports, which connect nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import pairwise
from math import ceil
from typing import Any, NamedTuple, TypeVar

from bomgen.core.messages import message
from bomgen.core.provenance import step
from bomgen.fabric.ports import SharedCages, ports_left_down
from bomgen.fabric.types import Fitted

Kinds = tuple[tuple[tuple[int, int], int], ...]
"""Ports in use down and up, each pair with the number of switches that have them."""


class LeafGroup(NamedTuple):
    """Equal leaves side by side: their number, and the ports in use on each."""

    leaves: int
    nic_ports: int
    host_ports: int
    reserved_ports: int
    up: int

    @property
    def filled(self) -> int:
        """Ports in use to servers and other machines."""
        return self.nic_ports + self.host_ports + self.reserved_ports


class Halves(NamedTuple):
    """Equal leaves in a bisection, with the bandwidth of their endpoints in either half and of their uplinks.

    All rates in Gb/s.
    """

    leaves: int
    first: int
    second: int
    up: int


Leaves = TypeVar("Leaves", LeafGroup, Halves)


class Occupancy(NamedTuple):
    """The leaves of every rail as groups."""

    rails: tuple[tuple[LeafGroup, ...], ...]
    ports_of_rail: int = 1
    """Ports of a server on a rail, where there are several rails."""
    rows_of_pod: int = 1
    """Rails whose leaves are in a pod together."""

    def __str__(self) -> str:
        kinds = [message("leaves-filled", leaves=count, down=down, up=up) for (down, up), count in self.kinds()]
        return message("listed", items=kinds) if kinds else message("no-leaves")

    def kinds(self) -> Kinds:
        """Return the ports in use down and up, each pair with the leaves that have them; the fullest first."""
        counted: Counter[tuple[int, int]] = Counter()
        for group in self.groups():
            counted[group.filled, group.up] += group.leaves
        return tuple(sorted(counted.items(), reverse=True))

    def groups(self) -> Iterator[LeafGroup]:
        """Yield all groups, rail after rail."""
        for rail in self.rails:
            yield from rail


def assign_leaves(
    nic_ports: int,
    host_ports: int,
    reserved_ports: int,
    rails: int,
    unit: int,
    down: int,
    up: int,
    leaves: int,
    ports_of_rail: int,
    reserved_down: int,
    spines: int = 1,
    ratio: Fraction | None = None,
) -> Occupancy:
    """Return the assignment of NIC ports, hosts and reserved ports to leaves with downlinks and uplinks.

    `unit` are the NIC ports on a leaf of a full unit, `reserved_down` the downlinks for all ports, reserved ones
    included. With a `ratio` of uplinks to downlinks, a leaf that is not full has only the uplinks that keep it, in
    multiples of the spines.
    """

    @cache
    def groups_of_rail(hosts: int, reserved: int) -> tuple[LeafGroup, ...]:
        full, rest = divmod(nic_ports // rails, unit)
        begun = 1 if rest else 0
        empty = LeafGroup(leaves // rails - full - begun, 0, 0, 0, 0)
        groups = [LeafGroup(full, unit, 0, 0, 0), LeafGroup(begun, rest, 0, 0, 0), empty]
        groups = _add_ports(groups, hosts, down, "host_ports")
        groups = _add_ports(groups, reserved, reserved_down, "reserved_ports")
        return tuple(group._replace(up=links_up(group)) for group in groups if group.leaves)

    def links_up(group: LeafGroup) -> int:
        return up if ratio is None else min(ceil(group.filled * ratio / spines) * spines, up)

    ports = (((host_ports + rails - 1 - rail) // rails, (reserved_ports + rail) // rails) for rail in range(rails))
    return Occupancy(tuple(groups_of_rail(*of_rail) for of_rail in ports), ports_of_rail)


def _add_ports(groups: list[LeafGroup], ports: int, down: int, kind: str) -> list[LeafGroup]:
    """Return the groups with ports added: on the leaf partly filled by servers, then empty ones, then the others."""
    # Ports that do not fit are left out.
    placed: dict[int, list[LeafGroup]] = {}
    for index in sorted(range(len(groups)), key=lambda index: (_fill_order(groups[index], down), -index)):
        group = groups[index]
        room = down - group.filled
        if room <= 0 or not ports or not group.leaves:
            placed[index] = [group]
            continue
        taken = min(ports, room * group.leaves)
        ports -= taken
        whole, rest = divmod(taken, room)
        held, begun = getattr(group, kind), 1 if rest else 0
        parts = [
            group._replace(leaves=whole, **{kind: held + room}),
            group._replace(leaves=begun, **{kind: held + rest}),
            group._replace(leaves=group.leaves - whole - begun),
        ]
        placed[index] = [part for part in parts if part.leaves]
    return [part for index in sorted(placed) for part in placed[index]]


def _fill_order(group: LeafGroup, down: int) -> int:
    """Return the order in which leaves are filled: the last with servers, then empty ones, then those of full units."""
    if group.leaves == 1 and 0 < group.filled < down:
        return 0
    return 1 if group.filled == 0 else 2


def count_links_up(occupancy: Occupancy) -> int:
    """Return the links from all leaves to the tier above."""
    return sum(group.leaves * group.up for group in occupancy.groups())


def leaves_of_pods(leaves: int, pods: int) -> list[int]:
    """Return the leaves of each pod, as equal as possible, larger ones first."""
    size, larger = divmod(leaves, pods)
    return [size + 1] * larger + [size] * (pods - larger)


def split_into_pods(groups: Sequence[Leaves], sizes: list[int]) -> Iterator[list[Leaves]]:
    """Yield the leaves of a rail, pod by pod."""
    waiting = list(reversed(groups))
    for size in sizes:
        pod, missing = [], size
        while missing and waiting:
            group = waiting.pop()
            taken = min(group.leaves, missing)
            pod.append(group._replace(leaves=taken))
            missing -= taken
            if group.leaves > taken:
                waiting.append(group._replace(leaves=group.leaves - taken))
        yield pod


def group_by_pod(rails: Sequence[Sequence[Leaves]], pods: int, rows_of_pod: int) -> Iterator[list[Leaves]]:
    """Yield the leaves of each pod, rail after rail; with a single layer, all leaves."""
    if pods == 1:
        yield [leaf for rail in rails for leaf in rail]
        return
    sizes = leaves_of_pods(sum(leaf.leaves for leaf in rails[0]), pods * rows_of_pod // len(rails))
    for first in range(0, len(rails), rows_of_pod):
        parts = [split_into_pods(rail, sizes) for rail in rails[first : first + rows_of_pod]]
        for pod in zip(*parts, strict=True):
            yield [leaf for part in pod for leaf in part]


def count_islands(occupancy: Occupancy, pods: int) -> int:
    """Return the pods with machines of the rail with the fewest; without a core, no links connect them."""
    used = [
        any(group.nic_ports or group.host_ports for group in pod)
        for pod in group_by_pod(occupancy.rails, pods, occupancy.rows_of_pod)
    ]
    of_row = pods * occupancy.rows_of_pod // len(occupancy.rails)
    return min(sum(used[first : first + of_row]) for first in range(0, pods, of_row))


def max_flow_between_halves(
    occupancy: Occupancy, down_gbps: int, up_gbps: int, pods: int = 1, pod_gbps: int | None = None
) -> int:
    """Return the max-flow between the halves of the endpoints, servers in order and then hosts [Gb/s].

    Even spread loads all paths between two switches equally, so that the fabric carries as much as a tree with the
    summed uplinks of a leaf and of a pod; in a tree, traffic that can meet lower down does. `pod_gbps` is the bandwidth
    from a pod to the core; None: there is a single layer of spines, and `pods` is 1.
    """
    total = first_up = second_up = 0
    rails = list(_halves_by_rail(occupancy, down_gbps, up_gbps))
    for pod in group_by_pod(rails, pods, occupancy.rows_of_pod):
        pod_first = pod_second = 0
        for leaf in pod:
            inside = min(leaf.first, leaf.second)
            total += leaf.leaves * inside
            pod_first += leaf.leaves * min(leaf.first - inside, leaf.up)
            pod_second += leaf.leaves * min(leaf.second - inside, leaf.up)
        if pod_gbps is not None:
            met = min(pod_first, pod_second)
            total += met
            pod_first, pod_second = min(pod_first - met, pod_gbps), min(pod_second - met, pod_gbps)
        first_up += pod_first
        second_up += pod_second
    return total + min(first_up, second_up)


def max_flow_over_peers(occupancy: Occupancy, down_gbps: int, pair_gbps: int) -> int:
    """Return the max-flow between the halves of the endpoints of a full mesh of switches [Gb/s].

    `pair_gbps` is the bandwidth between two of them. In a complete graph with equal edges the smallest cut of any size
    takes the switches that lose least by changing sides.
    """
    leaves = [leaf for rail in _halves_by_rail(occupancy, down_gbps, 0) for leaf in rail for _ in range(leaf.leaves)]
    cut, others = sum(leaf.first for leaf in leaves), len(leaves)
    found = cut
    for moved, change in enumerate(sorted(leaf.second - leaf.first for leaf in leaves), start=1):
        cut += change
        found = min(found, cut + moved * (others - moved) * pair_gbps)
    return found


def _halves_by_rail(occupancy: Occupancy, down_gbps: int, up_gbps: int) -> Iterator[list[Halves]]:
    """Yield the leaves of each rail with their endpoints, separately for the first half and the second half."""
    rails, each = len(occupancy.rails), occupancy.ports_of_rail
    nic_ports = sum(group.leaves * group.nic_ports for group in occupancy.groups())
    host_ports = sum(group.leaves * group.host_ports for group in occupancy.groups())
    middle = (nic_ports + host_ports) // 2
    hosts_first = max(middle - nic_ports, 0)
    for number, rail in enumerate(occupancy.rails):
        servers, rest = divmod(min(middle, nic_ports), rails * each)
        nic_first = servers * each + min(max(rest - number * each, 0), each)
        of_hosts = ceil(Fraction(hosts_first - number, rails))
        found = []
        for group in rail:
            for part, nic, hosts in _split_at_halves(group, nic_first, of_hosts):
                nic_first -= part.leaves * nic
                of_hosts -= part.leaves * hosts
                first = (nic + hosts) * down_gbps
                second = (part.nic_ports + part.host_ports) * down_gbps - first
                found.append(Halves(part.leaves, first, second, part.up * up_gbps))
        yield found


def _split_at_halves(group: LeafGroup, nic_first: int, hosts_first: int) -> Iterator[tuple[LeafGroup, int, int]]:
    """Yield a group cut where the halves meet, each part with the ports of a leaf that belong to the first half."""
    for part, nic in _split_group(group, group.nic_ports, nic_first):
        for smaller, hosts in _split_group(part, part.host_ports, hosts_first):
            yield smaller, nic, hosts


def _split_group(group: LeafGroup, ports: int, first: int) -> Iterator[tuple[LeafGroup, int]]:
    if not ports:
        yield group, 0
        return
    whole, rest = divmod(min(first, group.leaves * ports), ports)
    for leaves, mine in ((whole, ports), (1 if rest else 0, rest), (group.leaves - whole - (1 if rest else 0), 0)):
        if leaves:
            yield group._replace(leaves=leaves), mine


# leaf ports ---------------------------------------------------------------------------------------------------------
# The ports of each kind of machine on each leaf: parts that serve several links of a leaf are counted from them.


class Leaf(NamedTuple):
    """The ports in use on a leaf: of servers, reserved ones, and of other machines by kind."""

    servers: int
    reserved: int
    others: tuple[int, ...]


def count_alike_leaves(seats: Occupancy, fabrics: int, machines: tuple[int, ...]) -> tuple[tuple[Leaf, int], ...]:
    """Return the distinct leaves of equal fabrics, each with its number.

    `seats` are those of one of them, `machines` the ports of other machines by kind, numbered consecutively and
    distributed over the fabrics in turn, and in each over its rails.
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
    """Yield the leaves of a row whose ports for other machines are assigned in order, kind by kind up to each bound."""
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


# ports in use -------------------------------------------------------------------------------------------------------
# The ports in use on leaves and spines.


def count_free_ports(occupancy: Occupancy, radix: int, up_radix: int, cages: int | SharedCages) -> int:
    """Return the unused ports of all leaves, where partly filled leaves have fewer uplinks."""
    return sum(
        group.leaves * (ports_left_down(group.up, radix, up_radix, cages) - group.filled)
        for group in occupancy.groups()
    )


def kinds_of_leaves(occupancy: Occupancy) -> Kinds:
    """Return the leaves by ports in use, the fullest first."""
    return occupancy.kinds()


def kinds_of_spines(occupancy: Occupancy, pods: int, per_pod: int, up: int) -> Kinds:
    """Return the spines by ports in use, the fullest first; `pods` is 1 for one layer of spines above all leaves."""
    counted: Counter[int] = Counter()
    for pod in group_by_pod(occupancy.rails, pods, occupancy.rows_of_pod):
        counted[sum(group.leaves * group.up for group in pod) // per_pod] += per_pod
    return tuple(((down, up), count) for down, count in sorted(counted.items(), reverse=True))


def fit_switches(kinds: Any, has_up: bool, local: Any = None) -> Iterator[Fitted]:
    """Yield groups of equal switches, as steps of a calculation; each switch has `local` ports inside its group."""
    kinds = step("kinds", "kinds of switches", kinds, "Switches by ports in use down and up.")
    for index in range(len(kinds.value)):
        switches = step("switches", "switches", kinds[index][1], "Switches with the same ports in use.")
        down = step("down", "ports", kinds[index][0][0], "Downlink ports in use.")
        up = step("up", "ports", kinds[index][0][1], "Uplink ports in use.") if has_up else None
        yield Fitted(switches, down, up, local)
