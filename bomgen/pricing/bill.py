"""The bill of parts and quantities, without prices. A line is one part in one position.

An order also needs cords, kits and licences that catalogue parts require. A requirement without a choice becomes a line
of the bill; one with a choice of part or of years is an open item, and so is one that may be included with the part
that needs it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import reduce
from itertools import chain
from itertools import count as numbered
from math import ceil
from typing import NamedTuple

from bomgen.catalog.files import Catalog, UnknownPart
from bomgen.catalog.identity import CORDS, RAILS, identity, slug
from bomgen.catalog.part_records import CARDS
from bomgen.catalog.parts import FABRIC, YEAR, Identity, Requirement
from bomgen.core.diagnostics import PlanErrors, error_at
from bomgen.core.messages import message
from bomgen.core.provenance import Figure, formula, product, sum_of
from bomgen.design.assembly import BuiltFabric, Design, boxes_of, list_equipment, sum_of_boxes
from bomgen.fabric.ports import CardUse, FittedTier
from bomgen.fabric.types import SERVER
from bomgen.optics.uses import JUMPER, AdapterUse, CableUse, ModuleUse, PanelUse
from bomgen.plan.commercial_terms import SUPPORT
from bomgen.pricing.bill_line import (
    CATEGORY_OF_KIND,
    GPU,
    HOST,
    Line,
    add_spares,
    cable_id,
    cable_sku,
    charges,
    count_units,
    from_stock,
    line_of_part,
    over_years,
    part_key,
    rest_of,
    subtract_bought,
    subtract_existing,
    subtract_links_in_use,
    subtract_stock,
    switches_before,
)
from bomgen.site.racks import in_words, units_bought
from bomgen.sizing.servers import gpus_of_servers

PER_MACHINE = (*CORDS, RAILS)
"""Parts that each kind of machine needs for itself."""
CLUSTER_UNITS = ("server", "gpu", "switch", "rack")
"""Units that a requirement can be counted by, besides the part itself."""
MAX_DEPTH = 10
"""Maximum length of a chain of required parts; a longer one is taken as circular."""


class OpenItem(NamedTuple):
    """A required part that still has to be selected, or that may be included with the part that requires it."""

    parts: tuple[Identity, ...]
    """The part, or the parts to select from."""
    quantity: Figure | None
    """None if it depends on the choice, or if what it is counted by is unknown."""
    per: str
    required_by: Identity
    source: str
    """Titles of the source documents."""
    cluster: str = ""
    included: bool | None = False
    """None if it is not known whether it is included."""

    @property
    def any_cord(self) -> bool:
        """Return whether the part is the power cords of a machine, whose inlets may be unknown."""
        return not {part.id for part in self.parts}.difference(CORDS)


@formula("pieces")
def required_pieces(pieces: int, each: Fraction) -> int:
    """Pieces of a required part for a number of pieces of another."""
    return ceil(pieces * each)


class _Use(NamedTuple):
    """A part to buy: its pieces on all lines, and the number of fabrics that use it."""

    part: Identity
    pieces: Figure
    fabrics: int


def required_parts(
    design: Design, lines: Sequence[Line], existing: Sequence[Line], catalog: Catalog
) -> tuple[list[Line], list[OpenItem]]:
    """Return the lines that the parts on `lines` require, directly or indirectly, and the open items.

    A requirement is met if one of its parts is included or on the plan, or the customer has one in use on the lines
    `existing`; support also by a charge of the quote. A requirement counted by the cluster, or not counted at all,
    applies once, however many parts have it; that of a server also covers its GPUs.

    Raises PlanErrors for a part that requires an unknown part or itself.
    """
    required, items = list[Line](), list[OpenItem]()
    planned = {line.identity.id for line in (*lines, *existing) if line.identity}
    counted: set[tuple[str, ...]] = set()
    sold = {SUPPORT} & {charge.kind for charge in design.plan.quote.charges}
    uses, cluster, gpus = _uses(lines), design.plan.cluster, count_units(GPU, design, existing)
    if cluster.server and cluster.server.gpus_included and gpus and any(line.category == SERVER for line in lines):
        uses.append(_Use(cluster.gpu.identity, gpus, 1))  # GPUs in servers have no line of their own
    for _ in range(MAX_DEPTH):
        new = list[Line]()
        for bought, need in [(use, need) for use in uses for need in use.part.requires]:
            parts = tuple(_find(name, need, bought.part, design, catalog) for name in need.parts)
            ids = tuple(part.id for part in parts)
            if planned.intersection(ids) or ids in counted or sold.issuperset(part.category for part in parts):
                continue
            if need.per in CLUSTER_UNITS or (need.quantity is None and parts[0].id not in PER_MACHINE):
                counted.add(ids)
            if need.included:
                continue
            quantity = _quantity(need, bought, design, existing)
            open_years = need.per == YEAR and design.plan.operation is None
            ordered = design.plan.complete_order and need.included is False and len(parts) == 1 and not open_years
            if quantity and ordered:
                new.append(_line(parts[0], quantity, bought.part))
            else:
                source = "; ".join(reference.title for reference in need.references)
                items.append(OpenItem(parts, quantity, need.per, bought.part, source, included=need.included))
        if not new:
            return required, items
        required += new
        uses = _uses(new)
    circle = uses[0].part
    raise _wrong(
        f"{circle.name} requires itself, directly or indirectly; remove it from `requires`",
        circle.requires[0],
        design,
    )


def _uses(lines: Sequence[Line]) -> list[_Use]:
    uses: dict[str, _Use] = {}
    fabrics: dict[str, set[str | None]] = {}
    for line in lines:
        if line.identity is None or not line.identity.requires:
            continue
        id = line.identity.id
        fabrics.setdefault(id, set()).add(line.fabric)
        pieces = sum_of_boxes(uses[id].pieces, line.quantity) if id in uses else line.quantity
        uses[id] = _Use(line.identity, pieces, len(fabrics[id]))
    return list(uses.values())


def _find(name: str, need: Requirement, required_by: Identity, design: Design, catalog: Catalog) -> Identity:
    try:
        return identity(catalog.find_part(name))
    except UnknownPart as error:
        raise _wrong(f"{required_by.name} requires an unknown part: {error}", need, design) from None


def _wrong(message: str, need: Requirement, design: Design) -> PlanErrors:
    return error_at(need.mark or design.plan.mark, message, "requires")


def _quantity(need: Requirement, use: _Use, design: Design, existing: Sequence[Line]) -> Figure | None:
    """Return the required pieces; None if they depend on a choice, or on an unknown count."""
    if need.quantity is None:
        return None
    if need.per == FABRIC:
        return reduce(sum_of_boxes, [need.quantity] * use.fabrics)
    if need.per in CLUSTER_UNITS:
        counted = count_units(need.per, design, existing)
        return required_pieces(counted, need.quantity) if counted else None
    pieces = required_pieces(use.pieces, need.quantity)
    years = design.plan.operation.years if design.plan.operation else None
    return over_years(pieces, years) if need.per == YEAR and years else pieces


def _line(part: Identity, quantity: Figure, required_by: Identity) -> Line:
    category = part.category or CATEGORY_OF_KIND.get(part.kind, part.kind)
    line = line_of_part(f"required.{required_by.id}.{part.id}", category, part, quantity)
    return line._replace(required_by=required_by)


RACKED = {"switch", "storage", "management"}
"""Categories of the equipment in management racks."""
PANEL = "panel"
"""The role of the lines of patch panels."""


units_of = product("units_of", "U", "pieces", "units_per_piece")
"""Rack units of machines."""
sum_of_units = sum_of("sum_of_units", "U", "units", "more_units")
"""Rack units of several machines."""
pieces_of_servers = product("pieces_of_servers", "pieces", "servers", "pieces_per_server")
"""Pieces of a component in all servers."""


class Bill(NamedTuple):
    """All lines in reading order: servers first, racks last."""

    lines: tuple[Line, ...]
    open_items: tuple[OpenItem, ...] = ()
    """Required parts that still have to be selected."""
    existing: tuple[Line, ...] = ()
    """Parts of the design that the customer has in use, of which nothing is offered."""
    left_over: tuple[Line, ...] = ()
    """Parts that earlier phases bought and this one does not need."""


def bill_of_phase(whole: Bill, bought: Sequence[Line]) -> Bill:
    """Return what a phase orders: its bill less the lines that earlier phases bought."""
    lines, kept, left_over = subtract_bought(whole.lines, bought)
    ordered = {line.identity.id for line in lines if line.identity}
    items = (item._replace(quantity=None) for item in whole.open_items if item.required_by.id in ordered)
    return Bill(tuple(lines), tuple(items), (*whole.existing, *kept), tuple(left_over))


def is_below(path: str, above: str) -> bool:
    """Return whether a path of a plan is another one, or below it."""
    return f"{path}.".startswith(f"{above}.")


def lines_below(design: Design, path: str) -> list[Line]:
    """Return the parts of a design below a path of its plan, such as `fabrics.compute.leaf`."""
    return [line for line in _parts(design) if is_below(_path_of(line), path)]


def paths_of_lines(design: Design) -> list[str]:
    """Return the paths of a plan that have parts of their own: tiers of switches, storage and racks."""
    paths = (_path_of(line) for line in _parts(design) if line.fabric is None or line.category == "switch")
    return list(dict.fromkeys(filter(None, paths)))


def _path_of(line: Line) -> str:
    if line.fabric:
        return f"fabrics.{line.fabric}.{line.role}"
    return {"rack": "site.rack", "pdu": "site.rack"}.get(line.category, "storage" if line.role == "storage" else "")


def _with_ahead(lines: Sequence[Line], ahead: Sequence[Line]) -> list[Line]:
    """Return lines and, of those that are bought ahead, the pieces that they do not have."""
    now = {(line.id, part_key(line)): line.quantity for line in lines}
    waiting = list[Line]()
    for line in ahead:
        has = now.get((line.id, part_key(line)))
        rest = rest_of(line.quantity, from_stock(line.quantity, has)) if has else line.quantity
        waiting.append(line._replace(id=f"{line.id}.ahead", quantity=rest, path=None, is_ahead=True))
    return [line for line in (*lines, *waiting) if line.quantity.value]


def bill(catalog: Catalog, *designs: Design, ahead: Sequence[Line] = ()) -> Bill:
    """Return the bill for the designs of a plan: parts with quantities and spares, less the customer's own.

    It has at least the lines `ahead`. Required parts follow the parts that need them; charges come last. Spares, stock,
    existing parts and charges are counted over all designs. Parts outside the plan's scope are left out, with what they
    require.

    Raises PlanErrors for a charge counted by something the plan does not have, and as `required_parts`.
    """
    plan = designs[0].plan
    planned, required, items = list[Line](), list[Line](), list[OpenItem]()
    left, existing = dict(plan.existing), dict[str, list[Line]]()
    for design in designs:
        name = design.plan.cluster_name
        parts = _with_ahead(list(_parts(design)), ahead)
        bought, existing[name] = subtract_existing(parts, left, switches_before(design, parts, left))
        bought, in_use = subtract_links_in_use(design, bought, existing[name])
        existing[name] += in_use
        bought = list(_racks_of_bought(design, bought, existing[name]))
        bought = [line for line in bought if plan.scope is None or line.category in plan.scope]
        more, open_items = required_parts(design, bought, existing[name], catalog)
        planned += [line.in_cluster(name) for line in bought]
        required += [line.in_cluster(name) for line in more]
        for built in design.fabrics:  # modules at the other end of uplinks, in the customer's switch
            for far in (group.far for group in built.interconnect.link_groups if group.far):
                text, leaf = message("far-modules", name=far.name), built.fabric.tiers[0].switch.identity
                items.append(OpenItem((far.module.identity,), far.quantity, "piece", leaf, text, name))
        items += [item._replace(cluster=name) for item in open_items]
    lines = (*add_spares(planned, plan.spares), *required, *charges(designs, existing))
    owned = tuple(line.in_cluster(name) for name, lines_of in existing.items() for line in lines_of)
    return Bill(tuple(subtract_stock(lines, plan.stock)), tuple(items), owned)


@formula("pieces")
def pieces_for_bought(pieces: int, servers: int, bought_servers: int, servers_per_rack: int) -> int:
    """Racks, or their PDUs, for the servers that are bought: the share of the racks that these take."""
    return pieces * ceil(Fraction(bought_servers, servers_per_rack)) // ceil(Fraction(servers, servers_per_rack))


def _racks_of_bought(design: Design, bought: Sequence[Line], existing: Sequence[Line]) -> Iterator[Line]:
    """Yield the lines of racks and PDUs for purchased devices: the customer's own are in racks of their own."""
    categories = {line.category for line in existing}
    racked = {line.category for line in bought} & RACKED
    servers, per_rack = count_units(SERVER, design), design.facility.servers_per_rack
    rest = count_units(SERVER, design, existing)
    for line in bought:
        if line.category not in ("rack", "pdu") or not categories:
            yield line
        elif line.role == "compute" and SERVER in categories and servers and rest and per_rack:
            pieces = pieces_for_bought(line.quantity, servers, rest, per_rack)
            if pieces.value:
                yield line._replace(quantity=pieces)
        elif line.role == "management" and (units := _units_of_machines(design, existing)) and design.plan.site:
            pieces = pieces_for_bought(line.quantity, *units, design.plan.site.rack_units)
            if pieces.value:
                yield line._replace(quantity=pieces)
        elif line.role == "compute" or racked or not categories & RACKED:
            yield line


