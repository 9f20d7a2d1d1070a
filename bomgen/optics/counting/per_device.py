"""Parts that are rounded up per device: formulas, and leaves whose links are of several kinds of machines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import ceil
from typing import NamedTuple

from bomgen.core.messages import message
from bomgen.core.provenance import Reference, ceil_div, difference, floor_div, formula, minimum, product, sum_of
from bomgen.fabric.clos.occupancy import Leaf, Occupancy, count_alike_leaves
from bomgen.optics.cages import LeafShares, Socket, TooFewCages, count_cables, count_pieces, may_share


@formula("pieces")
def modules_of_switches(switches: int, ports: int, ports_per_module: int) -> int:
    """Modules of equal switches, rounded up per switch."""
    return switches * ceil(ports / ports_per_module)


remaining_ports = difference("remaining_ports", "ports", "up", "others")
"""Uplink ports that remain for the last kind of link between switches."""
modules_in_cages = product("modules_in_cages", "pieces", "switches", "pieces")
"""Modules of equal switches with the same number of filled cages."""
modules_without_shared = difference("modules_without_shared", "pieces", "modules", "shared")
"""Modules for links between switches, without those shared with links to servers."""


@formula("pieces")
def modules_of_servers(servers: int, ports: int, ports_per_module: int) -> int:
    """Modules of equal servers, rounded up per server."""
    return servers * ceil(ports / ports_per_module)


reserved_modules = ceil_div("reserved_modules", "pieces", "reserved_ports", "ports_per_module")
"""Modules for reserved ports, which are adjacent on a spine."""
sum_of_modules = sum_of("sum_of_modules", "pieces", "modules", "more_modules")
"""Modules of several groups of switches."""
ports_of_machines = product("ports_of_machines", "ports", "machines", "ports")
"""Links of equal hosts."""
sum_of_links = sum_of("sum_of_links", "links", "links", "more_links")
"""Links of several kinds of hosts."""
links_left = difference("links_left", "links", "links", "others")
"""Links without those built with other parts."""
modules_without_short = difference("modules_without_short", "modules", "modules", "of_shorter")
"""Modules without those of shorter links, which use other parts."""
cables_without_short = difference("cables_without_short", "pieces", "cables", "of_shorter")
"""Cables without those of shorter links, which use other parts."""
ends_of_links = product("ends_of_links", "ports", "links", "ends")
"""Link ends at one kind of device."""
sum_of_cables = sum_of("sum_of_cables", "pieces", "cables", "more_cables")
"""Equal cables of several kinds of hosts."""
slower_rate = minimum("slower_rate", "Gb/s", "port_gbps", "link_gbps")
"""Rate of a link between ports of different rates."""


@formula("pieces")
def cables_of_links(links: int) -> int:
    """One cable per link."""
    return links


cables_of_plugs = floor_div("cables_of_plugs", "pieces", "plugs", "ends")
"""Cables with both ends in switches of one tier."""


@formula("ends")
def both_ends() -> int:
    """Ends in a tier of a link between two of its switches."""
    return 2


BOTH_ENDS = both_ends()


# by leaf ------------------------------------------------------------------------------------------------------------
# Modules and cables on leaves whose links are of several kinds of machines, calculated cage by cage.
#
# Other machines are given by kind: `ports` holds the ports of each kind.

CAGES_OF_SWITCH = Reference(message("source-cages-of-switch"))
"""The source of the cages of a leaf."""


class LeafFilling(NamedTuple):
    """The selection of links to count on a leaf."""

    shares: LeafShares
    populated: bool
    """Whether unused ports have modules, too."""
    counted: int
    """The group whose pieces are counted."""
    cables: bool
    """Whether cables are counted, else modules."""
    only: frozenset[int] | None = None
    """The cages in which the pieces of all groups with the same part are counted; None: all."""

    def __str__(self) -> str:
        sockets = self.shares.sockets[: self.shares.down]
        return message("cages-of-leaf", cages=len({socket.cage for socket in sockets}), ports=len(sockets))


class PiecesByLeaf(NamedTuple):
    """Pieces by leaf: pairs of pieces per leaf and leaves with that number."""

    leaves: tuple[tuple[int, int], ...]

    def __str__(self) -> str:
        kinds = [message("pieces-on-leaves", pieces=pieces, leaves=leaves) for pieces, leaves in self.leaves]
        return message("listed", items=kinds) if kinds else message("no-pieces")


@formula("fabrics")
def single_fabric() -> int:
    """Number of equal fabrics if there are no planes."""
    return 1


SINGLE_FABRIC = single_fabric()


@formula("ports")
def empty_ports() -> tuple[int, ...]:
    """Ports of other hosts by kind, before the first kind is added."""
    return ()


EMPTY_PORTS = empty_ports()


@formula("ports")
def append_machines(ports: tuple[int, ...], machines: int, each: int) -> tuple[int, ...]:
    """Ports of other hosts by kind, with one more kind."""
    return (*ports, machines * each)


@formula("pieces")
def fill_leaves(seats: Occupancy, fabrics: int, ports: tuple[int, ...], filling: LeafFilling) -> PiecesByLeaf:
    """Return the pieces of a group of links on every leaf. Raises TooFewCages."""
    return count_by_leaf(seats, fabrics, ports, filling)


def count_by_leaf(seats: Occupancy, fabrics: int, ports: tuple[int, ...], filling: LeafFilling) -> PiecesByLeaf:
    """Return the pieces of a group of links, equal leaves together. Raises TooFewCages."""
    counted: Counter[int] = Counter()
    for leaf, leaves in count_alike_leaves(seats, fabrics, ports):
        counted[_count_on_leaf(leaf, filling)] += leaves
    return PiecesByLeaf(tuple(sorted((pieces, leaves) for pieces, leaves in counted.items() if pieces)))


@formula("pieces")
def pieces_on_leaves(by_leaf: PiecesByLeaf) -> int:
    """Pieces on all leaves."""
    return sum(pieces * leaves for pieces, leaves in by_leaf.leaves)


def _count_on_leaf(leaf: Leaf, filling: LeafFilling) -> int:
    plugs, groups, sockets, *_ = filling.shares
    counted = filling.counted
    links = [leaf.servers, *[0] * (len(plugs) - 1)]
    for ports, group in zip(leaf.others, groups, strict=True):
        links[group] += ports
    first = filling.shares.first_ports(links)
    used = [sockets[start : start + count] for start, count in zip(first, links, strict=True)]
    if filling.cables:
        return count_cables(plugs[counted], used[counted])
    if not counted:
        others = {socket.cage for group in used[1:] for socket in group} - {socket.cage for socket in used[0]}
        loose = _ports_without_links(leaf, filling, used)
        used[0] = (*used[0], *(socket for socket in loose if plugs[0].links == 1 or socket.cage not in others))
    if filling.only is not None:
        alike = (each for plug, each in zip(plugs, used, strict=True) if plug == plugs[counted])
        return len(filling.only & {socket.cage for group in alike for socket in group})
    pieces = count_pieces(plugs[counted], used[counted])
    before = {
        socket.cage
        for group, plug in enumerate(plugs[:counted])
        if plug.part is not None and may_share(plug, plugs[counted])
        for socket in used[group]
    }
    return pieces - len(before & {socket.cage for socket in used[counted]}) if plugs[counted].links > 1 else pieces


def _ports_without_links(leaf: Leaf, filling: LeafFilling, used: list[tuple[Socket, ...]]) -> Iterator[Socket]:
    """Yield the ports with the servers' part but no cable: reserved ones, and the others if all are populated.

    They take the cages of the servers first. Raises TooFewCages.
    """
    held = {socket.cage: plug for plug, sockets in zip(filling.shares.plugs, used, strict=True) for socket in sockets}
    taken = {socket for sockets in used for socket in sockets}
    free = [
        socket
        for socket in filling.shares.sockets
        if socket not in taken and (socket.cage not in held or held[socket.cage] == filling.shares.plugs[0])
    ]
    free.sort(key=lambda socket: socket.cage not in held)
    if leaf.reserved > len(free):
        raise TooFewCages(f"{leaf.reserved} reserved ports")
    yield from free[: filling.shares.down - len(taken) if filling.populated else leaf.reserved]
