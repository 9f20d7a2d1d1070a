"""Counting parts that serve several links at leaves: rounded up per leaf, and different parts share no cage.

Other machines are given by kind: `ports` holds the ports of each kind, `places` are indices into it, and `apart` are
the kinds whose links are built with other parts than the servers'.
"""

from __future__ import annotations

from math import ceil

from bomgen.core.provenance import formula
from bomgen.fabric.clos.leaf_ports import Leaf, LeafEnds, count_alike_leaves, count_ends
from bomgen.fabric.clos.occupancy import Occupancy


@formula("fabrics")
def single_fabric() -> int:
    """Equal fabrics side by side where there is but one."""
    return 1


SINGLE_FABRIC = single_fabric()


@formula("ports")
def empty_ports() -> tuple[int, ...]:
    """Ports of other machines before the first kind is added."""
    return ()


EMPTY_PORTS = empty_ports()


@formula("ports")
def append_machines(ports: tuple[int, ...], machines: int, each: int) -> tuple[int, ...]:
    """Ports of other machines by kind, with one more kind."""
    return (*ports, machines * each)


@formula("places")
def shared_kinds(ports: tuple[int, ...], apart: tuple[int, ...]) -> tuple[int, ...]:
    """The kinds of machines whose links are built like the servers'."""
    return tuple(place for place in range(len(ports)) if place not in apart)


@formula("places")
def empty_kinds() -> tuple[int, ...]:
    """Kinds of machines before the first one is added."""
    return ()


EMPTY_KINDS = empty_kinds()


@formula("places")
def append_kind(apart: tuple[int, ...], ports: tuple[int, ...]) -> tuple[int, ...]:
    """Kinds of machines, with the index of the kind that follows the given ports."""
    return (*apart, len(ports))


@formula("ends")
def machine_ends(seats: Occupancy, fabrics: int, ports: tuple[int, ...], places: tuple[int, ...]) -> LeafEnds:
    """Link ends of some kinds of machines by leaf."""
    return count_ends(seats, fabrics, ports, places)


@formula("ends")
def server_ends(seats: Occupancy, fabrics: int, ports: tuple[int, ...], places: tuple[int, ...]) -> LeafEnds:
    """Link ends of the servers and of the machines that are built like them, by leaf."""
    return count_ends(seats, fabrics, ports, places, servers=True)


@formula("ends")
def server_and_reserved_ends(
    seats: Occupancy, fabrics: int, ports: tuple[int, ...], places: tuple[int, ...]
) -> LeafEnds:
    """Link ends of the servers, of the machines that are built like them, and reserved ones, by leaf."""
    return count_ends(seats, fabrics, ports, places, servers=True, reserved=True)


@formula("pieces")
def pieces_by_leaf(ends: LeafEnds, links_per_piece: int) -> int:
    """Parts that carry several links each, rounded up per leaf."""
    return sum(leaves * ceil(count / links_per_piece) for count, leaves in ends.leaves)


@formula("cages")
def whole_cages(
    seats: Occupancy,
    fabrics: int,
    ports: tuple[int, ...],
    unknown: tuple[int, ...],
    separate: tuple[int, ...],
    links_per_cage: int,
) -> int:
    """Cages that hold only links whose part is not known; these are plugged in last and fill up a shared cage first."""
    return sum(
        leaves * cages_filled_alone(leaf, unknown, separate, links_per_cage)
        for leaf, leaves in count_alike_leaves(seats, fabrics, ports)
    )


def cages_filled_alone(leaf: Leaf, unknown: tuple[int, ...], separate: tuple[int, ...], per_cage: int) -> int:
    """Cages of a leaf that hold only the links of the `unknown` kinds, which are plugged in after all others."""
    ends = sum(leaf.others[kind] for kind in unknown)
    different = [leaf.others[kind] for kind in separate if leaf.others[kind]]
    alike = leaf.servers + sum(leaf.others) - sum(different) - ends
    shared = (different[-1] if different else alike) % per_cage
    return max((shared + ends) // per_cage - ceil(shared / per_cage), 0) if ends else 0


@formula("pieces")
def subtract_cages(modules: int, cages_of_others: int) -> int:
    """Modules of leaves, without those whose cages hold something else."""
    return modules - cages_of_others


def cage_shortage(
    seats: Occupancy, fabrics: int, ports: tuple[int, ...], separate: tuple[int, ...], down: int, per_cage: int
) -> tuple[int, int] | None:
    """The cages that the fullest leaf needs and the cages it has, when each separate kind takes cages of its own.

    `down` is the number of ports facing down. None when the cages are enough. A cage that also holds uplinks takes no
    other part.
    """
    room = ceil(down / per_cage)
    most = 0
    for leaf, _ in count_alike_leaves(seats, fabrics, ports):
        others = [leaf.others[kind] for kind in separate if leaf.others[kind]]
        if not others:
            continue
        alike = leaf.servers + leaf.reserved + sum(leaf.others) - sum(others)
        mixed = 1 if down % per_cage else 0
        most = max(most, ceil(alike / per_cage) + sum(ceil(ends / per_cage) for ends in others) + mixed)
    return (most, room) if most > room else None
