"""The records of an interconnect: groups of link ends that are built alike, and the parts in use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from bomgen.catalog.parts import Cable, Module, Panel
from bomgen.core.diagnostics import Problem
from bomgen.core.messages import Message, message
from bomgen.core.provenance import Figure, Given, require
from bomgen.fabric.types import Links
from bomgen.optics.cages import LeafShares, PortMap
from bomgen.optics.compatibility import Adapter, Cage, Unbuildable
from bomgen.optics.counting.per_device import modules_of_servers, sum_of_links, sum_of_modules
from bomgen.optics.selection import choose
from bomgen.optics.types import AUTO, LinkChoice, LinkSpec, Medium, MediumOption, PartsLookup, Patch, Span


class AttachedHosts(NamedTuple):
    """Equal machines on a fabric other than its servers."""

    pieces: Figure
    ports: Figure
    """Per machine."""
    cage: Cage | None
    """The cage; None if unknown: assumed to be the servers'."""
    port_gbps: Figure | None
    """The rate; None: that of the links of the fabric."""
    spec: LinkSpec | None = None
    """The plan's specification of their links; None: that of the fabric."""
    name: str = ""
    """Name of the customer's switch that they are; empty: they are machines of the cluster."""
    modules_offered: bool = True
    """Whether the modules at their end are bought."""


class ModuleUse(NamedTuple):
    """Modules of one kind of link in one kind of device."""

    kind: str
    device: str
    module: Module
    quantity: Figure
    ends: Figure
    """Link ends that they serve."""


JUMPER, TRUNKED = "jumper", "trunk"
"""Role of a cable in a link over panels: between a device and its panel, or between two panels."""


class CableUse(NamedTuple):
    """Cables of one kind of link; `cable` is None when no part is known."""

    kind: str
    cable: Cable | None
    length_m: Fraction
    quantity: Figure
    measured: bool = False
    """Whether the length follows from measured routes over the floor; then there may be several lengths."""
    role: str = ""
    """jumper or trunk, of links over patch panels; empty: a cable from device to device."""
    fixed_length: bool = False
    """Whether the length is that of some hosts alone, whatever the routes of other links are."""


class PanelUse(NamedTuple):
    """Patch panels of one kind."""

    panel: Panel
    quantity: Figure
    links: Mapping[str, Figure]
    """Links over the panels, by kind."""


@dataclass(frozen=True, eq=False)
class ShortLinks:
    """Links of a group with another medium, because they are shorter."""

    medium: Medium
    longest_m: Fraction
    links: Figure
    places: Any
    """Indices of their upper ends in the numbering of the cable list: an array of integers."""
    measured: bool = False
    """Whether each cable is as long as its route, as `LinkGroup.measured`."""


class FarModules(NamedTuple):
    """Modules at the end of the customer's switch, which are not bought."""

    name: str
    """Name of that switch."""
    module: Module
    quantity: Figure


class LinkGroup(NamedTuple):
    """Links of one kind that are built the same way, except short ones."""

    kind: str
    medium: Medium | None
    """The medium; None if no part is known."""
    length_m: Fraction
    rate_gbps: Figure
    others: tuple[int, ...] | None
    """Indices of the attached hosts that they belong to; None: the servers and all hosts with the same cages."""
    measured: bool = False
    """Whether each cable has the length of its route over the floor; `length_m` is then the longest."""
    fallback_length_m: Fraction = Fraction(0)
    """Length of cables without a known route."""
    patch: Patch | None = None
    """Patch panels and trunks between racks; None: each link is one cable."""
    span: Span | None = None
    """What they connect; None: not requested."""
    short: tuple[ShortLinks, ...] = ()
    """Links with another medium, because their lengths are known."""
    fixed_length: bool = False
    """Whether the length is that of these hosts alone, whatever the routes of other links are."""
    far: FarModules | None = None
    """The modules at the other end that are not bought."""


class AdapterUse(NamedTuple):
    """Adapters for modules of one kind of link in the cages of one kind of device."""

    kind: str
    device: str
    adapter: Adapter
    quantity: Figure


class Chosen(NamedTuple):
    """The choice for a kind of link, the reason, and the rejected options."""

    kind: str
    option: str | None
    """Name of the option: medium of the cable, or fibre of the modules; None: no part is known."""
    reason: str
    """Code of the reason."""
    parts: tuple[str, ...]
    """Ids: lower module, upper module, cable."""
    cost: Fraction | None
    """Cost per link; None: not all parts have a price."""
    others: tuple[MediumOption, ...]


