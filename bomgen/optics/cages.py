"""The cages of switches: the vendor's names of their ports, their content, and how many are filled."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from fractions import Fraction
from math import ceil, gcd
from typing import NamedTuple

from bomgen.catalog.parts import ANY, GENERIC, PortGroup, Switch
from bomgen.core.provenance import Figure
from bomgen.fabric.ports import FittedTier, carries_rate, group_radix, links_of_blocking_cage, links_per_cage
from bomgen.fabric.types import Fabric, Links, Tier, ports_of
from bomgen.optics.compatibility import RJ45, Cage, Medium

SPINE = "spine"


def cage_of(switch: Switch, device: str, rate: Figure) -> Cage:
    """Return the cage of a switch for links of a rate."""
    group = next(group for group in switch.groups if carries_rate(group, rate))
    power = Fraction(group.cage_power_w.value) if group.cage_power_w else None
    own = switch.identity
    vendor = None if own.vendor == GENERIC else own.vendor
    links = links_per_cage(group, rate), links_of_blocking_cage(group, rate)
    return Cage(device, group.cage, links[0], switch.protocol, own.name, power, group.optics, vendor, links[1])


def parallel_links(fabric: Fabric, links: Links) -> int:
    """Return the parallel links between the same two switches of two tiers; the actual number is a multiple.

    Every leaf has the same number of links to each spine of its pod; a spine connects to as many cores as it can.
    """
    plane = fabric.plane or fabric
    lower, upper = (plane.tier(name) for name in links.ends)
    if links.parallel:
        return int(links.parallel.value)
    if links.within_tier or lower is None or upper is None:
        return 1
    above = int(upper.count.value)
    if upper.name == SPINE and plane.pods:
        above //= int(plane.pods.value)
    ups = [int(fitted.up.value) for fitted in lower.fitted if fitted.up and fitted.count.value]
    return gcd(*(up // above if up % above == 0 else 1 for up in ups)) or 1


# plugs --------------------------------------------------------------------------------------------------------------
# The parts of the links of one kind in the cages at an end, and which of them may share a cage.
#
# Both the count of modules and the cable list follow these rules, which are the only ones about the content of cages.

FIXED_FORMS = ("mpo", RJ45)
"""Forms of cage that take the plug of a cable without a module."""


class CagePlug(NamedTuple):
    """The part that links have in a cage."""

    part: str | None
    """Id of the module, of the cable with fixed ends, or the form of a fixed cage; None if no part is known."""
    links: int = 1
    """Links that one piece in a cage carries; 1: each link has a separate piece."""
    links_of_cable: int = 1
    """Links of one cable, which are adjacent in a cage."""
    planning: bool = False
    """Whether it is a placeholder for any part of its rate."""


UNKNOWN = CagePlug(None)


class Socket(NamedTuple):
    """The socket of one link."""

    cage: int
    lane: int
    """Position in the cage, from 0."""


class TooFewCages(Exception):
    """The links of a switch fill more cages than it has; `kind` is the kind of link that does not fit."""

    def __init__(self, message: str, kind: str = "") -> None:
        super().__init__(message)
        self.kind = kind


def plug_at(medium: Medium | None, cage: Cage, upper: bool) -> CagePlug:
    """Return the part that a medium has in a cage at its upper or its lower end."""
    if medium is None:
        return UNKNOWN
    links = int(medium.cable.links.value) if medium.cable else 1
    module = medium.upper if upper else medium.lower
    if cage.form in FIXED_FORMS:
        return CagePlug(cage.form, 1, links)
    if module is not None:
        return CagePlug(module.identity.id, int(module.ports.value), links, module.identity.generic)
    end = medium.cable and (medium.cable.a if upper else medium.cable.b)
    if not medium.cable or end is None or end.cage == ANY:
        return CagePlug(medium.cable.identity.id if medium.cable else None, planning=True)
    return CagePlug(medium.cable.identity.id, end.ports, links)


def without_fixed_modules(medium: Medium, lower: Cage, upper: Cage) -> Medium:
    """Return a medium without modules where the cage takes the plug of the cable: the optics are in the device."""
    return medium._replace(
        lower=None if lower.form in FIXED_FORMS else medium.lower,
        upper=None if upper.form in FIXED_FORMS else medium.upper,
    )


def may_share(one: CagePlug, cage_plug: CagePlug, tight: bool = False) -> bool:
    """Return whether links with two plugs may share a cage: in one module, a cable each, or without a known part.

    Where cages are `tight`, placeholders share them, because a placeholder is never rejected for lack of cages.
    """
    if None in (one.part, cage_plug.part) or (tight and one.planning and cage_plug.planning):
        return True
    return one == cage_plug and one.links_of_cable == 1


class LeafShares(NamedTuple):
    """The sharing of a leaf's cages by links of servers and of other machines, in groups built alike."""

    plugs: tuple[CagePlug, ...]
    """By group: the part of its links in a cage; the first group is that of the servers."""
    groups: tuple[int, ...]
    """By kind of other machines: its group."""
    sockets: tuple[Socket, ...]
    """The downlink ports of a leaf, followed by those of idle cages, for parts that share none."""
    closed: int
    """Index of the first socket whose cage also holds uplinks, and therefore only the servers' parts."""
    down: int
    """Downlink ports of the leaf."""

    def first_ports(self, links: Sequence[int]) -> list[int]:
        """Return the first port of every group, given its links on a leaf, groups one after the other.

        A group continues in the cage where the last one ends if both may share it, otherwise it begins the next cage;
        hosts without a known part come last. Raises TooFewCages.
        """
        try:
            return self._place(links)
        except TooFewCages:
            return self._place(links, tight=True)

    def _place(self, links: Sequence[int], tight: bool = False) -> list[int]:
        plugs, sockets = self.plugs, self.sockets
        found, taken, last = [0] * len(plugs), 0, plugs[0]
        for group in sorted(range(len(plugs)), key=lambda group: group > 0 and plugs[group].part is None):
            if not links[group]:
                continue
            if taken and not may_share(last, plugs[group], tight):
                taken = next((place for place in range(taken, len(sockets)) if not sockets[place].lane), len(sockets))
            found[group], last = taken, plugs[group]
            taken += links[group]
            # A cage with uplinks also holds the servers' part, or no known part where that is unknown.
            beside = last.part is None or (plugs[0].part is not None and may_share(plugs[0], last, tight))
            if taken > (self.closed if group and not beside else len(sockets)):
                raise TooFewCages(f"{sum(links)} links with different parts")
        return found


