"""The ports of a switch as cages and lanes, called what the vendor calls them where its record says so.

Where it does not they are numbered from 1 by cage: a cage with two ports has `1/1` and `1/2`; a port that is split gets
one more number; a line card stands in front.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from fractions import Fraction
from math import ceil
from typing import NamedTuple

from bomgen.catalog.parts import PortGroup, Switch
from bomgen.core.provenance import Figure
from bomgen.fabric.line_cards import FittedTier
from bomgen.fabric.ports import carries_rate, group_radix, links_per_cage
from bomgen.fabric.types import Fabric, Links, Tier, ports_of
from bomgen.optics.plugs import UNKNOWN, Plug, Socket, TooFewCages, may_share

UPLINK = "uplink"
"""The ports of a switch that lead into another fabric, beside its own kinds of link."""


class PortDemand(NamedTuple):
    """Ports that one kind of link takes on every switch of a tier."""

    end: str
    """What they are asked for by, such as `leaf-spine`."""
    ports: int
    rate: Figure
    plug: Plug
    up: bool = False
    """Whether they lead to the tier above."""


class PortMap(NamedTuple):
    """The sockets of one kind of link, in the order of its ports."""

    links_per_cage: int
    sockets: tuple[Socket, ...]
    spare: tuple[Socket, ...] = ()
    """Those of idle cages, which links down with different parts may begin."""


def filled_places(port_map: PortMap, ports: int, links_per_piece: int) -> set[tuple[int, int]]:
    """The cages that the first ports of a kind of link fill on a switch, and which part of each."""
    return {(socket.cage, socket.lane // links_per_piece) for socket in port_map.sockets[:ports]}


def map_fabric_ports(
    fabric: Fabric, plug: Callable[[Links, str], Plug], fitted: Sequence[FittedTier]
) -> dict[tuple[str, str], PortMap]:
    """The port maps of the switches of a fabric, by tier and kind of link; links down come first.

    `plug` gives what links of a kind have in a tier's cages, `fitted` the line cards. Raises TooFewCages.
    """
    port_maps = {}
    for tier in fabric.tiers:
        wanted = list(_port_demands(fabric, tier, plug))
        for each, port_map in map_ports(tier.switch, wanted, _card_share(tier, wanted, fitted)).items():
            port_maps[tier.name, each] = port_map
    return port_maps


def _port_demands(fabric: Fabric, tier: Tier, plug: Callable[[Links, str], Plug]) -> Iterator[PortDemand]:
    """The ports of a fully connected switch by kind of link, those down first."""
    kinds = [links for links in fabric.links if tier.name in links.ends]
    for links in sorted(kinds, key=lambda links: links.ends[1] != tier.name or links.within_tier):
        up = links.ends[0] == tier.name and not links.within_tier
        yield PortDemand(links.kind, ports_of(tier, links), links.rate_gbps, plug(links, tier.name), up)
    if fabric.uplink_gbps and tier.up:
        yield PortDemand(UPLINK, int(tier.up.value), fabric.uplink_gbps, Plug(UPLINK))


def _card_share(tier: Tier, wanted: Sequence[PortDemand], fitted: Sequence[FittedTier]) -> CardShare | None:
    """How a chassis divides its links over its cards; None where they do not divide evenly, or rates differ."""
    chassis = tier.switch.chassis
    cards = next((each for each in fitted if each.tier == tier.name), None)
    if chassis is None or chassis.ports_per_card is None or cards is None or cards.card_down is None:
        return None
    if len({each.rate.value for each in wanted}) > 1:
        return None
    cages = chassis.ports_per_card.value // tier.switch.groups[0].ports_per_cage.value
    return CardShare(int(cards.card_down.value), int(cards.card_up.value) if cards.card_up else 0, int(cages))


def map_ports(switch: Switch, wanted: Sequence[PortDemand], card: CardShare | None = None) -> dict[str, PortMap]:
    """The sockets of every kind of link on a switch: one kind after the other, each in the first ports that carry it.

    Links up begin a cage of their own where ports may idle for that, different parts always, planning parts where
    there are cages enough. Raises TooFewCages.
    """
    if card is not None and (found := _on_cards(switch, wanted, card)):
        return found
    for sharing in (Sharing.NOT_UP, Sharing.EQUAL_PARTS):
        try:
            return _map_ports(switch, wanted, sharing)
        except TooFewCages:
            continue
    return _map_ports(switch, wanted, Sharing.PLANNING_PARTS)


class Sharing(Enum):
    """What kinds of link may share a cage."""

    NOT_UP = 0
    """As equal parts, but links up with no others."""
    EQUAL_PARTS = 1
    PLANNING_PARTS = 2


def _map_ports(switch: Switch, wanted: Sequence[PortDemand], sharing: Sharing) -> dict[str, PortMap]:
    used: dict[int, _Used] = {}
    port_maps: dict[str, PortMap] = {}
    for each in wanted:
        found: list[Socket] = []
        per_cage = 1
        others = [other.rate for other in wanted if other is not each]
        for index, group, first_cage in _groups(switch, each.rate, others):
            here = links_per_cage(group, each.rate)
            per_cage = here if not found else per_cage
            state = used.setdefault(index, _Used(0, 0, UNKNOWN))
            start = state.start_for(here, each, sharing)
            capacity = int(Fraction(group_radix(group, each.rate).value))
            taken = min(each.ports - len(found), max(capacity - start, 0))
            for port in range(start, start + taken):
                cage, lane = port // here, port % here
                found.append(Socket(first_cage + cage, lane))
            if taken:
                used[index] = _Used(start + taken, here, each.plug)
        if len(found) < each.ports:
            message = f"{each.ports} {each.end} links find {len(found)} ports on {switch.identity.name}"
            raise TooFewCages(message, each.end)
        port_maps[each.end] = PortMap(per_cage, tuple(found))
    down = wanted[0]
    spare = tuple(_idle_sockets(switch, down, [each.rate for each in wanted[1:]], used))
    return {**port_maps, down.end: port_maps[down.end]._replace(spare=spare)}


def _idle_sockets(
    switch: Switch, wanted: PortDemand, others: Sequence[Figure], used: Mapping[int, _Used]
) -> Iterator[Socket]:
    """The sockets of one kind of link in cages that hold no link."""
    for index, group, first_cage in _groups(switch, wanted.rate, others):
        here, state = links_per_cage(group, wanted.rate), used.get(index)
        filled = ceil(state.links / state.per_cage) if state and state.links else 0
        for port in range(filled * here, int(Fraction(group_radix(group, wanted.rate).value))):
            yield Socket(first_cage + port // here, port % here)


class CardShare(NamedTuple):
    """How the links of a chassis are divided over its line cards: equally, those down before those up."""

    down: int
    up: int
    cages: int
    """Of a card."""


def _on_cards(switch: Switch, wanted: Sequence[PortDemand], card: CardShare) -> dict[str, PortMap] | None:
    """The sockets of a chassis whose line cards are all populated alike, the kinds up one after the other.

    None where links up would share a cage with other parts, and a card has no cage left to begin with.
    """
    group = switch.groups[0]
    first, *above = wanted
    of_cage = links_per_cage(group, first.rate)
    start = card.down
    if not all(may_share(first.plug, each.plug) for each in above):
        start = ceil(card.down / of_cage) * of_cage
        if start + card.up > card.cages * of_cage:
            return None
    port_maps = {}
    taken = 0
    for kind, each in enumerate(wanted):
        share, before = (card.up, start) if kind else (card.down, 0)
        here = links_per_cage(group, each.rate)
        found = []
        for port in range(taken, taken + each.ports):
            slot, place = port // share, port % share + before
            cage, lane = place // here, place % here
            found.append(Socket(slot * card.cages + cage, lane))
        port_maps[each.end] = PortMap(here, tuple(found))
        taken += each.ports if kind else 0
    return port_maps


class _Used(NamedTuple):
    """How far a group of ports is filled, in links of the last kind."""

    links: int
    per_cage: int
    plug: Plug

    def start_for(self, per_cage: int, wanted: PortDemand, sharing: Sharing) -> int:
        """The first port for links of another kind: side by side with equal ones, else from the next cage on."""
        if not self.links:
            return 0
        begins_one = wanted.up and sharing is Sharing.NOT_UP
        begins_one |= wanted.plug.links_of_cable > 1
        shares = not begins_one and may_share(self.plug, wanted.plug, sharing is Sharing.PLANNING_PARTS)
        if self.per_cage == per_cage and shares:
            return self.links
        return ceil(self.links / self.per_cage) * per_cage


def _groups(switch: Switch, rate: Figure, others: Sequence[Figure]) -> list[tuple[int, PortGroup, int]]:
    """The groups of ports that carry a rate, each with its place and the number of its first cage.

    Those that carry the fewest of the other rates come first: ports that serve both are left to whom they alone serve.
    """
    cages = 0
    found = list[tuple[int, PortGroup, int]]()
    for index, group in enumerate(switch.groups):
        if carries_rate(group, rate):
            found.append((index, group, cages))
        cages += ceil(Fraction(group.ports.value, group.ports_per_cage.value))
    return sorted(found, key=lambda each: sum(carries_rate(each[1], other) for other in others))


def name_sockets(switch: Switch, rate: Figure, sockets: Sequence[Socket]) -> list[str]:
    """What the ports of a switch for links of a rate are called."""
    groups = sorted(_groups(switch, rate, ()), key=lambda each: each[2])
    found = []
    for cage, lane in sockets:
        group = next(group for _, group, first_cage in reversed(groups) if first_cage <= cage)
        found.append(_name(switch, group, *_slot(switch, cage), lane, links_per_cage(group, rate)))
    return found


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