class Interconnect(NamedTuple):
    """All modules and cables of a fabric, with the problems found."""

    modules: tuple[ModuleUse, ...]
    cables: tuple[CableUse, ...]
    problems: tuple[Problem, ...]
    choices: tuple[Chosen, ...] = ()
    """The choice for each kind of link."""
    adapters: tuple[AdapterUse, ...] = ()
    link_groups: tuple[LinkGroup, ...] = ()
    """For each kind of link: the group of the servers, then one for each kind of host with different cages."""
    panels: tuple[PanelUse, ...] = ()
    port_maps: Mapping[tuple[str, str], PortMap] = {}
    """By tier and kind of link: the ports of a switch in their cages."""
    leaf_shares: Mapping[str, LeafShares] = {}
    """By kind of link: the sharing of a leaf's cages by its groups; only for links of endpoints."""

    def groups_of_kind(self, kind: str) -> list[LinkGroup]:
        """Return all groups of a kind of link."""
        return [group for group in self.link_groups if group.kind == kind]

    def short_links(self, kind: str) -> list[ShortLinks]:
        """Return the shorter links of a kind, those of all its groups that are built alike together."""
        found: dict[tuple[str, ...], ShortLinks] = {}
        for short in (short for group in self.groups_of_kind(kind) for short in group.short):
            same = found.get(short.medium.part_ids)
            longest = max(short.longest_m, same.longest_m) if same else short.longest_m
            links = sum_of_links(same.links, short.links) if same else short.links
            found[short.medium.part_ids] = ShortLinks(short.medium, longest, links, None)
        return list(found.values())

    def server_group(self, kind: str) -> LinkGroup | None:
        """Return the group of a kind of link that the servers belong to; None when there is none."""
        return next((group for group in self.groups_of_kind(kind) if group.others is None), None)


# shares -------------------------------------------------------------------------------------------------------------
# Groups of link ends that are built the same way: their medium and the parts plugged in at both ends.


class EndpointGroup(NamedTuple):
    """The links of one kind that are built the same way: of the servers, or of hosts with other cages."""

    links: Figure
    lower: Cage
    rate: Figure
    machines: tuple[tuple[Figure, Figure], ...]
    """At the server end: (number of machines, ports per machine) for each kind."""
    medium: Medium | None
    span: Span
    others: tuple[int, ...] | None = None
    """Indices of the attached hosts that they belong to; None: the servers and all hosts with the same cages."""
    spec: LinkSpec | None = None
    """The plan's specification; None: that of the kind of link."""
    far: FarModules | None = None

    @property
    def fixed_length(self) -> bool:
        """Whether the length is that of these hosts alone."""
        return self.spec is not None and (self.far is not None or isinstance(self.spec.length_m.origin, Given))

    @property
    def separate(self) -> bool:
        """Whether they belong to hosts with other cages than the servers."""
        return self.others is not None


def same_module(one: Module | None, module: Module | None) -> bool:
    """Return whether two modules are the same part with the same ports, or both are None."""
    if one is None or module is None:
        return one is module
    return one.identity.id == module.identity.id and one.ports.value == module.ports.value


def same_parts(one: Medium | None, other: Medium | None) -> bool:
    """Return whether two media consist of the same parts, so that warnings about one cover the other."""
    if one is None or other is None:
        return one is other
    same = same_module(one.lower, other.lower) and same_module(one.upper, other.upper)
    ids = [medium.cable.identity.id if medium.cable else None for medium in (one, other)]
    return same and ids[0] == ids[1]


def missing_fibre_message(links: Links, medium: Medium, receptacles: int) -> Message:
    """Return the warning that no fibre is known between the modules of a kind of link, and why."""
    ends = [module.ports.value for module in (medium.lower, medium.upper) if module]
    if min(ends) > receptacles:
        return message("no-fibre-panel", kind=links.kind, links=min(ends))
    if max(ends) > receptacles:
        return message("no-fibre-fan-out", kind=links.kind, links=max(ends))
    return message("no-fibre", kind=links.kind)


def machine_modules(machines: Sequence[tuple[Figure, Figure]], links_per_piece: Figure) -> Figure:
    """Return the modules of several kinds of machines, rounded up per machine.

    `machines` holds (number of machines, ports per machine). Raises ValueError without machines.
    """
    total: Figure | None = None
    for pieces, ports in machines:
        count = modules_of_servers(pieces, ports, links_per_piece)
        total = count if total is None else sum_of_modules(total, count)
    return require(total, "no machines")


def choose_medium(spec: LinkSpec, span: Span, parts: PartsLookup) -> Medium | None:
    """Return the medium for hosts with other cages than the servers, to which the plan's specification applies.

    The first that works of: the specification itself, without its module at the server end, any medium within the
    allowed options, any medium. None when nothing works.
    """
    ends = {end: part for end, part in spec.modules.items() if end != span.lower.device}
    open_spec = spec._replace(medium=Figure(AUTO, "word", spec.medium.origin), modules={}, fibre=None)
    for each in (spec, spec._replace(modules=ends), open_spec, open_spec._replace(allowed_options=())):
        with suppress(Unbuildable, LookupError):
            found = choose(each, span, parts).medium
            if found is not None:
                return found
    return None


def chosen(kind: str, choice: LinkChoice) -> Chosen:
    """Return a choice for a kind of link as a record of the interconnect."""
    medium = choice.medium
    parts = [part.identity.id for part in (medium.lower, medium.upper, medium.cable) if part] if medium else []
    return Chosen(
        kind, medium.option if medium else None, choice.reason, tuple(dict.fromkeys(parts)), choice.cost, choice.others
    )


def refuse_several_links(links: Links, medium: Medium | None) -> None:
    """Raise Unbuildable for a cable of several links between switches that have only one link to each other."""
    if links.within_tier and links.parallel is None and medium and medium.cable and medium.cable.links.value > 1:
        name, count = medium.cable.identity.id, medium.cable.links.value
        message = (
            f"{name} carries {count} links between two devices, {links.kind} links connect every two switches once"
        )
        raise Unbuildable(f"{message}; specify a single-link cable, or set `medium: auto`", "ports")
