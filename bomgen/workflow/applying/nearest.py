"""The nearest plans that give a number of pieces which a plan works out: bomgen itself tries them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from math import ceil
from typing import NamedTuple

from bomgen.core.diagnostics import PlanErrors
from bomgen.core.work_budget import TooMuch, budget
from bomgen.core.yaml_source import Path
from bomgen.plan.clusters import KEY as CLUSTERS
from bomgen.pricing.bill import Bill, Line
from bomgen.report.result import Report
from bomgen.workflow.applying.pieces import set_servers, unit_of
from bomgen.workflow.applying.proposal import value_at
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
    """What gives the pieces wanted, as options of `bomgen build`: spares, another number of servers, another ratio."""
    servers = find_servers(report, file, wanted)
    spares = [(setting, ", bought as spares instead") for setting in _by_spares(report, file, wanted)]
    others = [*([servers] if servers else ()), *_by_ratio(report, file, wanted)]
    found = [*spares, *((setting, "") for setting in others)]
    explained = f"`bomgen explain {file.name} {wanted.line.path or wanted.line.id}` says how"
    if not found:
        tried = "neither spares nor another number of servers nor another oversubscription gives it"
        return f"it is worked out, and {tried}; {explained}"
    options = ", or ".join(f"`bomgen build {file.name} --set {setting}`{how}" for setting, how in found)
    return f"it is worked out, {explained}; what gives it: {options}"


def _try(file: PlanFile, settings: Sequence[str]) -> Bill | None:
    """The bill of a plan with settings; None where that cannot be built."""
    with suppress(PlanErrors, TooMuch, BrokenResult), budget():
        source = source_of(file, settings)
        return build_report(file, source, catalog_of(file, source), (), None)[0].bill
    return None


def _quantity(bill: Bill | None, line_id: str) -> int | None:
    """The installed pieces of a line; None where there is no bill."""
    if bill is None:
        return None
    return sum(int(line.quantity.value) for line in bill.lines if line.id == line_id)


def _bought(bill: Bill) -> dict[tuple[str, str], int]:
    """The pieces of each part that are charged, on all lines, by category and part."""
    found: dict[tuple[str, str], int] = {}
    for line in bill.lines:
        if not line.in_stock and line.part:
            found[line.category, line.part] = found.get((line.category, line.part), 0) + line.pieces
    return found


def _by_spares(report: Report, file: PlanFile, wanted: Wanted) -> Iterator[str]:
    """Spare pieces of the part in place of installed ones: they stand on the first line of the part."""
    line = next((line for line in report.bill.lines if line.id == wanted.line.id), None)
    if line is None or line.category not in SPARED or line.part is None:
        return
    more = wanted.pieces - line.pieces
    own = next(each for each in report.bill.lines if (each.category, each.part) == (line.category, line.part))
    spare = more + (int(own.spare.value) if own.spare else 0)
    bill = _try(file, [f"spares.{line.category}={spare}"]) if more > 0 else None
    needed = _bought(report.bill)
    needed[line.category, line.part] += more
    if bill and _bought(bill) == needed:
        yield f"spares.{line.category}={spare}"


def find_servers(report: Report, file: PlanFile, wanted: Wanted) -> str | None:
    """The number of servers nearest to that of the plan that gives a line its pieces."""
    reports = report.each_cluster
    at = next((at for at, each in enumerate(reports) if each.plan.cluster_name == wanted.line.cluster), None)
    line = next((line for line in report.bill.lines if line.id == wanted.line.id), None)
    if at is None or line is None or not line.quantity.value:
        return None
    design = reports[at].design
    server = reports[at].plan.cluster.server
    if design.sizing.servers is None or server is None:
        return None
    base: Path = (CLUSTERS, at) if wanted.line.cluster else ("cluster",)
    data = value_at(source_of(file).data, base) or {}
    unit = unit_of(server)
    now = int(design.sizing.servers.value) // unit
    have = int(line.quantity.value)
    low, high = sorted((now, max(ceil(Fraction(now * wanted.quantity) / have), 1)))
    if wanted.quantity > have:
        high = max(high * 2 - low, low + 1)
    else:
        low = max(2 * low - high, 0)
    # Pieces grow with servers: the number nearest to that of the plan is searched by halving.
    found: str | None = None
    for _ in range(TRIALS):
        if high - low < 2:
            break
        middle = (low + high) // 2
        edit = set_servers(base, data, server, middle * unit)
        setting = f"{'.'.join(map(str, edit.path))}={edit.value}"
        pieces = _quantity(_try(file, [setting]), line.id)
        if pieces is None:
            return None
        if pieces == wanted.quantity:
            found = setting
        if pieces < wanted.quantity or (pieces == wanted.quantity and wanted.quantity < have):
            low = middle
        else:
            high = middle
    return found


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
        if _quantity(_try(file, [f"{key}={ratio}"]), line.id) == wanted.quantity:
            yield f"{key}={ratio}"
            return
