"""Cable lengths and media from the routes over the floor, where the plan has a layout, or within the only rack.

Without a layout the cables inside a rack are as long as their places need, all others as long as the plan says; media
stay, as what is between the racks is not known.

The fabrics are built with the lengths of the plan. The routes between the devices, which do not depend on the medium,
then replace those lengths; the medium of each kind of link is chosen again for its longest route, and every cable gets
the stock length for its route. Over patch panels a route is a jumper, a trunk and a jumper, each in a stock length.
Derivations show the routes as a table of lengths, because a formula of a million of them explains nothing.

Where the plan leaves the medium of a kind of link open, shorter links then get the best medium for their length, such
as copper inside a rack, unless they share a cage with a longer one: a cage holds one part, so the links that share
cages at either end are chosen together, for the longest of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction

import numpy as np

from bomgen.cabling.devices import (
    CENTIMETRES,
    build_floor,
    cable_routes,
    floor_figures,
    locate_ends,
    longest,
    measure_routes,
    pieces_up_to,
    stock_lengths_up_to,
    total_patched_length,
    zero_length,
)
from bomgen.cabling.patch_panels import panels_of_racks, ports_of_racks
from bomgen.cabling.types import LINK, CableType, Column, Wiring
from bomgen.cabling.wiring import number_places, wire
from bomgen.catalog.parts import Cable, Panel
from bomgen.core.diagnostics import PlanErrors, Problem, error_at
from bomgen.core.messages import message
from bomgen.core.provenance import Cited, Figure, Given, Reference
from bomgen.design.assembly import BuiltFabric, Design, raise_errors, rebuild_links
from bomgen.optics.cages import FIXED_FORMS, UNKNOWN, map_fabric_ports
from bomgen.optics.compatibility import AOC, AUTO, COPPER, FIBRE, LinkSpec, Medium, PartsLookup, Unbuildable, metres
from bomgen.optics.connect import foreign_modules
from bomgen.optics.selection import choose, select_patch
from bomgen.optics.uses import (
    JUMPER,
    TRUNKED,
    CableUse,
    Interconnect,
    LinkGroup,
    ModuleUse,
    PanelUse,
    ShortLinks,
    cables_without_short,
    links_left,
    modules_without_short,
    refuse_several_links,
    sum_of_cables,
    sum_of_links,
    sum_of_modules,
)
from bomgen.plan.types import Site
from bomgen.site.floor_plan import Floor

UNKNOWN_CM = np.iinfo(np.int64).max
"""The route of links with unknown ends, and of those whose medium may not change."""


def choose_by_length(design: Design, wiring: Wiring, site: Site, floor: Floor, parts: PartsLookup) -> Design:
    """Return the design with the best medium for the length of each link.

    `wiring` is the cable list of `design`, in which all links of a kind are built alike.
    """
    fabrics = []
    for built in design.fabrics:
        numbers = [at for at, cable_type in enumerate(wiring.cable_types) if cable_type.fabric == built.plan.name]
        open_numbers = [at for at in numbers if _is_open(built, wiring.cable_types[at])]
        if open_numbers and not built.plan.reserved_ports:
            rows = np.flatnonzero(np.isin(wiring.cable_type, numbers))
            built = _with_shorter(built, wiring, rows, open_numbers, site, floor, parts)
        fabrics.append(built)
    return design._replace(fabrics=tuple(fabrics))


def _is_open(built: BuiltFabric, cable_type: CableType) -> bool:
    group, spec = _group(built, cable_type), built.plan.links[cable_type.kind]
    if group.span is None or group.medium is None or group.patch or group.fixed_length:
        return False
    fixed = {group.span.lower.form, group.span.upper.form} & {*FIXED_FORMS}
    measured = any(name == "ways" for name, _ in spec.length_m.inputs)
    named = spec.medium.value != AUTO or spec.modules or spec.fibre or spec.panels
    return measured and not named and not fixed and not built.interconnect.adapters


def _group(built: BuiltFabric, cable_type: CableType) -> LinkGroup:
    groups = built.interconnect.groups_of_kind(cable_type.kind)
    return next(group for group in groups if group.others == cable_type.others)


def _with_shorter(
    built: BuiltFabric,
    wiring: Wiring,
    rows: Column,
    numbers: list[int],
    site: Site,
    floor: Floor,
    parts: PartsLookup,
) -> BuiltFabric:
    """Return a fabric with other media for the shorter links of some cable types; `rows` are those of all its links."""
    ends = locate_ends(wiring, rows, site, floor)
    if ends is None:
        return built
    figures = tuple(figure.value for figure in floor_figures(site))
    ways = np.where(ends.known, measure_routes(ends, figures, Fraction(0)), UNKNOWN_CM)
    longest_cm = _longest_together(wiring, rows, ways)
    connected = built.interconnect
    for number in numbers:
        cable_type = wiring.cable_types[number]
        group = _group(built, cable_type)
        of_type = np.flatnonzero(wiring.cable_type[rows] == number)
        by_parts: dict[tuple[str, ...], tuple[Medium, list[int]]] = {}
        bounds = _bounds(group, parts)
        steps = np.searchsorted(bounds, longest_cm[of_type])
        for step in np.unique(steps[steps < len(bounds)]).tolist():
            medium = _best(built, cable_type, Fraction(int(bounds[step]), CENTIMETRES), parts)
            if medium and group.medium and medium.part_ids != group.medium.part_ids:
                _, same = by_parts.get(medium.part_ids, (medium, []))
                by_parts[medium.part_ids] = medium, [*same, step]
        for medium, same in by_parts.values():
            short = rows[of_type[np.isin(steps, same)]]
            connected = _replace_links(connected, built, wiring, short, cable_type, medium, parts)
    return built._replace(interconnect=connected)


def _bounds(group: LinkGroup, parts: PartsLookup) -> Column:
    """Return the lengths [cm] at which the best medium may change, ascending: stock lengths and module reaches."""
    # None is longer than the planned length of the links.
    span = group.span
    if span is None:
        return np.zeros(0, dtype=np.int64)
    cables = [length for medium in (*COPPER, AOC) for cable in parts.cables(medium) for length in cable.lengths_m]
    rates = [(cage.form, span.gbps * cage.links) for cage in (span.lower, span.upper)]
    modules = [module for form, gbps in rates for module in parts.modules(form, gbps)]
    reach = [float(module.reach_m.value) for module in modules if module.reach_m]
    lengths = {round(length * CENTIMETRES) for length in (*cables, *reach)}
    return np.array(sorted(length for length in lengths if length <= group.length_m * CENTIMETRES), dtype=np.int64)


def _longest_together(wiring: Wiring, rows: Column, ways: Column) -> Column:
    """Return the longest route [cm] of links that share cages with each link, directly or through others."""
    # Links of several kinds that share a cage have no known one: both must be built alike.
    count = len(rows)
    per_cage = np.array([cable_type.links_per_cage for cable_type in wiring.cable_types])[wiring.cable_type[rows]]
    nodes = []
    for end, (device, cage) in enumerate(((wiring.a_device, wiring.a_cage), (wiring.b_device, wiring.b_cage))):
        cages = number_places(device[rows], cage[rows], np.zeros(count, dtype=np.int64))
        nodes.append(np.where(per_cage[:, end] == 1, -1 - np.arange(count) - end * count, cages))
    _, node = np.unique(np.concatenate(nodes), return_inverse=True)
    lower, upper = node[:count], node[count:]
    label = np.arange(node.max(initial=-1) + 1)
    while True:
        before = label.copy()
        least = np.minimum(label[lower], label[upper])
        np.minimum.at(label, lower, least)
        np.minimum.at(label, upper, least)
        label = label[label]
        if np.array_equal(before, label):
            break
    of_row, kind = label[lower], wiring.cable_type[rows].astype(np.int64)
    longest, last = np.zeros(len(label), dtype=np.int64), np.full(len(label), -1)
    first = np.full(len(label), UNKNOWN_CM)
    np.maximum.at(longest, of_row, ways)
    np.minimum.at(first, of_row, kind)
    np.maximum.at(last, of_row, kind)
    longest[first != last] = UNKNOWN_CM
    longest_of_row: Column = longest[of_row]
    return longest_of_row


def _best(built: BuiltFabric, cable_type: CableType, length_m: Fraction, parts: PartsLookup) -> Medium | None:
    span, spec = _group(built, cable_type).span, built.plan.links[cable_type.kind]
    if span is None:
        return None
    try:
        medium = choose(spec, span._replace(length_m=length_m), parts).medium
        refuse_several_links(next(link for link in built.fabric.links if link.kind == cable_type.kind), medium)
    except (Unbuildable, PlanErrors, LookupError):
        return None
    return medium


def _replace_links(
    connected: Interconnect,
    built: BuiltFabric,
    wiring: Wiring,
    rows: Column,
    cable_type: CableType,
    medium: Medium,
    parts: PartsLookup,
) -> Interconnect:
    kind, group = cable_type.kind, _group(built, cable_type)
    listed = Cited(message("links-of-fabric", fabric=built.plan.name, kind=kind), (LISTED,), "high")
    links = Figure(len(rows), "links", listed)
    known = {problem.message for problem in connected.problems}
    said = foreign_modules(built.fabric, (span.lower, span.upper), medium, parts) if (span := group.span) else ()
    mark = built.plan.links[kind].mark
    warned = [Problem(mark, "warning", text, "foreign-module", f"links.{kind}") for text in said if text not in known]
    upper_ends = number_places(wiring.b_device[rows], wiring.b_cage[rows], wiring.b_lane[rows])
    short = ShortLinks(medium, medium.length_m, links, upper_ends)
    groups = tuple(
        link_group._replace(short=(*link_group.short, short))
        if (link_group.kind, link_group.others) == (kind, group.others)
        else link_group
        for link_group in connected.link_groups
    )
    pieces = Figure(len(np.unique(wiring.piece[rows])), "pieces", listed)
    cables = list(connected.cables)
    if group.medium and group.medium.cable:
        at = _find_cable(cables, kind, group.medium)
        cables[at] = cables[at]._replace(quantity=cables_without_short(cables[at].quantity, pieces))
    at = _find_cable(cables, kind, medium)
    if at < len(cables):
        cables[at] = cables[at]._replace(quantity=sum_of_cables(cables[at].quantity, links))
    else:
        cables.append(CableUse(kind, medium.cable, medium.length_m, links))
    modules = _modules(connected, wiring, rows, kind, group, medium, links)
    return connected._replace(
        problems=(*connected.problems, *warned),
        link_groups=groups,
        cables=tuple(use for use in cables if use.quantity.value),
        modules=tuple(use for use in modules if use.quantity.value),
    )


def _find_cable(cables: list[CableUse], kind: str, medium: Medium) -> int:
    wanted = medium.cable.identity.id if medium.cable else None
    uses = ((at, use.cable) for at, use in enumerate(cables) if use.kind == kind and not use.fixed_length)
    return next((at for at, cable in uses if cable and cable.identity.id == wanted), len(cables))


def _modules(
    connected: Interconnect,
    wiring: Wiring,
    rows: Column,
    kind: str,
    group: LinkGroup,
    medium: Medium,
    links: Figure,
) -> list[ModuleUse]:
    modules = list(connected.modules)
    span, old = group.span, group.medium
    if span is None or old is None:
        return modules
    cages = [
        number_places(device[rows], cage[rows], np.zeros(len(rows), dtype=np.int64))
        for device, cage in ((wiring.a_device, wiring.a_cage), (wiring.b_device, wiring.b_cage))
    ]
    sides = [(span.lower, cages[0], old.lower, medium.lower), (span.upper, cages[1], old.upper, medium.upper)]
    if span.lower.device == span.upper.device:
        sides = [(span.lower, np.concatenate(cages), old.lower, medium.lower)]
    for cage, plugged, before, after in sides:
        ends = Figure(len(plugged), "ends", links.origin)
        for module, leaves in ((before, True), (after, False)):
            if module is None:
                continue
            pieces = len(np.unique(plugged)) if module.ports.value > 1 else len(plugged)
            count = Figure(pieces, "modules", links.origin)
            wanted = (kind, cage.device, module.identity.id)
            listed = [(use.kind, use.device, use.module.identity.id) for use in modules]
            at = listed.index(wanted) if wanted in listed else len(modules)
            if at == len(modules):
                modules.append(ModuleUse(kind, cage.device, module, count, ends))
            elif leaves:
                quantity = modules_without_short(modules[at].quantity, count)
                modules[at] = modules[at]._replace(quantity=quantity, ends=links_left(modules[at].ends, ends))
            else:
                quantity = sum_of_modules(modules[at].quantity, count)
                modules[at] = modules[at]._replace(quantity=quantity, ends=sum_of_links(modules[at].ends, ends))
    return modules


LISTED = Reference(message("source-wiring-ends"))
SOLD = Reference(message("source-lengths-sold"))
Lengths = Mapping[tuple[str, str], Figure]
"""The longest route of kinds of link, by fabric and kind."""


def route_cables(design: Design, parts: PartsLookup) -> Design:
    """Return the design with cable lengths from their routes, where these and the racks are known.

    A length set by the plan for a kind of link is kept. Raises PlanErrors for a specified part that does not reach,
    TooFewCages and ValueError as `wire` does.
    """
    site, racks = design.plan.site, build_floor(design)
    if site is None or not design.routed:
        return design
    if racks is None:
        _refuse_panels(design)
        raise_errors(*(built.interconnect for built in design.fabrics))
        return design
    before = wire(_without_panels(design))
    lengths = {
        (built.plan.name, kind): ways
        for built in design.fabrics
        for kind, spec in built.plan.links.items()
        if not isinstance(spec.length_m.origin, Given)
        and (ways := _measured_routes(before, built.plan.name, kind, None, site, racks, spec.length_m))
    }
    del before  # for a million GPUs it takes a third of a gibibyte
    chosen = _select_parts(design, {key: longest(ways) for key, ways in lengths.items()}, parts)
    del lengths
    after = wire(chosen)
    while longer := _patched_lengths(after, chosen):
        del after
        chosen = _select_parts(chosen, longer, parts)
        after = wire(chosen)
    _check_sold(after, chosen)
    by_length = choose_by_length(chosen, after, site, racks, parts)
    if any(group.short for built in by_length.fabrics for group in built.interconnect.link_groups):
        del after
        chosen = by_length
        after = wire(chosen)
    return chosen._replace(
        fabrics=tuple(
            _fit_lengths(built, after, site, racks, before.plan.links)
            for built, before in zip(chosen.fabrics, design.fabrics, strict=True)
        )
    )


def fit_cables_in_racks(design: Design) -> Design:
    """Return a design without a layout with the cables inside a rack in the stock lengths for their places."""
    site, racks = design.plan.site, build_floor(design)
    if site is None or racks is None:
        return design
    wiring, fabrics = wire(design), list[BuiltFabric]()
    for built in design.fabrics:
        asked = built.plan.links
        links = {
            kind: spec._replace(length_m=longest(ways))
            for kind, spec in asked.items()
            if not isinstance(spec.length_m.origin, Given)
            and (ways := _measured_routes(wiring, built.plan.name, kind, None, site, racks, spec.length_m))
        }
        planned = built._replace(plan=built.plan._replace(links={**asked, **links}))
        fitted = _fit_lengths(planned, wiring, site, racks, asked) if links else built
        # Cables between racks have no known route by design, which is no problem of the plan.
        problems = built.interconnect.problems
        fabrics.append(fitted._replace(interconnect=fitted.interconnect._replace(problems=problems)))
    return design._replace(fabrics=tuple(fabrics))


def _without_panels(design: Design) -> Design:
    """Return the design with only the ends of links: their parts do not affect the positions of the ends."""
    fabrics = []
    for built in design.fabrics:
        links = [LinkGroup(link.kind, None, Fraction(0), link.rate_gbps, None) for link in built.fabric.links]
        links += [group._replace(medium=None) for group in built.interconnect.link_groups if group.fixed_length]
        port_maps = map_fabric_ports(built.fabric, lambda *_: UNKNOWN, built.chassis)
        ends = Interconnect((), (), (), link_groups=tuple(links), port_maps=port_maps)
        fabrics.append(built._replace(interconnect=ends))
    return design._replace(fabrics=tuple(fabrics))


def _refuse_panels(design: Design) -> None:
    for built in design.fabrics:
        for kind, spec in built.plan.links.items():
            if spec.panels:
                message = "panels need racks, but none are counted; set the height and power of the servers"
                path = f"fabrics.{built.plan.name}.links.{kind}.panels"
                raise error_at(spec.panels.mark, message, "layout", path)


def _select_parts(design: Design, lengths: Lengths, parts: PartsLookup) -> Design:
    fabrics = []
    for built in design.fabrics:
        name = built.plan.name
        specs = {
            kind: spec._replace(length_m=lengths[name, kind]) if (name, kind) in lengths else spec
            for kind, spec in built.plan.links.items()
        }
        fabrics.append(_over_panels(rebuild_links(design, built, specs, parts), parts))
    return design._replace(fabrics=tuple(fabrics))


def _over_panels(built: BuiltFabric, parts: PartsLookup) -> BuiltFabric:
    if not any(spec.panels for spec in built.plan.links.values()):
        return built
    link_groups = tuple(_add_patch(built, link_group, parts) for link_group in built.interconnect.link_groups)
    return built._replace(interconnect=built.interconnect._replace(link_groups=link_groups))


def _add_patch(built: BuiltFabric, group: LinkGroup, parts: PartsLookup) -> LinkGroup:
    """Return links with the parts for panels; those of other machines that no panel can take stay direct."""
    # All cables cut to their route are counted by route.
    spec = built.plan.links[group.kind]
    if spec.panels is None:
        return group
    try:
        return group._replace(patch=select_patch(spec.panels, group.medium, parts))
    except (Unbuildable, LookupError) as error:
        if group.others is not None:
            return group
        rule = error.rule if isinstance(error, Unbuildable) else "unknown-part"
        path = f"fabrics.{built.plan.name}.links.{group.kind}.panels"
        raise error_at(spec.panels.mark, str(error), rule, path) from error


def _patched_lengths(wiring: Wiring, design: Design) -> Lengths:
    """Return the longest way of jumper, trunk and jumper by kind of link, if it is longer than planned."""
    table = wiring.over_panels
    longest_by_kind = {}
    for built in design.fabrics:
        for kind, spec in built.plan.links.items():
            if spec.panels is None or table is None:
                continue
            lengths = total_patched_length(wiring, table, built.plan.name, kind)
            if lengths and lengths.centimetres:
                listed = Cited(message("links-over-panels", fabric=built.plan.name, kind=kind), (LISTED,), "high")
                longer = longest(Figure(lengths, "ways", listed))
                if longer.value > spec.length_m.value:
                    longest_by_kind[built.plan.name, kind] = longer
    return longest_by_kind


def _check_sold(wiring: Wiring, design: Design) -> None:
    """Raise PlanErrors for a jumper or a trunk that is not sold as long as its route."""
    table, plans = wiring.each_cable, {built.plan.name: built.plan for built in design.fabrics}
    for number, cable_type in enumerate(table.cable_types):
        cable, asked = (
            cable_type.medium.cable if cable_type.medium else None,
            plans[cable_type.fabric].links[cable_type.kind].panels,
        )
        if cable_type.role == LINK or cable is None or asked is None:
            continue
        most = max(cable.lengths_m, default=0.0)
        furthest = float(table.length_m[table.cable_type == number].max(initial=0))
        if furthest > most:
            message = (
                f"{cable.identity.id} is sold up to {metres(Fraction(str(most)))} m, the route over the floor needs "
                f"{furthest:g} m; specify another {cable_type.role}"
            )
            path = f"fabrics.{cable_type.fabric}.links.{cable_type.kind}.panels"
            raise error_at(asked.mark, message, "reach", path)


def _measured_routes(
    wiring: Wiring,
    fabric: str,
    kind: str,
    cable: Cable | None,
    site: Site,
    racks: Floor,
    fallback_length_m: Figure,
    role: str = LINK,
) -> Figure | None:
    """Return the routes of the cables of a kind of link, or of those with one cable; None where they are unknown."""
    numbers = [
        number
        for number, cable_type in enumerate(wiring.cable_types)
        if (cable_type.fabric, cable_type.kind, cable_type.role) == (fabric, kind, role)
        and not cable_type.fixed_length
        and (
            cable is None
            or (
                cable_type.medium
                and cable_type.medium.cable
                and cable_type.medium.cable.identity.id == cable.identity.id
            )
        )
    ]
    rows = np.flatnonzero(np.isin(wiring.cable_type, numbers))
    ends = locate_ends(wiring, rows, site, racks) if len(rows) else None
    if ends is None:
        return None
    code = {TRUNKED: "trunks-of-links", JUMPER: "jumpers-of-links"}.get(role, "links-of-fabric")
    what = message(code, fabric=fabric, kind=kind)
    return cable_routes(Figure(ends, "ways", Cited(what, (LISTED,), "high")), *floor_figures(site), fallback_length_m)


def _fit_lengths(
    built: BuiltFabric, wiring: Wiring, site: Site, racks: Floor, asked: Mapping[str, LinkSpec]
) -> BuiltFabric:
    """Return a fabric with its cables in stock lengths for their routes; `asked` are the plan's link settings."""
    connected, specs = built.interconnect, built.plan.links
    link_groups = tuple(
        link_group._replace(
            measured=not link_group.fixed_length and _matches_spec(link_group, specs[link_group.kind]),
            short=tuple(
                replace(short, measured=_has_stock_lengths(short.medium.cable, specs[link_group.kind]))
                for short in link_group.short
            ),
            fallback_length_m=Fraction(asked[link_group.kind].length_m.value),
        )
        for link_group in connected.link_groups
    )
    problems = list(connected.problems)
    table, cables = wiring.each_cable, list[CableUse]()
    for use in connected.cables:
        ways = None
        if use.cable and not use.fixed_length and _has_stock_lengths(use.cable, specs[use.kind]):
            ways = _measured_routes(table, built.plan.name, use.kind, use.cable, site, racks, asked[use.kind].length_m)
        if ways and use.cable:
            cables += _lengths(use.kind, use.cable, ways)
            problems += _doubts(use.kind, use.cable, ways, asked[use.kind])
        elif not _goes_over_panels(connected.link_groups, use):
            cables.append(use)
    cables += _panel_cables(built, table, site, racks, asked)
    panels = tuple(_panels(built, wiring))
    return built._replace(
        interconnect=connected._replace(
            cables=tuple(cables), link_groups=link_groups, panels=panels, problems=tuple(problems)
        )
    )


