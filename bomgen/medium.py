"""How a kind of link is built: modules that fit their cages and light each other, or a cable with both ends.

As the plan names it, or the best of the ways that can be ordered and reach: the cheapest where prices are known, else
the first in order of preference. Generic parts stand for whatever fits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from typing import NamedTuple

from bomgen.connection import (
    MULTIMODE,
    SERVER,
    Cage,
    Rules,
    Unbuildable,
    cable_reason,
    fibre_reason,
    fits,
    in_cage,
    joins_two_cages,
    legs,
    mismatch,
    reach,
    refuse,
)
from bomgen.figures import Figure, Given, Mark
from bomgen.parts import ANY, AVAILABLE, Cable, Module

AUTO = "auto"
TRANSCEIVER = "transceiver"
FIBRE = "fibre"
COPPER = ("dac", "acc")
AOC = "aoc"
RJ45 = "rj45"
COPPER_PAIRS = "copper"
"""Patch cables for RJ45: any vendor's can be ordered."""
PREFER_COPPER, OPTICS_ONLY, ONE_FIBRE_LENGTH = "copper", "optics-only", "one-fibre-length"
"""Policies that a plan may name for a kind of link."""


class Wish(NamedTuple):
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
    share_cages: bool = False
    """Whether only modules will do, because cables with both ends would need more cages than a switch has."""

    @property
    def one_fibre_length(self) -> bool:
        """Whether all fibres of this kind of link are to be as long as the longest."""
        return ONE_FIBRE_LENGTH in self.prefer


def _no_price(_: Module | Cable, __: Fraction | None) -> Fraction | None:
    return None


class Stock(NamedTuple):
    """Where parts come from. The loaders raise LookupError for an unknown id."""

    module: Callable[[str], Module]
    cable: Callable[[str], Cable]
    modules: Callable[[str, int], list[Module]]
    """All modules for a form of cage, of a rate in all [Gb/s]."""
    cables: Callable[[str], list[Cable]]
    """All cables of a medium."""
    rules: Callable[[], Rules]
    """The connection rules."""
    price: Callable[[Module | Cable, Fraction | None], Fraction | None] = _no_price
    """Price of a part, of a cable at a length [m]; None where nobody says."""


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
    def way(self) -> str:
        """What it is called: the medium of the cable, or the fibre that the modules light."""
        if self.lower is None or self.upper is None:
            return self.cable.medium if self.cable else TRANSCEIVER
        fibre = self.upper.fibre if self.lower.fibre == ANY else self.lower.fibre
        return TRANSCEIVER if fibre == ANY else fibre


class Way(NamedTuple):
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
    others: tuple[Way, ...] = ()


def _sold(lengths: tuple[float, ...], wanted: Fraction) -> Fraction | None:
    """The shortest length sold that is long enough, or None."""
    return min((Fraction(length) for length in lengths if length >= wanted), default=None)


def _rank(module: Module) -> tuple[bool, Fraction, bool, str]:
    """Multimode first, then the shortest reach, then originals before the parts that replace them."""
    longest = module.reach_m.value if module.reach_m else 0
    return module.fibre != MULTIMODE, Fraction(longest), bool(module.replaces), module.identity.id


def _fitting(cage: Cage, rate: int, stock: Stock) -> list[Module]:
    """All modules that fit a cage at a rate, whether they can be ordered or not."""
    if cage.form == ANY:
        return []
    rules = stock.rules()
    plugs = dict.fromkeys((cage.form, *rules.plugs.get(cage.form, ())))
    plugs |= dict.fromkeys(each.plug for each in rules.adapters if each.cage == cage.form)
    rates = [rate * cage.links]
    if cage.device == SERVER and cage.links == 1:
        rates.append(rate * rules.splitter.legs)
    found = {module.identity.id: module for plug in plugs for gbps in rates for module in stock.modules(plug, gbps)}
    wanted = (module for module in found.values() if not module.identity.generic)
    return sorted((module for module in wanted if fits(module, cage, rate, rules) is None), key=_rank)


def _candidates(cage: Cage, rate: int, stock: Stock) -> list[Module]:
    """The modules that can be ordered for a cage at a rate, the preferred first."""
    return [module for module in _fitting(cage, rate, stock) if module.identity.availability == AVAILABLE]


