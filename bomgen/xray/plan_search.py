"""The search for the plans that explain a bill best, fabric by fabric, including networks that share lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations, islice, product
from math import ceil
from typing import Any, NamedTuple

from bomgen.catalog.parts import ANY
from bomgen.core.jobs import OF_BILL_FIT, spend
from bomgen.core.provenance import Mark
from bomgen.design.assembly import Design
from bomgen.plan.types import COMPUTE, IN_BAND, STORAGE
from bomgen.pricing.bill import Bill
from bomgen.reading.bills import SentBill, SentLine
from bomgen.xray.candidates import (
    STAGES,
    CandidatePlan,
    list_links,
    list_servers,
    list_switches,
    merge,
    usual_structures,
)
from bomgen.xray.laws import SPARE_SHARE
from bomgen.xray.lines import (
    COMPARED,
    LEAF_SPINE,
    SPINE_CORE,
    Designs,
    PlacedPart,
    Plan,
    Scope,
    Servers,
    build_design,
    kind_between,
    list_slots,
    port_gbps,
    sum_pieces,
)
from bomgen.xray.parts import Requirements

MOST_SUBSETS = 12
"""Maximum number of lines of one part without position for which all subsets are tried."""
LEAST_SPARED = 10
"""Needed pieces of a part from which SPARE_PIECES may be spares, even if they exceed the share."""
SPARE_PIECES = 2
"""Number of pieces of a switch, or of a part needed in quantity, that may be spares regardless of the share."""


class NeededPart(NamedTuple):
    """Pieces of a part that the design needs, against lines of the bill."""

    slots: tuple[PlacedPart, ...]
    lines: tuple[SentLine, ...]
    expected: int
    given: int
    spares: int = 0

    @property
    def is_switch(self) -> bool:
        """Return whether it is a switch."""
        kinds = {slot.category for slot in self.slots} | {line.kind for line in self.lines}
        return "switch" in kinds

    @property
    def off(self) -> int:
        """Return the surplus pieces (positive) or missing pieces (negative), without spares."""
        return self.given - self.expected - self.spares


class DesignFit(NamedTuple):
    """A design against the lines that a fabric may claim."""

    parts: tuple[NeededPart, ...]

    @property
    def wrong(self) -> tuple[NeededPart, ...]:
        """Return the parts with a surplus or missing pieces."""
        return tuple(part for part in self.parts if part.off)

    @property
    def spare_switches(self) -> tuple[NeededPart, ...]:
        """Return the switches some of which may be spares."""
        return tuple(part for part in self.parts if part.is_switch and part.spares)

    @property
    def swapped(self) -> tuple[NeededPart, ...]:
        """Return two kinds of switches with each other's number of pieces; empty without such a pair."""
        switches = [part for part in self.wrong if part.lines and part.slots and part.slots[0].category == "switch"]
        listed, expected = [part.given for part in switches], [part.expected for part in reversed(switches)]
        return tuple(switches) if len(switches) == 2 and listed == expected else ()

    @property
    def substituted(self) -> tuple[tuple[NeededPart, NeededPart], ...]:
        """Return lines without a position in the design, with a part of their category that lacks their pieces."""
        lacking = [part for part in self.wrong if part.slots and part.off < 0]
        pairs = list[tuple[NeededPart, NeededPart]]()
        for part in (part for part in self.wrong if not part.slots):
            alike = [lack for lack in lacking if lack.slots[0].category == part.lines[0].kind]
            if needed := next((lack for lack in alike if not lack.lines or -lack.off == part.given), None):
                lacking.remove(needed)
                pairs.append((part, needed))
        return tuple(pairs)

    @property
    def matched(self) -> int:
        """Return the number of parts with the right quantity."""
        return sum(1 for part in self.parts if not part.off)

    @property
    def unexplained(self) -> int:
        """Return the pieces that the design does not explain, or only as spares; substitutes count as explained."""
        settled = sum(2 * min(part.off, -needed.off) for part, needed in self.substituted)
        return sum(abs(part.off) + part.spares for part in self.parts) - settled

    @property
    def matched_lines(self) -> tuple[SentLine, ...]:
        """Return the lines of parts with the right quantity."""
        return tuple(line for part in self.parts if not part.off for line in part.lines)

    @property
    def lines(self) -> tuple[SentLine, ...]:
        """Return the lines that the design claims."""
        return tuple(line for part in self.parts for line in part.lines)


