"""The search for the plans that explain a bill best, fabric by fabric, networks that share lines too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import islice, product
from typing import Any, NamedTuple

from bomgen.catalog.files import Catalog
from bomgen.core.provenance import Mark
from bomgen.design.assembly import Design
from bomgen.plan.types import COMPUTE, IN_BAND, STORAGE
from bomgen.pricing.bill import Bill
from bomgen.reading.bills import SentLine
from bomgen.xray.candidates import STAGES, CandidatePlan, list_links, list_switches, merge, usual_structures
from bomgen.xray.fitting import DesignFit, NeededPart, fit
from bomgen.xray.forward import COMPARED, Plan, build_design, list_slots
from bomgen.xray.lines import (
    SERVER,
    Scope,
    count_engines,
    count_links,
    is_fibre,
    kind_between,
    leaf_spine,
    port_gbps,
    spine_core,
)
from bomgen.xray.machines import Servers, list_servers
from bomgen.xray.parts import Requirements

OF_SWITCHES = 2
"""Parts that switches count as: a wrong number of them is a wrong topology."""
MOST_RUNS = 240
"""Designs that are built for a fabric at most."""
MOST_SWITCHES = 3
"""Switches that a bill without places may use for a fabric, of which each is tried."""
MOST_LINKS_TRIED = 16
"""Ways to build its links of which the two best are kept."""
KEPT_LINKS = 2
UNKNOWN_PORT_RATE = "storage-port-rate"
"""The assumption that a plan takes the ports of servers from which the catalogue does not have."""
MOST_ALIKE = 6
"""Plans that fit equally well of which are listed at most."""


class Basis(NamedTuple):
    """What all searches for the networks of a bill share."""

    catalog: Catalog
    required: Requirements
    has_spares: bool
    """Whether the bill has a column of spares."""
    designs: dict[str, tuple[Design, Bill] | None]
    """What was built for a plan, since networks of one bill are looked for with the same plans."""

    def build(self, plan: Plan) -> tuple[Design, Bill] | None:
        """What is built and billed for a plan; None when it cannot be built."""
        key = repr(plan)
        if key not in self.designs:
            self.designs[key] = build_design(plan, self.catalog)
        return self.designs[key]


class FittedPlan(NamedTuple):
    """A plan against the lines of a fabric."""

    candidate: CandidatePlan
    design: Design
    bill: Bill
    fit: DesignFit
    broken: int
    """Parts that are required besides whose pieces are wrong even when what it does not explain is corrected."""

    @property
    def corrected(self) -> tuple[NeededPart, ...]:
        """Parts whose lines have to be corrected for it; of two that stand in each other's place the first."""
        settled = (*self.fit.swapped[1:], *(needed for _, needed in self.fit.substituted))
        return tuple(part for part in self.fit.wrong if part not in settled)

    @property
    def corrections(self) -> int:
        """Counts that are to be corrected for it, of required parts, too."""
        return len(self.corrected) + self.broken

    @property
    def rank(self) -> tuple[int, int, int]:
        """What it does not explain: parts and counts that it only repeats, then pieces; then pieces that it claims.

        A part counts that is required besides, such as a cord, and is wrong although the others are corrected.

        Plans of one rank fit equally well.
        """
        claimed = sum(line.quantity or 0 for line in self.fit.lines)
        wrong = sum(OF_SWITCHES if part.is_switch else 1 for part in self.corrected) + len(self.fit.spare_switches)
        return wrong + self.broken + self.candidate.given, self.fit.unexplained, -claimed

    @property
    def cost(self) -> tuple[tuple[int, int, int], int]:
        """Its rank, then how much it says."""
        derived = 1 if self.candidate.servers.derived else 0
        return self.rank, derived + _size(self.candidate.fabric)

    @property
    def assumes_ports(self) -> bool:
        """Whether the rate of the servers' ports is an assumption."""
        return "link" in self.candidate.fabric


class FitResult(NamedTuple):
    """What was found for a fabric."""

    best: tuple[FittedPlan, ...]
    """All plans that fit equally well, the shortest first; none where no design could be built."""
    usual: FittedPlan | None
    """The best of the plans that repeat no count of the bill: lines are judged by it."""

    rival: FittedPlan | None = None
    """The best of those that need no more corrections than it and leave fewer required parts wrong."""
    tried: tuple[FittedPlan, ...] = ()
    """All that could be built, the best first."""

    @property
    def is_usual(self) -> bool:
        """Whether a usual plan is as likely as the best, which may repeat counts: it needs no more corrections."""
        if not self.usual or not self.best:
            return False
        best = self.best[0]
        if self.usual.corrections != best.corrections + best.candidate.given:
            return self.usual.corrections < best.corrections + best.candidate.given
        return not best.fit.wrong or self.usual.fit.unexplained <= best.fit.unexplained


