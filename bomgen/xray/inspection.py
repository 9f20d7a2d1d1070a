"""The inspection of a received bill: the designs that explain it, and its errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import ceil
from typing import Literal, NamedTuple

from bomgen.catalog.files import Catalog
from bomgen.core.jobs import OF_BILL_LINE, TooMuch, budget, spend
from bomgen.core.messages import Message, Parameter, message
from bomgen.core.provenance import Assumed, Figure, Mark
from bomgen.plan.binding.fabrics import OTHERWISE, PORTS_OF_ONE_CARD
from bomgen.plan.types import COMPUTE, IN_BAND, OUT_OF_BAND, STORAGE
from bomgen.reading.bills import MAX_LINES, SentBill, SentLine
from bomgen.reading.part_numbers import Recognition
from bomgen.xray.laws import (
    GENERAL,
    LIKELY,
    MOST_ENGINES,
    PINPOINTED,
    SPARE_SHARE,
    ConsistencyChecks,
    Finding,
    Severity,
    at_line,
    check_wiring,
    ordered,
)
from bomgen.xray.lines import (
    COMPARED,
    SERVER_LEAF,
    CountedNetwork,
    Designs,
    Scope,
    Servers,
    count_network,
    count_rj45_ports,
    joins_servers,
    list_scopes,
    summarise_servers,
)
from bomgen.xray.parts import Requirements, check_parts, check_prices
from bomgen.xray.plan_search import (
    UNKNOWN_PORT_RATE,
    Basis,
    DesignFit,
    FittedPlan,
    NeededPart,
    Networks,
    find_networks,
    fit_fabric,
)

# judgement ----------------------------------------------------------------------------------------------------------
# Errors of a bill relative to a design that explains it, and missing categories.

LEAST_MATCHED = 2
"""Required number of matching parts per mismatch."""
MOST_WRONG = 2
"""Number of mismatched parts of a fabric above which a design explains nothing of it."""


def _mixes_media(scope: Scope) -> bool:
    """Return whether links of one kind use both modules with fibres and fixed-end cables, as a floor layout gives."""
    lit = {line.place.links for line in scope.own if line.kind == "transceiver"}
    cables = {(line.place.links, line.id) for line in scope.own if line.kind == "cable" and line.place.links in lit}
    return len(cables) > len({links for links, _ in cables})


def is_trusted(fit: DesignFit, scope: Scope) -> bool:
    """Return whether a design fits so well that mismatches are probably errors of the bill."""
    wrong, matched = len(fit.wrong) - len(fit.substituted), fit.matched
    if any(not slot.id for part in fit.wrong for slot in part.slots):
        return False
    if not scope.own:
        return matched > LEAST_MATCHED * max(wrong, 1)
    if wrong and _mixes_media(scope):
        return False
    return wrong == 0 or (wrong <= MOST_WRONG + 1 and matched >= max(LEAST_MATCHED, LEAST_MATCHED * wrong - 1))


def find_mismatches(fit: DesignFit, scope: Scope, bill: SentBill) -> Iterator[Finding]:
    """Yield the differences of the lines from a fitting design."""
    for part, needed in fit.substituted:
        line = part.lines[0]
        name = needed.slots[0].name
        yield at_line("doubt", line, "instead", line.quantity or 0, PINPOINTED, part=line.shown, needed=name)
    swapped = fit.swapped
    for part in swapped:
        line = part.lines[0]
        listed, expected = part.given, part.expected
        yield at_line("doubt", line, "swapped", part.off, PINPOINTED, part=line.shown, given=listed, expected=expected)
    settled = [*swapped, *(part for pair in fit.substituted for part in pair)]
    for part in (part for part in fit.wrong if part not in settled):
        if unknown := _stand_in(part, scope, bill):
            name = part.slots[0].name
            yield at_line("unknown", unknown, "stands-in", part=unknown.shown, needed=name, pieces=-part.off)
        elif not part.lines:
            yield _missing(part, scope, bill)
        elif not part.slots:
            line, pieces = part.lines[0], part.lines[0].quantity or 0
            yield at_line("doubt", line, "no-place", pieces, PINPOINTED, part=line.shown, pieces=pieces)
        else:
            line = _culprit(part)
            code, counts = "few" if part.off < 0 else "many", {"given": part.given, "expected": part.expected}
            shown: str | Message = line.shown
            if len(part.lines) > 1:  # the count is the total of all of them
                numbers = tuple(str(line.mark.line) for line in part.lines)
                shown = message("xray-in-lines", part=part.slots[0].name, lines=numbers)
            severity: Severity = "unknown" if part.off < 0 and _may_be_listed(part, scope, bill) else "doubt"
            yield at_line(severity, line, code, part.off, PINPOINTED, part=shown, **counts)


def _may_be_listed(part: NeededPart, scope: Scope, bill: SentBill) -> bool:
    """Return whether unrecognised lines, or lines without a readable quantity, may have the missing pieces."""
    kind, id = part.slots[0].kind, part.slots[0].id
    unknown = [line for line in bill.lines if line.place.fabric in ("", scope.name) and line.may_be(kind)]
    pieces = sum(line.quantity or 0 for line in unknown)
    if kind == "transceiver":
        record = bill.catalog.find_original(kind, id)
        gbps = int(record.value("rate_gbps") or 0) // int(record.value("ports") or 1)
        pieces = 0
        for line in unknown:
            words = line.recognition.words
            if words.gbps // max(words.ports, 1) in (0, gbps):
                pieces += (line.quantity or 0) * (words.ports or MOST_ENGINES)
    return bill.has_uncounted(kind) or pieces >= -part.off


def _stand_in(part: NeededPart, scope: Scope, bill: SentBill) -> SentLine | None:
    lacking, kind = -part.off, part.slots[0].category if part.slots else ""
    most = lacking if bill.has_spares else lacking + ceil(lacking * SPARE_SHARE)
    unread = [line for line in bill.lines if not line.kind and line.place.fabric in ("", scope.name)]
    unknown = (line for line in unread if lacking <= (line.quantity or 0) <= most)
    return next((line for line in unknown if lacking > 0 and kind in (line.kinds or (kind,))), None)


def find_idle_ports(best: Sequence[FittedPlan], scope: Scope, bill: SentBill) -> Iterator[Finding]:
    """Yield a finding if servers with two-port NICs use one port of a network: half of the links may be missing."""
    server = str(best[0].candidate.cluster.get("server"))
    used = max(int(fitted.candidate.fabric.get("ports_per_server", 0)) for fitted in best)
    sharing = {line.place.fabric for line in bill.lines if line.place.fabric in (STORAGE, IN_BAND)}
    if not used or len(sharing) > 1 or server not in {line.id for line in scope.servers}:
        return
    ports = int(scope.catalog.find_original("server", server).value("storage_ports") or 0)
    if used < PORTS_OF_ONE_CARD <= ports:
        below = [line for line in scope.own if line.place.links == SERVER_LEAF] or list(scope.own)
        line = next((line for line in below if line.kind == "cable"), below[0])
        off = -(line.quantity or 0) * (PORTS_OF_ONE_CARD - used)
        part, usual = line.shown, PORTS_OF_ONE_CARD
        yield at_line("doubt", line, "idle-ports", off, part=part, server=server, used=used, ports=ports, usual=usual)


def _missing(part: NeededPart, scope: Scope, bill: SentBill) -> Finding:
    near = [line for line in scope.own if line.kind == part.slots[0].category] or list(scope.own) or list(bill.lines)
    name, position = part.slots[0].name, part.slots[0].links or part.slots[0].tier
    said = message("xray-missing", pieces=part.expected, part=name, place=position or part.slots[0].category)
    severity: Severity = "unknown" if _may_be_listed(part, scope, bill) else "doubt"
    return Finding(severity, said, near[-1].mark, None, -part.expected, None, PINPOINTED, part.slots[0].id)


def _culprit(part: NeededPart) -> SentLine:
    """Return the line of a part whose quantity matches no position in the design."""
    left = [slot.pieces for slot in part.slots]
    odd = list[SentLine]()
    for line in part.lines:
        if line.quantity in left:
            left.remove(line.quantity)
        else:
            odd.append(line)
    return (odd or list(part.lines))[0]


def _servers_of_a_switch(catalog: Catalog) -> set[int]:
    """Return the servers of an out-of-band switch in default designs that have more switches than full ones."""
    numbers = set[int]()
    for record in catalog.all("assumption"):
        form = record.value("value")
        while isinstance(form, dict):
            if form.get("role") == OUT_OF_BAND:
                numbers |= {form["leaf"]["servers"]} if "servers" in form.get("leaf", {}) else set()
            form = form.get(OTHERWISE)
    return numbers


def check_management(scope: Scope) -> Iterator[Finding]:
    """Yield findings on the out-of-band network: too few or too many switches for its cables."""
    ends = sum(line.quantity or 0 for line in scope.own if line.kind == "cable")
    switches = [line for line in scope.own if line.kind == "switch" and line.quantity]
    ports = count_rj45_ports(switches[0]) if len(switches) == 1 and ends else 0
    if ports:
        [line] = switches
        trays = ((machine.record.value("trays") or 1) if machine.id else 1 for machine in scope.servers)
        servers = sum((machine.quantity or 0) * int(of) for machine, of in zip(scope.servers, trays, strict=True))
        most = [ceil(ends / ports), *(ceil(servers / number) for number in _servers_of_a_switch(scope.catalog))]
        usual = [ceil(ends / ceil(ends / max(most[0], count))) for count in most]
        needed = min(usual, key=lambda number: abs((line.quantity or 0) - number))
        off = (line.quantity or 0) - needed
        if off:
            code, counts = "few" if off < 0 else "many", {"given": line.quantity or 0, "expected": needed}
            yield at_line("doubt", line, code, off, PINPOINTED, part=line.shown, **counts)


def find_lacking(bill: SentBill) -> Iterator[Finding]:
    """Yield findings on whole categories that a bill lacks, such as racks, and on missing spares."""
    named = {kind for line in bill.lines for kind in line.kinds}
    named |= {kind for kind in ("cable", "transceiver", "rack", "pdu") if any(line.may_be(kind) for line in bill.lines)}
    if any(line.kind == "server" and line.record.value("trays") for line in bill.lines):
        named |= {"rack", "pdu"}  # a rack-scale system is a rack with its power shelves
    if "switch" in named and "cable" not in named:
        yield _of_bill(bill, "without-cables", "doubt" if "transceiver" in named else "unknown")
    cables = [line.record for line in bill.lines if line.kind == "cable"]
    lit = not cables or any(cable.value("kind") in ("fibre", "trunk") for cable in cables)
    if "switch" in named and "transceiver" not in named and lit:
        yield _of_bill(bill, "without-modules")
    if "rack" not in named:
        yield _of_bill(bill, "without-racks")
    elif "pdu" not in named:
        yield _of_bill(bill, "without-pdus")
    if bill.has_spares and not any(line.spare for line in bill.lines):
        yield _of_bill(bill, "without-spares")


def _of_bill(bill: SentBill, code: str, severity: Severity = "unknown", **parameters: Parameter) -> Finding:
    return Finding(severity, message(f"xray-{code}", **parameters), Mark(bill.file, 1, 1), weight=GENERAL)


# inspection ---------------------------------------------------------------------------------------------------------

MOST_GUESSED = 12
"""Maximum number of lines with a mistyped number; with more, the vendor is unknown to the catalogue."""
MAX_STEPS = 16_000_000
"""Maximum steps of comparing a bill with designs, of about a microsecond each; 144 trays of GB300 on three networks,
on 19 lines that name none of them, take 15 million."""
OF_PARTS = ("wrong-fibre", "wrong-connector")
"""Findings of consistency checks that explain a wrong part better than a design does."""
MOST_CARRIED = 2
"""Servers that a network has ports for, for each on the bill, from which it is said to be larger than they need."""
UNNAMED = "network"
"""What a network is called that neither a line nor a design names."""
NETWORK = ("switch", "transceiver", "cable")
GROUPED = ("few-fibres", "ends", "cages", "no-cables", "no-module-fits", "many", "one-end")
"""Findings of consistency checks that a fitting design explains better."""


Explains = Literal["whole", "switches", "nothing"]
"""How much of a fabric the designs explain: every part, the switches, or neither."""


class DesignFound(NamedTuple):
    """A design that explains a fabric."""

    servers: int
    topology: str
    tiers: tuple[tuple[str, int], ...]
    """Switches by tier."""
    switch: str
    ratio: str
    """Downlink to uplink bandwidth of a leaf, as built; empty without uplinks, or where no line counts the links."""
    planes: int
    homing: str
    repeats: bool
    """Whether it repeats a count of the bill that no rule implies."""
    carries: int = 0
    """Servers that its leaves have ports for, if these are many more than on the bill."""


class FabricFound(NamedTuple):
    """A fabric of the bill, and the designs that explain it equally well."""

    name: str
    cluster: str
    lines: tuple[SentLine, ...]
    explains: Explains
    designs: tuple[DesignFound, ...]
    counted: CountedNetwork | None = None
    """What counts and roles alone say of it, if no design explains all of it."""

    @property
    def title(self) -> str:
        """Return the name, with that of its cluster if a bill has several."""
        return f"{self.cluster}.{self.name}" if self.cluster else self.name


class Xray(NamedTuple):
    """The findings about a bill."""

    bill: SentBill
    fabrics: tuple[FabricFound, ...]
    findings: tuple[Finding, ...]
    left: tuple[SentLine, ...]
    """Network lines that no fabric claims."""
    assumptions: tuple[tuple[Figure, Assumed], ...] = ()
    """Assumptions of the designs that the bill does not state."""
    servers: tuple[Message, ...] = ()
    """The servers that the bill lists."""


class Explained(NamedTuple):
    """A fabric of the bill, and the plans that fit equally well."""

    name: str
    role: str
    cluster: str
    best: tuple[FittedPlan, ...]
    explains: Explains
    counted: CountedNetwork


class Inspection(NamedTuple):
    """The result for a bill: the findings for a reader, and the plans behind them."""

    found: Xray
    fabrics: tuple[Explained, ...]


def inspect(bill: SentBill) -> Inspection:
    """Return the inspection of a bill.

    An unrecognised line is read as the part with the most similar number if a design needs exactly these pieces; a
    finding reports it.
    """
    guesses = {line.mark: guess for line in bill.lines if line.quantity and (guess := line.recognition.guess)}
    if len(guesses) > MOST_GUESSED:
        guesses = {}
    designs: Designs = {}
    with budget(MAX_STEPS):
        inspection = _inspect(_read_as(bill, guesses), designs)
        whole = [fabric.best[0].fit for fabric in inspection.fabrics if fabric.explains == "whole"]
        needed = {(line.mark, line.quantity) for fit in whole for line in fit.matched_lines}
        here = [line for line in bill.lines if line.mark in guesses and (line.mark, line.quantity) in needed]
        kept = {line.mark: guesses[line.mark] for line in here}
        return inspection if kept == guesses else _inspect(_read_as(bill, kept), designs)


def _read_as(bill: SentBill, guesses: Mapping[Mark, Recognition]) -> SentBill:
    lines = (line._replace(recognition=guesses.get(line.mark, line.recognition)) for line in bill.lines)
    return bill._replace(lines=tuple(lines)) if guesses else bill


def _inspect(bill: SentBill, designs: Designs) -> Inspection:
    findings = [*check_parts(bill), *check_prices(bill), *check_wiring(bill.cables)]
    laws, required = list(ConsistencyChecks(bill).findings()), Requirements(bill)
    basis = Basis(bill, required, designs)
    fabrics = list[Explained]()
    claimed = set[tuple[str, Mark]]()
    """Clusters and places of explained lines."""
    assumed: Servers | None = None
    for scope, cluster in list_scopes(bill):
        free = tuple(line for line in scope.free if (cluster, line.mark) not in claimed)
        scope = scope._replace(free=free, assumed=assumed)
        if scope.role == OUT_OF_BAND:
            findings += check_management(scope)
            claimed.update((cluster, line.mark) for line in scope.own)
            continue
        if joins_servers(scope.own):
            claimed.update((cluster, line.mark) for line in scope.own)
            continue
        if not any(line.kind in NETWORK or "switch" in line.kinds for line in scope.lines):
            continue  # servers without a network
        try:
            spend(OF_BILL_LINE * len(scope.lines))
            if scope.name:
                networks = Networks(((scope, fit_fabric(scope, basis)),), DesignFit(()))
            else:
                networks = find_networks(scope, basis)
        except TooMuch:
            findings.append(_of_bill(bill, "too-much", most=MAX_STEPS, fabric=scope.name or scope.role))
            break
        if networks.found[0][0].shared:
            trusted = is_trusted(networks.fit, scope._replace(own=scope.lines))
            if trusted:
                judged, laws = _judge(networks.fit, scope, bill, laws)
                findings += judged
            agreed = {line.mark for line in networks.fit.matched_lines}
            claimed.update((cluster, line.mark) for line in scope.lines if trusted or line.mark in agreed)
            for member, result in networks.found:
                lines = [line for line in result.best[0].fit.lines if line.kind != "server"]
                explains: Explains = "whole" if trusted or all(line.mark in agreed for line in lines) else "nothing"
                counted = count_network((*member.lines, *_unrecognised(member, bill)))
                fabrics.append(
                    Explained(member.name or member.role, member.role, cluster, result.best, explains, counted)
                )
            continue
        [(_, result)] = networks.found
        trusted = result.usual is not None and result.is_usual and is_trusted(result.usual.fit, scope)
        if (
            not scope.is_linked and not scope.listed
        ):  # switches alone are explained by their exact number, or by nothing
            exact = (plan for plan in result.best if not plan.fit.wrong and "planes" not in plan.candidate.fabric)
            result = result._replace(best=tuple(exact))
            trusted = trusted and bool(result.best)
        if result.usual and trusted:
            judged, laws = _judge(result.usual.fit, scope, bill, laws)
            if result.best[0].candidate.given and not result.best[0].fit.wrong and not result.best[0].broken:
                judged = [finding._replace(weight=LIKELY) for finding in judged]
            findings += judged
            if result.rival and is_trusted(result.rival.fit, scope):
                findings += find_mismatches(result.rival.fit, scope, bill)
            findings += find_idle_ports(result.best, scope, bill)
        best = result.best
        if trusted and result.usual and result.usual.fit.wrong and result.usual not in best:
            # Lines that findings refer to are shown too; a design that explains all of them comes first.
            best = (result.usual, *best) if best[0].fit.wrong else (*best, result.usual)
        explains = _explains(best, trusted)
        if scope.role == COMPUTE and explains != "nothing" and not cluster and not scope.servers:
            assumed = best[0].candidate.servers
        claimed.update((cluster, line.mark) for line in _explained_lines(best, explains))
        fastest = max((line.link_gbps for line in scope.of_kind("transceiver")), default=0)
        lit = (
            line for line in scope.free if line.is_fibre or (line.kind == "transceiver" and line.link_gbps == fastest)
        )
        unplaced = lit if scope.role == COMPUTE else ()
        counted = count_network((*scope.own, *unplaced, *_unrecognised(scope, bill)))
        name = scope.name or (UNNAMED if explains == "nothing" else scope.role)
        fabrics.append(Explained(name, scope.role, cluster, best, explains, counted))
    findings += [*laws, *required.findings()]
    findings += find_lacking(bill)
    if bill.unread:
        findings.append(_of_bill(bill, "not-read", lines=bill.unread, most=MAX_LINES))
    unexplained = [fabric.name for fabric in fabrics if fabric.explains == "nothing"]
    findings += [_of_bill(bill, "not-explained", fabric=name) for name in unexplained]
    explained = {mark for _, mark in claimed}
    left = tuple(
        line
        for line in bill.lines
        if line.kind in COMPARED and line.kind != "server" and line.quantity and line.mark not in explained
    )
    distinct = {finding._replace(line=None): finding for finding in findings}
    whole = Xray(
        bill=bill,
        fabrics=tuple(_found(fabric, bill.catalog) for fabric in fabrics),
        findings=tuple(ordered(list(distinct.values()))),
        left=left,
        assumptions=_assumptions(fabrics, bill.catalog),
        servers=tuple(summarise_servers(bill)),
    )
    return Inspection(whole, tuple(fabrics))


def _judge(
    fit: DesignFit, scope: Scope, bill: SentBill, laws: Sequence[Finding]
) -> tuple[list[Finding], list[Finding]]:
    stated = list(find_mismatches(fit, scope, bill))
    here = {id(line) for line in scope.lines}
    broken = [finding for finding in laws if finding.code in GROUPED and finding.line and id(finding.line) in here]
    if not scope.name:  # a part that no design has may belong to a further network
        stated = [one._replace(severity="unknown") if one.code == "no-place" else one for one in stated]
    if broken and stated:
        sure = [one for one in stated if one.code in ("few", "missing") and one.severity == "doubt"]
        stated = [one._replace(severity="error") if one in sure else one for one in stated]
    left = [finding for finding in laws if finding not in broken]
    wrong = {id(one.line): one.pieces for one in left if one.code in OF_PARTS and one.line and id(one.line) in here}
    stated = [one for one in stated if one.code != "instead" or id(one.line) not in wrong]
    absent = [part for part in fit.wrong if not part.lines and part.slots[0].category == "cable"]
    if sum(part.expected for part in absent) <= sum(wrong.values()):  # they are at the lines of the wrong fibre
        gone = {part.slots[0].id for part in absent}
        stated = [one for one in stated if one.code != "missing" or one.part not in gone]
    return stated, left


def _assumptions(fabrics: Sequence[Explained], catalog: Catalog) -> tuple[tuple[Figure, Assumed], ...]:
    if not any(fabric.explains != "nothing" and fabric.best[0].assumes_ports for fabric in fabrics):
        return ()
    figure = catalog.assumption(UNKNOWN_PORT_RATE)
    return ((figure, figure.origin),) if isinstance(figure.origin, Assumed) else ()


def _unrecognised(scope: Scope, bill: SentBill) -> list[SentLine]:
    """Return the unknown lines of a bill that names no network; a named one has them among its own."""
    return [] if scope.name else [line for line in bill.lines if not line.kind]


def _explains(best: tuple[FittedPlan, ...], trusted: bool) -> Explains:
    if not best or not best[0].fit.matched:
        return "nothing"
    if trusted or not best[0].fit.wrong:
        return "whole"
    return "nothing" if any(part.is_switch for part in best[0].fit.wrong) else "switches"


def _explained_lines(best: tuple[FittedPlan, ...], explains: Explains) -> tuple[SentLine, ...]:
    if explains == "nothing":
        return ()
    return best[0].fit.lines if explains == "whole" else best[0].fit.matched_lines


def _found(fabric: Explained, catalog: Catalog) -> FabricFound:
    lines = _explained_lines(fabric.best, fabric.explains)
    counted = None if fabric.explains == "whole" else fabric.counted
    designs = () if fabric.explains == "nothing" else tuple(_design(plan, catalog) for plan in fabric.best)
    return FabricFound(fabric.name, fabric.cluster, lines, fabric.explains, designs, counted)


def _count_carried(fitted_plan: FittedPlan, catalog: Catalog) -> int:
    """Return the servers that the leaves of a compute network have ports for, half of them below spines."""
    built, servers = fitted_plan.design.fabrics[0], fitted_plan.candidate.servers
    if built.plan.role != COMPUTE or not built.fabric.tiers or not servers.nics:
        return 0
    leaf = built.fabric.tiers[0]
    ports = int(catalog.find_original("switch", leaf.switch.identity.id).value("ports") or 0)
    below = int(leaf.count.value) * (ports // 2 if len(built.fabric.tiers) > 1 else ports)
    below -= sum(2 * int(links.count.value) for links in built.fabric.links if links.within_tier)
    carried = below // (servers.nics * (int(built.fabric.planes.value) if built.fabric.planes else 1))
    return carried if carried >= MOST_CARRIED * servers.number else 0


def _design(fitted_plan: FittedPlan, catalog: Catalog) -> DesignFound:
    built = fitted_plan.design.fabrics[0].fabric
    leaf = built.tiers[0] if built.tiers else None
    ratio = leaf.oversubscription.value if leaf and leaf.oversubscription else None
    return DesignFound(
        servers=fitted_plan.candidate.servers.number,
        topology=built.topology,
        tiers=tuple((tier.name, int(tier.count.value)) for tier in built.tiers),
        switch=leaf.switch.identity.name if leaf else "",
        ratio=f"{float(ratio):.3g}" if ratio and fitted_plan.counts_links else "",
        planes=int(built.planes.value) if built.planes else 1,
        homing=str(fitted_plan.candidate.fabric.get("homing", "")),
        repeats=bool(fitted_plan.candidate.given),
        carries=_count_carried(fitted_plan, catalog),
    )
