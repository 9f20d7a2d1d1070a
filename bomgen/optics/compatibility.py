"""Compatibility: which module fits which cage, which modules interoperate, and the connection rules as tables.

The functions apply the tables in `data/connection/`. Each returns a Reason with a code, or None when the parts fit. The
records of a link stand beside them: what it connects, what the plan specifies, and the options for building it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from bomgen.catalog.files import Catalog
from bomgen.catalog.parts import ANY, Cable, CableEnd, Identity, Module, Panel, Switch
from bomgen.core.messages import message
from bomgen.core.provenance import Cited, Figure, Mark, floor_div, minimum
from bomgen.core.units import parse
from bomgen.fabric.types import SERVER

MULTIMODE = "multimode"


class Cage(NamedTuple):
    """The cage at one end of a kind of link, at the rate of that link."""

    device: str
    form: str
    links: int
    """Links that one cage carries."""
    protocol: str | None
    name: str
    """Name of the device."""
    power_w: Fraction | None = None
    """Power that it supplies to its module; None if unknown."""
    optics: Module | None = None
    """The optics of a co-packaged switch, in place of a module."""
    vendor: str | None = None
    """Vendor of the device; None if unknown, or any."""
    blocking_links: int = 0
    """Links that it carries when the next cage stays empty; 0: no more."""

    @property
    def described(self) -> str:
        """The cage in words."""
        return message("cage-unknown") if self.form == ANY else message("cage-of-form", form=self.form)


class Adapter(NamedTuple):
    """An adapter for a plug in a cage of another form, one link per cage."""

    plug: str
    cage: str
    name: str
    vendor: str
    part_number: str

    @property
    def identity(self) -> Identity:
        """The identity of the adapter on the bill."""
        return Identity("transceiver", self.part_number.lower(), self.name, self.vendor, self.part_number)


class Splitter(NamedTuple):
    """Optical engines that serve several slower links over a splitter fibre."""

    optics: tuple[str, ...]
    lane_gbps: int
    legs: int


class Breakout(NamedTuple):
    """An optical engine whose lanes are separate links, each to a module of another optic."""

    optic: str
    partner: str
    lane_gbps: int
    legs: int

    def serves(self, engine: Module, rate: int) -> bool:
        """Return whether the lanes of an engine are links of a rate [Gb/s]."""
        lanes = engine.optic == self.optic and engine.lane_gbps == self.lane_gbps
        return lanes and engine.engine_gbps == rate * self.legs

    def joins(self, one: Module, module: Module) -> bool:
        """Return whether one of two modules breaks out to several of the other."""
        return any(
            self.serves(engine, leg.engine_gbps) and leg.optic == self.partner
            for engine, leg in ((one, module), (module, one))
        )


class NicReach(NamedTuple):
    """Maximum reach of a link whose NIC has a single-port module of an optic and lane rate."""

    optic: str
    lane_gbps: int
    reach_m: Fraction


class PlanningFibre(NamedTuple):
    """Ids of the cables for generic modules."""

    trunk: str
    fan_out: str
    """Prefix of the id; the number of links follows."""


class Rules(NamedTuple):
    """The tables of the connection rules."""

    plugs: Mapping[str, tuple[str, ...]]
    """By form of cage: the forms of plug that it accepts."""
    adapters: tuple[Adapter, ...]
    receptacles: int
    """Most receptacles of a module."""
    foreign_modules: Mapping[str, str]
    """By vendor of switches: the suffix of the message code of its policy on third-party modules."""
    partners: Mapping[str, tuple[str, ...]]
    """By optic: the optics that it interoperates with."""
    lane_fibres: Mapping[int, tuple[str, ...]]
    """By lane rate [Gb/s]: the fibres that it requires; other rates run over any."""
    polarities: Mapping[str, str]
    """By connector: the polarity that a fibre requires."""
    in_a_row: Mapping[tuple[str, ...], str]
    """By the polarities of fibres in series: their combined polarity."""
    nic_reach: NicReach
    splitter: Splitter
    breakout: Breakout
    planning: Mapping[str, PlanningFibre]
    """By fibre, in the order tried."""
    order: tuple[str, ...]
    """Media, the preferred first, where no prices decide."""


class Incompatibility(NamedTuple):
    """Why something cannot be built: the code, and what is wrong in words."""

    code: str
    message: str


class Unbuildable(Exception):
    """A specified medium or part that cannot work; `rule` is the reason code."""

    def __init__(self, message: str, rule: str) -> None:
        super().__init__(message)
        self.rule = rule


def refuse(reason: Incompatibility | None) -> None:
    """Raise Unbuildable if there is a reason against a specified module."""
    if reason:
        raise Unbuildable(f"{reason.message}; specify another module, or set `medium: auto`", reason.code)


def accepts(cage: str, plug: str, rules: Rules) -> bool:
    """Return whether a cage accepts a plug; an end that is not described accepts anything."""
    return ANY in (cage, plug) or plug == cage or plug in rules.plugs.get(cage, ())


def adapter_for(cage: Cage, plug: str, rules: Rules) -> Adapter | None:
    """Return the adapter that a plug needs in a cage of one link; None when it needs none or none exists."""
    if accepts(cage.form, plug, rules) or cage.links > 1:
        return None
    return next((adapter for adapter in rules.adapters if (adapter.plug, adapter.cage) == (plug, cage.form)), None)


def fills_cage(module: Module, cage: Cage, rate: int) -> bool:
    """Return whether a generic module represents a whole cage and carries all its links of a rate [Gb/s]."""
    whole = module.identity.generic and module.cage == ANY and cage.form != ANY
    return whole and cage.links > 1 and module.engine_gbps == rate * cage.links


def links_per_engine(module: Module, rate: int, rules: Rules) -> int:
    """Return the links of a rate [Gb/s] that one engine of a module serves; 0 when it cannot.

    It serves several over a splitter fibre.
    """
    if module.engine_gbps == rate:
        return 1
    splitter = rules.splitter
    splits = module.optic in splitter.optics and module.lane_gbps == splitter.lane_gbps
    if splits and module.engine_gbps == rate * splitter.legs:
        return splitter.legs
    return rules.breakout.legs if rules.breakout.serves(module, rate) else 0


def _slows_down(module: Module, cage: Cage, rate: int, rules: Rules) -> bool:
    """Return whether a NIC's module runs below its full rate, as one leg of a splitter fibre."""
    leg = links_per_engine(module, rate, rules) > 1 and not rules.breakout.serves(module, rate)
    return cage.device == SERVER and module.ports.value == 1 and leg


