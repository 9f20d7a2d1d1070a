"""How a kind of link is built: modules that fit their cages and light each other, or a cable with both ends.

As the plan names it, or the first that can be ordered and reaches. Generic parts stand for whatever fits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from fractions import Fraction
from typing import NamedTuple

from bomgen.figures import Figure, Given, Mark, formula
from bomgen.parts import ANY, AVAILABLE, Cable, CableEnd, Module

SERVER = "server"
AUTO = "auto"
TRANSCEIVER = "transceiver"
COPPER = ("dac", "acc")
RJ45 = "rj45"
COPPER_PAIRS = "copper"
"""Patch cables for RJ45: any vendor's can be ordered."""
MULTIMODE, SINGLE_MODE = "multimode", "single-mode"
GENERIC_FIBRES = {MULTIMODE: "generic-mpo12-om4", SINGLE_MODE: "generic-mpo12-os2"}
GRADES = {MULTIMODE: "om4", SINGLE_MODE: "os2"}
GENERIC_FAN_OUT = "generic-mpo-{grade}-x{links}"
"""The id of a generic cable that leads the links of one module apart."""
RECEPTACLES = 2
"""Receptacles of a module at most: each of two links has a trunk of its own, of more they share one."""
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
    modules: Callable[[str, int], list[Module]]
    """All modules for a form of cage, of a rate in all [Gb/s]."""
    cables: Callable[[str], list[Cable]]
    """All cables of a medium."""


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


def accepts(cage: str, plug: str) -> bool:
    """Whether a cage takes a plug; an end that is not described takes anything."""
    return ANY in (cage, plug) or plug == cage or plug in ACCEPTED.get(cage, ())


def _fits(module: Module, cage: Cage, rate: int) -> str | None:
    """Why a module does not work in a cage at a rate, as `rule: reason`; None when it does."""
    name = module.identity.id
    if _fills(module, cage, rate):
        return None
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


def _fills(module: Module, cage: Cage, rate: int) -> bool:
    """Whether a generic module stands for the whole cage, all links of which it carries."""
    whole = module.identity.generic and module.cage == ANY and cage.form != ANY
    return whole and cage.links > 1 and module.engine_gbps == rate * cage.links


@formula("count")
def links_of_module(module_gbps: int, link_gbps: int) -> int:
    """Links that a module carries which stands for all that one cage takes."""
    return module_gbps // link_gbps


def _in_cage(module: Module, cage: Cage, rate: Figure) -> Module:
    """A module as it works in a cage: a generic one that stands for the whole cage carries all its links."""
    if not _fills(module, cage, int(rate.value)):
        return module
    return module._replace(ports=links_of_module(module.rate_gbps, rate))


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
    found = {module.identity.id: module for plug in plugs for module in stock.modules(plug, rate * cage.links)}
    return sorted((module for module in found.values() if _usable(module, cage, rate)), key=_rank)


def transceivers(lower: Cage, upper: Cage, rate: int, length: Fraction, stock: Stock) -> Iterator[Medium]:
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


def cables(medium: str, lower: Cage, upper: Cage, rate: int, length: Fraction, stock: Stock) -> Iterator[Medium]:
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
            return _named_modules(wish, lower, upper, rate, stock)
        found = next(transceivers(lower, upper, gbps, length, stock), None)
        return found or _generic_transceivers(gbps, length, stock)
    if wish.medium.value != AUTO:
        return _named_cable(wish, lower, upper, gbps, stock)
    if RJ45 in (lower.form, upper.form):
        return next(cables(COPPER_PAIRS, _rj45(lower), _rj45(upper), gbps, length, stock), None)
    optical = list(transceivers(lower, upper, gbps, length, stock))
    multimode = [medium for medium in optical if medium.lower and medium.lower.fibre == MULTIMODE]
    ways = (
        *(cables(medium, lower, upper, gbps, length, stock) for medium in COPPER),
        multimode,
        cables("aoc", lower, upper, gbps, length, stock),
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


def _named_modules(wish: Wish, lower: Cage, upper: Cage, rate: Figure, stock: Stock) -> Medium:
    """The modules that the plan names; an end it leaves open gets the first that pairs with the other."""
    length, gbps = Fraction(wish.length_m.value), int(rate.value)
    named = {
        cage.device: stock.module(wish.modules[cage.device]) for cage in (lower, upper) if cage.device in wish.modules
    }
    for cage in (lower, upper):
        if cage.device in named:
            _refuse(_fits(named[cage.device], cage, gbps))
        else:
            other = named[lower.device if cage is upper else upper.device]
            named[cage.device] = _partner(other, cage, gbps, stock)
    low, up = (_in_cage(named[cage.device], cage, rate) for cage in (lower, upper))
    _refuse(_mismatch(low, up))
    for module in (low, up):
        reach = module.reach_m
        if reach and reach.value < length:
            message = f"{module.identity.id} reaches {reach.value} m, the link is {metres(length)} m"
            raise Unbuildable(f"{message}; shorten it or name a module that reaches", "reach")
    fibre = _fibre(up if low.fibre == ANY else low, length, stock)
    if max(low.ports.value, up.ports.value) > RECEPTACLES:
        fibre = _fan_out(low, up, length, fibre, stock)
    return Medium(low, up, *fibre) if fibre else Medium(low, up, None, length)


def _fan_out(
    low: Module, up: Module, length: Fraction, trunk: tuple[Cable, Fraction] | None, stock: Stock
) -> tuple[Cable, Fraction] | None:
    """What joins a module of more links than receptacles to the modules of each link; None when nothing is known.

    Modules of many links at both ends are joined over a panel, which no cable does.
    """
    if trunk is None or trunk[0].fibre is None or min(low.ports.value, up.ports.value) > RECEPTACLES:
        return None
    links = max(low.ports.value, up.ports.value)
    with suppress(LookupError):
        cable = stock.cable(GENERIC_FAN_OUT.format(grade=GRADES[trunk[0].fibre], links=links))
        sold = _sold(cable.lengths_m, length)
        return (cable, sold) if sold is not None else None
    return None


def _partner(other: Module, cage: Cage, rate: int, stock: Stock) -> Module:
    if other.identity.generic:
        return other if _fits(other, cage, rate) is None else stock.module(f"generic-{rate}g")
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
        found = next(cables(medium, lower, upper, rate, length, stock), None)
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
            message = f"{ids[0]} is {metres(own_length)} m long, the link {metres(length)} m"
            raise Unbuildable(f"{message}; name a longer one, or give the `length:` of the link", "reach")
        return Medium(None, None, cable, own_length)
    sold = _sold(cable.lengths_m, length)
    if sold is None:
        longest = metres(Fraction(max(cable.lengths_m, default=0)))
        message = f"a {medium} is sold up to {longest} m, the link is {metres(length)} m"
        raise Unbuildable(f"{message}; give a shorter `length:` or choose another medium", "reach")
    return Medium(None, None, cable, sold)


def metres(length: Fraction) -> str:
    """A length as messages show it."""
    return f"{float(length):g}"
