"""Every way to build a kind of link with parts that can be ordered, with what it costs, or why it cannot be built."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from bomgen.catalog.parts import ANY, AVAILABLE, Cable, Module
from bomgen.optics.compatibility import (
    MULTIMODE,
    SERVER,
    Cage,
    Rules,
    cable_reason,
    fibre_reason,
    fits,
    in_cage,
    joins_two_cages,
    legs,
    mismatch,
    reach,
)
from bomgen.optics.types import AOC, COPPER, COPPER_PAIRS, FIBRE, Medium, Span, Stock, Way, metres


def sold_at(lengths: tuple[float, ...], wanted: Fraction) -> Fraction | None:
    """The shortest length sold that is long enough, or None."""
    return min((Fraction(length) for length in lengths if length >= wanted), default=None)


def _rank(module: Module) -> tuple[bool, Fraction, bool, str]:
    """Multimode first, then the shortest reach, then originals before the parts that replace them."""
    longest = module.reach_m.value if module.reach_m else 0
    return module.fibre != MULTIMODE, Fraction(longest), *_original(module)


def _original(part: Module | Cable) -> tuple[bool, str]:
    """Originals before those that replace them, then by id; what stands for another part counts as that."""
    return bool(part.replaces) and part.stands_for is None, part.stands_for or part.identity.id


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


def candidates(cage: Cage, rate: int, stock: Stock) -> list[Module]:
    """The modules that can be ordered for a cage at a rate, the preferred first."""
    return [module for module in _fitting(cage, rate, stock) if module.identity.availability == AVAILABLE]


def links_of_receptacle(module: Module, cage: Cage, rate: int, rules: Rules) -> int:
    """Links on one receptacle of a module as it works in a cage; one in a NIC, which is the leg of a splitter."""
    single = module.identity.generic or (cage.device == SERVER and module.ports.value == 1)
    return 1 if single else max(legs(module, rate, rules), 1)


def _joined(low: Module, up: Module, span: Span, stock: Stock) -> Medium | None:
    """Two modules that light each other with their fibre; None when nothing reaches."""
    rules = stock.rules()
    furthest = reach(low, up, rules)
    if low.reach_m is None or up.reach_m is None or furthest is None or furthest < span.length_m:
        return None
    split = [
        links_of_receptacle(module, cage, span.gbps, rules) for module, cage in ((low, span.lower), (up, span.upper))
    ]
    if min(split) > 1:
        return None
    fibre = fibre_for(low, max(split), span.length_m, stock, span.over_panels)
    if fibre is None:
        return None
    low, up = (in_cage(module, cage, span.rate, rules) for module, cage in ((low, span.lower), (up, span.upper)))
    return Medium(low, up, *fibre)


def transceivers(span: Span, stock: Stock) -> Iterator[Medium]:
    """Pairs of modules that can be ordered and reach, multimode before single-mode, each with its fibre."""
    rules = stock.rules()
    uppers, lowers = (candidates(cage, span.gbps, stock) for cage in (span.upper, span.lower))
    pairs = [(low, up) for up in uppers for low in lowers if mismatch(low, up, rules) is None]
    for low, up in sorted(pairs, key=lambda pair: (_rank(pair[1]), _rank(pair[0]))):
        found = _joined(low, up, span, stock)
        if found and not (span.single and found.cable and found.cable.links.value > 1):
            yield found


def fibre_for(
    module: Module, links: int, length: Fraction, stock: Stock, jumper: bool = False
) -> tuple[Cable, Fraction] | None:
    """The fibre for a module that carries so many links in each, and the length of it that is sold.

    A jumper does not go all the way: any length will do.
    """
    rules = stock.rules()
    if module.fibre == ANY:
        trunks = [stock.cable(each.trunk) for each in rules.planning.values()]
        lengths = [(trunk, sold_at(trunk.lengths_m, length)) for trunk in trunks]
        return next(((trunk, sold) for trunk, sold in lengths if sold is not None), (trunks[-1], length))
    fitting = [
        cable
        for cable in stock.cables(FIBRE)
        if fibre_reason(cable, module, links, rules) is None and cable.identity.availability == AVAILABLE
    ]
    least = Fraction(0) if jumper else length
    found = [(cable, sold) for cable in fitting if (sold := sold_at(cable.lengths_m, least)) is not None]
    return min(found, key=lambda pair: (pair[0].identity.generic, _preference(pair[0])), default=None)


def parts_ways(cable: Cable, span: Span) -> bool:
    """Whether links of a cable would have to part ways on it: those of its one plug lead to several devices."""
    if span.single:
        return bool(cable.links.value > 1)
    return joins_two_cages(cable) and bool(span.together % cable.links.value)


def _preference(cable: Cable) -> tuple[bool, bool, str]:
    """Cables with a part number first, then originals before those that replace them."""
    return cable.identity.part_number is None, *_original(cable)


def _orderable(medium: str, cable: Cable) -> bool:
    """Whether a cable is no planning part; patch cables for RJ45 are anybody's."""
    return not cable.identity.generic or medium == COPPER_PAIRS


def cables(medium: str, span: Span, stock: Stock) -> Iterator[Medium]:
    """Cables of a medium that can be ordered, fit both cages and are sold long enough."""
    rules = stock.rules()
    for cable in sorted(stock.cables(medium), key=_preference):
        if not _orderable(medium, cable) or cable.identity.availability != AVAILABLE or parts_ways(cable, span):
            continue
        if cable_reason(cable, span.lower, span.upper, span.gbps, rules) is None:
            sold = sold_at(cable.lengths_m, span.length_m)
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