def _units_of_machines(design: Design, existing: Sequence[Line]) -> tuple[Figure, Figure] | None:
    """Return the rack units of all machines in management racks, and of those that are bought.

    None if no group of servers exists: switches stand where there is room.
    """
    in_use = {line.id: line.quantity for line in existing if line.role == HOST}
    parts = {
        f"{built.plan.name}.management.{slug(hosts.name)}": hosts.part
        for built in design.fabrics
        for hosts in built.plan.hosts
    }
    owned = [
        units_of(pieces, part.rack_units)
        for id, pieces in in_use.items()
        if (part := parts.get(id)) and part.rack_units
    ]
    machines = list_equipment(design.plan, design.sizing, design.fabrics)[2]
    every = [units_of(machine.count, machine.height_u) for machine in machines if machine.height_u]
    if not owned:
        return None
    whole = reduce(sum_of_units, every)
    return whole, rest_of(whole, reduce(sum_of_units, owned))


def cluster_bill(whole: Bill, cluster: str) -> Bill:
    """Return the bill of one of several clusters, as if it were the only one."""
    return Bill(
        tuple(line.alone() for line in whole.lines if line.cluster == cluster),
        tuple(item._replace(cluster="") for item in whole.open_items if item.cluster == cluster),
        tuple(line.alone() for line in whole.existing if line.cluster == cluster),
        tuple(line.alone() for line in whole.left_over if line.cluster == cluster),
    )


