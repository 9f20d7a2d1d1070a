"""The choice of optics for a kind of link: the parts that the plan specifies, or the best of the options.

The plan's choice takes precedence. Otherwise the best option that can be ordered and reaches is chosen: the cheapest
where prices are known, else the first in order of preference. Generic parts are placeholders for any that fit.

Without prices the order is copper, multimode, AOC, single-mode, and of the modules that fit a cage at the rate and
pair, the shortest sufficient reach. Prices are those for the fewest pieces, because the quantity follows from the
choice. Prices are compared only if the preferred option has one: a price book with prices for half of the options does
not mean that the others are free. A cage without a description gets no part automatically.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from fractions import Fraction

from bomgen.catalog.parts import ANY, Cable, Module
from bomgen.core.provenance import Assumed
from bomgen.optics.compatibility import (
    AOC,
    AUTO,
    COPPER,
    COPPER_PAIRS,
    FIBRE,
    OPTICS_ONLY,
    PREFER_COPPER,
    RJ45,
    TRANSCEIVER,
    Cage,
    LinkChoice,
    LinkSpec,
    Medium,
    MediumOption,
    PartsLookup,
    Span,
    Unbuildable,
    cable_reason,
    fibre_module,
    fibre_reason,
    metres,
    module_in_cage,
    module_reason,
    pair_reason,
    reach,
    refuse,
)
from bomgen.optics.options import (
    cables,
    candidates,
    count_foreign_ends,
    link_cost,
    links_diverge,
    links_of_receptacle,
    list_options,
    select_fibre,
    shortest_length,
    transceivers,
    without_built_in_optics,
)

# named parts --------------------------------------------------------------------------------------------------------
# The medium of a kind of link from the medium, modules, cable or fibre that the plan specifies.


def fitting_modules(spec: LinkSpec, span: Span, parts: PartsLookup) -> Medium | None:
    """Return the preferred modules that reach and work with the specified fibre, else generic ones.

    None when not even generic modules are known. Raises Unbuildable when no module works with the fibre.
    """
    refused: Unbuildable | None = None
    for transceiver in transceivers(span, parts):
        try:
            return _replace_fibre(transceiver, spec, span, parts)
        except Unbuildable as error:
            refused = refused or error
    if refused:
        raise refused
    generic = _generic_transceivers(span, parts)
    return _replace_fibre(generic, spec, span, parts) if generic else None


def _generic_transceivers(span: Span, parts: PartsLookup) -> Medium | None:
    try:
        module = parts.module(f"generic-{span.gbps}g")
    except LookupError:
        return None
    fibre = select_fibre(module, 1, span.length_m, parts)
    return Medium(module, module, *fibre) if fibre else None


def named_modules(spec: LinkSpec, span: Span, parts: PartsLookup) -> Medium:
    """Return the modules that the plan specifies; an open end gets the preferred module that pairs with the other.

    Raises Unbuildable for modules that do not fit, pair or reach.
    """
    lower, upper, rules = span.lower, span.upper, parts.rules()
    named = {
        cage.device: parts.module(spec.modules[cage.device]) for cage in (lower, upper) if cage.device in spec.modules
    }
    for cage in (lower, upper):
        if cage.device in named:
            refuse(module_reason(named[cage.device], cage, span.gbps, rules))
            if cage.optics:
                named[cage.device] = cage.optics
    for cage in (lower, upper):
        if cage.device not in named:
            other = named[lower.device if cage is upper else upper.device]
            named[cage.device] = _partner_module(other, cage, span.gbps, parts)
    bare = named[lower.device], named[upper.device]
    refuse(pair_reason(*bare, rules))
    furthest = reach(*bare, rules)
    if furthest is not None and furthest < span.length_m:
        short = min(bare, key=lambda module: module.reach_m.value if module.reach_m else span.length_m)
        message = f"{short.identity.id} reaches {metres(furthest)} m here, the link is {metres(span.length_m)} m"
        raise Unbuildable(f"{message}; shorten the link, or specify a module with a longer reach", "reach")
    low, up = (
        module_in_cage(module, cage, span.rate, rules) for module, cage in zip(bare, (lower, upper), strict=True)
    )
    split = [
        links_of_receptacle(module, cage, span.gbps, rules) for module, cage in zip(bare, (lower, upper), strict=True)
    ]
    fibre = (
        select_fibre(fibre_module(low, up), max(split), span.length_m, parts, span.over_panels)
        if min(split) == 1
        else None
    )
    if max(split) == 1 and max(low.ports.value, up.ports.value) > rules.receptacles:
        fibre = _fan_out_cable(low, up, span.length_m, fibre, parts)
    found = Medium(low, up, *fibre) if fibre else Medium(low, up, None, span.length_m)
    return without_built_in_optics(_replace_fibre(found, spec, span, parts), span)


def _replace_fibre(medium: Medium, spec: LinkSpec, span: Span, parts: PartsLookup) -> Medium:
    if spec.fibre is None or medium.lower is None or medium.upper is None:
        return medium
    cable = parts.cable(spec.fibre)
    if cable.medium != FIBRE:
        message = f"{cable.identity.id} is not a fibre but {cable.medium}; specify a fibre, or remove `fibre:`"
        raise Unbuildable(message, "medium")
    module = fibre_module(medium.lower, medium.upper)
    links = int(medium.cable.links.value) if medium.cable else 1
    reason = fibre_reason(cable, module, links, parts.rules())
    if reason:
        raise Unbuildable(f"{reason.message}; specify another fibre, or remove `fibre:`", reason.code)
    own = cable.named_length_m
    least = Fraction(0) if span.over_panels else span.length_m
    sold = own if own and own >= least else None if own else shortest_length(cable.lengths_m, least)
    if sold is None:
        longest = metres(own or Fraction(max(cable.lengths_m, default=0)))
        message = f"{spec.fibre} is sold up to {longest} m, the link is {metres(span.length_m)} m"
        raise Unbuildable(f"{message}; set a shorter `length:`, or specify another fibre", "reach")
    return medium._replace(cable=cable, length_m=sold)


def _fan_out_cable(
    low: Module, up: Module, length: Fraction, trunk: tuple[Cable, Fraction] | None, parts: PartsLookup
) -> tuple[Cable, Fraction] | None:
    """Return the cable from a module of several links to one per link, and its length [m]; None when unknown."""
    # Modules of several links at both ends are connected over a panel, not by one cable.
    rules = parts.rules()
    if trunk is None or trunk[0].fibre is None or min(low.ports.value, up.ports.value) > rules.receptacles:
        return None
    links = max(low.ports.value, up.ports.value)
    with suppress(LookupError):
        cable = parts.cable(f"{rules.planning[trunk[0].fibre].fan_out}{links}")
        sold = shortest_length(cable.lengths_m, length)
        return (cable, sold) if sold is not None else None
    return None


def _partner_module(other: Module, cage: Cage, rate: int, parts: PartsLookup) -> Module:
    rules = parts.rules()
    if other.identity.generic:
        return other if module_reason(other, cage, rate, rules) is None else parts.module(f"generic-{rate}g")
    fitting = [module for module in candidates(cage, rate, parts) if pair_reason(module, other, rules) is None]
    if not fitting:
        message = f"no module known for the {cage.form} cage of the {cage.device} ({cage.name}) pairs with"
        raise Unbuildable(f"{message} {other.identity.id}; specify one", "pair")
    return fitting[0]


def named_cable(spec: LinkSpec, span: Span, parts: PartsLookup) -> Medium:
    """Return the cable specified by id or by medium; a generic one where none of that medium can be ordered.

    Raises Unbuildable when the cable does not fit or is not sold long enough.
    """
    length, medium, rate = span.length_m, str(spec.medium.value), span.gbps
    ids = sorted(set(spec.modules.values()))
    if len(ids) > 1:
        raise Unbuildable(f"a {medium} has both ends, but {' and '.join(ids)} are specified; specify one", "medium")
    if ids:
        cable = parts.cable(ids[0])
        if cable.medium != medium:
            message = f"{cable.identity.id} is {cable.medium}, not {medium}"
            raise Unbuildable(f"{message}; specify a {medium}, or set `medium: {cable.medium}`", "medium")
        _check_cable(cable, span, parts)
    else:
        found = next(cables(medium, span, parts), None)
        if found:
            return found
        try:
            cable = parts.cable(f"generic-{rate}g-{medium}")
        except LookupError:
            message = f"no {medium} of {rate} Gb/s is known for {span.lower.name} and {span.upper.name}"
            raise Unbuildable(f"{message}; choose another medium", "medium") from None
    own_length = cable.named_length_m
    if own_length:
        if own_length < length and not isinstance(spec.length_m.origin, Assumed):
            message = f"{ids[0]} is {metres(own_length)} m long, the link {metres(length)} m"
            raise Unbuildable(f"{message}; specify a longer one, or set the `length:` of the link", "reach")
        return Medium(None, None, cable, own_length)
    sold = shortest_length(cable.lengths_m, length)
    if sold is None:
        longest = metres(Fraction(max(cable.lengths_m, default=0)))
        message = f"a {medium} is sold up to {longest} m, the link is {metres(length)} m"
        raise Unbuildable(f"{message}; set a shorter `length:`, or choose another medium", "reach")
    return Medium(None, None, cable, sold)


def _check_cable(cable: Cable, span: Span, parts: PartsLookup) -> None:
    if ANY not in (span.lower.form, span.upper.form) and not cable.identity.generic:
        reason = cable_reason(cable, span.lower, span.upper, span.gbps, parts.rules())
        if reason:
            raise Unbuildable(f"{reason.message}; specify another, or set `medium: auto`", reason.code)
    if links_diverge(cable, span) and not span.single:
        name, count = cable.identity.id, cable.links.value
        message = (
            f"{name} carries {count} links between the same two devices, and not every two devices here have that many"
        )
        raise Unbuildable(f"{message}; specify a single-link cable, or set `medium: auto`", "parallel")


# selection ----------------------------------------------------------------------------------------------------------


def choose(spec: LinkSpec, span: Span, parts: PartsLookup) -> LinkChoice:
    """Choose the medium of a kind of link: as the plan specifies, else the best option.

    Raises Unbuildable for a specified medium or part that cannot work, LookupError for an unknown part.
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
    return _choose_best(list_options(span, parts), spec, span, parts)


