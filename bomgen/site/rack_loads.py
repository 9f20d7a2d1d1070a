"""Loads of racks: weight on the floor, heat, and power on outlets, PDUs and feeds, also when feeds are lost.

Items without a weight in the catalogue are named, and the sum is a lower bound. Cables and modules are excluded.

The plan sets the number of PDUs per rack; outlets and power are only checked against it, with a sufficient number.
Without a part the load that each must carry is shown. PDUs and power supplies are distributed over the feeds in turn,
and the fullest feeds are lost first. A rack with fewer PDUs than there are feeds draws from the first feeds alone, so
that these carry more. `2n` loses the larger half. Without `feeds` each PDU of a compute rack has a separate feed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import ceil
from string import ascii_uppercase
from typing import NamedTuple

from bomgen.catalog.parts import Pdu, PowerSupplies, Rack, Server
from bomgen.core.messages import Message, message
from bomgen.core.provenance import Figure, ceil_div, difference, formula, product, sum_of
from bomgen.core.units import JOULES_OF_A_BTU, SECONDS_AN_HOUR
from bomgen.plan.types import Site
from bomgen.site.racks import RACK_LOAD, Equipment, in_words, power_of, sum_of_power, units_bought, watts_in_words

TOTAL_WEIGHT, RACK_WEIGHT, FLOOR_LOAD = "weight_kg", "compute_rack_weight_kg", "compute_rack_floor_load_kg_per_m2"
"""Names of the figures that are lower bounds when a weight is not known."""
RACK, PDU = "rack", "rack-pdu"
"""The messages that name a rack and a PDU that are not parts of the catalogue."""
SQUARE_MILLIMETRES_OF_A_SQUARE_METRE = 1_000_000


class WeighedItems(NamedTuple):
    """Equal items: how many, and the weight of one [kg] where it is known."""

    name: str
    pieces: Figure
    weight_kg: Figure | None


class Weight(NamedTuple):
    """A weight as far as it is known."""

    weight_kg: Figure | None
    unknown: tuple[str, ...]
    """Names of the items of unknown weight, which are excluded."""
    estimated: tuple[str, ...]
    """Names of the items whose weight is an estimate."""


class Load(NamedTuple):
    """Weight and heat of the site; a figure is None when it is not specified or unknown."""

    weight_kg: Figure | None
    """All racks with everything in them, without cables and modules."""
    heat_btu_per_hour: Figure | None
    compute_rack_power_w: Figure | None
    compute_rack_heat_btu_per_hour: Figure | None
    compute_rack_weight_kg: Figure | None
    compute_rack_floor_load_kg_per_m2: Figure | None
    """Load over the footprint of the rack."""
    compute_rack_liquid_heat_w: Figure | None = None
    """Heat of a full compute rack that coolant carries."""
    compute_rack_air_heat_w: Figure | None = None
    lower_bounds: frozenset[str] = frozenset()
    """Names of the weights that are lower bounds."""
    unweighed: tuple[str, ...] = ()
    """Names of items on the floor of unknown weight."""
    warnings: tuple[tuple[str, str], ...] = ()
    """Message and rule."""


NO_LOAD = Load(None, None, None, None, None, None)


class FullRack(NamedTuple):
    """The rack of servers with the highest power."""

    servers: Figure
    others: tuple[tuple[Equipment, Figure], ...]
    """The machines that share it, and how many."""


class SiteContents(NamedTuple):
    """Servers, racks and PDUs of a site."""

    server: Server | None
    servers: Figure | None
    """Including spares; trays of a rack-scale system."""
    per_rack: Figure | None
    compute_racks: Figure | None
    management_racks: Figure | None
    compute_pdus: Figure | None
    management_pdus: Figure | None


weight_of = product("weight_of", "kg", "pieces", "each")
"""Weight of equal items."""
sum_of_weights = sum_of("sum_of_weights", "kg", "weight", "more_weight")
"""Weight of different items."""


@formula("kg/m2")
def floor_load(weight: Fraction, width_mm: int, depth_mm: int) -> Fraction:
    """Weight per square metre of a rack's footprint."""
    return Fraction(weight) / (width_mm * depth_mm) * SQUARE_MILLIMETRES_OF_A_SQUARE_METRE