def _parts(design: Design) -> Iterator[Line]:
    yield from _servers(design)
    for fabric in design.fabrics:
        yield from lines_of_fabric(fabric)
    yield from _storage(design)
    yield from _racks(design)


def _servers(design: Design) -> Iterator[Line]:
    cluster, servers = design.plan.cluster, design.sizing.servers
    server = cluster.server
    if server is None or servers is None:
        yield line_of_part("gpu", "gpu", cluster.gpu.identity, design.sizing.gpus, role="compute", path="cluster.gpus")
        return
    bought, spare = units_bought(servers, server), cluster.spare_servers and units_bought(cluster.spare_servers, server)
    identity = server.identity
    if server.without_cards:
        name = message("chassis-without-gpus", server=identity.name)
        identity = identity._replace(id=f"{identity.id}-chassis", name=name, part_number=None, ordering_number=None)
    line = line_of_part("server", "server", identity, bought, role="compute", path="cluster.servers")
    yield line._replace(spare=spare)
    if not server.gpus_included:
        gpus = line_of_part("gpu", "gpu", cluster.gpu.identity, design.sizing.gpus, role="compute", path="cluster.gpus")
        yield gpus._replace(spare=spare and gpus_of_servers(spare, server.gpus))
    for number, component in enumerate(server.components, 1):
        id, sku = f"server.{component.key}.{number}", component.part_number
        pieces, more = (count and pieces_of_servers(count, component.pieces) for count in (bought, spare))
        if pieces:
            part = component.name
            yield Line(id, "accessory", None, SERVER, slug(part), sku, None, part, pieces, more)


