"""The nearest plans that give an edited quantity which bomgen calculates; each is tried before it is offered.

An offer also names what else it changes. At most `MOST_TRIALS` designs are calculated per cell.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from math import ceil
from typing import NamedTuple

from bomgen.apply.changes import Offers
from bomgen.apply.lines import count_spares, set_servers, unit_of
from bomgen.apply.proposal import Base, has_spares, spares_of, value_at
from bomgen.core.diagnostics import Choice, PlanErrors
from bomgen.pricing.bill_line import Line, part_key
from bomgen.reading.quote_cells import QUANTITY
from bomgen.results.result import Report
from bomgen.workflow.inputs import Inputs, read_all
from bomgen.workflow.pipeline import work_out_variant
from bomgen.workflow.stages import BrokenResult

TRIALS = 6
"""Numbers of servers that are tried for a line: enough to halve a range of 64 servers."""
RATIOS = ("1", "1.5", "2", "3", "4", "7")
"""Oversubscription ratios that published designs have."""
MOST_TRIALS = 1 + TRIALS + len(RATIOS)
"""One of them tries spares."""
SHOWN = 3
"""Other changed lines that an offer names."""
SPARE_CATEGORIES = ("transceiver", "cable", "switch", "nic", "gpu", "server", "storage", "management")


class Wanted(NamedTuple):
    """A quantity that was typed into a line."""

    line: Line
    key: str
    """The column of the cell: that of installed or of spare pieces."""
    quantity: int
    spare: int
    """Spare pieces of the line's part, on all its lines."""


class Offer(NamedTuple):
    """A setting of the plan that was tried and gives the quantity."""

    setting: str
    report: Report
    how: str = ""


def find_nearest(base: Base, inputs: Inputs, wanted: Wanted) -> Offers:
    """Return the settings that give the quantity: spares, numbers of servers, oversubscription; or why none does."""
    plan = shlex.quote(inputs.file.name)
    reason = f"it is calculated (`bomgen explain {plan} {wanted.line.path or wanted.line.id}` shows how)"
    if wanted.key == QUANTITY:
        servers = find_servers(base, inputs, wanted)
        found = [*_spares_instead(base.report, inputs, wanted), *([servers] if servers else [])]
        found += _with_ratio(base, inputs, wanted)
        tried = "neither spares nor another number of servers nor another oversubscription gives it"
    else:
        found = [*_with_spares(base.report, inputs, wanted)]
        reason, tried = "`spares` applies to every part of a category", "no value gives it"
        if not has_spares(wanted.line):
            reason, tried = "the line depends on others, which have no spares here", "no key sets it"
    if not found:
        return Offers(f"{reason}; {tried}", ())
    options, choices = list[str](), list[Choice]()
    for offer in found:
        said = _name_changes(base.report, offer, wanted)
        how = f", {offer.how}" if offer.how else ""
        options.append(f"`bomgen build {plan} --set {shlex.quote(offer.setting)}`{how} ({said})")
        choices.append(Choice(offer.setting, f"{offer.setting}: {'; '.join(filter(None, (offer.how, said)))}"))
    return Offers(f"{reason}; to get it, use {', or '.join(options)}", tuple(choices))


def _try(inputs: Inputs, setting: str) -> Report | None:
    with suppress(PlanErrors, BrokenResult):
        return work_out_variant(read_all(inputs.file, [setting], known=inputs))
    return None


def _name_changes(before: Report, offer: Offer, wanted: Wanted) -> str:
    pieces, now = _pieces(before), _pieces(offer.report)
    own = {wanted.line.id}
    if wanted.key != QUANTITY or offer.how:
        own |= {line.id for line in offer.report.bill.lines if part_key(line) == part_key(wanted.line)}
    changed = [line for line in {**pieces, **now} if pieces.get(line) != now.get(line) and line not in own]
    totals, old = offer.report.quote.totals, before.quote.totals
    said = list[str]()
    if changed:
        shown = (f"{line} {pieces.get(line, 'none')} -> {now.get(line, 'none')}" for line in changed[:SHOWN])
        more = len(changed) - SHOWN
        said.append(f"also changes {', '.join(shown)}" + (f" and {more} more" if more > 0 else ""))
    if totals.priced_lines or old.priced_lines:
        least = "" if totals.complete and old.complete else ", at least"
        said.append(f"total{least} {old.amount:,} -> {totals.amount:,} {totals.currency}")
    return "; ".join(said) or "nothing else changes"


