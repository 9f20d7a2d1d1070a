"""A bill as it was sent, looked through: its parts, the fabrics that explain it, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from bomgen.catalog.files import Catalog
from bomgen.core.messages import message
from bomgen.core.provenance import Assumed, Figure, Mark
from bomgen.plan.types import OUT_OF_BAND
from bomgen.reading.bill_laws import Laws
from bomgen.reading.bill_parts import check_parts
from bomgen.reading.bill_prices import check_prices
from bomgen.reading.bill_requirements import Requirements
from bomgen.reading.bills import MAX_LINES, SentBill, SentLine
from bomgen.reading.findings import GENERAL, LIKELY, Finding, ordered
from bomgen.reading.part_numbers import Recognition
from bomgen.report.xray.types import NOTHING, SWITCHES, WHOLE, DesignFound, FabricFound, Xray
from bomgen.workflow.xray.fitting import Fit
from bomgen.workflow.xray.forward import COMPARED
from bomgen.workflow.xray.judgement import check_management, find_idle_ports, find_lacking, find_mismatches, is_trusted
from bomgen.workflow.xray.line_counts import SERVER
from bomgen.workflow.xray.networks import Networks, find_networks
from bomgen.workflow.xray.scopes import Scope, list_scopes
from bomgen.workflow.xray.search import UNKNOWN_PORT_RATE, Basis, Explanation, search

MOST_GUESSED = 12
"""Lines with a slip in their number; of a bill with more of them the catalogue does not know the vendor."""
OF_PARTS = ("wrong-fibre", "wrong-connector")
"""Findings of laws that say better why a part is not the right one."""
GROUPED = ("ends", "cages", "no-cables", "no-module-fits", "many", "one-end")
"""Findings of laws that a design which fits explains better."""


class Explained(NamedTuple):
    """A fabric of the bill, and the plans that fit equally well."""

    name: str
    role: str
    cluster: str
    best: tuple[Explanation, ...]
    explains: str


class Inspection(NamedTuple):
    """What came of a bill: what a reader is shown, and the plans behind it."""

    found: Xray
    fabrics: tuple[Explained, ...]


def inspect(bill: SentBill, catalog: Catalog) -> Inspection:
    """Look through a bill.

    A line that names no part is read as the one that its number comes closest to where a design needs just these
    pieces of it; a finding says so.
    """
    guesses = {line.mark: guess for line in bill.lines if line.quantity and (guess := line.recognition.guess)}
    if len(guesses) > MOST_GUESSED:
        guesses = {}
    found = _inspect(_read_as(bill, guesses), catalog)
    whole = [fabric.best[0].fit for fabric in found.fabrics if fabric.explains == WHOLE]
    needed = {(line.mark, line.quantity) for fit in whole for line in fit.matched_lines}
    here = [line for line in bill.lines if line.mark in guesses and (line.mark, line.quantity) in needed]
    kept = {line.mark: guesses[line.mark] for line in here}
    return found if kept == guesses else _inspect(_read_as(bill, kept), catalog)


def _read_as(bill: SentBill, guesses: Mapping[Mark, Recognition]) -> SentBill:
    lines = (line._replace(recognition=guesses.get(line.mark, line.recognition)) for line in bill.lines)
    return bill._replace(lines=tuple(lines)) if guesses else bill


def _inspect(bill: SentBill, catalog: Catalog) -> Inspection:
    findings = [*check_parts(bill, catalog), *check_prices(bill)]
    laws, required = list(Laws(bill, catalog).findings()), Requirements(bill, catalog)
    basis = Basis(catalog, required, bill.has_spares, {})
    fabrics = list[Explained]()
    claimed = set[tuple[str, Mark]]()
    """The clusters and places of the lines that are explained."""
    for scope, cluster in list_scopes(bill, catalog):
        free = tuple(line for line in scope.free if (cluster, line.mark) not in claimed)
        scope = scope._replace(free=free)
        if scope.role == OUT_OF_BAND:
            findings += check_management(scope, catalog)
            claimed.update((cluster, line.mark) for line in scope.own)
            continue
        networks = (
            find_networks(scope, basis) if not scope.name else Networks(((scope, search(scope, basis)),), Fit(()))
        )
        if networks.found[0][0].shared:
            trusted = is_trusted(networks.fit, scope._replace(own=scope.lines))
            if trusted:
                own, laws = _judge(networks.fit, scope, bill, laws)
                findings += own
            agreed = {line.mark for line in networks.fit.matched_lines}
            claimed.update((cluster, line.mark) for line in scope.lines if trusted or line.mark in agreed)
            for each, found in networks.found:
                lines = [line for line in found.best[0].fit.lines if line.kind != SERVER]
                explains = WHOLE if trusted or all(line.mark in agreed for line in lines) else NOTHING
                fabrics.append(Explained(each.name or each.role, each.role, cluster, found.best, explains))
            continue
        [(_, found)] = networks.found
        trusted = found.usual is not None and found.is_usual and is_trusted(found.usual.fit, scope)
        if found.usual and trusted:
            own, laws = _judge(found.usual.fit, scope, bill, laws)
            if found.best[0].candidate.given and not found.best[0].fit.wrong and not found.best[0].broken:
                own = [each._replace(weight=LIKELY) for each in own]
            findings += own
            if found.rival and is_trusted(found.rival.fit, scope):
                findings += find_mismatches(found.rival.fit, scope, bill)
            findings += find_idle_ports(found.best, scope, bill, catalog)
        best = found.best
        if trusted and found.usual and found.usual.fit.wrong and found.usual not in best:
            best = (found.usual, *best)  # what the findings speak of is shown, too
        explains = _explains(best, trusted)
        claimed.update((cluster, line.mark) for line in _explained_lines(best, explains))
        fabrics.append(Explained(scope.name or scope.role, scope.role, cluster, best, explains))
    findings += [*laws, *required.findings()]
    findings += find_lacking(bill, catalog)
    if bill.unread:
        said = message("xray-not-read", lines=bill.unread, most=MAX_LINES)
        findings.append(Finding("unknown", said, Mark(bill.file, 1, 1), weight=GENERAL))
    for fabric in fabrics:
        if fabric.explains == NOTHING:
            said = message("xray-not-explained", fabric=fabric.name)
            findings.append(Finding("unknown", said, Mark(bill.file, 1, 1), weight=GENERAL))
    explained = {mark for _, mark in claimed}
    left = tuple(
        line
        for line in bill.lines
        if line.kind in COMPARED and line.kind != "server" and line.quantity and line.mark not in explained
    )
    shown = tuple(_found(fabric) for fabric in fabrics)
    whole = Xray(bill, shown, tuple(ordered(list(dict.fromkeys(findings)))), left, _assumptions(fabrics, catalog))
    return Inspection(whole, tuple(fabrics))


def _judge(fit: Fit, scope: Scope, bill: SentBill, laws: Sequence[Finding]) -> tuple[list[Finding], list[Finding]]:
    """What is not as designs that fit need it, and the findings of laws that this does not explain better."""
    own = list(find_mismatches(fit, scope, bill))
    here = {id(line) for line in scope.lines}
    broken = [each for each in laws if each.code in GROUPED and each.line and id(each.line) in here]
    if not scope.name:  # a part that no design has may be that of one more network
        own = [each._replace(severity="unknown") if each.code == "no-place" else each for each in own]
    if broken and own:
        sure = [each for each in own if each.code in ("few", "missing") and each.severity == "doubt"]
        own = [each._replace(severity="error") if each in sure else each for each in own]
    left = [each for each in laws if each not in broken]
    wrong = {
        id(each.line): each.pieces for each in left if each.code in OF_PARTS and each.line and id(each.line) in here
    }
    own = [each for each in own if each.code != "instead" or id(each.line) not in wrong]
    absent = [part for part in fit.wrong if not part.lines and part.slots[0].category == "cable"]
    if sum(part.expected for part in absent) <= sum(wrong.values()):  # they stand on the lines of the wrong fibre
        gone = {part.slots[0].id for part in absent}
        own = [each for each in own if each.code != "missing" or each.part not in gone]
    return own, left


def _assumptions(fabrics: Sequence[Explained], catalog: Catalog) -> tuple[tuple[Figure, Assumed], ...]:
    if not any(fabric.explains != NOTHING and fabric.best[0].assumes_ports for fabric in fabrics):
        return ()
    figure = catalog.assumption(UNKNOWN_PORT_RATE)
    return ((figure, figure.origin),) if isinstance(figure.origin, Assumed) else ()


def _explains(best: tuple[Explanation, ...], trusted: bool) -> str:
    if not best or not best[0].fit.matched:
        return NOTHING
    if trusted or not best[0].fit.wrong:
        return WHOLE
    return NOTHING if any(part.is_switch for part in best[0].fit.wrong) else SWITCHES


def _explained_lines(best: tuple[Explanation, ...], explains: str) -> tuple[SentLine, ...]:
    """The lines that a fabric explains; where it explains the switches alone, those whose pieces agree."""
    if explains == NOTHING:
        return ()
    return best[0].fit.lines if explains == WHOLE else best[0].fit.matched_lines


def _found(fabric: Explained) -> FabricFound:
    lines = _explained_lines(fabric.best, fabric.explains)
    if fabric.explains == NOTHING:
        return FabricFound(fabric.name, fabric.cluster, (), NOTHING, ())
    return FabricFound(fabric.name, fabric.cluster, lines, fabric.explains, tuple(map(_design, fabric.best)))


def _design(found: Explanation) -> DesignFound:
    """The design of a plan, as a reader tells it from others."""
    built = found.design.fabrics[0].fabric
    leaf = built.tiers[0] if built.tiers else None
    ratio = leaf.oversubscription.value if leaf and leaf.oversubscription else None
    return DesignFound(
        servers=found.candidate.servers.number,
        topology=built.topology,
        tiers=tuple((tier.name, int(tier.count.value)) for tier in built.tiers),
        switch=leaf.switch.identity.name if leaf else "",
        ratio=f"{float(ratio):.3g}" if ratio else "",
        planes=int(built.planes.value) if built.planes else 1,
        homing=str(found.candidate.fabric.get("homing", "")),
        repeats=bool(found.candidate.given),
    )
