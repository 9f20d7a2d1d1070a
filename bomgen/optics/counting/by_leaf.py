"""Parts of several links at leaves: every leaf rounds up for itself, and what differs shares no cage."""

from __future__ import annotations

from math import ceil

from bomgen.core.provenance import formula
from bomgen.fabric.clos.leaf_ports import Ends, Leaf, ends_of, leaves_with
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
    """Ports of other machines kind by kind, with one kind more."""
    return (*ports, machines * each)


@formula("places")
def shared_kinds(ports: tuple[int, ...], apart: tuple[int, ...]) -> tuple[int, ...]:
    """The kinds of machines whose links are not built apart."""
    return tuple(place for place in range(len(ports)) if place not in apart)


@formula("places")
def empty_kinds() -> tuple[int, ...]:
    """Kinds of machines before the first one is added."""
    return ()


EMPTY_KINDS = empty_kinds()


@formula("places")
def append_kind(apart: tuple[int, ...], ports: tuple[int, ...]) -> tuple[int, ...]:
    """Kinds of machines, with the one that follows those whose ports are given."""
    return (*apart, len(ports))


@formula("ends")
def machine_ends(seats: Occupancy, fabrics: int, ports: tuple[int, ...], places: tuple[int, ...]) -> Ends:
    """Ends of links of some kinds of machines by leaf."""
    return ends_of(seats, fabrics, ports, places)


@formula("ends")
def server_ends(seats: Occupancy, fabrics: int, ports: tuple[int, ...], places: tuple[int, ...]) -> Ends:
    """Ends of links of the servers and of the machines that plug in alike, by leaf."""
    return ends_of(seats, fabrics, ports, places, servers=True)


@formula("ends")
def server_and_reserved_ends(seats: Occupancy, fabrics: int, ports: tuple[int, ...], places: tuple[int, ...]) -> Ends:
    """Ends of links of the servers, of the machines that plug in alike, and reserved ones, by leaf."""
    return ends_of(seats, fabrics, ports, places, servers=True, reserved=True)


@formula("pieces")
def pieces_by_leaf(ends: Ends, links_per_piece: int) -> int:
    """Parts that carry several links each: every leaf rounds up for itself."""
    return sum(leaves * ceil(count / links_per_piece) for count, leaves in ends.leaves)


@formula("cages")
def whole_cages(
    seats: Occupancy,
    fabrics: int,
    ports: tuple[int, ...],
    unknown: tuple[int, ...],
    apart: tuple[int, ...],
    links_per_cage: int,
) -> int:
    """Cages that only links fill for which no part is known; they are plugged in last, a half empty cage is shared."""
    return sum(
        leaves * cages_filled_alone(leaf, unknown, apart, links_per_cage)
        for leaf, leaves in leaves_with(seats, fabrics, ports)
    )


def cages_filled_alone(leaf: Leaf, unknown: tuple[int, ...], apart: tuple[int, ...], per_cage: int) -> int:
    """Whole cages of a leaf that only the links of some machines fill, which are plugged in behind all others."""
    ends = sum(leaf.others[place] for place in unknown)
    different = [leaf.others[place] for place in apart if leaf.others[place]]
    alike = leaf.servers + sum(leaf.others) - sum(different) - ends
    shared = (different[-1] if different else alike) % per_cage
    return max((shared + ends) // per_cage - ceil(shared / per_cage), 0) if ends else 0


@formula("pieces")
def subtract_cages(modules: int, cages_of_others: int) -> int:
    """Modules of leaves without those in whose cages something else is plugged."""
    return modules - cages_of_others


def cage_shortage(
    seats: Occupancy, fabrics: int, ports: tuple[int, ...], apart: tuple[int, ...], down: int, per_cage: int
) -> tuple[int, int] | None:
    """The cages that the links of the fullest leaf fill when each kind apart has cages of its own, and those it has.

    None where they suffice. A cage that links up begin in is no place for something else.
    """
    room = ceil(down / per_cage)
    most = 0
    for leaf, _ in leaves_with(seats, fabrics, ports):
        others = [leaf.others[place] for place in apart if leaf.others[place]]
        if not others:
            continue
        alike = leaf.servers + leaf.reserved + sum(leaf.others) - sum(others)
        begun = 1 if down % per_cage else 0
        most = max(most, ceil(alike / per_cage) + sum(ceil(ends / per_cage) for ends in others) + begun)
    return (most, room) if most > room else None
