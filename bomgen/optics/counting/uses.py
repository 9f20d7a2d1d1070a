"""Modules, cables and adapters in use, the choices behind them, and the machines that they join, as data."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple

from bomgen.catalog.parts import Cable, Module, Panel
from bomgen.core.diagnostics import Problem
from bomgen.core.provenance import Figure
from bomgen.optics.compatibility import Adapter, Cage
from bomgen.optics.selection import Medium, MediumOption, Patch


class AttachedHosts(NamedTuple):
    """Machines on a fabric beside its servers, all alike."""

    pieces: Figure
    ports: Figure
    """Of each."""
    cage: Cage | None
    """None: nobody says, and it is taken for the servers'."""
    port_gbps: Figure | None
    """None: as fast as the links of the fabric."""


class ModuleUse(NamedTuple):
    """Modules of one kind of link in one kind of device."""

    kind: str
    device: str
    module: Module
    quantity: Figure
    ends: Figure
    """Ends of links that they serve."""


JUMPER, TRUNKED = "jumper", "trunk"
"""What a cable of a link over panels is: between a device and its panel, or between two panels."""


class CableUse(NamedTuple):
    """Cables of one kind of link; the part is None when none is known."""

    kind: str
    cable: Cable | None
    length_m: Fraction
    quantity: Figure
    by_route: bool = False
    """Whether there are several lengths, each for the ways over the floor that need it."""
    role: str = ""
    """jumper or trunk, of links over patch panels; empty: a cable from device to device."""


class PanelUse(NamedTuple):
    """Patch panels of one kind."""

    panel: Panel
    quantity: Figure
    links: Mapping[str, Figure]
    """Links over them, by kind."""


class LinkGroup(NamedTuple):
    """Links of one kind that are built alike, and how."""

    kind: str
    medium: Medium | None
    """None: no part is known."""
    length_m: Fraction
    rate_gbps: Figure
    others: tuple[int, ...] | None
    """The machines beside the servers that they belong to, by their place among all; None: every other link."""
    by_route: bool = False
    """Whether each cable is as long as its way over the floor, and `length_m` is the longest."""
    otherwise_m: Fraction = Fraction(0)
    """The length of those whose way is not known."""
    patch: Patch | None = None
    """What stands between racks in place of a fibre; None: nothing does."""


class AdapterUse(NamedTuple):
    """Adapters that let modules of one kind of link sit in the cages of one kind of device."""

    kind: str
    device: str
    adapter: Adapter
    quantity: Figure


class Chosen(NamedTuple):
    """How a kind of link is built, why so, and why not otherwise."""

    kind: str
    option: str | None
    """Medium of the cable, or fibre of the modules; None: no part is known."""
    reason: str
    """Code of why."""
    parts: tuple[str, ...]
    """Ids: the modules from below to above, then the cable."""
    cost: Fraction | None
    """Of a link; None: not all parts have a price."""
    others: tuple[MediumOption, ...]


class Interconnect(NamedTuple):
    """All modules and cables of a fabric, and what is to be said of them."""

    modules: tuple[ModuleUse, ...]
    cables: tuple[CableUse, ...]
    problems: tuple[Problem, ...]
    choices: tuple[Chosen, ...] = ()
    """For each kind of link."""
    adapters: tuple[AdapterUse, ...] = ()
    alike: tuple[LinkGroup, ...] = ()
    """For each kind of link those of the servers, and apart from them those of other machines."""
    panels: tuple[PanelUse, ...] = ()

    def of_kind(self, kind: str) -> list[LinkGroup]:
        """The links of a kind, those apart that are built apart."""
        return [alike for alike in self.alike if alike.kind == kind]

    def of_servers(self, kind: str) -> LinkGroup | None:
        """The links of a kind that are built as those of the servers; None where nothing is built."""
        return next((alike for alike in self.of_kind(kind) if alike.others is None), None)