def fit(
    slots: Sequence[PlacedPart],
    stated: Sequence[SentLine],
    free: Sequence[SentLine],
    has_spares: bool,
    listed: Collection[str] = (),
    shared: bool = False,
) -> DesignFit:
    """Return the comparison of a design with a fabric's lines, `own`, and with lines that may belong to it, `free`.

    A kind of part without any line counts as not missing, unless it is `listed` for other fabrics. `shared`: the design
    takes the pieces it needs from free lines, and leaves the others to other networks. `has_spares`: whether the bill
    has a column of spares; without one a small surplus may be spares.
    """
    categories = {line.kind for line in (*stated, *free)} | {*listed}
    wanted = [slot for slot in slots if slot.category in categories and slot.pieces]
    parts = list[NeededPart]()
    claimed = set[int]()
    for group in _groups(wanted, [*stated, *free]):
        own_lines = [line for line in stated if _compatible_any(line, group)]
        free_lines = [line for line in free if _compatible_any(line, group)]
        expected = sum(slot.pieces for slot in group)
        wanted_free = expected - sum_pieces(own_lines)
        lines = (*own_lines, *(_take(free_lines, wanted_free) if shared else _chosen(free_lines, wanted_free)))
        claimed.update(id(line) for line in lines)
        parts.append(NeededPart(tuple(group), tuple(lines), expected, sum_pieces(lines)))
    for line in stated:
        if id(line) not in claimed and line.kind in COMPARED and line.quantity:
            parts.append(NeededPart((), (line,), 0, line.quantity))
    return DesignFit(tuple(parts if has_spares else _allow_spares(parts)))


def _allow_spares(parts: Sequence[NeededPart]) -> Iterator[NeededPart]:
    """Yield parts with small surpluses as spares; those of switches only if another part has spares."""
    spared = any(part.off > 0 and not part.is_switch and part.off <= _most_spares(part) for part in parts)
    for part in parts:
        has_spares = 0 < part.off <= _most_spares(part) and (spared or not part.is_switch)
        yield part._replace(spares=part.off) if has_spares else part


def _most_spares(part: NeededPart) -> int:
    if any(line.kind == "server" for line in part.lines):
        return 0
    if part.is_switch:
        return SPARE_PIECES if part.expected > 1 else 0
    least = SPARE_PIECES if part.expected >= LEAST_SPARED else 0
    return max(ceil(part.expected * SPARE_SHARE), least) if part.expected > 1 and part.lines else 0


def compatible(line: SentLine, slot: PlacedPart) -> bool:
    """Return whether a line may fill a position of a design: the same part, without contradicting statements."""
    named, stated = line.recognition.named, line.place
    if named is None or (slot.kind, slot.id) not in ((named.kind, named.id), *line.recognition.alike):
        return False
    if slot.category in ("server", "nic"):
        return True
    if stated.links and slot.links and stated.links != slot.links:
        return False
    if stated.tier == "switch":
        return slot.tier != "server"
    return not (stated.tier and slot.tier and stated.tier != slot.tier)


def _compatible_any(line: SentLine, slots: Sequence[PlacedPart]) -> bool:
    return any(compatible(line, slot) for slot in slots)


