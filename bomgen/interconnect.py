"""From links to what is plugged and bought: modules in cages, cables with their ends, fibres.

Modules are counted per device from occupied cages, never over the fabric as a whole: a twin-port module is not shared
by two switches. Both ends of a link light the same fibre with the same signal. Generic parts stand for whatever fits:
they count one a port, and are reported with the real parts that a buyer would order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from math import ceil
from typing import NamedTuple

from bomgen.fabric.clos import links_per_cage, serves
from bomgen.fabric.model import Fabric, Fitted, Links
from bomgen.figures import Figure, Given, Mark, formula
from bomgen.parts import ANY, AVAILABLE, Cable, CableEnd, Module, Switch
from bomgen.problems import Problem, Severity

SERVER = "server"
AUTO = "auto"
TRANSCEIVER = "transceiver"
COPPER = ("dac", "acc")
RJ45 = "rj45"
COPPER_PAIRS = "copper"
"""Patch cables for RJ45: any vendor's can be ordered."""
MULTIMODE, SINGLE_MODE = "multimode", "single-mode"
GENERIC_FIBRES = {MULTIMODE: "generic-mpo12-om4", SINGLE_MODE: "generic-mpo12-os2"}
ACCEPTED = {
    "osfp": ("osfp", "osfp-finned"),
    "qsfp-dd": ("qsfp-dd", "qsfp56", "qsfp28"),
    "qsfp112": ("qsfp112", "qsfp56", "qsfp28"),
    "qsfp56": ("qsfp56", "qsfp28"),
    "sfp28": ("sfp28", "sfp"),
}
"""Plugs that a cage takes beside its own kind (NVIDIA LinkX key components guide; OSFP tops must match, though)."""


NIC_SIDE = ("osfp-flat", "qsfp112")
"""Cages whose single-port modules are for NICs only (NVIDIA MMA4Z00-NS400, MMS4X00-NS400, MMA1Z00-NS400)."""


class Cage(NamedTuple):
    """The cage at one end of a kind of link, at the rate of that link."""

    device: str
    form: str
    links: int
    """Links that one cage carries."""
    protocol: str | None
    name: str
    """What the device is called."""

    @property
    def described(self) -> str:
        """The cage in words."""
        return "cage not known" if self.form == ANY else f"{self.form} cage"


class Wish(NamedTuple):
    """What the plan wants of one kind of link. `modules` holds a part id for each kind of device where it names one."""

    medium: Figure
    modules: Mapping[str, str]
    rate_gbps: Figure | None
    length_m: Figure
    mark: Mark


class Stock(NamedTuple):
    """Where parts come from. The loaders raise LookupError for an unknown id."""

    module: Callable[[str], Module]
    cable: Callable[[str], Cable]
    modules: Callable[[str], list[Module]]
    """All modules for a form of cage."""
    cables: Callable[[str], list[Cable]]
    """All cables of a medium."""


class ModuleUse(NamedTuple):
    """Modules of one kind of link in one kind of device."""

    kind: str
    device: str
    module: Module
    quantity: Figure


class CableUse(NamedTuple):
    """Cables of one kind of link; the part is None when none is known."""

    kind: str
    cable: Cable | None
    length_m: Fraction
    quantity: Figure


class Interconnect(NamedTuple):
    """All modules and cables of a fabric, and what is to be said of them."""

    modules: tuple[ModuleUse, ...]
    cables: tuple[CableUse, ...]
    problems: tuple[Problem, ...]


class Medium(NamedTuple):
    """A way to build a link: modules at both ends and a fibre, or one cable with both ends."""

    lower: Module | None
    upper: Module | None
    cable: Cable | None
    length_m: Fraction


class Unbuildable(Exception):
    """A named medium or module that cannot work, with the reason code."""

    def __init__(self, message: str, rule: str) -> None:
        super().__init__(message)
        self.rule = rule


@formula("pieces")
def modules_of_switches(switches: int, ports: int, ports_per_module: int) -> int:
    """Modules of equal switches: every switch rounds up for itself."""
    return switches * ceil(ports / ports_per_module)


@formula("pieces")
def modules_beside(switches: int, ports: int, other_ports: int, ports_per_module: int) -> int:
    """Modules of equal switches beside those of their other links, which may leave half a twin-port module over."""
    return switches * (ceil((ports + other_ports) / ports_per_module) - ceil(other_ports / ports_per_module))