links_of_module = floor_div("links_of_module", "count", "module_gbps", "link_gbps")
"""Links per module, from its total rate."""
links_in_cage = minimum("links_in_cage", "count", "links_of_module", "links_of_cage")
"""Links per module in a cage, limited by the links of the cage."""


def module_in_cage(module: Module, cage: Cage, rate: Figure, rules: Rules) -> Module:
    """Return a module with the links that it carries in a cage as its ports."""
    gbps = int(rate.value)
    splits = (
        not module.identity.generic
        and links_per_engine(module, gbps, rules) > 1
        and not _slows_down(module, cage, gbps, rules)
    )
    if fills_cage(module, cage, gbps) or splits:
        module = module._replace(ports=links_of_module(module.rate_gbps, rate))
    if module.ports.value > cage.links:
        links = Figure(cage.links, "links", Cited(message("cages-of-switch", name=cage.name), (), "high"))
        module = module._replace(ports=links_in_cage(module.ports, links))
    return module


def module_reason(module: Module, cage: Cage, rate: int, rules: Rules) -> Incompatibility | None:
    """Return why a module does not work in a cage at a rate [Gb/s]; None when it does."""
    name = module.identity.id
    if fills_cage(module, cage, rate):
        return None
    if module.identity.generic and module.cage == ANY:
        wrong = module.engine_gbps != rate and not _slows_down(module, cage, rate, rules)
        return Incompatibility("rate", f"{name} carries {module.engine_gbps} Gb/s, not {rate}") if wrong else None
    if cage.optics:
        return Incompatibility("cage", f"{cage.name} has co-packaged optics and takes fibres, not {name}")
    if not accepts(cage.form, module.cage, rules) and adapter_for(cage, module.cage, rules) is None:
        return Incompatibility(
            "cage", f"{name} is {module.cage}, but the cage of the {cage.device} ({cage.name}) is {cage.form}"
        )
    if cage.device != SERVER and module.nic_only:
        return Incompatibility("cage", f"{name} is a module for NICs, not for switches such as {cage.name}")
    if not (legs := links_per_engine(module, rate, rules)):
        return _rate_reason(module, rate)
    carried = 1 if _slows_down(module, cage, rate, rules) else module.ports.value * legs
    if cage.form != ANY and carried > cage.links and legs > 1:
        # A cage with fewer links than the module has leaves receptacles of it empty.
        if cage.links % legs:
            return _rate_reason(module, rate)
        carried = cage.links
    if cage.form != ANY and carried != cage.links:
        message = f"{name} carries {carried} links, but a cage of the {cage.device} ({cage.name}) carries {cage.links}"
        return Incompatibility("ports", message)
    if cage.protocol and module.protocols and cage.protocol not in module.protocols:
        return Incompatibility(
            "protocol", f"{name} supports {', '.join(module.protocols)}; {cage.name} uses {cage.protocol}"
        )
    return power_reason(module, cage)