def _groups(slots: Sequence[PlacedPart], lines: Sequence[SentLine]) -> Iterator[list[PlacedPart]]:
    """Yield groups of positions that lines cannot distinguish; a position without a line is a group of its own."""
    left = list(slots)
    while left:
        group, grown = [left.pop(0)], True
        while grown:
            grown = False
            reached = [line for line in lines if _compatible_any(line, group)]
            for slot in [slot for slot in left if any(compatible(line, slot) for line in reached)]:
                group.append(slot)
                left.remove(slot)
                grown = True
        yield group


def _take(lines: Sequence[SentLine], wanted: int) -> Iterator[SentLine]:
    for line in lines:
        pieces = min(line.quantity or 0, wanted)
        if pieces > 0:
            yield line._replace(quantity=pieces)
            wanted -= pieces


def _chosen(lines: Sequence[SentLine], wanted: int) -> tuple[SentLine, ...]:
    """Return the lines whose total is closest to the wanted pieces; of ties, those with the fewest lines."""
    if wanted <= 0 or not lines:
        return ()
    tried = lines[:MOST_SUBSETS]
    choices = (some for size in range(len(tried) + 1) for some in combinations(tried, size))
    return min(choices, key=lambda some: (abs(sum_pieces(some) - wanted), len(some)))


# search ---------------------------------------------------------------------------------------------------------------

OF_SWITCHES = 2
"""Weight of switches, because a wrong number of them means a wrong topology."""
MOST_RUNS = 240
"""Maximum number of designs built for a fabric."""
MOST_SWITCHES = 3
"""Maximum number of switch models tried for a fabric of a bill without positions."""
MOST_LINKS_TRIED = 16
"""Options for its links of which the two best are kept."""
KEPT_LINKS = 2
SHAPES_TRIED = (3, 2)
"""Structures with which the options are tried, outside the compute network and in it."""
TWO_PLANES: Plan = {"planes": 2}
UNKNOWN_PORT_RATE = "storage-port-rate"
"""The assumption for the server port rate that the catalogue lacks."""
MOST_ALIKE = 6


class Basis(NamedTuple):
    """Data shared by all searches for the networks of a bill."""

    bill: SentBill
    required: Requirements
    designs: Designs
    """Designs by plan, cached because searches for networks of one bill use the same plans."""

    def build(self, plan: Plan) -> tuple[Design, Bill] | None:
        """Return the design and bill of a plan; None if it cannot be built."""
        key = repr(plan)
        if key not in self.designs:
            self.designs[key] = build_design(plan, self.bill.catalog)
        return self.designs[key]


class FittedPlan(NamedTuple):
    """A plan against the lines of a fabric."""

    candidate: CandidatePlan
    design: Design
    bill: Bill
    fit: DesignFit
    broken: int
    """Number of required parts with a wrong quantity even after the other corrections."""

    @property
    def corrected(self) -> tuple[NeededPart, ...]:
        """Return the parts whose lines need a correction; of two swapped ones the first."""
        settled = (*self.fit.swapped[1:], *(needed for _, needed in self.fit.substituted))
        return tuple(part for part in self.fit.wrong if part not in settled)

    @property
    def corrections(self) -> int:
        """Return the number of counts that need a correction, including required parts."""
        return len(self.corrected) + self.broken

    @property
    def rank(self) -> tuple[int, int, int]:
        """Return a sort key: wrong parts and repeated counts, then unexplained pieces, then claimed pieces.

        A required part, such as a cord, counts if it is wrong even after the other corrections. Plans of equal rank fit
        equally well.
        """
        wrong = sum(OF_SWITCHES if part.is_switch else 1 for part in self.corrected) + len(self.fit.spare_switches)
        return wrong + self.broken + self.candidate.given, self.fit.unexplained, -sum_pieces(self.fit.lines)

    @property
    def cost(self) -> tuple[tuple[int, int, int], int]:
        """Return its rank, then its size in keys."""
        derived = 1 if self.candidate.servers.derived else 0
        return self.rank, derived + _size(self.candidate.fabric)

    @property
    def counts_links(self) -> bool:
        """Return whether lines with the right quantity count the links of every kind, by their cables or modules."""
        counted = set[str]()
        for part in self.fit.parts:
            kinds = {slot.links for slot in part.slots}
            # A surplus on lines of links of several kinds may be links.
            if part.lines and not part.off and (len(kinds) == 1 or not part.spares):
                counted |= kinds
        return counted >= {links.kind for links in self.design.fabrics[0].fabric.links}

    @property
    def is_settled(self) -> bool:
        """Return whether no other structure fits better: nothing is wrong, or neither switches nor links are."""
        if self.candidate.given or self.fit.spare_switches:
            return False
        unplaced = sum(not part.slots for part in self.fit.wrong)
        is_structure_right = unplaced == len(self.fit.substituted) and not any(
            part.is_switch for part in self.fit.wrong
        )
        return not self.fit.wrong or (is_structure_right and self.counts_links)

    @property
    def assumes_ports(self) -> bool:
        """Return whether the rate of the servers' ports is an assumption."""
        return "link" in self.candidate.fabric


