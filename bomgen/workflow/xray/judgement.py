"""What is wrong with a bill beside a design that explains it, and what it lacks as a whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil

from bomgen.catalog.files import Catalog
from bomgen.core.messages import Message, message
from bomgen.core.provenance import Mark
from bomgen.plan.binding.fabrics import PORTS_OF_ONE_CARD
from bomgen.plan.types import IN_BAND, STORAGE
from bomgen.reading.bill_laws import FIBRE, SPARE_SHARE, TRUNK
from bomgen.reading.bills import SentBill, SentLine
from bomgen.reading.findings import GENERAL, PINPOINTED, Finding, Severity, at_line
from bomgen.workflow.xray.fitting import Fit, Part
from bomgen.workflow.xray.line_counts import SERVER_LEAF
from bomgen.workflow.xray.scopes import Scope, count_rj45_ports
from bomgen.workflow.xray.search import Explanation

LEAST_MATCHED = 2
"""Parts that have to agree for each that does not."""
MOST_WRONG = 2
"""A design that disagrees with more parts of a fabric than this explains nothing of it."""


def _mixes_media(scope: Scope) -> bool:
    """Whether links of one kind are partly modules and fibres, partly cables with fixed ends, as a layout makes it."""
    for links in dict.fromkeys(line.place.links for line in scope.own if line.kind == "cable"):
        cables = {line.id for line in scope.own if line.kind == "cable" and line.place.links == links}
        modules = any(line.kind == "transceiver" and line.place.links == links for line in scope.own)
        if len(cables) > 1 and modules:
            return True
    return False


def is_trusted(fit: Fit, scope: Scope) -> bool:
    """Whether a design fits so well that what does not is likely wrong."""
    wrong, matched = len(fit.wrong) - len(fit.substituted), fit.matched
    if any(not slot.id for part in fit.wrong for slot in part.slots):
        return False
    if not scope.own:
        return matched > LEAST_MATCHED * max(wrong, 1)
    if wrong and _mixes_media(scope):
        return False
    return wrong == 0 or (wrong <= MOST_WRONG + 1 and matched >= max(LEAST_MATCHED, LEAST_MATCHED * wrong - 1))


def find_mismatches(fit: Fit, scope: Scope, bill: SentBill) -> Iterator[Finding]:
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
        if unknown := _stand_in(part, scope, bill):
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


def _stand_in(part: Part, scope: Scope, bill: SentBill) -> SentLine | None:
    """The line of no other fabric that nobody knows and that may be what a part lacks, by its pieces and its words."""
    lacking, kind = -part.off, part.slots[0].category if part.slots else ""
    most = lacking if bill.has_spares else lacking + ceil(lacking * SPARE_SHARE)
    own = [line for line in bill.lines if not line.kind and line.place.fabric in ("", scope.name)]
    unknown = (line for line in own if lacking <= (line.quantity or 0) <= most)
    return next((line for line in unknown if lacking > 0 and kind in (line.kinds or (kind,))), None)


def find_idle_ports(best: Sequence[Explanation], scope: Scope, bill: SentBill, catalog: Catalog) -> Iterator[Finding]:
    """One port of servers that have a card of two for a network: half of its links may be missing."""
    server = str(best[0].candidate.cluster.get("server"))
    used = max(int(each.candidate.fabric.get("ports_per_server", 0)) for each in best)
    sharing = {line.place.fabric for line in bill.lines if line.place.fabric in (STORAGE, IN_BAND)}
    if not used or len(sharing) > 1 or server not in {line.id for line in scope.servers}:
        return
    ports = int(catalog.find_original("server", server).value("storage_ports") or 0)
    if used < PORTS_OF_ONE_CARD <= ports:
        below = [line for line in scope.own if line.place.links == SERVER_LEAF] or list(scope.own)
        line = next((line for line in below if line.kind == "cable"), below[0])
        off = -(line.quantity or 0) * (PORTS_OF_ONE_CARD - used)
        yield at_line(
            "doubt",
            line,
            "idle-ports",
            off,
            part=line.shown,
            server=server,
            used=used,
            ports=ports,
            usual=PORTS_OF_ONE_CARD,
        )


def _missing(part: Part, scope: Scope, bill: SentBill) -> Finding:
    """A part that the design needs and the bill does not have; at the line that it would follow."""
    near = [line for line in scope.own if line.kind == part.slots[0].category] or list(scope.own) or list(bill.lines)
    name, place = part.slots[0].name, part.slots[0].links or part.slots[0].tier
    said = message("xray-missing", pieces=part.expected, part=name, place=place or part.slots[0].category)
    kind = part.slots[0].category
    unknown = [line for line in bill.lines if line.place.fabric in ("", scope.name) and line.may_be(kind)]
    may_be_there = bill.has_uncounted(kind) or sum(line.quantity or 0 for line in unknown) >= part.expected
    severity: Severity = "unknown" if may_be_there else "doubt"
    return Finding(severity, said, near[-1].mark, None, -part.expected, None, PINPOINTED, part.slots[0].id)


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


def check_management(scope: Scope, catalog: Catalog) -> Iterator[Finding]:
    """The out-of-band network: switches enough for the ends of its cables."""
    cables = [line for line in scope.own if line.kind == "cable" and line.quantity]
    switches = [line for line in scope.own if line.kind == "switch" and line.quantity]
    ends = sum(line.quantity or 0 for line in cables)
    if len(switches) == 1 and cables:
        ports = count_rj45_ports(switches[0], catalog)
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


def find_lacking(bill: SentBill, catalog: Catalog) -> Iterator[Finding]:
    """What a bill lacks as a whole."""
    mark = Mark(bill.file, 1, 1)
    named = {kind for line in bill.lines for kind in line.kinds}
    named |= {kind for kind in ("cable", "transceiver", "rack", "pdu") if any(line.may_be(kind) for line in bill.lines)}
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
