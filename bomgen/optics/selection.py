"""The choice of optics for a kind of link: the parts that the plan specifies, or the best of the options.

The plan's choice takes precedence. Otherwise the best option that can be ordered and reaches is chosen: the cheapest
where prices are known, else the first in order of preference. Generic parts are placeholders for any that fit.

Without prices the order is copper, multimode, AOC, single-mode, and of the modules that fit a cage at the rate and
pair, the shortest sufficient reach. Prices are those for the fewest pieces, because the quantity follows from the
choice. Prices are compared only if the preferred option has one: a price book with prices for half of the options does
not mean that the others are free. A cage without a description gets no part automatically.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache

from bomgen.catalog.parts import ANY, AVAILABLE, DSP, Cable, Module, Panel
from bomgen.core.jobs import OF_PAIR, OF_PART_LOOKUP, spend
from bomgen.core.provenance import Assumed
from bomgen.fabric.types import SERVER
from bomgen.optics.compatibility import (
    AOC,
    AUTO,
    COPPER,
    COPPER_PAIRS,
    FIBRE,
    MULTIMODE,
    OPTICS_ONLY,
    PREFER_COPPER,
    RJ45,
    TRANSCEIVER,
    TRUNK,
    VENDORS,
    Cage,
    LinkChoice,
    LinkSpec,
    Medium,
    MediumOption,
    PanelSpec,
    PartsLookup,
    Patch,
    Rules,
    Span,
    Unbuildable,
    cable_reason,
    fibre_module,
    fibre_reason,
    joins_two_cages,
    links_per_engine,
    metres,
    module_in_cage,
    module_reason,
    pair_reason,
    power_reason,
    reach,
    refuse,
    trunk_reason,
)

# options ------------------------------------------------------------------------------------------------------------
# Options for a kind of link with parts that can be ordered.

KEPT = 1000
"""Cached stock lengths: modules that are tried in pairs request the same ones again and again."""


@lru_cache(maxsize=KEPT)
def shortest_length(lengths: tuple[float, ...], wanted: Fraction) -> Fraction | None:
    """Return the shortest of some lengths [m] that is at least `wanted`, or None."""
    return min((Fraction(length) for length in lengths if length >= wanted), default=None)


def _module_preference(
    module: Module, cage: Cage, parts: PartsLookup
) -> tuple[bool, bool, bool, Fraction, bool, bool, bool, str]:
    """Sort key: no placeholder, the preferred vendor, multimode, the shortest reach, originals before replacements."""
    # Of equal modules those of the vendors come first whose modules are as good as any in a cage, and last those that
    # the vendor of another switch sells for its own. A substitute is as good as what it replaces.
    longest, generic = module.reach_m.value if module.reach_m else 0, module.identity.generic
    foreign, unusual = parts.is_foreign(module, cage), _is_from_elsewhere(module, VENDORS.values())
    anothers = module.identity.vendor in parts.rules().foreign_modules and _is_from_elsewhere(module, (cage.vendor,))
    return generic, foreign, module.fibre != MULTIMODE, Fraction(longest), unusual, anothers, *_originals_first(module)


def _is_from_elsewhere(module: Module, vendors: Collection[str | None]) -> bool:
    """Return whether a module is of none of the vendors; a substitute is of the vendor of what it replaces."""
    return module.stands_for is None and module.identity.vendor not in vendors


def _originals_first(part: Module | Cable) -> tuple[bool, str]:
    """Sort key: originals before their replacements, then by id; a substitute sorts as the part it replaces."""
    return bool(part.replaces) and part.stands_for is None, part.stands_for or part.identity.id


def _fitting_modules(cage: Cage, rate: int, parts: PartsLookup) -> list[Module]:
    """Return all modules that fit a cage at a rate [Gb/s], orderable or not, the preferred first."""
    if cage.optics:
        return [cage.optics] if cage.optics.engine_gbps == rate else []
    if cage.form == ANY:
        return []
    rules = parts.rules()
    plugs = dict.fromkeys((cage.form, *rules.plugs.get(cage.form, ())))
    plugs |= dict.fromkeys(adapter.plug for adapter in rules.adapters if adapter.cage == cage.form)
    rates = [rate * cage.links]
    if cage.device == SERVER and cage.links == 1:
        rates.append(rate * rules.splitter.legs)
    elif cage.links >= rules.breakout.legs:
        rates.append(rate * cage.links * rules.receptacles)
    found = {module.identity.id: module for plug in plugs for gbps in rates for module in parts.modules(plug, gbps)}
    spend(OF_PART_LOOKUP * len(found))
    wanted = (module for module in found.values() if not module.identity.generic or module.cage != ANY)
    fitting = sorted(
        (module for module in wanted if module_reason(module, cage, rate, rules) is None),
        key=lambda module: _module_preference(module, cage, parts),
    )
    # Those that fill the cage come before those of which receptacles stay empty.
    return fitting if cage.device == SERVER else sorted(fitting, key=lambda module: module.rate_gbps.value > rates[0])


def candidates(cage: Cage, rate: int, parts: PartsLookup) -> list[Module]:
    """Return the orderable modules for a cage at a rate [Gb/s] that need nothing of their host, the preferred first."""
    return [
        module
        for module in _fitting_modules(cage, rate, parts)
        if module.identity.availability == AVAILABLE and module.electronics == DSP
    ]


def links_of_receptacle(module: Module, cage: Cage, rate: int, rules: Rules) -> int:
    """Return the links per receptacle of a module in a cage; 1 in a NIC, which is one leg of a splitter."""
    single = module.identity.generic or (cage.device == SERVER and module.ports.value == 1)
    return 1 if single else max(links_per_engine(module, rate, rules), 1)


def _pair_modules(low: Module, up: Module, span: Span, parts: PartsLookup) -> Medium | None:
    rules = parts.rules()
    furthest = reach(low, up, rules)
    if low.reach_m is None or up.reach_m is None or furthest is None or furthest < span.length_m:
        return None
    split = [
        links_of_receptacle(module, cage, span.gbps, rules) for module, cage in ((low, span.lower), (up, span.upper))
    ]
    if min(split) > 1:
        return None
    fibre = select_fibre(fibre_module(low, up), max(split), span.length_m, parts, span.over_panels)
    if fibre is None or (span.single and fibre[0].links.value > 1):
        return None
    low, up = (module_in_cage(module, cage, span.rate, rules) for module, cage in ((low, span.lower), (up, span.upper)))
    return without_built_in_optics(Medium(low, up, *fibre), span)


def without_built_in_optics(medium: Medium, span: Span) -> Medium:
    """Return a medium without the optics of co-packaged switches, which are not bought as modules."""
    return medium._replace(
        lower=None if span.lower.optics else medium.lower, upper=None if span.upper.optics else medium.upper
    )


def transceivers(span: Span, parts: PartsLookup) -> Iterator[Medium]:
    """Yield orderable pairs of modules that reach, each with its fibre; multimode before single-mode."""
    for low, up in _interoperating(span, parts):
        found = _pair_modules(low, up, span, parts)
        if found:
            yield found


def _interoperating(span: Span, parts: PartsLookup) -> list[tuple[Module, Module]]:
    rules = parts.rules()
    uppers, lowers = (candidates(cage, span.gbps, parts) for cage in (span.upper, span.lower))
    spend(OF_PAIR * len(uppers) * len(lowers))
    return [
        (low, up)
        for up in uppers
        for low in sorted(lowers, key=lambda low: _is_from_elsewhere(low, (up.identity.vendor, *VENDORS.values())))
        if pair_reason(low, up, rules) is None
    ]


def select_fibre(
    module: Module, links: int, length: Fraction, parts: PartsLookup, jumper: bool = False
) -> tuple[Cable, Fraction] | None:
    """Return the fibre for a module with `links` per receptacle, and the length [m] sold; None when no fibre fits.

    The fibre of the module's maker comes first, then those of the usual vendors and placeholders; other makers' fibres
    are sold with their own modules. A jumper may have any length, because a trunk spans the distance.
    """
    rules = parts.rules()
    if module.fibre == ANY:
        trunks = [parts.cable(each.trunk) for each in rules.planning.values()]
        lengths = [(trunk, shortest_length(trunk.lengths_m, length)) for trunk in trunks]
        return next(((trunk, sold) for trunk, sold in lengths if sold is not None), (trunks[-1], length))
    fibres = parts.cables(FIBRE)
    spend(OF_PART_LOOKUP * len(fibres))
    fitting = [
        cable
        for cable in fibres
        if fibre_reason(cable, module, links, rules) is None and cable.identity.availability == AVAILABLE
    ]
    least = Fraction(0) if jumper else length
    found = [(cable, sold) for cable in fitting if (sold := shortest_length(cable.lengths_m, least)) is not None]

    def preference(pair: tuple[Cable, Fraction]) -> tuple[bool, bool, bool, tuple[bool, bool, str]]:
        fibre = pair[0].identity
        own = fibre.vendor == module.identity.vendor
        usual = own or fibre.generic or fibre.vendor in VENDORS.values()
        return not usual, fibre.generic, not own, _cable_preference(pair[0])

    return min(found, key=preference, default=None)


def links_diverge(cable: Cable, span: Span) -> bool:
    """Return whether the links of one cable would have to lead to different devices."""
    if span.single:
        return bool(cable.links.value > 1)
    return joins_two_cages(cable) and bool(span.together % cable.links.value)


def _cable_preference(cable: Cable) -> tuple[bool, bool, str]:
    """Sort key: cables with a part number first, then originals before their replacements."""
    return cable.identity.part_number is None, *_originals_first(cable)


def count_foreign_ends(medium: Medium, span: Span, parts: PartsLookup) -> int:
    """Return the ends of a link at which another vendor's part is preferred."""
    ends = ((medium.lower or medium.cable, span.lower), (medium.upper or medium.cable, span.upper))
    return sum(parts.is_foreign(part, cage) for part, cage in ends if part and not cage.optics)


