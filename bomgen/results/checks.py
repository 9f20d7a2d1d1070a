"""Checks of bomgen on its own result before anything is written, one function per rule, under `@rule`.

Most rules address mistakes seen in published bills. A failed check is a bug of the program, not an error in the plan,
and nothing is written. A warning is for the reader.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise, permutations, product
from math import ceil
from typing import Literal, NamedTuple

from bomgen.catalog.part_records import LINE_CARDS
from bomgen.catalog.parts import PortGroup, Switch
from bomgen.core.diagnostics import Problem
from bomgen.core.messages import message
from bomgen.core.provenance import Figure
from bomgen.core.units import rounded
from bomgen.design.assembly import BuiltFabric, Design, boxes_of
from bomgen.fabric.ports import carries_rate, group_radix
from bomgen.fabric.types import defines_own_links, ports_of
from bomgen.optics.uses import JUMPER, TRUNKED
from bomgen.plan.commercial_terms import DEFAULT, QuotePlan
from bomgen.pricing.bill import Bill
from bomgen.pricing.quote import Quote

OVER_BUILT = 2
"""Uplink to downlink bandwidth above which a leaf is over-provisioned (published designs reach 16:1)."""
REDUNDANT_UPLINKS = 2
"""Uplinks per switch that count as redundancy, at any rate."""
MOST_ENUMERATED = 100_000
"""Most links per plane that a check enumerates, which takes some hundredths of a second."""

Status = Literal["pass", "warn", "fail"]


class Check(NamedTuple):
    """The outcome of one rule for one part of the result."""

    id: str
    status: Status
    message: str
    path: str


Rule = Callable[..., Iterator[Check]]
RULES: dict[tuple[str, ...], list[Rule]] = {
    ("built",): [],
    ("built", "quote"): [],
    ("design", "bill"): [],
    ("quote",): [],
    ("quote", "plan"): [],
}
"""Rules by their parameters, in the order of the module."""


def rule(function: Rule) -> Rule:
    """Register a rule. Its parameters define its subject: a fabric, a fabric with prices, the bill, or amounts."""
    RULES[function.__code__.co_varnames[: function.__code__.co_argcount]].append(function)
    return function


def checks(design: Design, bill: Bill, quote: Quote) -> tuple[Check, ...]:
    """Return every check on the design and the bill; for amounts see `check_money`."""
    fabrics = design.fabrics
    found = [check for built in fabrics for find in RULES["built",] for check in find(built)]
    found += [check for built in fabrics for find in RULES["built", "quote"] for check in find(built, quote)]
    return (*found, *(check for find in RULES["design", "bill"] for check in find(design, bill)))


def check_money(quote: Quote, plan: QuotePlan) -> tuple[Check, ...]:
    """Return the checks on the amounts of a quote."""
    found = [check for find in RULES["quote", "plan"] for check in find(quote, plan)]
    return (*found, *(check for find in RULES["quote",] for check in find(quote)))


def checks_from_problems(problems: Sequence[Problem]) -> tuple[Check, ...]:
    """Return warnings as checks."""
    return tuple(Check(problem.rule, "warn", problem.message, problem.path) for problem in problems)


def _passed(id: str, holds: bool, text: str, path: str) -> Check:
    return Check(id, "pass" if holds else "fail", text, path)


@rule
def _ports_fit(built: BuiltFabric) -> Iterator[Check]:
    for tier in built.fabric.tiers:
        path = f"fabrics.{built.plan.name}.ports.{tier.name}"
        wanted = [(link.rate_gbps, ports_of(tier, link)) for link in built.fabric.links if tier.name in link.ends]
        if built.fabric.uplink_gbps and tier.up and tier is built.fabric.tiers[-1]:
            wanted.append((built.fabric.uplink_gbps, int(tier.up.value)))
        up = int(tier.up.value) if tier.up else 0
        text = message("ports-of-tier", tier=tier.name, down=tier.down.value, up=up)
        yield _passed("ports-fit", _has_ports(tier.switch, wanted), text, path)


def _has_ports(switch: Switch, wanted: Sequence[tuple[Figure, int]]) -> bool:
    """Return whether some assignment of the ports of a switch serves the links of every rate."""
    rates: dict[int, Figure] = {}
    links: dict[int, int] = {}
    for rate, ports in wanted:
        rates.setdefault(rate.value, rate)
        links[rate.value] = links.get(rate.value, 0) + ports
    ways = product(permutations(switch.groups), permutations(rates.values()))
    return any(_finds_ports(groups, order, links) for groups, order in ways)


def _finds_ports(groups: Sequence[PortGroup], rates: Sequence[Figure], links: Mapping[int, int]) -> bool:
    """Return whether links fit, rate by rate in this order of port groups; a cage holds links of one rate."""
    free = [Fraction(group.ports.value, group.ports_per_cage.value) for group in groups]
    for rate in rates:
        left = links[rate.value]
        for index, group in enumerate(groups):
            each = _links_per_cage(group, rate)
            if not each:
                continue
            alike = all(_links_per_cage(group, rate) in (0, each) for rate in rates)
            taken = min(left, int(free[index] * each if alike else int(free[index]) * each))
            free[index] -= taken / each if alike else ceil(taken / each)
            left -= taken
        if left:
            return False
    return True


def _links_per_cage(group: PortGroup, rate: Figure) -> Fraction:
    """Return the links of a rate per cage, also if only some cages support it; 0 if none do."""
    if not carries_rate(group, rate):
        return Fraction(0)
    return Fraction(group_radix(group, rate).value * group.ports_per_cage.value, group.ports.value)


@rule
def _cards_suffice(built: BuiltFabric) -> Iterator[Check]:
    for fitted in built.chassis:
        tier = built.fabric.tier(fitted.tier)
        cards = next((use.each for use in fitted.uses if use.kind == LINE_CARDS), None)
        if tier is None or cards is None or tier.switch.chassis is None or tier.switch.chassis.ports_per_card is None:
            continue
        group, slots = tier.switch.groups[0], tier.switch.chassis.slots
        room = cards.value * tier.switch.chassis.ports_per_card.value * group.port_gbps.value
        below, above = (
            max((links.rate_gbps.value for links in built.fabric.links if links.ends[end] == tier.name), default=0)
            for end in (1, 0)
        )
        used = max(
            each.down.value * below + (each.up.value * above if each.up else 0)
            for each in tier.fitted
            if each.count.value
        )
        text = message("line-cards-room", cards=cards.value, used=used, room=room)
        path = f"fabrics.{built.plan.name}.chassis.{tier.name}.line_cards"
        yield _passed("line-cards", used <= room and (not slots or cards.value <= slots.value), text, path)


@rule
def _ends_meet(built: BuiltFabric) -> Iterator[Check]:
    """Check that links counted from below equal links counted from above, so that both ends have ports."""
    tiers = built.fabric.tiers
    for lower, upper in pairwise(tiers):
        links = next(link for link in built.fabric.links if link.ends == (lower.name, upper.name))
        count, kind = links.count.value, links.kind
        below = sum(fitted.count.value * (fitted.up.value if fitted.up else 0) for fitted in lower.fitted)
        above = upper.count.value * upper.down.value
        text = message("links-meet", links=count, kind=kind, below=below, above=above)
        yield _passed("ends-meet", count == below <= above, text, f"fabrics.{built.plan.name}.links.{kind}")
    beside = [link for link in built.fabric.links if link.within_tier]
    for tier in tiers:
        ends = 2 * sum(link.count.value for link in beside if tier.name in link.ends)
        if ends:
            ports = sum(fitted.count.value * (fitted.up.value if fitted.up else 0) for fitted in tier.fitted)
            text = message("ends-meet-beside", ends=ends, tier=tier.name, ports=ports)
            yield _passed("ends-meet", ends == ports, text, f"fabrics.{built.plan.name}.links")


@rule
def _spread_evenly(built: BuiltFabric) -> Iterator[Check]:
    plane = built.fabric.plane or built.fabric
    leaf, spine = plane.tier("leaf"), plane.tier("spine")
    if leaf is None or spine is None or leaf.up is None or plane.links[1].parallel:
        return
    of_pod = spine.count.value // (plane.pods.value if plane.pods else 1)
    text = message("even-spread", up=leaf.up.value, spines=of_pod)
    path = f"fabrics.{built.plan.name}.switches.spine"
    yield _passed("even-spread", leaf.up.value % of_pod == 0, text, path)


@rule
def _ratio_kept(built: BuiltFabric) -> Iterator[Check]:
    """Check that oversubscription does not exceed the request, unless the plan sets the ports itself."""
    asked = {"leaf": built.plan.oversubscription, "spine": built.plan.spine_oversubscription}
    for tier in built.fabric.tiers:
        if tier.oversubscription is None:
            continue
        wanted, ratio = asked[tier.name].value, tier.oversubscription.value
        built_, asked_ = f"{float(ratio):g}", f"{float(wanted):g}"
        text = message("oversubscription-built", tier=tier.name, built=built_, asked=asked_)
        fixed = built.plan.tier_plans[tier.name].uplinks or built.plan.uplink or built.plan.peer_links
        status: Status = "pass" if ratio <= wanted else "warn" if fixed else "fail"
        yield Check("oversubscription", status, text, f"fabrics.{built.plan.name}.oversubscription.{tier.name}")


@rule
def _not_over_built(built: BuiltFabric, quote: Quote) -> Iterator[Check]:
    leaf = built.fabric.tier("leaf")
    ratio = leaf.oversubscription if leaf else None
    if leaf is None or ratio is None or leaf.up is None or leaf.up.value <= REDUNDANT_UPLINKS:
        return
    if any(links.within_tier and links.parallel and links.parallel.value == 1 for links in built.fabric.links):
        return
    if ratio.value * OVER_BUILT < 1:
        times = float(1 / ratio.value)
        above = [
            line for line in quote.lines if line.line.fabric == built.plan.name and _is_above(built, line.line.role)
        ]
        priced = [line.amount for line in above if line.amount is not None]
        text = message("over-built", times=f"{times:g}")
        if priced:
            code = "over-built-cost" if len(priced) == len(above) else "over-built-least"
            text = message(code, times=f"{times:g}", amount=f"{sum(priced)} {quote.totals.currency}")
        yield Check("over-built", "warn", text, f"fabrics.{built.plan.name}.oversubscription.leaf")


def _is_above(built: BuiltFabric, role: str | None) -> bool:
    tiers = {tier.name for tier in built.fabric.tiers[1:]}
    kinds = {links.kind for links in built.fabric.links if links.ends[1] in tiers}
    return (role or "").partition("/")[0] in tiers | kinds


@rule
def _bisection(built: BuiltFabric) -> Iterator[Check]:
    """Check that the links enumerated by the topology match the counts and carry the stated bisection.

    Only failures are reported. Fabrics with very many links are left to `bomgen wiring`, which lists them; a topology
    that inherits both from a family is covered by the tests of that family.
    """
    if not defines_own_links(built.fabric):
        return
    from bomgen.fabric.links import cut_between_halves

    plane = built.fabric.plane or built.fabric
    if sum(links.count.value for links in plane.links) > MOST_ENUMERATED:
        return
    base, cut = f"fabrics.{built.plan.name}", cut_between_halves(plane)
    for kind, listed, count in cut.miscounted:
        text = message("links-miscounted", listed=listed, kind=kind, count=count)
        yield Check("connections", "fail", text, f"{base}.links.{kind}")
    planes = built.fabric.planes.value if built.fabric.planes else 1
    stated = built.fabric.bisection_gbps.value
    if stated > planes * cut.gbps:
        text = message("bisection-overstated", stated=stated, cut=planes * cut.gbps)
        yield Check("bisection", "fail", text, f"{base}.bisection_gbps")


@rule
def _optical_ends(built: BuiltFabric) -> Iterator[Check]:
    """Check that every optical link has a module at both ends: per device, over all kinds of links."""
    for device in dict.fromkeys(use.device for use in built.interconnect.modules):
        uses = [use for use in built.interconnect.modules if use.device == device]
        engines = sum(use.quantity.value * use.module.ports.value for use in uses)
        links = sum(use.ends.value for use in uses)
        text = message("optical-ends", engines=engines, tier=device, links=links)
        yield _passed("optical-ends", engines >= links, text, f"fabrics.{built.plan.name}.transceivers.{device}")


@rule
def _cables_match(built: BuiltFabric) -> Iterator[Check]:
    """Check for one cable per link, fewer if one cable carries several links."""
    for kind in dict.fromkeys(use.kind for use in built.interconnect.cables):
        over = sum(use.links[kind].value for use in built.interconnect.panels if kind in use.links)
        yield from _over_panels(built, kind, over)
        uses = [use for use in built.interconnect.cables if use.kind == kind and not use.role]
        links = next(link for link in built.fabric.links if link.kind == kind).cabled.value - over
        if over and not uses and not links:
            continue
        pieces = sum(use.quantity.value for use in uses)
        carried = sum(use.quantity.value * (use.cable.links.value if use.cable else 1) for use in uses)
        code = "cables-off-panels" if over else "cables-of-links"
        text = message(code, cables=pieces, links=links, kind=kind)
        holds = pieces <= links <= carried
        yield _passed("cables", holds, text, f"fabrics.{built.plan.name}.cables.{kind}")


def _over_panels(built: BuiltFabric, kind: str, links: int) -> Iterator[Check]:
    """Check for two jumpers per link over panels, and enough trunk legs for all of them."""
    if not links:
        return
    uses = [use for use in built.interconnect.cables if use.kind == kind and use.role]
    jumpers = sum(use.quantity.value for use in uses if use.role == JUMPER)
    trunks = [(use.quantity.value, use.cable.links.value) for use in uses if use.role == TRUNKED and use.cable]
    pieces = sum(count for count, _ in trunks)
    text = message("cables-over-panels", jumpers=jumpers, trunks=pieces, links=links, kind=kind)
    holds = jumpers == 2 * links and pieces <= links <= sum(count * legs for count, legs in trunks)
    yield _passed("cables", holds, text, f"fabrics.{built.plan.name}.cables.{kind}")


@rule
def _bill_equals_design(design: Design, bill: Bill) -> Iterator[Check]:
    built, stored = design.fabrics, design.sizing.stored
    switches = sum(boxes_of(tier).value for fabric in built for tier in fabric.fabric.tiers)
    cards = sum(use.quantity.value for fabric in built for fitted in fabric.chassis for use in fitted.uses)
    circuits = [fabric.fabric.circuits for fabric in built if fabric.fabric.circuits]
    ends = sum(circuit["ends"].value for circuit in circuits)
    switches += sum(circuit["switches"].value for circuit in circuits)
    units = stored.units if stored else ()
    bought = (hosts for fabric in built for hosts in fabric.plan.hosts if hosts.part)
    hosts = sum(each.pieces.value for each in bought if each.part and each.part.identity.kind == "storage")
    switches += sum(part.number.value for part in units if part.of.switch_ports)
    of_groups = (hosts for fabric in built for hosts in fabric.plan.hosts if hosts.nic and hosts.nics)
    nics = sum(hosts.pieces.value * hosts.nics.value for hosts in of_groups if hosts.nics)
    pieces = {
        parts: sum(use.quantity.value for fabric in built for use in getattr(fabric.interconnect, parts))
        for parts in ("modules", "adapters", "cables", "panels")
    }
    for category, wanted in (
        ("nic", nics + sum(fabric.nics.value for fabric in built if fabric.bought_nic)),
        ("switch", switches + cards),
        ("transceiver", pieces["modules"] + pieces["adapters"] + ends),
        ("cable", pieces["cables"] + pieces["panels"] + ends),
        ("storage", sum(part.number.value for part in units if not part.of.switch_ports) + hosts),
    ):
        if design.plan.scope is not None and category not in design.plan.scope:
            continue
        lines = [line for line in (*bill.lines, *bill.existing) if not line.required_by and not line.is_ahead]
        billed = sum(line.quantity.value for line in lines if line.category == category)
        text = message("billed-pieces", pieces=billed, category=category)
        yield _passed("bill-equals-design", billed == wanted, text, "lines")


@rule
def _totals_add_up(quote: Quote, plan: QuotePlan) -> Iterator[Check]:
    """Check the totals against an independent calculation from quantities, prices, discounts and tax."""
    totals = quote.totals
    before = after = Decimal(0)
    of_rate: dict[Fraction, Fraction] = {}
    for line in quote.lines:
        if line.unit.amount is not None:
            exact = line.line.pieces * Fraction(line.unit.amount)
            before += rounded(exact, totals.currency)
            net = rounded(exact * (1 - line.discount), totals.currency)
            after += net
            rate = plan.tax.get(line.line.category) or plan.tax.get(DEFAULT)
            share = Fraction(rate.value) if rate else Fraction(0)
            of_rate[share] = of_rate.get(share, Fraction(0)) + Fraction(net)
    tax = sum((rounded(net * share, totals.currency) for share, net in of_rate.items()), Decimal(0))
    holds = (totals.list, totals.discount, totals.tax, totals.amount) == (before, before - after, tax, after + tax)
    yield _passed("totals", holds, message("totals-add-up"), "totals")


@rule
def _prices_complete(quote: Quote) -> Iterator[Check]:
    """Report lines without a price, which make the total a lower bound."""
    missing = [line.line.id for line in quote.lines if line.amount is None]
    if missing:
        text = message("lines-without-price", missing=len(missing), lines=len(quote.lines))
        yield Check("missing-price", "warn", text, "totals.complete")
    else:
        yield Check("missing-price", "pass", message("lines-priced"), "totals.complete")