def power_reason(module: Module, cage: Cage) -> Incompatibility | None:
    """Return why a module draws too much power for a cage; None when it does not, or may not, or either is unknown."""
    if module.identity.generic or module.power_w is None or cage.power_w is None:
        return None
    least = module.power_w.bounds[0] if module.power_w.bounds else module.power_w.value
    if least <= cage.power_w:
        return None
    drawn, given = (f"{float(watts):g} W" for watts in (module.power_w.value, cage.power_w))
    return Incompatibility(
        "power", message("module-power", module=module.identity.id, drawn=drawn, switch=cage.name, given=given)
    )


def _rate_reason(module: Module, rate: int) -> Incompatibility:
    """Return why a module carries no links of a rate [Gb/s]: they are too fast, or its lanes cannot run that slowly."""
    name, lane = module.identity.id, module.lane_gbps
    if lane and module.engine_gbps > rate:
        message = f"{name} runs {module.engine_gbps} Gb/s links over {lane} Gb/s lanes, which do not support"
        return Incompatibility("lanes", f"{message} {rate} Gb/s links")
    return Incompatibility("rate", f"{name} carries links of {module.engine_gbps} Gb/s, not {rate}")


def pair_reason(lower: Module, upper: Module, rules: Rules) -> Incompatibility | None:
    """Return why two modules do not interoperate; None when they do."""
    names = lower.identity.id, upper.identity.id
    for module in (lower, upper):
        allowed = rules.lane_fibres.get(module.lane_gbps or 0)
        if allowed and module.fibre not in (ANY, *allowed):
            message = (
                f"{module.identity.id} has lanes of {module.lane_gbps} Gb/s, which run over {allowed[0]} fibre only"
            )
            return Incompatibility("medium", message)
    if _differ(lower.fibre, upper.fibre):
        return Incompatibility("medium", f"{names[0]} is {lower.fibre}, {names[1]} {upper.fibre}")
    joined = rules.breakout.joins(lower, upper)
    if (
        not joined
        and ANY not in (lower.optic, upper.optic)
        and upper.optic not in rules.partners.get(lower.optic, (lower.optic,))
    ):
        return Incompatibility("optic", f"{names[0]} is {lower.optic}, {names[1]} {upper.optic}")
    if lower.lane_gbps and upper.lane_gbps and lower.lane_gbps != upper.lane_gbps:
        message = f"{names[0]} has lanes of {lower.lane_gbps} Gb/s, {names[1]} of {upper.lane_gbps}"
        return Incompatibility("lanes", f"{message}, and neither changes its rate")
    if not joined and _differ(lower.connector, upper.connector):
        return Incompatibility("connector", f"{names[0]} is {lower.connector}, {names[1]} {upper.connector}")
    return None


def _differ(one: str | None, other: str | None) -> bool:
    return bool(one and other) and ANY not in (one, other) and one != other


def reach(lower: Module, upper: Module, rules: Rules) -> Fraction | None:
    """Return the reach of a link between two modules [m]: the shorter of both; None when neither is known."""
    reaches = [Fraction(module.reach_m.value) for module in (lower, upper) if module.reach_m]
    limit = rules.nic_reach
    if lower.nic_only and (lower.optic, lower.lane_gbps) == (limit.optic, limit.lane_gbps):
        reaches.append(limit.reach_m)
    return min(reaches, default=None)


def fibre_module(lower: Module, upper: Module) -> Module:
    """Return the module that a fibre must fit: where the connectors differ, the upper one, which breaks out."""
    return upper if lower.fibre == ANY or _differ(lower.connector, upper.connector) else lower


def _glass_reason(cable: Cable, other: Module | Cable) -> Incompatibility | None:
    name, of = cable.identity.id, other.identity.id
    if _differ(cable.fibre, other.fibre):
        return Incompatibility("medium", f"{name} is {cable.fibre}, {of} {other.fibre}")
    if _differ(cable.connector, other.connector):
        return Incompatibility("connector", f"{name} has {cable.connector} connectors, {of} {other.connector}")
    return None