def _pieces(report: Report) -> dict[str, str]:
    """Return the quantity of each line of a bill as text: `16 + 2` with spares."""
    return {
        line.id: f"{line.quantity.value}" + (f" + {line.spare.value}" if line.spare and line.spare.value else "")
        for line in report.bill.lines
    }


def _quantity(report: Report | None, line_id: str) -> int | None:
    if report is None:
        return None
    return sum(int(line.quantity.value) for line in report.bill.lines if line.id == line_id)


def _bought(report: Report) -> dict[tuple[str, str], int]:
    found: dict[tuple[str, str], int] = {}
    for line in report.bill.lines:
        if not line.in_stock:
            found[part_key(line)] = found.get(part_key(line), 0) + line.pieces
    return found


def _with_spares(report: Report, inputs: Inputs, wanted: Wanted) -> Iterator[Offer]:
    """Try the spares of the category that give the part its typed spares."""
    if not has_spares(wanted.line):
        return
    spares = count_spares(report, wanted.line, wanted.spare)
    setting = f"spares.{wanted.line.category}={spares}"
    tried = _try(inputs, setting) if spares >= 0 else None
    if tried and spares_of(tried.bill.lines).get(part_key(wanted.line)) == wanted.spare:
        yield Offer(setting, tried)


def _spares_instead(report: Report, inputs: Inputs, wanted: Wanted) -> Iterator[Offer]:
    """Try spares of the part in place of installed pieces, with all other parts unchanged."""
    line = next((line for line in report.bill.lines if line.id == wanted.line.id), None)
    if line is None or line.category not in SPARE_CATEGORIES or line.part is None:
        return
    more = wanted.quantity - int(line.quantity.value)
    if more <= 0:
        return
    spares = spares_of(report.bill.lines)[part_key(line)] + more
    needed = _bought(report)
    needed[part_key(line)] += more
    for offer in _with_spares(report, inputs, wanted._replace(spare=spares)):
        if _bought(offer.report) == needed:
            yield offer._replace(how="bought as spares instead")


def find_servers(base: Base, inputs: Inputs, wanted: Wanted) -> Offer | None:
    """Return the number of servers nearest to the plan that gives a line its quantity; None if none was found."""
    cluster, path = base.cluster_of(wanted.line)
    line = next((line for line in base.report.bill.lines if line.id == wanted.line.id), None)
    if cluster.plan.cluster_name != wanted.line.cluster or line is None or not line.quantity.value:
        return None
    servers, server = cluster.design.sizing.servers, cluster.plan.cluster.server
    if servers is None or server is None:
        return None
    data = value_at(base.source.data, path) or {}
    unit = unit_of(server)
    now = int(servers.value) // unit
    have = int(line.quantity.value)
    low, high = sorted((now, max(ceil(Fraction(now * wanted.quantity) / have), 1)))
    if wanted.quantity > have:
        high = max(high * 2 - low, low + 1)
    else:
        low = max(2 * low - high, 0)
    # Pieces grow with servers: the number nearest to that of the plan is searched by halving.
    found: Offer | None = None
    for _ in range(TRIALS):
        if high - low < 2:
            break
        middle = (low + high) // 2
        edit = set_servers(path, data, server, middle * unit)
        setting = f"{'.'.join(map(str, edit.path))}={edit.value}"
        tried = _try(inputs, setting)
        pieces = _quantity(tried, line.id)
        if tried is None or pieces is None:
            return None
        if pieces == wanted.quantity:
            found = Offer(setting, tried)
        if pieces < wanted.quantity or (pieces == wanted.quantity and wanted.quantity < have):
            low = middle
        else:
            high = middle
    return found


def _with_ratio(base: Base, inputs: Inputs, wanted: Wanted) -> Iterator[Offer]:
    line = wanted.line
    if line.fabric is None:
        return
    path = base.fabrics_of(line)
    for ratio in RATIOS:
        setting = f"{'.'.join(map(str, path))}.{line.fabric}.oversubscription={ratio}"
        tried = _try(inputs, setting)
        if tried and _quantity(tried, line.id) == wanted.quantity:
            yield Offer(setting, tried)
            return
