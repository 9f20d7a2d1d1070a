"""Lines of the bill: parts, charges and spare pieces, less what the customer has.

Where a part of the machines at an end of links exists, as many links do as both ends can have: each existing server has
its ports, and a switch its share of the links of its tier. Parts of links are rounded so that none that is needed is
left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import reduce
from math import ceil
from typing import NamedTuple

from bomgen.catalog.files import id_at_length
from bomgen.catalog.identity import slug
from bomgen.catalog.parts import Cable, Identity, Module, Switch
from bomgen.core.diagnostics import Infeasible, error_at
from bomgen.core.provenance import Figure, difference, formula, minimum, product, sum_of
from bomgen.design.assembly import BuiltFabric, Design, boxes_of, sum_of_boxes
from bomgen.fabric.types import SERVER
from bomgen.plan.commercial_terms import ORDER, Charge
from bomgen.plan.fabric_demand import build_planes
from bomgen.plan.schema import CLUSTERS, together
from bomgen.plan.types import SWITCHES
from bomgen.sizing.servers import gpus_of_servers, trays_of_racks

CATEGORIES = (
    *("gpu", "server", "nic", "switch", "transceiver", "cable", "storage"),
    *("rack", "pdu", "cooling", "management", "accessory", "software", "support", "service"),
)
"""Categories in the order of a bill."""
CATEGORY_OF_KIND = {"appliance": "management", "panel": "cable"}
"""Bill categories of part kinds, where the two differ in name."""
OTHER_LENGTH = "xx"
"""What a part number of cables has in place of a length that is not three digits."""


class Line(NamedTuple):
    """One part in one position: fabric, kind of link, end."""

    id: str
    category: str
    fabric: str | None
    role: str | None
    part: str | None
    sku: str | None
    vendor: str | None
    description: str
    quantity: Figure
    spare: Figure | None = None
    path: str | None = None
    """The bom.json path of the quantity; for a line partly from stock, of both lines' sum."""
    identity: Identity | None = None
    charge: Charge | None = None
    """The plan's entry for a charge, such as freight."""
    in_stock: bool = False
    """Whether it comes from the customer's stock, and is shown but not charged."""
    cluster: str = ""
    """The cluster it belongs to, in a plan with several."""
    required_by: Identity | None = None
    """The part that requires it; None if the plan asks for it."""
    length_m: Fraction | None = None
    """Length of a cable [m]."""
    is_ahead: bool = False
    """Whether its pieces wait for a later phase."""

    def in_cluster(self, cluster: str) -> Line:
        """Return the line as part of one of several clusters: its id and path begin with the cluster's name."""
        path = self.path and ".".join((*cluster_path(cluster), self.path))
        return self._replace(id=f"{cluster}.{self.id}", path=path, cluster=cluster) if cluster else self

    def alone(self) -> Line:
        """Return the line as if its cluster were the only one of the plan."""
        prefix = "".join(f"{step}." for step in cluster_path(self.cluster))
        path = self.path and self.path.removeprefix(prefix)
        return self._replace(id=self.id.removeprefix(f"{self.cluster}."), path=path, cluster="")

    @property
    def pieces(self) -> int:
        """Return the pieces of the line, installed and spare."""
        pieces: int = self.quantity.value + (self.spare.value if self.spare else 0)
        return pieces

    @property
    def names(self) -> list[str]:
        """Return the lower-case names of the part in price books, most specific first."""
        return _price_names(self.identity, self.charge.part if self.charge else self.part, self.sku, self.length_m)


def line_of_part(
    id: str,
    category: str,
    part: Identity,
    quantity: Figure,
    *,
    fabric: str | None = None,
    role: str | None = None,
    path: str | None = None,
) -> Line:
    """Return the line for pieces of a part."""
    sku, vendor, name = part.sku, part.vendor, part.name
    return Line(id, category, fabric, role, part.id, sku, vendor, name, quantity, path=path, identity=part)


