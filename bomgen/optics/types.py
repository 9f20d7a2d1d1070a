"""The records of a link: what it connects, what the plan specifies, and the options for building it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import NamedTuple

from bomgen.catalog.parts import ANY, Cable, Module, Panel, Switch
from bomgen.core.provenance import Figure, Mark
from bomgen.optics.compatibility import Cage, Rules

AUTO = "auto"
TRANSCEIVER = "transceiver"
FIBRE = "fibre"
TRUNK = "trunk"
"""Several fibres in one cable, between two patch panels."""
COPPER = ("dac", "acc", "aec")
AOC = "aoc"
RJ45 = "rj45"
COPPER_PAIRS = "copper"
"""Patch cables for RJ45, which can be ordered from any vendor."""
SHARING = (("multimode", "single-mode"), ("single-mode",))
"""Options whose modules can share the cages of a switch, whichever kinds of link they serve."""
PREFER_COPPER, OPTICS_ONLY, ONE_FIBRE_LENGTH = "copper", "optics-only", "one-fibre-length"
"""Policies that a plan may set for a kind of link."""
SWITCH_VENDOR = "switch-vendor"
VENDORS = {"nvidia": "NVIDIA"}
"""Preferred vendors of modules and cables that a plan may set, besides that of the switch; `compatible` is none."""


class PanelSpec(NamedTuple):
    """Part ids that the plan specifies for links over patch panels; None: any part that fits."""

    mark: Mark
    panel: str | None
    trunk: str | None
    jumper: str | None


class Patch(NamedTuple):
    """The parts of links over patch panels, without their modules."""

    panel: Panel
    trunk: Cable
    jumper: Cable


class LinkSpec(NamedTuple):
    """The plan's specification of one kind of link; `modules` maps a kind of device to the specified part id."""

    medium: Figure
    modules: Mapping[str, str]
    rate_gbps: Figure | None
    length_m: Figure
    mark: Mark
    prefer: tuple[str, ...] = ()
    """Policies: `copper`, `optics-only`, `one-fibre-length`."""
    fibre: str | None = None
    """Id of the specified fibre between modules."""
    allowed_options: tuple[str, ...] = ()
    """The only options allowed, because others need more cages than a switch has; empty: all."""
    panels: PanelSpec | None = None
    """Patch panels between racks; None: every link is one cable."""

    @property
    def one_fibre_length(self) -> bool:
        """Whether all fibres of this kind of link have the length of the longest one."""
        return ONE_FIBRE_LENGTH in self.prefer


def _unpriced(_: Module | Cable | Switch, __: Fraction | None) -> Fraction | None:
    return None


class PartsLookup(NamedTuple):
    """Functions that look up modules, cables, panels, connection rules and prices.

    `module`, `cable` and `panel` raise LookupError for an unknown id.
    """

    module: Callable[[str], Module]
    cable: Callable[[str], Cable]
    modules: Callable[[str, int], list[Module]]
    """All modules for a form of cage and a total rate [Gb/s]."""
    cables: Callable[[str], list[Cable]]
    """All cables of a medium."""
    rules: Callable[[], Rules]
    """The connection rules."""
    panel: Callable[[str], Panel]
    panels: Callable[[], list[Panel]]
    """All patch panels."""
    price: Callable[[Module | Cable | Switch, Fraction | None], Fraction | None] = _unpriced
    """Price of a part, for a cable at a length [m]; None if unknown."""
    prefer: str = SWITCH_VENDOR
    """Which parts are chosen where several fit: a word of the plan's `optics.prefer`."""

    def vendor_for(self, cage: Cage) -> str | None:
        """Return the preferred vendor of a part in a cage; None if any is as good, as in NVIDIA's by default."""
        if self.prefer != SWITCH_VENDOR:
            return VENDORS.get(self.prefer)
        return None if cage.vendor in VENDORS.values() else cage.vendor

    def is_foreign(self, part: Module | Cable, cage: Cage) -> bool:
        """Return whether another vendor's part is preferred in a cage; a substitute is as good as what it replaces."""
        vendor = self.vendor_for(cage)
        return vendor is not None and part.stands_for is None and part.identity.vendor != vendor


class Span(NamedTuple):
    """The span of a kind of link: two cages at a rate over a length."""

    lower: Cage
    upper: Cage
    rate: Figure
    length_m: Fraction
    together: int = 1
    """Links that always run between the same two devices; the actual number is a multiple."""
    single: bool = False
    """Whether every link needs a separate cable, because the links of one cage may lead to different devices."""
    over_panels: bool = False
    """Whether a trunk spans the distance, so that the fibre is a jumper of any length that is sold."""

    @property
    def gbps(self) -> int:
        """The rate as a number."""
        return int(self.rate.value)


class Medium(NamedTuple):
    """How a link is built: a module at each end and a fibre, or one cable with fixed ends."""

    lower: Module | None
    upper: Module | None
    cable: Cable | None
    length_m: Fraction

    @property
    def modules(self) -> tuple[Module, ...]:
        """The modules at its ends, the lower first; a port with its optics inside has none."""
        return tuple(module for module in (self.lower, self.upper) if module)

    @property
    def part_ids(self) -> tuple[str, ...]:
        """Ids of its modules, the lower first, and of its cable."""
        return tuple(part.identity.id for part in (*self.modules, self.cable) if part)

    @property
    def option(self) -> str:
        """The name of the option: the medium of the cable, or the fibre of the modules."""
        if not self.modules:
            return (self.cable.fibre or self.cable.medium) if self.cable else TRANSCEIVER
        return next((module.fibre for module in self.modules if module.fibre != ANY), TRANSCEIVER)

    @property
    def splits_at_lower_end(self) -> bool:
        """Whether one module at the lower end splits into several links with a module each at the upper end."""
        return bool(self.lower and self.upper and self.lower.ports.value > self.upper.ports.value)


class MediumOption(NamedTuple):
    """One option for building a kind of link, or the reason why it is not possible."""

    name: str
    medium: Medium | None
    reason: str = ""
    """Code of the reason against it; empty if possible."""
    detail: str = ""
    """Maximum reach, or the part in question."""
    cost: Fraction | None = None
    """Cost per link; None: not all parts have a price."""


class LinkChoice(NamedTuple):
    """The choice for a kind of link, with the rejected options."""

    medium: Medium | None
    """The medium; None if no part is known."""
    reason: str
    """Code of the reason for this option."""
    cost: Fraction | None = None
    others: tuple[MediumOption, ...] = ()


def metres(length: Fraction) -> str:
    """Return a length [m] as text for messages."""
    return f"{float(length):g}"