def lines_of_fabric(built: BuiltFabric) -> Iterator[Line]:
    """Yield the lines for the parts of a fabric, without spares."""
    name, base = built.plan.name, f"fabrics.{built.plan.name}"
    if built.bought_nic:
        identity = built.bought_nic.identity
        yield line_of_part(f"{name}.nic", "nic", identity, built.nics, fabric=name, role="server", path="cluster.nics")
    for tier in built.fabric.tiers:
        count = boxes_of(tier)
        path = f"{base}.switches.{tier.name}"
        line_id = f"{name}.switch.{tier.name}"
        yield line_of_part(line_id, "switch", tier.switch.identity, count, fabric=name, role=tier.name, path=path)
        for fitted in built.chassis:
            if fitted.tier == tier.name:
                yield from (_card(use, fitted, name) for use in fitted.uses)
    yield from _circuits(built)
    for hosts in built.plan.hosts:
        if hosts.part:
            host_id = slug(hosts.name)
            path, line_id = f"{base}.hosts.{host_id}.count", f"{name}.management.{host_id}"
            identity = hosts.part.identity
            category = CATEGORY_OF_KIND.get(identity.kind, identity.kind)
            yield line_of_part(line_id, category, identity, hosts.pieces, fabric=name, role="host", path=path)
        if hosts.nic and hosts.nics:
            nics = pieces_of_servers(hosts.pieces, hosts.nics)
            yield line_of_part(
                f"{name}.nic.{slug(hosts.name)}", "nic", hosts.nic.identity, nics, fabric=name, role="host"
            )
    lines = [_end(use, use.module.identity, "transceiver", name) for use in built.interconnect.modules]
    lines += [_end(use, use.adapter.identity, "adapter", name) for use in built.interconnect.adapters]
    lines += [_cable(cable, name) for cable in built.interconnect.cables]
    lines += [_panel(use, name) for use in built.interconnect.panels]
    taken: set[str] = set()
    for line in lines:
        longer = f"{line.id}.{line.part or 'unknown'}"
        ids = chain((line.id, longer), (f"{longer}.{number}" for number in numbered(2)))
        line = line._replace(id=next(line_id for line_id in ids if line_id not in taken))
        taken.add(line.id)
        yield line