def cables(medium: str, span: Span, parts: PartsLookup) -> Iterator[Medium]:
    """Yield the orderable cables of a medium that fit both cages and are long enough, the preferred first."""
    rules = parts.rules()
    known = parts.cables(medium)
    spend(OF_PART_LOOKUP * len(known))
    plugged = {cable.identity.id: Medium(None, None, cable, span.length_m) for cable in known}

    def preference(cable: Cable) -> tuple[int, bool, bool, str]:
        return count_foreign_ends(plugged[cable.identity.id], span, parts), *_cable_preference(cable)

    for cable in sorted(known, key=preference):
        if (
            (cable.identity.generic and medium != COPPER_PAIRS)
            or cable.identity.availability != AVAILABLE
            or links_diverge(cable, span)
        ):
            continue
        if cable_reason(cable, span.lower, span.upper, span.gbps, rules) is None:
            sold = shortest_length(cable.lengths_m, span.length_m)
            if sold is not None:
                yield Medium(None, None, cable, sold)


def link_cost(medium: Medium, parts: PartsLookup) -> Fraction | None:
    """Return the cost of one link: its share of both modules and of the cable; None when a price is missing."""
    prices = [(parts.price(module, None), int(module.ports.value)) for module in (medium.lower, medium.upper) if module]
    if medium.cable is None:
        return None
    prices.append((parts.price(medium.cable, medium.length_m), int(medium.cable.links.value)))
    shares = [price / links for price, links in prices if price is not None]
    return sum(shares, Fraction(0)) if len(shares) == len(prices) else None