def cluster_path(cluster: str) -> tuple[str, ...]:
    """Return the bom.json path prefix of a cluster in a plan with several; empty for a single cluster."""
    return (CLUSTERS, cluster) if cluster else ()


def cable_id(cable: Cable | None, length_m: Fraction) -> str:
    """Return the id of a cable at its length, or `unknown` without a cable."""
    return id_at_length(cable.identity.id, length_m) if cable else "unknown"


def names_of(part: Module | Cable | Switch, length_m: Fraction | None) -> list[str]:
    """Return the lower-case names of a part, or of a cable at one length [m], in price books, most specific first."""
    if isinstance(part, Cable) and length_m is not None:
        return _price_names(part.identity, cable_id(part, length_m), cable_sku(part, length_m), length_m)
    return _price_names(part.identity, part.identity.id, part.identity.sku, None)


def _price_names(identity: Identity | None, part: str | None, sku: str | None, length_m: Fraction | None) -> list[str]:
    names = [part, *(sku or "").split(" / ")]
    if identity:
        names += [identity.id, identity.part_number, identity.ordering_number]
    if identity and length_m is not None:  # `mfp7e10-n030`; `cat6-rj45-20m` if the id has no length
        named = id_at_length(identity.id, length_m)
        names.insert(0, named if named != identity.id else f"{named}-{float(length_m):g}m")
    return list(dict.fromkeys(name.lower() for name in names if name))


def cable_sku(cable: Cable, length_m: Fraction) -> str | None:
    """Return the part number with the length, and the ordering number of that length if it is known.

    A part number whose length is not written as three digits stands for all lengths: the ordering number replaces it.
    """
    if cable.identity.part_number is None:
        return None
    number = id_at_length(cable.identity.part_number, length_m)
    ordering = cable.ordering_numbers.get(f"{float(length_m):g}")
    if ordering and OTHER_LENGTH in number:
        return ordering
    return f"{number.upper()} / {ordering}" if ordering else number.upper()


# charges ------------------------------------------------------------------------------------------------------------
# Lines other than parts: freight, installation, support, software, counted by the unit that the plan sets.
#
# Charges are lines. A share of the hardware is calculated after all other lines, and again for the low and the high end
# of the prices.

GPU = "gpu"
HOST = "host"
"""The role of machines on a fabric other than the servers of the cluster."""
UNKNOWN = (SERVER, "rack")
"""Units that every cluster has, although a plan may leave their number open."""


@formula("pieces")
def over_years(pieces: int, years: Fraction) -> int:
    """Pieces of a part that is bought again for each year or part of a year."""
    return pieces * ceil(years)


over_months = product("over_months", "pieces", "pieces", "months")
"""Pieces of a charge for each month of its term."""


@formula("pieces")
def until_same_end(pieces: int, months: int, months_left: int) -> int:
    """Pieces of a charge, by the month, that an earlier order has bought of the months that are left of its term."""
    return pieces // months * months_left


def charges(designs: Sequence[Design], existing: Mapping[str, Sequence[Line]]) -> Iterator[Line]:
    """Yield a line for each charge of a plan with these designs; `existing` has the customer's own lines by cluster.

    Raises PlanErrors for a charge counted by something the plan does not have.
    """
    for charge in designs[0].plan.quote.charges:
        counted = _counted(charge, designs, existing)
        if counted is None or not counted.value:
            message = f"nothing to charge per {charge.per}: the plan has none; set `per: {ORDER}`"
            raise error_at(charge.mark, message, "charge", "quote.charges")
        quantity = over_years(counted, charge.years) if charge.years else counted
        quantity = over_months(counted, charge.months) if charge.months else quantity
        yield Line(
            id=charge.id,
            category=charge.category,
            fabric=None,
            role=charge.kind,
            part=charge.part,
            sku=None,
            vendor=None,
            description=charge.name or charge.kind,
            quantity=quantity,
            charge=charge,
        )


