"""Changed pieces of lines: the key of the plan that is that number, where there is one."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from bomgen.catalog.part_records import slug
from bomgen.catalog.parts import Server
from bomgen.core.yaml_source import Path
from bomgen.pricing.bill_line import Line
from bomgen.workflow.applying.changes import LineChange
from bomgen.workflow.applying.proposal import SPARE, Base, Edit, Proposal, show, value_at


def count_pieces(proposal: Proposal, change: LineChange, line: Line, pieces: Decimal) -> None:
    """Take another number of pieces; one that is worked out is judged by what the edited plan gives."""
    if pieces != int(pieces):
        proposal.refuse(change.after, f"{show(pieces)} pieces of '{change.line}'; pieces are whole numbers")
        return
    if line.in_stock:
        proposal.refuse(change.after, f"'{change.line}' is what the customer has; change `stock` in the plan")
        return
    title = proposal.base.titles[change.key].lower()
    proposal.tell(change.after, f"{change.line}, {title}", change.before.value or Decimal(0), pieces)
    if change.key == SPARE:
        proposal.spares[change.line] = int(pieces), _spare_edit(proposal.base, line, int(pieces))
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


def _spare_edit(base: Base, line: Line, wanted: int) -> Edit:
    """The key that gives a line its spare pieces."""
    cluster, path = base.cluster_of(line)
    if line.alone().id == "server" and line.category not in cluster.plan.spares:
        return Edit((*path, "spare_servers"), "set", wanted * unit_of(cluster.plan.cluster.server))
    return Edit(("spares", line.category), "set", wanted)