class FitResult(NamedTuple):
    """The plans found for a fabric."""

    best: tuple[FittedPlan, ...]
    """All plans that fit equally well, the shortest first; empty if no design could be built."""
    usual: FittedPlan | None
    """The best plan that repeats no count of the bill; lines are checked against it."""

    rival: FittedPlan | None = None
    """The best plan that needs no more corrections than `usual` and leaves fewer required parts wrong."""
    tried: tuple[FittedPlan, ...] = ()
    """All plans that could be built, the best first."""

    @property
    def is_usual(self) -> bool:
        """Return whether the usual plan is as likely as the best one: it needs no more corrections."""
        if not self.usual or not self.best:
            return False
        best = self.best[0]
        if self.usual.corrections != best.corrections + best.candidate.given:
            return self.usual.corrections < best.corrections + best.candidate.given
        return not best.fit.wrong or self.usual.fit.unexplained <= best.fit.unexplained


def fit_fabric(scope: Scope, basis: Basis) -> FitResult:
    """Return the plans that explain the lines of a fabric best."""
    fitted = list[FittedPlan]()
    choices = list_servers(scope)
    runs, seen = 0, set[str]()
    for switch in islice(list_switches(scope) if choices else (), MOST_SWITCHES):
        media = _best_links(scope, choices[0], switch, basis)
        for stage, servers in product(STAGES, choices):
            for (shape, guesses), links in product(stage(scope, servers, switch), media):
                fabric = _fabric(scope, servers, switch, shape, links)
                key = repr((servers, fabric))
                if key in seen or runs >= MOST_RUNS:
                    continue
                seen.add(key)
                runs += 1
                if tried := _try(scope, CandidatePlan(servers.cluster, fabric, servers, guesses), basis):
                    fitted.append(tried)
                    left = sum_pieces(line for line in scope.free if line.kind in COMPARED)
                    claimed = sum_pieces(line for line in tried.fit.lines if line.kind != "server")
                    if scope.shared and not tried.fit.wrong and left == claimed:
                        return _rank(fitted)
            if any(plan.is_settled for plan in fitted):
                return _rank(fitted)
    return _rank(fitted)


def _rank(fitted_plans: list[FittedPlan]) -> FitResult:
    if not fitted_plans:
        return FitResult((), None)
    costs = [fitted.cost for fitted in fitted_plans]
    order = sorted(range(len(costs)), key=costs.__getitem__)
    fitted_plans = [fitted_plans[at] for at in order]
    least, _ = costs[order[0]]
    best = [plan for at, plan in zip(order, fitted_plans, strict=True) if costs[at][0] == least]
    # Planes that nothing on the bill states are only said where one plane does not explain it.
    best = [plan for plan in best if "planes" not in plan.candidate.fabric] or best
    alike = dict[Any, FittedPlan]()
    for fitted in best:
        alike.setdefault(describe_shape(fitted), fitted)
    usual = next((fitted_plan for fitted_plan in fitted_plans if not fitted_plan.candidate.given), None)
    rival = _rival(usual, fitted_plans) if usual else None
    return FitResult(tuple(alike.values())[:MOST_ALIKE], usual, rival, tuple(fitted_plans))