def _counted(charge: Charge, designs: Sequence[Design], existing: Mapping[str, Sequence[Line]]) -> Figure | None:
    if charge.per == ORDER:
        return charge.once
    counted = [count_units(charge.per, design, existing[design.plan.cluster_name]) for design in designs]
    if charge.per in UNKNOWN and any(counted):
        for design, figure in zip(designs, counted, strict=True):
            if figure is None:
                message = f"the {charge.per}s of cluster {design.plan.cluster_name} are unknown; set `per: {ORDER}`"
                raise error_at(charge.mark, message, "charge", "quote.charges")
    return together(counted)


def count_units(per: str, design: Design, existing: Sequence[Line] = ()) -> Figure | None:
    """Return the GPUs, servers, racks or switches of a design, less those of the lines that the customer already has.

    None if unknown or if there are none.
    """
    boxes = [boxes_of(tier) for built in design.fabrics for tier in built.fabric.tiers]
    counted = reduce(sum_of_boxes, boxes) if boxes else None
    if per in (GPU, SERVER, "rack"):
        counted = {GPU: design.sizing.gpus, SERVER: design.sizing.servers}.get(per, design.facility.racks)
    category = SERVER if per == GPU else per
    owned = [line.quantity for line in existing if line.category == category and line.role != HOST]
    if counted is None or not owned:
        return counted
    server, pieces = design.plan.cluster.server, reduce(sum_of_quantities, owned)
    if server and per in (GPU, SERVER):
        pieces = trays_of_racks(pieces, server.trays) if server.trays else pieces
        pieces = gpus_of_servers(pieces, server.gpus) if per == GPU else pieces
    return rest_of(counted, pieces)


# spares -------------------------------------------------------------------------------------------------------------
# Spare pieces, and pieces from the customer's stock.
#
# Pieces from stock become a separate line with a unit price of 0, so that the formula of an amount holds for every line
# and the pieces of a part still add up to the installed number.


@formula("pieces")
def share_of(quantity: int, share: Fraction) -> int:
    """Spare pieces: a share of all pieces of a part, rounded up."""
    return ceil(quantity * share)


sum_of_spares = sum_of("sum_of_spares", "pieces", "pieces", "more_pieces")
"""Spare pieces that two keys of the plan request."""
sum_of_quantities = sum_of("sum_of_quantities", "pieces", "quantity", "more")
"""Pieces of one part on several lines."""
from_stock = minimum("from_stock", "pieces", "pieces", "stock")
"""Pieces taken from the customer's stock, or in use."""
rest_of = difference("rest_of", "pieces", "pieces", "taken")
"""Pieces that remain."""


def add_spares(lines: Sequence[Line], spares: Mapping[str, Figure]) -> Iterator[Line]:
    """Yield the lines with the spares of each part added to its first line."""
    totals: dict[tuple[str, str], Figure] = {}
    for line in lines:
        key = part_key(line)
        totals[key] = sum_of_quantities(totals[key], line.quantity) if key in totals else line.quantity
    spared: set[tuple[str, str]] = set()
    for line in lines:
        wanted = spares.get(line.category)
        key = part_key(line)
        if wanted is None or key in spared:
            yield line
            continue
        spared.add(key)
        pieces = share_of(totals[key], wanted) if wanted.unit == "share" else wanted
        yield line._replace(spare=sum_of_spares(line.spare, pieces) if line.spare else pieces)


def part_key(line: Line) -> tuple[str, str]:
    """Return a key that identifies a part; for cables, a part at one length, which the id of a generic one lacks."""
    return line.category, line.description if line.category == "cable" else line.part or line.description


def subtract_stock(lines: Sequence[Line], stock: Mapping[str, Figure]) -> Iterator[Line]:
    """Yield the lines less the customer's stock; pieces from stock follow as a separate line.

    `stock` has pieces by part name. Earlier lines are served first, installed pieces before spares.
    """
    left = dict(stock)
    for line in lines:
        bought, owned = _take(line, left)
        stocked = (
            owned_line._replace(id=f"{line.id}.stock" + (f".{number}" if number > 1 else ""), in_stock=True)
            for number, owned_line in enumerate(owned, 1)
        )
        yield from (portion for portion in (bought, *stocked) if portion.pieces)


