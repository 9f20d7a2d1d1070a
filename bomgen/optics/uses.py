"""The parts of links: what is rounded up per device, groups of link ends that are built alike, and the parts in use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any, NamedTuple

from bomgen.catalog.parts import Cable, Module, Panel
from bomgen.core.diagnostics import Problem
from bomgen.core.messages import Message, message
from bomgen.core.provenance import (
    Figure,
    Given,
    Reference,
    ceil_div,
    constant,
    difference,
    floor_div,
    formula,
    minimum,
    product,
    require,
    sum_of,
)
from bomgen.fabric.occupancy import Leaf, Occupancy, count_alike_leaves
from bomgen.fabric.types import Links
from bomgen.optics.cages import LeafShares, PortMap, Socket, TooFewCages, count_cables, count_pieces, may_share
from bomgen.optics.compatibility import (
    AUTO,
    Adapter,
    Cage,
    LinkChoice,
    LinkSpec,
    Medium,
    MediumOption,
    PartsLookup,
    Patch,
    Span,
    Unbuildable,
)
from bomgen.optics.selection import choose


@formula("pieces")
def modules_of_switches(switches: int, ports: int, ports_per_module: int) -> int:
    """Modules of equal switches, rounded up per switch."""
    return switches * ceil(ports / ports_per_module)


remaining_ports = difference("remaining_ports", "ports", "up", "others")
"""Uplink ports that remain for the last kind of link between switches."""
modules_in_cages = product("modules_in_cages", "pieces", "switches", "pieces")
"""Modules of equal switches with the same number of filled cages."""
modules_without_shared = difference("modules_without_shared", "pieces", "modules", "shared")
"""Modules for links between switches, without those shared with links to servers."""


@formula("pieces")
def modules_of_servers(servers: int, ports: int, ports_per_module: int) -> int:
    """Modules of equal servers, rounded up per server."""
    return servers * ceil(ports / ports_per_module)


reserved_modules = ceil_div("reserved_modules", "pieces", "reserved_ports", "ports_per_module")
"""Modules for reserved ports, which are adjacent on a spine."""
sum_of_modules = sum_of("sum_of_modules", "pieces", "modules", "more_modules")
"""Modules of several groups of switches."""
ports_of_machines = product("ports_of_machines", "ports", "machines", "ports")
"""Links of equal hosts."""
sum_of_links = sum_of("sum_of_links", "links", "links", "more_links")
"""Links of several kinds of hosts."""
links_left = difference("links_left", "links", "links", "others")
"""Links without those built with other parts."""
modules_without_short = difference("modules_without_short", "modules", "modules", "of_shorter")
"""Modules without those of shorter links, which use other parts."""
cables_without_short = difference("cables_without_short", "pieces", "cables", "of_shorter")
"""Cables without those of shorter links, which use other parts."""
ends_of_links = product("ends_of_links", "ports", "links", "ends")
"""Link ends at one kind of device."""
sum_of_cables = sum_of("sum_of_cables", "pieces", "cables", "more_cables")
"""Equal cables of several kinds of hosts."""
slower_rate = minimum("slower_rate", "Gb/s", "port_gbps", "link_gbps")
"""Rate of a link between ports of different rates."""


@formula("pieces")
def cables_of_links(links: int) -> int:
    """One cable per link."""
    return links


cables_of_plugs = floor_div("cables_of_plugs", "pieces", "plugs", "ends")
"""Cables with both ends in switches of one tier."""


both_ends = constant("both_ends", "ends", 2)
"""Ends in a tier of a link between two of its switches."""


BOTH_ENDS = both_ends()


# by leaf ------------------------------------------------------------------------------------------------------------
# Modules and cables on leaves whose links are of several kinds of machines, calculated cage by cage.
#
# Other machines are given by kind: `ports` holds the ports of each kind.

CAGES_OF_SWITCH = Reference(message("source-cages-of-switch"))
"""The source of the cages of a leaf."""


class LeafFilling(NamedTuple):
    """The selection of links to count on a leaf."""

    shares: LeafShares
    populated: bool
    """Whether unused ports have modules, too."""
    counted: int
    """The group whose pieces are counted."""
    cables: bool
    """Whether cables are counted, else modules."""
    only: frozenset[int] | None = None
    """The cages in which the pieces of all groups with the same part are counted; None: all."""

    def __str__(self) -> str:
        sockets = self.shares.sockets[: self.shares.down]
        return message("cages-of-leaf", cages=len({socket.cage for socket in sockets}), ports=len(sockets))


class PiecesByLeaf(NamedTuple):
    """Pieces by leaf: pairs of pieces per leaf and leaves with that number."""

    leaves: tuple[tuple[int, int], ...]

    def __str__(self) -> str:
        kinds = [message("pieces-on-leaves", pieces=pieces, leaves=leaves) for pieces, leaves in self.leaves]
        return message("listed", items=kinds) if kinds else message("no-pieces")


single_fabric = constant("single_fabric", "fabrics", 1)
"""Number of equal fabrics if there are no planes."""


SINGLE_FABRIC = single_fabric()


@formula("ports")
def empty_ports() -> tuple[int, ...]:
    """Ports of other hosts by kind, before the first kind is added."""
    return ()


EMPTY_PORTS = empty_ports()


@formula("ports")
def append_machines(ports: tuple[int, ...], machines: int, each: int) -> tuple[int, ...]:
    """Ports of other hosts by kind, with one more kind."""
    return (*ports, machines * each)


@formula("pieces")
def fill_leaves(seats: Occupancy, fabrics: int, ports: tuple[int, ...], filling: LeafFilling) -> PiecesByLeaf:
    """Return the pieces of a group of links on every leaf. Raises TooFewCages."""
    return count_by_leaf(seats, fabrics, ports, filling)


def count_by_leaf(seats: Occupancy, fabrics: int, ports: tuple[int, ...], filling: LeafFilling) -> PiecesByLeaf:
    """Return the pieces of a group of links, equal leaves together. Raises TooFewCages."""
    counted: Counter[int] = Counter()
    for leaf, leaves in count_alike_leaves(seats, fabrics, ports):
        counted[_count_on_leaf(leaf, filling)] += leaves
    return PiecesByLeaf(tuple(sorted((pieces, leaves) for pieces, leaves in counted.items() if pieces)))


@formula("pieces")
def pieces_on_leaves(by_leaf: PiecesByLeaf) -> int:
    """Pieces on all leaves."""
    return sum(pieces * leaves for pieces, leaves in by_leaf.leaves)


def _count_on_leaf(leaf: Leaf, filling: LeafFilling) -> int:
    plugs, groups, sockets, *_ = filling.shares
    counted = filling.counted
    links = [leaf.servers, *[0] * (len(plugs) - 1)]
    for ports, group in zip(leaf.others, groups, strict=True):
        links[group] += ports
    first = filling.shares.first_ports(links)
    used = [sockets[start : start + count] for start, count in zip(first, links, strict=True)]
    if filling.cables:
        return count_cables(plugs[counted], used[counted])
    if not counted:
        others = {socket.cage for group in used[1:] for socket in group} - {socket.cage for socket in used[0]}
        loose = _ports_without_links(leaf, filling, used)
        used[0] = (*used[0], *(socket for socket in loose if plugs[0].links == 1 or socket.cage not in others))
    if filling.only is not None:
        alike = (each for plug, each in zip(plugs, used, strict=True) if plug == plugs[counted])
        return len(filling.only & {socket.cage for group in alike for socket in group})
    pieces = count_pieces(plugs[counted], used[counted])
    before = {
        socket.cage
        for group, plug in enumerate(plugs[:counted])
        if plug.part is not None and may_share(plug, plugs[counted])
        for socket in used[group]
    }
    return pieces - len(before & {socket.cage for socket in used[counted]}) if plugs[counted].links > 1 else pieces


def _ports_without_links(leaf: Leaf, filling: LeafFilling, used: list[tuple[Socket, ...]]) -> Iterator[Socket]:
    """Yield the ports with the servers' part but no cable: reserved ones, and the others if all are populated."""
    # They take the cages of the servers first. Raises TooFewCages.
    held = {socket.cage: plug for plug, sockets in zip(filling.shares.plugs, used, strict=True) for socket in sockets}
    taken = {socket for sockets in used for socket in sockets}
    free = [
        socket
        for socket in filling.shares.sockets
        if socket not in taken and (socket.cage not in held or held[socket.cage] == filling.shares.plugs[0])
    ]
    free.sort(key=lambda socket: socket.cage not in held)
    if leaf.reserved > len(free):
        raise TooFewCages(f"{leaf.reserved} reserved ports")
    yield from free[: filling.shares.down - len(taken) if filling.populated else leaf.reserved]


# the records of an interconnect -------------------------------------------------------------------------------------
# Groups of link ends that are built alike, and the parts in use.


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