@formula("pieces")
def modules_of_servers(servers: int, ports: int, ports_per_module: int) -> int:
    """Modules of equal servers: every server rounds up for itself."""
    return servers * ceil(ports / ports_per_module)


@formula("pieces")
def modules_of_reserved(reserved_ports: int, ports_per_module: int) -> int:
    """Modules of reserved ports that stand side by side on a spine."""
    return ceil(reserved_ports / ports_per_module)


@formula("pieces")
def sum_of_modules(modules: int, more_modules: int) -> int:
    """Modules of switches with different ports in use."""
    return modules + more_modules


@formula("pieces")
def cables_of_links(links: int) -> int:
    """One cable a link."""
    return links


@formula("pieces")
def cables_of_devices(links: int, links_per_device: int, links_per_cable: int) -> int:
    """Cables that carry several links from one device: every device rounds up for itself."""
    return links // links_per_device * ceil(links_per_device / links_per_cable) + ceil(
        links % links_per_device / links_per_cable
    )


def cage_of(switch: Switch, device: str, rate: Figure) -> Cage:
    """The cage of a switch that links of a rate are plugged into."""
    group = next(group for group in switch.groups if serves(group, rate))
    return Cage(device, group.cage, links_per_cage(group, rate), switch.protocol, switch.identity.name)


def accepts(cage: str, plug: str) -> bool:
    """Whether a cage takes a plug; an end that is not described takes anything."""
    return ANY in (cage, plug) or plug == cage or plug in ACCEPTED.get(cage, ())


def _fits(module: Module, cage: Cage, rate: int) -> str | None:
    """Why a module does not work in a cage at a rate, as `rule: reason`; None when it does."""
    name = module.identity.id
    if module.identity.generic and module.cage == ANY:
        return None if module.engine_gbps == rate else f"rate: {name} carries {module.engine_gbps} Gb/s, not {rate}"
    if not accepts(cage.form, module.cage):
        return f"cage: {name} is {module.cage}, the cage of the {cage.device} ({cage.name}) {cage.form}"
    if cage.device != SERVER and module.ports.value == 1 and module.cage in NIC_SIDE:
        return f"cage: {name} is a module for NICs, not for switches such as {cage.name}"
    if module.engine_gbps != rate:
        return f"rate: {name} carries links of {module.engine_gbps} Gb/s, not {rate}"
    if cage.form != ANY and module.ports.value != cage.links:
        return (
            f"ports: {name} carries {module.ports.value} links, a cage of the {cage.device} ({cage.name}) {cage.links}"
        )
    if cage.protocol and module.protocols and cage.protocol not in module.protocols:
        return f"protocol: {name} speaks {', '.join(module.protocols)}, the {cage.name} {cage.protocol}"
    return None


def _mismatch(lower: Module, upper: Module) -> str | None:
    """Why two modules do not light each other, or None."""
    pairs = [("medium", lower.fibre, upper.fibre), ("optic", lower.optic, upper.optic)]
    pairs.append(("connector", lower.connector, upper.connector))
    for rule, one, other in pairs:
        if ANY not in (one, other) and one != other:
            return f"{rule}: {lower.identity.id} is {one}, {upper.identity.id} {other}"
    return None


def _sold(lengths: tuple[float, ...], wanted: Fraction) -> Fraction | None:
    """The shortest length sold that is long enough, or None."""
    return min((Fraction(length) for length in lengths if length >= wanted), default=None)


def _rank(module: Module) -> tuple[bool, Fraction, str]:
    reach = module.reach_m.value if module.reach_m else 0
    return module.fibre != MULTIMODE, Fraction(reach), module.identity.id


def _usable(module: Module, cage: Cage, rate: int) -> bool:
    identity = module.identity
    known = cage.form != ANY and not identity.generic and identity.availability == AVAILABLE
    return known and _fits(module, cage, rate) is None


def _candidates(cage: Cage, rate: int, stock: Stock) -> list[Module]:
    """The modules that can be ordered for a cage at a rate, the preferred first."""
    plugs = (cage.form, *ACCEPTED.get(cage.form, ()))
    found = {module.identity.id: module for plug in plugs for module in stock.modules(plug)}
    return sorted((module for module in found.values() if _usable(module, cage, rate)), key=_rank)