def subtract_existing(
    lines: Sequence[Line], left: dict[str, Figure], before: Mapping[str, Figure]
) -> tuple[list[Line], list[Line]]:
    """Return the lines less the parts that the customer has in use, and lines of these.

    `left` has pieces by part name; what is taken is subtracted from it. Lines first take their pieces `before`, by id,
    then what is left, earlier lines first.
    """
    bought, existing = list[Line](), list[Line]()
    needed = [from_stock(line.quantity, before[line.id]) if line.id in before else None for line in lines]
    first = [
        _take(line._replace(quantity=some), left)[1] if some else [] for line, some in zip(lines, needed, strict=True)
    ]
    for line, owned in zip(lines, first, strict=True):
        in_use = reduce(sum_of_quantities, [part.quantity for part in owned]) if owned else None
        rest, more = _take(line._replace(quantity=rest_of(line.quantity, in_use)) if in_use else line, left)
        bought += [rest] if rest.pieces else []
        if pieces := [part.quantity for part in (*owned, *more)]:
            existing.append(line._replace(quantity=reduce(sum_of_quantities, pieces)))
    return bought, existing


def switches_before(design: Design, lines: Sequence[Line], left: Mapping[str, Figure]) -> dict[str, Figure]:
    """Return the switches of each tier, by line, of the fabrics for the existing servers alone."""
    found, server = dict[str, Figure](), next((line for line in lines if line.id == SERVER), None)
    servers = next((left[name] for name in server.names if name in left), None) if server else None
    for built in design.fabrics:
        if servers and built.attachment and not built.plan.switchless:
            with suppress(Infeasible):
                fabric = build_planes(built.plan, built.attachment, _in_trays(design, servers), built.hosts)
                found |= {f"{built.plan.name}.switch.{tier.name}": boxes_of(tier) for tier in fabric.tiers}
    return found


def _take(line: Line, left: dict[str, Figure]) -> tuple[Line, list[Line]]:
    """Return a line less the customer's own pieces, which are taken from `left`, and a line of these per name."""
    bought, owned = line, list[Line]()
    for name in line.names:
        if name not in left or not left[name].value or not bought.pieces:
            continue
        taken = from_stock(bought.quantity, left[name])
        left[name] = rest_of(left[name], taken)
        owned_line = line._replace(quantity=taken, spare=None)
        if taken.value:
            bought = bought._replace(quantity=rest_of(bought.quantity, taken))
        if bought.spare and left[name].value:
            spare = from_stock(bought.spare, left[name])
            left[name] = rest_of(left[name], spare)
            owned_line, bought = owned_line._replace(spare=spare), bought._replace(spare=rest_of(bought.spare, spare))
        owned.append(owned_line)
    return bought, owned


# earlier orders -------------------------------------------------------------------------------------------------------

Pool = dict[tuple[str, ...], Figure]
"""Pieces that can be used, by what they can be used for."""
INSTALLED, HELD = "installed", "held"
"""Whether pieces of a line are installed, or held as spares."""