def fit_fabric(scope: Scope, basis: Basis) -> FitResult:
    """The plans that explain the lines of a fabric best."""
    catalog = basis.catalog
    found = list[FittedPlan]()
    choices = list_servers(scope, catalog)
    runs, seen = 0, set[str]()
    for switch in islice(list_switches(scope) if choices else (), MOST_SWITCHES):
        media = _best_links(scope, choices[0], switch, basis)
        for stage, servers in product(STAGES, choices):
            for (shape, given), links in product(stage(scope, servers, switch, catalog), media):
                fabric = _fabric(scope, servers, switch, shape, links, catalog)
                key = repr((servers, fabric))
                if key in seen or runs >= MOST_RUNS:
                    continue
                seen.add(key)
                runs += 1
                if tried := _try(scope, CandidatePlan(servers.cluster, fabric, servers, given), basis):
                    found.append(tried)
                    if scope.shared and _takes_all(tried, scope):
                        return _rank(found)
            if any(not (each.fit.wrong or each.fit.spare_switches or each.candidate.given) for each in found):
                break
    return _rank(found)


def _takes_all(tried: FittedPlan, scope: Scope) -> bool:
    """Whether a design needs all that other networks have left, and nothing besides."""
    pieces = sum(line.quantity or 0 for line in scope.free if line.kind in COMPARED)
    return (
        not tried.fit.wrong and sum(line.quantity or 0 for line in tried.fit.lines if line.kind != "server") == pieces
    )


def _rank(fitted_plans: list[FittedPlan]) -> FitResult:
    """The best of all that could be built."""
    if not fitted_plans:
        return FitResult((), None)
    fitted_plans.sort(key=lambda each: each.cost)
    best = [fitted_plan for fitted_plan in fitted_plans if fitted_plan.rank == fitted_plans[0].rank]
    alike = dict[Any, FittedPlan]()
    for each in best:
        alike.setdefault(describe_shape(each), each)
    usual = next((fitted_plan for fitted_plan in fitted_plans if not fitted_plan.candidate.given), None)
    rival = _rival(usual, fitted_plans) if usual else None
    return FitResult(tuple(alike.values())[:MOST_ALIKE], usual, rival, tuple(fitted_plans))


def _rival(usual: FittedPlan, fitted_plans: Sequence[FittedPlan]) -> FittedPlan | None:
    """Return the cheapest plan that may be meant instead: a wrong count may belong to another design.

    It needs no more corrections and leaves fewer required parts wrong; or it specifies less, and two lines are swapped.
    """

    def may_be_meant(fitted_plan: FittedPlan) -> bool:
        if fitted_plan.broken < usual.broken:
            return fitted_plan.corrections <= usual.corrections
        return bool(fitted_plan.fit.swapped) and fitted_plan.corrections == 1 and fitted_plan.cost[1] < usual.cost[1]

    return next(
        (fitted_plan for fitted_plan in fitted_plans if not fitted_plan.candidate.given and may_be_meant(fitted_plan)),
        None,
    )


def _best_links(scope: Scope, servers: Servers, switch: Plan, basis: Basis) -> list[Plan]:
    """The ways to build the links that explain the most modules and cables, whatever the topology."""
    catalog = basis.catalog
    tried = list[tuple[tuple[int, int, int], int, Plan, bool]]()
    shapes = [shape for shape, _ in islice(usual_structures(scope, servers, switch, catalog), 2)]
    for at, links in enumerate(islice(list_links(scope, switch["switch"], catalog), MOST_LINKS_TRIED)):
        for shape in shapes:
            fabric = _fabric(scope, servers, switch, shape, links, catalog)
            if found := _try(scope, CandidatePlan(servers.cluster, fabric, servers), basis):
                tried.append((found.rank, at, links, _explains_links(found)))
    tried.sort(key=lambda each: each[:2])
    kept = list[Plan]()
    for found_at, (_, _, links, sure) in enumerate(tried):
        if links not in kept:
            kept.append(links)
        if found_at == 0 and sure:
            break
    return kept[:KEPT_LINKS] or [{}]


def _explains_links(fitted_plan: FittedPlan) -> bool:
    """Whether a design has the modules and cables of the bill, if not the number of its switches."""
    return all(part.is_switch for part in fitted_plan.fit.wrong)