def _splits(module: Module, cage: Cage, rate: int, rules: Rules) -> int:
    """Links on one receptacle of a module as it works in a cage; one in a NIC, which is the leg of a splitter."""
    single = module.identity.generic or (cage.device == SERVER and module.ports.value == 1)
    return 1 if single else max(legs(module, rate, rules), 1)


def _joined(low: Module, up: Module, span: Span, stock: Stock) -> Medium | None:
    """Two modules that light each other with their fibre; None when nothing reaches."""
    rules = stock.rules()
    furthest = reach(low, up, rules)
    if low.reach_m is None or up.reach_m is None or furthest is None or furthest < span.length_m:
        return None
    split = [_splits(module, cage, span.gbps, rules) for module, cage in ((low, span.lower), (up, span.upper))]
    if min(split) > 1:
        return None
    fibre = _fibre(low, max(split), span.length_m, stock)
    if fibre is None:
        return None
    low, up = (in_cage(module, cage, span.rate, rules) for module, cage in ((low, span.lower), (up, span.upper)))
    return Medium(low, up, *fibre)


def transceivers(span: Span, stock: Stock) -> Iterator[Medium]:
    """Pairs of modules that can be ordered and reach, multimode before single-mode, each with its fibre."""
    rules = stock.rules()
    uppers, lowers = (_candidates(cage, span.gbps, stock) for cage in (span.upper, span.lower))
    pairs = [(low, up) for up in uppers for low in lowers if mismatch(low, up, rules) is None]
    for low, up in sorted(pairs, key=lambda pair: (_rank(pair[1]), _rank(pair[0]))):
        found = _joined(low, up, span, stock)
        if found and not (span.single and found.cable and found.cable.links.value > 1):
            yield found


def _fibre(module: Module, links: int, length: Fraction, stock: Stock) -> tuple[Cable, Fraction] | None:
    """The fibre for a module that carries so many links in each, and the length of it that is sold."""
    rules = stock.rules()
    if module.fibre == ANY:
        trunks = [stock.cable(each.trunk) for each in rules.planning.values()]
        lengths = [(trunk, _sold(trunk.lengths_m, length)) for trunk in trunks]
        return next(((trunk, sold) for trunk, sold in lengths if sold is not None), (trunks[-1], length))
    fitting = [
        cable
        for cable in stock.cables(FIBRE)
        if fibre_reason(cable, module, links, rules) is None and cable.identity.availability == AVAILABLE
    ]
    found = [(cable, sold) for cable in fitting if (sold := _sold(cable.lengths_m, length)) is not None]
    return min(found, key=lambda pair: (pair[0].identity.generic, pair[0].identity.id), default=None)


def parts_ways(cable: Cable, span: Span) -> bool:
    """Whether links of a cable would have to part ways on it: those of its one plug lead to several devices."""
    if span.single:
        return bool(cable.links.value > 1)
    return joins_two_cages(cable) and bool(span.together % cable.links.value)


def _orderable(medium: str, cable: Cable) -> bool:
    """Whether a cable is no planning part; patch cables for RJ45 are anybody's."""
    return not cable.identity.generic or medium == COPPER_PAIRS


def cables(medium: str, span: Span, stock: Stock) -> Iterator[Medium]:
    """Cables of a medium that can be ordered, fit both cages and are sold long enough."""
    rules = stock.rules()
    for cable in sorted(stock.cables(medium), key=lambda each: (each.identity.part_number is None, each.identity.id)):
        if not _orderable(medium, cable) or cable.identity.availability != AVAILABLE or parts_ways(cable, span):
            continue
        if cable_reason(cable, span.lower, span.upper, span.gbps, rules) is None:
            sold = _sold(cable.lengths_m, span.length_m)
            if sold is not None:
                yield Medium(None, None, cable, sold)


def cost_of(medium: Medium, stock: Stock) -> Fraction | None:
    """What one link costs: its share of the modules at both ends and of the cable; None when a price is missing."""
    prices = [(stock.price(module, None), int(module.ports.value)) for module in (medium.lower, medium.upper) if module]
    if medium.cable is None:
        return None
    prices.append((stock.price(medium.cable, medium.length_m), int(medium.cable.links.value)))
    shares = [price / links for price, links in prices if price is not None]
    return sum(shares, Fraction(0)) if len(shares) == len(prices) else None