def list_options(span: Span, parts: PartsLookup) -> list[MediumOption]:
    """Return all options for a kind of link, the preferred first, each with its cost or the reason against it."""
    optical = dict[str, Medium]()
    for low, up in _interoperating(span, parts):
        if fibre_module(low, up).fibre not in optical and (pair := _pair_modules(low, up, span, parts)):
            optical.setdefault(pair.option, pair)
    found = []
    for name in parts.rules().order:
        if name in (*COPPER, AOC):
            option = _cable_option(name, span, parts)
        else:
            option = MediumOption(name, optical[name]) if name in optical else _modules_rejection(name, span, parts)
        found.append(option._replace(cost=link_cost(option.medium, parts)) if option.medium else option)
    return found


def _cable_option(name: str, span: Span, parts: PartsLookup) -> MediumOption:
    found = next(cables(name, span, parts), None)
    if found:
        return MediumOption(name, found)
    rules = parts.rules()
    fitting = [
        cable
        for cable in parts.cables(name)
        if not cable.identity.generic and cable_reason(cable, span.lower, span.upper, span.gbps, rules) is None
    ]
    sold = [cable for cable in fitting if cable.identity.availability == AVAILABLE]
    joined = [cable for cable in sold if not links_diverge(cable, span)]
    if not fitting:
        return MediumOption(name, None, "no-part")
    if not sold:
        return MediumOption(name, None, "not-sold", _part_names(fitting))
    if not joined:
        return MediumOption(name, None, "parallel", _part_names(sold))
    longest = max((length for cable in joined for length in cable.lengths_m), default=None)
    if longest is None:
        return MediumOption(name, None, "no-length", _part_names(joined))
    return MediumOption(name, None, "too-short", f"{longest:g} m")


