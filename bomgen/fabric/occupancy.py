"""Occupancy: the endpoints of a demand, their assignment to leaves, and the ports of each kind of machine on a leaf.

The leaves of one rail form a row, with one leaf per unit; a fat tree is one such row. Equal leaves are represented by
groups, so that a million endpoints cost no more than a hundred. Ports in use, the links of an exact build-out and the
bisection follow from it.

Other machines come after the servers; in a fabric of rails their ports are distributed over the rails, on the last leaf
with servers first. The bisection excludes reserved ports, which connect nothing.

Equal fabrics are planes, and rails that meet only inside the servers. Ports of other machines and reserved ports are
given for all planes and distributed in turn; each plane is built for the most that one gets. Free ports and room to
grow refer to the actual endpoints.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import pairwise
from math import ceil
from typing import Any, NamedTuple, TypeVar

from bomgen.core.diagnostics import Infeasible
from bomgen.core.messages import message
from bomgen.core.provenance import (
    Figure,
    applied,
    ceil_div,
    constant,
    divided_up,
    greatest,
    named,
    product,
    step,
    sum_of,
    trace,
)
from bomgen.fabric.ports import SharedCages, ports_left_down, radix
from bomgen.fabric.types import SERVER, SERVER_LEAF, Demand, Fabric, Fitted, Links, Tier

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


def fit_switches(kinds: Any, has_up: bool) -> Iterator[Fitted]:
    """Yield groups of equal switches, as steps of a calculation."""
    kinds = step("kinds", "kinds of switches", kinds, "Switches by ports in use down and up.")
    for index in range(len(kinds.value)):
        switches = step("switches", "switches", kinds[index][1], "Switches with the same ports in use.")
        down = step("down", "ports", kinds[index][0][0], "Downlink ports in use.")
        up = step("up", "ports", kinds[index][0][1], "Uplink ports in use.") if has_up else None
        yield Fitted(switches, down, up)


unset = constant("unset", "count", 0)
"""A value that the plan does not set, or a count of 0."""
UNSET = unset()
nic_endpoints = product("nic_endpoints", "endpoints", "servers", "ports_per_server")
"""NIC ports of the servers."""
nic_and_host_endpoints = sum_of("nic_and_host_endpoints", "endpoints", "nic_ports", "host_ports")
"""NIC ports of the servers and ports of other hosts."""
endpoints_with_reserved = sum_of("endpoints_with_reserved", "endpoints", "attached", "reserved_ports")
"""Endpoints, including ports reserved for later use."""


def group_thousands(number: int) -> str:
    """Return a number as messages write it, with a space between thousands."""
    return f"{number:,}".replace(",", " ")


def attached_ports(demand: Demand) -> Figure:
    """Return the ports of the machines on a plane: NIC ports of the servers, and ports of other machines."""
    nic_ports = nic_endpoints(demand.servers, demand.ports_per_server)
    return nic_and_host_endpoints(nic_ports, demand.host_ports) if demand.host_ports else nic_ports


def all_endpoints(demand: Demand) -> Figure:
    """Return the ports of the machines on a plane, and reserved ports."""
    attached = attached_ports(demand)
    return endpoints_with_reserved(attached, demand.reserved_ports) if demand.reserved_ports else attached


def servers_among(demand: Demand, endpoints: int) -> int:
    """Return the whole servers among a number of endpoints, without hosts and reserved ports."""
    others = sum(figure.value for figure in (demand.host_ports, demand.reserved_ports) if figure)
    return max(int((endpoints - others) // demand.ports_per_server.value), 0)


def seat_in_order(demand: Any, leaves: Any, down: Any, up: Any, homes: Any = 1, unit: Any = None) -> Any:
    """Return the seats of endpoints that fill leaf after leaf, other machines after the servers, in a calculation.

    The ports of a machine are dealt out to `homes` leaves; `unit` are the server ports on a full leaf.
    """
    ports, of_leaf = demand.ports_per_server, demand.ports_per_server // homes if unit else demand.ports_per_server
    others = demand.host_ports or 0, demand.reserved_ports or 0
    seats = applied(
        assign_leaves, demand.servers * ports, *others, homes, unit or down, down, up, leaves, of_leaf, down
    )
    return step("occupancy", "occupancy", seats, "Endpoints and uplinks of each leaf.")


def build_one_switch(demand: Demand, topology: str) -> Fabric:
    """Return the fabric with all endpoints on one leaf. Raises Infeasible when it has too few ports."""
    switch, rate = demand.leaf.switch, demand.rates[SERVER_LEAF.name]
    ports, endpoints = radix(switch, rate), all_endpoints(demand)
    if endpoints.value > ports.value:
        message = (
            f"{group_thousands(endpoints.value)} endpoints; one {switch.identity.name} has "
            f"{group_thousands(ports.value)} ports at {rate.value} Gb/s, so at most "
            f"{servers_among(demand, ports.value)} servers; fat-tree reaches more"
        )
        raise Infeasible(message, because=endpoints)

    def count(d: Demand) -> Fabric:
        endpoints, attached = named("endpoints", all_endpoints(demand)), named("attached", attached_ports(demand))
        radix_of_leaf, gbps = named("radix", ports), named("link_gbps", rate)
        leaves = step("leaves", "switches", divided_up(endpoints, radix_of_leaf), "One if all endpoints fit.")
        populated = endpoints if demand.populate_used_ports_only else radix_of_leaf
        fitted = (Fitted(leaves, populated, None),)
        free = step("free_ports", "ports", leaves * radix_of_leaf - endpoints, "Ports without an endpoint.")
        flow = "Each endpoint of the smaller half sends at full rate."
        tiers = step("tiers", "tiers", leaves, "Tiers of a fabric of a single switch.")
        return Fabric(
            topology=topology,
            endpoints=endpoints,
            ports_per_server=d.ports_per_server,
            tier_count=tiers,
            tiers=(Tier("leaf", switch, leaves, radix_of_leaf, radix_of_leaf, None, fitted, None),),
            links=(Links(SERVER_LEAF.name, endpoints, attached, gbps, SERVER_LEAF.ends),),
            switches=leaves,
            bisection_gbps=step("bisection_gbps", "Gb/s", attached // 2 * gbps, flow),
            hops=count_hops(tiers),
            largest=radix_of_leaf,
            free_ports={"leaf": free},
            growth=free,
            seats=seat_in_order(d, leaves, radix_of_leaf, 0),
        )

    return trace(count, demand)


def count_hops(tiers: Any) -> Any:
    """Return the switches between the farthest endpoints of a folded Clos, in a calculation."""
    return step("hops", "switches", 2 * tiers - 1, "Between the farthest endpoints: each tier twice, except the top.")


def ratio_built(down: Any, down_gbps: Any, up: Any, up_gbps: Any) -> Any:
    """Return the bandwidth below over that above of a fully connected switch, in a calculation."""
    ratio = applied(Fraction, down * down_gbps) / (up * up_gbps)
    return step("ratio", "ratio", ratio, "Downlink bandwidth over uplink bandwidth of a fully connected switch.")


# equal fabrics ------------------------------------------------------------------------------------------------------

ports_of_one = ceil_div("ports_of_one", "ports", "ports", "planes")
"""Ports of the fullest plane, with ports spread evenly over all planes."""


def demand_of_one_plane(whole: Demand, planes: Figure, ports_per_server: Figure) -> Demand:
    """Return the demand on one of several equal fabrics, each with `ports_per_server` ports of a server."""
    hosts, reserved = whole.host_ports, whole.reserved_ports
    return whole._replace(
        ports_per_server=ports_per_server,
        host_ports=ports_of_one(hosts, planes) if hosts else None,
        reserved_ports=ports_of_one(reserved, planes) if reserved else None,
    )


def combine_planes(plane: Fabric, planes: Figure, whole: Demand) -> Fabric:
    """Return equal fabrics as one that carries the whole demand.

    Ports of other machines need not be a multiple of the planes. Each plane is built for the most that one gets; room
    and free ports refer to the actual endpoints.
    """

    def count(d: Demand) -> Fabric:
        number = named("planes", planes)
        endpoints, attached = (named("endpoints", ports(whole)) for ports in (all_endpoints, attached_ports))

        def in_all(figure: Figure, name: str = "switches", more: Any = 0) -> Any:
            of_all = named("of_one", figure) * number
            return step(name, figure.unit, of_all + more if more else of_all, "Of all planes, which are equal.")

        too_many = step("too_many", "ports", named("of_one", plane.endpoints) * number - endpoints, "More than needed.")
        above = above_all = None
        if plane.reserved_above:
            above = named("above_of_one", plane.reserved_above)
            left = greatest(above * number - too_many, 0)
            above_all = step("above", "ports", left, "Reserved ports on spines, less those by which planes differ.")

        def free_of(tier: str, figure: Figure) -> Any:
            """Return the free ports of a tier in all planes, or the room on the leaves."""
            on_spines = above * number - above_all if too_many and above else 0
            more = {"leaf": too_many - on_spines if on_spines else too_many, "spine": on_spines}.get(tier, 0)
            return in_all(figure, "free_ports", more if too_many else 0)

        tiers = tuple(
            replace(
                tier,
                count=in_all(tier.count),
                fitted=tuple(Fitted(in_all(alike.count), alike.down, alike.up) for alike in tier.fitted),
            )
            for tier in plane.tiers
        )
        links = tuple(
            replace(link, count=endpoints, cabled=attached)
            if link.ends[0] == SERVER and plane.tiers
            else replace(link, count=in_all(link.count, "links"), cabled=in_all(link.cabled, "links"))
            for link in plane.links
        )
        return plane._replace(
            endpoints=endpoints,
            ports_per_server=d.ports_per_server,
            tiers=tiers,
            links=links,
            switches=in_all(plane.switches),
            bisection_gbps=in_all(plane.bisection_gbps, "bisection_gbps"),
            largest=step(
                "endpoints", "endpoints", named("of_one", plane.largest) * number - too_many, "Of the largest."
            )
            if plane.largest
            else None,
            free_ports={tier: free_of(tier, ports) for tier, ports in plane.free_ports.items()},
            growth=free_of("leaf", plane.growth) if plane.growth else None,
            pods=in_all(plane.pods, "pods") if plane.pods else None,
            reserved_above=above_all,
            plane=plane.plane or plane,
            planes=in_all(plane.planes, "planes") if plane.planes else planes,
        )

    return trace(count, whole)