def _rival(usual: FittedPlan, fitted_plans: Sequence[FittedPlan]) -> FittedPlan | None:
    """Return the cheapest plan that a bill with a wrong count may be for instead of the usual one.

    It needs no more corrections and leaves fewer required parts wrong; or it specifies less, and two lines are swapped.
    """
    for plan in fitted_plans:
        if plan.candidate.given:
            continue
        if plan.broken < usual.broken:
            is_rival = plan.corrections <= usual.corrections
        else:
            is_rival = bool(plan.fit.swapped) and plan.corrections == 1 and plan.cost[1] < usual.cost[1]
        if is_rival:
            return plan
    return None


def _best_links(scope: Scope, servers: Servers, switch: Plan, basis: Basis) -> list[Plan]:
    tried = list[tuple[tuple[int, int, int], int, Plan, bool]]()
    several = SHAPES_TRIED[scope.role == COMPUTE]
    shapes = [shape for shape, _ in islice(usual_structures(scope, servers, switch), several)]
    choices = list(islice(list_links(scope, switch["switch"]), MOST_LINKS_TRIED))
    for planes, (at, links) in product(({}, TWO_PLANES), enumerate(choices)):
        if planes and tried:
            break  # two planes are tried only where NICs cannot be connected to one
        for shape in (merge(shape, planes) for shape in shapes):
            fabric = _fabric(scope, servers, switch, shape, links)
            if fitted := _try(scope, CandidatePlan(servers.cluster, fabric, servers), basis):
                # A design may explain the modules and cables of the bill, if not its number of switches.
                tried.append((fitted.rank, at, links, all(part.is_switch for part in fitted.fit.wrong)))
    tried.sort(key=lambda trial: trial[:2])
    kept = list[Plan]()
    for found_at, (_, _, links, sure) in enumerate(tried):
        if links not in kept:
            kept.append(links)
        if found_at == 0 and sure:
            break
    return kept[:KEPT_LINKS] or [{}]


def _fabric(scope: Scope, servers: Servers, switch: Plan, shape: Plan, links: Plan) -> Plan:
    """Return a fabric in plan keys, with the NICs of its own lines, or for unknown servers with NICs that fit."""
    # A topology without spines may connect its leaves to each other: its keys for uplinks apply to these links.
    named = shape.get("topology")
    if named and (peer := kind_between("leaf", "leaf", named)) and not kind_between("leaf", "spine", named):
        links = {peer if kind == LEAF_SPINE else kind: link for kind, link in links.items() if kind != SPINE_CORE}
        above = {peer if kind == LEAF_SPINE else kind: link for kind, link in shape.get("links", {}).items()}
        shape = {**shape, "links": above}
    whole = merge(switch, shape, {"links": links} if links else {})
    if not whole.get("links"):
        whole.pop("links", None)
    nics = [line for line in scope.own if line.kind == "nic" and line.quantity]
    if not nics and isinstance(servers.cluster.get("server"), dict):
        free = _most_first(line for line in scope.free if line.kind == "nic" and line.quantity)
        nics = free[:1] if scope.role == COMPUTE else free[-1:]
    if nics and servers.number:
        whole["nic"] = nics[0].id
        nics_per_server, rest = divmod(sum_pieces(nics), servers.number)
        if scope.role == COMPUTE and not rest and nics_per_server:
            ratio = Fraction(servers.gpus, nics_per_server)
            if ratio != 1:
                whole["gpus_per_nic"] = int(ratio) if ratio.denominator == 1 else str(ratio)
    elif scope.role != COMPUTE and scope.assumed and (rate := _stated_rate(scope)):
        cages = [str(line.record.value("cage")) for line in scope.modules("server")]
        if cages and cages[0] != ANY:
            ports = int(shape.get("ports_per_server", 1))
            whole["nic"] = {"name": "NIC of the bill", "ports": ports, "port_gbps": rate, "cage": cages[0]}
    elif scope.role != COMPUTE and isinstance(servers.cluster.get("server"), dict):
        assumed, most = scope.catalog.assumption(UNKNOWN_PORT_RATE), port_gbps(switch["switch"], scope.catalog)
        whole["link"] = f"{_stated_rate(scope) or min(int(assumed.value), most)}G"
    return whole