def _circuits(built: BuiltFabric) -> Iterator[Line]:
    """Yield lines for optical circuit switches of a fabric, and for the module and fibre at each optical end."""
    name, circuits = built.plan.name, built.fabric.circuits
    for category, key, code in (
        ("switch", "switches", "circuit-switch"),
        ("transceiver", "ends", "circuit-module"),
        ("cable", "ends", "circuit-fibre"),
    ):
        if key in circuits:
            path = f"fabrics.{name}.circuits.{key}"
            description = message(code, ports=circuits["ports"].value)
            line_id = f"{name}.{category}.circuit"
            yield Line(line_id, category, name, "circuit", None, None, None, description, circuits[key], path=path)


def _card(use: CardUse, fitted: FittedTier, fabric: str) -> Line:
    kind = use.kind.replace("_", "-")
    path = f"fabrics.{fabric}.chassis.{fitted.tier}.{use.kind}"
    line_id = f"{fabric}.switch.{fitted.tier}.{kind}"
    if use.identity:
        line = line_of_part(line_id, "switch", use.identity, use.quantity, fabric=fabric, role=fitted.tier, path=path)
        name = use.identity.name
        needed = message("cards-as-needed", cards=name, switch=fitted.switch.name)
        return line if use.each else line._replace(description=needed)
    code = "no-card-known" if use.each else "no-card-set-known"
    description = message(code, cards=message(CARDS[use.kind]), switch=fitted.switch.name)
    return Line(line_id, "switch", fabric, fitted.tier, None, None, None, description, use.quantity, path=path)


