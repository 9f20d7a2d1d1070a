"""The ports of a switch: its radix at the rates of its links, the cages, and the line cards of a chassis."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import lru_cache
from math import ceil
from typing import NamedTuple

from bomgen.catalog.part_records import LINE_CARDS
from bomgen.catalog.parts import Chassis, Identity, PortGroup, Switch
from bomgen.core.diagnostics import Infeasible
from bomgen.core.messages import message
from bomgen.core.provenance import (
    Cited,
    Figure,
    ceil_div,
    constant,
    difference,
    floor_div,
    formula,
    minimum,
    product,
    sum_of,
)
from bomgen.fabric.types import Fabric, Tier, TierChoice

MAX_LANES = 8
"""A port is split into at most eight links: the lanes of the widest cages (OSFP, QSFP-DD)."""
KEPT = 10_000
"""Cached divisions of the ports of a switch: searches request the same ones again and again."""

LANES = {"osfp": 8, "osfp-finned": 8, "osfp-flat": 8, "qsfp-dd": 8, "qsfp112": 4, "qsfp56": 4}
"""Electrical lanes of a cage by its form."""
SLOW_FORM, SLOW_LANE_GBPS = "qsfp56", 50
"""The form of cage whose lanes carry 50 Gb/s at most; no optics turn these into lanes of 100G."""


def carries_rate(group: PortGroup, rate: Figure) -> bool:
    """Return whether ports of a group can carry links of a rate, whole or split."""
    return bool(not _lacks_rate(group, rate) and rate.value <= group.port_gbps.value <= rate.value * MAX_LANES)


def _lacks_rate(group: PortGroup, rate: Figure) -> bool:
    mode = group.modes.get(int(rate.value))
    return mode is not None and mode.value == 0


def radix(switch: Switch, rate: Figure) -> Figure:
    """Return the radix of a switch at a link rate. Raises Infeasible when it has no port of that rate."""
    found: Figure | None = None
    for group in switch.groups:
        if carries_rate(group, rate):
            ports = group_radix(group, rate)
            found = ports if found is None else sum_of_ports(found, ports)
    if found is None:
        fastest = max(group.port_gbps.value for group in switch.groups)
        why = f"its fastest carry {fastest} Gb/s"
        if any(_lacks_rate(group, rate) for group in switch.groups):
            why = "its `modes` say 0"
        wrong = f"{switch.identity.name} has no port for links of {rate.value} Gb/s; {why}"
        raise Infeasible(wrong, because=rate, rule="no-port")
    return found


def largest_group(switch: Switch, rate: Figure) -> PortGroup:
    """Return the group with the most of a switch's ports at a rate."""
    groups = [group for group in switch.groups if carries_rate(group, rate)]
    return max(groups, key=lambda group: group_radix(group, rate).value)


def group_radix(group: PortGroup, rate: Figure) -> Figure:
    """Return the links that the ports of one group carry at a rate."""
    mode = group.modes.get(int(rate.value))
    if mode is not None:
        return mode
    if group.split.value == 1 or group.port_gbps.value == rate.value:
        return group.ports
    return ports_when_split(group.ports, group.split, group.port_gbps, rate)