def _fabric(scope: Scope, servers: Servers, switch: Plan, shape: Plan, links: Plan, catalog: Catalog) -> Plan:
    """A fabric of a plan, with the NICs of its own lines, or for servers that nobody knows with those that fit."""
    # A topology without spines may join its leaves with each other: what is said of links up is said of these.
    named = shape.get("topology")
    if named and (peer := kind_between("leaf", "leaf", named)) and not kind_between("leaf", "spine", named):
        links = {peer if kind == leaf_spine() else kind: each for kind, each in links.items() if kind != spine_core()}
        above = {peer if kind == leaf_spine() else kind: each for kind, each in shape.get("links", {}).items()}
        shape = {**shape, "links": above}
    whole = merge(switch, shape, {"links": links} if links else {})
    if not whole.get("links"):
        whole.pop("links", None)
    nics = [line for line in scope.own if line.kind == "nic" and line.quantity]
    if not nics and isinstance(servers.cluster.get("server"), dict):
        free = sorted(
            (line for line in scope.free if line.kind == "nic" and line.quantity),
            key=lambda line: -(line.quantity or 0),
        )
        nics = free[:1] if scope.role == COMPUTE else free[-1:]
    if nics and servers.number:
        pieces = sum(line.quantity or 0 for line in nics)
        whole["nic"] = nics[0].id
        each, rest = divmod(pieces, servers.number)
        if scope.role == COMPUTE and not rest and each:
            ratio = Fraction(servers.gpus, each)
            if ratio != 1:
                whole["gpus_per_nic"] = (
                    int(ratio) if ratio.denominator == 1 else f"{ratio.numerator}/{ratio.denominator}"
                )
    elif scope.role != COMPUTE and isinstance(servers.cluster.get("server"), dict):
        whole["link"] = (
            f"{min(int(catalog.assumption(UNKNOWN_PORT_RATE).value), port_gbps(switch['switch'], catalog))}G"
        )
    return whole


def _try(scope: Scope, candidate: CandidatePlan, basis: Basis) -> FittedPlan | None:
    built = basis.build(candidate.plan(scope.role))
    if built is None:
        return None
    designed, billed = built
    slots = list(list_slots(billed))
    own = [
        line
        for line in (*scope.own, *scope.servers)
        if line.kind != "server" or line.id == candidate.cluster.get("server")
    ]
    found = fit(slots, own, scope.free, basis.has_spares, scope.listed, scope.shared)
    if reserved := candidate.fabric.get("reserved_ports"):
        found = DesignFit((*found.parts, *_links_of_managers(scope, found, reserved, basis.catalog)))
    surplus = [(*_named(part), part.off) for part in found.wrong]
    broken = basis.required.count_broken(each for each in surplus if each[1])
    return FittedPlan(candidate, designed, billed, found, broken)


def _links_of_managers(scope: Scope, design_fit: DesignFit, ports: int, catalog: Catalog) -> tuple[NeededPart, ...]:
    """The modules and the fibres that connect fabric managers to the ports kept for them; none without both."""
    claimed = {id(line) for line in design_fit.lines}
    left = [line for line in scope.free if id(line) not in claimed and line.quantity]
    modules = (line for line in left if line.kind == "transceiver" and line.place.tier in ("", SERVER))
    fibres = (line for line in left if line.kind == "cable" and is_fibre(line, catalog))
    pair = (
        next((line for line in modules if count_engines(line, catalog) == ports), None),
        next((line for line in fibres if count_links(line, catalog) == ports), None),
    )
    lines = [line for line in pair if line]
    return (
        tuple(NeededPart((), (line,), pieces, pieces) for line in lines if (pieces := line.quantity))
        if all(pair)
        else ()
    )


def _named(part: NeededPart) -> tuple[str, str]:
    """The kind and the id of a part; an empty id for one without."""
    return (part.slots[0].kind, part.slots[0].id) if part.slots else (part.lines[0].kind, part.lines[0].id)


def _size(value: Any) -> int:
    if isinstance(value, dict):
        return sum(1 + _size(each) for each in value.values())
    return 0


def describe_shape(fitted_plan: FittedPlan) -> tuple[Any, ...]:
    """What a reader distinguishes designs by: servers, topology, tiers, switches, ratio, planes."""
    built = fitted_plan.design.fabrics[0]
    tiers = tuple((tier.name, int(tier.count.value)) for tier in built.fabric.tiers)
    fabric = fitted_plan.candidate.fabric
    return (
        fitted_plan.candidate.servers.number,
        built.fabric.topology,
        tiers,
        fabric.get("planes", 1),
        fabric.get("homing"),
    )


