"""Changed pieces of lines: the key of the plan that is that number, where there is one."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from math import ceil
from typing import Any

from bomgen.catalog.identity import slug
from bomgen.catalog.parts import Server
from bomgen.core.yaml_source import Path
from bomgen.pricing.bill_line import Line, part_key
from bomgen.report.result import Report
from bomgen.workflow.applying.changes import LineChange
from bomgen.workflow.applying.proposal import (
    SPARE,
    Base,
    Edit,
    Proposal,
    SpareEdit,
    has_spares,
    is_pieces,
    show,
    spares_of,
    value_at,
)


def count_pieces(proposal: Proposal, change: LineChange, line: Line, pieces: Decimal) -> None:
    """Take another number of pieces; one that is worked out is judged by what the edited plan gives."""
    if not is_pieces(change.after):
        proposal.refuse(change.after, f"{show(pieces)} pieces of '{change.line}'; pieces are whole numbers")
        return
    if line.in_stock:
        proposal.refuse(change.after, f"'{change.line}' is what the customer has; change `stock` in the plan")
        return
    what = f"{change.line}, {proposal.base.titles[change.key].lower()}"
    first = _first_line(proposal.base, line)
    if change.key == SPARE and first.id != line.id:
        what += f" (listed at '{first.id}', the first line of the part)"
    proposal.tell(change.after, what, change.before.value or Decimal(0), pieces)
    if change.key == SPARE:
        if has_spares(line):
            proposal.spares.append(_spare_edit(proposal, line, int(pieces)))
    elif edit := _quantity_edit(proposal.base, line, int(pieces)):
        proposal.edits.append(edit)


def set_servers(base: Path, data: Mapping[str, Any], server: Server, servers: int) -> Edit:
    """The edit of the cluster at a path that gives it so many servers, by what its data count: racks, GPUs, servers."""
    counts = {"racks": servers // unit_of(server), "gpus": servers * int(server.gpus.value), "servers": servers}
    key = next((key for key in counts if data.get(key) is not None), "servers")
    return Edit((*base, key), "set", counts[key])


def unit_of(server: Server | None) -> int:
    """The servers of what is bought at once: the trays of a rack-scale system."""
    return int(server.trays.value) if server and server.trays else 1


def _quantity_edit(base: Base, line: Line, wanted: int) -> Edit | None:
    """The key that gives a line its pieces; None where they are worked out."""
    cluster, path = base.cluster_of(line)
    more, alone = wanted - int(line.quantity.value), line.alone()
    design, data = cluster.design, value_at(base.source.data, path) or {}
    server = cluster.plan.cluster.server
    if alone.id == "server" and server and design.sizing.servers:
        return set_servers(path, data, server, int(design.sizing.servers.value) + more * unit_of(server))
    if alone.id == "gpu" and server is None and data.get("servers") is None:
        return Edit((*path, "gpus"), "set", int(design.sizing.gpus.value) + more)
    if alone.role == "host" and alone.fabric:
        fabrics = (*path, "fabrics") if line.cluster else ("fabrics",)
        place = (*fabrics, alone.fabric, "hosts")
        hosts = value_at(base.source.data, place)
        for at, host in enumerate(hosts if isinstance(hosts, list) else ()):
            if f"{alone.fabric}.management.{slug(str(host.get('name')))}" == alone.id:
                return Edit((*place, at, "count"), "set", int(host.get("count") or 0) + more)
    if alone.id == "rack.management":
        site = (*path, "site") if line.cluster else ("site",)
        return Edit((*site, "management", "racks"), "set", wanted)
    return None


def _spare_edit(proposal: Proposal, line: Line, wanted: int) -> SpareEdit:
    """Return the key that gives a line its spare pieces: those of its cluster's servers, else those of its part."""
    base, part = proposal.base, part_key(line)
    pieces = base.spares_in(proposal.returned)[part]
    cluster, path = base.cluster_of(line)
    if line.alone().id == "server" and line.category not in cluster.plan.spares:
        servers = wanted * unit_of(cluster.plan.cluster.server)
        return SpareEdit(part, pieces, Edit((*path, "spare_servers"), "set", servers))
    given = count_spares(base.report, line, pieces)
    return SpareEdit(part, pieces, Edit(("spares", line.category), "set", max(given, 0)))


def count_spares(report: Report, line: Line, pieces: int) -> int:
    """Return the pieces that `spares.CATEGORY` must be for a line's part to have so many spares; below 0: none is.

    Other keys may give it spares, too, and the customer may have some of them: both stay as they are.
    """
    lines = report.bill.lines
    given = report.plan.spares.get(line.category)
    now = int(given.value) if given and given.unit != "share" else 0
    if given and given.unit == "share":
        installed = sum(int(each.quantity.value) for each in lines if part_key(each) == part_key(line))
        now = ceil(installed * Fraction(given.value))
    return now + pieces - spares_of(lines)[part_key(line)]


def _first_line(base: Base, line: Line) -> Line:
    """Return the line that the spares of a line's part stand on."""
    same = (each.line for each in base.report.quote.lines if has_spares(each.line))
    return next((each for each in same if part_key(each) == part_key(line)), line)