def links_of_port(switch: Switch, rate: Figure) -> int:
    """Return the links of a rate into which a port of the switch's largest group is split."""
    group = largest_group(switch, rate)
    return int(group_radix(group, rate).value // group.ports.value) or 1


def split_otherwise(switch: Switch, rate: Figure) -> Switch | None:
    """Return the switch with its whole ports split as far as the rate allows, or its split ports whole.

    None where it is known whether they can be split, or where they carry only whole links of the rate.
    """
    groups = tuple(_split_group_otherwise(group, rate) for group in switch.groups)
    return None if groups == switch.groups else switch._replace(groups=groups)


def _split_group_otherwise(group: PortGroup, rate: Figure) -> PortGroup:
    most = min(int(group.port_gbps.value // rate.value), MAX_LANES)
    if group.split_known or int(rate.value) in group.modes or most <= 1:
        return group
    links = 1 if min(group.split.value, most) > 1 else most
    return group._replace(split=Figure(links, group.split.unit, group.split.origin))


def limit_to_lanes(switch: Switch, end_cage: str, rate: Figure) -> Switch:
    """Return a switch whose ports carry links to a form of cage, over as many of its lanes as that cage has.

    A port of four lanes of 100G carries one link to an HDR device, which needs four lanes of 50G, and not two.
    """
    lanes = int(rate.value) // SLOW_LANE_GBPS
    if end_cage != SLOW_FORM or lanes < LANES[SLOW_FORM]:
        return switch
    return switch._replace(groups=tuple(_limit_group(group, rate, lanes) for group in switch.groups))


def _limit_group(group: PortGroup, rate: Figure, lanes: int) -> PortGroup:
    if group.cage not in LANES or not carries_rate(group, rate):
        return group
    of_cage = Figure(LANES[group.cage], "lanes", Cited(message("lanes-of-form", form=group.cage), (), "high"))
    of_link = Figure(lanes, "lanes", Cited(message("lanes-of-form", form=SLOW_FORM), (), "high"))
    ports = ports_by_lanes(group.ports, group.ports_per_cage, of_cage, of_link)
    if ports.value >= group_radix(group, rate).value:
        return group
    return group._replace(modes={**group.modes, int(rate.value): ports})


def links_in_cage(links: int, cages: int) -> int | Fraction:
    """Return the links of a rate that one cage carries, given those of all cages; an integer if at least one.

    A rate with fewer links than there are cages takes several of them per link: a cage has a share below one.
    """
    return links // cages or Fraction(links, cages)


def links_of_blocking_cage(group: PortGroup, rate: Figure) -> int:
    """Return the links of a rate in a cage whose next cages stay empty; 0 where a cage does not split so far."""
    links = int(group.blocking_split.value) if group.blocking_split else 0
    return links if links > links_per_cage(group, rate) and rate.value * links <= group.port_gbps.value else 0


def links_per_cage(group: PortGroup, rate: Figure) -> int:
    """Return the links of a rate plugged into one cage of a group; 1 also where a link takes several cages."""
    cages = Fraction(group.ports.value, group.ports_per_cage.value)
    return max(int(group_radix(group, rate).value / cages), 1)


@formula("ports")
def ports_when_split(ports: int, split: int, port_gbps: int, link_gbps: int) -> int:
    """Links of a switch whose ports are broken out as far as the link rate allows."""
    return ports * min(split, port_gbps // link_gbps)


@formula("ports")
def ports_by_lanes(ports: int, ports_per_cage: int, lanes_of_cage: int, lanes_of_link: int) -> int:
    """Links of a switch whose cages have a number of electrical lanes and whose links take several lanes."""
    return ports // ports_per_cage * (lanes_of_cage // lanes_of_link)


sum_of_ports = sum_of("sum_of_ports", "ports", "ports", "more_ports")
"""Ports of two port groups of a switch, or of two kinds of hosts."""


class SharedCages(NamedTuple):
    """The cages of a switch of which only some carry both downlinks and uplinks."""

    cages: int
    down_only: int
    """Downlinks in cages without uplinks."""
    up_only: int
    """Uplinks in cages without downlinks."""

    def __str__(self) -> str:
        return message("shared-cages", **self._asdict())


def shared_cages(switch: Switch, down_gbps: Figure, up_gbps: Figure) -> Figure | None:
    """Return the cages whose ports carry downlinks or uplinks; None when each kind has separate ports.

    Where both run at one rate a cage may hold some of each, so that every port is independent.
    """
    if down_gbps.value == up_gbps.value:
        return radix(switch, down_gbps)
    carries = [(carries_rate(group, down_gbps), carries_rate(group, up_gbps)) for group in switch.groups]
    shared = [group for group, both in zip(switch.groups, carries, strict=True) if all(both)]
    if not shared:
        return None
    cages = cages_of(shared[0].ports, shared[0].ports_per_cage)
    for group in shared[1:]:
        cages = sum_of_cages(cages, group.ports, group.ports_per_cage)
    down, up = (
        [group for group, both in zip(switch.groups, carries, strict=True) if both[side] and not all(both)]
        for side in range(2)
    )
    if not down and not up:
        return cages
    return cages_beside(cages, *(_ports_of_groups(*each) for each in ((down, down_gbps), (up, up_gbps))))


def _ports_of_groups(groups: list[PortGroup], rate: Figure) -> Figure:
    found = ZERO_PORTS
    for group in groups:
        ports = group_radix(group, rate)
        found = ports if found is ZERO_PORTS else sum_of_ports(found, ports)
    return found


zero_ports = constant("zero_ports", "ports", 0)
"""Ports of a switch that are dedicated to one kind of link: none."""


ZERO_PORTS = zero_ports()


cages_of = floor_div("cages_of", "cages", "ports", "ports_per_cage")
"""Cages of a group of ports."""


@formula("cages")
def sum_of_cages(cages: int, ports: int, ports_per_cage: int) -> int:
    """Cages, including those of one more group of ports."""
    return cages + ports // ports_per_cage


@formula("cages")
def cages_beside(cages: int, down_only: int, up_only: int) -> SharedCages:
    """Cages that downlinks and uplinks share, and ports that are dedicated to either."""
    return SharedCages(cages, down_only, up_only)


@lru_cache(maxsize=KEPT)
def ports_left_down(up: int, radix: int, up_radix: int, cages: int | SharedCages) -> int:
    """Return the downlinks that fit with `up` uplinks; `cages` hold both kinds, 0: each kind has separate ports.

    Uplinks fill their dedicated ports first. A rate with fewer ports than there are cages takes proportionally more
    cages per link.
    """
    if up > up_radix:
        return 0
    if not cages:
        return radix
    shared, down_only, up_only = cages if isinstance(cages, SharedCages) else SharedCages(cages, 0, 0)
    of_cage, up_of_cage = links_in_cage(radix - down_only, shared), links_in_cage(up_radix - up_only, shared)
    return down_only + int((shared - ceil(max(up - up_only, 0) / up_of_cage)) * of_cage)


# line cards ---------------------------------------------------------------------------------------------------------
# The line cards of a chassis, and the division of its ports over them.
#
# A chassis gets as many line cards as the populated ports of the fullest switch of its tier need, unless the plan sets
# the number. A topology need not know of cards: a modular switch has the ports of all slots, or of the `line_cards` of
# the plan. A fabric that is built out in full populates every port of its leaves. The number of other cards (fabric
# cards, supervisors, power supplies) is given separately; where it is unknown, a line of the bill represents one set
# per chassis, so that nothing is left out silently. Free ports are those on the cards; the ports that empty slots would
# add are counted separately.


class CardUse(NamedTuple):
    """Cards of one kind in all chassis of a tier."""

    kind: str
    identity: Identity | None
    """The part, if known."""
    each: Figure | None
    """Cards per chassis; None if unknown."""
    quantity: Figure
    """Cards in all chassis; where the number per chassis is unknown, one set per chassis."""


class FittedTier(NamedTuple):
    """The cards of the chassis of a tier."""

    tier: str
    switch: Identity
    uses: tuple[CardUse, ...]
    card_down: Figure | None
    """Downlink ports of a line card; None: they do not divide evenly."""
    card_up: Figure | None
    free_slots: Figure | None = None
    """Ports of one chassis in slots without a line card; None: there are none, or the cards are unknown."""


@formula("links")
def links_of_card(radix: int, ports: int, ports_per_card: int) -> Fraction:
    """Links per line card at a rate, with its ports broken out as far as possible."""
    return Fraction(radix * ports_per_card, ports)


@formula("links")
def links_of_cage(radix: int, ports: int, ports_per_cage: int) -> int | Fraction:
    """Links per cage at a rate; below one where a link takes several cages."""
    return links_in_cage(radix, ports // ports_per_cage)


@formula("ports")
def ports_down_and_reserved(down: int, reserved_ports: int, free: int) -> int:
    """Downlink ports of the spine that also holds the adjacent reserved ports."""
    return down + min(reserved_ports, free)


@formula("ports")
def ports_free(down: int, up: int, radix: int, up_radix: int, cages: int | SharedCages) -> int:
    """Unused ports of a switch besides its uplinks and downlinks."""
    return ports_left_down(up, radix, up_radix, cages) - down


@formula("ports")
def limit_ports_down(asked: int, up: int, radix: int, up_radix: int, cages: int | SharedCages) -> int:
    """Downlink ports as set in the plan, limited to the ports that the uplinks leave free."""
    return min(asked, ports_left_down(up, radix, up_radix, cages))


ports_free_at_top = difference("ports_free_at_top", "ports", "radix", "down")
"""Unused ports of a switch of the highest tier."""
cards_for_top = ceil_div("cards_for_top", "line cards", "down", "links_per_card")
"""Line cards for the links of a switch without uplinks."""


@formula("line cards")
def cards_for_links(down: int, up: int, links_per_card: int) -> int:
    """Line cards for the links of a switch."""
    return ceil((down + up) / links_per_card)


@formula("line cards")
def cards_for_rates(
    down: int, down_per_cage: int, up: int, up_per_cage: int, ports_per_card: int, ports_per_cage: int
) -> int:
    """Line cards for links of two rates, which do not share a cage."""
    return ceil((ceil(down / down_per_cage) + ceil(up / up_per_cage)) * ports_per_cage / ports_per_card)


@formula("ports")
def ports_in_empty_slots(radix: int, ports: int, line_cards: int, ports_per_card: int) -> int:
    """Links that line cards in the empty slots of a chassis would add."""
    return max(radix - radix * line_cards * ports_per_card // ports, 0)


@formula("ports")
def free_on_cards(free_ports: int, switches: int, free_slots: int) -> int:
    """Unused ports on installed line cards, without those of empty slots."""
    return free_ports - switches * free_slots


room_on_cards = minimum("room_on_cards", "<growth>", "growth", "free_ports")
"""Endpoints that can be added without further line cards."""
share_of_card = floor_div("share_of_card", "ports", "ports", "line_cards")
"""Ports per line card, with all line cards equal."""
cards_of_switches = product("cards_of_switches", "pieces", "switches", "cards_per_switch")
"""Cards of equal chassis."""


@formula("sets")
def sets_of_switches(switches: int) -> int:
    """One set of cards per chassis, because the number of cards per chassis is unknown."""
    return switches


def fit_line_cards(fabric: Fabric, choices: Mapping[str, TierChoice]) -> tuple[FittedTier, ...]:
    """Return the cards of the chassis of a fabric, by tier; empty where no switch is modular."""
    return tuple(
        _fit_tier(fabric, tier, tier.switch.chassis, choices.get(tier.name))
        for tier in fabric.tiers
        if tier.switch.chassis
    )


def count_free_ports_on_cards(fabric: Fabric, tiers: Iterable[FittedTier]) -> Fabric:
    """Return the fabric with the free ports of its chassis counted on their line cards.

    Leaves that are linked into another fabric count only ports that the plan assigns to endpoints: they are on cards.
    """
    if fabric.hops is None:
        return fabric
    free, growth = dict(fabric.free_ports), fabric.growth
    for fitted_tier in tiers:
        tier, empty = fabric.tier(fitted_tier.tier), fitted_tier.free_slots
        if tier is None or empty is None:
            continue
        free[tier.name] = free_on_cards(free[tier.name], tier.count, empty)
        if growth and tier is fabric.tiers[0]:
            growth = room_on_cards(growth, free[tier.name])
    return fabric._replace(free_ports=free, growth=growth)


def _fit_tier(fabric: Fabric, tier: Tier, chassis: Chassis, choice: TierChoice | None) -> FittedTier:
    fullest = max(
        (fitted for fitted in tier.fitted if fitted.count.value),
        key=lambda fitted: int(fitted.down.value + (fitted.up.value if fitted.up else 0)),
    )
    down, up = fullest.down, fullest.up
    if choice and up:
        if choice.uplinks and choice.uplinks.value == up.value:  # not every topology uses the uplinks of the plan
            up = choice.uplinks
        down = _requested_ports_down(fabric, tier, choice.downlinks, up) if choice.downlinks else down
    counts = {kind: cards.count for kind, cards in chassis.cards.items()}
    empty: Figure | None = None
    if counts[LINE_CARDS] is None:
        counts[LINE_CARDS] = _line_cards(fabric, tier, chassis.ports_per_card, down, up)
        empty = _empty_slots(tier, chassis.ports_per_card, counts[LINE_CARDS])
    uses = []
    for kind, cards in chassis.cards.items():
        count = counts[kind]
        quantity = cards_of_switches(tier.count, count) if count else sets_of_switches(tier.count)
        uses.append(CardUse(kind, cards.identity, count, quantity))
    line_cards = counts[LINE_CARDS]
    even = line_cards is not None and not any(ports.value % line_cards.value for ports in (down, up) if ports)
    return FittedTier(
        tier=tier.name,
        switch=tier.switch.identity,
        uses=tuple(uses),
        card_down=share_of_card(down, line_cards) if even and line_cards else None,
        card_up=share_of_card(up, line_cards) if even and line_cards and up else None,
        free_slots=empty,
    )


def _empty_slots(tier: Tier, ports_per_card: Figure | None, line_cards: Figure | None) -> Figure | None:
    if ports_per_card is None or line_cards is None:
        return None
    empty = ports_in_empty_slots(tier.radix, tier.switch.groups[0].ports, line_cards, ports_per_card)
    return empty if empty.value else None


def _rates(fabric: Fabric, tier: Tier) -> tuple[Figure, Figure]:
    below = next(links.rate_gbps for links in fabric.links if links.ends[1] == tier.name)
    above = max(
        (links.rate_gbps for links in fabric.links if links.ends[0] == tier.name),
        key=lambda rate: rate.value,
        default=fabric.uplink_gbps or below,
    )
    return below, above


def _requested_ports_down(fabric: Fabric, tier: Tier, asked: Figure, up: Figure) -> Figure:
    """Return the downlinks that the plan sets for a switch; fewer where its uplinks take some of the ports."""
    below, above = _rates(fabric, tier)
    reach, up_reach = radix(tier.switch, below), radix(tier.switch, above)
    cages = shared_cages(tier.switch, below, above) or tier.switch.groups[0].ports
    if asked.value <= ports_left_down(up.value, reach.value, up_reach.value, cages.value):
        return asked
    return limit_ports_down(asked, up, reach, up_reach, cages)


def _line_cards(
    fabric: Fabric, tier: Tier, ports_per_card: Figure | None, down: Figure, up: Figure | None
) -> Figure | None:
    """Return the line cards that the ports in use on a switch need; None when the ports of a card are unknown."""
    if ports_per_card is None:
        return None
    group = tier.switch.groups[0]
    below, above = _rates(fabric, tier)
    reach = radix(tier.switch, below)
    reserved = (fabric.plane or fabric).reserved_above
    if reserved and tier.name == "spine":
        if up:
            cages = shared_cages(tier.switch, below, above) or group.ports
            free = ports_free(down, up, reach, radix(tier.switch, above), cages)
        else:
            free = ports_free_at_top(reach, down)
        down = ports_down_and_reserved(down, reserved, free)
    of_card = ports_per_card if reach is group.ports else links_of_card(reach, group.ports, ports_per_card)
    if up is None:
        return cards_for_top(down, of_card)
    if above.value == below.value:
        return cards_for_links(down, up, of_card)
    return cards_for_rates(
        down,
        links_of_cage(reach, group.ports, group.ports_per_cage),
        up,
        links_of_cage(radix(tier.switch, above), group.ports, group.ports_per_cage),
        ports_per_card,
        group.ports_per_cage,
    )
