"""Modular switches: the line cards of a chassis, and the division of its ports over them.

A chassis gets as many line cards as the populated ports of the fullest switch of its tier need, unless the plan sets
the number. A topology need not know of cards: a modular switch has the ports of all slots, or of the `line_cards` of
the plan. A fabric that is built out in full populates every port of its leaves. The number of other cards (fabric
cards, supervisors, power supplies) is given separately; where it is unknown, a line of the bill represents one set per
chassis, so that nothing is left out silently. Free ports are those on the cards; the ports that empty slots would add
are counted separately.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import ceil
from typing import NamedTuple

from bomgen.catalog.parts import Chassis, Identity
from bomgen.catalog.switch_records import LINE_CARDS
from bomgen.core.provenance import Figure, ceil_div, difference, floor_div, formula, minimum, product
from bomgen.fabric.ports import SharedCages, links_in_cage, ports_left_down, radix, shared_cages
from bomgen.fabric.types import Fabric, Tier, TierChoice


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
    """Return the rate of the downlinks of a tier, and the fastest of its uplinks."""
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