def _stated_rate(scope: Scope) -> int:
    """Return the rate [Gb/s] of the links that the modules at servers serve; 0 without modules."""
    return max((line.link_gbps for line in scope.list_modules_at_servers()), default=0)


def _try(scope: Scope, candidate: CandidatePlan, basis: Basis) -> FittedPlan | None:
    spend(OF_BILL_FIT * len(scope.lines))
    built = basis.build(candidate.plan(scope.role))
    if built is None:
        return None
    designed, billed = built
    slots = list(list_slots(billed))
    server = candidate.cluster.get("server")
    stated = [line for line in (*scope.own, *scope.servers) if line.kind != "server" or line.id == server]
    fitted = fit(slots, stated, scope.free, basis.bill.has_spares, scope.listed, scope.shared)
    if reserved := candidate.fabric.get("reserved_ports"):
        fitted = DesignFit((*fitted.parts, *_links_of_managers(scope, fitted, reserved)))
    firsts = ((part.slots[0] if part.slots else part.lines[0], part.off) for part in fitted.wrong)
    broken = basis.required.count_broken((first.kind, first.id, off) for first, off in firsts)
    return FittedPlan(candidate, designed, billed, fitted, broken)


def _links_of_managers(scope: Scope, design_fit: DesignFit, ports: int) -> tuple[NeededPart, ...]:
    """Return the modules and fibres between fabric managers and reserved ports; empty without both."""
    claimed = {id(line) for line in design_fit.lines}
    left = [line for line in scope.free if id(line) not in claimed and line.quantity]
    modules = (line for line in left if line.kind == "transceiver" and line.place.tier in ("", "server"))
    fibres = (line for line in left if line.is_fibre)
    module = next((line for line in modules if line.links == ports), None)
    fibre = next((line for line in fibres if line.links == ports), None)
    if module is None or fibre is None:
        return ()
    return tuple(NeededPart((), (line,), line.quantity or 0, line.quantity or 0) for line in (module, fibre))


def _size(value: Any) -> int:
    if isinstance(value, dict):
        return sum(1 + _size(below) for below in value.values())
    return 0


def describe_shape(fitted_plan: FittedPlan) -> tuple[Any, ...]:
    """Return what distinguishes designs for a reader: servers, topology, tiers, switches, ratio, planes."""
    built = fitted_plan.design.fabrics[0]
    tiers = tuple((tier.name, int(tier.count.value)) for tier in built.fabric.tiers)
    fabric = fitted_plan.candidate.fabric
    servers = fitted_plan.candidate.servers.number
    return servers, built.fabric.topology, tiers, fabric.get("planes", 1), fabric.get("homing")


# networks -----------------------------------------------------------------------------------------------------------
# The networks of a bill whose lines do not state their network: several may share a line.

BESIDE = (STORAGE, IN_BAND)
"""Networks that may share lines with the compute network, in search order."""
MOST_TRIED = 4
"""Maximum number of networks of a role that are combined with the others."""