def subtract_bought(lines: Sequence[Line], bought: Sequence[Line]) -> tuple[list[Line], list[Line], list[Line]]:
    """Return the lines less what earlier orders bought, lines of what they keep of it, and lines of what is left over.

    A line keeps its own pieces, installed ones and spares; then lines take those that other lines of the part leave.
    Charges by the order are those of every order.
    """
    own, free, parts = Pool(), Pool(), dict[tuple[str, ...], Line]()
    months_left = {line.id: line.charge.months for line in lines if line.charge}
    for line in bought:
        if line.charge and line.charge.months and (left := months_left.get(line.id)):
            line = line._replace(quantity=until_same_end(line.quantity, line.charge.months, left))
        for count, pieces in ((INSTALLED, line.quantity), (HELD, line.spare)):
            if pieces and not _is_by_order(line):
                _add(own, _place(line, count), pieces)
                parts |= {} if line.charge or line.in_stock else {_place(line, count): line}
    rest = list(lines)
    for at, line in enumerate(lines):
        if not _is_by_order(line):
            quantity = _take_from(own, _place(line, INSTALLED), line.quantity)
            rest[at] = line._replace(
                quantity=quantity, spare=line.spare and _take_from(own, _place(line, HELD), line.spare)
            )
    for place, line in parts.items():
        _add(free, part_key(line), own[place])
    for at, line in enumerate(rest):
        if line.charge is None and not line.in_stock:
            quantity = _take_from(free, part_key(line), line.quantity)
            rest[at] = line._replace(
                quantity=quantity, spare=line.spare and _take_from(free, part_key(line), line.spare)
            )
    kept = [
        line._replace(
            quantity=rest_of(line.quantity, less.quantity),
            spare=line.spare and less.spare and rest_of(line.spare, less.spare),
        )
        for line, less in zip(lines, rest, strict=True)
        if line.charge is None
    ]
    over = [
        line._replace(quantity=free[key], spare=None)
        for key, line in {part_key(line): line for line in parts.values()}.items()
        if free[key].value
    ]
    return [line for line in rest if line.pieces], [line for line in kept if line.pieces], over


def _place(line: Line, count: str) -> tuple[str, ...]:
    return (count, line.cluster, line.id, *part_key(line))


def _is_by_order(line: Line) -> bool:
    return line.charge is not None and line.charge.per == ORDER


def _add(pool: Pool, key: tuple[str, ...], pieces: Figure) -> None:
    pool[key] = sum_of_quantities(pool[key], pieces) if key in pool else pieces


def _take_from(pool: Pool, key: tuple[str, ...], wanted: Figure) -> Figure:
    """Return the pieces that are still needed after those of a pool, which loses them."""
    if key not in pool or not pool[key].value or not wanted.value:
        return wanted
    taken = from_stock(wanted, pool[key])
    pool[key] = rest_of(pool[key], taken)
    return rest_of(wanted, taken)


# links in use ---------------------------------------------------------------------------------------------------------

NIC = "nic"
"""The category of NICs, which exist with the links of their servers."""
ports_in_use = product("ports_in_use", "links", "pieces", "ports_per_piece")
"""Links of machines that exist."""
fewer_links = minimum("fewer_links", "links", "links", "other_links")
"""Links whose ends both exist."""


@formula("links")
def links_of_tier(links: int, pieces: int, in_use: int) -> int:
    """Links of those machines of a tier that exist."""
    return links * in_use // pieces


@formula("links")
def links_for_ports(links: int, endpoints: int, ports: int) -> int:
    """Links between switches that the ports of existing machines needed, before the others came, rounded up."""
    return ceil(Fraction(links * ports, endpoints))


@formula("links")
def free_ports(ports: int, uplinks: int) -> int:
    """Ports of existing switches beside their uplinks that exist."""
    return ports - uplinks


@formula("pieces")
def pieces_of_links(pieces: int, links: int, links_in_use: int) -> int:
    """Pieces in links that exist, rounded down."""
    return pieces * min(links, links_in_use) // links


def subtract_links_in_use(
    design: Design, bought: Sequence[Line], existing: Sequence[Line]
) -> tuple[list[Line], list[Line]]:
    """Return the lines less the parts of links between existing machines, and lines of these parts.

    Categories that the scope of the plan names are offered all the same: somebody orders optics for what exists.
    """
    counted: dict[str, Figure] = {}
    for line in existing:
        counted[line.id] = sum_of_quantities(counted[line.id], line.quantity) if line.id in counted else line.quantity
    if not counted:
        return list(bought), []
    links = {
        (built.plan.name, kind): cabled_and_used
        for built in design.fabrics
        for kind, cabled_and_used in _links(design, built, counted)
    }
    rest, in_use, before = list[Line](), list[Line](), dict[tuple[object, ...], Figure]()
    for line in bought:
        kind = NIC if line.category == NIC else (line.role or "").partition("/")[0]
        cabled_and_used = links.get((line.fabric or "", kind))
        if cabled_and_used and not (design.plan.scope and line.category in design.plan.scope):
            already_used = counted.get(line.id)
            total = sum_of_quantities(line.quantity, already_used) if already_used else line.quantity
            # Of lines of several lengths each takes what the ones before it leave, so that none is lost by rounding.
            alike = line.fabric, line.role, line.category
            before[alike], earlier = (
                sum_of_quantities(before[alike], total) if alike in before else total,
                before.get(alike),
            )
            taken = pieces_of_links(before[alike], *cabled_and_used)
            taken = rest_of(taken, pieces_of_links(earlier, *cabled_and_used)) if earlier else taken
            taken = rest_of(taken, already_used) if already_used else taken
            if taken.value > 0:
                in_use.append(line._replace(quantity=taken, spare=None))
                line = line._replace(quantity=rest_of(line.quantity, taken))
        rest += [line] if line.pieces else []
    return rest, in_use