def _transceivers(lower: Cage, upper: Cage, rate: int, length: Fraction, stock: Stock) -> Iterator[Medium]:
    """Pairs of modules that can be ordered and reach, multimode before single-mode, each with its fibre."""
    uppers, lowers = (_candidates(cage, rate, stock) for cage in (upper, lower))
    pairs = [(low, up) for up in uppers for low in lowers if _mismatch(low, up) is None]
    for low, up in sorted(pairs, key=lambda pair: (_rank(pair[1]), _rank(pair[0]))):
        if all(module.reach_m and module.reach_m.value >= length for module in (low, up)):
            fibre = _fibre(low, length, stock)
            if fibre:
                yield Medium(low, up, *fibre)


def _fibre(module: Module, length: Fraction, stock: Stock) -> tuple[Cable, Fraction] | None:
    """The fibre for a module and the length of it that is sold."""
    if module.fibre == ANY:
        fibre = stock.cable(GENERIC_FIBRES[MULTIMODE])
        sold = _sold(fibre.lengths_m, length)
        if sold is None:
            fibre = stock.cable(GENERIC_FIBRES[SINGLE_MODE])
            sold = _sold(fibre.lengths_m, length)
        return (fibre, sold) if sold is not None else (fibre, length)
    fits = [
        cable
        for cable in stock.cables("fibre")
        if cable.fibre == module.fibre
        and cable.connector == module.connector
        and cable.links.value == 1
        and cable.identity.availability == AVAILABLE
    ]
    found = [(cable, sold) for cable in fits if (sold := _sold(cable.lengths_m, length)) is not None]
    return min(found, key=lambda pair: (pair[0].identity.generic, pair[0].identity.id), default=None)


def _plugs(end: CableEnd | None, cage: Cage) -> bool:
    """Whether a plug fits a cage; none is known to fit a cage that nobody describes."""
    if end is None or cage.form == ANY:
        return False
    return accepts(cage.form, end.cage) and (end.cage == ANY or end.ports == cage.links)


def _cable_fits(cable: Cable, lower: Cage, upper: Cage, rate: int) -> bool:
    """Whether a cable with both ends fits two cages at a rate; its single plug goes to the upper device."""
    if cable.link_gbps is not None and cable.link_gbps != rate:
        return False
    if upper.protocol and cable.protocols and upper.protocol not in cable.protocols:
        return False
    return _plugs(cable.a, upper) and _plugs(cable.b, lower)


def _cables(medium: str, lower: Cage, upper: Cage, rate: int, length: Fraction, stock: Stock) -> Iterator[Medium]:
    """Cables of a medium that can be ordered, fit both cages and are sold long enough."""
    for cable in sorted(
        stock.cables(medium), key=lambda cable: (cable.identity.part_number is None, cable.identity.id)
    ):
        identity = cable.identity
        planning_part = identity.generic and medium != COPPER_PAIRS
        if planning_part or identity.availability != AVAILABLE:
            continue
        if _cable_fits(cable, lower, upper, rate):
            sold = _sold(cable.lengths_m, length)
            if sold is not None:
                yield Medium(None, None, cable, sold)


def choose(wish: Wish, lower: Cage, upper: Cage, rate: Figure, stock: Stock) -> Medium | None:
    """How a kind of link is built: as the plan names it, else copper, multimode, single-mode, whichever reaches first.

    None when no part is known. Raises Unbuildable for a named medium or module that cannot work, LookupError for an
    unknown part.
    """
    length, gbps = Fraction(wish.length_m.value), int(rate.value)
    if wish.medium.value == TRANSCEIVER or (wish.medium.value == AUTO and wish.modules):
        if wish.modules:
            return _named_modules(wish, lower, upper, gbps, stock)
        found = next(_transceivers(lower, upper, gbps, length, stock), None)
        return found or _generic_transceivers(gbps, length, stock)
    if wish.medium.value != AUTO:
        return _named_cable(wish, lower, upper, gbps, stock)
    if RJ45 in (lower.form, upper.form):
        return next(_cables(COPPER_PAIRS, _rj45(lower), _rj45(upper), gbps, length, stock), None)
    optical = list(_transceivers(lower, upper, gbps, length, stock))
    multimode = [medium for medium in optical if medium.lower and medium.lower.fibre == MULTIMODE]
    ways = (
        *(_cables(medium, lower, upper, gbps, length, stock) for medium in COPPER),
        multimode,
        _cables("aoc", lower, upper, gbps, length, stock),
        optical,
    )
    return next((medium for way in ways for medium in way), None)


def _rj45(cage: Cage) -> Cage:
    return Cage(cage.device, RJ45, 1, cage.protocol, cage.name)