class Networks(NamedTuple):
    """Networks that together explain the lines of a bill."""

    found: tuple[tuple[Scope, FitResult], ...]
    fit: DesignFit
    """All their parts against all lines."""

    @property
    def cost(self) -> tuple[int, int, int]:
        """Return a sort key: unexplained parts and repeated switch models, then networks, then unexplained pieces.

        Networks of the same parts can explain almost any count: another one of a kind must explain two parts, or one
        that has no position otherwise.
        """
        kinds = {str(each.best[0].candidate.fabric["switch"] if each.best else "") for _, each in self.found}
        unplaced = sum(1 for part in self.fit.wrong if not part.slots) - len(self.fit.substituted)
        odd = len(self.fit.wrong) + unplaced + len(self.fit.spare_switches)
        return odd + len(self.found) - len(kinds), len(self.found), self.fit.unexplained

    @property
    def servers(self) -> int | None:
        """Return the number of servers of the first network; None without one."""
        return self.found[0][1].best[0].candidate.servers.number if self.found else None


def find_networks(scope: Scope, basis: Basis) -> Networks:
    """Return the networks that explain the lines of `scope` best: one for all lines, or several."""
    alone = fit_fabric(scope, basis)
    tried = [_join([(scope, alone)], scope, basis)]
    if alone.usual and alone.usual.is_settled:
        return tried[0]
    models = {line.id for line in scope.of_kind("switch")}
    # With more models than networks it is a list of parts, for which every combination would be tried.
    if scope.servers and 0 < len(models) <= 1 + len(BESIDE) and tried[0].fit.wrong:
        for networks in _add_network(_join((), scope, basis), COMPUTE, scope, basis):
            for role in BESIDE:
                added = _add_network(networks, role, scope, basis)
                networks = min((networks, *added), key=lambda candidate: candidate.cost)
            tried.append(networks)
            if not networks.fit.wrong:
                break
    return min(tried, key=lambda candidate: candidate.cost)


def _add_network(networks: Networks, role: str, scope: Scope, basis: Basis) -> Iterator[Networks]:
    left = _left(scope.lines, networks)
    if not any(line.kind == "cable" for line in left):
        return
    for switch in dict.fromkeys(line.id for line in _most_first(line for line in left if line.kind == "switch")):
        free = tuple(line for line in left if line.kind != "switch" or line.id == switch)
        beside = scope._replace(name=role, role=role, own=(), free=free, shared=True, number=networks.servers)
        fit_result = fit_fabric(beside, basis)
        for choice in _likeliest(fit_result):
            yield _join((*networks.found, (beside, choice)), scope, basis)
        if role == COMPUTE and any(not choice.fit.wrong for choice in fit_result.best):
            return  # the compute network has most of the switches


def _join(joined: Iterable[tuple[Scope, FitResult]], scope: Scope, basis: Basis) -> Networks:
    joined = tuple(joined)
    slots = [slot for _, result in joined if result.usual for slot in list_slots(result.usual.bill)]
    return Networks(joined, fit(slots, scope.lines, (), basis.bill.has_spares))


def _likeliest(fit_result: FitResult) -> list[FitResult]:
    """Return the explanations with the fewest mismatches, then the most pieces; one for each set of claimed lines."""

    def weight(plan: FittedPlan) -> tuple[int, int, int]:
        return len(plan.fit.wrong), plan.fit.unexplained, -sum_pieces(plan.fit.lines)

    claims = dict[tuple[tuple[str, int], ...], FittedPlan]()
    for fitted in sorted(fit_result.tried, key=weight):
        claims.setdefault(tuple(sorted((line.id, line.quantity or 0) for line in fitted.fit.lines)), fitted)
    return [FitResult((claim,), claim) for claim in list(claims.values())[:MOST_TRIED]]


def _most_first(lines: Iterable[SentLine]) -> list[SentLine]:
    return sorted(lines, key=lambda line: -(line.quantity or 0))


def _left(lines: Sequence[SentLine], networks: Networks) -> tuple[SentLine, ...]:
    pieces = Counter[Mark]()
    for _, result in networks.found:
        for line in result.best[0].fit.lines:
            pieces[line.mark] += line.quantity or 0
    left = (line._replace(quantity=(line.quantity or 0) - pieces[line.mark]) for line in lines)
    return tuple(line for line in left if line.quantity)