# networks -----------------------------------------------------------------------------------------------------------
# The networks of a bill that does not say which line is of which: several may share a line.

BESIDE = (STORAGE, IN_BAND)
"""Networks that may share lines with the compute network, in the order that they are looked for."""
MOST_TRIED = 4
"""Networks of a role of which each is tried beside the others."""


class Networks(NamedTuple):
    """Networks that explain the lines of a bill together."""

    found: tuple[tuple[Scope, FitResult], ...]
    fit: DesignFit
    """All their parts against all lines."""

    @property
    def cost(self) -> tuple[int, int, int]:
        """Parts that they do not explain, and networks of one kind of switch; then networks, then pieces.

        Networks of equal parts explain about any counts: one more of a kind must explain two parts, or one that has no
        place without it.
        """
        kinds = {str(each.best[0].candidate.fabric["switch"] if each.best else "") for _, each in self.found}
        unplaced = sum(1 for part in self.fit.wrong if not part.slots) - len(self.fit.substituted)
        odd = len(self.fit.wrong) + unplaced + len(self.fit.spare_switches)
        return odd + len(self.found) - len(kinds), len(self.found), self.fit.unexplained

    @property
    def servers(self) -> int | None:
        """The servers that the first is for; None without one."""
        return self.found[0][1].best[0].candidate.servers.number if self.found else None


def find_networks(scope: Scope, basis: Basis) -> Networks:
    """The networks that explain the lines of `scope` best: one of all of them, or several."""
    tried = [_join([(scope, fit_fabric(scope, basis))], scope, basis)]
    if scope.servers and scope.of_kind("switch") and tried[0].fit.wrong:
        for networks in _add_network(_join((), scope, basis), COMPUTE, scope, basis):
            for role in BESIDE:
                added = _add_network(networks, role, scope, basis)
                networks = min((networks, *added), key=lambda each: each.cost)
            tried.append(networks)
            if not networks.fit.wrong:
                break
    return min(tried, key=lambda each: each.cost)


def _add_network(networks: Networks, role: str, scope: Scope, basis: Basis) -> Iterator[Networks]:
    """The networks with one of a role that takes what it needs of what they leave."""
    left = _left(scope.lines, networks)
    if not any(line.kind == "cable" for line in left):
        return
    switches = sorted((line for line in left if line.kind == "switch"), key=lambda line: -(line.quantity or 0))
    for switch in dict.fromkeys(line.id for line in switches):
        free = tuple(line for line in left if line.kind != "switch" or line.id == switch)
        beside = scope._replace(name=role, role=role, own=(), free=free, shared=True, number=networks.servers)
        fit_result = fit_fabric(beside, basis)
        for each in _likeliest(fit_result):
            yield _join((*networks.found, (beside, each)), scope, basis)
        if role == COMPUTE and any(not each.fit.wrong for each in fit_result.best):
            return  # the compute network has most of the switches


def _join(found: Iterable[tuple[Scope, FitResult]], scope: Scope, basis: Basis) -> Networks:
    found = tuple(found)
    slots = [slot for _, each in found if each.usual for slot in list_slots(each.usual.bill)]
    return Networks(found, fit(slots, scope.lines, (), basis.has_spares))


def _likeliest(fit_result: FitResult) -> list[FitResult]:
    """The explanations that miss the least, and of these take the most of a bill: one of each claim."""

    def weight(fitted_plan: FittedPlan) -> tuple[int, int, int]:
        return (
            len(fitted_plan.fit.wrong),
            fitted_plan.fit.unexplained,
            -sum(line.quantity or 0 for line in fitted_plan.fit.lines),
        )

    claims = dict[tuple[tuple[str, int], ...], FittedPlan]()
    for each in sorted(fit_result.tried, key=weight):
        claims.setdefault(tuple(sorted((line.id, line.quantity or 0) for line in each.fit.lines)), each)
    return [FitResult((claim,), claim) for claim in list(claims.values())[:MOST_TRIED]]


def _left(lines: Sequence[SentLine], networks: Networks) -> tuple[SentLine, ...]:
    pieces = dict[Mark, int]()
    for _, found in networks.found:
        for line in found.best[0].fit.lines:
            pieces[line.mark] = pieces.get(line.mark, 0) + (line.quantity or 0)
    left = (line._replace(quantity=(line.quantity or 0) - pieces.get(line.mark, 0)) for line in lines)
    return tuple(line for line in left if line.quantity)