@formula("BTU/h", source="NIST SP 811 (2008), appendix B.8: 1 Btu (International Table) = 1055.05585262 J")
def heat_of(power_w: int) -> Fraction:
    """Heat of machines, which is all the power they draw."""
    return Fraction(power_w) * SECONDS_AN_HOUR / JOULES_OF_A_BTU


liquid_heat_of = product("liquid_heat_of", "W", "power_w", "liquid_share")
"""Heat of liquid-cooled servers that coolant carries."""
air_heat_of = difference("air_heat_of", "W", "power_w", "liquid_heat_w")
"""Heat of a rack that is left to the air."""


def weigh(items: Sequence[WeighedItems]) -> Weight:
    """Return the total weight of items as far as it is known, with the names of those left out and those estimated."""
    weight: Figure | None = None
    present = [item for item in items if item.pieces.value]
    for item in present:
        if item.weight_kg:
            more = weight_of(item.pieces, item.weight_kg)
            weight = more if weight is None else sum_of_weights(weight, more)
    unknown = dict.fromkeys(item.name for item in present if item.weight_kg is None)
    estimated = dict.fromkeys(item.name for item in present if item.weight_kg and item.weight_kg.bounds)
    return Weight(weight, tuple(unknown), tuple(estimated))


def rack_floor_load(weight: Figure | None, rack: Rack | None) -> Figure | None:
    """Return the floor load of a rack; None when its weight or footprint is unknown."""
    if weight is None or rack is None or rack.width_mm is None or rack.depth_mm is None:
        return None
    return floor_load(weight, rack.width_mm, rack.depth_mm)


def weighed(part: Rack | Pdu | None, count: Figure, otherwise: str) -> WeighedItems:
    """Return a number of racks or PDUs as weighed items; `otherwise` is the message that names an unknown part."""
    if part is None:
        return WeighedItems(message(otherwise), count, None)
    return WeighedItems(part.identity.name, count, part.weight_kg)


def _everything(site: Site, contents: SiteContents, machines: Iterable[Equipment]) -> list[WeighedItems]:
    items, server = [], contents.server
    if server and contents.servers:
        items.append(WeighedItems(server.identity.name, units_bought(contents.servers, server), server.weight_kg))
    items += [
        WeighedItems(machine.name, machine.count, machine.weight_kg) for machine in machines if not machine.in_server
    ]
    bought = not (server and server.rack_scale)
    if bought and contents.compute_racks:
        items.append(weighed(site.rack, contents.compute_racks, RACK))
    if bought and contents.compute_pdus:
        items.append(weighed(site.pdu, contents.compute_pdus, PDU))
    if contents.management_racks:
        items.append(weighed(site.rack, contents.management_racks, RACK))
    if contents.management_pdus:
        items.append(weighed(site.management_pdu, contents.management_pdus, PDU))
    return items


