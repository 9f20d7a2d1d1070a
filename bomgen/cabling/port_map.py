"""The ports of a switch as cages and lanes, called what the vendor calls them where its record says so.

Where it does not they are numbered from 1 by cage: a cage with two ports has `1/1` and `1/2`; a port that is split gets
one more number; a line card stands in front.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import ceil
from typing import NamedTuple

from bomgen.catalog.parts import PortGroup, Switch
from bomgen.core.provenance import Figure
from bomgen.fabric.ports import carries_rate, group_radix, links_per_cage


class PortDemand(NamedTuple):
    """Ports that one kind of link takes on every switch of a tier."""

    end: str
    """What they are asked for by, such as `leaf-spine`."""
    ports: int
    rate: Figure
    part: str | None
    """What is plugged in: different parts share no cage. None: a part for each port, or none that is known."""


class Socket(NamedTuple):
    """Where one link is plugged in."""

    cage: int
    lane: int
    """Place in the cage, from 0."""
    name: str


class PortMap(NamedTuple):
    """The sockets of one kind of link, in the order of its ports."""

    links_per_cage: int
    sockets: tuple[Socket, ...]


class TooFewCages(Exception):
    """The links of a switch fill more cages than it has."""


def map_ports(switch: Switch, wanted: Sequence[PortDemand], card: CardShare | None = None) -> dict[str, PortMap]:
    """The sockets of every kind of link on a switch: one kind after the other, each in the first ports that carry it.

    Different parts begin a cage of their own. Raises Overfull when a switch has too few cages for that.
    """
    if card is not None:
        return _on_cards(switch, wanted, card)
    used: dict[int, _Used] = {}
    port_maps: dict[str, PortMap] = {}
    for each in wanted:
        found: list[Socket] = []
        per_cage = 1
        for index, group, first_cage in _groups(switch, each.rate):
            here = links_per_cage(group, each.rate)
            per_cage = here if not found else per_cage
            state = used.setdefault(index, _Used(0, 0, None))
            start = state.start_for(here, each.part)
            capacity = int(Fraction(group_radix(group, each.rate).value))
            taken = min(each.ports - len(found), max(capacity - start, 0))
            for port in range(start, start + taken):
                cage, lane = port // here, port % here
                number = first_cage + cage
                found.append(Socket(number, lane, _name(switch, group, *_slot(switch, number), lane, here)))
            if taken:
                used[index] = _Used(start + taken, here, each.part)
        if len(found) < each.ports:
            raise TooFewCages(f"{each.ports} {each.end} links find {len(found)} ports on a {switch.identity.name}")
        port_maps[each.end] = PortMap(per_cage, tuple(found))
    return port_maps


class CardShare(NamedTuple):
    """How the links of a chassis are divided over its line cards: equally, those down before those up."""

    down: int
    up: int
    cages: int
    """Of a card."""


def _on_cards(switch: Switch, wanted: Sequence[PortDemand], card: CardShare) -> dict[str, PortMap]:
    """The sockets of a chassis whose line cards are all populated alike, the kinds up one after the other."""
    group = switch.groups[0]
    port_maps = {}
    taken = 0
    for kind, each in enumerate(wanted):
        share, before = (card.up, card.down) if kind else (card.down, 0)
        here = links_per_cage(group, each.rate)
        found = []
        for port in range(taken, taken + each.ports):
            slot, place = port // share, port % share + before
            cage, lane = place // here, place % here
            found.append(Socket(slot * card.cages + cage, lane, _name(switch, group, slot, cage, lane, here)))
        port_maps[each.end] = PortMap(here, tuple(found))
        taken += each.ports if kind else 0
    return port_maps


class _Used(NamedTuple):
    """How far a group of ports is filled, in links of the last kind."""

    links: int
    per_cage: int
    part: str | None

    def start_for(self, per_cage: int, part: str | None) -> int:
        """The first port for links of another kind: side by side with equal ones, else from the next cage on."""
        if not self.links:
            return 0
        if self.per_cage == per_cage and (part == self.part or None in (part, self.part)):
            return self.links
        return ceil(self.links / self.per_cage) * per_cage


def _groups(switch: Switch, rate: Figure) -> Iterator[tuple[int, PortGroup, int]]:
    """The groups of ports that carry a rate, each with its place and the number of its first cage."""
    cages = 0
    for index, group in enumerate(switch.groups):
        if carries_rate(group, rate):
            yield index, group, cages
        cages += ceil(Fraction(group.ports.value, group.ports_per_cage.value))


def _slot(switch: Switch, cage: int) -> tuple[int | None, int]:
    """The line card of a cage, from 0, and its place there; None where it is in no card that is known."""
    of_card = switch.chassis.ports_per_card if switch.chassis else None
    if of_card is None:
        return None, cage
    return divmod(cage, int(of_card.value // switch.groups[0].ports_per_cage.value))


def _name(switch: Switch, group: PortGroup, card: int | None, cage: int, lane: int, lanes: int) -> str:
    """What a port is called: by card, cage, port in the cage and part of the port, those that it has."""
    ports = int(group.ports_per_cage.value)
    whole, split = lanes == 1 and ports == 1, lanes > ports
    port, part = divmod(lane, lanes // ports) if split else (lane, 0)
    names = switch.port_names
    called = (names.cage if whole else names.split if split else names.port) if names else None
    if names is None or called is None:
        numbers = (card, cage, None if whole or (split and ports == 1) else port, part if split else None)
        return "/".join(str(number + 1) for number in numbers if number is not None)
    return called.format(
        card=(card or 0) + names.first_card,
        cage=cage + names.first_cage,
        port=port + names.first_port,
        part=part + names.first_part,
        lane=lane * max(names.lanes // lanes, 1) + 1,
    )
