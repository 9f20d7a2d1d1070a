"""The medium of each cable length, where the plan has a layout and leaves the medium of a kind of link open.

The longest link of a kind decides the medium of all of them first. Shorter links then get the best medium for their
length, such as copper inside a rack, unless they share a cage with a longer one: a cage holds one part, so the links
that share cages at either end are chosen together, for the longest of them.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from bomgen.cabling.lengths import CENTIMETRES, floor_figures, locate_ends, measure_routes
from bomgen.cabling.types import CableType, Column, Wiring
from bomgen.cabling.wiring import number_places
from bomgen.core.diagnostics import PlanErrors
from bomgen.core.messages import message
from bomgen.core.provenance import Cited, Figure, Reference
from bomgen.design.assembly import BuiltFabric, Design
from bomgen.optics.cages import FIXED_FORMS
from bomgen.optics.compatibility import Unbuildable
from bomgen.optics.counting.uses import (
    CableUse,
    Interconnect,
    LinkGroup,
    ModuleUse,
    ShortLinks,
    cables_without_short,
    links_left,
    modules_without_short,
    refuse_several_links,
    sum_of_cables,
    sum_of_links,
    sum_of_modules,
)
from bomgen.optics.selection import choose
from bomgen.optics.types import AOC, AUTO, COPPER, Medium, PartsLookup
from bomgen.plan.types import Site
from bomgen.site.floor_plan import Floor

LISTED = Reference(message("source-wiring-ends"))
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
    """Return whether the plan leaves the medium of links open, and their lengths are measured."""
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
            connected = _replace_links(connected, built, wiring, short, cable_type, medium)
    return built._replace(interconnect=connected)


def _bounds(group: LinkGroup, parts: PartsLookup) -> Column:
    """Return the lengths [cm] at which the best medium may change, ascending: stock lengths and module reaches.

    None is longer than the planned length of the links.
    """
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
    """Return the longest route [cm] of links that share cages with each link, directly or through others.

    Links of several kinds that share a cage have no known one: both must be built alike.
    """
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
    """Return the best medium for links of a length; None where nothing fits, or cables carry several kinds of link."""
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
    connected: Interconnect, built: BuiltFabric, wiring: Wiring, rows: Column, cable_type: CableType, medium: Medium
) -> Interconnect:
    kind, group = cable_type.kind, _group(built, cable_type)
    listed = Cited(message("links-of-fabric", fabric=built.plan.name, kind=kind), (LISTED,), "high")
    links = Figure(len(rows), "links", listed)
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
        link_groups=groups,
        cables=tuple(use for use in cables if use.quantity.value),
        modules=tuple(use for use in modules if use.quantity.value),
    )


def _find_cable(cables: list[CableUse], kind: str, medium: Medium) -> int:
    """Return the index of the cables of a medium for a kind of link; the length of `cables` where there are none."""
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
    """Return the modules of a fabric once some links of a group have another medium."""
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