def _end(use: ModuleUse | AdapterUse, part: Identity, called: str, fabric: str) -> Line:
    line_id, role = f"{fabric}.{called}.{use.kind}.{use.device}", f"{use.kind}/{use.device}"
    path = f"fabrics.{fabric}.{called}s.{use.device}"
    return line_of_part(line_id, "transceiver", part, use.quantity, fabric=fabric, role=role, path=path)


def _cable(use: CableUse, fabric: str) -> Line:
    metres = f"{float(use.length_m):g} m"
    path = f"fabrics.{fabric}.cables.{use.kind}.{cable_id(use.cable, use.length_m)}"
    line_id = f"{fabric}.cable.{use.kind}" + (f".{use.role}" if use.role else "")
    if use.measured:
        length = "" if use.cable and cable_id(use.cable, use.length_m) != use.cable.identity.id else f"-{metres}"
        line_id += f".{cable_id(use.cable, use.length_m)}{length.replace(' ', '')}"
    if use.cable is None:
        description = message("no-cable-known", kind=use.kind, length=metres)
        return Line(line_id, "cable", fabric, use.kind, None, None, None, description, use.quantity, path=path)
    identity = use.cable.identity
    line = line_of_part(line_id, "cable", identity, use.quantity, fabric=fabric, role=use.kind, path=path)
    return line._replace(
        part=cable_id(use.cable, use.length_m),
        length_m=use.length_m,
        sku=cable_sku(use.cable, use.length_m),
        description=message(
            "jumper-of-length" if use.role == JUMPER else "cable-of-length", name=identity.name, length=metres
        ),
    )


def _panel(use: PanelUse, fabric: str) -> Line:
    identity = use.panel.identity
    path = f"fabrics.{fabric}.panels.{identity.id}"
    return line_of_part(f"{fabric}.panel", "cable", identity, use.quantity, fabric=fabric, role=PANEL, path=path)


def _storage(design: Design) -> Iterator[Line]:
    units = design.sizing.stored.units if design.sizing.stored else ()
    for part in units:
        identity, alone = part.of.identity, len(units) == 1
        id = "storage" if alone else f"storage.{identity.id}"
        path = "storage.servers" if alone else f"storage.parts.{identity.id}.servers"
        yield line_of_part(id, identity.kind, identity, part.number, role="storage", path=path)


def _racks(design: Design) -> Iterator[Line]:
    site, facility = design.plan.site, design.facility
    if site is None:
        return
    server = design.plan.cluster.server
    rack, other_rack = (
        message("rack-sized", units=site.rack_units.value, power=in_words(power))
        for power in (site.rack_power_w, site.management_power_w)
    )
    pdu = message("rack-pdu")
    of_rack = site.rack.identity if site.rack else None
    of_pdu = site.pdu.identity if site.pdu else None
    of_other = site.management_pdu.identity if site.management_pdu else None
    bought = not (server and server.rack_scale)
    rows = (
        ("rack", "compute", of_rack, rack, facility.compute_racks if bought else None),
        ("rack", "management", of_rack, other_rack, facility.management_racks),
        ("pdu", "compute", of_pdu, pdu, facility.compute_pdus if bought else None),
        ("pdu", "management", of_other, pdu, facility.management_pdus),
    )
    for category, role, part, description, quantity in rows:
        if quantity is None:
            continue
        line_id, path = f"{category}.{role}", f"site.{role}_{category}s"
        if part:
            yield line_of_part(line_id, category, part, quantity, role=role, path=path)
        else:
            yield Line(line_id, category, None, role, category, None, None, description, quantity, path=path)