def _goes_over_panels(groups: tuple[LinkGroup, ...], use: CableUse) -> bool:
    """Return whether every link of a cable goes over panels, so that an end-to-end fibre is none of them."""
    same = [group for group in groups if group.kind == use.kind and group.medium and group.medium.cable == use.cable]
    return bool(same) and all(group.patch for group in same)


def _panel_cables(
    built: BuiltFabric, table: Wiring, site: Site, racks: Floor, asked: Mapping[str, LinkSpec]
) -> Iterator[CableUse]:
    cables: dict[tuple[str, str, str], Cable] = {}
    for cable_type in table.cable_types:
        if (
            cable_type.fabric == built.plan.name
            and cable_type.role != LINK
            and cable_type.medium
            and cable_type.medium.cable
        ):
            cables[cable_type.kind, cable_type.role, cable_type.medium.cable.identity.id] = cable_type.medium.cable
    for (kind, role, _), cable in cables.items():
        ways = _measured_routes(table, built.plan.name, kind, cable, site, racks, asked[kind].length_m, role)
        if ways:
            yield from _lengths(kind, cable, ways, role)


def _panels(built: BuiltFabric, wiring: Wiring) -> Iterator[PanelUse]:
    kinds: dict[str, tuple[Panel, dict[str, int]]] = {}
    table = wiring.each_cable
    for number, cable_type in enumerate(table.cable_types):
        if cable_type.fabric == built.plan.name and cable_type.role == TRUNKED and cable_type.patch:
            links = int(np.count_nonzero(table.cable_type == number))
            _, of_kinds = kinds.setdefault(cable_type.patch.panel.identity.id, (cable_type.patch.panel, {}))
            of_kinds[cable_type.kind] = of_kinds.get(cable_type.kind, 0) + links
    for panel, of_kinds in kinds.values():
        listed = Cited(
            message("links-over-panel", fabric=built.plan.name, panel=panel.identity.name), (LISTED,), "high"
        )
        ports = Figure(ports_of_racks(wiring, built.plan.name, panel), "ports", listed)
        carried = {kind: Figure(links, "links", listed) for kind, links in of_kinds.items()}
        yield PanelUse(panel, panels_of_racks(ports, panel.ports), carried)


