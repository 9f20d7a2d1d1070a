"""Who hangs on which leaf: servers first, unit by unit, then other machines, then reserved ports.

Leaves of one rail stand in a row, a leaf a unit; a fat tree is one such row. Runs of equal leaves stand for all of
them, so that a million endpoints cost no more than a hundred.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import ceil
from typing import NamedTuple, TypeVar

from bomgen.core.messages import message

Kinds = tuple[tuple[tuple[int, int], int], ...]
"""Ports in use down and up, each pair with the switches that have them."""


class Run(NamedTuple):
    """Equal leaves side by side: how many, and the ports in use on each."""

    leaves: int
    nic_ports: int
    host_ports: int
    reserved_ports: int
    up: int

    @property
    def filled(self) -> int:
        """Ports in use towards servers and other machines."""
        return self.nic_ports + self.host_ports + self.reserved_ports


class Halves(NamedTuple):
    """Leaves that are alike in a bisection, with the bandwidth of their endpoints of either half and of their links up.

    All rates in Gb/s.
    """

    leaves: int
    first: int
    second: int
    up: int


Leaves = TypeVar("Leaves", Run, Halves)


class Occupancy(NamedTuple):
    """The leaves of every rail as runs."""

    rails: tuple[tuple[Run, ...], ...]

    def __str__(self) -> str:
        kinds = [message("leaves-filled", leaves=count, down=down, up=up) for (down, up), count in self.kinds()]
        return message("listed", items=kinds) if kinds else message("no-leaves")

    def kinds(self) -> Kinds:
        """Ports in use down and up, each pair with the leaves that have them; the fullest first."""
        counted: Counter[tuple[int, int]] = Counter()
        for run in self.runs():
            counted[run.filled, run.up] += run.leaves
        return tuple(sorted(counted.items(), reverse=True))

    def runs(self) -> Iterator[Run]:
        """All runs, rail after rail."""
        for rail in self.rails:
            yield from rail


class Seats(NamedTuple):
    """What is to be seated on the leaves, and what a leaf has room for."""

    nic_ports: int
    host_ports: int
    reserved_ports: int
    rails: int
    unit: int
    """NIC ports on a leaf of a full unit."""
    down: int
    up: int
    leaves: int


class Shrinking(NamedTuple):
    """How links up shrink on leaves that are not full."""

    ratio: Fraction
    """Links up over links down that keep the oversubscription asked."""
    step: int
    """Spines above a leaf: links up come in their multiples."""


def seated(seats: Seats, shrinking: Shrinking | None) -> Occupancy:
    """Every port on its leaf; with `shrinking` a leaf that is not full has only the links up that its ports need."""
    rails = seats.rails
    row = seats.leaves // rails
    found = []
    for rail in range(rails):
        nic = seats.nic_ports // rails
        hosts = _share(seats.host_ports, rails, rail)
        reserved = _share(seats.reserved_ports, rails, rails - 1 - rail)
        runs = _servers(nic, seats, row)
        runs = _added(runs, hosts, seats.down, "host_ports")
        runs = _added(runs, reserved, seats.down, "reserved_ports")
        found.append(tuple(run._replace(up=_up(run, seats, shrinking)) for run in runs if run.leaves))
    return Occupancy(tuple(found))


def _share(ports: int, rails: int, rail: int) -> int:
    """Ports of a rail when all are dealt out in turn."""
    return (ports + rails - 1 - rail) // rails


def _servers(nic_ports: int, seats: Seats, row: int) -> list[Run]:
    full, rest = divmod(nic_ports, seats.unit)
    runs = [Run(full, seats.unit, 0, 0, 0), Run(1 if rest else 0, rest, 0, 0, 0)]
    return [*runs, Run(row - full - (1 if rest else 0), 0, 0, 0, 0)]


def _added(runs: list[Run], ports: int, down: int, kind: str) -> list[Run]:
    """Runs with ports added: on the leaf that the servers left partly filled, then empty ones, then the others.

    Ports that find no room are left out.
    """
    placed: dict[int, list[Run]] = {}
    for index in sorted(range(len(runs)), key=lambda index: (_turn(runs[index], down), -index)):
        run = runs[index]
        room = down - run.filled
        if room <= 0 or not ports or not run.leaves:
            placed[index] = [run]
            continue
        taken = min(ports, room * run.leaves)
        ports -= taken
        whole, rest = divmod(taken, room)
        parts = [
            _plus(run, kind, room)._replace(leaves=whole),
            _plus(run, kind, rest)._replace(leaves=1 if rest else 0),
            run._replace(leaves=run.leaves - whole - (1 if rest else 0)),
        ]
        placed[index] = [part for part in parts if part.leaves]
    return [part for index in sorted(placed) for part in placed[index]]


def _turn(run: Run, down: int) -> int:
    """Which leaves are filled first: the last with servers, then empty ones, then those of full units."""
    if run.leaves == 1 and 0 < run.filled < down:
        return 0
    return 1 if run.filled == 0 else 2


def _plus(run: Run, kind: str, ports: int) -> Run:
    return run._replace(**{kind: getattr(run, kind) + ports})


def _up(run: Run, seats: Seats, shrinking: Shrinking | None) -> int:
    if shrinking is None or run.filled >= seats.down:
        return seats.up
    needed = ceil(run.filled * shrinking.ratio / shrinking.step) * shrinking.step
    return min(needed, seats.up)


def links_up(occupancy: Occupancy) -> int:
    """Links from all leaves to the tier above."""
    return sum(run.leaves * run.up for run in occupancy.runs())


def pod_sizes(leaves: int, pods: int) -> list[int]:
    """Leaves of each pod, as equal as can be, larger ones first."""
    size, larger = divmod(leaves, pods)
    return [size + 1] * larger + [size] * (pods - larger)


def cut(runs: Sequence[Leaves], sizes: list[int]) -> Iterator[list[Leaves]]:
    """The leaves of a rail, pod by pod."""
    waiting = list(reversed(runs))
    for size in sizes:
        pod, missing = [], size
        while missing and waiting:
            run = waiting.pop()
            taken = min(run.leaves, missing)
            pod.append(run._replace(leaves=taken))
            missing -= taken
            if run.leaves > taken:
                waiting.append(run._replace(leaves=run.leaves - taken))
        yield pod


def spine_kinds(occupancy: Occupancy, pods: int, of_pod: int) -> list[tuple[int, int]]:
    """Spines by the ports that they face down with, and how many have them; the fullest first.

    `pods` is 1 for one layer of spines above all leaves.
    """
    rails = occupancy.rails
    if pods == 1:
        return [(links_up(occupancy) // of_pod, of_pod)]
    counted: Counter[int] = Counter()
    for rail in rails:
        sizes = pod_sizes(sum(run.leaves for run in rail), pods // len(rails))
        for pod in cut(rail, sizes):
            counted[sum(run.leaves * run.up for run in pod) // of_pod] += of_pod
    return sorted(counted.items(), reverse=True)


def bisection(occupancy: Occupancy, down_gbps: int, up_gbps: int, pods: int = 1, pod_gbps: int | None = None) -> int:
    """Max-flow between the first and the second half of the endpoints, servers in their order and then hosts [Gb/s].

    Even spread loads all paths between two switches alike, so that the fabric carries what a tree with a leaf's and a
    pod's summed up-links carries; in a tree, what can meet lower down does. `pod_gbps` is what a pod sends to the core;
    None: there is a single layer of spines, and `pods` is 1.
    """
    total = first_up = second_up = 0
    for pod in _pods(occupancy, down_gbps, up_gbps, pods):
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


def _pods(occupancy: Occupancy, down_gbps: int, up_gbps: int, pods: int) -> Iterator[list[Halves]]:
    rails = list(_halves(occupancy, down_gbps, up_gbps))
    if pods == 1:
        yield [leaf for rail in rails for leaf in rail]
        return
    for rail in rails:
        yield from cut(rail, pod_sizes(sum(leaf.leaves for leaf in rail), pods // len(rails)))


def _halves(occupancy: Occupancy, down_gbps: int, up_gbps: int) -> Iterator[list[Halves]]:
    """The leaves of each rail with what is plugged into them, first half and second half apart."""
    rails = len(occupancy.rails)
    nic_ports = sum(run.leaves * run.nic_ports for run in occupancy.runs())
    host_ports = sum(run.leaves * run.host_ports for run in occupancy.runs())
    middle = (nic_ports + host_ports) // 2
    hosts_first = max(middle - nic_ports, 0)
    for number, rail in enumerate(occupancy.rails):
        nic_first = ceil(Fraction(min(middle, nic_ports) - number, rails))
        of_hosts = ceil(Fraction(hosts_first - number, rails))
        found = []
        for run in rail:
            for part, nic, hosts in _split(run, nic_first, of_hosts):
                nic_first -= part.leaves * nic
                of_hosts -= part.leaves * hosts
                first = (nic + hosts) * down_gbps
                second = (part.nic_ports + part.host_ports) * down_gbps - first
                found.append(Halves(part.leaves, first, second, part.up * up_gbps))
        yield found


def _split(run: Run, nic_first: int, hosts_first: int) -> Iterator[tuple[Run, int, int]]:
    """A run cut where the halves meet, each part with the ports of a leaf that belong to the first half."""
    for part, nic in _boundary(run, run.nic_ports, nic_first):
        for smaller, hosts in _boundary(part, part.host_ports, hosts_first):
            yield smaller, nic, hosts


def _boundary(run: Run, ports: int, first: int) -> Iterator[tuple[Run, int]]:
    if not ports:
        yield run, 0
        return
    whole, rest = divmod(min(first, run.leaves * ports), ports)
    for leaves, mine in ((whole, ports), (1 if rest else 0, rest), (run.leaves - whole - (1 if rest else 0), 0)):
        if leaves:
            yield run._replace(leaves=leaves), mine