def _generic_transceivers(rate: int, length: Fraction, stock: Stock) -> Medium | None:
    try:
        module = stock.module(f"generic-{rate}g")
    except LookupError:
        return None
    fibre = _fibre(module, length, stock)
    return Medium(module, module, *fibre) if fibre else None


def _named_modules(wish: Wish, lower: Cage, upper: Cage, rate: int, stock: Stock) -> Medium:
    """The modules that the plan names; an end it leaves open gets the first that pairs with the other."""
    length = Fraction(wish.length_m.value)
    named = {
        cage.device: stock.module(wish.modules[cage.device]) for cage in (lower, upper) if cage.device in wish.modules
    }
    for cage in (lower, upper):
        if cage.device in named:
            _refuse(_fits(named[cage.device], cage, rate))
        else:
            other = named[lower.device if cage is upper else upper.device]
            named[cage.device] = _partner(other, cage, rate, stock)
    low, up = named[lower.device], named[upper.device]
    _refuse(_mismatch(low, up))
    for module in (low, up):
        reach = module.reach_m
        if reach and reach.value < length:
            message = f"{module.identity.id} reaches {reach.value} m, the link is {_metres(length)} m"
            raise Unbuildable(f"{message}; shorten it or name a module that reaches", "reach")
    fibre = _fibre(up if low.fibre == ANY else low, length, stock)
    return Medium(low, up, *fibre) if fibre else Medium(low, up, None, length)


def _partner(other: Module, cage: Cage, rate: int, stock: Stock) -> Module:
    if other.identity.generic:
        return other
    fits = [module for module in _candidates(cage, rate, stock) if _mismatch(module, other) is None]
    if not fits:
        message = f"no module known for the {cage.form} cage of the {cage.device} ({cage.name}) pairs with"
        raise Unbuildable(f"{message} {other.identity.id}; name one", "pair")
    return fits[0]


def _refuse(reason: str | None) -> None:
    if reason:
        rule, _, message = reason.partition(": ")
        raise Unbuildable(f"{message}; name another module, or leave it to `medium: auto`", rule)


def _named_cable(wish: Wish, lower: Cage, upper: Cage, rate: int, stock: Stock) -> Medium:
    """The cable that the plan names by id or by medium; a generic one where nothing of that medium can be ordered."""
    length, medium = Fraction(wish.length_m.value), str(wish.medium.value)
    ids = sorted(set(wish.modules.values()))
    if len(ids) > 1:
        raise Unbuildable(f"a {medium} has both ends, but {' and '.join(ids)} are named; name one", "medium")
    if ids:
        cable = stock.cable(ids[0])
        if cable.medium != medium:
            raise Unbuildable(f"{cable.identity.id} is no {medium}; it is {cable.medium}", "medium")
        known = ANY not in (lower.form, upper.form) and not cable.identity.generic
        if known and not _cable_fits(cable, lower, upper, rate):
            message = f"{cable.identity.id} does not fit a {upper.form} cage of {upper.name} and a {lower.form} cage of"
            raise Unbuildable(f"{message} {lower.name} at {rate} Gb/s; name another, or `medium: auto`", "cage")
    else:
        found = next(_cables(medium, lower, upper, rate, length, stock), None)
        if found:
            return found
        try:
            cable = stock.cable(f"generic-{rate}g-{medium}")
        except LookupError:
            message = f"no {medium} of {rate} Gb/s is known for {lower.name} and {upper.name}"
            raise Unbuildable(f"{message}; choose another medium", "medium") from None
    own_length = cable.named_length_m
    if own_length:
        if own_length < length and isinstance(wish.length_m.origin, Given):
            message = f"{ids[0]} is {_metres(own_length)} m long, the link {_metres(length)} m"
            raise Unbuildable(f"{message}; name a longer one, or give the `length:` of the link", "reach")
        return Medium(None, None, cable, own_length)
    sold = _sold(cable.lengths_m, length)
    if sold is None:
        longest = _metres(Fraction(max(cable.lengths_m, default=0)))
        message = f"a {medium} is sold up to {longest} m, the link is {_metres(length)} m"
        raise Unbuildable(f"{message}; give a shorter `length:` or choose another medium", "reach")
    return Medium(None, None, cable, sold)


def _metres(length: Fraction) -> str:
    return f"{float(length):g}"