def site_load(
    site: Site, contents: SiteContents, full: FullRack | None, machines: Iterable[Equipment], power_w: Figure | None
) -> Load:
    """Return weight and heat of the site, whose machines draw `power_w`, and of a full compute rack."""
    server, warnings = contents.server, []
    whole = weigh(_everything(site, contents, machines))
    if whole.estimated:
        warnings.append((message("estimated-weight", names=whole.estimated), "estimated-weight"))
    if whole.unknown:
        warnings.append((message("unknown-weight", names=whole.unknown), "unknown-weight"))
    lower_bounds = {TOTAL_WEIGHT} if whole.unknown else set()
    weight, drawn, floor = None, None, None
    if server and server.rack_scale:
        weight, drawn = server.weight_kg, server.power_w
    elif server and full:
        drawn = power_of(full.servers, server.power_w) if server.power_w else None
        for machine, count in full.others:
            drawn = drawn and machine.power_w and sum_of_power(drawn, power_of(count, machine.power_w))
        inside = weigh(
            [
                WeighedItems("", full.servers, server.weight_kg),
                *(WeighedItems(machine.name, count, machine.weight_kg) for machine, count in full.others),
                weighed(site.pdu, site.pdus_per_rack, PDU),
            ]
        )
        weight = inside.weight_kg if server.weight_kg else None
        if weight and site.rack and site.rack.load_kg and weight.value > site.rack.load_kg.value:
            held, borne = f"{float(weight.value):g}", f"{float(site.rack.load_kg.value):g}"
            text = message("rack-load", held=held, rack=site.rack.identity.name, borne=borne)
            warnings.append((text, RACK_LOAD))
        if weight and site.rack and site.rack.weight_kg:
            weight = sum_of_weights(weight, site.rack.weight_kg)
        if inside.unknown or site.rack is None or site.rack.weight_kg is None:
            lower_bounds |= {RACK_WEIGHT, FLOOR_LOAD}
        floor = rack_floor_load(weight, site.rack)
    liquid = None
    if server and server.power_w and server.liquid_share and drawn:
        of_servers = power_of(full.servers, server.power_w) if full and not server.rack_scale else server.power_w
        liquid = liquid_heat_of(of_servers, server.liquid_share)
    return Load(
        weight_kg=whole.weight_kg,
        compute_rack_weight_kg=weight,
        compute_rack_floor_load_kg_per_m2=floor,
        compute_rack_power_w=drawn,
        compute_rack_heat_btu_per_hour=heat_of(drawn) if drawn else None,
        heat_btu_per_hour=heat_of(power_w) if power_w else None,
        compute_rack_liquid_heat_w=liquid,
        compute_rack_air_heat_w=air_heat_of(drawn, liquid) if drawn and liquid else None,
        lower_bounds=frozenset(lower_bounds),
        warnings=tuple(warnings),
        unweighed=whole.unknown,
    )


ALL, ONE_MORE = "n", "n+1"
"""Levels of redundancy besides 2n: no feed may be lost, or one."""
OUTLET = {"c14": "c13", "c20": "c19", "c22": "c19"}
"""The outlet for the cord of an inlet (IEC 60320-1)."""
EITHER = "either"


class Supply(NamedTuple):
    """Power supply of the site; a figure is None when it is not specified or unknown."""

    compute_rack_outlets: Mapping[str, Figure]
    """Outlets that the servers of a full compute rack need, by form."""
    compute_rack_pdu_outlets: Mapping[str, Figure]
    """Outlets that the PDUs of a compute rack have, by form."""
    feeds: Figure | None
    compute_rack_feeds: Mapping[str, Figure]
    """PDUs of a compute rack on each feed."""
    compute_pdu_load_w: Figure | None
    """Load of a PDU of a compute rack when as many feeds are lost as the redundancy allows."""
    feed_power_w: Figure | None
    """The highest load of a feed by all machines, whichever feeds are lost."""


NO_SUPPLY = Supply({}, {}, None, {}, None, None)


outlets_of_servers = product("outlets_of_servers", "outlets", "servers", "supplies")
"""Outlets that the servers of a rack need, one per power supply."""
sum_of_outlets = sum_of("sum_of_outlets", "outlets", "outlets", "more_outlets")
"""PDU outlets of different devices."""
outlets_of_pdus = product("outlets_of_pdus", "outlets", "pdus", "outlets_of_pdu")
"""Outlets of the PDUs of a rack."""
feeds_of_pdus = product("feeds_of_pdus", "feeds", "pdus", "feeds_per_pdu")
"""Feeds where each PDU of a rack has its own."""


@formula("feeds", source="Uptime Institute, Tier Standard: Topology (N, N+1, 2N)")
def feeds_lost(redundancy: str, feeds: int) -> int:
    """Feeds that may be lost: none with n, one with n+1, half of them with 2n."""
    return 0 if redundancy == ALL else 1 if redundancy == ONE_MORE else feeds - feeds // 2


