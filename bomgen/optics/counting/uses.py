"""The records of an interconnect: groups of link ends that are built alike, and the parts in use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from bomgen.catalog.parts import Cable, Module, Panel
from bomgen.core.diagnostics import Problem
from bomgen.core.provenance import Figure
from bomgen.optics.compatibility import Adapter, Cage
from bomgen.optics.counting.formulas import sum_of_links
from bomgen.optics.plugs import LeafShares
from bomgen.optics.port_map import PortMap
from bomgen.optics.types import Medium, MediumOption, Patch, Span


class AttachedHosts(NamedTuple):
    """Equal machines on a fabric other than its servers."""

    pieces: Figure
    ports: Figure
    """Per machine."""
    cage: Cage | None
    """None: not known; assumed to be the servers' cage."""
    port_gbps: Figure | None
    """None: as fast as the links of the fabric."""


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


class PanelUse(NamedTuple):
    """Patch panels of one kind."""

    panel: Panel
    quantity: Figure
    links: Mapping[str, Figure]
    """Links over the panels, by kind."""


@dataclass(frozen=True, eq=False)
class ShortLinks:
    """Links of a group that are built of something else, because they are shorter."""

    medium: Medium
    longest_m: Fraction
    links: Figure
    places: Any
    """Where they are plugged in at their upper ends, as the cable list numbers them: an array of whole numbers."""


class LinkGroup(NamedTuple):
    """Links of one kind that are built the same way, but for short ones."""

    kind: str
    medium: Medium | None
    """None: no part is known."""
    length_m: Fraction
    rate_gbps: Figure
    others: tuple[int, ...] | None
    """Indices of the attached hosts that they belong to; None: the servers and all hosts with the same cages."""
    measured: bool = False
    """Whether each cable has the length of its route over the floor; `length_m` is then the longest."""
    fallback_length_m: Fraction = Fraction(0)
    """Length of cables whose route is not known."""
    patch: Patch | None = None
    """Patch panels and trunks between racks; None: each link is one cable."""
    span: Span | None = None
    """What they connect; None: not asked for."""
    short: tuple[ShortLinks, ...] = ()
    """Those that are built otherwise, because their lengths are known."""


class AdapterUse(NamedTuple):
    """Adapters for modules of one kind of link in the cages of one kind of device."""

    kind: str
    device: str
    adapter: Adapter
    quantity: Figure


class Chosen(NamedTuple):
    """How a kind of link is built, why, and the rejected options."""

    kind: str
    option: str | None
    """Name of the option: medium of the cable, or fibre of the modules; None: no part is known."""
    reason: str
    """Code of the reason."""
    parts: tuple[str, ...]
    """Ids: lower module, upper module, cable."""
    cost: Fraction | None
    """Per link; None: not all parts have a price."""
    others: tuple[MediumOption, ...]


class Interconnect(NamedTuple):
    """All modules and cables of a fabric, with the problems found."""

    modules: tuple[ModuleUse, ...]
    cables: tuple[CableUse, ...]
    problems: tuple[Problem, ...]
    choices: tuple[Chosen, ...] = ()
    """For each kind of link."""
    adapters: tuple[AdapterUse, ...] = ()
    link_groups: tuple[LinkGroup, ...] = ()
    """For each kind of link: the group of the servers, then one for each kind of host with its own cages."""
    panels: tuple[PanelUse, ...] = ()
    port_maps: Mapping[tuple[str, str], PortMap] = {}
    """By tier and kind of link: the ports of a switch in their cages."""
    leaf_shares: Mapping[str, LeafShares] = {}
    """By kind of link: how its groups share the cages of a leaf; of links of endpoints alone."""

    def groups_of_kind(self, kind: str) -> list[LinkGroup]:
        """All groups of a kind of link."""
        return [group for group in self.link_groups if group.kind == kind]

    def short_links(self, kind: str) -> list[ShortLinks]:
        """The shorter links of a kind, those of all its groups that are built alike together."""
        found: dict[tuple[str, ...], ShortLinks] = {}
        for short in (short for group in self.groups_of_kind(kind) for short in group.short):
            same = found.get(short.medium.part_ids)
            longest = max(short.longest_m, same.longest_m) if same else short.longest_m
            links = sum_of_links(same.links, short.links) if same else short.links
            found[short.medium.part_ids] = ShortLinks(short.medium, longest, links, None)
        return list(found.values())

    def server_group(self, kind: str) -> LinkGroup | None:
        """The group of a kind of link that the servers belong to; None when there is none."""
        return next((group for group in self.groups_of_kind(kind) if group.others is None), None)
