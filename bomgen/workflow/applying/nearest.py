"""The nearest plans that give a number of pieces which a plan works out: bomgen itself tries them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from math import ceil
from typing import NamedTuple

from bomgen.core.diagnostics import PlanErrors
from bomgen.core.work_budget import TooMuch, budget
from bomgen.plan.clusters import KEY as CLUSTERS
from bomgen.pricing.bill import Line
from bomgen.report.result import Report
from bomgen.workflow.applying.plan_edits import unit_of
from bomgen.workflow.inputs import catalog_of, source_of
from bomgen.workflow.pipeline import BrokenResult
from bomgen.workflow.plan_files import PlanFile
from bomgen.workflow.stages import build_report

TRIALS = 6
"""Numbers of servers that are tried for a line: enough to halve a range of 64 servers."""
RATIOS = ("1", "1.5", "2", "3", "4", "7")
"""Oversubscription ratios that published designs have."""
SPARED = ("transceiver", "cable", "switch", "nic", "gpu", "server", "storage", "management")


class Wanted(NamedTuple):
    """Pieces of a line that somebody typed."""

    line: Line
    quantity: int
    spare: int

    @property
    def pieces(self) -> int:
        """All that are bought."""
        return self.quantity + self.spare


def name_nearest(report: Report, file: PlanFile, wanted: Wanted) -> str:
    """What gives the pieces wanted, in words: spares, other numbers of servers, other ratios, or where to look."""
    found = [*_by_spares(report, file, wanted), *_by_servers(report, file, wanted), *_by_ratio(report, file, wanted)]
    explained = f"`bomgen explain {file.name} {wanted.line.path or wanted.line.id}` says how"
    if not found:
        return f"it is worked out, and neither spares nor other numbers of servers give it; {explained}"
    return f"it is worked out; {', or '.join(found)} gives it, and {explained}"


def _line(file: PlanFile, settings: list[str], line_id: str) -> tuple[int, int] | None:
    """The pieces of a line, installed and spare, of a plan with settings; None where that cannot be built."""
    with suppress(PlanErrors, TooMuch, BrokenResult), budget():
        source = source_of(file, settings)
        report, _ = build_report(file, source, catalog_of(file, source), (), None)
        for line in report.bill.lines:
            if line.id == line_id:
                return int(line.quantity.value), int(line.spare.value) if line.spare else 0
        return 0, 0
    return None


def _by_spares(report: Report, file: PlanFile, wanted: Wanted) -> Iterator[str]:
    """Spare pieces in place of installed ones."""
    line = next((line for line in report.bill.lines if line.id == wanted.line.id), None)
    if line is None or wanted.line.category not in SPARED:
        return
    more = wanted.pieces - line.pieces
    spare = more + (int(line.spare.value) if line.spare else 0)
    setting = f"spares.{line.category}={spare}"
    if more > 0 and _line(file, [setting], line.id) == (int(line.quantity.value), spare):
        yield f"`spares.{line.category}: {spare}` ({more} more as spares)"


def _by_servers(report: Report, file: PlanFile, wanted: Wanted) -> Iterator[str]:
    """The number of servers nearest to that of the plan."""
    reports = report.each_cluster
    at = next((at for at, each in enumerate(reports) if each.plan.cluster_name == wanted.line.cluster), None)
    line = next((line for line in report.bill.lines if line.id == wanted.line.id), None)
    if at is None or line is None or not line.quantity.value:
        return
    design = reports[at].design
    server = reports[at].plan.cluster.server
    if design.sizing.servers is None or server is None:
        return
    unit = unit_of(server)
    key = f"{CLUSTERS}.{at}." if wanted.line.cluster else "cluster."
    now = int(design.sizing.servers.value) // unit
    have = int(line.quantity.value)
    low, high = sorted((now, max(ceil(Fraction(now * wanted.quantity) / have), 1)))
    if wanted.quantity > have:
        high = max(high * 2 - low, low + 1)
    else:
        low = max(2 * low - high, 0)
    # Pieces grow with servers: the number nearest to that of the plan is searched by halving.
    found: int | None = None
    for _ in range(TRIALS):
        if high - low < 2:
            break
        middle = (low + high) // 2
        settings = [f"{key}gpus=null", f"{key}racks=null", f"{key}servers={middle * unit}"]
        pieces = _line(file, settings, line.id)
        if pieces is None:
            return
        if pieces[0] == wanted.quantity:
            found = middle
        if pieces[0] < wanted.quantity or (pieces[0] == wanted.quantity and wanted.quantity < have):
            low = middle
        else:
            high = middle
    if found is not None:
        yield f"{found * unit} servers instead of {now * unit}"


def _by_ratio(report: Report, file: PlanFile, wanted: Wanted) -> Iterator[str]:
    """Another oversubscription of the fabric."""
    line = wanted.line
    if line.fabric is None:
        return
    reports = report.each_cluster
    at = next((at for at, each in enumerate(reports) if each.plan.cluster_name == line.cluster), 0)
    place = f"{CLUSTERS}.{at}.fabrics" if line.cluster else "fabrics"
    key = f"{place}.{line.fabric}.oversubscription"
    for ratio in RATIOS:
        pieces = _line(file, [f"{key}={ratio}"], line.id)
        if pieces and pieces[0] == wanted.quantity:
            yield f"`{key}: {ratio}`"
            return