def _links(
    design: Design, built: BuiltFabric, counted: Mapping[str, Figure]
) -> Iterator[tuple[str, tuple[Figure, Figure]]]:
    """Yield the links of each kind, and those of them whose ends both exist, from the top of a fabric down."""
    uplinks: dict[str, Figure] = {}
    ports = _ports(design, built, counted)
    for links in reversed(built.fabric.links):
        lower, upper = links.ends
        tier, switches = built.fabric.tier(upper), counted.get(f"{built.plan.name}.switch.{upper}")
        servers = counted.get("server")
        if lower == upper == SERVER and servers and servers.value == built.fabric.endpoints.value:
            yield links.kind, (links.cabled, links.cabled)
            yield NIC, (links.cabled, links.cabled)
        if tier is None or switches is None:
            continue
        below: Figure | None
        if lower == SERVER:
            below, above = ports, ports_in_use(switches, tier.radix)
            if upper in uplinks:
                above = free_ports(above, uplinks[upper])
        else:
            leaves, of_tier = counted.get(f"{built.plan.name}.switch.{lower}"), built.fabric.tier(lower)
            below = links_of_tier(links.cabled, boxes_of(of_tier), leaves) if leaves and of_tier else None
            above = links_of_tier(links.cabled, boxes_of(tier), switches)
            choice = built.plan.tier_plans.get(lower)
            fixed = built.plan.peer_links if links.within_tier else choice and choice.uplinks
            if ports and built.plan.populate_used_ports_only and not fixed:
                above = fewer_links(above, links_for_ports(links.cabled, built.fabric.endpoints, ports))
        if below:
            uplinks[lower] = fewer_links(below, above)
            yield links.kind, (links.cabled, uplinks[lower])
            if lower == SERVER and servers and built.attachment and design.sizing.servers:
                every = ports_in_use(design.sizing.servers, built.attachment.ports_per_server)
                yield NIC, (every, uplinks[lower])


def _in_trays(design: Design, servers: Figure) -> Figure:
    server = design.plan.cluster.server
    return ports_in_use(servers, server.trays) if server and server.trays else servers


def _ports(design: Design, built: BuiltFabric, counted: Mapping[str, Figure]) -> Figure | None:
    """Return the ports of existing servers and other machines on a fabric; None if there are none."""
    servers, ports = counted.get(SERVER), list[Figure]()
    if servers and built.attachment:
        ports.append(ports_in_use(_in_trays(design, servers), built.attachment.ports_per_server))
    for hosts in built.hosts:
        bought = f".management.{slug(hosts.name)}"
        pieces = next((figure for id, figure in counted.items() if id.endswith(bought)), None)
        if hosts.leaves_of:
            pieces = counted.get(f"{hosts.leaves_of}.switch.leaf")
        if hosts.managed == SWITCHES:
            of_switches = [
                figure for id, figure in counted.items() if ".switch." in id and id.split(".")[0] != built.plan.name
            ]
            pieces = reduce(sum_of_quantities, of_switches) if of_switches else None
        if pieces:
            ports.append(ports_in_use(pieces, hosts.ports))
    return reduce(sum_of_quantities, ports) if ports else None
