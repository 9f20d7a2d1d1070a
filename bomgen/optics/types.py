"""What a kind of link has to join, what the plan wants of it, and how it may be built, as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import NamedTuple

from bomgen.catalog.parts import ANY, Cable, Module, Panel
from bomgen.core.provenance import Figure, Mark
from bomgen.optics.compatibility import Cage, Rules

AUTO = "auto"
TRANSCEIVER = "transceiver"
FIBRE = "fibre"
TRUNK = "trunk"
"""Several fibres in one cable, between two patch panels."""
COPPER = ("dac", "acc")
AOC = "aoc"
RJ45 = "rj45"
COPPER_PAIRS = "copper"
"""Patch cables for RJ45: any vendor's can be ordered."""
SHARING = (("multimode", "single-mode"), ("single-mode",))
"""Ways whose modules can stand side by side in the cages of a switch, whichever kinds of link they are for."""
PREFER_COPPER, OPTICS_ONLY, ONE_FIBRE_LENGTH = "copper", "optics-only", "one-fibre-length"
"""Policies that a plan may name for a kind of link."""


class PanelSpec(NamedTuple):
    """Ids of the parts that the plan names for links over patch panels; None: any that fit."""

    mark: Mark
    panel: str | None
    trunk: str | None
    jumper: str | None


class Patch(NamedTuple):
    """What links over patch panels are built of, beside their modules."""

    panel: Panel
    trunk: Cable
    jumper: Cable


class LinkSpec(NamedTuple):
    """What the plan wants of one kind of link. `modules` holds a part id for each kind of device where it names one."""

    medium: Figure
    modules: Mapping[str, str]
    rate_gbps: Figure | None
    length_m: Figure
    mark: Mark
    prefer: tuple[str, ...] = ()
    """Policies: `copper`, `optics-only`, `one-fibre-length`."""
    fibre: str | None = None
    """Id of the fibre between modules, where the plan names it."""
    share_cages: tuple[str, ...] = ()
    """The only ways left, because others would need more cages than a switch has; empty: all."""
    panels: PanelSpec | None = None
    """Patch panels between racks; None: every link is one cable."""

    @property
    def one_fibre_length(self) -> bool:
        """Whether all fibres of this kind of link are to be as long as the longest."""
        return ONE_FIBRE_LENGTH in self.prefer


def _unknown_panel(name: str) -> Panel:
    raise LookupError(f"no panel '{name}'")


def _empty_panels() -> list[Panel]:
    return []


def _unpriced(_: Module | Cable, __: Fraction | None) -> Fraction | None:
    return None


class PartsLookup(NamedTuple):
    """Where parts come from. The loaders raise LookupError for an unknown id."""

    module: Callable[[str], Module]
    cable: Callable[[str], Cable]
    modules: Callable[[str, int], list[Module]]
    """All modules for a form of cage, of a rate in all [Gb/s]."""
    cables: Callable[[str], list[Cable]]
    """All cables of a medium."""
    rules: Callable[[], Rules]
    """The connection rules."""
    price: Callable[[Module | Cable, Fraction | None], Fraction | None] = _unpriced
    """Price of a part, of a cable at a length [m]; None where nobody says."""
    panel: Callable[[str], Panel] = _unknown_panel
    panels: Callable[[], list[Panel]] = _empty_panels
    """All patch panels."""


class Span(NamedTuple):
    """What a kind of link has to join: two cages at a rate over a length."""

    lower: Cage
    upper: Cage
    rate: Figure
    length_m: Fraction
    together: int = 1
    """Links that surely run between the same two devices, or a multiple of them."""
    single: bool = False
    """Whether every link needs a cable of its own, because no two of a cage lead to devices in one place."""
    over_panels: bool = False
    """Whether a trunk does the most of the way, so that the fibre is a jumper, of any length that is sold."""

    @property
    def gbps(self) -> int:
        """The rate as a number."""
        return int(self.rate.value)


class Medium(NamedTuple):
    """A way to build a link: modules at both ends and a fibre, or one cable with both ends."""

    lower: Module | None
    upper: Module | None
    cable: Cable | None
    length_m: Fraction

    @property
    def option(self) -> str:
        """What it is called: the medium of the cable, or the fibre that the modules light."""
        if self.lower is None or self.upper is None:
            return self.cable.medium if self.cable else TRANSCEIVER
        fibre = self.upper.fibre if self.lower.fibre == ANY else self.lower.fibre
        return TRANSCEIVER if fibre == ANY else fibre

    @property
    def begins_below(self) -> bool:
        """Whether one module at the lower end carries several links whose upper ends have one each."""
        return bool(self.lower and self.upper and self.lower.ports.value > self.upper.ports.value)


class MediumOption(NamedTuple):
    """One way to build a kind of link, or why it cannot be built so."""

    name: str
    medium: Medium | None
    reason: str = ""
    """Code of why not."""
    detail: str = ""
    """How far it would reach, or which part it would be."""
    cost: Fraction | None = None
    """Of a link; None: not all parts have a price."""


class Choice(NamedTuple):
    """How a kind of link is built, and why not otherwise."""

    medium: Medium | None
    """None: no part is known."""
    reason: str
    """Code of why this way."""
    cost: Fraction | None = None
    others: tuple[MediumOption, ...] = ()


def metres(length: Fraction) -> str:
    """A length as messages show it."""
    return f"{float(length):g}"