def fibre_reason(cable: Cable, module: Module, links: int, rules: Rules) -> Incompatibility | None:
    """Return why a fibre with `links` links does not fit a module; None when it does."""
    name, of = cable.identity.id, module.identity.id
    if reason := _glass_reason(cable, module):
        return reason
    if cable.links.value != links:
        return Incompatibility("ports", f"{name} carries {cable.links.value} links, one receptacle of {of} {links}")
    wanted = rules.polarities.get(module.connector)
    if wanted and module.fibre != ANY and cable.polarity != wanted and cable.far_connector is None:
        return Incompatibility("polarity", f"{name} is {cable.polarity or 'of no known polarity'}, {of} needs {wanted}")
    return None


def trunk_reason(jumper: Cable, trunk: Cable, rules: Rules) -> Incompatibility | None:
    """Return why jumper, trunk and jumper in series do not replace the jumper alone; None when they do."""
    name, of = trunk.identity.id, jumper.identity.id
    if reason := _glass_reason(trunk, jumper):
        return reason
    wanted = rules.polarities.get(jumper.connector or "")
    row = (jumper.polarity or "", trunk.polarity or "", jumper.polarity or "")
    if wanted and rules.in_a_row.get(row) != wanted:
        message = f"{of}, {name} and {of} in series are {', '.join(each or 'of no known polarity' for each in row)}"
        return Incompatibility("polarity", f"{message}, which together are not {wanted}")
    return None


def plug_fits(end: CableEnd | None, cage: Cage, rules: Rules) -> bool:
    """Return whether a cable's plug fits a cage; False when either is not described."""
    if end is None or cage.form == ANY:
        return False
    return accepts(cage.form, end.cage, rules) and (end.cage == ANY or end.ports == cage.links)


def cable_reason(cable: Cable, lower: Cage, upper: Cage, rate: int, rules: Rules) -> Incompatibility | None:
    """Return why a cable does not connect two cages at a rate [Gb/s]; None when it does.

    Its single plug is at the upper cage.
    """
    name = cable.identity.id
    if cable.link_gbps is not None and cable.link_gbps != rate:
        return Incompatibility("rate", f"{name} carries links of {cable.link_gbps} Gb/s, not {rate}")
    if upper.protocol and cable.protocols and upper.protocol not in cable.protocols:
        return Incompatibility(
            "protocol", f"{name} supports {', '.join(cable.protocols)}; {upper.name} uses {upper.protocol}"
        )
    if not (plug_fits(cable.a, upper, rules) and plug_fits(cable.b, lower, rules)):
        message = f"{name} does not fit both {upper.name} ({upper.form} cage) and {lower.name} ({lower.form} cage)"
        return Incompatibility("cage", f"{message} at {rate} Gb/s")
    return None


def joins_two_cages(cable: Cable) -> bool:
    """Return whether a cable has several links, all between the same two cages."""
    return cable.links.value > 1 and cable.a is not None and cable.b is not None and cable.a.ends == cable.b.ends == 1


# compatibility rules ------------------------------------------------------------------------------------------------
# The connection rules of the catalogue as tables.


def rules(catalog: Catalog) -> Rules:
    """Return all connection rules of a catalogue; where several files give a table, later keys take precedence."""
    tables: dict[str, Any] = {}
    for record in catalog.all("connection"):
        for key, table in record.data.items():
            known = tables.get(key)
            tables[key] = {**known, **table} if isinstance(known, dict) and isinstance(table, dict) else table
    reach, splitter, breakout = tables["nic_reach"], tables["splitter"], tables["breakout"]
    return Rules(
        plugs=_lists(tables["plugs"]),
        adapters=tuple(Adapter(**each) for each in tables["adapters"]),
        receptacles=int(tables["receptacles"]),
        foreign_modules=dict(tables["foreign_modules"]),
        partners=_lists(tables["partners"]),
        lane_fibres={int(lane): fibres for lane, fibres in _lists(tables["lane_fibres"]).items()},
        polarities=dict(tables["polarities"]),
        in_a_row={tuple(each["fibres"]): each["together"] for each in tables["in_a_row"]},
        nic_reach=NicReach(reach["optic"], int(reach["lane_gbps"]), Fraction(parse(reach["reach"], "m"))),
        splitter=Splitter(tuple(splitter["optics"]), int(splitter["lane_gbps"]), int(splitter["legs"])),
        breakout=Breakout(breakout["optic"], breakout["partner"], int(breakout["lane_gbps"]), int(breakout["legs"])),
        planning={fibre: PlanningFibre(**each) for fibre, each in tables["planning"].items()},
        order=tuple(tables["order"]),
    )


def _lists(table: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return a table of lists; each list is plain or has a source."""
    return {key: tuple(each["value"] if isinstance(each, dict) else each) for key, each in table.items()}


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
