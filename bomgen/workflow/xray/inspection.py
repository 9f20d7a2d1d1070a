"""A bill as it was sent, looked through: its parts, the fabrics that explain it, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import ceil
from typing import NamedTuple

from bomgen.catalog.files import Catalog
from bomgen.catalog.parts import ANY
from bomgen.core.messages import Message, message
from bomgen.core.provenance import Assumed, Figure, Mark
from bomgen.optics.compatibility import accepts
from bomgen.optics.compatibility_rules import rules
from bomgen.optics.types import RJ45
from bomgen.plan.binding.fabrics import PORTS_OF_ONE_CARD
from bomgen.plan.types import COMPUTE, IN_BAND, OUT_OF_BAND, STORAGE
from bomgen.reading.bill_laws import FIBRE, SPARE_SHARE, TRUNK, Laws
from bomgen.reading.bill_parts import check_parts
from bomgen.reading.bill_prices import check_prices
from bomgen.reading.bill_requirements import Requirements
from bomgen.reading.bills import SentBill, SentLine
from bomgen.reading.findings import GENERAL, LIKELY, PINPOINTED, Finding, at_line, ordered
from bomgen.reading.part_numbers import Recognition
from bomgen.report.xray.types import NOTHING, SWITCHES, WHOLE, DesignFound, FabricFound, Xray
from bomgen.workflow.xray.candidates import MACHINES, ROLES, SERVER_LEAF, Scope, port_gbps
from bomgen.workflow.xray.fitting import Fit, Part
from bomgen.workflow.xray.forward import COMPARED
from bomgen.workflow.xray.networks import Networks, find_networks
from bomgen.workflow.xray.search import UNKNOWN_PORT_RATE, Basis, Explanation, search

MOST_WRONG = 2
"""A design that disagrees with more parts of a fabric than this explains nothing of it."""
LEAST_MATCHED = 2
"""Parts that have to agree for each that does not."""
MOST_GUESSED = 12
"""Lines with a slip in their number; of a bill with more of them the catalogue does not know the vendor."""
OF_PARTS = ("wrong-fibre", "wrong-connector")
"""Findings of laws that say better why a part is not the right one."""
MANAGEMENT_GBPS = 10
"""Most ports of a management switch have no higher rate."""
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
    needed = {line.mark for fit in whole for line in fit.matched_lines}
    kept = {mark: guess for mark, guess in guesses.items() if mark in needed}
    return found if kept == guesses else _inspect(_read_as(bill, kept), catalog)


def _read_as(bill: SentBill, guesses: Mapping[Mark, Recognition]) -> SentBill:
    """A bill with some lines read as other parts."""
    lines = (line._replace(recognition=guesses.get(line.mark, line.recognition)) for line in bill.lines)
    return bill._replace(lines=tuple(lines)) if guesses else bill


def _inspect(bill: SentBill, catalog: Catalog) -> Inspection:
    findings = [*check_parts(bill, catalog), *check_prices(bill)]
    laws, required = list(Laws(bill, catalog).findings()), Requirements(bill, catalog)
    basis = Basis(catalog, required, bill.has_spares, {})
    fabrics = list[Explained]()
    claimed = set[tuple[str, Mark]]()
    """The clusters and places of the lines that are explained."""
    for scope, cluster in _scopes(bill, catalog):
        free = tuple(line for line in scope.free if (cluster, line.mark) not in claimed)
        scope = scope._replace(free=free)
        if scope.role == OUT_OF_BAND:
            findings += _check_management(scope, catalog)
            claimed.update((cluster, line.mark) for line in scope.own)
            continue
        networks = (
            find_networks(scope, basis) if not scope.name else Networks(((scope, search(scope, basis)),), Fit(()))
        )
        if networks.found[0][0].shared:
            trusted = _is_trusted(networks.fit, scope._replace(own=scope.lines))
            if trusted:
                own, laws = _judge(networks.fit, scope, bill, laws)
                findings += own
            for each, found in networks.found:
                explains = _explains(found.best, trusted)
                claimed.update((cluster, line.mark) for line in _explained_lines(found.best, explains))
                fabrics.append(Explained(each.name or each.role, each.role, cluster, found.best, explains))
            continue
        [(_, found)] = networks.found
        trusted = found.usual is not None and found.is_usual and _is_trusted(found.usual.fit, scope)
        if found.usual and trusted:
            own, laws = _judge(found.usual.fit, scope, bill, laws)
            if found.best[0].candidate.given and not found.best[0].fit.wrong and not found.best[0].broken:
                own = [each._replace(weight=LIKELY) for each in own]
            findings += own
            if found.rival and _is_trusted(found.rival.fit, scope):
                findings += _mismatches(found.rival.fit, scope, bill)
            findings += _idle_ports(found.best, scope, bill, catalog)
        best = found.best
        if trusted and found.usual and found.usual.fit.wrong and found.usual not in best:
            best = (found.usual, *best)  # what the findings speak of is shown, too
        explains = _explains(best, trusted)
        claimed.update((cluster, line.mark) for line in _explained_lines(best, explains))
        fabrics.append(Explained(scope.name or scope.role, scope.role, cluster, best, explains))
    findings += [*laws, *required.findings()]
    findings += _general(bill, catalog, fabrics)
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
    own = list(_mismatches(fit, scope, bill))
    here = {id(line) for line in scope.lines}
    broken = [each for each in laws if each.code in GROUPED and each.line and id(each.line) in here]
    if not scope.name:  # a part that no design has may be that of one more network
        own = [each._replace(severity="unknown") if each.code == "no-place" else each for each in own]
    if broken and own:
        own = [each._replace(severity="error") if each.code in ("few", "missing") else each for each in own]
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
    """What the plans that explain fabrics take for granted."""
    if not any(fabric.explains != NOTHING and fabric.best[0].assumes_ports for fabric in fabrics):
        return ()
    figure = catalog.assumption(UNKNOWN_PORT_RATE)
    return ((figure, figure.origin),) if isinstance(figure.origin, Assumed) else ()


def _explains(best: tuple[Explanation, ...], trusted: bool) -> str:
    """How much of a fabric the plans that fit best explain."""
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
    """A fabric as a reader is shown it."""
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


def _scopes(bill: SentBill, catalog: Catalog) -> Iterator[tuple[Scope, str]]:
    """The lines of each fabric: those that say so; where none does, one fabric of all lines."""
    clusters = [cluster for cluster in dict.fromkeys(line.cluster for line in bill.lines) if cluster]
    lines = [each for line in bill.lines if line.quantity is not None for each in _split_over_clusters(line, clusters)]
    if "fabric" not in bill.columns:
        lines = _replace_by_plugs(lines, catalog)
    machines = [line for line in lines if _is_server(line)]
    others = [line for line in lines if line not in machines]
    named = dict.fromkeys(
        (line.cluster, line.place.fabric)
        for line in others
        if line.place.fabric and line.kind in ("switch", "transceiver", "cable")
    )
    if not named:
        management = [line for line in others if line.kind in COMPARED and _is_rj45(line, catalog)]
        if management:
            yield Scope(OUT_OF_BAND, OUT_OF_BAND, tuple(management), (), tuple(machines)), ""
        own = [line for line in others if line.kind in COMPARED and line not in management]
        hosts = tuple(line for line in others if _is_host(line))
        yield Scope("", COMPUTE, tuple(own), (), tuple(machines), hosts=hosts), ""
        return
    listed = frozenset(line.kind for line in others if line.kind in ("transceiver", "cable") and line.place.fabric)
    order = sorted(named, key=lambda each: (each[0], ROLES.index(each[1]) if each[1] in ROLES else 0))
    for cluster, fabric in order:
        role = fabric if fabric in ROLES else COMPUTE
        own = [line for line in others if (line.cluster, line.place.fabric) == (cluster, fabric)]
        free = [
            shared
            for line in others
            if not line.place.fabric and line.cluster in (cluster, "") and line.kind in COMPARED
            if (shared := line if line.cluster == cluster else _share(line, len(clusters)))
        ]
        here = [line for line in machines if line.cluster == cluster or not clusters or not line.cluster]
        elsewhere = tuple(line for line in others if line.kind == "switch" and line not in own)
        hosts = tuple(line for line in others if _is_host(line) and line.cluster in (cluster, ""))
        yield Scope(fabric, role, tuple(own), tuple(free), tuple(here), elsewhere, hosts, listed), cluster


def _replace_by_plugs(lines: Sequence[SentLine], catalog: Catalog) -> list[SentLine]:
    """The lines, but cables that fit no switch of the fabric that their words say, and do fit others, say none."""
    known = rules(catalog)
    cages: dict[str, set[str]] = {}
    for line in lines:
        if line.kind == "switch":
            record = catalog.find_original("switch", line.id)
            groups = range(len(record.value("port_groups") or ()))
            forms = {record.value("cage"), *(record.value("port_groups", at, "cage") for at in groups)}
            cages.setdefault(line.place.fabric, set()).update(str(form or ANY) for form in forms)

    def fits(line: SentLine, fabric: str) -> bool:
        record = catalog.find_original("cable", line.id)
        plugs = {str(record.value(end, "cage") or ANY) for end in ("a", "b")}
        return any(accepts(cage, plug, known) for cage in cages.get(fabric, {ANY}) for plug in plugs)

    return [
        line._replace(place=line.place._replace(fabric=""))
        if line.kind == "cable" and not fits(line, line.place.fabric) and any(fits(line, other) for other in cages)
        else line
        for line in lines
    ]


def _split_over_clusters(line: SentLine, clusters: Sequence[str]) -> list[SentLine]:
    """A line of a network that every cluster has: the share of each; any other line as it is."""
    is_shared = line.place.fabric and not line.cluster and line.kind in COMPARED
    if is_shared and clusters and (shared := _share(line, len(clusters))):
        return [shared._replace(cluster=cluster) for cluster in clusters]
    return [line]


def _share(line: SentLine, clusters: int) -> SentLine | None:
    """The pieces of a line that names no cluster for one of several equal ones; None where they do not divide."""
    pieces, rest = divmod(line.quantity or 0, clusters)
    spare = None if line.spare is None else line.spare // clusters
    return None if rest else line._replace(quantity=pieces, spare=spare)


def _is_server(line: SentLine) -> bool:
    """Whether a line is of servers with GPUs, or may be: of a part that nobody knows."""
    if kinds := {line.kind} - {""} or {kind for kind, _ in line.recognition.may_be}:
        return kinds == {"server"}
    return "server" in f"{line.part} {line.description}".lower() and line.place.tier != "host"


def _is_host(line: SentLine) -> bool:
    """Whether a line is of machines without GPUs."""
    return line.place.tier == "host" or line.kind in MACHINES


def _is_trusted(fit: Fit, scope: Scope) -> bool:
    """Whether a design fits so well that what does not is likely wrong."""
    wrong, matched = len(fit.wrong) - len(fit.substituted), fit.matched
    if any(not slot.id for part in fit.wrong for slot in part.slots):
        return False
    if not scope.own:
        return matched > LEAST_MATCHED * max(wrong, 1)
    if wrong and _mixes_media(scope):
        return False
    return wrong == 0 or (wrong <= MOST_WRONG + 1 and matched >= max(LEAST_MATCHED, LEAST_MATCHED * wrong - 1))


def _mixes_media(scope: Scope) -> bool:
    """Whether links of one kind are partly modules and fibres, partly cables with fixed ends, as a layout makes it."""
    for links in dict.fromkeys(line.place.links for line in scope.own if line.kind == "cable"):
        cables = {line.id for line in scope.own if line.kind == "cable" and line.place.links == links}
        modules = any(line.kind == "transceiver" and line.place.links == links for line in scope.own)
        if len(cables) > 1 and modules:
            return True
    return False


def _mismatches(fit: Fit, scope: Scope, bill: SentBill) -> Iterator[Finding]:
    """What is not as a design that fits needs it."""
    for part, needed in fit.substituted:
        line = part.lines[0]
        yield at_line(
            "doubt", line, "instead", line.quantity or 0, PINPOINTED, part=line.shown, needed=needed.slots[0].name
        )
    swapped = fit.swapped
    for part in swapped:
        line = part.lines[0]
        yield at_line(
            "doubt",
            line,
            "swapped",
            part.off,
            PINPOINTED,
            part=line.shown,
            given=part.given,
            expected=part.expected,
        )
    settled = [*swapped, *(part for pair in fit.substituted for part in pair)]
    for part in (part for part in fit.wrong if part not in settled):
        if unknown := _stand_in(part, bill):
            yield at_line(
                "unknown", unknown, "stands-in", part=unknown.shown, needed=part.slots[0].name, pieces=-part.off
            )
        elif not part.lines:
            yield _missing(part, scope, bill)
        elif not part.slots:
            line = part.lines[0]
            yield at_line(
                "doubt", line, "no-place", line.quantity or 0, PINPOINTED, part=line.shown, pieces=line.quantity or 0
            )
        else:
            line = _culprit(part)
            code: str = "few" if part.off < 0 else "many"
            name: str | Message = line.shown
            if len(part.lines) > 1:  # the count is that of all of them
                name = message(
                    "xray-in-lines", part=part.slots[0].name, lines=tuple(str(each.mark.line) for each in part.lines)
                )
            yield at_line(
                "doubt", line, code, part.off, PINPOINTED, part=name, given=part.given, expected=part.expected
            )


def _stand_in(part: Part, bill: SentBill) -> SentLine | None:
    """The line that nobody knows and that may be what a part lacks, by its pieces and its words."""
    lacking, kind = -part.off, part.slots[0].category if part.slots else ""
    most = lacking if bill.has_spares else lacking + ceil(lacking * SPARE_SHARE)
    unknown = (line for line in bill.lines if not line.kind and lacking <= (line.quantity or 0) <= most)
    return next((line for line in unknown if lacking > 0 and kind in (line.kinds or (kind,))), None)


def _idle_ports(best: Sequence[Explanation], scope: Scope, bill: SentBill, catalog: Catalog) -> Iterator[Finding]:
    """One port of servers that have a card of two for a network: half of its links may be missing."""
    server = str(best[0].candidate.cluster.get("server"))
    used = max(int(each.candidate.fabric.get("ports_per_server", 0)) for each in best)
    sharing = {line.place.fabric for line in bill.lines if line.place.fabric in (STORAGE, IN_BAND)}
    if not used or len(sharing) > 1 or scope.servers[0].id != server:
        return
    ports = int(catalog.find_original("server", server).value("storage_ports") or 0)
    if used < PORTS_OF_ONE_CARD <= ports:
        below = [line for line in scope.own if line.place.links == SERVER_LEAF] or list(scope.own)
        line = next((line for line in below if line.kind == "cable"), below[0])
        off = -(line.quantity or 0) * (PORTS_OF_ONE_CARD - used)
        yield at_line("doubt", line, "idle-ports", off, part=line.shown, server=server, used=used, ports=ports)


def _missing(part: Part, scope: Scope, bill: SentBill) -> Finding:
    """A part that the design needs and the bill does not have; at the line that it would follow."""
    near = [line for line in scope.own if line.kind == part.slots[0].category] or list(scope.own) or list(bill.lines)
    name, place = part.slots[0].name, part.slots[0].links or part.slots[0].tier
    said = message("xray-missing", pieces=part.expected, part=name, place=place or part.slots[0].category)
    return Finding("doubt", said, near[-1].mark, None, -part.expected, None, PINPOINTED, part.slots[0].id)


def _culprit(part: Part) -> SentLine:
    """The line of a part whose pieces are those of no place in the design."""
    left = [slot.pieces for slot in part.slots]
    odd = list[SentLine]()
    for line in part.lines:
        if line.quantity in left:
            left.remove(line.quantity)
        else:
            odd.append(line)
    return (odd or list(part.lines))[0]


def _check_management(scope: Scope, catalog: Catalog) -> Iterator[Finding]:
    """The out-of-band network: a port for each machine, and switches enough for the ports."""
    cables = [line for line in scope.own if line.kind == "cable" and line.quantity]
    switches = [line for line in scope.own if line.kind == "switch" and line.quantity]
    ends = sum(line.quantity or 0 for line in cables)
    if len(switches) == 1 and cables:
        ports = _rj45_ports(switches[0], catalog)
        if ports:
            needed, given = ceil(ends / ports), switches[0].quantity or 0
            if given != needed:
                code = "few" if given < needed else "many"
                yield at_line(
                    "doubt",
                    switches[0],
                    code,
                    given - needed,
                    PINPOINTED,
                    part=switches[0].shown,
                    given=given,
                    expected=needed,
                )


def _is_rj45(line: SentLine, catalog: Catalog) -> bool:
    """Whether a line is of management cables, or of switches that have most of their ports for them."""
    if line.kind == "cable":
        return bool(catalog.find_original("cable", line.id).value("a", "cage") == RJ45)
    return line.kind == "switch" and _rj45_ports(line, catalog) > 0 and port_gbps(line.id, catalog) <= MANAGEMENT_GBPS


def _rj45_ports(line: SentLine, catalog: Catalog) -> int:
    """The RJ45 ports of a switch."""
    record = catalog.find_original("switch", line.id)
    groups = record.value("port_groups") or ()
    found = 0
    for at in range(len(groups)):
        if record.value("port_groups", at, "cage") == RJ45:
            found += int(record.value("port_groups", at, "ports") or 0)
    return found or (int(record.value("ports") or 0) if record.value("cage") == RJ45 else 0)


def _general(bill: SentBill, catalog: Catalog, fabrics: Sequence[Explained]) -> Iterator[Finding]:
    """What a bill lacks as a whole."""
    mark = Mark(bill.file, 1, 1)
    named = {kind for line in bill.lines for kind in line.kinds}
    if "switch" in named and "cable" not in named:
        yield Finding("doubt", message("xray-without-cables"), mark, weight=GENERAL)
    cables = [catalog.find_original("cable", line.id) for line in bill.lines if line.kind == "cable"]
    lit = not cables or any(cable.value("kind") in (FIBRE, TRUNK) for cable in cables)
    if "switch" in named and "transceiver" not in named and lit:
        yield Finding("unknown", message("xray-without-modules"), mark, weight=GENERAL)
    if "rack" not in named:
        yield Finding("unknown", message("xray-without-racks"), mark, weight=GENERAL)
    elif "pdu" not in named:
        yield Finding("unknown", message("xray-without-pdus"), mark, weight=GENERAL)
    if bill.has_spares and not any(line.spare for line in bill.lines):
        yield Finding("unknown", message("xray-without-spares"), mark, weight=GENERAL)
    for fabric in fabrics:
        if fabric.explains == NOTHING:
            said = message("xray-not-explained", fabric=fabric.name)
            yield Finding("unknown", said, mark, weight=GENERAL)