def _plan_choice(medium: Medium | None, reason: str, parts: PartsLookup) -> LinkChoice:
    return LinkChoice(medium, reason if medium else "no-part", link_cost(medium, parts) if medium else None)


def _choose_best(medium_options: Sequence[MediumOption], spec: LinkSpec, span: Span, parts: PartsLookup) -> LinkChoice:
    """Return the cheapest option, if the option preferred without prices has a price too; else the preferred one."""
    # Options with fewer parts of other vendors than the preferred one come first, whatever they cost.
    allowed = spec.allowed_options
    unwanted = {option.name: "cages" for option in medium_options if allowed and option.name not in allowed}
    unwanted |= dict.fromkeys(COPPER, "unwanted") if OPTICS_ONLY in spec.prefer else {}
    unwanted |= dict.fromkeys((*COPPER, AOC), "panels") if spec.panels else {}
    usable = [option for option in medium_options if option.medium and option.name not in unwanted]
    foreign = {
        option.name: count_foreign_ends(option.medium, span, parts) for option in medium_options if option.medium
    }
    first = usable[0].name if usable else ""
    usable.sort(key=lambda option: foreign[option.name])
    if PREFER_COPPER in spec.prefer:
        usable.sort(key=lambda option: option.name not in COPPER)
    if not usable:
        return LinkChoice(None, "no-part", others=tuple(_reject(option, None, unwanted) for option in medium_options))
    best, reason = usable[0], "preferred" if len(usable) > 1 else "only"
    if foreign[best.name] < foreign[first]:
        reason = "vendor"
    unwanted |= {option.name: "foreign" for option in usable if foreign[option.name] > foreign[best.name]}
    usable = [option for option in usable if option.name not in unwanted]
    priced = [option for option in usable if option.cost is not None]
    if PREFER_COPPER in spec.prefer and best.name in COPPER:
        reason = PREFER_COPPER
    elif best.cost is None:
        reason = "unpriced" if priced else reason
    elif len(priced) > 1:
        best, reason = min(priced, key=lambda option: option.cost or 0), "cheapest"
    others = tuple(_reject(option, best, unwanted) for option in medium_options if option is not best)
    return LinkChoice(best.medium, reason, best.cost, others)


def _reject(option: MediumOption, best: MediumOption | None, unwanted: Mapping[str, str]) -> MediumOption:
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