@formula("pieces")
def pieces_lost(pieces: int, feeds: int, lost: int) -> int:
    """Pieces on the lost feeds, which are the fullest; pieces are assigned to the feeds in turn."""
    return min(lost, feeds) * (pieces // feeds) + min(lost, pieces % feeds)


pdus_of_next_feed = ceil_div("pdus_of_next_feed", "pieces", "pdus", "feeds")
"""PDUs of a rack on the next feed, out of the remaining PDUs and feeds."""
pdus_left = difference("pdus_left", "pieces", "pdus", "dealt")
"""PDUs that remain for the next feeds."""


@formula("feeds")
def feeds_left(feeds: int) -> int:
    """Feeds that remain."""
    return feeds - 1


@formula("W")
def load_of_pdu(rack_power_w: int, pdus: int, lost: int) -> Fraction:
    """Load of each remaining PDU of a full rack."""
    return Fraction(rack_power_w) / (pdus - lost)


@formula("W")
def load_of_feed(power_w: int, feeds: int, lost: int) -> Fraction:
    """Load of each remaining feed from equipment that draws equally from all feeds."""
    return Fraction(power_w) / (feeds - lost)


@formula("pieces")
def pdus_lost_beside_first(pdus: int, feeds: int, lost: int) -> int:
    """PDUs of a rack on the lost feeds when these are the fullest after the first, which has the most PDUs."""
    return int(pieces_lost.plain(pdus, feeds, lost + 1)) - ceil(pdus / feeds)


@formula("W")
def load_of_first_feed(power_w: int, pdus: int, lost: int, dealt: int) -> Fraction:
    """Load of the first feed, which has `dealt` PDUs of each rack, from racks that draw `power_w` together."""
    return Fraction(power_w) / (pdus - lost) * dealt


sum_of_loads = sum_of("sum_of_loads", "W", "load_w", "more_load_w")
"""Load of a feed from both kinds of racks."""


def supply(
    site: Site,
    server: Server | None,
    full: FullRack | None,
    rack_power_w: Figure | None,
    powers: tuple[Figure | None, Figure | None],
) -> Supply:
    """Return the power supply of a site.

    The machines of the fullest compute rack draw `rack_power_w`; those of all compute racks, and of all management
    racks, draw `powers`.
    """
    compute_power_w, other_power_w = powers
    pdus, counted = site.pdus_per_rack, bool(full and site.pdus_per_rack.value)
    dealt_out = site.management_pdus if server and server.rack_scale else pdus
    feeds = site.feeds or (feeds_of_pdus(dealt_out, site.feeds_per_pdu) if dealt_out.value else None)
    lost = feeds_lost(site.redundancy, feeds) if feeds else None
    outlets, pdu_outlets, pdu_load = _outlets(server, full) if full else {}, {}, None
    if counted and site.pdu:
        pdu_outlets = {form: outlets_of_pdus(pdus, per_pdu) for form, per_pdu in site.pdu.outlets.items()}
    if counted and feeds and lost and rack_power_w:
        gone = pieces_lost(pdus, feeds, lost)
        pdu_load = load_of_pdu(rack_power_w, pdus, gone) if gone.value < pdus.value else None
    return Supply(
        compute_rack_outlets=outlets,
        compute_rack_pdu_outlets=pdu_outlets,
        feeds=feeds,
        compute_rack_feeds=_deal_pdus(pdus, feeds) if counted and feeds else {},
        compute_pdu_load_w=pdu_load,
        feed_power_w=_feed_power(
            ((compute_power_w, pdus if counted else None), (other_power_w, site.management_pdus)), feeds, lost
        ),
    )


def _outlets(server: Server | None, full: FullRack) -> dict[str, Figure]:
    """Return the outlets that the machines of a rack need, by form; none where those of a machine are unknown."""
    outlets: dict[str, Figure] = {}
    of_server = [(server.supplies, full.servers)] if server else []
    for supplies, count in (*of_server, *((machine.supplies, count) for machine, count in full.others)):
        if supplies is None:
            return {}
        form, more = OUTLET[supplies.inlet], outlets_of_servers(count, supplies.pieces)
        outlets[form] = sum_of_outlets(outlets[form], more) if form in outlets else more
    return outlets


def _feed_power(
    kinds: Iterable[tuple[Figure | None, Figure | None]], feeds: Figure | None, lost: Figure | None
) -> Figure | None:
    """Return the highest load of a feed when feeds are lost, given racks by kind with their power and PDUs."""
    # Every rack distributes its PDUs from the first feed on, and those that remain share its power evenly. So no feed
    # carries more than the first when the next ones are lost: of each rack it has the most PDUs, and the fewest others
    # remain. Racks without PDUs draw from all feeds alike.
    total: Figure | None = None
    if feeds is None or lost is None or lost.value >= feeds.value:
        return total
    for power_w, pdus in kinds:
        if power_w is None:
            continue
        if pdus and pdus.value:
            gone = pdus_lost_beside_first(pdus, feeds, lost)
            load = load_of_first_feed(power_w, pdus, gone, pdus_of_next_feed(pdus, feeds))
        else:
            load = load_of_feed(power_w, feeds, lost)
        total = sum_of_loads(total, load) if total else load
    return total


def _deal_pdus(pdus: Figure, feeds: Figure) -> dict[str, Figure]:
    """Return the PDUs of a rack by feed A, B and so on, evenly spread; empty with more feeds than letters."""
    by_feed: dict[str, Figure] = {}
    if feeds.value > len(ascii_uppercase):
        return by_feed
    for letter in ascii_uppercase[: feeds.value]:
        by_feed[letter] = pdus_of_next_feed(pdus, feeds)
        pdus, feeds = pdus_left(pdus, by_feed[letter]), feeds_left(feeds)
        if not pdus.value:
            break
    return by_feed


def feed_letter(number: int, feeds: Figure | None) -> str | None:
    """Return the feed of a PDU by its number in the rack, from 0; None when there are more feeds than letters."""
    if feeds is None or feeds.value > len(ascii_uppercase):
        return None
    return ascii_uppercase[number % int(feeds.value)]


class SuppliedRack(NamedTuple):
    """A rack whose power supply is checked."""

    name: str
    machines: str
    """Name of its machines in messages."""
    power_w: Figure | None
    outlets: Mapping[str, Figure]
    """Outlets that its machines need, by form."""
    pdu: Pdu | None
    pdus: int
    room_u: int | None
    """Rack units that its machines leave for PDUs; None if unknown."""
    own_feeds: int
    """Number of feeds, whatever the number of PDUs; 0: it grows with the PDUs."""
    fewer: str
    """Remedy where no more PDUs fit."""

    def hint(self, pdus: int) -> str:
        """Return the remedy: `pdus` PDUs, if they fit."""
        height = self.pdu.rack_units.value if self.pdu and self.pdu.rack_units else 0
        if height and self.room_u is not None and pdus * height > self.room_u:
            return message("larger-pdu", remedy=self.fewer)
        return message("enough-pdus", pdus=pdus)


def supply_warnings(
    site: Site, server: Server | None, full: FullRack | None, rack_power_w: Figure | None, supplied: Supply
) -> Iterator[tuple[str, str]]:
    """Yield warnings about the power supply of a full compute rack: message and rule."""
    if full is None:
        return
    heights = [(server.rack_units, full.servers)] if server else []
    heights += [(machine.height_u, count) for machine, count in full.others]
    used = [height.value * count.value for height, count in heights if height]
    rack = SuppliedRack(
        name=message("compute-rack"),
        machines=message("machines-of-rack" if full.others else "servers-of-rack"),
        power_w=rack_power_w,
        outlets=supplied.compute_rack_outlets,
        pdu=site.pdu,
        pdus=int(site.pdus_per_rack.value),
        room_u=int(site.rack_units.value - sum(used)) if server and server.rack_units else None,
        own_feeds=int(site.feeds.value) if site.feeds else 0,
        fewer=message("fewer-servers"),
    )
    yield from outlet_warnings(rack)
    yield from pdu_warnings(site, rack, supplied.feeds)
    if server:
        yield from power_supply_warnings(site, rack, supplied.feeds, server.identity.name, server.supplies)
    for machine, _ in full.others:
        yield from power_supply_warnings(site, rack, supplied.feeds, machine.name, machine.supplies)


def outlet_warnings(rack: SuppliedRack) -> Iterator[tuple[str, str]]:
    """Yield warnings where the PDUs of a rack lack outlets for its machines."""
    if not rack.pdus or rack.pdu is None or not rack.pdu.outlets:
        return
    outlets = {form: int(figure.value) for form, figure in rack.pdu.outlets.items()}
    for form, needed in rack.outlets.items():
        fitting = outlets.get(form, 0) + outlets.get(EITHER, 0)
        if fitting * rack.pdus >= needed.value:
            continue
        text = message(
            "outlets",
            machines=rack.machines,
            needed=needed.value,
            form=form.upper(),
            pdus=rack.pdus,
            pdu=rack.pdu.identity.name,
            offered=fitting * rack.pdus,
            remedy=rack.hint(ceil(needed.value / fitting)) if fitting else message("another-pdu"),
        )
        yield text, "outlets"


def _describe_loss(site: Site, feeds: Figure) -> tuple[int, Message]:
    redundancy = str(site.redundancy.value)
    lost = int(feeds_lost.plain(redundancy, feeds.value))
    if not lost:
        return lost, message("feeds-up")
    return lost, message("feeds-lost", lost=lost, feeds=feeds.value, redundancy=redundancy)


def _count_left(pdus: int, feeds: int, lost: int) -> int:
    return pdus - int(pieces_lost.plain(pdus, feeds, lost))


def pdu_warnings(site: Site, rack: SuppliedRack, feeds: Figure | None) -> Iterator[tuple[str, str]]:
    """Yield warnings where the remaining PDUs do not carry a rack."""
    if feeds is None or rack.power_w is None or not rack.pdus:
        return
    lost, case = _describe_loss(site, feeds)
    pdu, drawn, left = rack.pdu, in_words(rack.power_w), _count_left(rack.pdus, int(feeds.value), lost)
    if not left:
        yield message("no-pdu-left", case=case, rack=rack.name, drawn=drawn), "redundancy"
    elif pdu and pdu.power_w and left * pdu.power_w.value < rack.power_w.value:
        carried = watts_in_words(int(left * pdu.power_w.value))
        would = _fewest_pdus(site, rack, pdu.power_w)
        text = message(
            "pdus-overloaded",
            case=case,
            left=left,
            pdus=rack.pdus,
            carried=carried,
            rack=rack.name,
            drawn=drawn,
            remedy=rack.hint(would) if would else message("more-feeds"),
        )
        yield text, "redundancy"


def unrated_pdu_warnings(site: Site, rack: SuppliedRack, feeds: Figure | None) -> Iterator[tuple[str, str]]:
    """Yield a warning with the load of the remaining PDUs of a rack whose PDUs have no known rating.

    A plan without any PDU leaves them open, and gets no warning.
    """
    named = site.pdu or rack.pdu
    if not named or feeds is None or rack.power_w is None or not rack.pdus or (rack.pdu and rack.pdu.power_w):
        return
    lost, case = _describe_loss(site, feeds)
    left = _count_left(rack.pdus, int(feeds.value), lost)
    if left:
        load = in_words(rack.power_w, shared_by=left)
        yield message("pdus-unrated", case=case, left=left, pdus=rack.pdus, rack=rack.name, load=load), "redundancy"


def _fewest_pdus(site: Site, rack: SuppliedRack, pdu_power_w: Figure) -> int | None:
    drawn = rack.power_w.value if rack.power_w else 0
    least = ceil(Fraction(drawn) / Fraction(pdu_power_w.value))
    for pdus in range(max(1, least), 2 * least + rack.own_feeds + 2):
        feeds = rack.own_feeds or pdus * int(site.feeds_per_pdu.value)
        if _count_left(pdus, feeds, int(feeds_lost.plain(site.redundancy.value, feeds))) >= least:
            return pdus
    return None


def power_supply_warnings(
    site: Site, rack: SuppliedRack, feeds: Figure | None, name: str, supplies: PowerSupplies | None
) -> Iterator[tuple[str, str]]:
    """Yield warnings where too few power supplies of a machine remain on the feeds of its rack."""
    if feeds is None or not rack.pdus or supplies is None or supplies.needed is None:
        return
    lost, case = _describe_loss(site, feeds)
    if not _count_left(rack.pdus, int(feeds.value), lost):
        return
    count, needed = int(supplies.pieces.value), int(supplies.needed.value)
    left = count - int(pieces_lost.plain(count, min(int(feeds.value), rack.pdus), lost))
    if left < needed:
        text = message("supplies-short", case=case, machine=name, left=left, count=count, needed=needed)
        yield text, "redundancy"
