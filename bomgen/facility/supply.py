"""Power supply of racks: outlets, PDUs on feeds, and what they carry when a feed is lost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from math import ceil
from string import ascii_uppercase
from typing import NamedTuple

from bomgen.figures import Figure, formula
from bomgen.parts import Pdu, Server
from bomgen.plan import Site

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


def doubts(
    site: Site, server: Server | None, per_rack: Figure | None, rack_power_w: Figure | None, found: Supply
) -> Iterator[tuple[str, str]]:
    """Warnings about the power supply of a full compute rack: message and rule."""
    pdus = int(site.pdus_per_rack.value)
    if per_rack is None or not pdus:
        return
    yield from _of_outlets(site, found)
    if found.feeds is None:
        return
    feeds, redundancy = int(found.feeds.value), str(site.redundancy.value)
    lost = int(feeds_lost.plain(redundancy, feeds))
    case = f"with {lost} of {feeds} feeds lost ({redundancy})" if lost else "with all feeds there (n)"
    left = pdus - int(pieces_lost.plain(pdus, feeds, lost))
    if rack_power_w:
        yield from _of_pdus(site, site.pdu, rack_power_w.value, left, case)
    if left and server and server.supplies and server.supplies.needed:
        yield from _of_supplies(server, min(feeds, pdus), lost, case)


def _of_outlets(site: Site, found: Supply) -> Iterator[tuple[str, str]]:
    """Whether the PDUs have the outlets that the servers need."""
    if not found.outlets or not found.pdu_outlets or site.pdu is None:
        return
    each = {form: int(figure.value) for form, figure in site.pdu.outlets.items()}
    for form, needed in found.outlets.items():
        fitting = each.get(form, 0) + each.get(EITHER, 0)
        if fitting * site.pdus_per_rack.value >= needed.value:
            continue
        name = f"{site.pdus_per_rack.value} x {site.pdu.identity.name}"
        would = f"{ceil(needed.value / fitting)} PDUs would do" if fitting else "another PDU is needed"
        yield (
            f"the servers of a rack need {needed.value} {form.upper()} outlets; {name} have "
            f"{fitting * site.pdus_per_rack.value}: {would}",
            "outlets",
        )


def _of_pdus(site: Site, pdu: Pdu | None, drawn: int, left: int, case: str) -> Iterator[tuple[str, str]]:
    """Whether the PDUs that are left carry a full rack."""
    pdus = int(site.pdus_per_rack.value)
    if not left:
        message = f"{case} no PDU of a compute rack is left, which draws {drawn} W"
        yield f"{message}; give it more PDUs and feeds, or `redundancy: n`", "redundancy"
    elif pdu and pdu.power_w and left * pdu.power_w.value < drawn:
        carried = float(left * pdu.power_w.value)
        would = _enough(site, pdu, drawn)
        hint = f"{would} PDUs would do" if would else "more feeds are needed"
        message = f"{case} {left} of {pdus} PDUs carry {carried:g} W of a compute rack, which draws {drawn} W: {hint}"
        yield message, "redundancy"


def _enough(site: Site, pdu: Pdu, drawn: int) -> int | None:
    """The fewest PDUs a rack that carry it when as much is lost as may be; None where no number does."""
    each = pdu.power_w.value if pdu.power_w else 0
    least = ceil(Fraction(drawn) / Fraction(each)) if each else 0
    given = int(site.feeds.value) if site.feeds else 0
    for pdus in range(max(1, least), 2 * least + given + 2):
        feeds = given or pdus * int(site.feeds_per_pdu.value)
        lost = int(feeds_lost.plain(site.redundancy.value, feeds))
        if pdus - int(pieces_lost.plain(pdus, feeds, lost)) >= least:
            return pdus
    return None


def _of_supplies(server: Server, feeds: int, lost: int, case: str) -> Iterator[tuple[str, str]]:
    """Whether enough power supplies of a server are left, dealt out to the feeds that reach its rack."""
    supplies = server.supplies
    if supplies is None or supplies.needed is None:
        return
    count, needed = int(supplies.pieces.value), int(supplies.needed.value)
    left = count - int(pieces_lost.plain(count, feeds, lost))
    if left < needed:
        message = f"{case} a {server.identity.name} keeps {left} of {count} power supplies; {needed} carry it"
        yield message, "redundancy"