def _part_names(parts: Sequence[Cable] | Sequence[Module]) -> str:
    return ", ".join(sorted({part.identity.part_number or part.identity.id for part in parts}))


def _too_hot(fibre: str, cage: Cage, rate: int, parts: PartsLookup) -> list[Module]:
    fitting = _fitting_modules(cage._replace(power_w=None), rate, parts)
    return [module for module in fitting if module.fibre == fibre and power_reason(module, cage)]


def _modules_rejection(fibre: str, span: Span, parts: PartsLookup) -> MediumOption:
    rules = parts.rules()
    fitting = [
        [module for module in _fitting_modules(cage, span.gbps, parts) if module.fibre == fibre] for cage in span[:2]
    ]
    if not all(fitting):
        hot = [module for cage in span[:2] for module in _too_hot(fibre, cage, span.gbps, parts)]
        return MediumOption(fibre, None, "power", _part_names(hot)) if hot else MediumOption(fibre, None, "no-part")
    sold = [[end for end in ends if end.identity.availability == AVAILABLE] for ends in fitting]
    if not all(sold):
        return MediumOption(fibre, None, "not-sold", _part_names(fitting[0] + fitting[1]))
    pairs = [(low, up, pair_reason(low, up, rules)) for low in sold[0] for up in sold[1]]
    lit = [(low, up) for low, up, reason in pairs if reason is None]
    if not lit:
        reason = next(reason for _, _, reason in pairs if reason)
        return MediumOption(fibre, None, reason.code, reason.message)
    furthest = max((reach(low, up, rules) or Fraction(0) for low, up in lit), default=Fraction(0))
    if furthest < span.length_m:
        return MediumOption(fibre, None, "too-short", f"{metres(furthest)} m")
    return MediumOption(fibre, None, "no-fibre")


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

    Of equal media, one module serves the links of a cage whose next cage stays empty.
    Raises Unbuildable for a specified medium or part that cannot work, LookupError for an unknown part.
    """
    choice = _choose(spec, span, parts)
    lower, upper = (cage._replace(links=cage.blocking_links or cage.links) for cage in (span.lower, span.upper))
    if choice.medium is not None and (lower, upper) != (span.lower, span.upper):
        with suppress(Unbuildable):
            wide = _choose(spec, span._replace(lower=lower, upper=upper), parts).medium
            if wide is not None and wide.part_ids == choice.medium.part_ids:
                return choice._replace(medium=wide, cost=link_cost(wide, parts))
    return choice


def _choose(spec: LinkSpec, span: Span, parts: PartsLookup) -> LinkChoice:
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


# patching -----------------------------------------------------------------------------------------------------------
# The parts of a link over patch panels: jumper, panel, trunk, panel, jumper.


def select_patch(spec: PanelSpec, medium: Medium | None, parts: PartsLookup) -> Patch:
    """Select jumper, trunk and panel for links over panels.

    `medium` is that of direct links. Raises Unbuildable for links other than fibre between modules and for parts that
    do not work together, LookupError for an unknown part.
    """
    if medium is None or not medium.modules or medium.cable is None:
        message = "panels connect fibres between modules, and these links have none"
        raise Unbuildable(f"{message}; set `module:`, or remove `panels:`", "medium")
    if medium.cable.links.value > 1:
        name, links = medium.cable.identity.id, medium.cable.links.value
        message = f"{name} is a breakout module with {links} links per plug, and a patch-panel port takes one link"
        raise Unbuildable(f"{message}; specify modules with one link per plug, or remove `panels:`", "ports")
    jumper = _jumper(spec, medium, parts)
    return Patch(_panel(spec, jumper, parts), _trunk(spec, jumper, parts), jumper)


def _jumper(spec: PanelSpec, medium: Medium, parts: PartsLookup) -> Cable:
    if medium.cable is None or not medium.modules:
        raise ValueError("panels join fibres between modules")
    if spec.jumper is None:
        return medium.cable
    cable = parts.cable(spec.jumper)
    if cable.medium != FIBRE:
        raise Unbuildable(f"{spec.jumper} is not a fibre but {cable.medium}; specify a fibre", "medium")
    module = next((module for module in medium.modules if module.fibre != ANY), medium.modules[0])
    reason = fibre_reason(cable, module, 1, parts.rules())
    if reason:
        raise Unbuildable(f"{reason.message}; specify another jumper, or remove it", reason.code)
    return cable


def _trunk(spec: PanelSpec, jumper: Cable, parts: PartsLookup) -> Cable:
    rules = parts.rules()
    if spec.trunk is not None:
        cable = parts.cable(spec.trunk)
        if cable.medium != TRUNK:
            raise Unbuildable(f"{spec.trunk} is not a trunk but {cable.medium}; specify a trunk", "medium")
        reason = trunk_reason(jumper, cable, rules)
        if reason:
            raise Unbuildable(f"{reason.message}; specify another trunk, or remove it", reason.code)
        return cable
    trunks = [cable for cable in parts.cables(TRUNK) if cable.identity.availability == AVAILABLE]
    reasons = [(cable, trunk_reason(jumper, cable, rules)) for cable in trunks]
    found = [cable for cable, reason in reasons if reason is None]
    if not found:
        message = f"no trunk goes with {jumper.identity.id} ({jumper.fibre}, {jumper.connector})"
        raise Unbuildable(f"{message}; describe one in your own catalogue folder and specify it", "connector")
    return min(found, key=lambda cable: (cable.identity.generic, cable.identity.id))


def _panel(spec: PanelSpec, jumper: Cable, parts: PartsLookup) -> Panel:
    if spec.panel is not None:
        panel = parts.panel(spec.panel)
        if jumper.connector not in panel.connectors:
            message = f"{spec.panel} takes {', '.join(panel.connectors)}, {jumper.identity.id} is {jumper.connector}"
            raise Unbuildable(f"{message}; specify another panel, or remove it", "connector")
        return panel
    found = [panel for panel in parts.panels() if jumper.connector in panel.connectors]
    if not found:
        message = f"no panel takes {jumper.connector}, the connector of {jumper.identity.id}"
        raise Unbuildable(f"{message}; describe one in your own catalogue folder and specify it", "connector")
    return min(found, key=lambda panel: (not panel.identity.generic, panel.identity.id))
