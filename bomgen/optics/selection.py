"""How a kind of link is built: modules that fit their cages and light each other, or a cable with both ends.

As the plan names it, or the best of the ways that can be ordered and reach: the cheapest where prices are known, else
the first in order of preference. Generic parts stand for whatever fits.

Without prices the order is copper, multimode, AOC, single-mode, and of the modules that fit a cage at the rate and
pair, the shortest sufficient reach. Prices are those for the fewest pieces, because how many are bought follows from
the choice. Prices are compared only if the option that comes first has one: a price book with prices for half of the
options does not say that the others cost nothing. A cage that nobody describes gets no part by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bomgen.optics.compatibility import Cage
from bomgen.optics.named_parts import asked_modules, named_cable, named_modules
from bomgen.optics.options import cables, cost_of, transceivers, ways
from bomgen.optics.patching import patched
from bomgen.optics.types import (
    AOC,
    AUTO,
    COPPER,
    COPPER_PAIRS,
    FIBRE,
    OPTICS_ONLY,
    PREFER_COPPER,
    RJ45,
    SHARING,
    TRANSCEIVER,
    Choice,
    Medium,
    PanelWish,
    Patch,
    Span,
    Stock,
    Way,
    Wish,
    metres,
)

__all__ = [
    "AOC",
    "AUTO",
    "COPPER",
    "COPPER_PAIRS",
    "FIBRE",
    "OPTICS_ONLY",
    "PREFER_COPPER",
    "RJ45",
    "SHARING",
    "TRANSCEIVER",
    "Choice",
    "Medium",
    "PanelWish",
    "Patch",
    "Span",
    "Stock",
    "Way",
    "Wish",
    "cables",
    "choose",
    "metres",
    "patched",
    "transceivers",
]


def choose(wish: Wish, span: Span, stock: Stock) -> Choice:
    """How a kind of link is built: as the plan names it, else the best of all ways.

    Raises Unbuildable for a named medium or module that cannot work, LookupError for an unknown part.
    """
    if wish.medium.value == TRANSCEIVER or (wish.medium.value == AUTO and (wish.modules or wish.fibre)):
        if wish.modules:
            return _told(named_modules(wish, span, stock), "named", stock)
        return _told(asked_modules(wish, span, stock), "asked", stock)
    if wish.medium.value != AUTO:
        return _told(named_cable(wish, span, stock), "named" if wish.modules else "asked", stock)
    if RJ45 in (span.lower.form, span.upper.form):
        plain = span._replace(lower=_rj45(span.lower), upper=_rj45(span.upper))
        return _told(next(cables(COPPER_PAIRS, plain, stock), None), "only", stock)
    return _best(ways(span, stock), wish)


def _told(medium: Medium | None, reason: str, stock: Stock) -> Choice:
    """A choice that was none."""
    return Choice(medium, reason if medium else "no-part", cost_of(medium, stock) if medium else None)


def _best(found: Sequence[Way], wish: Wish) -> Choice:
    """The cheapest way, if the one preferred without prices has one too; else that one."""
    unwanted = {way.name: "cages" for way in found if wish.share_cages and way.name not in wish.share_cages}
    unwanted |= dict.fromkeys(COPPER, "unwanted") if OPTICS_ONLY in wish.prefer else {}
    unwanted |= dict.fromkeys((*COPPER, AOC), "panels") if wish.panels else {}
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