def ways(span: Span, stock: Stock) -> list[Way]:
    """Every way to build a kind of link with parts that can be ordered, the preferred first, or why it cannot be."""
    optical = list(transceivers(span, stock))
    found = []
    for name in stock.rules().order:
        if name in (*COPPER, AOC):
            way = _cable_way(name, span, stock)
        else:
            fitting = next((each for each in optical if each.way == name), None)
            way = Way(name, fitting) if fitting else _no_modules(name, span, stock)
        found.append(way._replace(cost=cost_of(way.medium, stock)) if way.medium else way)
    return found


def _cable_way(name: str, span: Span, stock: Stock) -> Way:
    """The first cable of a medium that can be built, or why none can."""
    found = next(cables(name, span, stock), None)
    if found:
        return Way(name, found)
    rules = stock.rules()
    fitting = [
        cable
        for cable in stock.cables(name)
        if not cable.identity.generic and cable_reason(cable, span.lower, span.upper, span.gbps, rules) is None
    ]
    sold = [cable for cable in fitting if cable.identity.availability == AVAILABLE]
    joined = [cable for cable in sold if not parts_ways(cable, span)]
    if not fitting:
        return Way(name, None, "no-part")
    if not sold:
        return Way(name, None, "not-sold", _names(fitting))
    if not joined:
        return Way(name, None, "parallel", _names(sold))
    longest = max((length for cable in joined for length in cable.lengths_m), default=0)
    return Way(name, None, "too-short", f"{longest:g} m")


def _names(parts: Sequence[Cable] | Sequence[Module]) -> str:
    return ", ".join(sorted({part.identity.part_number or part.identity.id for part in parts}))


def _no_modules(fibre: str, span: Span, stock: Stock) -> Way:
    """Why no modules for a fibre can be built."""
    rules = stock.rules()
    fitting = [[each for each in _fitting(cage, span.gbps, stock) if each.fibre == fibre] for cage in span[:2]]
    if not all(fitting):
        return Way(fibre, None, "no-part")
    sold = [[each for each in ends if each.identity.availability == AVAILABLE] for ends in fitting]
    if not all(sold):
        return Way(fibre, None, "not-sold", _names(fitting[0] + fitting[1]))
    pairs = [(low, up, mismatch(low, up, rules)) for low in sold[0] for up in sold[1]]
    lit = [(low, up) for low, up, reason in pairs if reason is None]
    if not lit:
        reason = next(reason for _, _, reason in pairs if reason)
        return Way(fibre, None, reason.code, reason.message)
    furthest = max((reach(low, up, rules) or Fraction(0) for low, up in lit), default=Fraction(0))
    if furthest < span.length_m:
        return Way(fibre, None, "too-short", f"{metres(furthest)} m")
    return Way(fibre, None, "no-fibre")


def choose(wish: Wish, span: Span, stock: Stock) -> Choice:
    """How a kind of link is built: as the plan names it, else the best of all ways.

    Raises Unbuildable for a named medium or module that cannot work, LookupError for an unknown part.
    """
    if wish.medium.value == TRANSCEIVER or (wish.medium.value == AUTO and (wish.modules or wish.fibre)):
        if wish.modules:
            return _told(_named_modules(wish, span, stock), "named", stock)
        return _told(_asked_modules(wish, span, stock), "asked", stock)
    if wish.medium.value != AUTO:
        return _told(_named_cable(wish, span, stock), "named" if wish.modules else "asked", stock)
    if RJ45 in (span.lower.form, span.upper.form):
        plain = span._replace(lower=_rj45(span.lower), upper=_rj45(span.upper))
        return _told(next(cables(COPPER_PAIRS, plain, stock), None), "only", stock)
    return _best(ways(span, stock), wish)


def _told(medium: Medium | None, reason: str, stock: Stock) -> Choice:
    """A choice that was none."""
    return Choice(medium, reason if medium else "no-part", cost_of(medium, stock) if medium else None)