def count_pieces(plug: CagePlug, sockets: Iterable[Socket]) -> int:
    """Return the modules, or plugs of cables, in the sockets of some links."""
    return len({socket.cage for socket in sockets}) if plug.links > 1 else sum(1 for _ in sockets)


def count_cables(plug: CagePlug, sockets: Iterable[Socket]) -> int:
    """Return the cables that begin in the sockets of some links."""
    if plug.links_of_cable == 1:
        return sum(1 for _ in sockets)
    return len({(socket.cage, socket.lane // plug.links_of_cable) for socket in sockets})


# port map -----------------------------------------------------------------------------------------------------------
# The ports of a switch as cages and lanes, with the vendor's names where its record has them.
#
# Otherwise they are numbered from 1 by cage: a cage with two ports has `1/1` and `1/2`; a split port gets one more
# number; a line card comes first.

UPLINK = "uplink"
"""The ports of a switch that lead into another fabric, besides its kinds of link."""


class PortDemand(NamedTuple):
    """The ports that one kind of link takes on every switch of a tier."""

    end: str
    """The key of the demand, such as `leaf-spine`."""
    ports: int
    rate: Figure
    plug: CagePlug
    up: bool = False
    """Whether they lead to the tier above."""


class PortMap(NamedTuple):
    """The sockets of one kind of link, in the order of its ports."""

    links_per_cage: int
    sockets: tuple[Socket, ...]
    spare: tuple[Socket, ...] = ()
    """The sockets of idle cages, which downlinks with different parts may begin."""


def filled_places(port_map: PortMap, ports: int, links_per_piece: int) -> set[tuple[int, int]]:
    """Return the cages that the first ports of a kind of link fill on a switch, and the part of each."""
    return {(socket.cage, socket.lane // links_per_piece) for socket in port_map.sockets[:ports]}


def map_fabric_ports(
    fabric: Fabric, plug: Callable[[Links, str], CagePlug], fitted: Sequence[FittedTier]
) -> dict[tuple[str, str], PortMap]:
    """Return the port maps of the switches of a fabric, by tier and kind of link; downlinks come first.

    `plug` returns the part of a kind of link in a tier's cages, `fitted` has the line cards. Raises TooFewCages.
    """
    port_maps = {}
    for tier in fabric.tiers:
        wanted = list(_port_demands(fabric, tier, plug))
        for each, port_map in map_ports(tier.switch, wanted, _card_share(tier, wanted, fitted)).items():
            port_maps[tier.name, each] = port_map
    return port_maps


def _port_demands(fabric: Fabric, tier: Tier, plug: Callable[[Links, str], CagePlug]) -> Iterator[PortDemand]:
    kinds = [links for links in fabric.links if tier.name in links.ends]
    for links in sorted(kinds, key=lambda links: links.ends[1] != tier.name or links.within_tier):
        up = links.ends[0] == tier.name and not links.within_tier
        yield PortDemand(links.kind, ports_of(tier, links), links.rate_gbps, plug(links, tier.name), up)
    if fabric.uplink_gbps and tier.up:
        yield PortDemand(UPLINK, int(tier.up.value), fabric.uplink_gbps, CagePlug(UPLINK))


def _card_share(tier: Tier, wanted: Sequence[PortDemand], fitted: Sequence[FittedTier]) -> CardShare | None:
    """Return the division of a chassis' links over its cards; None where it is uneven, or rates differ."""
    chassis = tier.switch.chassis
    cards = next((each for each in fitted if each.tier == tier.name), None)
    if chassis is None or chassis.ports_per_card is None or cards is None or cards.card_down is None:
        return None
    if len({each.rate.value for each in wanted}) > 1:
        return None
    cages = chassis.ports_per_card.value // tier.switch.groups[0].ports_per_cage.value
    return CardShare(int(cards.card_down.value), int(cards.card_up.value) if cards.card_up else 0, int(cages))


def map_ports(switch: Switch, wanted: Sequence[PortDemand], card: CardShare | None = None) -> dict[str, PortMap]:
    """Return the sockets of every kind of link on a switch: kind after kind, each in the first ports that carry it.

    Uplinks begin a new cage where ports may be idle for that, different parts always, placeholders where there are
    enough cages. Raises TooFewCages.
    """
    if card is not None and (found := _on_cards(switch, wanted, card)):
        return found
    for sharing in (Sharing.NOT_UP, Sharing.EQUAL_PARTS):
        try:
            return _map_ports(switch, wanted, sharing)
        except TooFewCages:
            continue
    return _map_ports(switch, wanted, Sharing.PLANNING_PARTS)


def _split_of_cages(group: PortGroup, wanted: PortDemand, start: int, capacity: int) -> tuple[int, int]:
    """Return the links in a cage and the first port, where a part may fill a cage whose next cage stays empty."""
    of_cage, wide = links_per_cage(group, wanted.rate), links_of_blocking_cage(group, wanted.rate)
    aligned = ceil(start / wide) * wide if wide else start
    if not wide or wanted.plug.links <= of_cage or aligned + wanted.ports > capacity:
        return of_cage, start
    return wide, aligned


class Sharing(Enum):
    """Which kinds of link may share a cage."""

    NOT_UP = 0
    """As for equal parts, but uplinks share with no others."""
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
            of_cage = links_per_cage(group, each.rate)
            state = used.setdefault(index, _Used(0, 0, UNKNOWN))
            start = state.start_for(of_cage, each, sharing)
            capacity = int(Fraction(group_radix(group, each.rate).value))
            here, start = _split_of_cages(group, each, start, capacity)
            per_cage = here if not found else per_cage
            taken = min(each.ports - len(found), max(capacity - start, 0))
            for port in range(start, start + taken):
                cage, lane = port // here * (here // of_cage), port % here
                found.append(Socket(first_cage + cage, lane))
            if taken:
                used[index] = _Used(start + taken, of_cage, each.plug)
        if len(found) < each.ports:
            name = switch.identity.name
            message = f"{each.ports} {each.end} links need ports, but only {len(found)} are available on {name}"
            raise TooFewCages(message, each.end)
        port_maps[each.end] = PortMap(per_cage, tuple(found))
    down = wanted[0]
    spare = tuple(_idle_sockets(switch, down, [each.rate for each in wanted[1:]], used))
    return {**port_maps, down.end: port_maps[down.end]._replace(spare=spare)}


def _idle_sockets(
    switch: Switch, wanted: PortDemand, others: Sequence[Figure], used: Mapping[int, _Used]
) -> Iterator[Socket]:
    for index, group, first_cage in _groups(switch, wanted.rate, others):
        here, state = links_per_cage(group, wanted.rate), used.get(index)
        filled = ceil(state.links / state.per_cage) if state and state.links else 0
        for port in range(filled * here, int(Fraction(group_radix(group, wanted.rate).value))):
            yield Socket(first_cage + port // here, port % here)


class CardShare(NamedTuple):
    """The division of a chassis' links over its line cards: equally, downlinks before uplinks."""

    down: int
    up: int
    cages: int
    """Cages of a card."""


def _on_cards(switch: Switch, wanted: Sequence[PortDemand], card: CardShare) -> dict[str, PortMap] | None:
    """Return the sockets of a chassis whose line cards are all populated alike, the kinds of uplink in turn."""
    # None where uplinks would share a cage with other parts, and a card has no cage left to begin with.
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
    """The links of the last kind in a group of ports, and the ports they fill."""

    links: int
    per_cage: int
    plug: CagePlug

    def start_for(self, per_cage: int, wanted: PortDemand, sharing: Sharing) -> int:
        """Return the first port for links of another kind: next to equal ones, otherwise from the next cage on."""
        if not self.links:
            return 0
        begins_one = wanted.up and sharing is Sharing.NOT_UP
        begins_one |= wanted.plug.links_of_cable > 1
        shares = not begins_one and may_share(self.plug, wanted.plug, sharing is Sharing.PLANNING_PARTS)
        if self.per_cage == per_cage and shares:
            return self.links
        return ceil(self.links / self.per_cage) * per_cage


def _groups(switch: Switch, rate: Figure, others: Sequence[Figure]) -> list[tuple[int, PortGroup, int]]:
    """Return the groups of ports that carry a rate, each with its index and the number of its first cage."""
    # Those that carry the fewest of the other rates come first: ports that serve several rates are left to links that
    # need them.
    cages = 0
    found = list[tuple[int, PortGroup, int]]()
    for index, group in enumerate(switch.groups):
        if carries_rate(group, rate):
            found.append((index, group, cages))
        cages += ceil(Fraction(group.ports.value, group.ports_per_cage.value))
    return sorted(found, key=lambda each: sum(carries_rate(each[1], other) for other in others))


def name_sockets(switch: Switch, rate: Figure, sockets: Sequence[Socket]) -> list[str]:
    """Return the names of a switch's ports for links of a rate."""
    groups = sorted(_groups(switch, rate, ()), key=lambda each: each[2])
    found = []
    for cage, lane in sockets:
        group = next(group for _, group, first_cage in reversed(groups) if first_cage <= cage)
        lanes = links_per_cage(group, rate)
        lanes = lanes if lane < lanes else links_of_blocking_cage(group, rate)
        found.append(_name(switch, group, *_slot(switch, cage), lane, lanes))
    return found


def _slot(switch: Switch, cage: int) -> tuple[int | None, int]:
    """Return the line card of a cage, from 0, and its position there; None where it is in no known card."""
    of_card = switch.chassis.ports_per_card if switch.chassis else None
    if of_card is None:
        return None, cage
    return divmod(cage, int(of_card.value // switch.groups[0].ports_per_cage.value))


def _name(switch: Switch, group: PortGroup, card: int | None, cage: int, lane: int, lanes: int) -> str:
    """Return the name of a port: by card, cage, port in the cage and part of the port, as far as they exist."""
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
        switch_lane=cage * names.lanes + lane * max(names.lanes // lanes, 1),
    )