def _matches_spec(group: LinkGroup, spec: LinkSpec) -> bool:
    """Return whether the cables of links, or their jumpers and trunks, are as long as their routes."""
    cable = group.medium.cable if group.medium else None
    return _has_stock_lengths(cable, spec) or bool(cable and group.patch and _is_measured(spec))


def _has_stock_lengths(cable: Cable | None, spec: LinkSpec) -> bool:
    """Return whether every cable is as long as its route: unless its length or one fibre length is set."""
    if cable is None:
        return False
    one_length = cable.named_length_m is not None or (spec.one_fibre_length and cable.medium == FIBRE)
    return bool(cable.lengths_m) and _is_measured(spec) and not one_length


def _is_measured(spec: LinkSpec) -> bool:
    return any(name == "ways" for name, _ in spec.length_m.inputs)


def _lengths(kind: str, cable: Cable, ways: Figure, role: str = "") -> Iterator[CableUse]:
    below = zero_length()
    for metres_sold in stock_lengths_up_to(cable.lengths_m, longest.plain(ways.value)):
        length = Figure(metres_sold, "m", Cited(cable.identity.name, (SOLD,), "high"))
        pieces = pieces_up_to(ways, below, length)
        if pieces.value:
            yield CableUse(kind, cable, length.value, pieces, measured=True, role=role)
        below = length


def _doubts(kind: str, cable: Cable, ways: Figure, asked: LinkSpec) -> Iterator[Problem]:
    """Yield warnings about cables without a known route, and about those longer than any stock length."""
    table, ends = ways.value, dict(ways.inputs)["ends"].value
    every = sum(count for _, count in table.centimetres)
    if ends.unplaced:
        length = metres(Fraction(asked.length_m.value))
        text = message("cable-ends-unplaced", unplaced=ends.unplaced, all=every, kind=kind, length=length)
        yield Problem(asked.mark, "warning", text, "layout", f"links.{kind}")
    most = Fraction(str(max(cable.lengths_m)))
    longer = every - table.count_up_to(most)
    if longer:
        text = message("cable-too-short", cable=cable.identity.id, longest=metres(most), count=longer, kind=kind)
        yield Problem(asked.mark, "warning", text, "reach", f"links.{kind}")