def connect(
    fabric: Fabric, servers: Figure, server_cage: Cage, wishes: Mapping[str, Wish], stock: Stock
) -> Interconnect:
    """The modules and cables of a fabric whose servers plug into it with `server_cage`."""
    builder = _Builder(fabric, servers, server_cage, stock)
    for links in fabric.links:
        builder.add(links, wishes[links.kind])
    return builder.result()


class _Builder:
    """Collects the modules and cables of one fabric, kind of link by kind of link."""

    def __init__(self, fabric: Fabric, servers: Figure, server_cage: Cage, stock: Stock) -> None:
        self.fabric, self.servers, self.server_cage, self.stock = fabric, servers, server_cage, stock
        self.modules: list[ModuleUse] = []
        self.cables: list[CableUse] = []
        self.problems: list[Problem] = []
        self.below: dict[str, Module | None] = {}
        """The module in the ports down of each tier that was already populated."""

    def add(self, links: Links, wish: Wish) -> None:
        """Build one kind of link."""
        lower_name, upper_name = links.kind.split("-")
        lower, upper = self._cage(lower_name, links.rate_gbps), self._cage(upper_name, links.rate_gbps)
        try:
            medium = choose(wish, lower, upper, links.rate_gbps, self.stock)
        except Unbuildable as error:
            self._problem(wish, "error", str(error), error.rule, links.kind)
            return
        except LookupError as error:
            self._problem(wish, "error", str(error), "unknown-part", links.kind)
            return
        if medium is None:
            self._nothing_known(links, lower, upper, wish)
            return
        before = len(self.modules)
        if medium.lower is not None and medium.upper is not None:
            for cage, module in ((lower, medium.lower), (upper, medium.upper)):
                if cage.form not in ("mpo", RJ45):
                    self.modules.append(ModuleUse(links.kind, cage.device, module, self._count(cage, links, module)))
        self.below[upper_name] = medium.upper
        if medium.cable is not None or medium.lower is not None:
            self.cables.append(CableUse(links.kind, medium.cable, medium.length_m, self._pieces(links, medium.cable)))
        self._remarks(links, wish, medium, lower, upper, self.modules[before:])

    def result(self) -> Interconnect:
        """What was collected."""
        return Interconnect(tuple(self.modules), tuple(self.cables), tuple(self.problems))

    def _cage(self, device: str, rate: Figure) -> Cage:
        tier = self.fabric.tier(device)
        return self.server_cage if tier is None else cage_of(tier.switch, device, rate)

    def _count(self, cage: Cage, links: Links, module: Module) -> Figure:
        """Modules of one kind in all devices at one end of a kind of link."""
        tier = self.fabric.tier(cage.device)
        if tier is None:
            return modules_of_servers(self.servers, self.fabric.ports_per_server, module.ports)
        faces_up = links.kind.startswith(cage.device)
        counts = [self._of_switches(fitted, faces_up, module, cage) for fitted in tier.fitted]
        total = counts[0]
        for count in counts[1:]:
            total = sum_of_modules(total, count)
        if self.fabric.reserved_above and cage.device == "spine" and not faces_up:
            total = sum_of_modules(total, modules_of_reserved(self.fabric.reserved_above, module.ports))
        return total

    def _of_switches(self, fitted: Fitted, faces_up: bool, module: Module, cage: Cage) -> Figure:
        if not faces_up:
            return modules_of_switches(fitted.count, fitted.down, module.ports)
        if fitted.up is None:
            raise ValueError(f"the top tier {cage.device} has no links up")
        below = self.below.get(cage.device)
        if below is not None and below.identity.id == module.identity.id:
            return modules_beside(fitted.count, fitted.up, fitted.down, module.ports)
        return modules_of_switches(fitted.count, fitted.up, module.ports)

    def _pieces(self, links: Links, cable: Cable | None) -> Figure:
        if cable is None or cable.links.value == 1:
            return cables_of_links(links.cabled)
        upper = self.fabric.tier(links.kind.split("-")[1])
        if upper is None:
            raise ValueError(f"{links.kind} ends at no switch")
        return cables_of_devices(links.cabled, upper.down, cable.links)

    def _nothing_known(self, links: Links, lower: Cage, upper: Cage, wish: Wish) -> None:
        message = (
            f"no part known for {links.kind} links of {links.rate_gbps.value} Gb/s between {lower.name} "
            f"({lower.described}) and {upper.name} ({upper.described}) over "
            f"{_metres(Fraction(wish.length_m.value))} m; name a module, or a generic one"
        )
        self._problem(wish, "warning", message, "no-part-known", links.kind)
        self.cables.append(CableUse(links.kind, None, Fraction(wish.length_m.value), cables_of_links(links.cabled)))

    def _remarks(
        self, links: Links, wish: Wish, medium: Medium, lower: Cage, upper: Cage, uses: list[ModuleUse]
    ) -> None:
        """Warnings about parts that cannot be ordered as they stand."""
        used = dict.fromkeys(module for module in (medium.lower, medium.upper) if module)
        for module in used:
            if module.identity.generic:
                self._problem(
                    wish, "warning", self._real_modules(links, module, lower, upper, wish), "generic", links.kind
                )
            elif module.identity.availability != AVAILABLE:
                message = f"{module.identity.part_number} is {module.identity.availability}; name another module"
                self._problem(wish, "warning", message, "availability", links.kind)
        cable = medium.cable
        if cable is None:
            message = f"no part known for the fibre of {links.kind} links; name modules with a known fibre"
            self._problem(wish, "warning", message, "no-part-known", links.kind)
        elif cable.identity.generic and cable.medium not in ("fibre", COPPER_PAIRS):
            self._problem(wish, "warning", self._real_cable(cable, links, lower, upper, wish), "generic", links.kind)
        elif cable.identity.availability != AVAILABLE:
            message = f"{cable.identity.part_number} is {cable.identity.availability}; name another cable"
            self._problem(wish, "warning", message, "availability", links.kind)
        self._check_cages(uses, wish, links)

    def _real_modules(self, links: Links, module: Module, lower: Cage, upper: Cage, wish: Wish) -> str:
        """What the cages of a link with generic modules really take, with the pieces."""
        length, rate = Fraction(wish.length_m.value), int(links.rate_gbps.value)
        real = next(_transceivers(lower, upper, rate, length, self.stock), None)
        start = f"{module.identity.id} is a planning part, counted one a port"
        if real is None or real.lower is None or real.upper is None:
            return f"{start}; no module that can be ordered is known for {links.kind} links of these cages"
        ends = []
        for cage, part in ((lower, real.lower), (upper, real.upper)):
            word = "twin-port modules" if part.ports.value == 2 else "modules"
            count = self._count(cage, links, part)
            ends.append(f"a {cage.name} takes {word}, {count.value} x {part.identity.part_number} ({cage.device} end)")
        return f"{start}; to order: {' and '.join(ends)}"

    def _real_cable(self, cable: Cable, links: Links, lower: Cage, upper: Cage, wish: Wish) -> str:
        length, rate = Fraction(wish.length_m.value), int(links.rate_gbps.value)
        real = next(_cables(cable.medium, lower, upper, rate, length, self.stock), None)
        start = f"{cable.identity.id} is a planning part, counted one a link"
        if real is None or real.cable is None:
            twin = f"a {upper.name} cage takes twin-port parts" if upper.links == 2 else f"a {upper.name} cage"
            return (
                f"{start}; {twin}, and no {cable.medium.upper()} that fits it and the {lower.form} cage of "
                f"{lower.name} is known: ask the vendor, or choose transceivers"
            )
        return f"{start}; to order: {real.cable.identity.part_number}"

    def _check_cages(self, uses: list[ModuleUse], wish: Wish, links: Links) -> None:
        """Different modules up and down do not share a cage: what both fill must not exceed the cages there are."""
        lower_name = links.kind.split("-")[0]
        tier = self.fabric.tier(lower_name)
        below = self.below.get(lower_name)
        up = next((use.module for use in uses if use.device == lower_name), None)
        if tier is None or below is None or up is None or below.identity.id == up.identity.id or tier.up is None:
            return
        group = next(group for group in tier.switch.groups if serves(group, links.rate_gbps))
        if len(tier.switch.groups) > 1 or ANY in (below.cage, up.cage):
            return
        cages = group.ports.value // group.ports_per_cage.value
        filled = ceil(tier.down.value / below.ports.value) + ceil(tier.up.value / up.ports.value)
        if filled > cages:
            message = (
                f"{tier.down.value} links down and {tier.up.value} up with different modules fill {filled} cages; "
                f"a {tier.switch.identity.name} has {cages}: use one module for both, or even numbers of links"
            )
            self._problem(wish, "error", message, "cages", links.kind)

    def _problem(self, wish: Wish, severity: Severity, message: str, rule: str, kind: str) -> None:
        self.problems.append(Problem(wish.mark, severity, message, rule, f"links.{kind}"))