def _best(found: Sequence[Way], wish: Wish) -> Choice:
    """The cheapest way, if the one preferred without prices has one too; else that one."""
    unwanted = dict.fromkeys((*COPPER, AOC), "cages") if wish.share_cages else {}
    unwanted |= dict.fromkeys(COPPER, "unwanted") if OPTICS_ONLY in wish.prefer else {}
    usable = [way for way in found if way.medium and way.name not in unwanted]
    if not usable:
        return Choice(None, "no-part", others=tuple(_beside(way, None, unwanted) for way in found))
    best, reason = usable[0], "preferred" if len(usable) > 1 else "only"
    priced = [way for way in usable if way.cost is not None]
    if PREFER_COPPER in wish.prefer and best.name in COPPER:
        reason = PREFER_COPPER
    elif best.cost is None:
        reason = "unpriced" if priced else reason
    elif len(priced) > 1:
        best, reason = min(priced, key=lambda way: way.cost or 0), "cheapest"
    others = tuple(_beside(way, best, unwanted) for way in found if way is not best)
    return Choice(best.medium, reason, best.cost, others)


def _beside(way: Way, best: Way | None, unwanted: Mapping[str, str]) -> Way:
    """A way that was not taken, with the reason."""
    if way.medium is None:
        return way
    if way.name in unwanted:
        return way._replace(reason=unwanted[way.name])
    dearer = best is not None and best.cost is not None and way.cost is not None and way.cost >= best.cost
    if best is not None and best.cost is not None and way.cost is None:
        return way._replace(reason="unpriced")
    return way._replace(reason="dearer" if dearer else "later")


def _rj45(cage: Cage) -> Cage:
    return Cage(cage.device, RJ45, 1, cage.protocol, cage.name)


def _asked_modules(wish: Wish, span: Span, stock: Stock) -> Medium | None:
    """The first modules that reach and go with the fibre that the plan names, else generic ones."""
    refused: Unbuildable | None = None
    for found in transceivers(span, stock):
        try:
            return _with_fibre(found, wish, span, stock)
        except Unbuildable as error:
            refused = refused or error
    if refused:
        raise refused
    generic = _generic_transceivers(span, stock)
    return _with_fibre(generic, wish, span, stock) if generic else None


def _generic_transceivers(span: Span, stock: Stock) -> Medium | None:
    try:
        module = stock.module(f"generic-{span.gbps}g")
    except LookupError:
        return None
    fibre = _fibre(module, 1, span.length_m, stock)
    return Medium(module, module, *fibre) if fibre else None


def _named_modules(wish: Wish, span: Span, stock: Stock) -> Medium:
    """The modules that the plan names; an end it leaves open gets the first that pairs with the other."""
    lower, upper, rules = span.lower, span.upper, stock.rules()
    named = {
        cage.device: stock.module(wish.modules[cage.device]) for cage in (lower, upper) if cage.device in wish.modules
    }
    for cage in (lower, upper):
        if cage.device in named:
            refuse(fits(named[cage.device], cage, span.gbps, rules))
    for cage in (lower, upper):
        if cage.device not in named:
            other = named[lower.device if cage is upper else upper.device]
            named[cage.device] = _partner(other, cage, span.gbps, stock)
    bare = named[lower.device], named[upper.device]
    refuse(mismatch(*bare, rules))
    furthest = reach(*bare, rules)
    if furthest is not None and furthest < span.length_m:
        short = min(bare, key=lambda module: module.reach_m.value if module.reach_m else span.length_m)
        message = f"{short.identity.id} reaches {metres(furthest)} m here, the link is {metres(span.length_m)} m"
        raise Unbuildable(f"{message}; shorten it or name a module that reaches", "reach")
    low, up = (in_cage(module, cage, span.rate, rules) for module, cage in zip(bare, (lower, upper), strict=True))
    split = [_splits(module, cage, span.gbps, rules) for module, cage in zip(bare, (lower, upper), strict=True)]
    fibre = _fibre(up if low.fibre == ANY else low, max(split), span.length_m, stock) if min(split) == 1 else None
    if max(split) == 1 and max(low.ports.value, up.ports.value) > rules.receptacles:
        fibre = _fan_out(low, up, span.length_m, fibre, stock)
    found = Medium(low, up, *fibre) if fibre else Medium(low, up, None, span.length_m)
    return _with_fibre(found, wish, span, stock)


