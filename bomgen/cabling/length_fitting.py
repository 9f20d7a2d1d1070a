"""Cable lengths from the routes over the floor, where the plan has a layout, or within the only rack.

The fabrics are built with the lengths of the plan. The routes between the devices, which do not depend on the medium,
then replace those lengths; the medium of each kind of link is chosen again for its longest route, and every cable gets
the stock length for its route. Over patch panels a route is a jumper, a trunk and a jumper, each in a stock length.

Shorter links then get the best medium for their length (`media_by_length`). Derivations show the routes as a table of
lengths, because a formula of a million of them explains nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction

import numpy as np

from bomgen.cabling.devices import build_floor
from bomgen.cabling.lengths import (
    cable_routes,
    floor_figures,
    locate_ends,
    longest,
    pieces_up_to,
    stock_lengths_up_to,
    total_patched_length,
    zero_length,
)
from bomgen.cabling.media_by_length import choose_by_length
from bomgen.cabling.patch_panels import panels_of_racks, ports_of_racks
from bomgen.cabling.types import LINK, Wiring
from bomgen.cabling.wiring import wire
from bomgen.catalog.parts import Cable, Panel
from bomgen.core.diagnostics import PlanErrors, Problem
from bomgen.core.messages import message
from bomgen.core.provenance import Cited, Figure, Given, Reference
from bomgen.design.assembly import BuiltFabric, Design, raise_errors, rebuild_links
from bomgen.optics.cages import UNKNOWN, map_fabric_ports
from bomgen.optics.compatibility import Unbuildable
from bomgen.optics.counting.uses import JUMPER, TRUNKED, CableUse, Interconnect, LinkGroup, PanelUse
from bomgen.optics.options import select_patch
from bomgen.optics.types import FIBRE, LinkSpec, PartsLookup, metres
from bomgen.plan.types import Site
from bomgen.site.floor_plan import Floor

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
    """Raise PlanErrors where panels are set, and no rack for them is known."""
    for built in design.fabrics:
        for kind, spec in built.plan.links.items():
            if spec.panels:
                message = "panels need racks, but none are counted; set the height and power of the servers"
                path = f"fabrics.{built.plan.name}.links.{kind}.panels"
                raise PlanErrors([Problem(spec.panels.mark, "error", message, "layout", path)])


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
    """Return a fabric with the parts for links over panels. Raises PlanErrors for links that cannot use any."""
    if not any(spec.panels for spec in built.plan.links.values()):
        return built
    link_groups = tuple(_add_patch(built, link_group, parts) for link_group in built.interconnect.link_groups)
    return built._replace(interconnect=built.interconnect._replace(link_groups=link_groups))


def _add_patch(built: BuiltFabric, group: LinkGroup, parts: PartsLookup) -> LinkGroup:
    """Return links with the parts for panels; those of other machines that no panel can take stay direct.

    All cables cut to their route are counted by route.
    """
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
        raise PlanErrors([Problem(spec.panels.mark, "error", str(error), rule, path)]) from error


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
            raise PlanErrors([Problem(asked.mark, "error", message, "reach", path)])


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
    """Yield the jumpers and trunks of a fabric by kind of link, part and length."""
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
    """Yield the panels of a fabric, part by part: every rack rounds up separately."""
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
