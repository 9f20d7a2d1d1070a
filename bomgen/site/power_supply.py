"""Power supply of racks: outlets, PDUs on feeds, and what they carry when a feed is lost.

The plan gives the number of PDUs per rack; outlets and power are only checked against it, with the number that is
enough. Without a part the load that each must carry is shown. PDUs and power supplies are dealt out to the feeds in
turn, and the fullest feeds are lost first. `2n` loses the larger half. Without `feeds` each PDU of a compute rack has a
feed of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from math import ceil
from string import ascii_uppercase
from typing import NamedTuple

from bomgen.catalog.parts import Pdu, PowerSupplies, Server
from bomgen.core.provenance import Figure, formula
from bomgen.plan.types import Site

ALL, ONE_MORE = "n", "n+1"
"""Words of redundancy beside 2n: nothing may be lost, or one feed."""
OUTLET = {"c14": "c13", "c20": "c19"}
"""The outlet that the cord of an inlet is plugged into (IEC 60320-1)."""
EITHER = "either"


class Supply(NamedTuple):
    """Power supply of the site; None is what nobody asks for or knows."""

    outlets: Mapping[str, Figure]
    """Outlets that the servers of a full compute rack need, by form."""
    pdu_outlets: Mapping[str, Figure]
    """Outlets that its PDUs have, by form."""
    feeds: Figure | None
    compute_rack_feeds: Mapping[str, Figure]
    """PDUs of a compute rack on each feed."""
    pdu_load_w: Figure | None
    """What a PDU of a compute rack must carry when as much is lost as may be."""
    feed_power_w: Figure | None
    """What a feed must carry then, of all machines."""


NO_SUPPLY = Supply({}, {}, None, {}, None, None)


@formula("outlets")
def outlets_of(servers: int, supplies: int) -> int:
    """Outlets that the servers of a rack need: one a power supply."""
    return servers * supplies


@formula("outlets")
def outlets_of_pdus(pdus: int, outlets_of_pdu: int) -> int:
    """Outlets of the PDUs of a rack."""
    return pdus * outlets_of_pdu


@formula("feeds")
def feeds_of_pdus(pdus: int, feeds_per_pdu: int) -> int:
    """Feeds where each PDU of a rack hangs on one of its own."""
    return pdus * feeds_per_pdu


@formula("feeds", source="Uptime Institute, Tier Standard: Topology (N, N+1, 2N)")
def feeds_lost(redundancy: str, feeds: int) -> int:
    """Feeds that may be lost: with n none, with n+1 one, with 2n half of them."""
    return 0 if redundancy == ALL else 1 if redundancy == ONE_MORE else feeds - feeds // 2


@formula("pieces")
def pieces_lost(pieces: int, feeds: int, lost: int) -> int:
    """Of pieces dealt out to the feeds in turn, those on the feeds lost, which are the fullest."""
    return min(lost, feeds) * (pieces // feeds) + min(lost, pieces % feeds)


@formula("pieces")
def next_feed(pdus: int, feeds: int) -> int:
    """PDUs of a rack on the next feed, of those and of the feeds that are left."""
    return ceil(pdus / feeds)


@formula("pieces")
def pdus_left(pdus: int, dealt: int) -> int:
    """PDUs for the feeds that come after."""
    return pdus - dealt


@formula("feeds")
def feeds_left(feeds: int) -> int:
    """Feeds that come after."""
    return feeds - 1


@formula("W")
def load_of_pdu(rack_power_w: int, pdus: int, lost: int) -> Fraction:
    """What each PDU that is left carries of a full rack."""
    return Fraction(rack_power_w) / (pdus - lost)


@formula("W")
def load_of_feed(power_w: int, feeds: int, lost: int) -> Fraction:
    """What each feed that is left carries of all machines."""
    return Fraction(power_w) / (feeds - lost)


def supply(
    site: Site, server: Server | None, per_rack: Figure | None, power_w: Figure | None, rack_power_w: Figure | None
) -> Supply:
    """Outlets and feeds: `per_rack` servers a compute rack, which draw `rack_power_w`; all machines draw `power_w`."""
    pdus, counted = site.pdus_per_rack, bool(per_rack and site.pdus_per_rack.value)
    feeds = site.feeds or (feeds_of_pdus(pdus, site.feeds_per_pdu) if pdus.value else None)
    lost = feeds_lost(site.redundancy, feeds) if feeds else None
    outlets, pdu_outlets, pdu_load = {}, {}, None
    if server and server.supplies and per_rack:
        outlets = {OUTLET[server.supplies.inlet]: outlets_of(per_rack, server.supplies.pieces)}
    if counted and site.pdu:
        pdu_outlets = {form: outlets_of_pdus(pdus, each) for form, each in site.pdu.outlets.items()}
    if counted and feeds and lost and rack_power_w:
        gone = pieces_lost(pdus, feeds, lost)
        pdu_load = load_of_pdu(rack_power_w, pdus, gone) if gone.value < pdus.value else None
    return Supply(
        outlets=outlets,
        pdu_outlets=pdu_outlets,
        feeds=feeds,
        compute_rack_feeds=_dealt(pdus, feeds) if counted and feeds else {},
        pdu_load_w=pdu_load,
        feed_power_w=(
            load_of_feed(power_w, feeds, lost) if power_w and feeds and lost and lost.value < feeds.value else None
        ),
    )


def _dealt(pdus: Figure, feeds: Figure) -> dict[str, Figure]:
    """The PDUs of a rack on feeds A, B and so on, as even as they go; none where letters do not suffice."""
    found: dict[str, Figure] = {}
    if feeds.value > len(ascii_uppercase):
        return found
    for letter in ascii_uppercase[: feeds.value]:
        found[letter] = next_feed(pdus, feeds)
        pdus, feeds = pdus_left(pdus, found[letter]), feeds_left(feeds)
        if not pdus.value:
            break
    return found


def feed_letter(number: int, feeds: Figure | None) -> str | None:
    """The feed of a PDU of a rack by its number from 0, dealt out in turn; None where letters do not suffice."""
    if feeds is None or feeds.value > len(ascii_uppercase):
        return None
    return ascii_uppercase[number % int(feeds.value)]


class Fed(NamedTuple):
    """A rack whose power supply is looked at."""

    name: str
    of_machines: str
    """What its machines are called."""
    power_w: Figure | None
    outlets: Mapping[str, Figure]
    """That its machines need, by form."""
    pdu: Pdu | None
    pdus: int
    room_u: int | None
    """Height that its machines leave to PDUs that lie in it; None where it is not known."""
    own_feeds: int
    """Feeds, however many PDUs it gets; 0: their number grows with its PDUs."""
    fewer: str
    """What helps where no more PDUs have room."""

    def hint(self, pdus: int) -> str:
        """So many PDUs, where they have room."""
        height = self.pdu.rack_units.value if self.pdu and self.pdu.rack_units else 0
        if height and self.room_u is not None and pdus * height > self.room_u:
            return f"a larger PDU or {self.fewer} would do"
        return f"{pdus} PDUs would do"


def doubts(
    site: Site, server: Server | None, per_rack: Figure | None, rack_power_w: Figure | None, found: Supply
) -> Iterator[tuple[str, str]]:
    """Warnings about the power supply of a full compute rack: message and rule."""
    if per_rack is None:
        return
    high = server.rack_units if server else None
    rack = Fed(
        name="a compute rack",
        of_machines="the servers of a rack",
        power_w=rack_power_w,
        outlets=found.outlets,
        pdu=site.pdu,
        pdus=int(site.pdus_per_rack.value),
        room_u=int(site.rack_units.value - per_rack.value * high.value) if high else None,
        own_feeds=int(site.feeds.value) if site.feeds else 0,
        fewer="fewer servers a rack",
    )
    yield from of_outlets(rack)
    yield from of_power(site, rack, found.feeds)
    if server:
        yield from of_supplies(site, rack, found.feeds, server.identity.name, server.supplies)


def of_outlets(rack: Fed) -> Iterator[tuple[str, str]]:
    """Whether the PDUs of a rack have the outlets that its machines need."""
    if not rack.pdus or rack.pdu is None or not rack.pdu.outlets:
        return
    each = {form: int(figure.value) for form, figure in rack.pdu.outlets.items()}
    for form, needed in rack.outlets.items():
        fitting = each.get(form, 0) + each.get(EITHER, 0)
        if fitting * rack.pdus >= needed.value:
            continue
        has = f"{rack.pdus} x {rack.pdu.identity.name} have {fitting * rack.pdus}"
        would = rack.hint(ceil(needed.value / fitting)) if fitting else "another PDU is needed"
        yield f"{rack.of_machines} need {needed.value} {form.upper()} outlets; {has}: {would}", "outlets"


def _lost(site: Site, feeds: Figure) -> tuple[int, str]:
    """Feeds that may be lost, and that case in words."""
    redundancy = str(site.redundancy.value)
    lost = int(feeds_lost.plain(redundancy, feeds.value))
    return lost, f"with {lost} of {feeds.value} feeds lost ({redundancy})" if lost else "with all feeds there (n)"


def _left(pdus: int, feeds: int, lost: int) -> int:
    """PDUs of a rack that are left."""
    return pdus - int(pieces_lost.plain(pdus, feeds, lost))


def of_power(site: Site, rack: Fed, feeds: Figure | None) -> Iterator[tuple[str, str]]:
    """Whether the PDUs that are left carry a rack."""
    if feeds is None or rack.power_w is None or not rack.pdus:
        return
    lost, case = _lost(site, feeds)
    pdu, drawn, left = rack.pdu, rack.power_w.value, _left(rack.pdus, int(feeds.value), lost)
    if not left:
        message = f"{case} no PDU of {rack.name} is left, which draws {drawn} W"
        yield f"{message}; give it more PDUs and feeds, or `redundancy: n`", "redundancy"
    elif pdu and pdu.power_w and left * pdu.power_w.value < drawn:
        carried = float(left * pdu.power_w.value)
        would = _enough(site, rack, pdu.power_w)
        hint = rack.hint(would) if would else "more feeds are needed"
        message = f"{case} {left} of {rack.pdus} PDUs carry {carried:g} W of {rack.name}, which draws {drawn} W: {hint}"
        yield message, "redundancy"


def _enough(site: Site, rack: Fed, pdu_power_w: Figure) -> int | None:
    """The fewest PDUs that carry a rack when as much is lost as may be; None where no number does."""
    drawn = rack.power_w.value if rack.power_w else 0
    least = ceil(Fraction(drawn) / Fraction(pdu_power_w.value))
    for pdus in range(max(1, least), 2 * least + rack.own_feeds + 2):
        feeds = rack.own_feeds or pdus * int(site.feeds_per_pdu.value)
        if _left(pdus, feeds, int(feeds_lost.plain(site.redundancy.value, feeds))) >= least:
            return pdus
    return None


def of_supplies(
    site: Site, rack: Fed, feeds: Figure | None, name: str, supplies: PowerSupplies | None
) -> Iterator[tuple[str, str]]:
    """Whether enough power supplies of a machine are left, dealt out to the feeds that reach its rack."""
    if feeds is None or not rack.pdus or supplies is None or supplies.needed is None:
        return
    lost, case = _lost(site, feeds)
    if not _left(rack.pdus, int(feeds.value), lost):
        return
    count, needed = int(supplies.pieces.value), int(supplies.needed.value)
    left = count - int(pieces_lost.plain(count, min(int(feeds.value), rack.pdus), lost))
    if left < needed:
        yield f"{case} a {name} keeps {left} of {count} power supplies; {needed} carry it", "redundancy"