def _with_fibre(medium: Medium, wish: Wish, span: Span, stock: Stock) -> Medium:
    """Modules with the fibre that the plan names in place of another. Raises Unbuildable for one that cannot work."""
    if wish.fibre is None or medium.lower is None or medium.upper is None:
        return medium
    cable = stock.cable(wish.fibre)
    if cable.medium != FIBRE:
        message = f"{cable.identity.id} is no fibre; it is {cable.medium}: name a fibre, or leave `fibre:` out"
        raise Unbuildable(message, "medium")
    module = medium.upper if medium.lower.fibre == ANY else medium.lower
    links = int(medium.cable.links.value) if medium.cable else 1
    reason = fibre_reason(cable, module, links, stock.rules())
    if reason:
        raise Unbuildable(f"{reason.message}; name another fibre, or leave `fibre:` out", reason.code)
    own = cable.named_length_m
    sold = own if own and own >= span.length_m else None if own else _sold(cable.lengths_m, span.length_m)
    if sold is None:
        longest = metres(own or Fraction(max(cable.lengths_m, default=0)))
        message = f"{wish.fibre} is sold up to {longest} m, the link is {metres(span.length_m)} m"
        raise Unbuildable(f"{message}; give a shorter `length:` or name another fibre", "reach")
    return medium._replace(cable=cable, length_m=sold)


def _fan_out(
    low: Module, up: Module, length: Fraction, trunk: tuple[Cable, Fraction] | None, stock: Stock
) -> tuple[Cable, Fraction] | None:
    """What joins a module of more links than receptacles to the modules of each link; None when nothing is known.

    Modules of many links at both ends are joined over a panel, which no cable does.
    """
    rules = stock.rules()
    if trunk is None or trunk[0].fibre is None or min(low.ports.value, up.ports.value) > rules.receptacles:
        return None
    links = max(low.ports.value, up.ports.value)
    with suppress(LookupError):
        cable = stock.cable(f"{rules.planning[trunk[0].fibre].fan_out}{links}")
        sold = _sold(cable.lengths_m, length)
        return (cable, sold) if sold is not None else None
    return None


def _partner(other: Module, cage: Cage, rate: int, stock: Stock) -> Module:
    rules = stock.rules()
    if other.identity.generic:
        return other if fits(other, cage, rate, rules) is None else stock.module(f"generic-{rate}g")
    fitting = [module for module in _candidates(cage, rate, stock) if mismatch(module, other, rules) is None]
    if not fitting:
        message = f"no module known for the {cage.form} cage of the {cage.device} ({cage.name}) pairs with"
        raise Unbuildable(f"{message} {other.identity.id}; name one", "pair")
    return fitting[0]


def _named_cable(wish: Wish, span: Span, stock: Stock) -> Medium:
    """The cable that the plan names by id or by medium; a generic one where nothing of that medium can be ordered."""
    length, medium, rate = span.length_m, str(wish.medium.value), span.gbps
    ids = sorted(set(wish.modules.values()))
    if len(ids) > 1:
        raise Unbuildable(f"a {medium} has both ends, but {' and '.join(ids)} are named; name one", "medium")
    if ids:
        cable = stock.cable(ids[0])
        if cable.medium != medium:
            raise Unbuildable(f"{cable.identity.id} is no {medium}; it is {cable.medium}", "medium")
        _check_cable(cable, span, stock)
    else:
        found = next(cables(medium, span, stock), None)
        if found:
            return found
        try:
            cable = stock.cable(f"generic-{rate}g-{medium}")
        except LookupError:
            message = f"no {medium} of {rate} Gb/s is known for {span.lower.name} and {span.upper.name}"
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


def _check_cable(cable: Cable, span: Span, stock: Stock) -> None:
    """Raise Unbuildable for a named cable that does not join the two cages of a link."""
    if ANY not in (span.lower.form, span.upper.form) and not cable.identity.generic:
        reason = cable_reason(cable, span.lower, span.upper, span.gbps, stock.rules())
        if reason:
            raise Unbuildable(f"{reason.message}; name another, or `medium: auto`", reason.code)
    if parts_ways(cable, span) and not span.single:
        name, count = cable.identity.id, cable.links.value
        message = f"{name} carries {count} links between the same two devices, and here not every two have that many"
        raise Unbuildable(f"{message}; name a cable of one link, or `medium: auto`", "parallel")


def metres(length: Fraction) -> str:
    """A length as messages show it."""
    return f"{float(length):g}"
