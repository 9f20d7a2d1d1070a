"""Choosing how a kind of link is built: the parts that the plan names, or the best of the options.

The plan's choice wins. Otherwise the best option that can be ordered and reaches is chosen: the cheapest where prices
are known, else the first in order of preference. Generic parts stand for whatever fits.

Without prices the order is copper, multimode, AOC, single-mode, and of the modules that fit a cage at the rate and
pair, the shortest sufficient reach. Prices are those for the fewest pieces, because how many are bought follows from
the choice. Prices are compared only if the option that comes first has one: a price book with prices for half of the
options does not say that the others cost nothing. A cage that nobody describes gets no part by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bomgen.optics.compatibility import Cage
from bomgen.optics.named_parts import fitting_modules, named_cable, named_modules
from bomgen.optics.options import cables, link_cost, list_options
from bomgen.optics.types import (
    AOC,
    AUTO,
    COPPER,
    COPPER_PAIRS,
    OPTICS_ONLY,
    PREFER_COPPER,
    RJ45,
    TRANSCEIVER,
    Choice,
    LinkSpec,
    Medium,
    MediumOption,
    PartsLookup,
    Span,
)


def choose(spec: LinkSpec, span: Span, parts: PartsLookup) -> Choice:
    """Choose how a kind of link is built: as the plan specifies, else the best option.

    Raises Unbuildable for a named medium or part that cannot work, LookupError for an unknown part.
    """
    if spec.medium.value == TRANSCEIVER or (spec.medium.value == AUTO and (spec.modules or spec.fibre)):
        if spec.modules:
            return _plan_choice(named_modules(spec, span, parts), "named", parts)
        return _plan_choice(fitting_modules(spec, span, parts), "asked", parts)
    if spec.medium.value != AUTO:
        return _plan_choice(named_cable(spec, span, parts), "named" if spec.modules else "asked", parts)
    if RJ45 in (span.lower.form, span.upper.form):
        plain = span._replace(lower=_rj45(span.lower), upper=_rj45(span.upper))
        return _plan_choice(next(cables(COPPER_PAIRS, plain, parts), None), "only", parts)
    return _choose_best(list_options(span, parts), spec)


def _plan_choice(medium: Medium | None, reason: str, parts: PartsLookup) -> Choice:
    """The choice where the plan has decided: the only candidate, or none."""
    return Choice(medium, reason if medium else "no-part", link_cost(medium, parts) if medium else None)


def _choose_best(found: Sequence[MediumOption], spec: LinkSpec) -> Choice:
    """The cheapest option, if the option preferred without prices has a price too; else the preferred one."""
    allowed = spec.allowed_options
    unwanted = {option.name: "cages" for option in found if allowed and option.name not in allowed}
    unwanted |= dict.fromkeys(COPPER, "unwanted") if OPTICS_ONLY in spec.prefer else {}
    unwanted |= dict.fromkeys((*COPPER, AOC), "panels") if spec.panels else {}
    usable = [option for option in found if option.medium and option.name not in unwanted]
    if PREFER_COPPER in spec.prefer:
        usable.sort(key=lambda option: option.name not in COPPER)
    if not usable:
        return Choice(None, "no-part", others=tuple(_reject(option, None, unwanted) for option in found))
    best, reason = usable[0], "preferred" if len(usable) > 1 else "only"
    priced = [option for option in usable if option.cost is not None]
    if PREFER_COPPER in spec.prefer and best.name in COPPER:
        reason = PREFER_COPPER
    elif best.cost is None:
        reason = "unpriced" if priced else reason
    elif len(priced) > 1:
        best, reason = min(priced, key=lambda option: option.cost or 0), "cheapest"
    others = tuple(_reject(option, best, unwanted) for option in found if option is not best)
    return Choice(best.medium, reason, best.cost, others)


def _reject(option: MediumOption, best: MediumOption | None, unwanted: Mapping[str, str]) -> MediumOption:
    """An option that was not chosen, with the reason."""
    if option.medium is None:
        return option
    if option.name in unwanted:
        return option._replace(reason=unwanted[option.name])
    dearer = best is not None and best.cost is not None and option.cost is not None and option.cost >= best.cost
    if best is not None and best.cost is not None and option.cost is None:
        return option._replace(reason="unpriced")
    return option._replace(reason="dearer" if dearer else "later")


def _rj45(cage: Cage) -> Cage:
    return Cage(cage.device, RJ45, 1, cage.protocol, cage.name)
